"""Settings of the iVGR recipe: the paper's."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from saccade.algorithms.losses import PolicyOptions
from saccade.errors import UserError
from saccade.evaluation.views import CropSettings
from saccade.learner.learner import OptimizerSettings
from saccade.models.loading import LoadSettings
from saccade.protocols.box_text import BoxForm
from saccade.recipes._ivgr_judges import JudgeSettings
from saccade.rewards.boxes.grounding import BoxRule
from saccade.rollout.settings import RolloutSettings
from saccade.train.algorithm_choice import AlgorithmSettings
from saccade.train.stage_settings import ImitationSettings, RLSettings

AskedIn = Literal["both", "grounded", "textual"]


@dataclass(frozen=True, kw_only=True)
class TwoStreamSettings:
    """What the recipe and its miniature have in common; the paper's settings of the reinforcement."""

    streams: AskedIn = "both"
    """Which streams ask a question with boxes; one alone is a variant of the paper's Table 5."""
    boxed_share: float = 0.45
    """Share of a step's prompts that are questions with boxes, each of which both streams ask; 0.5 leaves no room for
    questions without boxes, which the textual stream alone asks. One stream alone has twice as many questions, so that
    a step samples as many trajectories."""
    tau: float = 0.3
    """A reference's boxes must be rewarded by more than this."""
    consistency: bool = True
    archive: bool = True
    """Whether references of earlier steps are remembered."""
    box_rule: BoxRule = "unrepeated"
    """How boxes are paid: so that copies of a box never pay, or by the paper's ``equation``, or as its public ``code``
    (there with ``validity_weight=1``)."""
    validity_weight: float = 0.0
    """Of the public code's reward of boxes that do not repeat themselves; there it is 1."""
    plain_accuracy_weight: float = 1.0
    """Of right answers to questions without boxes; 1.5 in the public code."""
    judge: JudgeSettings = JudgeSettings()
    """Who says how well plain words agree with boxes."""
    accuracy_judge: bool = True
    """Whether the judge, where it is a model, also decides on answers that the rules cannot; in training alone."""
    box_form: BoxForm = "lenient"
    grounded_crops: bool = False
    """Whether the grounded stream may also look closer with the crop tool, over several turns."""
    rl: RLSettings = RLSettings(
        steps=360,
        tasks_per_step=512,
        group_size=5,
        optimizer=OptimizerSettings(learning_rate=1e-6),
        algorithm=AlgorithmSettings(clip_low=0.2, clip_high=0.28, options=PolicyOptions(kl_weight=0.01)),
    )
    """Here ``tasks_per_step`` counts prompts: 512 are 230 questions twice and 52 once. The paper is silent on clipping:
    the range is its public code's."""
    rollout: RolloutSettings = RolloutSettings(max_turn_tokens=4096, max_tokens=16_384)
    crop_turns: int = 4
    """Turns of the grounded stream with the crop tool."""

    def check(self) -> None:
        if not 0 < self.boxed_share <= 0.5:
            raise UserError(
                f"boxed_share={self.boxed_share} must lie above 0 and be at most 0.5: questions with boxes are asked "
                "twice (0.45 is the paper's)"
            )
        if self.pairs < 1:
            raise UserError(
                f"boxed_share={self.boxed_share} of rl.tasks_per_step={self.rl.tasks_per_step} prompts is no whole "
                "question with boxes; raise one of them"
            )

    @property
    def pairs(self) -> int:
        """Questions of a step that both streams ask."""
        return int(self.rl.tasks_per_step * self.boxed_share + 1e-9)

    @property
    def singles(self) -> int:
        """Questions of a step that the textual stream alone asks."""
        return self.rl.tasks_per_step - 2 * self.pairs


@dataclass(frozen=True, kw_only=True)
class IvgrSettings(TwoStreamSettings):
    """The paper's settings, for a model of a few billion parameters."""

    model: LoadSettings = LoadSettings()
    sft: ImitationSettings = ImitationSettings(
        steps=547,
        batch_size=64,
        optimizer=OptimizerSettings(learning_rate=1e-5),
        decay="cosine",
    )
    """547 batches are the paper's 35,000 trajectories once. Without ``sft_data`` there are none."""
    sft_data: Path | None = None
    """Trajectories of both streams: a data set's conversations, or what ``saccade curate ivgr rewrite`` writes."""
    general_data: Path | None = None
    """Questions without boxes, beside those of ``--data``; in the paper 14,000."""
    general_pass_rates: Path | None = None
    """Their pass rates, as ``saccade curate ivgr select`` writes them: one or two right of five are asked, and what
    training finds out replaces them."""
    held_out_share: float = 0.05
    """Share of your own questions with boxes that is never trained on, chosen by a hash of their images."""
    test_time: bool = True
    """Whether evaluations look again at crops of a first pass and at their union."""
    views: CropSettings = CropSettings()
    """How a second look cuts out its views."""

    def check(self) -> None:
        super().check()
        if not 0 < self.held_out_share < 1:
            raise UserError(f"held_out_share={self.held_out_share} must lie between 0 and 1")
