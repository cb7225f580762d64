"""Keys and values on a CPU: each row in one piece of address space, to which the system gives pages as they are used.

A row may grow to the model's longest sequence without being moved, and takes no more memory than its own tokens.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from saccade.models.masks import AttentionMask, MaskRule
from saccade.models.memory import give_range_back, on_device, untouched_zeros
from saccade.models.plain_forward import Attend
from saccade.models.recurrent import CarriedStates
from saccade.models.shared_prefix import SharedPrefix, attend_folded, attend_sharing

_SMALLEST_CAPACITY = 64
"""Tokens of a row before the first growth, where memory cannot be had page by page."""
_ADDRESS_SPACE = 4 << 40
"""Bytes of addresses that a cache asks for at most."""
_SKEW = 2
"""Tokens beyond a round number: rows whose distance is a power of two would share the same few lines of the
processor's cache."""
_WORTH_GIVING_BACK = 1 << 20
"""Bytes below which the system's calls cost more than the memory is worth."""
logger = logging.getLogger(__name__)

Storage = Float[Tensor, "kv=2 layers rows heads tokens dim"]
RowStates = Float[Tensor, "rows heads tokens dim"]
Exchange = Callable[[RowStates, RowStates, int], tuple[RowStates, RowStates]]
"""Writes new keys and values of a layer; gives those of the whole rows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """Some rows of a cache, as one forward of new tokens sees them."""

    exchange: Exchange
    columns: Int[Tensor, "rows width"]
    """Where each new token goes in its row."""
    total: int
    """Tokens that attention reads, from the start of each row."""
    dtype: torch.dtype
    prefix: SharedPrefix | None
    """Where rows begin alike."""
    attention_layers: Mapping[int, int] | None = None
    """Place of each layer in the cache, where some have no keys and values."""
    states: CarriedStates | None = None
    """Of layers that have a recurrent state in their place."""
    in_place: Attend | None = None
    """How ``attention`` goes where keys and values need not be gathered."""

    @property
    def mask(self) -> Shaped[Tensor, "rows 1 width keys"]:
        """Each new token looks at its own row up to itself.

        Bool, true where it looks; with a ``prefix`` of what follows that alone, to be added to the scores.
        """
        return self._for_scores((self._keys <= self.columns[:, :, None])[:, None])

    def mask_by(self, rule: MaskRule | None, is_image: Bool[Tensor, "rows width"]) -> AttentionMask:
        """The same by a rule of the model; ``is_image`` says which of the new tokens are of images."""
        if rule is None:
            return self.mask
        found = rule.masks(self.columns, self._keys, is_image)
        if isinstance(found, Tensor):
            return self._for_scores(found)
        return {kind: self._for_scores(seen) for kind, seen in found.items()}

    @property
    def _keys(self) -> Int[Tensor, "keys"]:
        return torch.arange(self.prefix.length if self.prefix else 0, self.total, device=self.columns.device)

    def _for_scores(self, seen: Bool[Tensor, "rows 1 width keys"]) -> Shaped[Tensor, "rows 1 width keys"]:
        if self.prefix is None:
            return seen
        return torch.zeros(seen.shape, dtype=self.dtype).masked_fill(~seen, float("-inf"))

    def update(
        self, keys: RowStates, values: RowStates, layer: int, *_: object, **__: object
    ) -> tuple[RowStates, RowStates]:
        """Writes new keys and values; returns those of the whole rows. The name is transformers'."""
        return self.exchange(keys, values, layer if self.attention_layers is None else self.attention_layers[layer])

    def attention(self) -> Attend:
        """How new tokens, side by side, attend to their rows."""
        if self.in_place is not None:
            return self.in_place
        mask, prefix = self.mask, self.prefix
        rows, width = self.columns.shape

        def attend(layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
            queries, key, value = (
                part[:, :, None] if width == 1 else part.view(rows, width, *part.shape[1:]).transpose(1, 2)
                for part in (query, key, value)
            )
            keys, values = self.exchange(key, value, layer)
            if prefix is None:
                attended = attend_folded(queries, keys, values, mask, scale)
            else:
                attended = attend_sharing(queries, keys, values, mask, prefix, scale)
            return attended.reshape(rows * width, -1)

        return attend


@dataclass(slots=True)
class RowMemory:
    """Rows side by side: row ``place`` of the storage is that of the slot there."""

    layer_count: int
    kv_heads: int
    head_dim: int
    dtype: torch.dtype
    expected_rows: int = 1
    longest: int = 0
    """Tokens that a row is expected to have at most; more make all rows move."""
    _storage: Storage | None = None

    def holding(self, rows: int, length: int) -> Storage | None:
        """The storage, if it has so many rows of ``length`` tokens."""
        made = self._storage
        return made if made is not None and made.shape[2] >= rows and made.shape[4] >= length else None

    def grow(self, rows: int, length: int, held: Sequence[int]) -> Storage:
        """Makes room for so many rows of ``length`` tokens; ``held`` are the tokens of each row that are kept."""
        before = self._storage
        row_count, capacity = (before.shape[2], before.shape[4]) if before is not None else (0, 0)
        if rows > row_count:
            row_count = max(rows, self.expected_rows, min(2 * row_count, 2 * rows))
        if length > capacity:
            capacity = max(length, 2 * capacity, self._capacity(row_count)) + _SKEW
        made = untouched_zeros(self._shape(row_count, capacity), self.dtype)
        if made is None:
            made = self._zeros(max(rows, len(held)), max([length, *held]))
        self._storage = made
        if before is not None:
            # Layer by layer, so that little is there twice at any time.
            for old, new in zip(before.flatten(0, 1), made.flatten(0, 1)):
                for place, count in enumerate(held[: before.shape[2]]):
                    new[place, :, :count] = old[place, :, :count]
                    give_range_back(old[place], 0, count)
        return made

    def _zeros(self, rows: int, length: int) -> Storage:
        """Memory that is all there at once, for systems that give no more addresses than they have memory."""
        logger.info(
            "the KV cache allocates memory for the longest row in each of %d rows: this system reserves no addresses",
            rows,
        )
        capacity = _SMALLEST_CAPACITY
        while capacity < length:
            capacity *= 2
        return torch.zeros(self._shape(rows, capacity), dtype=self.dtype)

    def copy(self, source: int, targets: Sequence[int], length: int) -> None:
        """The first ``length`` tokens of a row in others."""
        storage = self._held
        storage[:, :, list(targets), :, :length] = storage[:, :, source, None, :, :length]

    def move(self, moves: Sequence[tuple[int, int, int]]) -> None:
        """Rows (source, target, tokens), which may change places in circles; what a source held is given back."""
        storage = self._held
        kept = [storage[:, :, source, :, :length].clone() for source, _, length in moves]
        targets = {target: length for _, target, length in moves}
        for (_, target, length), states in zip(moves, kept):
            storage[:, :, target, :, :length] = states
        for source, _, length in moves:
            self.give_back(source, targets.get(source, 0), length)

    def give_back(self, place: int, keep: int, until: int) -> None:
        """The memory of a row's tokens from ``keep`` to ``until``."""
        storage = self._storage
        if storage is None or (until - keep) * self._token_bytes < _WORTH_GIVING_BACK:
            return
        give_range_back(storage[:, :, place], keep, until)

    def window(self, first: int, lengths: Sequence[int], width: int, prefix: SharedPrefix | None) -> Window:
        """What a forward of ``width`` new tokens sees of neighbouring rows that hold ``lengths`` tokens."""
        total = max(lengths) + width
        view = self._held[:, :, first : first + len(lengths)]
        rows = torch.arange(len(lengths))[:, None]
        columns = torch.tensor(lengths)[:, None] + torch.arange(width)

        def exchange(keys: RowStates, values: RowStates, layer: int) -> tuple[RowStates, RowStates]:
            for part, written in zip(view[:, layer], (keys, values)):
                part[rows, :, columns] = written.transpose(1, 2)
            kv_cache = view[:, layer, :, :, :total]
            return kv_cache[0], kv_cache[1]

        return Window(exchange=exchange, columns=columns, total=total, dtype=self.dtype, prefix=prefix)

    @property
    def _held(self) -> Storage:
        assert self._storage is not None
        return self._storage

    @property
    def _token_bytes(self) -> int:
        return 2 * self.layer_count * self.kv_heads * self.head_dim * self.dtype.itemsize

    def _capacity(self, rows: int) -> int:
        return min(self.longest, _ADDRESS_SPACE // (max(1, rows) * self._token_bytes))

    def _shape(self, rows: int, capacity: int) -> tuple[int, ...]:
        return 2, self.layer_count, rows, self.kv_heads, capacity, self.head_dim


def padded(numbers: Sequence[int], counts: Sequence[int], width: int) -> list[int]:
    """Of rows of so many ``counts`` numbers each, one after the other: filled up to ``width`` by zeros."""
    if width == 1:
        return list(numbers)
    each = iter(numbers)
    return [number for count in counts for number in (*islice(each, count), *[0] * (width - count))]


def unpadded(
    states: Float[Tensor, "padded hidden"], counts: Sequence[int], width: int
) -> Float[Tensor, "tokens hidden"]:
    """The states of such rows without those that fill them up."""
    if len(states) == sum(counts):
        return states
    places = [row * width + step for row, count in enumerate(counts) for step in range(count)]
    return states[on_device(places, states.device)]
