"""Settings of a stage's algorithm, by name, checked before any work."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Literal

from saccade.algorithms.advantages import GroupAdvantages
from saccade.algorithms.algorithm import Aggregation, Algorithm
from saccade.algorithms.critic import Critic
from saccade.algorithms.dapo import SoftOverlong, dapo, teaches
from saccade.algorithms.options import (
    DistillOptions,
    GammaWeights,
    GateTemperatures,
    PairLoss,
    PairRule,
    PolicyOptions,
)
from saccade.algorithms.policy_gradient import dr_grpo, grpo, gspo, ppo, rloo
from saccade.codec.bounds import Count, check_bounds
from saccade.errors import UserError
from saccade.types import Group

AlgorithmName = Literal[
    "grpo", "dr_grpo", "rloo", "dapo", "gspo", "ppo", "cispo", "sapo", "gmpo", "luspo", "vespo", "dpo"
]
AdvantageName = Literal["default", "gdpo", "maxrl", "reinforce_plus_plus", "reinforce_plus_plus_baseline"]

CLIPS: dict[AlgorithmName, tuple[float, float]] = {
    "dapo": (0.2, 0.28),
    "gspo": (3e-4, 4e-4),
    "luspo": (3e-4, 4e-4),
    "cispo": (1.0, 4.0),
    "gmpo": (0.4, 0.4),
}
"""Clip ranges (low, high) of the papers, where they differ from 0.2 on both sides."""

_OWNERS = {"critic": "ppo", "sapo": "sapo", "vespo": "vespo", "dpo": "dpo", "pairs": "dpo"}
"""Groups of settings that are for one algorithm alone."""
_WITHOUT_CLIP = ("sapo", "vespo", "dpo")
_OF_THE_NAME = ("clip_low", "clip_high", "scale_by_std", "max_refills", "overlong_tokens", *_OWNERS)
"""Settings whose values are meant for the algorithm that they were chosen with."""


@dataclass(frozen=True, kw_only=True)
class AlgorithmSettings:
    """The algorithm of an RL stage and its settings."""

    name: AlgorithmName = "grpo"
    clip_low: float | None = None
    """Ratios are clipped at 1 - this, those of gmpo at exp(-this); None uses the algorithm's own range: 3e-4 for gspo,
    3e-4 for luspo, 1 for cispo, 0.4 for gmpo, 0.2 for all others."""
    clip_high: float | None = None
    """And at 1 + this, those of gmpo at exp(this); None: 4e-4 for gspo, 4e-4 for luspo, 0.28 for dapo, 4 for cispo, 0.4
    for gmpo, 0.2 for all others. Algorithms sapo, vespo and dpo have no clip."""
    advantages: AdvantageName = "default"
    """Advantages in the place of the algorithm's own. gdpo compares each term of the reward by itself, maxrl divides by
    the group's mean reward, reinforce_plus_plus standardises over the batch, with _baseline after each group's mean was
    taken away."""
    scale_by_std: bool = True
    """Whether grpo, gspo and luspo divide advantages by their group's standard deviation."""
    max_refills: Count = 9
    """For dapo: extra rounds of questions that replace groups with equal rewards."""
    overlong_tokens: Count = 0
    """For dapo: action tokens before the limit over which the soft overlong penalty grows; 0 for no penalty."""
    critic: Critic = Critic()
    """Critic of ppo."""
    sapo: GateTemperatures = GateTemperatures()
    """Gate of sapo."""
    vespo: GammaWeights = GammaWeights()
    """Weights of vespo's sequences."""
    dpo: PairLoss = PairLoss()
    """Loss of dpo's pairs."""
    pairs: PairRule = PairRule()
    """Choice of dpo's pairs in a group."""
    options: PolicyOptions = PolicyOptions()
    distill: DistillOptions = DistillOptions()
    """What is learned from the stage's teacher, which ``saccade train distill`` has."""

    def check(self) -> None:
        """Raises UserError for what the algorithm would refuse or silently not use."""
        check_bounds(self)
        if self.overlong_tokens and self.name != "dapo":
            raise UserError(f"overlong_tokens={self.overlong_tokens} belongs to name=dapo, not {self.name}")
        if self.max_refills != AlgorithmSettings.max_refills and self.name != "dapo":
            raise UserError(f"max_refills={self.max_refills} belongs to name=dapo; {self.name} replaces no groups")
        for name, owner in _OWNERS.items():
            if (own := _changed(getattr(self, name))) and self.name != owner:
                raise UserError(f"{name}.{own} belongs to name={owner}; {self.name} has none")
        if not self.scale_by_std and self.name not in ("grpo", "gspo", "luspo"):
            raise UserError(
                f"scale_by_std=false belongs to name=grpo, gspo and luspo; {self.name} never scales, or always"
            )
        if self.advantages != "default" and self.name in ("ppo", "dpo"):
            whose = "critic gives them" if self.name == "ppo" else "pairs do"
            raise UserError(f"advantages={self.advantages} has no effect with name={self.name}, whose {whose}")
        if self.name == "dpo" and (own := _changed(self.options)):
            raise UserError(f"options.{own} has no effect with name=dpo; leave it at its default")
        for setting, value in (
            ("options.kl_in_reward", self.options.kl_in_reward),
            ("overlong_tokens", self.overlong_tokens),
        ):
            if value and self.advantages in ("gdpo", "maxrl"):
                why = "compares it as one of equals" if self.advantages == "gdpo" else "takes no reward below 0"
                raise UserError(
                    f"{setting}={value} adds a penalty to the reward, and advantages={self.advantages} {why}"
                )
        if self.advantages != "default" and not self.scale_by_std:
            raise UserError(f"scale_by_std=false has no effect with advantages={self.advantages}")
        for name in ("clip_low", "clip_high"):
            if getattr(self, name) is not None and self.name in _WITHOUT_CLIP:
                raise UserError(f"{name}={getattr(self, name)} has no effect with name={self.name}, which has no clip")
        if self.distill.weight:
            self._check_distill()
        chosen_algorithm(self, action_tokens=max(1, self.overlong_tokens))

    def _check_distill(self) -> None:
        """Raises UserError where the algorithm makes something else of what a teacher says of a token."""
        loss = self.distill.loss
        if loss == "sampled" and self.name in ("gspo", "luspo", "gmpo", "vespo"):
            raise UserError(
                f"distill.loss=sampled pays single tokens, and {self.name} has one ratio for a sequence; use name=grpo "
                "or distill.loss=reverse_kl"
            )
        if self.distill.is_alone and self.name == "dapo":
            raise UserError(
                "distill.reward_weight=0 learns from no reward, by which name=dapo leaves questions out; use name=grpo"
            )
        if self.distill.is_alone and self.name == "ppo":
            raise UserError("distill.reward_weight=0 learns from no reward, and name=ppo has a critic of it; use grpo")

    def base_for(self, changes: Mapping[str, object]) -> "AlgorithmSettings":
        """These settings, or those of another algorithm that the changes name: what a recipe chose for its own, clips
        above all, is no choice for another."""
        name = changes.get("name", self.name)
        if name == self.name:
            return self
        return replace(self, **{one: getattr(AlgorithmSettings(), one) for one in _OF_THE_NAME})

    @property
    def in_words(self) -> str:
        """The algorithm, its clips, and how teacher and reward are weighed, as a log tells them."""
        low, high = self.clips
        clips = "without clips" if self.name in _WITHOUT_CLIP else f"clip_low={low:g}, clip_high={high:g}"
        taught = f", teacher {self.distill.weight:g}, reward {self.distill.reward_weight:g}"
        return f"{self.name}, {clips}{taught if self.distill.weight else ''}"

    @property
    def clips(self) -> tuple[float, float]:
        """Below and above, those of the paper where they are not set."""
        low, high = CLIPS.get(self.name, (0.2, 0.2))
        return (low if self.clip_low is None else self.clip_low, high if self.clip_high is None else self.clip_high)


