"""Optimizer on fp32 weights (AdamW, or Muon and AdamW), whatever precision the model has, and its learning rates."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal, cast

import regex
import torch
from torch import Tensor, nn

from saccade.codec.bounds import Bounds, NotNegative, Positive, check_bounds
from saccade.errors import UserError
from saccade.models.lora import LoraSettings

Decay = Literal["constant", "linear", "cosine"]


def learning_rate(
    step: int, *, peak: float, steps: int, warmup_steps: int = 0, decay: Decay = "constant", floor: float = 0.0
) -> float:
    """Rate of the update with index ``step`` (from 0) of ``steps``: linear warm-up, then decay to ``floor * peak``."""
    if step < warmup_steps:
        return peak * (step + 1) / (warmup_steps + 1)
    progress = (step - warmup_steps) / max(1, steps - warmup_steps)
    if decay == "constant":
        return peak
    remaining = 1.0 - progress if decay == "linear" else 0.5 * (1.0 + math.cos(math.pi * progress))
    return peak * (floor + (1.0 - floor) * remaining)


@dataclass(frozen=True, kw_only=True)
class OptimizerSettings:
    """AdamW (Loshchilov and Hutter 2019), how gradients are taken, and what is saved in memory."""

    learning_rate: NotNegative = 1e-6
    betas: tuple[float, float] = (0.9, 0.98)
    weight_decay: NotNegative = 0.01
    max_gradient_norm: Annotated[float, Bounds(above=0, words="above 0; inf never clips")] = 1.0
    micro_batch_tokens: Positive = 4096
    """Tokens forwarded at once. A prompt counts once for the sequences that share it, and again in each micro-batch
    that its group is split over; any value gives the same gradient."""
    frozen_vision: bool = False
    """Whether the vision tower is frozen, with what follows it up to the language model."""
    trained: str | None = None
    """Regular expression that is searched for in the names of weights, such as ``multi_modal_projector``: those are
    trained whole, and all others are frozen but for an adapter. None trains all, or the adapter alone."""
    lora: LoraSettings | None = None
    """Trains low-rank adapters and leaves the model's own weights alone; None trains all weights."""
    trained_learning_rate: NotNegative | None = None
    """Peak rate of the weights that ``trained`` names beside an adapter (a projector usually wants a higher one), on
    the same schedule; None is ``learning_rate``."""
    router_aux_loss_coef: NotNegative = 0.0
    """For a mixture of experts: weight of the load-balancing loss beside the loss (``saccade.models.routing``), as over
    each micro-batch; 0 leaves it out, whatever the checkpoint's configuration says."""
    activation_checkpointing: bool = False
    """Keeps only the inputs of layers for the backward pass and recomputes the rest: less memory, more time."""
    vision_checkpointing: Literal["auto", "on", "off"] = "auto"
    """The same for the vision tower alone; ``auto`` for all models but tiny ones."""
    offload_activations: bool = False
    """Keeps what the forward leaves for the backward pass in the host's memory, sent beside the device's work: with
    ``activation_checkpointing`` the inputs of layers, without it all of it. The gradient is the same to the bit."""
    pack_attention: Literal["auto", "varlen", "plain"] = "auto"
    """How the language model attends to packs on a GPU: ``varlen`` in one call of torch's kernel for sequences of many
    lengths, ``plain`` prefix by prefix. ``auto`` is the first where it gives what the second gives, which the log
    says; on a CPU nothing changes but with ``varlen``, whose plain form it then tries."""
    offload_optimizer: bool = False
    """Keeps fp32 weights and moments in CPU memory and takes the step there. Gradients are accumulated beside the
    model, in fp32, and moved once a step."""
    eight_bit_optimizer: bool = False
    """Stores AdamW's moments in 8 bits, block by block (Dettmers et al. 2022, arXiv 2110.02861)."""
    muon: bool = False
    """Updates the matrices inside the layers with Muon, at the same learning rate and weight decay, and all else with
    AdamW: small models that start from random weights learned faster with it (studies/base_model)."""
    fp8: bool = False
    """Multiplies in the language model's layers by 8-bit floats where a GPU has them (Ada, Hopper and later), while the
    policy learns; engines sample without, so that ``mismatch_kl`` grows. The log says how far off products are."""
    compile: bool = False
    """Compiles norms and MLPs of the language model for training: a minute or so at first, a few per cent later.

    It takes the place of the native kernels, which gain more where there are any: in fp32 on a CPU."""

    @property
    def asks_of_weights(self) -> bool:
        """Whether something is asked that not every model has."""
        return self.trained is not None or self.lora is not None or self.router_aux_loss_coef > 0

    def check(self) -> None:
        check_bounds(self)
        if not all(0 <= beta < 1 for beta in self.betas):
            raise UserError(f"betas={self.betas} must both be 0 or more and below 1 (0.9,0.98 is usual)")
        if self.trained_learning_rate is not None and (self.trained is None or self.lora is None or self.muon):
            raise UserError(
                f"trained_learning_rate={self.trained_learning_rate} is of weights that are trained beside an adapter, "
                "by AdamW; leave it out, or set trained and lora, and muon=false"
            )
        for name in ("offload_activations", "fp8"):
            if self.compile and getattr(self, name):
                raise UserError(f"{name}=true does not reach into compiled parts; set compile=false, or leave it out")
        if self.trained is None:
            return
        if self.frozen_vision:
            raise UserError(f"trained={self.trained!r} says what is frozen, all else; leave frozen_vision=false")
        try:
            regex.compile(self.trained)
        except regex.error as error:
            raise UserError(f"trained={self.trained!r} is no regular expression: {error}") from error


