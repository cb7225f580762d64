"""Adaptive sources of drawn questions: difficulty held at a pass rate, axis by axis; families by what they still teach.

A group teaches by the spread of its outcomes, p (1 - p) for a pass rate p: nothing where all samples are right or all
wrong. ``HeldDifficulty`` keeps each axis of one family where p is the target; ``ByLearnability`` deals a batch among
families by their spread.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from saccade.errors import UserError
from saccade.tasks.curriculum import Question, TaskSampler, pass_rate, whole_number
from saccade.types import Group, Json, Task

STEP = 0.05
"""Levels that are asked are multiples of it, so that tasks have short names."""
UNKNOWN_SPREAD = 0.25
"""Of a family that was not tried: the largest, so that it is."""

DrawAt = Callable[[int, str, float], Task]
"""Question of a number, at a level of one axis; the axis is "" where the family has one difficulty alone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CurriculumSettings:
    """How difficulty and families follow the pass rate."""

    holds_difficulty: bool = False
    """Whether each family's difficulty, on each of its named axes, follows the pass rate; else it stays as set."""
    target: float = 0.5
    """The pass rate to hold: one half teaches most."""
    gain: float = 0.2
    """How far a level moves for a group that is all right or all wrong at a target of one half: half of this."""
    by_learnability: bool = False
    """Whether families are asked in proportion to the spread of their outcomes; else all equally often."""
    floor: float = 0.2
    """Share of the questions that is always spread evenly, so that no family is forgotten."""
    memory: float = 0.8
    """Weight of the past in a family's spread, from one batch to the next."""

    def __post_init__(self) -> None:
        if not (0 < self.target < 1 and self.gain > 0 and 0 < self.floor <= 1 and 0 <= self.memory < 1):
            raise UserError(
                f"a curriculum with target={self.target}, gain={self.gain}, floor={self.floor}, memory={self.memory}: "
                "use a target between 0 and 1, a gain above 0, a floor above 0 and up to 1, a memory from 0 to below 1"
            )


class HeldDifficulty:
    """A sampler of one family; each question has the level of one axis in turn, which rises when it is too easy.

    Robbins and Monro's rule: after a group of pass rate p its axis moves by ``gain * (p - target)``, so it
    settles where the target is met. The other axes are left to ``draw`` at their usual level; otherwise an easy axis
    would hide behind a hard one.
    """

    def __init__(
        self,
        draw: DrawAt,
        *,
        axes: Sequence[str] = ("",),
        start: float = 0.5,
        target: float = 0.5,
        gain: float = 0.2,
        streams: tuple[str, ...] = ("main",),
    ) -> None:
        self._draw = draw
        self._levels = dict.fromkeys(axes, start)
        self._target, self._gain, self._streams = target, gain, streams
        self._next = 0
        self._asked: dict[str, str] = {}

    @property
    def levels(self) -> Mapping[str, float]:
        """Level of each axis."""
        return dict(self._levels)

    def sample(self, count: int) -> list[Question]:
        questions = []
        for index in range(self._next, self._next + count):
            axis = list(self._levels)[index % len(self._levels)]
            task = self._draw(index, axis, round(round(self._levels[axis] / STEP) * STEP, 4))
            self._asked[task.id] = axis
            questions.append(Question(task=task, streams=self._streams))
        self._next += count
        return questions

    def update(self, groups: Sequence[Group]) -> None:
        for group in groups:
            axis, rate = self._asked.get(group.task.id), pass_rate(group)
            if axis is not None and rate is not None:
                moved = self._levels[axis] + self._gain * (rate - self._target)
                self._levels[axis] = min(1.0, max(0.0, moved))
        for group in groups:
            self._asked.pop(group.task.id, None)

    def state_dict(self) -> Mapping[str, Json]:
        return {"next": self._next, "levels": dict(self._levels), "asked": dict(self._asked)}

    def load_state_dict(self, state: Mapping[str, Json]) -> None:
        levels, asked = state["levels"], state["asked"]
        if not (isinstance(levels, Mapping) and isinstance(asked, Mapping)) or set(levels) != set(self._levels):
            raise UserError(
                f"the saved curriculum has other axes than {', '.join(self._levels)}; resume with the same families"
            )
        self._next = whole_number(state, "next")
        self._levels = {axis: float(str(levels[axis])) for axis in self._levels}
        self._asked = {key: str(axis) for key, axis in asked.items()}