def _changed(part: Critic | GateTemperatures | GammaWeights | PairLoss | PairRule | PolicyOptions) -> str:
    """The first setting that is not the default, as it is written."""
    default, own = asdict(type(part)()), asdict(part)
    return next((f"{name}={value}" for name, value in own.items() if value != default[name]), "")


def chosen_algorithm(settings: AlgorithmSettings, *, action_tokens: int) -> Algorithm:
    """The algorithm as a value; ``action_tokens`` is the most that a trajectory may have."""
    algorithm = _by_name(settings, action_tokens)
    advantages = other_advantages(settings.advantages)
    algorithm = algorithm if advantages is None else replace(algorithm, advantages=advantages)
    if settings.distill == DistillOptions():
        return algorithm
    # Few stages have a teacher.
    from saccade.algorithms.distillation import with_distillation

    return with_distillation(algorithm, settings.distill)


def other_advantages(name: AdvantageName) -> Callable[[Sequence[Group]], GroupAdvantages] | None:
    """Advantages in the place of an algorithm's own; None for its own. What is not chosen is not loaded."""
    match name:
        case "gdpo":
            from saccade.algorithms.gdpo import by_term

            return by_term
        case "maxrl":
            from saccade.algorithms.maxrl import by_mean

            return by_mean
        case "reinforce_plus_plus" | "reinforce_plus_plus_baseline":
            from saccade.algorithms.reinforce_plus_plus import over_batch

            return partial(over_batch, has_baseline=name == "reinforce_plus_plus_baseline")
        case "default":
            return None


