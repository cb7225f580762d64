"""Token sampling: one token per row from its logits, until a stop string ends the turn."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from saccade.engines.engine import Sampling
from saccade.errors import SaccadeError
from saccade.models.memory import on_device
from saccade.models.token_bytes import TokenBytes as TokenBytes
from saccade.native import sampler
from saccade.turn_ends import ActionFinder, FencedActions, StopStrings


class Drawn(NamedTuple):
    """A sampled token and its log-probability at the sampling temperature, before top-k and top-p."""

    token: int
    logprob: float


Draw = Callable[[Float[Tensor, "rows vocabulary"], Sequence[Sampling], Sequence[float]], list[Drawn]]
"""Logits, settings and numbers of some rows to a token for each, as ``draw_tokens`` does it."""


def scoring_temperature(sampling: Sampling) -> float:
    """The temperature at which log-probabilities are taken: greedy turns are scored at 1."""
    return sampling.temperature or 1.0


def draw_tokens(
    logits: Float[Tensor, "rows vocabulary"], samplings: Sequence[Sampling], uniforms: Sequence[float]
) -> list[Drawn]:
    """One token per row of ``logits``, already divided by each row's scoring temperature.

    ``uniforms`` are numbers in [0, 1), one per row. A row's token depends on its own logits, settings and number alone.
    """
    is_whole = all(sampling.top_k == 0 and sampling.top_p >= 1 for sampling in samplings)
    native = sampler() if is_whole and logits.dtype == torch.float32 and logits.device.type == "cpu" else None
    if native is not None:
        shares = [number if sampling.temperature else -1.0 for number, sampling in zip(uniforms, samplings)]
        return _finite_draws(*native(logits.contiguous(), torch.tensor(shares, dtype=torch.float64)))
    logprobs = logits.log_softmax(dim=-1)
    tokens = _inverse_distribution(_kept_probabilities(logprobs, samplings), uniforms)
    is_greedy = [sampling.temperature == 0 for sampling in samplings]
    if any(is_greedy):
        # Only where it is wanted: over a large vocabulary it is a good part of the work of drawing.
        tokens = torch.where(on_device(is_greedy, logits.device, torch.bool), logits.argmax(dim=-1), tokens)
    return _finite_draws(tokens, logprobs.gather(-1, tokens[:, None])[:, 0].double())


def draw_row_by_row(
    logits: Float[Tensor, "rows vocabulary"], samplings: Sequence[Sampling], uniforms: Sequence[float]
) -> list[Drawn]:
    """As ``draw_tokens``, each row by itself and with the bits that the learner gives (``models.batch_invariant``)."""
    from saccade.models.batch_invariant import row_sums

    each = zip(torch.split(logits, 1), samplings, uniforms, strict=True)
    tokens = [draw_tokens(row, [sampling], [uniform])[0].token for row, sampling, uniform in each]
    chosen = logits.gather(-1, on_device(tokens, logits.device)[:, None])[:, 0] - row_sums(logits)
    return [Drawn(token=token, logprob=logprob) for token, logprob in zip(tokens, chosen.tolist())]


def _finite_draws(tokens: Int[Tensor, "rows"], logprobs: Float[Tensor, "rows"]) -> list[Drawn]:
    # In one piece, since each reading waits for the device; float64 holds every token's number.
    rows = torch.stack([tokens.double(), logprobs.double()], dim=1).tolist()
    drawn = [Drawn(token=int(token), logprob=logprob) for token, logprob in rows]
    # A comparison with NaN is false, so this catches NaN and -inf alike.
    if not all(row.logprob > float("-inf") for row in drawn):
        raise SaccadeError(
            "the model gives no finite log-probabilities: its weights have diverged. Use an earlier checkpoint, and "
            "a lower learning rate from there on"
        )
    return drawn


def _kept_probabilities(
    logprobs: Float[Tensor, "rows vocabulary"], samplings: Sequence[Sampling]
) -> Float[Tensor, "rows vocabulary"]:
    """Probabilities in float64 with what top-k and top-p leave out at 0; not renormalised."""
    probabilities = logprobs.double().exp()
    if all(sampling.top_k == 0 and sampling.top_p >= 1 for sampling in samplings):
        return probabilities
    vocabulary = probabilities.shape[-1]
    top_k = on_device([sampling.top_k or vocabulary for sampling in samplings], logprobs.device)
    top_p = on_device([sampling.top_p for sampling in samplings], logprobs.device, torch.float64)
    # Stable, so that tokens of equal probability are kept by id on every machine.
    ordered, order = probabilities.sort(dim=-1, descending=True, stable=True)
    before = running_sums(ordered) - ordered
    rank = torch.arange(vocabulary, device=logprobs.device)
    # The likeliest token always stays: nothing lies before it.
    keeps = (rank < top_k[:, None]) & ((before < top_p[:, None]) | (top_p[:, None] >= 1) | (rank == 0))
    return torch.zeros_like(probabilities).scatter(-1, order, ordered * keeps)


def _inverse_distribution(
    probabilities: Float[Tensor, "rows vocabulary"], uniforms: Sequence[float]
) -> Int[Tensor, "rows"]:
    """For each row the first token whose cumulative probability exceeds that share of the row's total."""
    cumulative = running_sums(probabilities)
    total = cumulative[:, -1:]
    share = on_device(uniforms, probabilities.device, torch.float64)[:, None]
    # Rounding may lift the product to the total itself, beyond which there is no token.
    target = torch.minimum(share * total, torch.nextafter(total, torch.zeros_like(total)))
    found = torch.searchsorted(cumulative, target, right=True)[:, 0]
    return found.clamp(max=probabilities.shape[-1] - 1)


_SHARES = 2.0**50
"""Parts that a probability is counted in where sums must not depend on their order."""


def running_sums(
    probabilities: Float[Tensor, "rows vocabulary"], *, in_parts: bool | None = None
) -> Float[Tensor, "rows vocabulary"]:
    """Sums of float64 probabilities up to each token.

    ``in_parts`` adds whole parts of 2^-50, which gives the same in any order; by default on a GPU that must repeat,
    whose sums of floating-point numbers do not.
    """
    if in_parts is None:
        in_parts = probabilities.is_cuda and torch.are_deterministic_algorithms_enabled()
    if not in_parts:
        return probabilities.cumsum(dim=-1)
    return (probabilities * _SHARES).long().cumsum(dim=-1).double() / _SHARES


class StopFinder:
    """Reads one turn's bytes and says when a stop string ends it, or a fenced action is complete."""

    def __init__(self, stops: Sequence[str], fenced_actions: FencedActions | None = None, opening: str = "") -> None:
        """``opening`` is what the template has written of the turn."""
        self._stops = StopStrings(stops, opening)
        self._actions = None if fenced_actions is None else ActionFinder(fenced_actions, opening)

    def completes(self, token: bytes) -> bool:
        """True when this token ends the turn, whatever it holds after that."""
        is_stop = self._stops.completes(token)
        return is_stop or (self._actions is not None and self._actions.completes(token))
