"""Settings of the iVGR recipe: the paper's."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from saccade.algorithms import PolicyOptions
from saccade.config import RecipeContext
from saccade.errors import UserError
from saccade.evaluation import CropSettings, Views
from saccade.learner import OptimizerSettings
from saccade.models import LoadSettings
from saccade.protocols import (
    GROUNDED,
    TEXTUAL,
    BoxForm,
    Style,
    grounded_protocol,
    grounded_with_crop_protocol,
    textual_protocol,
)
from saccade.rewards.ivgr import IvgrReward
from saccade.rewards.judges import ConsistencyJudge, Judges, JudgeSettings
from saccade.rewards.judges.settings import judges
from saccade.rollout import RolloutSettings
from saccade.seeding import seed_for
from saccade.tools import crop, tool_from
from saccade.train import AlgorithmSettings, EpisodeSpec, ImitationSettings, RLSettings

BOXED, PLAIN = "boxed", "plain"
"""Questions with boxes, which both streams ask, and those without, which are asked in plain words."""

AskedIn = Literal["both", "grounded", "textual"]


@dataclass(frozen=True, kw_only=True)
class TwoStreamSettings:
    """Settings that the recipe and its miniature have in common; the paper's settings of the reinforcement."""

    streams: AskedIn = "both"
    """Which streams ask a question with boxes; one alone is a variant of the paper's Table 5."""
    boxed_per_step: int = 230
    """Questions of a step that have boxes: each is asked in both streams; the others of ``rl.tasks_per_step`` have none
    and are asked in plain words alone. One stream alone has twice as many, so that a step samples as many prompts."""
    sft: ImitationSettings = ImitationSettings()
    consistency: bool = True
    """Whether agreement with boxes is judged at all (variant 5 of Table 5)."""
    reward: IvgrReward = IvgrReward(consistency=None)
    """The reward; its judges are those of ``judge``."""
    judge: JudgeSettings = JudgeSettings()
    """The judge of how well plain words agree with boxes."""
    accuracy_judge: bool = True
    """Whether the judge, if it is a model, also decides on answers that the rules cannot; in training only."""
    box_form: BoxForm = "lenient"
    grounded_crops: bool = False
    """Whether the grounded stream may also look closer with the crop tool, over several turns."""
    rl: RLSettings = RLSettings(
        steps=360,
        tasks_per_step=282,
        group_size=5,
        optimizer=OptimizerSettings(learning_rate=1e-6),
        algorithm=AlgorithmSettings(clip_low=0.2, clip_high=0.28, options=PolicyOptions(kl_weight=0.01)),
    )
    """230 questions twice and 52 once are the paper's 512 prompts. The paper gives no clip range: this is its public
    code's."""
    rollout: RolloutSettings = RolloutSettings(max_turn_tokens=4096, max_tokens=16_384)
    crop_turns: int = 4
    """Turns of the grounded stream with the crop tool."""

    test_time: bool = True
    """Whether evaluations look again at what boxes of a first pass show (Table 4)."""
    views: CropSettings = CropSettings()
    """How a second look cuts out its views."""

    @property
    def looks(self) -> Mapping[str, Views]:
        """Second looks by name."""
        return {"crops_union": Views(crops=True, union=True, cut=self.views)} if self.test_time else {}

    @property
    def asked_in(self) -> tuple[str, ...]:
        """The streams that ask questions with boxes."""
        return (GROUNDED, TEXTUAL) if self.streams == "both" else (self.streams,)

    def counts(self, *, has_plain: bool) -> Mapping[str, int]:
        """Questions of a step, by kind; those with boxes take the place of plain ones where none are asked."""
        plain = self.rl.tasks_per_step - self.boxed_per_step
        if has_plain and self.streams != GROUNDED:
            return {BOXED: self.boxed_per_step * 2 // len(self.asked_in), PLAIN: plain}
        return {BOXED: (2 * self.boxed_per_step + plain) // len(self.asked_in)}

    def episodes(self, style: Style) -> Mapping[str, EpisodeSpec]:
        """One turn in either stream; with crops several in the grounded one."""
        turns, protocol = (1, grounded_protocol)
        if self.grounded_crops:
            turns, protocol = self.crop_turns, grounded_with_crop_protocol
        grounded = protocol(style=style, max_turns=turns, form=self.box_form)
        tools = (tool_from(crop),) if self.grounded_crops else ()
        words = textual_protocol(style=style, max_turns=1)
        return {
            GROUNDED: EpisodeSpec(protocol=grounded, tools=tools, rollout=self.rollout, max_turns=turns),
            TEXTUAL: EpisodeSpec(protocol=words, tools=(), rollout=self.rollout, max_turns=1),
        }

    def judges(self, context: RecipeContext, exact: ConsistencyJudge | None = None) -> Judges:
        """The judges of the settings; in one stream alone there is nothing to agree with."""
        return judges(
            self.judge,
            judges_consistency=self.consistency and self.streams == "both",
            judges_answers=self.accuracy_judge,
            exact=exact,
            media=context.media,
            seed=seed_for(context.seed, "judge"),
        )

    def unused(self) -> Mapping[str, str]:
        """What nothing reads beside the other settings, and why."""
        return {
            **({} if self.grounded_crops else {"crop_turns": "grounded_crops=false"}),
            **({} if self.test_time else {"views": "test_time=false"}),
        }

    def check(self) -> None:
        if not 0 < self.boxed_per_step <= self.rl.tasks_per_step:
            raise UserError(
                f"boxed_per_step={self.boxed_per_step} must be 1 or more, and at most rl.tasks_per_step="
                f"{self.rl.tasks_per_step}, the questions of a step with and without boxes"
            )


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
    """547 batches are one epoch of the paper's 35,000 trajectories. Without ``sft_data`` SFT is skipped."""
    sft_data: Path | None = None
    """Trajectories of both streams: a data set's conversations, or what ``saccade curate ivgr rewrite`` writes."""
    general_data: Path | None = None
    """Questions without boxes, beside those of ``--data``; in the paper 14,000."""
    general_pass_rates: Path | None = None
    """Pass rates of questions without boxes, as ``saccade curate ivgr select`` writes them: questions with one or two
    of five right are asked, and pass rates of training replace these."""
    held_out_share: float = 0.05
    """Share of your own questions with boxes that is never trained on, the same for every seed; questions on one
    picture stay together."""

    def unused(self) -> Mapping[str, str]:
        return {
            **super().unused(),
            **({} if self.sft_data else {"sft": "nothing is imitated without sft_data"}),
            **({} if self.general_data else {"general_pass_rates": "there is no general_data"}),
        }

    def check(self) -> None:
        super().check()
        if not 0 < self.held_out_share < 1:
            raise UserError(f"held_out_share={self.held_out_share} must lie between 0 and 1")
