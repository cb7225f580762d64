"""Settings of the CodeDance recipe, and the reward and turn credit that they name."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from saccade.algorithms import Algorithm, with_turn_credit
from saccade.codec.bounds import Count
from saccade.errors import UserError
from saccade.learner import OptimizerSettings
from saccade.models import LoadSettings
from saccade.protocols import EVALUATION_TURNS, TRAINING_TURNS, TrainedReading
from saccade.rewards import AnyReward, CodeDanceReward, DeepEyesReward, OutcomeReward, execution_returns
from saccade.rewards.judges import JudgeSettings
from saccade.rollout import RolloutSettings
from saccade.sandbox import Isolation
from saccade.train import AlgorithmSettings, ImitationSettings, RLSettings


@dataclass(frozen=True, kw_only=True)
class TurnCredit:
    """Penalties of the turns whose code fails, in the advantage of these turns (equation 2)."""

    weight: float = 0.2
    penalty: float = -0.5
    discount: float = 0.2
    includes_final_turn: bool = True
    """Whether the last turn counts in the turns' signal and its mean; in the public code it does not."""
    keeps_equal: bool = False
    """Whether turns keep their returns if all of a batch are alike, as in the public code."""
    limit: float = 10.0
    """Clips a turn's normalised signal; inf never clips, as in the public code."""

    def added_to(self, algorithm: Algorithm) -> Algorithm:
        """The algorithm with this credit."""
        return with_turn_credit(
            algorithm,
            lambda trajectory: execution_returns(trajectory, penalty=self.penalty, discount=self.discount),
            weight=self.weight,
            includes_final_turn=self.includes_final_turn,
            keeps_equal=self.keeps_equal,
            limit=self.limit,
        )


@dataclass(frozen=True, kw_only=True)
class CodeDanceSettings:
    """The paper's settings, for a model of a few billion parameters."""

    model: LoadSettings = LoadSettings()
    sft: ImitationSettings = ImitationSettings(
        steps=266,
        batch_size=128,
        optimizer=OptimizerSettings(learning_rate=5e-5),
        warmup_steps=13,
        decay="cosine",
    )
    """266 batches are one epoch of the paper's 34,000 examples; 0.05 of them warm up. Without ``sft_data`` SFT is
    skipped."""
    sft_data: Path | None = None
    """Curated examples, as ``saccade curate codedance`` writes them."""
    rl: RLSettings = RLSettings(
        steps=240,
        tasks_per_step=256,
        group_size=8,
        optimizer=OptimizerSettings(learning_rate=1e-6),
        algorithm=AlgorithmSettings(),
    )
    """One epoch of about 63,000 questions; no KL."""
    rollout: RolloutSettings = RolloutSettings(max_turn_tokens=10_240, max_tokens=20_480)
    """10,240 tokens of prompt and as many of everything after it."""
    training_turns: int = TRAINING_TURNS
    evaluation_turns: int = EVALUATION_TURNS
    reading: TrainedReading = "strict"
    """``lenient`` also runs calls of a model that was not trained on the protocol; only the form that is asked for
    counts as well-formed."""
    reward: Literal["adaptive", "deepeyes", "outcome"] = "adaptive"
    """``adaptive`` is the paper's; the others are those of its Table 3."""
    outcome: OutcomeReward = OutcomeReward(accuracy_weight=1.0, format_weight=0.2)
    """Reward of any answer, in evaluations too; 1.2 and 0.4 in the public code's form for mathematics."""
    adaptive: CodeDanceReward = CodeDanceReward()
    """The paper's reward around the outcome (equation 1)."""
    paid_calls: Literal["working", "successful"] = "working"
    """``working``: code that shows nothing of a picture and computes nothing counts neither way; to tell, code is run
    again on other pictures. ``successful``: every run without an error counts, as in the paper."""
    evidence_runs: Count = 0
    """In evaluations: times that code is run again on changed pictures after each call, to say what of them its output
    depends on; 40 give a rough picture."""
    evidence_judge: JudgeSettings = JudgeSettings(kind="none")
    """A judge that sees, for ``rl.evidence.form=judged``."""
    turn_credit: bool = True
    """Whether turns whose code fails are penalised individually (the paper's equation 2)."""
    turns: TurnCredit = TurnCredit()
    isolation: Isolation = "full"
    sandbox_server: str = ""
    """Address of a SandboxFusion server that runs the code, ``http://HOST:8080``, in place of this machine."""
    held_out_share: float = 0.05
    """Share of your own questions that is never trained on, the same for every seed; questions on one picture
    stay together."""

    @property
    def checks_work(self) -> bool:
        """Whether a reward, or a credit for evidence, reads if a call did any work."""
        return self.paid_calls == "working" and self._pays_calls

    @property
    def _pays_calls(self) -> bool:
        evidence = self.rl.evidence
        return self.reward != "outcome" or (evidence.weight > 0 and evidence.form == "difference")

    def unused(self) -> Mapping[str, str]:
        """What nothing reads beside the other settings, and why."""
        return {
            **({} if self.reward == "adaptive" else {"adaptive": f"it belongs to reward=adaptive, not {self.reward}"}),
            **({} if self.turn_credit else {"turns": "turn_credit=false"}),
            **({} if self._pays_calls else {"paid_calls": "reward=outcome pays no calls"}),
            **({} if self.sft_data else {"sft": "nothing is imitated without sft_data"}),
        }

    @property
    def chosen_reward(self) -> AnyReward:
        """The reward of the settings' name."""
        match self.reward:
            case "adaptive":
                return replace(self.adaptive, outcome=self.outcome)
            case "deepeyes":
                # Code that prints a number helps as much as code that shows a picture.
                return DeepEyesReward(needs_image=False)
            case "outcome":
                return self.outcome

    def check(self) -> None:
        for name in ("training_turns", "evaluation_turns"):
            if getattr(self, name) < 2:
                raise UserError(
                    f"{name}={getattr(self, name)} leaves no turn for code, which is not run in the last one; use 2 or "
                    "more"
                )
        if not 0 < self.held_out_share < 1:
            raise UserError(f"held_out_share={self.held_out_share} must lie between 0 and 1")
