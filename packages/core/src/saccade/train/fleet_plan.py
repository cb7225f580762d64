"""A model of a run's steps on other layouts, calibrated by what runs have recorded: nothing here is measured.

Playing a worker's share takes ``batch_s``, ``tick_s`` for each decode step of its batch, ``row_s`` for each token that
is sampled and ``prefill_s`` for each that is shown; learning takes ``fixed_s``, ``pass_s`` for each micro-batch that a
rank works on (shards gather all weights and add gradients in each), and ``token_s`` for each token that is forwarded,
over ranks that divide the micro-batches by W and the tokens by W ** exponent. Shards have constants of their own: they
wait for each other and run other kernels, of which a run of one process tells nothing. Between the two weights and
shares are handed over in ``sync_s``. The batches are those of a run, group by group, with the lengths that they had. A
simulation of events plays and learns them one after the other, as the trainer orders them.
"""

import heapq
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from saccade.train.fleet_record import Layout, Step

_SYNC_FIXED_S, _SYNC_BYTES_PER_S = 0.02, 1e9
"""Assumed: a file in memory, written by one thread and read by another (1.3 and 0.7 GB/s were measured)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LearningRates:
    """Constants of learning, in seconds."""

    fixed_s: float
    pass_s: float = 0.0
    token_s: float

    def took_s(self, step: Step, learners: int, exponent: float) -> float:
        """How long so many learners take for a step."""
        _, passes, tokens = _learning_terms(step, learners, exponent)
        return self.fixed_s + self.pass_s * passes + self.token_s * tokens


@dataclass(frozen=True, kw_only=True, slots=True)
class Rates:
    """The model's constants, in seconds."""

    batch_s: float = 0.0
    tick_s: float
    row_s: float
    prefill_s: float = 0.0
    whole: LearningRates | None
    """Of one process; None where no run had one learner."""
    sharded: LearningRates | None
    """Of several; None where no run had them."""
    sync_s: float
    is_sync_measured: bool = False
    exponent: float
    rows: int
    """Trajectories that an engine samples side by side."""

    def learning(self, learners: int) -> LearningRates:
        """Those of so many learners, or of the other kind where no run tells of this one."""
        first, second = (self.sharded, self.whole) if learners > 1 else (self.whole, self.sharded)
        found = first or second
        assert found is not None
        return found

    def knows(self, learners: int) -> bool:
        """Whether learning by one process, or by several, is calibrated by a run of its kind."""
        return (self.sharded if learners > 1 else self.whole) is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class CalibrationRun:
    """A run that the model is calibrated by."""

    steps: tuple[Step, ...]
    layout: Layout


@dataclass(frozen=True, kw_only=True, slots=True)
class Modelled:
    """What the model says of a layout."""

    step_s: float
    learners_idle: float
    rollouts_idle: float
    """Shares of the time; of the rollout workers the mean."""
    staleness_mean: float
    staleness_max: int


def calibrated_rates(runs: Sequence[CalibrationRun], *, weights_bytes: int, rows: int, exponent: float) -> Rates:
    """The constants that fit the steps of the runs best, none of them negative."""
    shares = [(_heaviest(step, max(1, run.layout.rollouts), rows), step.played_s) for run in runs for step in run.steps]
    batch_s, tick_s, row_s, prefill_s = _fit([share for share, _ in shares], [took_s for _, took_s in shares])
    handed = [step.handed_s for run in runs for step in run.steps if step.handed_s is not None]
    assumed_s = _SYNC_FIXED_S + weights_bytes / _SYNC_BYTES_PER_S
    return Rates(
        batch_s=batch_s,
        tick_s=tick_s,
        row_s=row_s,
        prefill_s=prefill_s,
        whole=_learning([run for run in runs if run.layout.learners == 1], exponent),
        sharded=_learning([run for run in runs if run.layout.learners > 1], exponent),
        sync_s=statistics.median(handed) if handed else assumed_s,
        is_sync_measured=bool(handed),
        exponent=exponent,
        rows=rows,
    )


def _learning(runs: Sequence[CalibrationRun], exponent: float) -> LearningRates | None:
    parts = [
        (_learning_terms(step, run.layout.learners, exponent), step.learned_s) for run in runs for step in run.steps
    ]
    if not parts:
        return None
    fixed_s, pass_s, token_s = _fit([part for part, _ in parts], [took_s for _, took_s in parts])
    return LearningRates(fixed_s=fixed_s, pass_s=pass_s, token_s=token_s)


