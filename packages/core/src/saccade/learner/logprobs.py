"""Log-probabilities of the action tokens in one forward of a micro-batch, without the logits of all of them at once."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from saccade.algorithms.algorithm import PolicyTokens
from saccade.learner.forwards import packed_states
from saccade.learner.sequences import Pack, TrainingSequence, pack
from saccade.models.memory import on_device, sent
from saccade.models.routing import LearnerRouting, RouterFigures
from saccade.models.vlm import VisionLanguageModel
from saccade.native import FeatureCache, encode_images, matrix_product


def logits_at_once(*, on_gpu: bool) -> int:
    """Logits that exist at once: 64 MiB in fp32, which suits the caches of a CPU, and 256 MiB on a GPU.

    Each chunk reads the head's weights, and adds to their gradient, in whole: a gigabyte of each for three billion
    weights.
    """
    return 1 << 26 if on_gpu else 1 << 24


def chosen_logprobs(
    model: VisionLanguageModel,
    states: Float[Tensor, "tokens hidden"],
    targets: Int[Tensor, "tokens"],
    *,
    temperature: float,
    entropy_gradient: bool = False,
    max_logits: int | None = None,
) -> tuple[Float[Tensor, "tokens"], Float[Tensor, "tokens"]]:
    """log p of each target under the policy's distribution, and that distribution's entropy in nats; fp32.

    ``states`` predict ``targets``. The entropy has a gradient only with
    ``entropy_gradient``. Logits of more than ``max_logits`` elements (None: ``logits_at_once``) are worked out in
    chunks and once more for the gradient; both values equal those of ``model.logprob_logits``.
    """
    if max_logits is None:
        max_logits = logits_at_once(on_gpu=states.is_cuda)
    rows = max(1, max_logits // model.vocab_size)
    head = model.hf.lm_head
    kind = type(head)
    if kind is nn.Linear and head.bias is None and model.logit_cap is None and not model.batch_invariant:
        logits = _Logits(_precision(head.weight), temperature)
        with torch.autocast(head.weight.device.type, enabled=False):
            logprobs, entropy = _Chosen.apply(  # type: ignore[no-untyped-call]
                states, head.weight, targets, model.forbidden_ids, logits, entropy_gradient, rows
            )
        return logprobs, entropy if entropy_gradient else entropy.detach()
    return _through_module(model, states, targets, temperature, entropy_gradient, rows)


def _through_module(
    model: VisionLanguageModel,
    states: Float[Tensor, "tokens hidden"],
    targets: Int[Tensor, "tokens"],
    temperature: float,
    entropy_gradient: bool,
    rows: int,
) -> tuple[Float[Tensor, "tokens"], Float[Tensor, "tokens"]]:
    """For a head that is more than a matrix, with an adapter or a cap: chunks that autograd runs again."""
    sums: Callable[[Tensor], Tensor] = partial(torch.logsumexp, dim=-1)
    if model.batch_invariant:
        from saccade.models.batch_invariant import row_sums as sums

    def of_chunk(states: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        logits = model.logprob_logits(states, temperature)
        lse = sums(logits)
        logprobs = logits.gather(-1, targets[:, None])[:, 0] - lse
        with nullcontext() if entropy_gradient else torch.no_grad():
            p = (logits - lse[:, None]).exp()
            entropy = lse - (p * logits.masked_fill(p == 0, 0.0)).sum(dim=-1)
        return logprobs, entropy

    chunks = list(_chunks(len(states), rows)) or [slice(0, 0)]
    parts = [checkpoint(of_chunk, states[chunk], targets[chunk], use_reentrant=False) for chunk in chunks]
    logprobs, entropy = zip(*parts)
    return torch.cat(logprobs), torch.cat(entropy)


class _Chosen(torch.autograd.Function):
    """log p(target) and entropy H of p = softmax(z), z = states @ weight.T / temperature, p = 0 for forbidden tokens.

    d log p(t) / dz = onehot(t) - p, and dH / dz = -p * (log p + H).
    """

    @staticmethod
    def forward(
        ctx: torch.autograd.function.FunctionCtx,
        states: Float[Tensor, "tokens hidden"],
        weight: Float[Tensor, "vocabulary hidden"],
        targets: Int[Tensor, "tokens"],
        forbidden: Int[Tensor, "forbidden"],
        logits: "_Logits",
        entropy_gradient: bool,
        rows: int,
    ) -> tuple[Float[Tensor, "tokens"], Float[Tensor, "tokens"]]:
        lse, entropy, logprobs, share = (states.new_empty(len(states), dtype=torch.float32) for _ in range(4))
        kept = states.new_empty(0)
        wants_states, wants_weight = ctx.needs_input_grad[:2]  # type: ignore[attr-defined]
        is_direct = wants_states and not wants_weight and not entropy_gradient and logits.precision == torch.float32
        # d log p / d states, which the backward has only to scale: it needs no logits of its own then.
        slopes = torch.empty_like(states) if is_direct and len(states) > rows else states.new_empty(0)
        for chunk in _chunks(len(states), rows):
            z = logits.of(states[chunk], weight, forbidden)
            highest = z.amax(dim=-1, keepdim=True)
            p = z.sub_(highest).exp()
            total = p.sum(dim=-1)
            log_total, share[chunk] = total.log(), total.reciprocal()
            lse[chunk] = log_total + highest[:, 0]
            chosen = z.gather(-1, targets[chunk, None])[:, 0]
            logprobs[chunk] = (chosen - log_total).masked_fill(chosen < _NEVER / 2, -torch.inf)
            entropy[chunk] = log_total - z.mul_(p).sum(dim=-1) * share[chunk]
            if len(slopes):
                to_z = p.mul_(-share[chunk, None])
                to_z.scatter_add_(-1, targets[chunk, None], torch.ones_like(to_z[:, :1]))
                logits.backward(to_z, states[chunk], weight, slopes[chunk], None)
                del to_z
            # What fits in one chunk is kept, and spares the backward a product with the weights.
            kept = p if len(states) <= rows else kept
            # The next chunk has their room.
            del z, p
        ctx.save_for_backward(states, weight, targets, forbidden, lse, entropy, share, kept, slopes)
        ctx.settings = (logits, entropy_gradient, rows)  # type: ignore[attr-defined]
        return logprobs, entropy

    @staticmethod
    def backward(
        ctx: torch.autograd.function.FunctionCtx,
        to_logprobs: Float[Tensor, "tokens"],
        to_entropy: Float[Tensor, "tokens"],
    ) -> tuple[
        Float[Tensor, "tokens hidden"] | None, Float[Tensor, "vocabulary hidden"] | None, None, None, None, None, None
    ]:
        states, weight, targets, forbidden, lse, entropy, share, kept, slopes = ctx.saved_tensors  # type: ignore[attr-defined]
        if len(slopes):
            return slopes * to_logprobs[:, None], None, None, None, None, None, None
        logits, entropy_gradient, rows = ctx.settings  # type: ignore[attr-defined]
        wants_states, wants_weight = ctx.needs_input_grad[:2]  # type: ignore[attr-defined]
        to_states = torch.empty_like(states) if wants_states else None
        to_weight = torch.zeros_like(weight, dtype=torch.float32) if wants_weight else None
        for chunk in _chunks(len(states), rows):
            to_z = -to_logprobs[chunk, None]
            if len(kept):
                p, to_z = kept, to_z * share[:, None]
            else:
                p = logits.of(states[chunk], weight, forbidden).sub_(lse[chunk, None]).exp_()
            # A second backward would need what was kept as it is.
            to_z = p * to_z if entropy_gradient or len(kept) else p.mul_(to_z)
            if entropy_gradient:
                p = p * share[:, None] if len(kept) else p
                log_p = p.clamp_min(torch.finfo(p.dtype).tiny).log_()
                to_z -= log_p.add_(entropy[chunk, None]).mul_(p).mul_(to_entropy[chunk, None])
                del log_p
            to_z.scatter_add_(-1, targets[chunk, None], to_logprobs[chunk, None])
            logits.backward(to_z, states[chunk], weight, None if to_states is None else to_states[chunk], to_weight)
            del p, to_z
        return to_states, None if to_weight is None else to_weight.to(weight.dtype), None, None, None, None, None


_NEVER = -1e30
"""Logit of a forbidden token: far enough for p = 0 exactly, and finite, so that p * log p is 0 too."""


@dataclass(frozen=True, slots=True)
class _Logits:
    """The product with the head's weights, and back."""

    precision: torch.dtype
    temperature: float

    def of(
        self,
        states: Float[Tensor, "tokens hidden"],
        weight: Float[Tensor, "vocabulary hidden"],
        forbidden: Int[Tensor, "forbidden"],
    ) -> Float[Tensor, "tokens vocabulary"]:
        """Logits in fp32."""
        z = matrix_product(states.to(self.precision), weight.to(self.precision).T).float()
        if self.temperature != 1.0:
            z /= self.temperature
        return z.index_fill_(-1, forbidden, _NEVER)

    def backward(
        self,
        to_z: Float[Tensor, "tokens vocabulary"],
        states: Float[Tensor, "tokens hidden"],
        weight: Float[Tensor, "vocabulary hidden"],
        to_states: Float[Tensor, "tokens hidden"] | None,
        to_weight: Float[Tensor, "vocabulary hidden"] | None,
    ) -> None:
        """Fills ``to_states`` and adds to ``to_weight`` (fp32), where they are wanted; overwrites ``to_z``."""
        if self.temperature != 1.0:
            to_z /= self.temperature
        to_z = to_z.to(self.precision)
        if to_states is not None:
            to_states.copy_(matrix_product(to_z, weight.to(self.precision)))
        if to_weight is None:
            return
        if self.precision == torch.float32:
            to_weight.addmm_(to_z.T, states.float())
        else:
            to_weight += to_z.T @ states.to(self.precision)


