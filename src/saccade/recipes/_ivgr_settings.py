"""Settings of the iVGR recipe: the paper's, and those of the same in miniature."""

from dataclasses import dataclass, field
from typing import Literal

from saccade.algorithms.options import PolicyOptions
from saccade.errors import UserError
from saccade.learner.learner import OptimizerSettings
from saccade.models.loading import LoadSettings
from saccade.models.tiny import TinySize
from saccade.protocols.box_text import BoxForm
from saccade.rollout.settings import RolloutSettings
from saccade.tasks.stream_lessons import StreamLessons
from saccade.train.algorithm_choice import AlgorithmSettings
from saccade.train.stage_settings import ImitationSettings, ReinforceSettings

AskedIn = Literal["both", "grounded", "textual"]


@dataclass(frozen=True, kw_only=True)
class IvgrSettings:
    """The paper's settings, for a model of a few billion parameters."""

    model: LoadSettings = LoadSettings()
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
    validity_weight: float = 0.0
    """Of the public code's reward of boxes that do not repeat themselves; there it is 1."""
    box_form: BoxForm = "lenient"
    grounded_crops: bool = False
    """Whether the grounded stream may also look closer with the crop tool, over several turns."""
    rl: ReinforceSettings = ReinforceSettings(
        steps=360,
        tasks_per_step=512,
        group_size=5,
        optimizer=OptimizerSettings(learning_rate=1e-6),
        algorithm=AlgorithmSettings(options=PolicyOptions(kl_weight=0.01)),
    )
    """Here ``tasks_per_step`` counts prompts: 512 are 230 questions twice and 52 once."""
    rollout: RolloutSettings = RolloutSettings(max_turn_tokens=4096, max_tokens=16_384)
    crop_turns: int = 4
    """Turns of the grounded stream with the crop tool."""

    def check(self) -> None:
        if not 0 < self.boxed_share <= 0.5:
            raise UserError(
                f"boxed_share={self.boxed_share} must lie above 0 and be at most 0.5: questions with boxes are asked "
                "twice (0.45 is the paper's)"
            )


@dataclass(frozen=True, kw_only=True)
class TinySettings(IvgrSettings):
    """The same in miniature: minutes on one core."""

    sft: ImitationSettings = ImitationSettings(
        steps=1500,
        batch_size=32,
        optimizer=OptimizerSettings(learning_rate=2e-3, micro_batch_tokens=16_384),
        warmup_steps=20,
        decay="cosine",
        final_rate=0.1,
        checkpoint_every=500,
    )
    rl: ReinforceSettings = ReinforceSettings(
        steps=60,
        tasks_per_step=20,
        group_size=8,
        optimizer=OptimizerSettings(learning_rate=3e-4, micro_batch_tokens=16_384),
        warmup_steps=3,
        decay="linear",
        final_rate=0.1,
        checkpoint_every=20,
        evaluate_every=20,
    )
    rollout: RolloutSettings = RolloutSettings(max_turn_tokens=64, max_tokens=640)
    size: TinySize = field(default_factory=TinySize)
    lessons: StreamLessons = StreamLessons()
    sft_questions: int = 16_000
    """Different questions of the imitation; they come again in other streams."""
    rl_questions: int = 270
    """Different questions with boxes of the reinforcement: 30 steps ask each of them once in both streams."""
    difficulty: float = 0.5
    evaluation_tasks: int = 300
    """Held-out questions of each evaluation, half of them of each family."""
    curve_tasks: int = 60
    test_time: bool = True
    """Whether the last evaluations look again at crops, at their union, and at both."""
