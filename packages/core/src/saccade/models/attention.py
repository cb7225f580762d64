"""Attention over a pack: many sequences in one row without padding, where suffixes share a prefix.

A prefix attends to itself, causally. A suffix attends to its whole prefix and, causally, to itself. Prefixes may share
a root, to which all of them and their suffixes attend too. No mask over the pack exists, and nothing is copied for
those that share it on the CPU: the parts of a suffix's attention are computed apart and joined by their log-sum-exps,
as ring attention does over blocks (Liu et al. 2023, arXiv 2310.01889). Where tokens see otherwise than causally, each
prefix and suffix has a mask of its own, and sees copies of what comes before it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, repeat
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor
from torch.nn.attention.bias import causal_lower_right
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from saccade.errors import UserError
from saccade.models.masks import MaskRule
from saccade.models.shared_prefix import SharedPrefix, attend_folded, attend_sharing

if TYPE_CHECKING:
    from saccade.models.varlen_attention import PackSequences

IMPLEMENTATION = "saccade_packed"
"""Name under which transformers finds ``attend``."""

Watch = Callable[
    [torch.nn.Module, Float[Tensor, "1 heads tokens dim"], Float[Tensor, "1 key_heads tokens dim"], float], None
]
"""Is shown each layer's attention module, its queries and keys as they meet, and the scale of their products."""


@dataclass(frozen=True, slots=True)
class Span:
    """Tokens ``start`` to ``stop`` (exclusive) of a pack."""

    start: int
    stop: int

    @property
    def length(self) -> int:
        return self.stop - self.start

    def of(self, states: Float[Tensor, "1 heads tokens *dim"]) -> Float[Tensor, "1 heads length *dim"]:
        """The span's part, a view."""
        return states.narrow(2, self.start, self.length)


