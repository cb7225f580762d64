"""The tail-patch curriculum: measured questions that are hard but were answered now and then, easy first."""

import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from saccade.errors import UserError
from saccade.seeding import generator_for, seed_for
from saccade.tasks.curriculum import HARD_OF_EIGHT, Band, Question, pass_rate, whole_number
from saccade.types import Attempt, Group, Json, Task, Trajectory

logger = logging.getLogger(__name__)


def pass_rates(attempts: Iterable[Attempt]) -> dict[str, float]:
    """Share of right answers of each task by its id; tasks whose every attempt the machine failed are left out."""
    tasks: dict[str, Task] = {}
    played: dict[str, list[Trajectory]] = {}
    for attempt in attempts:
        tasks[attempt.task.id] = attempt.task
        played.setdefault(attempt.task.id, []).append(attempt.trajectory)
    groups = (Group(task=task, stream="", trajectories=tuple(played[key])) for key, task in tasks.items())
    return {group.task.id: rate for group in groups if (rate := pass_rate(group)) is not None}


def hard_questions(rates: Mapping[str, float], band: Band = HARD_OF_EIGHT, *, least: int = 1) -> list[str]:
    """The tasks whose rate lies in the band, from easy to hard, ties in the order in which they came.

    Where there are fewer than ``least``, the tasks nearest to the band make up for it, which is said in the log; among
    equally near ones, those that are answered now and then come before those that never or always are.
    """
    chosen = [key for key, rate in rates.items() if band.holds(rate)]
    if len(chosen) < least:
        logger.warning(
            "%d of %d questions have a pass rate from %g to %g; the %d nearest to it are asked",
            len(chosen),
            len(rates),
            band.low,
            band.high,
            min(least, len(rates)),
        )

        def distance(key: str) -> tuple[float, bool]:
            rate = rates[key]
            return round(max(band.low - rate, rate - band.high, 0.0), 9), rate in (0.0, 1.0)

        chosen = sorted(rates, key=distance)[:least]
    return sorted(chosen, key=lambda key: -rates[key])


class EasyToHard:
    """Epochs of a fixed set, each from the most to the least often answered; equals come in a random order.

    The rates stay those that were measured: training changes the policy, not the order.
    """

    def __init__(
        self,
        keys: Sequence[str],
        rates: Mapping[str, float],
        task_of: Callable[[str], Task],
        *,
        seed: int,
        streams: tuple[str, ...] = ("main",),
    ) -> None:
        """``keys`` are ordered as ``hard_questions`` orders them; ``task_of`` gives the task of an id.

        UserError without any key.
        """
        if not keys:
            raise UserError("no question was measured, so there is none to continue with; play some first")
        self._levels = [list(level) for _, level in groupby(keys, key=lambda key: rates[key])]
        self._size = len(keys)
        self._task_of = task_of
        self._seed = seed
        self._streams = streams
        self._next = 0

    def sample(self, count: int) -> list[Question]:
        first, self._next = self._next, self._next + count
        epochs = range(first // self._size, math.ceil(self._next / self._size))
        keys = [key for epoch in epochs for key in self._epoch(epoch)]
        start = first - epochs.start * self._size
        return [Question(task=self._task_of(key), streams=self._streams) for key in keys[start : start + count]]

    def _epoch(self, epoch: int) -> list[str]:
        ordered = []
        for place, level in enumerate(self._levels):
            order = generator_for(self._seed, "easy to hard", epoch, place).permutation(len(level))
            ordered += [level[int(index)] for index in order]
        return ordered

    def update(self, groups: Sequence[Group]) -> None:
        pass

    def state_dict(self) -> Mapping[str, Json]:
        return {"next": self._next}

    def load_state_dict(self, state: Mapping[str, Json]) -> None:
        self._next = whole_number(state, "next")


@dataclass(kw_only=True)
class TailPatch:
    """Training questions by id, and their pass rates once they are measured."""

    keys: Callable[[], Sequence[str]]
    """Ids of all training questions."""
    task_of: Callable[[str], Task]
    seed: int
    _rates: dict[str, float] = field(default_factory=dict, init=False)

    def tasks(self) -> list[Task]:
        """All training questions, to be measured."""
        return [self.task_of(key) for key in self.keys()]

    def learn(self, attempts: Iterable[Attempt]) -> None:
        """Takes the pass rates from what was played."""
        self._rates = pass_rates(attempts)

    def questions(self, band: Band, *, least: int) -> EasyToHard:
        """Questions of the band from easy to hard, at least as many as asked for."""
        keys = hard_questions(self._rates, band, least=least)
        return EasyToHard(keys, self._rates, self.task_of, seed=seed_for(self.seed, "tail"))
