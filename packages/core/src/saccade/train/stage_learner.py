"""The learner of a stage: in this process alone, or as one rank of several."""

from collections.abc import Callable
from contextlib import nullcontext

from saccade.algorithms.algorithm import PolicyLoss
from saccade.algorithms.dpo import weighted_likelihood
from saccade.algorithms.losses import negative_log_likelihood
from saccade.learner.forwards import ValueHead
from saccade.learner.learner import Learner
from saccade.learner.ranks import ALONE, Ranks
from saccade.learner.sharding import Sharding
from saccade.learner.step_figures import NonFiniteStep
from saccade.media.store import MediaStore
from saccade.models.loading import left_in_files
from saccade.models.vlm import VisionLanguageModel
from saccade.runs.checkpoints import Checkpoint, load_checkpoint
from saccade.seeding import seed_for
from saccade.train.plan import LearningStage, Plan, PreferenceStage, RLStage, SFTStage


def stage_learner(
    stage: LearningStage,
    model: VisionLanguageModel,
    *,
    seed: int,
    on_nonfinite: Callable[[NonFiniteStep], object] | None = None,
    ranks: Ranks = ALONE,
    sharding: Sharding | None = None,
) -> Learner:
    """With a critic where the stage's algorithm has one; ``seed`` is the run's."""
    critic = stage.applied_algorithm.critic if isinstance(stage, RLStage) else None
    head = None
    if critic is not None:
        head = ValueHead(model.hidden_size, seed=seed_for(seed, stage.name, "critic")).to(model.device)
    teaching = None
    if isinstance(stage, RLStage) and stage.teacher is not None:
        from saccade.train.teachers import teaching_of

        teaching = teaching_of(stage)
    return Learner(
        model,
        stage.settings.optimizer,
        value_head=head,
        critic_learning_rate=None if critic is None else critic.learning_rate,
        values_train_trunk=critic is not None and critic.trains_trunk,
        on_nonfinite=on_nonfinite,
        ranks=ranks,
        sharding=sharding,
        teaching=teaching,
    )


def stage_loss(stage: LearningStage, *, is_stale: bool) -> PolicyLoss:
    """What the stage's learner minimises on a batch of the present policy, or on one that an older policy sampled."""
    match stage:
        case SFTStage():
            return negative_log_likelihood
        case PreferenceStage():
            return weighted_likelihood
        case RLStage():
            return stage.applied_algorithm.loss_of(is_stale=is_stale)


def model_at(
    plan: Plan, checkpoint: Checkpoint | None, media: MediaStore, *, is_sharded: bool = True
) -> VisionLanguageModel:
    """A model in memory of its own, as a checkpoint has it, or as the plan begins; one for shards is still on disk."""
    with left_in_files() if is_sharded else nullcontext():
        return plan.new_model() if checkpoint is None else load_checkpoint(checkpoint, media, plan.load)