def rate_share(settings: OptimizerSettings, own: float | None) -> float:
    """Learning rate of some weights as a multiple of that of all others; None is the same."""
    return 1.0 if own is None or settings.learning_rate == 0 else own / settings.learning_rate


class MasterOptimizer:
    """AdamW on fp32 masters: the weights themselves where they are fp32 and stay, copies of them elsewhere.

    A step of half-precision weights is often smaller than their rounding; the masters add such steps up. ``critic``
    are further weights with a learning rate of their own, and so are those of ``weights`` that are ``apart``. With
    ``settings.muon`` those of ``weights`` that ``is_inner_matrix`` picks are stepped by Muon.
    """

    def __init__(
        self,
        weights: Sequence[nn.Parameter],
        settings: OptimizerSettings,
        *,
        critic: Sequence[nn.Parameter] = (),
        is_inner_matrix: Callable[[nn.Parameter], bool] = lambda weight: False,
        apart: Collection[nn.Parameter] = (),
    ) -> None:
        self._max_norm = settings.max_gradient_norm
        self.weights = [*weights, *critic]
        self.masters = [_master(weight, on_cpu=settings.offload_optimizer) for weight in self.weights]
        self._copies = [(w, m) for w, m in zip(self.weights, self.masters) if m is not w]
        self._is_offloaded = settings.offload_optimizer
        inner: list[nn.Parameter] = []
        others: list[nn.Parameter] = []
        separate: list[nn.Parameter] = []
        of_apart = {id(weight) for weight in apart}
        for weight, master in zip(weights, self.masters):
            is_inner = settings.muon and is_inner_matrix(weight)
            (inner if is_inner else separate if id(weight) in of_apart else others).append(master)
        self._apart_shares = [rate_share(settings, settings.trained_learning_rate)] if separate else []
        groups: list[dict[str, object]] = [{"params": others}]
        if separate:
            groups.append({"params": separate})
        if critic:
            groups.append({"params": self.masters[len(weights) :]})
        self.has_codes = settings.eight_bit_optimizer
        """Whether moments are kept in 8 bits."""
        adamw = _adamw(self.weights, settings)
        self.adamw = adamw(groups, lr=settings.learning_rate, betas=settings.betas, weight_decay=settings.weight_decay)
        self.muon: torch.optim.Optimizer | None = None
        if inner:
            from saccade.learner.muon import muon

            self.muon = muon(inner, settings.learning_rate, settings.weight_decay)

    @property
    def kinds(self) -> dict[str, torch.optim.Optimizer]:
        """The optimisers that share the weights, by name."""
        return {"adamw": self.adamw} | ({} if self.muon is None else {"muon": self.muon})

    def zero_grad(self) -> None:
        for tensor in (*self.weights, *self.masters):
            tensor.grad = None

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Inside, each gradient is added up in fp32 as soon as backward has it, and freed.

        The sum is that of the master, or with offload one beside the weight, which goes to the master at the end.
        """
        sums = [_Sum(master) for _, master in self._copies]
        hooks = [
            weight.register_post_accumulate_grad_hook(  # type: ignore[no-untyped-call]
                collected.add if self._is_offloaded else collected.add_to_master
            )
            for (weight, _), collected in zip(self._copies, sums)
        ]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()
            for collected in sums:
                collected.hand_over()

    def clip(self, max_norm: float | None = None) -> float:
        """Scales the gradient down to a greatest norm, that of the settings for None; returns its norm before."""
        return float(torch.nn.utils.clip_grad_norm_(self.masters, self._max_norm if max_norm is None else max_norm))

    def step(self, learning_rate: float, critic_learning_rate: float = 0.0) -> None:
        """One step; the model's weights become their masters, rounded."""
        apart = (share * learning_rate for share in self._apart_shares)
        for group, rate in zip(self.adamw.param_groups, (learning_rate, *apart, critic_learning_rate)):
            group["lr"] = rate
        self.adamw.step()
        if self.muon is not None:
            self.muon.param_groups[0]["lr"] = learning_rate
            self.muon.step()
        self.copy_back()

    def state_dict(self) -> dict[str, object]:
        """AdamW's state, Muon's where it is used and, where they are copies, the masters."""
        state: dict[str, object] = dict(self.adamw.state_dict())
        if self.muon is not None:
            state["muon"] = self.muon.state_dict()
        if self._copies:
            state["masters"] = [master.detach() for _, master in self._copies]
        return state

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Takes the state of an optimiser with the same settings and weights of the same shapes; else ValueError."""
        masters = state.get("masters", [])
        if not isinstance(masters, list) or len(masters) != len(self._copies):
            raise ValueError("precision, offload or trained weights were different")
        if any(saved.shape != master.shape for saved, (_, master) in zip(masters, self._copies)):
            raise ValueError("the weights have other shapes")
        momenta = state.get("muon")
        if (momenta is None) != (self.muon is None):
            raise ValueError("one was made with muon, the other without")
        self.adamw.load_state_dict({name: value for name, value in state.items() if name not in ("masters", "muon")})
        if self.muon is not None:
            self.muon.load_state_dict(cast(dict[str, object], momenta))
        with torch.no_grad():
            for saved, (_, master) in zip(masters, self._copies):
                master.copy_(saved)
        self.copy_back()

    def state_bytes(self) -> int:
        """Bytes of masters that are copies and of the optimisers' moments."""
        moments = [value for kind in self.kinds.values() for state in kind.state.values() for value in state.values()]
        return sum(value.nbytes for value in (*(master for _, master in self._copies), *moments))

    @torch.no_grad()
    def copy_back(self) -> None:
        """The model's weights become their masters, rounded."""
        for weight, master in self._copies:
            weight.copy_(master)


