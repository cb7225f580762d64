"""Reinforcement learning: roll out, score, compare inside groups, take one step. It reads like the algorithm."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from saccade.algorithms.advantages import is_constant
from saccade.algorithms.losses import Loss
from saccade.engines.contract import Engine
from saccade.evaluation.evaluate import play
from saccade.evaluation.summary import uses_tool
from saccade.learner.learner import BatchLoss, Learner
from saccade.learner.logprobs import ActionTokens, action_tokens
from saccade.learner.schedule import learning_rate
from saccade.learner.sequences import TrainingSequence, training_sequence
from saccade.models.vlm import VisionLanguageModel
from saccade.rollout.settings import RolloutRequest
from saccade.seeding import seed_for
from saccade.train.outcome import StepOutcome
from saccade.train.plan import Reinforce
from saccade.types import Attempt, Group, Task

STREAM = "main"


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

    ``weights_changed`` is called after every update; ``load_reference`` gives the stage's first policy and is called
    only when the algorithm wants it.
    """
    settings = stage.settings
    reference = load_reference() if stage.algorithm.needs_reference else None
    loss = _policy_loss(stage, reference)
    for step in range(first_step, settings.steps):
        tasks = stage.tasks(step)
        played = play(
            _requests(tasks, stage, seed=seed, step=step),
            engine=engine,
            chat=model.chat,
            make_env=lambda: stage.episodes.environment(model.media, model.view),
            settings=replace(stage.episodes.rollout, temperature=settings.temperature),
            reward=stage.reward,
        )
        groups = _groups(tasks, played)
        advantages = stage.algorithm.advantages(groups)
        sequences = [
            training_sequence(trajectory, turn_advantages)
            for group, of_group in zip(groups, advantages)
            for trajectory, turn_advantages in zip(group.trajectories, of_group)
            if trajectory.status != "failed"
        ]
        metrics: dict[str, float] = {**rollout_metrics(played, groups)}
        if sequences:
            metrics |= learner.update(
                sequences,
                loss,
                temperature=settings.temperature,
                learning_rate=learning_rate(
                    step,
                    peak=settings.optimizer.learning_rate,
                    steps=settings.steps,
                    warmup_steps=settings.warmup_steps,
                    decay=settings.decay,
                    floor=settings.final_rate,
                ),
            )
            weights_changed()
        yield StepOutcome(
            step=step + 1,
            metrics=metrics,
            tokens=sum(len(sequence.ids) for sequence in sequences),
            attempts=tuple(played),
        )


def _requests(tasks: Sequence[Task], stage: Reinforce, *, seed: int, step: int) -> list[RolloutRequest]:
    return [
        RolloutRequest(
            task=task,
            stream=STREAM,
            sample=sample,
            seed=seed_for(seed, "rollout", stage.name, step, task.id, STREAM, sample),
        )
        for task in tasks
        for sample in range(stage.settings.group_size)
    ]


def _groups(tasks: Sequence[Task], played: Sequence[Attempt]) -> list[Group]:
    size = len(played) // len(tasks)
    return [
        Group(
            task=task,
            stream=STREAM,
            trajectories=tuple(one.trajectory for one in played[index * size : (index + 1) * size]),
        )
        for index, task in enumerate(tasks)
    ]


def _policy_loss(stage: Reinforce, reference: VisionLanguageModel | None) -> BatchLoss:
    def loss(tokens: ActionTokens, total_tokens: int, sequences: Sequence[TrainingSequence]) -> Loss:
        return stage.algorithm.loss(
            tokens.logprobs,
            sampled_logprobs=tokens.sampled_logprobs,
            advantages=tokens.advantages,
            total_tokens=total_tokens,
            reference_logprobs=_reference_logprobs(reference, sequences, stage.settings.temperature),
        )

    return loss


def _reference_logprobs(
    reference: VisionLanguageModel | None, sequences: Sequence[TrainingSequence], temperature: float
) -> Tensor | None:
    if reference is None:
        return None
    with torch.no_grad():
        return action_tokens(reference, sequences, temperature=temperature).logprobs


def rollout_metrics(played: Sequence[Attempt], groups: Sequence[Group] = ()) -> Mapping[str, float]:
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
        **({"rollout/constant_groups": _mean([float(is_constant(group)) for group in groups])} if groups else {}),
    }


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0