def _precision(weight: Float[Tensor, "vocabulary hidden"]) -> torch.dtype:
    """Precision of the product: autocast's where it is on. It is passed on, as a backward runs outside of autocast."""
    kind = weight.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else weight.dtype


def _chunks(count: int, rows: int) -> Iterator[slice]:
    return (slice(start, min(count, start + rows)) for start in range(0, count, rows))


StateDivergence = Callable[[Float[Tensor, "actions hidden"]], Float[Tensor, "actions"]]
"""From hidden states that predict action tokens to how far the policy is from its teacher at each, in nats."""

PackOutputs = tuple[
    Float[Tensor, "actions"],
    Float[Tensor, "actions"],
    Float[Tensor, "actions"] | None,
    Float[Tensor, "actions"] | None,
]
"""Log-probabilities, entropy, values and divergence of action tokens."""

ValueFunction = Callable[[Float[Tensor, "tokens hidden"]], Float[Tensor, "tokens"]]
"""From hidden states to values."""


@dataclass(kw_only=True, slots=True)
class ForwardWork:
    """Tokens and images that went through the model so far, counted where it is done."""

    tokens: int = 0
    """A shared prompt counts once for each micro-batch that it is in; there is no padding."""
    images: int = 0
    """Images through the vision tower."""
    router: RouterFigures | None = None
    """Of the last forward with a gradient; None without experts."""


