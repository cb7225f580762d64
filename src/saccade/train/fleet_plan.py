"""A model of a run's steps on other layouts, calibrated by what the run has recorded: nothing here is measured.

Playing a worker's share takes ``tick_s`` for each decode step of its batch and ``row_s`` for each row in it; learning
takes ``fixed_s`` and ``token_s`` for each token that is forwarded, over ranks that divide the tokens by W ** exponent;
weights take ``sync_s``. The batches are those of the run, group by group, with the lengths that they had. A simulation
of events then plays and learns them one after the other, as the trainer orders them.
"""

import heapq
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from saccade import metric_names as metric
from saccade.errors import UserError
from saccade.runs.metrics import read_metrics
from saccade.runs.records import read_records
from saccade.runs.runinfo import RunPaths, read_json_object

_LEAST_STEPS = 6
_SYNC_FIXED_S, _SYNC_BYTES_PER_S = 0.02, 1e9
"""Assumed: a file in memory, written by one thread and read by another (1.3 and 0.7 GB/s were measured)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """Processes, and how far the rollouts are ahead."""

    learners: int
    rollouts: int
    """0: the first learner plays."""
    staleness: int = 0
    overlaps: bool = False

    @property
    def name(self) -> str:
        ahead = f", {self.staleness} ahead" + (" beside learning" if self.overlaps else "") if self.staleness else ""
        return f"{self.learners} + {self.rollouts}{ahead}" if self.rollouts else f"{self.learners}, plays itself{ahead}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """What a recorded step was made of, and what it took."""

    groups: tuple[tuple[int, ...], ...]
    """Tokens that each trajectory of each question wrote."""
    forwarded_tokens: float
    played_s: float
    """Of the busiest worker, and rewards."""
    learned_s: float
    step_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Rates:
    """The model's constants, in seconds."""

    tick_s: float
    row_s: float
    fixed_s: float
    token_s: float
    sync_s: float
    exponent: float
    rows: int
    """Trajectories that an engine samples side by side."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Modelled:
    """What the model says of a layout."""

    step_s: float
    learners_idle: float
    rollouts_idle: float
    """Shares of the time; of the rollout workers the mean."""
    staleness_mean: float
    staleness_max: int


def recorded_steps(run: Path, *, by_processor: bool = False) -> list[Step]:
    """The recorded steps of reinforcement, but for those that evaluated too; UserError without enough of them.

    ``by_processor`` goes by processor seconds: what steps take one part after the other, with nothing else at work and
    a thread for each process.
    """
    paths = RunPaths(root=run)
    read_json_object(paths.info)
    steps = []
    for position, values in read_metrics(paths.metrics):
        is_measured_too = any(name.startswith(metric.HELD_OUT_PREFIX) for name in values)
        file = paths.trajectories(position)
        if metric.ROLLOUT_S not in values or is_measured_too or not file.is_file():
            continue
        groups: dict[str, list[int]] = {}
        for attempt in read_records(file):
            groups.setdefault(attempt.task.id, []).append(sum(attempt.trajectory.action_mask))
        if by_processor and metric.STEP_CPU_S not in values:
            raise UserError(f"{run} did not record processor seconds; leave --processor out, or make the run anew")
        played_s, learned_s, step_s = _processor_s(values) if by_processor else _wall_s(values)
        steps.append(
            Step(
                groups=tuple(map(tuple, groups.values())),
                forwarded_tokens=values.get(metric.FORWARDED_TOKENS, 0.0),
                played_s=played_s,
                learned_s=learned_s,
                step_s=step_s,
            )
        )
    # The first compiles, warms caches and compares engine and learner.
    if len(steps) < _LEAST_STEPS:
        raise UserError(f"{run} has {len(steps)} steps of reinforcement to go by; it takes {_LEAST_STEPS} or more")
    return steps[1:]


def _wall_s(values: Mapping[str, float]) -> tuple[float, float, float]:
    """Seconds of playing, of learning, and of the step."""
    played_s = values.get(metric.ROLLOUTS_BUSY_S, values[metric.ROLLOUT_S]) + values[metric.REWARD_S]
    waited_s = values.get(metric.WAIT_S, values[metric.ROLLOUT_S] + values[metric.REWARD_S])
    return played_s, max(0.0, values[metric.STEP_S] - waited_s), values[metric.STEP_S]


def _processor_s(values: Mapping[str, float]) -> tuple[float, float, float]:
    """The same by the processor: the busiest worker's, and those of the learner's process in rollouts and rewards."""
    played_s = values[metric.COLLECT_CPU_S] + values.get(metric.ROLLOUTS_BUSY_CPU_S, 0.0)
    learned_s = max(0.0, values[metric.STEP_CPU_S] - values[metric.COLLECT_CPU_S])
    return played_s, learned_s, played_s + learned_s


def layout_of(run: Path) -> Layout:
    """The layout that a run had."""
    settings = read_json_object(RunPaths(root=run).settings)
    fleet, recipe = settings.get("fleet"), settings.get("recipe")
    fleet = fleet if isinstance(fleet, dict) else {}
    rl = recipe.get("rl") if isinstance(recipe, dict) else None
    rl = rl if isinstance(rl, dict) else {}
    return Layout(
        learners=int(str(fleet.get("learners", 1))),
        rollouts=int(str(fleet.get("rollouts", 0))),
        staleness=int(str(rl.get("staleness", 0))),
        overlaps=rl.get("overlap") is True,
    )


def calibrated(steps: Sequence[Step], layout: Layout, *, weights_bytes: int, rows: int, exponent: float) -> Rates:
    """The constants that fit the steps of a run best, none of them negative."""
    shares = [_heaviest(step, max(1, layout.rollouts), rows) for step in steps]
    tick_s, row_s = _fitted(
        [(float(ticks), float(tokens)) for ticks, tokens in shares], [one.played_s for one in steps]
    )
    spread = layout.learners**exponent
    fixed_s, token_s = _fitted(
        [(1.0, one.forwarded_tokens / spread) for one in steps], [one.learned_s for one in steps]
    )
    sync_s = _SYNC_FIXED_S + weights_bytes / _SYNC_BYTES_PER_S
    return Rates(
        tick_s=tick_s, row_s=row_s, fixed_s=fixed_s, token_s=token_s, sync_s=sync_s, exponent=exponent, rows=rows
    )


def modelled(steps: Sequence[Step], rates: Rates, layout: Layout, *, count: int = 200) -> Modelled:
    """Simulates so many steps, with the recorded batches over and over."""
    workers = max(1, layout.rollouts)
    published = [0.0]
    """When the weights after each number of steps were there."""
    played: list[float] = []
    players_free = learners_free = busy_playing = busy_learning = 0.0
    for number in range(count):
        # What has to be played before this step is learned, as the trainer does: up to ``staleness`` batches ahead.
        while len(played) <= min(number + layout.staleness, count - 1):
            batch = len(played)
            step = steps[batch % len(steps)]
            took = [play_s(share, rates) for share in _shares(step, workers)]
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
        took_s = rates.fixed_s + rates.token_s * step.forwarded_tokens / layout.learners**rates.exponent
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


def play_s(lengths: Sequence[int], rates: Rates) -> float:
    """How long an engine takes for trajectories that write so many tokens, as rows come free for those that wait."""
    return rates.tick_s * _ticks(lengths, rates.rows) + rates.row_s * sum(lengths)


def _ticks(lengths: Sequence[int], rows: int) -> int:
    """Decode steps until all have ended, so many side by side, the next one in when one ends."""
    ends: list[int] = []
    for length in lengths:
        begins = heapq.heappop(ends) if len(ends) >= rows else 0
        heapq.heappush(ends, begins + length)
    return max(ends, default=0)


def _shares(step: Step, workers: int) -> list[list[int]]:
    """Whole questions, dealt out in turn."""
    return [[length for group in step.groups[first::workers] for length in group] for first in range(workers)]


def _heaviest(step: Step, workers: int, rows: int) -> tuple[int, int]:
    """Decode steps and tokens of the share that takes longest."""
    return max((_ticks(share, rows), sum(share)) for share in _shares(step, workers))


def _fitted(parts: Sequence[tuple[float, float]], took_s: Sequence[float]) -> tuple[float, float]:
    """Least squares of two constants; where one comes out negative, it is 0 and the other alone fits."""
    matrix, values = np.array(parts), np.array(took_s)
    first, second = (float(one) for one in np.linalg.lstsq(matrix, values, rcond=None)[0])
    if first >= 0 and second >= 0:
        return first, second
    alone = [float(matrix[:, one] @ values / max(1e-12, matrix[:, one] @ matrix[:, one])) for one in (0, 1)]
    errors = [float(((matrix[:, one] * alone[one] - values) ** 2).sum()) for one in (0, 1)]
    return (alone[0], 0.0) if errors[0] <= errors[1] else (0.0, alone[1])
