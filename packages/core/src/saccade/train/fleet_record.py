"""Steps of reinforcement as a run has recorded them: what each was made of and what it took, for a model of layouts."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from saccade import metric_names as metric
from saccade.errors import UserError
from saccade.runs.metrics import read_metrics
from saccade.runs.records import read_records
from saccade.runs.runinfo import RunPaths, read_json_object

_LEAST_STEPS = 6


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
    shown: tuple[float, ...] = ()
    """Tokens of each question that were shown: its prompt once, and observations."""
    forwarded_tokens: float
    micro_batches: float = 0.0
    """Of all ranks together; 0 where the run did not record them."""
    played_s: float
    """Of the busiest worker, and rewards."""
    learned_s: float
    step_s: float
    handed_s: float | None = None
    """Between learner and workers: what the learner waited beyond the busiest of them; None where that is not known."""


def recorded_steps(run: Path, *, by_processor: bool = False) -> list[Step]:
    """The recorded steps of reinforcement, but for those that evaluated too; UserError without enough of them.

    ``by_processor`` goes by processor seconds: what steps take one part after the other, with nothing else at work and
    a thread for each process.
    """
    paths = RunPaths(root=run)
    read_json_object(paths.info)
    learners, steps = layout_of(run).learners, []
    for position, values in read_metrics(paths.metrics):
        is_measured_too = any(name.startswith(metric.HELD_OUT_PREFIX) for name in values)
        file = paths.trajectories(position)
        if metric.ROLLOUT_S not in values or is_measured_too or not file.is_file():
            continue
        groups: dict[str, list[int]] = {}
        shown: dict[str, float] = {}
        for attempt in read_records(file):
            own, task = attempt.trajectory, attempt.task.id
            groups.setdefault(task, []).append(sum(own.action_mask))
            # A prompt is prefilled once for its group.
            skipped = () if task not in shown else ("prompt",)
            seen = sum(len(one.ids) for one in own.segments if one.role not in ("action", *skipped))
            shown[task] = shown.get(task, 0.0) + seen
        if by_processor and metric.STEP_CPU_S not in values:
            raise UserError(f"{run} did not record CPU time; leave --processor out, or run it again")
        played_s, learned_s, step_s = _processor_s(values) if by_processor else _wall_s(values)
        steps.append(
            Step(
                groups=tuple(map(tuple, groups.values())),
                shown=tuple(shown.values()),
                forwarded_tokens=values.get(metric.FORWARDED_TOKENS, 0.0),
                micro_batches=values.get(metric.MICRO_BATCHES, 0.0) * learners,
                played_s=played_s,
                learned_s=learned_s,
                step_s=step_s,
                handed_s=None if by_processor else _handed_s(values),
            )
        )
    # The first compiles, warms caches and compares engine and learner.
    if len(steps) < _LEAST_STEPS:
        raise UserError(f"{run} has {len(steps)} recorded RL steps, which are too few; record {_LEAST_STEPS} or more")
    return steps[1:]


def _wall_s(values: Mapping[str, float]) -> tuple[float, float, float]:
    """Seconds of playing, of learning, and of the step."""
    played_s = values.get(metric.ROLLOUTS_BUSY_S, values[metric.ROLLOUT_S]) + values[metric.REWARD_S]
    waited_s = values.get(metric.WAIT_S, values[metric.ROLLOUT_S] + values[metric.REWARD_S])
    return played_s, max(0.0, values[metric.STEP_S] - waited_s), values[metric.STEP_S]


def _handed_s(values: Mapping[str, float]) -> float | None:
    """What the learner waited for workers that played in turn with it, beyond the busiest of them."""
    if metric.ROLLOUTS_BUSY_S not in values or metric.WAIT_S in values:
        return None
    return max(0.0, values[metric.ROLLOUT_S] - values[metric.ROLLOUTS_BUSY_S])


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
