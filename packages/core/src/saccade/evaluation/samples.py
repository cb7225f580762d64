"""Stored samples of an evaluation: what was asked of whom, and a compact record of each sample for statistics."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from saccade.codec.forms import Form
from saccade.evaluation.errors import rule_errors
from saccade.rewards.answers.kinds import shows_letters
from saccade.rewards.answers.metrics_by_set import METRICS
from saccade.rewards.answers.rules import options_named
from saccade.rewards.reward import counts_as_right
from saccade.rewards.tool_use import call_outcome
from saccade.types import Attempt, Json, Task, ToolCall, ToolSpec

MAX_REPLY_CHARS = 20_000


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleHeader:
    """What the samples of an evaluation have in common."""

    name: str
    model: Mapping[str, Json]
    """Identity of the policy: a hash of its weights, or a server and the name of its model."""
    asked: Mapping[str, Json]
    """All that shapes the question and the answer beside the model; two evaluations can be compared where it is equal.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredSample:
    """One sample of one question."""

    FORM: ClassVar = Form(sparse=("refused",))

    id: str
    q: str
    """A hash of question, options and pictures, by which questions of two runs are paired."""
    key: str
    """The key of its journal: a hash of all that shapes it."""
    sample: int
    status: str
    right: bool | None
    """None where the machine failed it or a judge gave no verdict; such a sample is in no figure."""
    score: float | None
    answer: str | None
    gold: str
    reply: str
    """The last turn, as the model wrote it, up to ``MAX_REPLY_CHARS``."""
    family: str
    cluster: str
    buckets: tuple[str, ...] = ()
    choices: int = 0
    """Options of the question; 0 where it has none."""
    option: int = -1
    """Place of the right option, from 0; -1 where there is none."""
    picked: int = -1
    """Place of the option that the answer names; -1 where it names none, or several."""
    turns: int = 0
    calls: Mapping[str, int] = field(default_factory=dict)
    """Tool calls that ran, by tool."""
    calls_ok: int = 0
    errors: tuple[str, ...] = ()
    """Kinds of errors with tools that rules find: E1, E2, E3, E5."""
    tokens_in: int = 0
    tokens_out: int = 0
    images: int = 0
    """Pictures that it saw, those of tools among them."""
    pixels: int = 0
    """Of the largest picture of the question."""
    failure: str = ""
    graded: str = ""
    """A hash of all that answers are held against: right answers, their kind, tolerance and data set."""
    refused: bool = False
    """Whether the server marked the last reply as a refusal, or said that a filter took it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleTimes:
    """Seconds of one sample."""

    id: str
    sample: int
    wall_s: float
    tool_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleSet:
    """The samples of one evaluation."""

    header: SampleHeader
    samples: tuple[StoredSample, ...]


def by_question(samples: Sequence[StoredSample]) -> dict[str, Sequence[StoredSample]]:
    """The samples of each question, by its id, in the order of the first ones."""
    ids = [one.id for one in samples]
    if len(questions := dict(zip(ids, zip(samples)))) == len(samples):
        return dict(questions)
    found: dict[str, list[StoredSample]] = {}
    for name, one in zip(ids, samples):
        found.setdefault(name, []).append(one)
    return dict(found)


def question_hash(task: Task) -> str:
    """A hash of what is asked: the question, its options, its pictures, and the documents that it is asked of."""
    asked: Json = [
        task.question,
        list(task.choices),
        [image.hash for image in task.images],
        [task.corpus, task.document],
        list(task.frame_times_s),
        *(["interleaved"] if task.is_interleaved else []),
    ]
    return hashlib.sha256(json.dumps(asked).encode("ascii")).hexdigest()[:32]


def grading_hash(task: Task) -> str:
    """A hash of what decides whether an answer to the question is right."""
    metric = task.metric if task.metric in METRICS else None
    graded: list[Json] = [task.answer, list(task.accepted), task.answer_kind, task.tolerance, metric]
    if task.answer_kind == "boxes":
        graded.append(task.min_iou)
    return hashlib.sha256(json.dumps(graded).encode("ascii")).hexdigest()[:16]


def default_cluster(task: Task) -> str:
    """Questions about one document, or one picture, are not independent of each other."""
    return task.document or (task.images[0].hash[:32] if task.images else task.id)


Belonging = tuple[str, str]
"""The question of which an answer's task is one order of the options, and the cluster of that question."""


def belonging(cluster: Callable[[Task], str], asked: Mapping[str, Json]) -> Callable[[Task], Belonging]:
    """What the answers of an evaluation belong to; ``asked`` is what its ``SampleHeader`` says or sets apart."""
    return lambda task: (question_of(task.id, asked), cluster(task))


def question_of(task_id: str, asked: Mapping[str, Json]) -> str:
    """The id of the question of which a task is one order of the options; its own id where they were not cycled."""
    task_id = task_id.rpartition("#cycle")[0] or task_id if asked.get("probe") == "cycled" else task_id
    return re.sub(r"#\d+$", "", task_id) if asked.get("options") == "cycles" else task_id


def stored_sample(
    attempt: Attempt,
    *,
    key: str,
    tools: Sequence[ToolSpec],
    cluster: str,
    tokens_in: int,
    tokens_out: int,
    refused: bool = False,
) -> StoredSample:
    """The sample of a trajectory that was played with these tools and scored, where the machine did not fail it."""
    task, trajectory = attempt.task, attempt.trajectory
    is_failed = trajectory.status == "failed"
    ran = [turn for turn in trajectory.turns if isinstance(turn.action, ToolCall) and turn.result is not None]
    calls = Counter(turn.action.name for turn in ran if isinstance(turn.action, ToolCall))
    shown = [image for turn in trajectory.turns if turn.observation is not None for image in turn.observation.images]
    named = partial(options_named, choices=task.choices, has_letters=shows_letters(task))
    return StoredSample(
        id=task.id,
        q=question_hash(task),
        key=key,
        sample=trajectory.sample,
        status=trajectory.status,
        right=None if is_failed else counts_as_right(task, trajectory),
        score=None if is_failed or trajectory.score is None else trajectory.score.total,
        answer=trajectory.answer,
        gold=task.answer,
        reply=trajectory.turns[-1].text[:MAX_REPLY_CHARS] if trajectory.turns else "",
        family=task.family,
        cluster=cluster,
        buckets=task.buckets,
        choices=len(task.choices),
        option=_only(named(task.answer)) if task.choices else -1,
        picked=_only(named(trajectory.answer or "")) if task.choices else -1,
        turns=len(trajectory.turns),
        calls=dict(sorted(calls.items())),
        calls_ok=sum(call_outcome(turn) == "succeeded" for turn in ran),
        errors=() if is_failed else tuple(sorted(rule_errors(task, trajectory, tools))),
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        images=len(task.images) + len(shown),
        pixels=max((image.width * image.height for image in task.images), default=0),
        failure=trajectory.failure,
        graded=grading_hash(task),
        refused=refused,
    )


def _only(places: Collection[int]) -> int:
    return next(iter(places)) if len(places) == 1 else -1