def _learning_terms(step: Step, learners: int, exponent: float) -> tuple[float, float, float]:
    """What learning is made of: itself, micro-batches of a rank, and tokens of a rank."""
    return 1.0, float(math.ceil(step.micro_batches / learners)), step.forwarded_tokens / learners**exponent


def simulate_steps(steps: Sequence[Step], rates: Rates, layout: Layout, *, count: int = 200) -> Modelled:
    """Simulates so many steps, with the recorded batches over and over."""
    workers, own = max(1, layout.rollouts), rates.learning(layout.learners)
    published = [0.0]
    """When the weights after each number of steps were there."""
    played: list[float] = []
    players_free = learners_free = busy_playing = busy_learning = 0.0
    for number in range(count):
        # What has to be played before this step is learned, as the trainer does: up to ``staleness`` batches ahead.
        while len(played) <= min(number + layout.staleness, count - 1):
            batch = len(played)
            step = steps[batch % len(steps)]
            took = [play_s(share, rates, shown=shown) for share, shown in _shares(step, workers)]
            version = max(0, batch - layout.staleness)
            begins = max(players_free, published[min(version, len(published) - 1)])
            if not layout.overlaps:
                begins = max(begins, learners_free)
            players_free = begins + max(took)
            busy_playing += sum(took) / workers
            played.append(players_free)
        if not layout.overlaps:
            learners_free = max(learners_free, players_free)
        step = steps[number % len(steps)]
        took_s = own.took_s(step, layout.learners, rates.exponent)
        learners_free = max(learners_free, played[number]) + took_s + (rates.sync_s if layout.rollouts else 0.0)
        busy_learning += took_s
        published.append(learners_free)
    ages = [min(number, layout.staleness) for number in range(count)]
    return Modelled(
        step_s=learners_free / count,
        learners_idle=1.0 - busy_learning / learners_free,
        rollouts_idle=1.0 - busy_playing / learners_free,
        staleness_mean=statistics.mean(ages),
        staleness_max=max(ages),
    )


def play_s(lengths: Sequence[int], rates: Rates, *, shown: float = 0.0) -> float:
    """How long an engine takes for trajectories that write so many tokens, as rows come free for those that wait.

    ``shown`` are the tokens that it is shown meanwhile.
    """
    if not lengths:
        return 0.0
    decoding_s = rates.tick_s * _ticks(lengths, rates.rows) + rates.row_s * sum(lengths)
    return rates.batch_s + decoding_s + rates.prefill_s * shown


def _ticks(lengths: Sequence[int], rows: int) -> int:
    """Decode steps until all have ended, so many side by side, the next one in when one ends."""
    ends: list[int] = []
    for length in lengths:
        begins = heapq.heappop(ends) if len(ends) >= rows else 0
        heapq.heappush(ends, begins + length)
    return max(ends, default=0)


def _shares(step: Step, workers: int) -> list[tuple[list[int], float]]:
    """Whole questions, dealt out in turn: lengths of the trajectories, and tokens that are shown."""
    return [
        ([length for group in step.groups[first::workers] for length in group], sum(step.shown[first::workers]))
        for first in range(workers)
    ]


def _heaviest(step: Step, workers: int, rows: int) -> tuple[float, ...]:
    """What the share is made of that takes longest: itself, decode steps, tokens, and tokens shown."""
    return max((1.0, float(_ticks(share, rows)), float(sum(share)), shown) for share, shown in _shares(step, workers))


def _fit(parts: Sequence[tuple[float, ...]], took_s: Sequence[float]) -> tuple[float, ...]:
    """Least squares of constants that are not negative: one that comes out so is 0, and the others fit alone."""
    matrix, values = np.array(parts), np.array(took_s)
    # Columns of one size, so that a constant is not lost beside thousands of tokens.
    sizes = np.abs(matrix).max(axis=0)
    kept = [column for column, size in enumerate(sizes) if size > 0]
    while kept:
        found = np.linalg.lstsq(matrix[:, kept] / sizes[kept], values, rcond=None)[0]
        if found.min() >= 0:
            break
        kept.remove(kept[int(found.argmin())])
    constants = [0.0] * matrix.shape[1]
    for column, constant in zip(kept, found if kept else ()):
        constants[column] = float(constant / sizes[column])
    return tuple(constants)
