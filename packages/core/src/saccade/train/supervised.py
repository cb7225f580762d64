"""The training loop of supervised fine-tuning, one step at a time."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import closing

from saccade.algorithms.algorithm import Aggregation
from saccade.algorithms.losses import negative_log_likelihood
from saccade.heartbeat import phase
from saccade.learner.policy_learner import PolicyLearner
from saccade.learner.sequences import training_sequences, weighted
from saccade.models.chat_conversations import ConversationWriter
from saccade.models.vlm import VisionLanguageModel
from saccade.rollout.trajectory import demonstrate
from saccade.train.loops import StepOutcome
from saccade.train.plan import Demonstration, SFTStage
from saccade.train.stage_settings import rate_at
from saccade.types import SpokenConversation, Trajectory

logger = logging.getLogger(__name__)


def supervise(
    stage: SFTStage, model: VisionLanguageModel, learner: PolicyLearner, *, first_step: int
) -> Iterator[StepOutcome]:
    """Runs the stage's steps from ``first_step`` on, one at a time."""
    settings = stage.settings
    has_said = False
    for step in range(first_step, settings.steps):
        with phase(lambda: "making demonstrations"):
            batch = stage.batch(step)
            trajectories = [_imitated_trajectory(one, model) for one in batch]
        if not has_said and (beyond := _beyond_limits(batch, trajectories)):
            logger.warning("stage %s: %s", stage.name, beyond)
            has_said = True
        metrics = learner.update(
            weighted(
                [one for trajectory in trajectories for one in training_sequences(trajectory)],
                Aggregation(over="tokens"),
            ),
            negative_log_likelihood,
            temperature=1.0,
            learning_rate=rate_at(settings, step),
        )
        tokens = sum(len(trajectory.ids) for trajectory in trajectories)
        tasks = tuple(one.task if isinstance(one, SpokenConversation) else one.example.task for one in batch)
        yield StepOutcome(step=step + 1, metrics=metrics, tokens=tokens, tasks=tasks)


def _imitated_trajectory(demonstration: Demonstration | SpokenConversation, model: VisionLanguageModel) -> Trajectory:
    if isinstance(demonstration, SpokenConversation):
        return ConversationWriter(model.chat).write(demonstration).trajectory
    env = demonstration.episodes.environment(model.media, model.view, is_timed=False)
    with closing(env):
        return demonstrate(
            demonstration.example,
            env=env,
            chat=model.chat,
            may_fail=demonstration.may_fail,
            drops_old_thoughts=demonstration.episodes.rollout.drops_old_thoughts,
        )


def _beyond_limits(
    batch: Sequence[Demonstration | SpokenConversation], trajectories: Sequence[Trajectory]
) -> str | None:
    """What of these demonstrations the policy could never write, as its turns are cut before; None for nothing."""
    longest: dict[int, list[int]] = {}
    for one, trajectory in zip(batch, trajectories, strict=True):
        if isinstance(one, Demonstration):
            turns = [len(segment.ids) for segment in trajectory.segments if segment.role == "action"]
            longest.setdefault(one.episodes.rollout.max_turn_tokens, []).append(max(turns, default=0))
    for limit, turns in longest.items():
        if too_long := sum(one > limit for one in turns):
            return (
                f"{too_long} of {len(turns)} demonstrations of a step have a turn of more than "
                f"rollout.max_turn_tokens={limit} tokens (up to {max(turns)}): the policy is taught what it can never "
                f"finish, since its own turns are cut there; raise rollout.max_turn_tokens to {max(turns)} or more"
            )
    return None
