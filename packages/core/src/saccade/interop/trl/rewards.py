"""Any reward of ours as a reward function of TRL's ``GRPOTrainer``, Argos' verifier above all.

    GRPOTrainer(
        model=...,
        reward_funcs=reward_function(ArgosReward(...), tasks, view=view),
        train_dataset=...,    # with a column "task": the id of one of the tasks
        ...
    )

Completions of one task that TRL scores together are siblings of one group. A completion that the reward gives no
verdict on gets None, which TRL leaves out of the group's mean and of the gradient; it is never 0.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

from saccade.errors import UserError
from saccade.media.resize import ViewRule
from saccade.protocols.pointed import pointed_protocol
from saccade.protocols.protocol import ChatProtocol
from saccade.rewards.groups import score_questions
from saccade.rewards.responses import response_of
from saccade.rewards.reward import AnyReward
from saccade.types import Group, Score, Task

Completion = str | Sequence[Mapping[str, object]]
"""A text, or the messages that the model and its tools wrote after a prompt of messages."""


class RewardFunction(Protocol):
    """TRL's shape of a reward function: all columns of the rows come by name."""

    __name__: str

    def __call__(
        self, *, completions: Sequence[Completion], task: Sequence[str], **columns: object
    ) -> list[float | None]: ...


def reward_function(
    reward: AnyReward,
    tasks: Sequence[Task],
    *,
    view: ViewRule | None = None,
    protocol: ChatProtocol | None = None,
    opening: str = "",
    name: str = "verifier",
) -> RewardFunction:
    """The function for ``GRPOTrainer(reward_funcs=...)``: the total of the reward for each completion.

    Texts are read by ``protocol``, by default ``pointed``; ``view`` is how the model's processor resizes pictures, for
    the model writes coordinates in that frame, and without one they are pixels of the originals. ``opening`` is what
    the chat template writes before the model does (``<think>``), which completions lack. Means of the score's terms and
    notes are in TRL's metrics, below ``name``. A group reward begins each step without memory. UserError for rows of
    other tasks.
    """
    by_id = {task.id: task for task in tasks}
    if len(by_id) < len(tasks) or not tasks:
        raise UserError(f"{len(tasks)} tasks have {len(by_id)} different ids; rows name tasks by them, one each")
    reads = pointed_protocol() if protocol is None else protocol

    def score(*, completions: Sequence[Completion], task: Sequence[str], **columns: object) -> list[float | None]:
        if missing := [one for one in task if one not in by_id]:
            raise UserError(f"the row's task={missing[0]!r} is none of the {len(by_id)} tasks given")
        places: dict[str, list[int]] = {}
        for place, key in enumerate(task):
            places.setdefault(key, []).append(place)
        questions = [
            [
                Group(
                    task=by_id[key],
                    stream="main",
                    trajectories=tuple(
                        response_of(by_id[key], _texts(completions[place], opening), reads, view=view, sample=sample)
                        for sample, place in enumerate(of_task)
                    ),
                )
            ]
            for key, of_task in places.items()
        ]
        scored, _ = score_questions(questions, reward, {})
        found: dict[int, Score | None] = {}
        for (group,), of_task in zip(scored, places.values()):
            found |= zip(of_task, (one.score for one in group.trajectories))
        if callable(log := columns.get("log_metric")):
            for key, value in _means([one for one in found.values() if one is not None]).items():
                log(f"{name}/{key}", value)
        return [None if (one := found[place]) is None else one.total for place in range(len(task))]

    score.__name__ = name
    return score


def _means(scores: Sequence[Score]) -> dict[str, float]:
    """Of terms and notes, each over the scores that have it."""
    values: dict[str, list[float]] = {}
    for one in scores:
        for key, value in {**one.values, **one.notes}.items():
            values.setdefault(key, []).append(value)
    return {key: math.fsum(of) / len(of) for key, of in values.items()}


def _texts(completion: Completion, opening: str) -> list[str]:
    """The model's own turns."""
    if isinstance(completion, str):
        return [opening + completion]
    said = [one for one in completion if one.get("role") == "assistant"]
    return [_turn(one, opening) for one in said]


def _turn(message: Mapping[str, object], opening: str) -> str:
    """A turn as it was written: TRL parts the thought from the rest where the model's response template knows it."""
    text = _text(message.get("content"))
    thought = next((_text(message[key]) for key in ("reasoning_content", "thinking") if message.get(key)), None)
    return opening + text if thought is None else f"<think>{thought}</think>{text}"


def _text(content: object) -> str:
    """The text of a message, also of one in parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(str(one.get("text") or "") for one in parts if isinstance(one, Mapping))
