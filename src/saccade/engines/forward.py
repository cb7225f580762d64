"""The forwards of the local engine by torch: whole chunks of new tokens, and one token for each row at work."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import torch
from torch import Tensor

from saccade.engines.features import FeatureCache
from saccade.engines.slots import SlotCache
from saccade.models.decoding import TokenDecoder
from saccade.models.vlm import VisionLanguageModel
from saccade.types import ImageRef


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
    """End of a chunk: its last hidden state (hidden,) and the position of the token after it."""

    hidden: Tensor
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

    def states(self, chunks: Sequence[Chunk], *, first: int) -> list[Tensor]:
        """Hidden states (tokens, hidden) of chunks that are appended together, longest first."""
        ...

    def decode(self, tokens: Sequence[int], positions: Sequence[int], cached: Sequence[int]) -> Tensor:
        """Last hidden states (rows, hidden) after appending one token to each of the first slots."""
        ...


class TorchForwards:
    """By transformers' modules, and on a CPU single tokens by the bare layers of ``models.decoding``."""

    def __init__(
        self, model: VisionLanguageModel, features: FeatureCache, cache: SlotCache, *, max_chunk_tokens: int
    ) -> None:
        self._model = model
        self._features = features
        self._cache = cache
        self._max_chunk_tokens = max_chunk_tokens
        self._decoder = TokenDecoder.of(model.hf)
        cache.moves = True

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

    def states(self, chunks: Sequence[Chunk], *, first: int) -> list[Tensor]:
        hidden, _ = self._append(chunks, first)
        return [hidden[row, : len(chunk.ids)] for row, chunk in enumerate(chunks)]

    def decode(self, tokens: Sequence[int], positions: Sequence[int], cached: Sequence[int]) -> Tensor:
        ids, places = torch.tensor([tokens, positions], device=self._model.device)
        window = self._cache.window(0, cached, 1)
        if self._decoder is not None:
            return self._decoder(ids, places, window.attention())
        embedded = self._model.embed(ids[:, None], ())
        hidden = self._model.hidden(
            embedded, places[None, :, None].expand(3, -1, -1), window.mask, window, prefix=window.prefix
        )
        return hidden[:, 0]

    def _append(self, chunks: Sequence[Chunk], first: int) -> tuple[Tensor, list[int]]:
        """Hidden states (rows, longest chunk, hidden) and the position after each chunk."""
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
        window = self._cache.window(first, [chunk.cached for chunk in chunks], width)
        hidden = self._model.hidden(
            self._model.embed(ids.to(device), features), positions.to(device), window.mask, window, prefix=window.prefix
        )
        return hidden, ends
