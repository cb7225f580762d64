"""Settings of the Argos recipe: the paper's, where it gives any."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from saccade.algorithms import PolicyOptions
from saccade.errors import UserError
from saccade.learner import OptimizerSettings
from saccade.models import LoadSettings
from saccade.protocols import Style, pointed_protocol, pointed_with_tools_protocol
from saccade.recipes.argos_back_end_settings import BackEndSettings
from saccade.rewards.argos import ArgosReward, VerifierForms
from saccade.rewards.judges import JudgeSettings
from saccade.rollout import RolloutSettings
from saccade.tools import IMAGE_TOOLS
from saccade.train import AlgorithmSettings, EpisodeSpec, ImitationSettings, RLSettings


@dataclass(frozen=True, kw_only=True)
class PointingSettings:
    """Settings that the recipe and its miniature have in common."""

    with_tools: bool = False
    """Whether the model may look closer with image tools, over ``max_turns`` turns."""
    max_turns: int = 4
    """Turns with tools."""
    sft: ImitationSettings = ImitationSettings(
        steps=1000, batch_size=256, optimizer=OptimizerSettings(learning_rate=1e-5), decay="cosine"
    )
    """The paper's steps, batch and learning rate; it gives no schedule."""
    reward: ArgosReward = ArgosReward()
    """Weights of 1 and tau of 0.5 are ours: the paper gives none."""
    rl: RLSettings = RLSettings(
        steps=80,
        tasks_per_step=56,
        group_size=8,
        optimizer=OptimizerSettings(learning_rate=1e-5),
        algorithm=AlgorithmSettings(options=PolicyOptions(kl_weight=0.01)),
    )
    """The paper's steps, batch and learning rate; group size, clip range and KL weight are ours."""
    rollout: RolloutSettings = RolloutSettings(max_turn_tokens=6144, max_tokens=16_384)

    def unused(self) -> Mapping[str, str]:
        """What nothing reads beside the other settings, and why."""
        return {} if self.with_tools else {"max_turns": "with_tools=false asks for the answer in one turn"}

    def episodes(self, style: Style) -> EpisodeSpec:
        turns = self.max_turns if self.with_tools else 1
        protocol = pointed_with_tools_protocol if self.with_tools else pointed_protocol
        return EpisodeSpec(
            protocol=protocol(style=style, max_turns=turns),
            tools=IMAGE_TOOLS if self.with_tools else (),
            rollout=self.rollout,
            max_turns=turns,
        )


@dataclass(frozen=True, kw_only=True)
class ArgosSettings(PointingSettings):
    """The paper's settings, for a model of a few billion parameters."""

    model: LoadSettings = LoadSettings()
    back_ends: BackEndSettings = BackEndSettings()
    """Models that the verifier asks."""
    forms: VerifierForms = VerifierForms()
    """Which of the paper's readings the verifier takes."""
    judge: JudgeSettings = JudgeSettings(kind="none")
    """A judge of answers that the rules cannot compare."""
    sft_data: Path | None = None
    """Traces to imitate, as ``saccade curate argos`` writes them; without them SFT is skipped."""
    shares_data: bool = False
    """Whether questions whose pictures are in ``sft_data`` are reinforced too; the paper's two sets do not overlap."""
    held_out_share: float = 0.05
    """Share of your own questions that is never trained on, the same for every seed; questions on one picture
    stay together."""

    def unused(self) -> Mapping[str, str]:
        without = "nothing is imitated without sft_data"
        return {**super().unused(), **({} if self.sft_data else {"sft": without, "shares_data": without})}

    def check(self) -> None:
        if not 0 < self.held_out_share < 1:
            raise UserError(f"held_out_share={self.held_out_share} must lie between 0 and 1")
