"""Supervised fine-tuning: imitate demonstrations, with the loss on the model's own tokens only."""

from collections.abc import Iterator
from contextlib import closing

from saccade.algorithms.algorithm import Aggregation
from saccade.algorithms.losses import negative_log_likelihood
from saccade.learner.learner import Learner
from saccade.learner.sequences import training_sequence, weighted
from saccade.models.vlm import VisionLanguageModel
from saccade.rollout.demonstration import demonstrate
from saccade.train.outcome import StepOutcome
from saccade.train.plan import Demonstration, SFTStage
from saccade.train.stage_settings import rate_at
from saccade.types import Trajectory


def supervise(
    stage: SFTStage, model: VisionLanguageModel, learner: Learner, *, first_step: int
) -> Iterator[StepOutcome]:
    """Runs the stage's steps from ``first_step`` on, one at a time."""
    settings = stage.settings
    for step in range(first_step, settings.steps):
        demonstrations = stage.demonstrations(step)
        trajectories = [_played(one, model) for one in demonstrations]
        metrics = learner.update(
            weighted([training_sequence(trajectory) for trajectory in trajectories], Aggregation(over="tokens")),
            negative_log_likelihood,
            temperature=1.0,
            learning_rate=rate_at(settings, step),
        )
        tokens = sum(len(trajectory.ids) for trajectory in trajectories)
        tasks = tuple(one.example.task for one in demonstrations)
        yield StepOutcome(step=step + 1, metrics=metrics, tokens=tokens, tasks=tasks)


def _played(demonstration: Demonstration, model: VisionLanguageModel) -> Trajectory:
    env = demonstration.episodes.environment(model.media, model.view, is_timed=False)
    with closing(env):
        return demonstrate(demonstration.example, env=env, chat=model.chat, may_fail=demonstration.may_fail)
