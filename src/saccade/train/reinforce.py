"""Reinforcement learning: roll out, score, compare inside groups, take one step. It reads like the algorithm."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from saccade.algorithms.advantages import is_constant
from saccade.engines.contract import Engine
from saccade.evaluation.evaluate import play
from saccade.evaluation.looking import look_of
from saccade.evaluation.summary import uses_tool
from saccade.learner.learner import Learner
from saccade.learner.sequences import TrainingSequence, training_sequence, weighted
from saccade.models.vlm import VisionLanguageModel
from saccade.rollout.settings import RolloutRequest
from saccade.seeding import seed_for
from saccade.train.outcome import StepOutcome
from saccade.train.parity import check_parity
from saccade.train.plan import Reinforce, Stream, rate_at
from saccade.types import Attempt, Group, Task


def reinforce(
    stage: Reinforce,
    model: VisionLanguageModel,
    engine: Engine,
    learner: Learner,
    *,
    seed: int,
    first_step: int,
    weights_changed: Callable[[], object],
    load_reference: Callable[[], VisionLanguageModel],
) -> Iterator[StepOutcome]:
    """Runs the stage's steps from ``first_step`` on, one at a time.

    ``weights_changed`` is called after every step, also one that left nothing to learn from, so that a resumed run
    counts the same policy versions; ``load_reference`` gives the stage's first policy and is called only when the
    algorithm wants it.
    """
    settings = stage.settings
    reference = load_reference() if stage.algorithm.needs_reference else None
    is_probed = False
    for step in range(first_step, settings.steps):
        by_stream = {
            stream.name: _play_stream(stream, stage, model, engine, seed=seed, step=step) for stream in stage.streams
        }
        groups = [group for groups in by_stream.values() for group in groups]
        advantages = stage.algorithm.advantages(groups)
        sequences = [
            training_sequence(trajectory, turn_advantages)
            for group, of_group in zip(groups, advantages)
            for trajectory, turn_advantages in zip(group.trajectories, of_group)
            if trajectory.status != "failed"
        ]
        if sequences and not is_probed:
            check_parity(model, sequences[0], temperature=settings.temperature)
            is_probed = True
        if reference is not None:
            sequences = _with_reference(sequences, reference, learner, settings.temperature)
        metrics: dict[str, float] = {**_metrics(by_stream)}
        if sequences:
            metrics |= learner.update(
                weighted(sequences, stage.algorithm.aggregation),
                stage.algorithm.loss,
                temperature=settings.temperature,
                learning_rate=rate_at(settings, step),
            )
        weights_changed()
        yield StepOutcome(
            step=step + 1,
            metrics=metrics,
            tokens=sum(len(sequence.ids) for sequence in sequences),
            attempts=tuple(_attempts(groups)),
        )


def _play_stream(
    stream: Stream, stage: Reinforce, model: VisionLanguageModel, engine: Engine, *, seed: int, step: int
) -> list[Group]:
    size = stage.settings.group_size
    tasks = stream.tasks(step)
    requests = [
        RolloutRequest(
            task=task,
            stream=stream.name,
            sample=sample,
            seed=seed_for(seed, "rollout", stage.name, step, task.id, stream.name, sample, *again),
        )
        for task, again in _with_repeats(tasks)
        for sample in range(size)
    ]
    attempts = play(
        requests,
        engine=engine,
        chat=model.chat,
        make_env=lambda: stream.episodes.environment(model.media, model.view),
        settings=replace(stream.episodes.rollout, temperature=stage.settings.temperature),
        reward=stage.reward,
    )
    trajectories = [attempt.trajectory for attempt in attempts]
    return [
        Group(task=task, stream=stream.name, trajectories=tuple(trajectories[index * size : (index + 1) * size]))
        for index, task in enumerate(tasks)
    ]


def _with_repeats(tasks: Sequence[Task]) -> list[tuple[Task, tuple[int, ...]]]:
    """Each task with () at its first place in a step, (1,) at its second: a task asked twice must not repeat itself."""
    seen: Counter[str] = Counter()
    labelled: list[tuple[Task, tuple[int, ...]]] = []
    for task in tasks:
        labelled.append((task, (seen[task.id],) if seen[task.id] else ()))
        seen[task.id] += 1
    return labelled


def _attempts(groups: Sequence[Group]) -> list[Attempt]:
    return [Attempt(task=group.task, trajectory=trajectory) for group in groups for trajectory in group.trajectories]


def _metrics(by_stream: Mapping[str, Sequence[Group]]) -> Mapping[str, float]:
    """Of all streams together and, where there are several, of each under its name."""
    groups = [group for groups in by_stream.values() for group in groups]
    metrics = dict(rollout_metrics(_attempts(groups)))
    metrics["rollout/constant_groups"] = _mean([float(is_constant(group)) for group in groups])
    if len(by_stream) > 1:
        for name, of_stream in by_stream.items():
            metrics |= {f"{name}/{key}": value for key, value in rollout_metrics(_attempts(of_stream)).items()}
    return metrics


def _with_reference(
    sequences: Sequence[TrainingSequence], reference: VisionLanguageModel, learner: Learner, temperature: float
) -> list[TrainingSequence]:
    logprobs = learner.logprobs(sequences, temperature=temperature, model=reference)
    return [replace(sequence, reference_logprobs=values) for sequence, values in zip(sequences, logprobs)]


def rollout_metrics(played: Sequence[Attempt]) -> Mapping[str, float]:
    """Means over the trajectories that did not fail, and counts of those that did."""
    fine = [one.trajectory for one in played if one.trajectory.score is not None]
    scores = [trajectory.score for trajectory in fine if trajectory.score is not None]
    names = sorted({name for score in scores for name in score.parts})
    return {
        "reward/mean": _mean([score.total for score in scores]),
        **{f"reward/{name}": _mean([score.parts[name] for score in scores if name in score.parts]) for name in names},
        "rollout/tool_rate": _mean([float(uses_tool(one)) for one in fine]),
        "rollout/turns": _mean([float(len(one.turns)) for one in fine]),
        "rollout/action_tokens": _mean([float(sum(one.action_mask)) for one in fine]),
        "rollout/failed": float(len(played) - len(fine)),
        **_look_metrics(played),
    }


def _look_metrics(played: Sequence[Attempt]) -> Mapping[str, float]:
    """How well crops fit what the answer depends on; nothing when nobody cropped."""
    looks = [look for one in played if (look := look_of(one.task, one.trajectory)) is not None]
    if not looks:
        return {}
    return {
        "look/iou": _mean([look.iou for look in looks]),
        "look/coverage": _mean([look.coverage for look in looks]),
    }


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0
