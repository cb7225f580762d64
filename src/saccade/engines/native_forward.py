"""The forwards of the local engine by native kernels: new tokens of many rows side by side, without padding."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

from saccade.engines.features import FeatureCache
from saccade.engines.forward import Chunk, Extended, Forwards, TorchForwards, batches
from saccade.engines.slots import SlotCache
from saccade.models.vlm import VisionLanguageModel
from saccade.native import CachedForward, accelerated


def forwards_for(
    model: VisionLanguageModel, features: FeatureCache, cache: SlotCache, *, max_chunk_tokens: int
) -> Forwards:
    """The faster of the two for the model as it is now; ``docs/native.md`` says what is left to torch."""
    native = accelerated(model.hf)
    if native is None:
        return TorchForwards(model, features, cache, max_chunk_tokens=max_chunk_tokens)
    return NativeForwards(model, native.cached, features, cache, max_chunk_tokens=max_chunk_tokens)


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

    def states(self, chunks: Sequence[Chunk], *, first: int) -> list[Tensor]:
        flat, _ = self._append(chunks, first, last_alone=False)
        return list(torch.split(flat, [len(chunk.ids) for chunk in chunks]))

    def decode(self, tokens: Sequence[int], positions: Sequence[int], cached: Sequence[int]) -> Tensor:
        native, count = self._native, len(cached)
        ids, places = torch.tensor([tokens, positions])
        states = self._model.hf.get_input_embeddings()(ids[:, None])[:, 0]
        groups = 0 if native.token_step is None else native.token_step.groups(count)
        if native.token_step is None or not groups:
            return native.decode(states, places, self._cache.attention(0, cached, [1] * count, native.kernels))
        # Before any group looks at the storage: a later one must not make it grow.
        self._cache.reserve(max(cached) + 1)
        cuts = [count * group // groups for group in range(groups + 1)]
        rows = [
            self._cache.next_token(start, cached[start:stop], native.kernels).rows for start, stop in pairwise(cuts)
        ]
        return native.token_step(states, places, rows)

    def _append(self, chunks: Sequence[Chunk], first: int, *, last_alone: bool) -> tuple[Tensor, list[int]]:
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