def _by_name(settings: AlgorithmSettings, action_tokens: int) -> Algorithm:
    low, high = settings.clips
    options = settings.options
    match settings.name:
        case "grpo":
            return grpo(clip_low=low, clip_high=high, scale_by_std=settings.scale_by_std, options=options)
        case "dr_grpo":
            return dr_grpo(length=action_tokens, clip_low=low, clip_high=high, options=options)
        case "rloo":
            return rloo(clip_low=low, clip_high=high, options=options)
        case "gspo":
            return gspo(clip_low=low, clip_high=high, scale_by_std=settings.scale_by_std, options=options)
        case "ppo":
            return ppo(clip_low=low, clip_high=high, critic=settings.critic, aggregation=Aggregation(), options=options)
        case "cispo":
            from saccade.algorithms.cispo import cispo

            return cispo(clip_low=low, clip_high=high, options=options)
        case "sapo":
            from saccade.algorithms.sapo import sapo

            return sapo(temperatures=settings.sapo, options=options)
        case "gmpo":
            from saccade.algorithms.gmpo import gmpo

            return gmpo(clip_low=low, clip_high=high, options=options)
        case "luspo":
            from saccade.algorithms.luspo import luspo

            return luspo(clip_low=low, clip_high=high, scale_by_std=settings.scale_by_std, options=options)
        case "vespo":
            from saccade.algorithms.vespo import vespo

            return vespo(weights=settings.vespo, options=options)
        case "dpo":
            from saccade.algorithms.dpo import dpo

            return dpo(settings.dpo, settings.pairs)
        case "dapo":
            cache = settings.overlong_tokens
            if cache > action_tokens:
                raise UserError(
                    f"algorithm.overlong_tokens={cache} is more than the {action_tokens} tokens that an episode may "
                    "have, over the last of which the penalty grows; use less (a fifth is usual)"
                )
            return dapo(
                clip_low=low,
                clip_high=high,
                keep_group=teaches,
                max_refills=settings.max_refills,
                overlong=SoftOverlong(max_tokens=action_tokens, cache_tokens=cache) if cache else None,
                options=options,
            )
