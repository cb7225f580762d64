"""Settings of the Lang2Act recipe: the paper's (its Tables 5 and 6), where it gives any."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from saccade.algorithms import PolicyOptions
from saccade.chat.chat_model import API_KEY_VARIABLE, ChatServerSettings
from saccade.curation.linguistic_tools import ToolCuration
from saccade.errors import UserError
from saccade.learner import OptimizerSettings
from saccade.models import LoadSettings
from saccade.protocols import ChatProtocol
from saccade.recipes.argos_back_end_settings import ModelAt
from saccade.retrieval.task_pages import Scope
from saccade.rewards.judges import JudgeSettings
from saccade.rewards.lang2act import Lang2ActReward
from saccade.rollout import RolloutSettings
from saccade.train import AlgorithmSettings, EpisodeSpec, ImitationSettings, RLSettings

SUCCESSES = "successes"
"""Name of the evaluation whose right trajectories are curated."""


@dataclass(frozen=True, kw_only=True)
class PageReadingSettings:
    """Settings that the recipe and its miniature have in common."""

    sft: ImitationSettings = ImitationSettings()
    """SFT before all other stages; the paper has none."""
    action_rl: RLSettings = RLSettings(
        steps=229,
        tasks_per_step=48,
        minibatches=6,
        optimizer=OptimizerSettings(learning_rate=1e-6, weight_decay=1e-2),
        algorithm=AlgorithmSettings(name="dapo", options=PolicyOptions(kl_weight=1e-2)),
    )
    """The first RL stage: descriptions in free words, only answers are rewarded. 229 batches of 48 are one epoch of the
    paper's 11,000 questions; 0 steps leave it out ("w/o action")."""
    curates: bool = True
    """Whether tools are curated and the second RL stage follows; false is plain DAPO."""
    samples: int = 8
    """Answers to each training question between the stages: right answers are curated, and questions that are right
    every time are not asked again."""
    curation: ToolCuration = ToolCuration()
    tool_sft: ImitationSettings = ImitationSettings()
    """SFT on the curated chains, for a model that cannot follow a prompt; the paper has none."""
    tool_rl: RLSettings = RLSettings(
        steps=134,
        tasks_per_step=128,
        minibatches=2,
        optimizer=OptimizerSettings(learning_rate=1e-6, weight_decay=1e-2),
        algorithm=AlgorithmSettings(name="dapo"),
    )
    """The second RL stage: chains of the curated tools. 134 batches of 128 are three epochs of the paper's 5,700
    questions; 0 steps leave it out ("w/o tool"), and the model is asked both ways."""
    reward: Lang2ActReward = Lang2ActReward()
    """Reward of the second RL stage; the first rewards answers alone (equation 2)."""
    rollout: RolloutSettings = RolloutSettings(max_turn_tokens=2048, max_tokens=10_240)

    def episodes(self, protocol: ChatProtocol) -> EpisodeSpec:
        return EpisodeSpec(protocol=protocol, tools=(), rollout=self.rollout, max_turns=1)

    def unused(self) -> Mapping[str, str]:
        """What nothing reads beside the other settings, and why."""
        names = () if self.curates else ("curation", "samples", "tool_sft", "tool_rl")
        return dict.fromkeys(names, "curates=false learns no tools")

    def check(self) -> None:
        if self.samples < 1:
            raise UserError(f"samples={self.samples} finds no success to curate; use 1 or more (8 in the paper)")


@dataclass(frozen=True, kw_only=True)
class Lang2ActSettings(PageReadingSettings):
    """The paper's settings, for a model of a few billion parameters."""

    model: LoadSettings = LoadSettings(max_pixels=401_408)
    judge: JudgeSettings = JudgeSettings(kind="none")
    """A judge of answers that the rules cannot compare; the paper asks a model of 72 billion parameters."""
    curator: ModelAt = ModelAt()
    """Model that names the steps of right trajectories; empty for the policy itself, as in the paper."""
    server: ChatServerSettings = ChatServerSettings(max_tokens=2048)
    """Requests to a curator's server."""
    api_key_env: str = API_KEY_VARIABLE
    index: Path | None = None
    """Index of pages (``saccade index``) from which each question's images are retrieved; without it rows have them."""
    encoder: str = ""
    """Encoder that made the index: a directory or a server."""
    pages: int = 3
    """Pages that are retrieved for a question."""
    scope: Scope = "document"
    held_out_share: float = 0.05
    """Share of your own questions that is never trained on, chosen by a hash of their documents or images."""

    def unused(self) -> Mapping[str, str]:
        pages = () if self.index else ("encoder", "pages", "scope")
        return {
            **super().unused(),
            **({} if self.curates else {"curator": "curates=false learns no tools"}),
            **dict.fromkeys(() if self.curator else ("server", "api_key_env"), "without a curator no server is asked"),
            **dict.fromkeys(pages, "without an index each row has its own images"),
        }

    def check(self) -> None:
        super().check()
        if not 0 < self.held_out_share < 1:
            raise UserError(f"held_out_share={self.held_out_share} must lie between 0 and 1")
        if self.index is not None and not self.encoder:
            raise UserError(f"index={self.index} needs the encoder that made it; name that with encoder=")
        if self.pages < 1:
            raise UserError(f"pages={self.pages} shows no page; use 1 or more (3 in the paper)")
