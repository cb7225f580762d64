"""Task samplers: the next questions in order, in shuffled epochs, by pass rate, in mixtures, in one stream or several.

All of them remember where they are (``state_dict``), so that a resumed run asks what it would have asked.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, Protocol, TypeVar

from saccade.errors import UserError
from saccade.seeding import generator_for
from saccade.types import Group, Json, Task

Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A task and the streams that ask it; they meet in one batch, or the question is not asked at all."""

    task: Task
    streams: tuple[str, ...]


class TaskSampler(Protocol):
    """A source of training questions that may adapt to their results."""

    def sample(self, count: int) -> list[Question]:
        """The next questions; each call continues where the last one ended."""
        ...

    def update(self, groups: Sequence[Group]) -> None:
        """Receives every group that was rolled out and scored, also those that an algorithm leaves out."""
        ...

    def state_dict(self) -> Mapping[str, Json]: ...

    def load_state_dict(self, state: Mapping[str, Json]) -> None: ...


class _Counting:
    """Remembers the number of its next question and learns nothing from answers."""

    _next = 0

    def update(self, groups: Sequence[Group]) -> None:
        pass

    def state_dict(self) -> Mapping[str, Json]:
        return {"next": self._next}

    def load_state_dict(self, state: Mapping[str, Json]) -> None:
        self._next = whole_number(state, "next")


class InOrder(_Counting):
    """An endless sampler of numbered questions, 0, 1, 2 and so on, for tasks that a program makes."""

    def __init__(self, task_at: Callable[[int], Task], *, streams: tuple[str, ...] = ("main",)) -> None:
        self._task_at = task_at
        self._streams = streams

    def sample(self, count: int) -> list[Question]:
        first, self._next = self._next, self._next + count
        return [Question(task=self._task_at(index), streams=self._streams) for index in range(first, self._next)]


class Shuffled(_Counting):
    """A sampler over epochs of a fixed set, each shuffled anew; every task comes exactly once in an epoch."""

    def __init__(self, tasks: Sequence[Task], *, seed: int, streams: tuple[str, ...] = ("main",)) -> None:
        """UserError without tasks."""
        if not tasks:
            raise UserError("there are no tasks to draw questions from; give at least one")
        self._tasks = tasks
        self._seed = seed
        self._streams = streams

    @property
    def tasks(self) -> Sequence[Task]:
        return self._tasks

    def sample(self, count: int) -> list[Question]:
        first, self._next = self._next, self._next + count
        chosen = shuffled_epochs(self._tasks, first, count, seed=self._seed)
        return [Question(task=task, streams=self._streams) for task in chosen]


