"""Which experts a mixture of experts (MoE) sends tokens to: recorded in the engine, replayed in the learner, balanced.

Two forwards that differ by rounding choose other experts for some tokens, and these have other log-probabilities then.
Rollout Routing Replay (R3; Ma et al. 2025, arXiv 2510.11370) gives the learner the choice I of the forward that sampled
and weighs the chosen experts by the learner's own router logits s: g_i = I_i exp(s_i) / sum_j I_j exp(s_j). The choice
is fixed, and gradients reach the router through the weights. As with ``router_replay.mode=R3`` of verl, choices of
prompts and observations are replayed too, in old log-probabilities as in training; a reference policy chooses itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.models.qwen3_vl_moe.modeling_qwen3_vl_moe import Qwen3VLMoeTextTopKRouter

from saccade import metric_names as metric

_ROUTERS = (Qwen3VLMoeTextTopKRouter,)
"""Routers that take the softmax over all experts, keep the largest and let these sum to 1."""

ROUTING = "routing"
"""What a language model's layers take a ``Routing`` as."""

Routed = tuple[Float[Tensor, "tokens chosen"], Int[Tensor, "tokens chosen"]]
"""Weights of the chosen experts, and which they are."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Experts:
    """The mixture of experts of a language model."""

    layers: int
    """Those that have experts."""
    count: int
    """Of each of them."""
    chosen: int
    """Of them for each token."""

    @property
    def token_bytes(self) -> int:
        """Of what is recorded of one token: a whole number of 8 or 16 bits for each layer and chosen expert."""
        return self.layers * self.chosen * self._kind.itemsize

    def packed(self, chosen: Sequence[Int[Tensor, "tokens chosen"]]) -> Int[np.ndarray, "tokens bytes"]:
        """The bytes of each token from the choices of all layers."""
        together = torch.stack(list(chosen), dim=1).to(torch.int16 if self._kind.itemsize == 2 else torch.uint8)
        return together.flatten(1).cpu().contiguous().numpy().view(np.uint8)

    def unpacked(self, routed_experts: bytes) -> Int[Tensor, "tokens layers chosen"]:
        """The choices again, by token."""
        numbers = np.frombuffer(routed_experts, dtype=self._kind).astype(np.int64)
        return torch.from_numpy(numbers).view(-1, self.layers, self.chosen)

    @property
    def _kind(self) -> np.dtype[Any]:
        return np.dtype("uint8" if self.count <= 256 else "<u2")


class Routing(Protocol):
    """Sees what the routers of one forward choose, and may choose otherwise."""

    def routed(self, layer: int, logits: Float[Tensor, "tokens all_experts"], own: Routed) -> Routed:
        """What the layer's experts are given, the router's ``own`` or another; ``layer`` counts those with experts."""
        ...


def experts_of(language_model: Any) -> Experts | None:
    """The experts of a language model whose routers are known; None of any other."""
    routers = [router for _, router in _routers(language_model)]
    if not routers:
        return None
    return Experts(layers=len(routers), count=int(routers[0].num_experts), chosen=int(routers[0].top_k))


def enable_routing(language_model: PreTrainedModel) -> Experts | None:
    """Lets a language model take a ``routing`` argument; nothing happens to one without known routers.

    As with ``packing`` the choice lies in the call. Hooks of a layer itself would not run when it is worked out again
    for the backward pass: its attention, which is given all that the layer is, passes the choice on to its router.
    """
    for place, (layer, router) in enumerate(_routers(language_model)):
        tap = _Tap(place)
        layer.self_attn.register_forward_pre_hook(tap.before_attention, with_kwargs=True)
        router.register_forward_hook(tap.after_router)
    return experts_of(language_model)


def _routers(language_model: Any) -> list[tuple[Any, Any]]:
    """Layers with experts, and their routers."""
    found = [(layer, getattr(layer.mlp, "gate", None)) for layer in language_model.layers if hasattr(layer, "mlp")]
    return [(layer, router) for layer, router in found if type(router) in _ROUTERS]


@dataclass(slots=True)
class _Tap:
    """One layer's hooks, and what its present forward was given."""

    place: int
    routing: Routing | None = None

    def before_attention(self, _: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        self.routing = kwargs.get(ROUTING)
        return args, {name: value for name, value in kwargs.items() if name != ROUTING}

    def after_router(
        self, _: nn.Module, __: object, output: tuple[Tensor, Tensor, Tensor]
    ) -> tuple[Tensor, ...] | None:
        routing, self.routing = self.routing, None
        if routing is None:
            return None
        logits, weights, chosen = output
        return logits, *routing.routed(self.place, logits, (weights, chosen))


class RecordedRouting:
    """Keeps what the routers choose."""

    def __init__(self, experts: Experts) -> None:
        self._experts = experts
        self._chosen: dict[int, Int[Tensor, "tokens chosen"]] = {}

    def routed(self, layer: int, logits: Float[Tensor, "tokens all_experts"], own: Routed) -> Routed:
        self._chosen[layer] = own[1]
        return own

    def packed(self) -> Int[np.ndarray, "tokens bytes"]:
        """Bytes of each token of the forward, row by row."""
        return self._experts.packed([self._chosen[layer] for layer in range(self._experts.layers)])


@dataclass(frozen=True, kw_only=True, slots=True)
class RouterFigures:
    """What the routers did in one forward of the learner, means over layers."""

    entropy: float
    """Of a router's distribution over experts, in nats."""
    max_violation: float
    """MaxVio (Wang et al. 2024, arXiv 2408.15664): tokens of the busiest expert over those of an even share, less 1."""
    balance: float
    """The load-balancing loss, without its coefficient; an even load has the number of chosen experts."""
    replay_changed: float | None
    """Share of the replayed choices that the router itself would not have made; None where nothing is replayed."""

    def metrics(self, *, with_loss: bool) -> dict[str, float]:
        """By the names in metrics."""
        return {
            metric.ROUTER_ENTROPY: self.entropy,
            metric.ROUTER_MAX_VIOLATION: self.max_violation,
            **({metric.ROUTER_AUX_LOSS: self.balance} if with_loss else {}),
            **({} if self.replay_changed is None else {metric.ROUTER_REPLAY_CHANGED: self.replay_changed}),
        }


class LearnerRouting:
    """Replays choices, adds the gradient of the load-balancing loss, and counts.

    The loss is that of Fedus et al. 2021 (Switch Transformer, arXiv 2101.03961, equations 4 to 6) as transformers'
    ``load_balancing_loss_func`` has it, over all layers and tokens of the forward: N sum_i f_i P_i for N experts, where
    f_i is how often expert i is chosen per token and P_i the mean of its probability. Choices have no gradient: that of
    a probability is N f_i / (layers tokens), and is added where the backward pass meets it, so that sharded and
    recomputed layers need nothing more.
    """

    def __init__(
        self,
        experts: Experts,
        *,
        replayed: Int[Tensor, "tokens layers chosen"] | None = None,
        coefficient: float = 0.0,
    ) -> None:
        """``coefficient`` weighs the load-balancing loss."""
        self._experts = experts
        self._replayed = replayed
        self._coefficient = coefficient
        # By layer, so that a layer that is worked out again does not count twice.
        self._loads: dict[int, Tensor] = {}
        self._shares: dict[int, Tensor] = {}
        self._entropies: dict[int, Tensor] = {}
        self._changed: dict[int, Tensor] = {}

    def routed(self, layer: int, logits: Float[Tensor, "tokens all_experts"], own: Routed) -> Routed:
        probabilities = logits.softmax(dim=-1, dtype=torch.float)
        weights, chosen = own
        if self._replayed is not None:
            chosen = self._replayed[:, layer]
            self._changed[layer] = (chosen[:, :, None] != own[1][:, None]).all(dim=-1).float().mean()
        self._count(layer, probabilities.detach(), chosen)
        if self._coefficient and probabilities.requires_grad:
            probabilities = _Balanced.apply(probabilities, self)  # type: ignore[no-untyped-call]
        elif self._replayed is None:
            return own
        weights = probabilities.gather(-1, chosen)
        return (weights / weights.sum(dim=-1, keepdim=True)).to(logits.dtype), chosen

    def _count(self, layer: int, probabilities: Float[Tensor, "tokens all_experts"], chosen: Tensor) -> None:
        ones = torch.ones(chosen.numel(), device=chosen.device)
        self._loads[layer] = torch.zeros_like(probabilities[0]).index_add_(0, chosen.flatten(), ones)
        self._shares[layer] = probabilities.sum(dim=0)
        self._entropies[layer] = torch.special.entr(probabilities).sum(dim=-1).mean()

    def slope(self) -> Float[Tensor, "all_experts"]:
        """Gradient of the load-balancing loss, with its coefficient, with respect to one token's probabilities."""
        loads = torch.stack(list(self._loads.values()))
        rows = loads.sum() / self._experts.chosen
        return self._coefficient * self._experts.count * loads.sum(dim=0) / rows / rows

    def figures(self) -> RouterFigures:
        loads, shares = (torch.stack(list(one.values())) for one in (self._loads, self._shares))
        rows = loads.sum() / self._experts.chosen
        balance = self._experts.count * (loads.sum(dim=0) / rows * shares.sum(dim=0) / rows).sum()
        changed = list(self._changed.values())
        return RouterFigures(
            entropy=float(torch.stack(list(self._entropies.values())).mean()),
            max_violation=float((loads.amax(dim=-1) / loads.mean(dim=-1)).mean()) - 1.0,
            balance=float(balance),
            replay_changed=float(torch.stack(changed).mean()) if changed else None,
        )


class _Balanced(torch.autograd.Function):
    """The probabilities themselves, whose gradient gets the load-balancing loss's."""

    @staticmethod
    def forward(
        ctx: torch.autograd.function.FunctionCtx,
        probabilities: Float[Tensor, "tokens all_experts"],
        routing: LearnerRouting,
    ) -> Float[Tensor, "tokens all_experts"]:
        ctx.routing = routing  # type: ignore[attr-defined]
        return probabilities.view_as(probabilities)

    @staticmethod
    def backward(
        ctx: torch.autograd.function.FunctionCtx, gradient: Float[Tensor, "tokens all_experts"]
    ) -> tuple[Float[Tensor, "tokens all_experts"], None]:
        # By now all layers have counted.
        return gradient + ctx.routing.slope(), None  # type: ignore[attr-defined]
