"""Forwards of the local engine: whole chunks of new tokens, and one token for each row at work."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from saccade.engines.row_memory import Window, padded, unpadded
from saccade.engines.slots import SlotCache
from saccade.models.memory import on_device
from saccade.models.plain_forward import TokenDecoder
from saccade.models.routing import RecordedRouting
from saccade.models.vlm import Embedded, VisionLanguageModel
from saccade.native import CachedForward, FeatureCache, accelerated
from saccade.native import samples_rounded as samples_rounded
from saccade.types import ImageRef

if TYPE_CHECKING:
    from saccade.engines.decode_graphs import Record


@dataclass(frozen=True, kw_only=True, slots=True)
class Chunk:
    """New tokens of one row: a whole prompt, or the last sampled token with the observation after it."""

    ids: tuple[int, ...]
    images: tuple[ImageRef, ...]
    """Those whose placeholders lie in ``ids``."""
    cached: int
    """Tokens before the chunk, whose keys and values the row's slot holds."""
    position: int
    """The first token's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Extended:
    """End of a chunk: its last hidden state and the position of the token after it."""

    hidden: Float[Tensor, "hidden"]
    position: int


T = TypeVar("T")


def batches(
    items: Sequence[T], lengths: Sequence[int], max_tokens: int, *, max_rows: int | None = None
) -> Iterator[Sequence[T]]:
    """Neighbours, longest first, that are forwarded together: none is padded to more than twice its length.

    A batch has at most ``max_tokens`` with padding, unless it is a single item, and at most ``max_rows`` items.
    """
    start = 0
    for end in range(1, len(items) + 1):
        longest = lengths[start]
        if (
            end == len(items)
            or 2 * lengths[end] < longest
            or (end - start + 1) * longest > max_tokens
            or (max_rows is not None and end - start == max_rows)
        ):
            yield items[start:end]
            start = end


class Forwards(Protocol):
    """Runs the model on rows of a slot cache. Callers switch gradients off."""

    def extend(self, chunks: Sequence[Chunk], *, first: int) -> list[Extended]:
        """Appends chunks, longest first, to the slots from ``first`` on."""
        ...

    def states(self, chunks: Sequence[Chunk], *, first: int) -> list[Float[Tensor, "tokens hidden"]]:
        """Hidden states of chunks that are appended together, longest first."""
        ...

    def decode(
        self,
        tokens: Sequence[int],
        positions: Sequence[int],
        cached: Sequence[int],
        counts: Sequence[int] | None = None,
    ) -> Float[Tensor, "tokens hidden"]:
        """Last hidden states after appending a few tokens of text to each of the first slots, or one.

        ``tokens`` and ``positions`` are those of all slots, one after the other; each slot gets so many ``counts``.
        """
        ...

    def logits(self, hidden: Float[Tensor, "*rows hidden"]) -> Float[Tensor, "*rows vocabulary"]:
        """What the head makes of last hidden states."""
        ...

    def note_changed_weights(self) -> None:
        """The model has other weights from here on."""
        ...


class TorchForwards:
    """By transformers' modules, and single tokens by the bare layers of ``models.plain_forward``."""

    def __init__(
        self,
        model: VisionLanguageModel,
        features: FeatureCache,
        cache: SlotCache,
        *,
        max_chunk_tokens: int,
        record: "Record | None" = None,
    ) -> None:
        """With ``record`` decode steps on pages are recorded and replayed (``decode_graphs``)."""
        self._model = model
        self._features = features
        self._cache = cache
        self._max_chunk_tokens = max_chunk_tokens
        self._decoder = TokenDecoder.of(model.hf)
        self._graphs = None
        if self._decoder is not None and cache.pages is not None and record is not None:
            from saccade.engines.decode_graphs import DecodeGraphs

            make = DecodeGraphs if cache.kept is None else cache.kept.graphs
            self._graphs = make(self._decoder, cache.pages, record)
        cache.moves = not cache.is_paged

    def extend(self, chunks: Sequence[Chunk], *, first: int) -> list[Extended]:
        extended: list[Extended] = []
        for part in batches(chunks, [len(chunk.ids) for chunk in chunks], self._max_chunk_tokens):
            states, ends = self._append(part, first + len(extended))
            extended += [
                # A copy, so that keeping one row's last state does not keep the whole chunk's.
                Extended(hidden=states[row, len(chunk.ids) - 1].clone(), position=end)
                for row, (chunk, end) in enumerate(zip(part, ends))
            ]
        return extended

    def states(self, chunks: Sequence[Chunk], *, first: int) -> list[Float[Tensor, "tokens hidden"]]:
        hidden, _ = self._append(chunks, first)
        return [hidden[row, : len(chunk.ids)] for row, chunk in enumerate(chunks)]

    def decode(
        self,
        tokens: Sequence[int],
        positions: Sequence[int],
        cached: Sequence[int],
        counts: Sequence[int] | None = None,
    ) -> Float[Tensor, "tokens hidden"]:
        counts = counts or [1] * len(cached)
        if self._graphs is not None:
            hidden = self._graphs.decode(tokens, positions, self._cache.places(0, len(cached)), cached, counts)
            if hidden is not None:
                return hidden
        width = max(counts)
        ids, places = on_device(
            [padded(tokens, counts, width), padded(positions, counts, width)], self._model.device
        ).view(2, -1, width)
        window = self._cache.window(0, cached, width, counts)
        if self._decoder is not None:
            return unpadded(self._decoder(ids.flatten(), places.flatten(), window.attention()), counts, width)
        embedded = self._model.embed(ids, ())
        seen = self._cache.recording()
        hidden = self._hidden(embedded, places[None].expand(3, -1, -1), window, seen)
        if seen is not None:
            self._cache.keep_experts(0, cached, counts, seen)
        return unpadded(hidden.flatten(0, 1), counts, width)

    def _append(self, chunks: Sequence[Chunk], first: int) -> tuple[Float[Tensor, "rows longest hidden"], list[int]]:
        """Hidden states and the position after each chunk."""
        width = len(chunks[0].ids)
        device = self._model.device
        ids = torch.full((len(chunks), width), self._model.eos_id, dtype=torch.long)
        positions = torch.zeros((3, len(chunks), width), dtype=torch.long)
        ends = []
        for row, chunk in enumerate(chunks):
            count = len(chunk.ids)
            ids[row, :count] = torch.tensor(chunk.ids)
            positions[:, row, :count], end = self._model.positions_from(chunk.ids, chunk.images, start=chunk.position)
            ends.append(end)
        features = self._features.get([image for chunk in chunks for image in chunk.images])
        counts = [len(chunk.ids) for chunk in chunks]
        lengths, seen = [chunk.cached for chunk in chunks], self._cache.recording()
        window = self._cache.window(first, lengths, width, counts)
        hidden = self._hidden(self._model.embed(ids.to(device), features), positions.to(device), window, seen)
        if seen is not None:
            self._cache.keep_experts(first, lengths, counts, seen)
        return hidden, ends

    def _hidden(
        self,
        embedded: Embedded,
        positions: Int[Tensor, "3 rows tokens"],
        window: Window,
        routing: RecordedRouting | None,
    ) -> Float[Tensor, "rows tokens hidden"]:
        mask = window.mask_by(self._model.mask_rule, embedded.is_image)
        return self._model.hidden(embedded, positions, mask, window, prefix=window.prefix, routing=routing)

    def logits(self, hidden: Float[Tensor, "*rows hidden"]) -> Float[Tensor, "*rows vocabulary"]:
        return self._model.head_logits(hidden)

    def note_changed_weights(self) -> None:
        """The modules are the model's own; recorded steps look where the weights are."""
        if self._graphs is not None:
            self._graphs.note_changed_weights()


