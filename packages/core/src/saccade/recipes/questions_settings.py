"""Settings of the recipe for your own questions."""

from dataclasses import dataclass

from saccade.errors import UserError
from saccade.learner import OptimizerSettings
from saccade.models import LoadSettings
from saccade.protocols import TrainedReading
from saccade.rewards import OutcomeReward
from saccade.rewards.judges import JudgeSettings
from saccade.rollout import RolloutSettings
from saccade.tasks import Band
from saccade.train import AlgorithmSettings, ImitationSettings, RLSettings


@dataclass(frozen=True, kw_only=True)
class QuestionsSettings:
    """Settings for your own questions, for a published model of a few billion parameters (see ``TINY``)."""

    model: LoadSettings = LoadSettings()
    sft: ImitationSettings = ImitationSettings()
    rl: RLSettings = RLSettings(
        steps=100,
        tasks_per_step=16,
        group_size=8,
        optimizer=OptimizerSettings(learning_rate=1e-6),
        algorithm=AlgorithmSettings(clip_low=0.2, clip_high=0.28),
        checkpoint_every=20,
    )
    rollout: RolloutSettings = RolloutSettings(max_turn_tokens=512, max_tokens=8192)
    max_turns: int = 4
    with_tools: bool = True
    """Whether the model may use the image tools; without, it learns to look silently."""
    reading: TrainedReading = "strict"
    """``lenient`` also runs calls of a model that was not trained on the protocol; only the form that is asked for
    counts as well-formed."""
    held_out_share: float = 0.25
    """Share of the questions that is never trained on, the same for every seed; questions on one picture
    stay together."""
    reward: OutcomeReward = OutcomeReward(accuracy_weight=1.0, format_weight=0.1)
    judge: JudgeSettings = JudgeSettings(kind="none")
    """A judge of free text (answers of kind text, sentence and judge) that the rules do not find right."""
    evidence_judge: JudgeSettings = JudgeSettings(kind="none")
    """A judge that sees, for ``rl.evidence.form=judged``."""
    pass_rates: Band = Band()
    """Questions whose last pass rate lies outside this band are left out of later epochs for a while; a ``high`` of
    0.999 leaves out questions that are always answered right."""

    def check(self) -> None:
        if not 0 < self.held_out_share < 1:
            raise UserError(f"held_out_share={self.held_out_share} must lie between 0 and 1")


TINY = QuestionsSettings(
    sft=ImitationSettings(steps=80, optimizer=OptimizerSettings(learning_rate=1e-3)),
    rl=RLSettings(
        steps=15,
        tasks_per_step=8,
        group_size=8,
        optimizer=OptimizerSettings(learning_rate=2e-4),
        algorithm=AlgorithmSettings(clip_low=0.2, clip_high=0.28),
        checkpoint_every=10,
    ),
    rollout=RolloutSettings(max_turn_tokens=64, max_tokens=1024),
)
"""The defaults for models below ``TINY_BELOW_WEIGHTS``, the shipped base among them: it answers nothing before it has
seen answers, and at the rate of a published model nothing changes it."""
