"""The verifier of exported questions: a reply held against the ground truth that stands beside its question.

The rules are those of Saccade's own environments: the reply is read by the protocol ``direct`` (one ``<answer>`` and
nothing that contradicts it), the answer by the kind of the question. Whatever a policy writes is a value, never an
error; a ground truth that cannot be read is an error, since no reply could be scored by it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from saccade.errors import UserError
from saccade.protocols.tagged import parse
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.types import Answer, Task

__all__ = ["ReplyVerdict", "ground_truth_of", "score", "score_bare", "verdict"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplyVerdict:
    """What became of a reply."""

    score: float
    """1.0 for a right answer, else 0.0."""
    answer: str | None
    """The answer that was read; None where the reply gives none, several, or breaks its tags."""
    is_well_formed: bool
    """Exactly one think block and one answer, as the prompt asks."""


def ground_truth_of(task: Task) -> str:
    """The ground truth of a task as JSON: all that the verifier needs."""
    return json.dumps(
        {
            "answer": task.answer,
            "answer_kind": task.answer_kind,
            "tolerance": task.tolerance,
            **({"min_iou": task.min_iou} if task.answer_kind == "boxes" else {}),
            "choices": list(task.choices),
            "accepted": list(task.accepted),
            "metric": task.metric,
            "question": task.question,
        }
    )


def score(reply: object, ground_truth: str) -> float:
    """1.0 where the reply's ``<answer>`` is right, else 0.0.

    A reply is a text, or the messages of a chat, of which the last one counts where it is the assistant's.
    """
    return verdict(reply, ground_truth).score


def verdict(reply: object, ground_truth: str) -> ReplyVerdict:
    """The score with the answer that was read."""
    task = task_of(ground_truth)
    read = parse(_text(reply), offers_tools=False)
    answer = read.action.text if isinstance(read.action, Answer) else None
    return ReplyVerdict(score=float(answer_is_right(task, answer)), answer=answer, is_well_formed=read.is_well_formed)


def score_bare(reply: str, ground_truth: str) -> float:
    """1.0 where the whole reply is the right answer, for harnesses that ask for a bare one."""
    return float(answer_is_right(task_of(ground_truth), reply.strip()))


def task_of(ground_truth: str) -> Task:
    """The task that replies are held against, without a name and pictures; ``UserError`` for another text."""
    try:
        read = json.loads(ground_truth)
        return Task(
            id="",
            family="",
            question=str(read["question"]),
            answer=str(read["answer"]),
            answer_kind=read["answer_kind"],
            images=(),
            choices=tuple(read["choices"]),
            tolerance=float(read["tolerance"]),
            min_iou=float(read.get("min_iou", 0.5)),
            metric=str(read.get("metric", read.get("source", ""))),
            accepted=tuple(read["accepted"]),
        )
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise UserError(
            f"the ground truth {str(ground_truth)[:80]!r} is none of an export's ({error!r}); pass the row's own"
        ) from error


def _text(reply: object) -> str:
    """The text of a reply; empty, and so without an answer, for what is none."""
    if isinstance(reply, str):
        return reply
    last = reply[-1] if isinstance(reply, Sequence) and reply else reply
    role, content = _member(last, "role"), _member(last, "content")
    if role != "assistant":
        return ""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, Sequence) else ()
    return "".join(text for part in parts if isinstance(text := _member(part, "text"), str))


def _member(message: object, name: str) -> object:
    """A member of a message that is a mapping or, as in ``verifiers``, an object."""
    return message.get(name) if isinstance(message, Mapping) else getattr(message, name, None)