def shuffled_epochs(items: Sequence[Item], first: int, count: int, *, seed: int) -> list[Item]:
    """``count`` items from place ``first`` on of endless epochs, each a permutation of ``items`` of its own."""
    size, chosen = len(items), []
    for epoch in range(first // size, (first + count - 1) // size + 1):
        order = generator_for(seed, "epoch", epoch).permutation(size)
        start = max(0, first - epoch * size)
        chosen += [items[int(place)] for place in order[start : first + count - epoch * size]]
    return chosen


class Epochs(Generic[Item]):
    """Endless items by number: those that ``shuffled_epochs`` gives from that position on."""

    def __init__(self, items: Sequence[Item], *, seed: int) -> None:
        self._items = items
        self._order = lru_cache(maxsize=2)(lambda epoch: generator_for(seed, "epoch", epoch).permutation(len(items)))

    def __call__(self, index: int) -> Item:
        epoch, place = divmod(index, len(self._items))
        return self._items[int(self._order(epoch)[place])]


@dataclass(frozen=True, kw_only=True, slots=True)
class Band:
    """A range of pass rates that are worth training on, both ends included."""

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.high <= 1:
            raise UserError(f"a band of pass rates from {self.low} to {self.high}: use 0 <= low <= high <= 1")

    def holds(self, rate: float) -> bool:
        return self.low <= rate <= self.high


HARD_OF_FIVE = Band(low=0.2, high=0.4)
"""Band of one or two right answers of five."""
HARD_OF_EIGHT = Band(low=0.125, high=0.375)
"""Band of one to three right answers of eight: VISTA-R1's hard questions."""
NOT_ALL_CORRECT = Band(low=0.0, high=math.nextafter(1.0, 0.0))
"""Everything but what is always answered right."""


class ByPassRate:
    """A sampler that skips questions whose last pass rate lies outside a band; untried questions are asked.

    A question that was skipped ``retry_after`` times is asked again, since the policy has changed. A source without a
    question in the band therefore still gives questions.
    """

    def __init__(
        self, inner: TaskSampler, band: Band, *, rates: Mapping[str, float] | None = None, retry_after: int = 8
    ) -> None:
        """``rates`` are pass rates by task id that were measured before, in 0..1."""
        self._inner = inner
        self._band = band
        self._rates = dict(rates or {})
        self._left_out: dict[str, int] = {}
        self._retry_after = retry_after

    @property
    def tasks(self) -> Sequence[Task]:
        return known_tasks(self._inner)

    def sample(self, count: int) -> list[Question]:
        chosen: list[Question] = []
        while len(chosen) < count:
            chosen += [question for question in self._inner.sample(count - len(chosen)) if self._is_admitted(question)]
        return chosen

    def _is_admitted(self, question: Question) -> bool:
        key = question.task.id
        rate = self._rates.get(key)
        if rate is None or self._band.holds(rate):
            return True
        self._left_out[key] = self._left_out.get(key, 0) + 1
        if self._left_out[key] <= self._retry_after:
            return False
        del self._left_out[key]
        return True

    def update(self, groups: Sequence[Group]) -> None:
        seen: dict[str, list[float]] = {}
        for group in groups:
            if (rate := pass_rate(group)) is not None:
                seen.setdefault(group.task.id, []).append(rate)
        # A task that several streams asked has the mean of their rates.
        self._rates |= {key: math.fsum(rates) / len(rates) for key, rates in seen.items()}
        self._inner.update(groups)

    def state_dict(self) -> Mapping[str, Json]:
        return {"rates": dict(self._rates), "left_out": dict(self._left_out), "inner": self._inner.state_dict()}

    def load_state_dict(self, state: Mapping[str, Json]) -> None:
        rates, left_out, inner = state["rates"], state["left_out"], state["inner"]
        if not (isinstance(rates, Mapping) and isinstance(left_out, Mapping) and isinstance(inner, Mapping)):
            raise UserError(f"the saved curriculum is damaged: {state!r}")
        self._rates = {key: float(str(rate)) for key, rate in rates.items()}
        self._left_out = {key: int(str(times)) for key, times in left_out.items()}
        self._inner.load_state_dict(inner)


@dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """One part of a mixture."""

    questions: TaskSampler
    share: float


StreamedSource = Callable[[tuple[str, ...]], TaskSampler]
"""A function that makes a source of questions for given streams."""


def mixed(parts: Mapping[str, tuple[StreamedSource, tuple[str, ...], int]]) -> "Mixture":
    """A ``Mixture`` of named sources, each with its streams and its number of questions per step, perhaps 0."""
    asked = {name: part for name, part in parts.items() if part[2]}
    return Mixture(
        {name: Share(questions=source(streams), share=count) for name, (source, streams, count) in asked.items()}
    )


class Mixture:
    """A sampler over several sources, each with a fixed share of every batch.

    A part that rounding shortens in one batch gets the rest in the next, so shares are exact in the long run. Inside
    a batch the parts keep the order in which they were given.
    """

    def __init__(self, parts: Mapping[str, Share]) -> None:
        """UserError without parts or with a share that is not above 0."""
        if not parts or not all(0 < part.share < math.inf for part in parts.values()):
            raise UserError(f"shares of { ({name: part.share for name, part in parts.items()}) } must all be above 0")
        whole = math.fsum(part.share for part in parts.values())
        self._parts = {name: part.questions for name, part in parts.items()}
        self._shares = {name: part.share / whole for name, part in parts.items()}
        self._owed = dict.fromkeys(parts, 0.0)

    @property
    def tasks(self) -> Sequence[Task]:
        return [task for part in self._parts.values() for task in known_tasks(part)]

    def sample(self, count: int) -> list[Question]:
        for name, share in self._shares.items():
            self._owed[name] += share * count
        counts = {name: max(0, math.floor(owed + 1e-9)) for name, owed in self._owed.items()}
        # Largest remainder; the order of the parts decides between equals.
        missing = count - sum(counts.values())
        by_remainder = sorted(self._owed, key=lambda name: counts[name] - self._owed[name])
        for name in by_remainder[:missing]:
            counts[name] += 1
        for name, drawn in counts.items():
            self._owed[name] -= drawn
        return [question for name, part in self._parts.items() for question in part.sample(counts[name])]

    def update(self, groups: Sequence[Group]) -> None:
        for part in self._parts.values():
            part.update(groups)

    def state_dict(self) -> Mapping[str, Json]:
        return {
            "owed": dict(self._owed),
            "parts": {name: part.state_dict() for name, part in self._parts.items()},
        }

    def load_state_dict(self, state: Mapping[str, Json]) -> None:
        owed, parts = state["owed"], state["parts"]
        if not (isinstance(owed, Mapping) and isinstance(parts, Mapping)) or set(parts) != set(self._parts):
            raise UserError(f"the saved mixture has other parts than {', '.join(self._parts)}; resume with its recipe")
        self._owed = {name: float(str(owed[name])) for name in self._parts}
        for name, part in self._parts.items():
            inner = parts[name]
            if not isinstance(inner, Mapping):
                raise UserError(f"the saved mixture is damaged at {name!r}")
            part.load_state_dict(inner)


def known_tasks(source: TaskSampler) -> Sequence[Task]:
    """The tasks that a source will ask, where it says so by an attribute ``tasks``; none of one without an end."""
    return getattr(source, "tasks", ())


def pass_rate(group: Group) -> float | None:
    """Share of right answers among the scored trajectories; None when the machine failed them all.

    Right is what the score says, ``is_right``; where it does not say, a total of one half or more.
    """
    scores = [one.score for one in group.trajectories if one.score is not None]
    if not scores:
        return None
    return sum(score.total >= 0.5 if score.is_right is None else score.is_right for score in scores) / len(scores)


def whole_number(state: Mapping[str, Json], key: str) -> int:
    value = state.get(key)
    if isinstance(value, bool) or not isinstance(value, int):
        raise UserError(f"the saved curriculum is damaged: {key!r} is {value!r}, not a whole number")
    return value