def action_tokens(
    model: VisionLanguageModel,
    sequences: Sequence[TrainingSequence],
    *,
    temperature: float,
    value_head: ValueFunction | None = None,
    values_train_trunk: bool = True,
    work: ForwardWork | None = None,
) -> PolicyTokens:
    """The action tokens of all sequences as a loss takes them, from one forward; see ``pack_outputs``."""
    outputs = pack_outputs(
        model,
        sequences,
        temperature=temperature,
        value_head=value_head,
        values_train_trunk=values_train_trunk,
        work=work,
    )
    return policy_tokens(sequences, *outputs)


def pack_outputs(
    model: VisionLanguageModel,
    sequences: Sequence[TrainingSequence],
    *,
    temperature: float,
    entropy_gradient: bool = False,
    value_head: ValueFunction | None = None,
    values_train_trunk: bool = True,
    frozen_images: FeatureCache | None = None,
    work: ForwardWork | None = None,
    balance: float = 0.0,
    divergence: StateDivergence | None = None,
    keeping: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> PackOutputs:
    """Runs the model over all sequences as one pack: each shared prompt once, each image encoded once, no padding.

    Gives log-probabilities, entropy and, with ``value_head``, values of the action tokens of all sequences, in their
    order, and what ``divergence`` makes of their states. Logits exist only at positions that predict an action token,
    and only a bounded number of them at a time. ``entropy_gradient`` makes the entropy differentiable. ``value_head``
    sees the states that predict the action tokens; without ``values_train_trunk`` its gradient stops there.
    ``frozen_images`` encodes in place of the vision tower. ``work`` is counted up. Sequences that bring their experts
    along are forwarded through these, and ``balance`` weighs the load-balancing loss in the gradient
    (``saccade.models.routing``). ``keeping`` is entered for the layers, and has what they keep for the backward pass.
    """
    with keeping():
        targets, states = action_states(model, sequences, frozen_images=frozen_images, work=work, balance=balance)
    logprobs, entropy = chosen_logprobs(
        model, states, targets, temperature=temperature, entropy_gradient=entropy_gradient
    )
    values = None if value_head is None else value_head(states if values_train_trunk else states.detach())
    return logprobs, entropy, values, None if divergence is None else divergence(states)


def action_states(
    model: VisionLanguageModel,
    sequences: Sequence[TrainingSequence],
    *,
    frozen_images: FeatureCache | None = None,
    work: ForwardWork | None = None,
    balance: float = 0.0,
) -> tuple[Int[Tensor, "actions"], Float[Tensor, "actions hidden"]]:
    """Ids of the action tokens of all sequences, and the last hidden states that predict them; see ``pack_outputs``."""
    device = model.device
    packed = pack(model, sequences)
    unique = list({image.hash: image for image in packed.images}.values())
    known = 0 if frozen_images is None else frozen_images.encoded
    features = encode_images(model, unique) if frozen_images is None else frozen_images.get(unique)
    encoded = dict(zip([image.hash for image in unique], features))
    images, places = [encoded[image.hash] for image in packed.images], None
    if images:
        places = sent((packed.ids == model.image_token_id).nonzero()[:, 0], device)
    embedded = model.embed(sent(packed.ids[None], device), images, places)
    if torch.is_grad_enabled() and not embedded.inputs.requires_grad and _trains_vision(model):
        # Below a frozen language model a pack without a picture goes backward like the others: other ranks wait for it.
        embedded.inputs.requires_grad_(True)
    positions, predicting = sent(packed.positions[:, None], device), sent(packed.predicting, device)
    routing = _routing(model, packed, balance)
    states = packed_states(model, routing)(embedded, positions, packed.layout, predicting)
    if work is not None:
        work.router = routing.figures() if routing is not None and torch.is_grad_enabled() else None
        work.tokens += len(packed.ids)
        work.images += len(unique) if frozen_images is None else frozen_images.encoded - known
    return sent(packed.targets, device), states


def _routing(model: VisionLanguageModel, packed: Pack, balance: float) -> LearnerRouting | None:
    """What routers are to do in the forward of a pack; None where they do it by themselves."""
    replayed = packed.routed_experts
    if model.experts is None or (replayed is None and not torch.is_grad_enabled()):
        return None
    replayed = None if replayed is None else sent(replayed, model.device)
    return LearnerRouting(model.experts, replayed=replayed, coefficient=balance)


def _trains_vision(model: VisionLanguageModel) -> bool:
    return any(weight.requires_grad for weight in model.family.vision_weights(model.hf))


def policy_tokens(
    sequences: Sequence[TrainingSequence],
    logprobs: Float[Tensor, "actions"],
    entropy: Float[Tensor, "actions"],
    values: Float[Tensor, "actions"] | None,
    divergence: Float[Tensor, "actions"] | None = None,
) -> PolicyTokens:
    """What a forward gave, with the numbers that the sequences bring along."""
    given = _given_numbers(sequences, logprobs.device)
    if all(one.old_is_own for one in sequences):
        given["old_logprobs"] = logprobs.detach()
    return PolicyTokens(logprobs=logprobs, entropy=entropy, values=values, divergence=divergence, **given)


def _given_numbers(sequences: Sequence[TrainingSequence], device: torch.device) -> dict[str, Shaped[Tensor, "actions"]]:
    """Numbers that the sequences bring along, one entry per action token."""

    def joined(values: Sequence[Sequence[float] | None]) -> Float[Tensor, "actions"]:
        return on_device([value for one in values for value in one or ()], device, torch.float32)

    counts = torch.tensor([sequence.action_count for sequence in sequences])
    given = {
        "sampled_logprobs": joined([one.sampled_logprobs for one in sequences]),
        "old_logprobs": joined([one.old_logprobs or one.sampled_logprobs for one in sequences]),
        "advantages": joined([one.advantages for one in sequences]),
        "weights": sent(torch.tensor([one.token_weight for one in sequences]).repeat_interleave(counts), device),
        "sequence": sent(torch.arange(len(sequences)).repeat_interleave(counts), device),
    }
    for name in ("reference_logprobs", "masked_logprobs", "teacher_logprobs", "old_values", "returns"):
        if all(getattr(one, name) is not None for one in sequences):
            given[name] = joined([getattr(one, name) for one in sequences])
    return given