class _Sum:
    """The gradients of one weight in several micro-batches."""

    def __init__(self, master: nn.Parameter) -> None:
        self._master = master
        self._total: Tensor | None = None

    def add(self, weight: Tensor) -> None:
        """Takes the weight's gradient, on its device."""
        if weight.grad is None:
            return
        gradient = weight.grad.float()
        self._total = gradient if self._total is None else self._total.add_(gradient)
        weight.grad = None

    def add_to_master(self, weight: Tensor) -> None:
        """The same, into the sum that the master has already."""
        self._total, self._master.grad = self._master.grad, None
        self.add(weight)
        self.hand_over()

    def hand_over(self) -> None:
        """Gives the sum to the master, which may have one of earlier batches."""
        if self._total is None:
            return
        moved = self._total.to(self._master.device)
        self._total = None
        self._master.grad = moved if self._master.grad is None else self._master.grad.add_(moved)


def _adamw(weights: Sequence[Tensor], settings: OptimizerSettings) -> Callable[..., torch.optim.Optimizer]:
    """AdamW of the settings; for a GPU in one kernel: torch's default makes temporary lists as large as all masters.

    Masters on the host too: the default goes through all their memory a dozen times.
    """
    if settings.eight_bit_optimizer:
        from saccade.learner.eight_bit import EightBitAdamW

        return EightBitAdamW
    is_on_gpu = any(weight.device.type == "cuda" for weight in weights)
    return partial(torch.optim.AdamW, fused=True) if is_on_gpu else torch.optim.AdamW


def _master(weight: nn.Parameter, *, on_cpu: bool) -> nn.Parameter:
    if weight.dtype == torch.float32 and not on_cpu:
        return weight
    device = "cpu" if on_cpu else weight.device
    return nn.Parameter(weight.detach().to(device=device, dtype=torch.float32, copy=True))