class ByLearnability:
    """A sampler over several sources; each batch is divided by the mean spread p (1 - p) of their groups.

    A ``floor`` of every batch is divided evenly. A part that rounding shortens gets the rest later, as in ``Mixture``.
    """

    def __init__(self, parts: Mapping[str, TaskSampler], *, floor: float = 0.2, memory: float = 0.8) -> None:
        if not parts:
            raise UserError("a mixture by learnability has no parts; name at least one family")
        self._parts = dict(parts)
        self._floor, self._memory = floor, memory
        self._spread = dict.fromkeys(parts, UNKNOWN_SPREAD)
        self._owed = dict.fromkeys(parts, 0.0)
        self._asked: dict[str, str] = {}

    @property
    def shares(self) -> Mapping[str, float]:
        """The part of the next batch that each source gets."""
        whole = math.fsum(self._spread.values())
        even = 1 / len(self._parts)
        return {
            name: self._floor * even + (1 - self._floor) * (spread / whole if whole else even)
            for name, spread in self._spread.items()
        }

    def sample(self, count: int) -> list[Question]:
        for name, share in self.shares.items():
            self._owed[name] += share * count
        counts = {name: max(0, math.floor(owed + 1e-9)) for name, owed in self._owed.items()}
        # What was owed to a part whose share has fallen may exceed the batch: the least owed give way, one by one.
        order = sorted(self._owed, key=lambda name: self._owed[name] - counts[name], reverse=True)
        place = 0
        while (missing := count - sum(counts.values())) != 0:
            name = order[place % len(order)] if missing > 0 else order[-1 - place % len(order)]
            counts[name] = max(0, counts[name] + (1 if missing > 0 else -1))
            place += 1
        questions = []
        for name, drawn in counts.items():
            self._owed[name] -= drawn
            found = self._parts[name].sample(drawn) if drawn else []
            self._asked |= {question.task.id: name for question in found}
            questions += found
        return questions

    def update(self, groups: Sequence[Group]) -> None:
        seen: dict[str, list[float]] = {}
        for group in groups:
            name, rate = self._asked.get(group.task.id), pass_rate(group)
            if name is not None and rate is not None:
                seen.setdefault(name, []).append(rate * (1 - rate))
        for name, spreads in seen.items():
            now = math.fsum(spreads) / len(spreads)
            self._spread[name] = self._memory * self._spread[name] + (1 - self._memory) * now
        for group in groups:
            self._asked.pop(group.task.id, None)
        for part in self._parts.values():
            part.update(groups)

    def state_dict(self) -> Mapping[str, Json]:
        return {
            "spread": dict(self._spread),
            "owed": dict(self._owed),
            "asked": dict(self._asked),
            "parts": {name: part.state_dict() for name, part in self._parts.items()},
        }

    def load_state_dict(self, state: Mapping[str, Json]) -> None:
        spread, owed, asked, parts = state["spread"], state["owed"], state["asked"], state["parts"]
        if not (
            isinstance(spread, Mapping)
            and isinstance(owed, Mapping)
            and isinstance(asked, Mapping)
            and isinstance(parts, Mapping)
            and set(parts) == set(self._parts)
        ):
            raise UserError(f"the saved mixture has other parts than {', '.join(self._parts)}; resume with its recipe")
        self._spread = {name: float(str(spread[name])) for name in self._parts}
        self._owed = {name: float(str(owed[name])) for name in self._parts}
        self._asked = {key: str(name) for key, name in asked.items()}
        for name, part in self._parts.items():
            inner = parts[name]
            if not isinstance(inner, Mapping):
                raise UserError(f"the saved mixture is damaged at {name!r}")
            part.load_state_dict(inner)
