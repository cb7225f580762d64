"""Tinker's losses by their names, each the surrogate of an algorithm here, summed over tokens.

The formulas are those of https://tinker-docs.thinkingmachines.ai/tinker/losses. A loss is a sum over all tokens of the
request, with no mean: the client divides its weights and advantages itself.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType

import torch
from jaxtyping import Bool
from torch import Tensor

from saccade.algorithms.algorithm import Loss, PolicyLoss, PolicyTokens
from saccade.algorithms.cispo import clipped_weights
from saccade.algorithms.dro import penalised_likelihood
from saccade.algorithms.losses import Surrogate, clip, negative_log_likelihood
from saccade.algorithms.options import PolicyOptions
from saccade.errors import UserError

Config = Mapping[str, float | str]

_CLIPS = MappingProxyType({"clip_low_threshold": 0.8, "clip_high_threshold": 1.2})
_SAMPLED = ("target_tokens", "logprobs", "advantages")


@dataclass(frozen=True, kw_only=True, slots=True)
class LossKind:
    """What a loss reads of an example, and how it is made of its configuration."""

    inputs: tuple[str, ...]
    """Names in ``loss_fn_inputs``; all are needed but ``weights``, which are 1."""
    weight: str
    """The one of them that a token counts with: where it is 0 the token has no gradient."""
    make: Callable[[Mapping[str, float]], PolicyLoss]
    config: Mapping[str, float] = field(default_factory=dict)
    """Names in ``loss_fn_config``, and their values where they are left out."""
    mask: str | None = None
    """The one that says which tokens the loss is about; None: all."""

    def loss(self, config: Config) -> PolicyLoss:
        """UserError for a configuration that it does not have."""
        if unknown := sorted(set(config) - set(self.config)):
            known = ", ".join(self.config) or "none"
            raise UserError(f"loss_fn_config has {unknown[0]!r}; this loss knows {known}")
        numbers = {name: value for name, value in config.items() if not isinstance(value, str) and math.isfinite(value)}
        if wrong := sorted(set(config) - set(numbers)):
            raise UserError(f"loss_fn_config {wrong[0]}={config[wrong[0]]!r} must be a finite number")
        made = self.make({**self.config, **numbers})
        return lambda tokens: made(_some(tokens, tokens.logprobs.detach().isfinite() & (tokens.weights > 0)))


def loss_kind(name: str) -> LossKind:
    """UserError for a loss that there is not, or that only Tinker's own server can work out."""
    if name in LOSSES:
        return LOSSES[name]
    why = {
        "stable_reinforce": "it needs what the sampler recorded of its own numbers, and its formula is not published",
        "custom": "losses are not uploaded to this server; the client works them out itself by forward_backward_custom",
    }.get(name, "there is no such loss")
    raise UserError(f"loss_fn={name[:40]!r}: {why}; use one of {', '.join(LOSSES)}")


def _some(tokens: PolicyTokens, chosen: Bool[Tensor, "tokens"]) -> PolicyTokens:
    """The chosen tokens alone. A token that the policy never writes has -inf, and 0 times that is no number."""
    names = ("logprobs", "sampled_logprobs", "old_logprobs", "advantages", "weights", "sequence", "entropy")
    return replace(tokens, **{name: getattr(tokens, name)[chosen] for name in names})


def _summed(surrogate: Surrogate) -> PolicyLoss:
    def loss(tokens: PolicyTokens) -> Loss:
        losses, _ = surrogate(tokens)
        return Loss(value=losses.sum(), sums={})

    return loss


def _cross_entropy(_: Mapping[str, float]) -> PolicyLoss:
    """-sum w log p."""
    return lambda tokens: negative_log_likelihood(replace(tokens, weights=tokens.advantages))


def _importance_sampling(_: Mapping[str, float]) -> PolicyLoss:
    """-sum r A: PPO's surrogate with a range that holds every ratio."""
    return _summed(clip(clip_low=1.0, clip_high=math.inf, ratio="token", options=PolicyOptions()))


def _ppo(config: Mapping[str, float]) -> PolicyLoss:
    low, high = _thresholds(config)
    return _summed(clip(clip_low=1.0 - low, clip_high=high - 1.0, ratio="token", options=PolicyOptions()))


def _gspo(config: Mapping[str, float]) -> PolicyLoss:
    low, high = _thresholds(config)
    return _summed(clip(clip_low=1.0 - low, clip_high=high - 1.0, ratio="sequence_token", options=PolicyOptions()))


def _cispo(config: Mapping[str, float]) -> PolicyLoss:
    low, high = _thresholds(config)
    return _summed(partial(clipped_weights, low=low, high=high))


def _dro(config: Mapping[str, float]) -> PolicyLoss:
    if config["beta"] < 0:
        raise UserError(f"loss_fn_config beta={config['beta']:g} must be 0 or more")
    return _summed(partial(penalised_likelihood, beta=config["beta"]))


def _thresholds(config: Mapping[str, float]) -> tuple[float, float]:
    low, high = config["clip_low_threshold"], config["clip_high_threshold"]
    if not 0 <= low <= 1 <= high:
        raise UserError(
            f"clip_low_threshold={low:g} and clip_high_threshold={high:g} are bounds of a ratio: 0 <= low <= 1 <= high"
        )
    return low, high


LOSSES: Mapping[str, LossKind] = MappingProxyType(
    {
        "cross_entropy": LossKind(inputs=("target_tokens", "weights"), weight="weights", make=_cross_entropy),
        "importance_sampling": LossKind(inputs=_SAMPLED, weight="advantages", make=_importance_sampling),
        "ppo": LossKind(inputs=_SAMPLED, weight="advantages", make=_ppo, config=_CLIPS),
        "cispo": LossKind(inputs=_SAMPLED, weight="advantages", make=_cispo, config=_CLIPS),
        "dro": LossKind(inputs=_SAMPLED, weight="advantages", make=_dro, config=MappingProxyType({"beta": 0.05})),
        "gspo": LossKind(
            inputs=(*_SAMPLED, "sequence_ratio_mask"),
            weight="advantages",
            make=_gspo,
            config=_CLIPS,
            mask="sequence_ratio_mask",
        ),
    }
)


def whole_loss(loss: PolicyLoss) -> tuple[PolicyLoss, list[tuple[Tensor, float]]]:
    """The loss, and a list that each call of it adds to: log-probabilities of its tokens, and its value.

    UserError, before there is a gradient of it, where the value is not finite.
    """
    seen: list[tuple[Tensor, float]] = []

    def noting(tokens: PolicyTokens) -> Loss:
        result = loss(tokens)
        value = float(result.value.detach())
        if not math.isfinite(value):
            raise UserError(
                "the loss is not a finite number: check logprobs and advantages, and whether the weights have diverged"
            )
        seen.append((tokens.logprobs.detach().to(torch.float32).cpu(), value))
        return result

    return noting, seen