def forwards_for(
    model: VisionLanguageModel,
    features: FeatureCache,
    cache: SlotCache,
    *,
    max_chunk_tokens: int,
    decoded_rows: int = 0,
) -> Forwards:
    """The faster of the two for the model as it is now; ``docs/native.md`` says what is left to torch.

    ``decoded_rows`` are those that will have many tokens sampled together.
    """
    native = None if cache.is_paged else accelerated(model.hf)
    if native is None:
        record = None
        if model.device.type == "cuda":
            from saccade.engines.decode_graphs import cuda_recorder

            record = cuda_recorder(model.device)
        return TorchForwards(model, features, cache, max_chunk_tokens=max_chunk_tokens, record=record)
    return NativeForwards(model, native.cached(decoded_rows), features, cache, max_chunk_tokens=max_chunk_tokens)


class NativeForwards:
    """By native kernels, in fp32 on a CPU: slots stay where they are."""

    def __init__(
        self,
        model: VisionLanguageModel,
        native: CachedForward,
        features: FeatureCache,
        cache: SlotCache,
        *,
        max_chunk_tokens: int,
    ) -> None:
        self._model = model
        self._native = native
        self._features = features
        self._cache = cache
        self._max_chunk_tokens = max_chunk_tokens
        cache.moves = False

    def extend(self, chunks: Sequence[Chunk], *, first: int) -> list[Extended]:
        extended: list[Extended] = []
        for part in batches(chunks, [len(chunk.ids) for chunk in chunks], self._max_chunk_tokens):
            last, ends = self._append(part, first + len(extended), last_alone=True)
            extended += [Extended(hidden=hidden.clone(), position=end) for hidden, end in zip(last, ends)]
        return extended

    def states(self, chunks: Sequence[Chunk], *, first: int) -> list[Float[Tensor, "tokens hidden"]]:
        flat, _ = self._append(chunks, first, last_alone=False)
        return list(torch.split(flat, [len(chunk.ids) for chunk in chunks]))

    def decode(
        self,
        tokens: Sequence[int],
        positions: Sequence[int],
        cached: Sequence[int],
        counts: Sequence[int] | None = None,
    ) -> Float[Tensor, "tokens hidden"]:
        native, cache, counts = self._native, self._cache, counts or [1] * len(cached)
        ids, places = torch.tensor([tokens, positions])
        states = self._model.hf.get_input_embeddings()(ids[:, None])[:, 0]
        groups = 0 if native.token_step is None else min(len(cached), native.token_step.groups(len(tokens)))
        if native.token_step is None or not groups:
            return native.decode(states, places, cache.attention(0, cached, counts, native.kernels))
        # Before any group looks at the storage: a later one must not make it grow.
        cache.reserve(max(cached) + max(counts), cached)
        cuts = [len(cached) * group // groups for group in range(groups + 1)]
        rows = [
            cache.next_tokens(start, cached[start:stop], counts[start:stop], native.kernels).rows
            for start, stop in pairwise(cuts)
        ]
        return native.token_step(states, places, rows)

    def _append(
        self, chunks: Sequence[Chunk], first: int, *, last_alone: bool
    ) -> tuple[Float[Tensor, "tokens hidden"], list[int]]:
        """Hidden states of all tokens side by side, or of the last of each chunk, and the positions after them."""
        model = self._model
        counts = [len(chunk.ids) for chunk in chunks]
        starting = [model.positions_from(chunk.ids, chunk.images, start=chunk.position) for chunk in chunks]
        positions = torch.cat([places for places, _ in starting], dim=1)
        embedded = model.embed(
            torch.tensor([token for chunk in chunks for token in chunk.ids])[None],
            self._features.get([image for chunk in chunks for image in chunk.images]),
        )
        hidden = self._native.extend(
            embedded.inputs[0],
            model.family.language_positions(positions[:, None]),
            self._cache.attention(first, [chunk.cached for chunk in chunks], counts, self._native.kernels),
            last=torch.tensor(counts).cumsum(0) - 1 if last_alone else None,
            is_image=embedded.is_image[0],
            deepstack=embedded.deepstack,
        )
        return hidden, [end for _, end in starting]

    def logits(self, hidden: Float[Tensor, "*rows hidden"]) -> Float[Tensor, "*rows vocabulary"]:
        rounded = None if self._native.rounded is None else self._native.rounded.logits(hidden)
        logits: Tensor = self._model.hf.lm_head(hidden) if rounded is None else rounded
        return logits

    def note_changed_weights(self) -> None:
        self._native.follow()
