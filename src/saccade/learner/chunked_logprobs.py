"""Log-probabilities of chosen tokens from hidden states, without the logits of all of them at once."""

from collections.abc import Iterator
from contextlib import nullcontext

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from saccade.models.vlm import VisionLanguageModel

MAX_LOGITS = 1 << 24
"""Logits that exist at once: 64 MiB in fp32."""


def chosen_logprobs(
    model: VisionLanguageModel,
    states: Tensor,
    targets: Tensor,
    *,
    temperature: float,
    entropy_gradient: bool = False,
    max_logits: int = MAX_LOGITS,
) -> tuple[Tensor, Tensor]:
    """log p of each target under the policy's distribution, and that distribution's entropy in nats; fp32 (tokens,).

    ``states`` (tokens, hidden) predict ``targets`` (tokens,). The entropy has a gradient only with
    ``entropy_gradient``. Logits of more than ``max_logits`` elements are worked out in chunks and once more for the
    gradient; both values equal those of ``model.logprob_logits``.
    """
    rows = max(1, max_logits // model.vocab_size)
    head = model.hf.lm_head
    if type(head) is nn.Linear and head.bias is None:
        logprobs, entropy = _Chosen.apply(
            states, head.weight, targets, model.forbidden_ids, temperature, entropy_gradient, rows
        )
        return logprobs, entropy if entropy_gradient else entropy.detach()
    return _through_module(model, states, targets, temperature, entropy_gradient, rows)


def _through_module(
    model: VisionLanguageModel,
    states: Tensor,
    targets: Tensor,
    temperature: float,
    entropy_gradient: bool,
    rows: int,
) -> tuple[Tensor, Tensor]:
    """For a head that is more than a matrix, such as one with an adapter: chunks that autograd runs again."""

    def of_chunk(states: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        logits = model.logprob_logits(states, temperature)
        normaliser = torch.logsumexp(logits, dim=-1)
        logprobs = logits.gather(-1, targets[:, None])[:, 0] - normaliser
        with nullcontext() if entropy_gradient else torch.no_grad():
            p = (logits - normaliser[:, None]).exp()
            entropy = normaliser - (p * logits.masked_fill(p == 0, 0.0)).sum(dim=-1)
        return logprobs, entropy

    chunks = zip(states.split(rows), targets.split(rows))
    parts = [checkpoint(of_chunk, *chunk, use_reentrant=False) for chunk in chunks]
    logprobs, entropy = zip(*parts)
    return torch.cat(logprobs), torch.cat(entropy)


class _Chosen(torch.autograd.Function):
    """log p(target) and entropy under softmax(states @ weight.T / temperature) without forbidden tokens.

    With p = softmax(z): d log p_t / dz = onehot(t) - p, and dH / dz = -p * (log p + H).
    """

    @staticmethod
    def forward(
        ctx: torch.autograd.function.FunctionCtx,
        states: Tensor,
        weight: Tensor,
        targets: Tensor,
        forbidden: Tensor,
        temperature: float,
        entropy_gradient: bool,
        rows: int,
    ) -> tuple[Tensor, Tensor]:
        normaliser, entropy, logprobs = (states.new_empty(len(states), dtype=torch.float32) for _ in range(3))
        p = states.new_empty(0)
        for chunk in _chunks(len(states), rows):
            z = _logits(states[chunk], weight, forbidden, temperature)
            normaliser[chunk] = torch.logsumexp(z, dim=-1)
            logprobs[chunk] = z.gather(-1, targets[chunk, None])[:, 0] - normaliser[chunk]
            p = torch.exp(z - normaliser[chunk, None])
            # Forbidden tokens have p = 0 and z = -inf; their product counts as 0.
            entropy[chunk] = normaliser[chunk] - p.mul(z.index_fill_(-1, forbidden, 0.0)).sum(dim=-1)
        # What fits in one chunk is kept, and spares its backward the product with the weights.
        kept = p if len(states) <= rows else p.new_empty(0)
        ctx.save_for_backward(states, weight, targets, forbidden, normaliser, entropy, kept)
        ctx.settings = (temperature, entropy_gradient, rows)  # type: ignore[attr-defined]
        return logprobs, entropy

    @staticmethod
    def backward(  # type: ignore[override]
        ctx: torch.autograd.function.FunctionCtx, to_logprobs: Tensor, to_entropy: Tensor
    ) -> tuple[Tensor | None, Tensor | None, None, None, None, None, None]:
        states, weight, targets, forbidden, normaliser, entropy, kept = ctx.saved_tensors  # type: ignore[attr-defined]
        temperature, entropy_gradient, rows = ctx.settings  # type: ignore[attr-defined]
        wants_states, wants_weight = ctx.needs_input_grad[:2]  # type: ignore[attr-defined]
        to_states = torch.empty_like(states) if wants_states else None
        to_weight = torch.zeros_like(weight, dtype=torch.float32) if wants_weight else None
        for chunk in _chunks(len(states), rows):
            if len(kept):
                p = kept
            else:
                z = _logits(states[chunk], weight, forbidden, temperature)
                p = z.sub_(normaliser[chunk, None]).exp_()
            to_z = p * -to_logprobs[chunk, None]
            if entropy_gradient:
                log_p = p.clamp_min(torch.finfo(p.dtype).tiny).log()
                to_z -= p * (log_p + entropy[chunk, None]) * to_entropy[chunk, None]
            to_z.scatter_add_(-1, targets[chunk, None], to_logprobs[chunk, None])
            to_z = (to_z / temperature if temperature != 1.0 else to_z).to(weight.dtype)
            if to_states is not None:
                to_states[chunk] = to_z @ weight
            if to_weight is not None:
                to_weight.addmm_(to_z.T, states[chunk])
        return to_states, to_weight, None, None, None, None, None


def _chunks(count: int, rows: int) -> Iterator[slice]:
    return (slice(start, min(count, start + rows)) for start in range(0, count, rows))


def _logits(states: Tensor, weight: Tensor, forbidden: Tensor, temperature: float) -> Tensor:
    z = (states @ weight.T).float()
    if temperature != 1.0:
        z /= temperature
    return z.index_fill_(-1, forbidden, float("-inf"))
