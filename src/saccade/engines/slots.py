"""Slots of keys and values: one per sequence, moved so that active ones lie together, and windows on them for torch."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import is_

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from saccade.models.memory import give_pages_back
from saccade.models.plain_forward import Attend
from saccade.models.shared_prefix import SharedPrefix, attend_folded, attend_sharing, shared_prefix
from saccade.native import Kernels, NewTokens, SlotAttention
from saccade.types import ImageRef

_SMALLEST_CAPACITY = 64
"""Tokens of a slot before the first growth."""
_Rows = Float[Tensor, "rows heads tokens dim"]
_Storage = Float[Tensor, "kv=2 layers slots heads tokens dim"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """The part of the slots that transformers' attention layers write to and read from in one forward."""

    storage: Float[Tensor, "kv=2 layers rows heads tokens dim"]
    """A view of the slots that take part."""
    rows: Int[Tensor, "rows 1"]
    columns: Int[Tensor, "rows width"]
    """Where each new token goes in its row."""
    total: int
    """Tokens that attention reads, from the start of each row."""
    prefix: SharedPrefix | None
    """Where rows begin alike."""

    @property
    def mask(self) -> Shaped[Tensor, "rows 1 width keys"]:
        """Each new token looks at its own row up to itself.

        Bool, true where it looks; with a ``prefix`` of what follows that alone, to be added to the scores.
        """
        start = self.prefix.length if self.prefix else 0
        seen = (torch.arange(start, self.total, device=self.columns.device) <= self.columns[:, :, None])[:, None]
        if self.prefix is None:
            return seen
        return torch.zeros(seen.shape, dtype=self.storage.dtype).masked_fill(~seen, float("-inf"))

    def update(self, keys: _Rows, values: _Rows, layer: int, *_: object, **__: object) -> tuple[_Rows, _Rows]:
        """Writes new keys and values; returns those of the whole rows."""
        for part, written in zip(self.storage[:, layer], (keys, values)):
            part[self.rows, :, self.columns] = written.transpose(1, 2)
        kv_cache = self.storage[:, layer, :, :, : self.total]
        return kv_cache[0], kv_cache[1]

    def attention(self) -> Attend:
        """How single new tokens attend to their rows; on a CPU only."""
        mask, prefix = self.mask, self.prefix

        def attend(layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
            keys, values = self.update(key[:, :, None], value[:, :, None], layer)
            queries = query[:, :, None]
            if prefix is None:
                return attend_folded(queries, keys, values, mask, scale).flatten(1)
            return attend_sharing(queries, keys, values, mask, prefix, scale).flatten(1)

        return attend


@dataclass(frozen=True, slots=True)
class PromptKey:
    """Prompt by content: two sequences with equal keys have equal keys and values in the cache."""

    ids: tuple[int, ...]
    images: tuple[ImageRef, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """Beginning of a slot, and what the next token follows from."""

    key: PromptKey
    hidden: Float[Tensor, "hidden"]
    """The last hidden state."""
    position: int
    """The next token's."""


@dataclass(eq=False, slots=True)
class Slot:
    """One sequence's place. A slot that was given back keeps its prompt until its place is needed."""

    index: int
    place: int
    """In memory; where a cache moves slots, it is the index."""
    is_taken: bool = False
    length: int = 0
    """Tokens whose keys and values are in the slot."""
    prompt: Prompt | None = None

    @property
    def held_prompt(self) -> Prompt:
        if self.prompt is None:
            raise ValueError(f"slot {self.index} holds no prompt")
        return self.prompt


@dataclass(slots=True)
class _Decoded:
    """How some slots were last given one token each."""

    slots: Sequence[object]
    """And their prompts."""
    lengths: Sequence[int]
    """Before that token."""
    attention: SlotAttention

    def goes_on(self, slots: Sequence[object], lengths: Sequence[int]) -> bool:
        are_grown = [length + 1 for length in self.lengths] == list(lengths)
        return are_grown and all(map(is_, self.slots, slots))


@dataclass(slots=True)
class SlotCache:
    """Keys and values of all layers in one tensor."""

    layer_count: int
    kv_heads: int
    head_dim: int
    dtype: torch.dtype
    device: torch.device
    moves: bool = True
    """Whether slots that are forwarded together have to lie together in memory, as ``window`` sees them."""
    slots: list[Slot] = field(default_factory=list)
    _storage: _Storage | None = None
    _decoded: dict[int, _Decoded] = field(default_factory=dict)
    """By the first slot; of the present storage."""

    def take(self, wanted: Collection[PromptKey]) -> Slot:
        """A free slot; rather a new one than one whose prompt is among the ``wanted``."""
        for slot in self.slots:
            if not slot.is_taken and (slot.prompt is None or slot.prompt.key not in wanted):
                slot.is_taken, slot.length, slot.prompt = True, 0, None
                return slot
        slot = Slot(index=len(self.slots), place=len(self.slots), is_taken=True)
        self.slots.append(slot)
        return slot

    def take_with_prompt(self, key: PromptKey) -> Slot | None:
        """A free slot that already begins with this prompt, or None."""
        for slot in self.slots:
            if not slot.is_taken and slot.prompt is not None and slot.prompt.key == key:
                slot.is_taken, slot.length = True, len(key.ids)
                return slot
        return None

    def holder_of(self, key: PromptKey) -> Slot | None:
        """Any slot that begins with this prompt, or None."""
        return next((slot for slot in self.slots if slot.prompt is not None and slot.prompt.key == key), None)

    def give_back(self, slot: Slot) -> None:
        slot.is_taken = False
        slot.length = 0 if slot.prompt is None else len(slot.prompt.key.ids)

    def copy_prompt(self, source: Slot, targets: Sequence[Slot]) -> None:
        """Lets ``targets`` begin with the prompt of ``source``."""
        length = len(source.held_prompt.key.ids)
        storage = self.reserve(length)
        places = [target.place for target in targets]
        storage[:, :, places, :, :length] = storage[:, :, source.place, None, :, :length]
        for target in targets:
            target.prompt, target.length = source.prompt, length

    def arrange(self, decoding: Sequence[Slot], joining: Sequence[Slot]) -> None:
        """Puts ``decoding`` first, in any order, and ``joining`` behind them in theirs; the rest lies after both."""
        if not joining and all(slot.index < len(decoding) for slot in decoding):
            return
        places: list[Slot | None] = [None] * len(self.slots)
        for slot in decoding:
            if slot.index < len(decoding):
                places[slot.index] = slot
        holes = (index for index in range(len(decoding)) if places[index] is None)
        for slot in decoding:
            if slot.index >= len(decoding):
                places[next(holes)] = slot
        places[len(decoding) : len(decoding) + len(joining)] = joining
        placed = {id(slot) for slot in places if slot is not None}
        others = [slot for slot in self.slots if id(slot) not in placed]
        displaced = []
        for slot in others:
            if places[slot.index] is None:
                places[slot.index] = slot
            else:
                displaced.append(slot)
        free = iter(displaced)
        self._move([slot if slot is not None else next(free) for slot in places])

    def _move(self, order: list[Slot]) -> None:
        for index, slot in enumerate(order):
            slot.index = index
        self.slots = order
        moved = [slot for slot in order if self.moves and slot.place != slot.index]
        filled = [slot for slot in moved if slot.length]
        if filled:
            storage = self.reserve(0)
            length = max(slot.length for slot in moved)
            sources, targets = [slot.place for slot in filled], [slot.index for slot in filled]
            # The right side is gathered before anything is written, so slots may change places in circles.
            storage[:, :, targets, :, :length] = storage[:, :, sources, :, :length]
        for slot in moved:
            slot.place = slot.index

    def window(self, first: int, lengths: Sequence[int], width: int) -> "Window":
        """The cache that a forward of ``width`` new tokens sees in the slots from ``first`` on."""
        start = torch.tensor(lengths, device=self.device)
        total = max(lengths) + width
        return Window(
            storage=self.reserve(total)[:, :, first : first + len(lengths)],
            rows=torch.arange(len(lengths), device=self.device)[:, None],
            columns=start[:, None] + torch.arange(width, device=self.device),
            total=total,
            prefix=self._prefix(first, len(lengths)),
        )

    def attention(self, first: int, lengths: Sequence[int], counts: Sequence[int], kernels: Kernels) -> SlotAttention:
        """The same for native kernels, with ``counts`` new tokens in each slot."""
        slots = self.slots[first : first + len(lengths)]
        rows = [
            NewTokens(
                slot=slot.place,
                cached=length,
                added=count,
                # By identity: a prompt is handed on from slot to slot, and hashing its ids would cost more.
                prompt=None if slot.prompt is None else id(slot.prompt),
                prompt_length=0 if slot.prompt is None else len(slot.prompt.key.ids),
            )
            for slot, length, count in zip(slots, lengths, counts)
        ]
        return SlotAttention(self.reserve(max(row.cached + row.added for row in rows)), rows, kernels)

    def next_token(self, first: int, lengths: Sequence[int], kernels: Kernels) -> SlotAttention:
        """The same for one new token in each slot; where this goes on from the last call, next to nothing is built."""
        self.reserve(max(lengths) + 1)
        slots = self.slots[first : first + len(lengths)]
        begun = [*slots, *(slot.prompt for slot in slots)]
        before = self._decoded.get(first)
        if before is not None and before.goes_on(begun, lengths):
            before.lengths = lengths
            before.attention.advance()
            return before.attention
        attention = self.attention(first, lengths, [1] * len(lengths), kernels)
        self._decoded[first] = _Decoded(begun, lengths, attention)
        return attention

    def _prefix(self, first: int, count: int) -> SharedPrefix | None:
        """How neighbouring slots share the prompts that they begin with; only the CPU's attention makes use of it."""
        if self.device.type != "cpu":
            return None
        prompts = [slot.prompt for slot in self.slots[first : first + count]]
        # By identity: a prompt is handed on from slot to slot, and hashing its ids in every step would cost more.
        return shared_prefix([None if prompt is None else (id(prompt), len(prompt.key.ids)) for prompt in prompts])

    def reserve(self, length: int) -> _Storage:
        """The storage, grown by doubling to hold every slot and ``length`` tokens."""
        kv_cache = self._storage
        slot_count, capacity = (kv_cache.shape[2], kv_cache.shape[4]) if kv_cache is not None else (0, 0)
        if kv_cache is not None and slot_count >= len(self.slots) and capacity >= length:
            return kv_cache
        if len(self.slots) > slot_count:
            slot_count = max(len(self.slots), min(2 * slot_count, 2 * len(self.slots)))
        capacity = max(capacity, _SMALLEST_CAPACITY)
        while capacity < length:
            capacity *= 2
        # What looked at the storage that is given up here is forgotten first: nothing else may keep it alive.
        self._decoded.clear()
        self._storage = None
        allocate = partial(torch.empty, dtype=self.dtype, device=self.device)
        shape = (2, self.layer_count, slot_count, self.kv_heads, capacity, self.head_dim)
        if kv_cache is None:
            grown = self._cleared(allocate(shape))
        elif self.device.type == "cpu":
            grown = allocate(shape)
            for old, new in zip(kv_cache.flatten(0, 1), grown.flatten(0, 1)):
                self._cleared(new)[: old.shape[0], :, : old.shape[2]] = old
                give_pages_back(old)
        else:
            # By way of the host: a GPU that is nearly full cannot hold both.
            kept = kv_cache.cpu()
            del kv_cache
            grown = self._cleared(allocate(shape))
            grown[:, :, : kept.shape[2], :, : kept.shape[4]] = kept
        self._storage = grown
        return grown

    def _cleared(self, storage: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Where slots move, torch attends: a masked key still meets its value as 0 * value, and NaNs would survive."""
        return storage.zero_() if self.moves else storage
