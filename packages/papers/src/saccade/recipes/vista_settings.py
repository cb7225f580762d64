"""Settings of the VISTA-R1 recipe: the paper's, and those of the same in miniature."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from saccade.algorithms import PolicyOptions
from saccade.errors import UserError
from saccade.learner import OptimizerSettings
from saccade.models import LoadSettings
from saccade.protocols import TrainedReading
from saccade.rewards import AnyReward
from saccade.rewards.vista import DifficultyAdaptiveReward, VistaReward
from saccade.rollout import RolloutSettings
from saccade.tasks import HARD_OF_EIGHT, Band
from saccade.train import AlgorithmSettings, ImitationSettings, RLSettings

StageName = Literal["sft", "rl", "tail"]
RewardName = Literal["sum", "dense", "sparse", "difficulty"]


@dataclass(frozen=True, kw_only=True)
class TailSettings:
    """The second RL stage, on questions that the model answers now and then; all else of it is as in ``rl``."""

    steps: int = 100
    samples: int = 8
    """How often each training question is played to measure its pass rate."""
    low: float = HARD_OF_EIGHT.low
    high: float = HARD_OF_EIGHT.high
    """Questions with a pass rate from ``low`` to ``high`` are asked, easy ones first."""
    easy_to_hard: bool = True
    """False asks all training questions again, for comparison: the same number of steps, no selection."""

    def check(self) -> None:
        if self.steps < 1 or self.samples < 2:
            raise UserError(f"tail.steps={self.steps} must be 1 or more and tail.samples={self.samples} 2 or more")
        self.band.holds(0.0)

    @property
    def band(self) -> Band:
        return Band(low=self.low, high=self.high)


@dataclass(frozen=True, kw_only=True)
class GymSettings:
    """Settings that the recipe and its miniature have in common; the paper's settings of the reinforcement."""

    stages: tuple[StageName, ...] = ("sft", "rl", "tail")
    """Stages to run, in this order, with evaluations around them."""
    with_tools: bool = True
    """False: no stage has any tool (Table 2, w/o Tools)."""
    reasoning: bool = True
    """False: the examples that are imitated contain calls and answers, and no thoughts."""
    tool_families: tuple[str, ...] = ()
    """Families whose tools are offered in RL; empty is all. Evaluations offer all."""
    reward: RewardName = "sum"
    """``sum`` is the paper's; the others are those of its Figure 4c."""
    max_turns: int = 3
    reading: TrainedReading = "strict"
    """``lenient`` also runs calls of a model that was not trained on the protocol; only the form that is asked for
    counts as well-formed."""
    sft: ImitationSettings = ImitationSettings()
    rl: RLSettings = RLSettings(
        steps=300,
        tasks_per_step=128,
        group_size=8,
        temperature=0.7,
        optimizer=OptimizerSettings(learning_rate=5e-7),
        algorithm=AlgorithmSettings(options=PolicyOptions(kl_weight=1e-3)),
    )
    """A batch of 128 questions, eight rollouts each. ``rl.algorithm.name`` is grpo, or ppo or dapo as in Figure 4b."""
    tail: TailSettings = TailSettings()
    rollout: RolloutSettings = RolloutSettings(max_turn_tokens=8192, max_tokens=32_768, tool_threads=24)
    """26,780 tokens of response and some of the question; tools of 24 trajectories run at the same time."""

    @property
    def chosen_reward(self) -> AnyReward:
        """The reward of the settings' name."""
        return DifficultyAdaptiveReward() if self.reward == "difficulty" else VistaReward(form=self.reward)

    def unused(self) -> Mapping[str, str]:
        """What nothing reads beside the other settings, and why."""
        without = f"stages={','.join(self.stages)} has none"
        picks = () if self.tail.easy_to_hard else ("tail.samples", "tail.low", "tail.high")
        return {
            **({} if "sft" in self.stages else dict.fromkeys(("sft", "reasoning"), without)),
            **({} if {"rl", "tail"} & {*self.stages} else dict.fromkeys(("rl", "reward"), without)),
            **({} if "tail" in self.stages else {"tail": without}),
            **({} if self.with_tools else {"tool_families": "with_tools=false"}),
            **dict.fromkeys(picks, "easy_to_hard=false asks all questions"),
        }

    def check(self) -> None:
        if not self.stages or list(self.stages) != [one for one in ("sft", "rl", "tail") if one in self.stages]:
            raise UserError(f"stages={','.join(self.stages)} must be some of sft, rl, tail in this order, each once")
        if self.max_turns < 1:
            raise UserError(f"max_turns={self.max_turns} must be 1 or more (3 is the paper's)")


@dataclass(frozen=True, kw_only=True)
class VistaSettings(GymSettings):
    """The paper's settings, for a model of a few billion parameters."""

    model: LoadSettings = LoadSettings()
    sft: ImitationSettings = ImitationSettings(
        steps=174,
        batch_size=128,
        optimizer=OptimizerSettings(learning_rate=2e-6),
        decay="cosine",
    )
    """174 batches are one epoch of 22,170 trajectories. Without ``sft_data`` SFT is skipped."""
    sft_data: tuple[Path, ...] = ()
    """Trajectories to imitate: folders that ``saccade curate vista`` writes, or files of them."""
    tools: Path | None = None
    """A ``tools.toml`` that says which tools there are."""
    service: str | None = None
    """Or the address of a tool service, whose tools are offered."""
    data_sets: tuple[str, ...] = ()
    """Data sets of the folder ``--data`` to train on, each in a folder of its name; empty is all there are. A single
    file of your own questions has none."""
    take: bool = True
    """Whether to draw as many questions of each data set as the paper trains on (Table 5); else all."""
    held_out_share: float = 0.05
    """Share of a file of your own questions that is never trained on, the same for every seed; those on one picture
    stay together."""
    evaluation_tasks: int = 200
    """Tasks of each data set, drawn from its test split, or from validation where its test has no answers."""
    published_rules: bool = False
    """Whether to score answers by the data sets' own scripts where ours is stricter: years of charts within 5 %, so
    that figures compare with published ones."""

    def unused(self) -> Mapping[str, str]:
        without = "nothing is imitated without sft_data"
        return {**super().unused(), **({} if self.sft_data else {"sft": without, "reasoning": without})}

    def check(self) -> None:
        super().check()
        if not 0 < self.held_out_share < 1:
            raise UserError(f"held_out_share={self.held_out_share} must lie between 0 and 1")
        if self.evaluation_tasks < 1:
            raise UserError(f"evaluation_tasks={self.evaluation_tasks} must be 1 or more")
        if self.tools is not None and self.service is not None:
            raise UserError("tools and service both say where the tools are; give one of them")


def check_known(named: tuple[str, ...], names: tuple[str, ...], key: str) -> None:
    """UserError for a name that is none of these."""
    if unknown := [name for name in named if name not in names]:
        raise UserError(f"{key}={','.join(named)}: {unknown[0]!r} is none of {', '.join(names)}")
