"""Supervised fine-tuning: imitate demonstrations, with the loss on the model's own tokens only."""

from collections.abc import Iterator, Sequence

from saccade.algorithms.losses import Loss, negative_log_likelihood
from saccade.learner.learner import Learner
from saccade.learner.logprobs import ActionTokens
from saccade.learner.sequences import TrainingSequence, training_sequence
from saccade.models.vlm import VisionLanguageModel
from saccade.rollout.demonstration import demonstrate
from saccade.train.outcome import StepOutcome
from saccade.train.plan import Demonstration, Supervise, rate_at
from saccade.types import Trajectory


def supervise(
    stage: Supervise, model: VisionLanguageModel, learner: Learner, *, first_step: int
) -> Iterator[StepOutcome]:
    """Runs the stage's steps from ``first_step`` on, one at a time."""
    settings = stage.settings
    for step in range(first_step, settings.steps):
        trajectories = [_played(one, model) for one in stage.demonstrations(step)]
        metrics = learner.update(
            [training_sequence(trajectory) for trajectory in trajectories],
            _imitation_loss,
            temperature=1.0,
            learning_rate=rate_at(settings, step),
        )
        tokens = sum(len(trajectory.ids) for trajectory in trajectories)
        yield StepOutcome(step=step + 1, metrics=metrics, tokens=tokens)


def _played(demonstration: Demonstration, model: VisionLanguageModel) -> Trajectory:
    env = demonstration.episodes.environment(model.media, model.view)
    return demonstrate(demonstration.example, env=env, chat=model.chat)


def _imitation_loss(tokens: ActionTokens, total_tokens: int, sequences: Sequence[TrainingSequence]) -> Loss:
    return negative_log_likelihood(tokens.logprobs, total_tokens=total_tokens)