@dataclass(frozen=True, slots=True)
class SuffixRun:
    """``count`` neighbouring suffixes of equal length, which attend to themselves in one call."""

    span: Span
    count: int

    def of(self, states: Float[Tensor, "1 heads tokens *dim"]) -> Float[Tensor, "count heads length *dim"]:
        """The run's part by suffixes, a view."""
        part = self.span.of(states)
        rows, heads, tokens, *rest = part.shape
        return part.view(rows, heads, self.count, tokens // self.count, *rest).transpose(1, 2)[0]


@dataclass(frozen=True, slots=True)
class Tree:
    """A prefix and, right after it, its suffixes. A sequence that shares nothing is a prefix alone."""

    prefix: Span
    runs: tuple[SuffixRun, ...]
    root: Span | None = None
    """Tokens before the prefix, which is not empty then: a tree of their own, earlier in the pack."""

    @property
    def suffixes(self) -> Span:
        """All suffixes together."""
        return Span(self.prefix.stop, self.runs[-1].span.stop if self.runs else self.prefix.stop)

    @property
    def whole(self) -> Span:
        """The prefix and all suffixes."""
        return Span(self.prefix.start, self.suffixes.stop)

    def before(self, run: SuffixRun | None) -> tuple[Span, ...]:
        """What a run of suffixes attends to before itself, in order; for None, what the prefix does."""
        spans = (self.root, None if run is None else self.prefix)
        return tuple(span for span in spans if span is not None and span.length)


Layout = tuple[Tree, ...]
"""The trees of a pack, which cover it from its first token to its last."""


def tree(start: int, prefix: int, suffixes: Sequence[int], root: Span | None = None) -> Tree:
    """The tree from token ``start`` on, with a prefix of so many tokens and suffixes of so many (above 0) each."""
    runs: list[SuffixRun] = []
    place = start + prefix
    for length, alike in groupby(suffixes):
        count = len(list(alike))
        runs.append(SuffixRun(Span(place, place + count * length), count))
        place += count * length
    return Tree(Span(start, start + prefix), tuple(runs), root)


def enable_packs(language_model: PreTrainedModel) -> None:
    """Lets a language model take a ``packing`` argument with a ``Layout``; without it all stays transformers' SDPA.

    The choice lies in the call and not in the model, so that an engine can sample beside a learner.
    """
    AttentionInterface.register(IMPLEMENTATION, attend)
    AttentionMaskInterface.register(IMPLEMENTATION, sdpa_mask)
    language_model.set_attn_implementation(IMPLEMENTATION)


def attend(
    module: torch.nn.Module,
    query: Float[Tensor, "rows heads tokens dim"],
    key: Float[Tensor, "rows key_heads keys dim"],
    value: Float[Tensor, "rows key_heads keys dim"],
    attention_mask: Shaped[Tensor, "rows 1 tokens keys"] | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    packing: Layout | None = None,
    masks: "PackMasks | None" = None,
    sequences: "PackSequences | None" = None,
    prefix: SharedPrefix | None = None,
    sliding_window: int | None = None,
    watch: Watch | None = None,
    **others: object,
) -> tuple[Float[Tensor, "rows tokens heads dim"], None]:
    """transformers' attention interface; a pack is one row, whose queries and keys are the same tokens."""
    scale = scaling if scaling is not None else query.shape[-1] ** -0.5
    if watch is not None:
        watch(module, query, key, scale)
    if packing is None and attention_mask is not None and not dropout:
        # On a GPU too: transformers would repeat keys and values for all query heads.
        if prefix is not None:
            return attend_sharing(query, key, value, attention_mask, prefix, scale), None
        return attend_folded(query, key, value, attention_mask, scale), None
    if packing is None:
        plain: tuple[Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **others
        )
        return plain
    if dropout or (sliding_window and masks is None):
        raise UserError(
            f"attention with dropout={dropout} and sliding_window={sliding_window} cannot be trained on packs; set "
            "attention_dropout to 0 and use_sliding_window to false in the checkpoint's config.json"
        )
    if sequences is not None and (masks is None or not masks.rule.both_ways):
        window = masks.rule.window if sliding_window and masks is not None else 0
        return sequences.attend(query, key, value, scale, window=window), None
    repeats = query.shape[1] // key.shape[1]
    if repeats > 1:
        key, value = (states.repeat_interleave(repeats, dim=1) for states in (key, value))
    parts = [] if masks is None else masks.of(query.dtype, slides=bool(sliding_window))
    if any(mask is not None for mask in parts):
        return attend_portably(query, key, value, packing, scale, parts).transpose(1, 2), None
    on_pack = _JoinedAttention.apply if query.device.type == "cpu" else attend_portably
    return on_pack(query, key, value, packing, scale).transpose(1, 2), None


def attend_portably(
    query: Float[Tensor, "1 heads tokens dim"],
    key: Float[Tensor, "1 heads tokens dim"],
    value: Float[Tensor, "1 heads tokens dim"],
    layout: Layout,
    scale: float,
    masks: Iterable[Float[Tensor, "rows 1 queries keys"] | None] = repeat(None),
) -> Float[Tensor, "1 heads tokens dim"]:
    """On any device, causally where there is no mask; all see copies of the keys and values before them."""
    parts: list[Tensor] = []
    for (node, run), mask in zip(prefixes_and_runs(layout), masks):
        queries, keys, values = with_before(node, run, query, key, value)
        is_whole = queries.shape[2] == keys.shape[2]
        seen = causal_lower_right(queries.shape[2], keys.shape[2]) if mask is None and not is_whole else mask
        causal = mask is None and is_whole
        attended = scaled_dot_product_attention(queries, keys, values, attn_mask=seen, is_causal=causal, scale=scale)
        parts.append(attended.transpose(0, 1).flatten(1, 2)[None])
    return torch.cat(parts, dim=2)


def with_before(
    node: Tree,
    run: SuffixRun | None,
    query: Float[Tensor, "1 heads tokens dim"],
    key: Float[Tensor, "1 key_heads tokens dim"],
    value: Float[Tensor, "1 key_heads tokens dim"],
) -> tuple[
    Float[Tensor, "count heads queries dim"],
    Float[Tensor, "count key_heads keys dim"],
    Float[Tensor, "count key_heads keys dim"],
]:
    """Queries of a run of suffixes, or of the prefix for None; keys and values of copies of what is before, and own."""
    own = SuffixRun(node.prefix, 1) if run is None else run
    before = node.before(run)
    keys, values = (
        torch.cat([*(span.of(states).expand(own.count, -1, -1, -1) for span in before), own.of(states)], dim=2)
        for states in (key, value)
    )
    return own.of(query), keys, values


@dataclass(slots=True)
class PackMasks:
    """Masks of the parts of one pack, made when a layer first asks for them; all layers of a kind share them."""

    rule: MaskRule
    is_image: Bool[Tensor, "tokens"]
    layout: Layout
    _made: dict[bool, list[Float[Tensor, "rows 1 queries keys"] | None]] = field(default_factory=dict)

    def of(self, dtype: torch.dtype, *, slides: bool) -> list[Float[Tensor, "rows 1 queries keys"] | None]:
        """Of each prefix that is not empty and each run of suffixes in order; None where these see causally.

        They are added to the scores: of others each layer would keep a copy of its own for its backward.
        """
        if slides not in self._made:
            parts = (self._mask(node, run, slides) for node, run in prefixes_and_runs(self.layout))
            self._made[slides] = [
                None if seen is None else torch.zeros_like(seen, dtype=dtype).masked_fill_(~seen, -torch.inf)
                for seen in parts
            ]
        return self._made[slides]

    def _mask(self, node: Tree, run: SuffixRun | None, slides: bool) -> Bool[Tensor, "rows 1 queries keys"] | None:
        span, count = (node.prefix, 1) if run is None else (run.span, run.count)
        before = sum(one.length for one in node.before(run))
        is_image = self.is_image[span.start : span.stop].view(count, -1)
        length = before + is_image.shape[1]
        if self.rule.is_causal(is_image, length=length, slides=slides):
            return None
        keys = torch.arange(length, device=is_image.device)
        columns = keys[before:].expand(is_image.shape)
        return self.rule.seen(columns, keys, is_image, slides=slides)[:, None]


def prefixes_and_runs(layout: Layout) -> Iterator[tuple[Tree, SuffixRun | None]]:
    for node in layout:
        if node.prefix.length:
            yield node, None
        yield from ((node, run) for run in node.runs)


_forward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


class _JoinedAttention(torch.autograd.Function):
    """Parts of softmax attention, joined by their log-sum-exps; its backward needs no more than the joined ones."""

    @staticmethod
    def forward(
        ctx: torch.autograd.function.FunctionCtx,
        query: Float[Tensor, "1 heads tokens dim"],
        key: Float[Tensor, "1 heads tokens dim"],
        value: Float[Tensor, "1 heads tokens dim"],
        layout: Layout,
        scale: float,
    ) -> Float[Tensor, "1 heads tokens dim"]:
        _, heads, tokens, _ = query.shape
        out = torch.empty_like(query.transpose(1, 2), memory_format=torch.contiguous_format).transpose(1, 2)
        # The kernel wants heads innermost, as it returns them.
        precise = torch.promote_types(query.dtype, torch.float32)
        lse = query.new_empty(1, tokens, heads, dtype=precise).transpose(1, 2)
        for part in _parts(layout):
            attended, log_sum = _forward(
                part.queries(query), part.keys(key), part.keys(value), is_causal=part.is_causal, scale=scale
            )
            into, log_total = part.queries(out), part.queries(lse)
            if part.is_first:
                into.copy_(attended)
                log_total.copy_(log_sum)
            else:
                _join(into, log_total, attended, log_sum)
        ctx.save_for_backward(query, key, value, out, lse)
        ctx.layout, ctx.scale = layout, scale  # type: ignore[attr-defined]
        return out

    @staticmethod
    def backward(
        ctx: torch.autograd.function.FunctionCtx, grad: Float[Tensor, "1 heads tokens dim"]
    ) -> tuple[
        Float[Tensor, "1 heads tokens dim"],
        Float[Tensor, "1 heads tokens dim"],
        Float[Tensor, "1 heads tokens dim"],
        None,
        None,
    ]:
        query, key, value, out, lse = ctx.saved_tensors  # type: ignore[attr-defined]
        to_query, to_key, to_value = (torch.empty_like(states) for states in (query, key, value))
        for part in _parts(ctx.layout):  # type: ignore[attr-defined]
            for_query, for_key, for_value = _backward(
                part.queries(grad),
                part.queries(query),
                part.keys(key),
                part.keys(value),
                part.queries(out),
                part.queries(lse),
                0.0,
                part.is_causal,
                scale=ctx.scale,  # type: ignore[attr-defined]
            )
            _add(part.queries(to_query), for_query, is_first=part.is_first)
            # What attends to itself comes before what else attends to it.
            _add(part.keys(to_key), for_key, is_first=part.is_causal)
            _add(part.keys(to_value), for_value, is_first=part.is_causal)
        return to_query, to_key, to_value, None, None


@dataclass(frozen=True, slots=True)
class _MaskPart:
    """One call of the kernel: some queries on some keys."""

    query_span: Span | SuffixRun
    key_span: Span | SuffixRun
    is_causal: bool
    is_first: bool
    """Whether it is the first part that these queries meet."""

    def queries(self, states: Float[Tensor, "1 heads tokens *dim"]) -> Float[Tensor, "rows heads queries *dim"]:
        return self.query_span.of(states)

    def keys(self, states: Float[Tensor, "1 heads tokens *dim"]) -> Float[Tensor, "rows heads keys *dim"]:
        return self.key_span.of(states)


def _parts(layout: Layout) -> Iterator[_MaskPart]:
    for node in layout:
        if node.prefix.length:
            yield _MaskPart(node.prefix, node.prefix, is_causal=True, is_first=True)
            if node.runs:
                yield _MaskPart(node.suffixes, node.prefix, is_causal=False, is_first=True)
        for run in node.runs:
            yield _MaskPart(run, run, is_causal=True, is_first=not node.prefix.length)
        if node.root is not None:
            yield _MaskPart(node.whole, node.root, is_causal=False, is_first=False)


def _add(into: Float[Tensor, "..."], gradient: Float[Tensor, "..."], *, is_first: bool) -> None:
    into.copy_(gradient) if is_first else into.add_(gradient)


def _join(
    into: Float[Tensor, "rows heads queries dim"],
    log_total: Float[Tensor, "rows heads queries"],
    attended: Float[Tensor, "rows heads queries dim"],
    log_sum: Float[Tensor, "rows heads queries"],
) -> None:
    """In place: softmax attention over the keys of both, from each one's own attention and log-sum-exp."""
    # sigmoid(b - a) is exp(b) / (exp(a) + exp(b)).
    share = torch.sigmoid(log_sum - log_total)[..., None].to(into.dtype)
    into.lerp_(attended, share.expand_as(into))
    log_total.copy_(torch.logaddexp(log_total, log_sum))
