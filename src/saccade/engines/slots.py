"""Where the keys and values of many sequences live: one slot per sequence, moved so that active ones lie together."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from saccade.engines.slot_attention import NewTokens, SlotAttention
from saccade.models.decoding import Attend
from saccade.models.native.kernels import Kernels
from saccade.models.shared_prefix import SharedPrefix, attend_folded, attend_sharing, shared_prefix
from saccade.types import ImageRef

_SMALLEST_CAPACITY = 64
"""Tokens of a slot before the first growth."""


@dataclass(frozen=True, slots=True)
class PromptKey:
    """A prompt by content: two sequences with equal keys have equal keys and values in the cache."""

    ids: tuple[int, ...]
    images: tuple[ImageRef, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """What a slot begins with, and what the next token follows from."""

    key: PromptKey
    hidden: Tensor
    """The last hidden state, shape (hidden,)."""
    position: int
    """Of the next token."""


@dataclass(eq=False, slots=True)
class Slot:
    """One sequence's place. A slot that was given back keeps its prompt until its place is needed."""

    index: int
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
class SlotCache:
    """Keys and values of all layers in one tensor (key or value, layer, slot, head, token, dim)."""

    layer_count: int
    kv_heads: int
    head_dim: int
    dtype: torch.dtype
    device: torch.device
    slots: list[Slot] = field(default_factory=list)
    _storage: Tensor | None = None

    def take(self, wanted: Collection[PromptKey]) -> Slot:
        """A free slot; rather a new one than one whose prompt is among the ``wanted``."""
        for slot in self.slots:
            if not slot.is_taken and (slot.prompt is None or slot.prompt.key not in wanted):
                slot.is_taken, slot.length, slot.prompt = True, 0, None
                return slot
        slot = Slot(index=len(self.slots), is_taken=True)
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
        storage = self._reserved(length)
        indices = [target.index for target in targets]
        storage[:, :, indices, :, :length] = storage[:, :, source.index, None, :, :length]
        for target in targets:
            target.prompt, target.length = source.prompt, length

    def arrange(self, decoding: Sequence[Slot], joining: Sequence[Slot]) -> None:
        """Puts ``decoding`` first, in any order, and ``joining`` behind them in theirs; the rest lies after both."""
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
        moved = [(slot, index) for index, slot in enumerate(order) if slot.index != index]
        filled = [(slot.index, index) for slot, index in moved if slot.length]
        if filled:
            storage = self._reserved(0)
            length = max(slot.length for slot, _ in moved)
            sources, targets = [source for source, _ in filled], [target for _, target in filled]
            # The right side is gathered before anything is written, so slots may change places in circles.
            storage[:, :, targets, :, :length] = storage[:, :, sources, :, :length]
        for slot, index in moved:
            slot.index = index
        self.slots = order

    def window(self, first: int, lengths: Sequence[int], width: int) -> "Window":
        """The cache that a forward of ``width`` new tokens sees in the slots from ``first`` on."""
        start = torch.tensor(lengths, device=self.device)
        total = max(lengths) + width
        return Window(
            storage=self._reserved(total)[:, :, first : first + len(lengths)],
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
                slot=first + index,
                held=length,
                added=count,
                # By identity: a prompt is handed on from slot to slot, and hashing its ids would cost more.
                prompt=None if slot.prompt is None else id(slot.prompt),
                prompt_length=0 if slot.prompt is None else len(slot.prompt.key.ids),
            )
            for index, (slot, length, count) in enumerate(zip(slots, lengths, counts))
        ]
        return SlotAttention(self._reserved(max(row.held + row.added for row in rows)), rows, kernels)

    def _prefix(self, first: int, count: int) -> SharedPrefix | None:
        """How neighbouring slots share the prompts that they begin with; only the CPU's attention makes use of it."""
        if self.device.type != "cpu":
            return None
        prompts = [slot.prompt for slot in self.slots[first : first + count]]
        # By identity: a prompt is handed on from slot to slot, and hashing its ids in every tick would cost more.
        return shared_prefix([None if prompt is None else (id(prompt), len(prompt.key.ids)) for prompt in prompts])

    def _reserved(self, length: int) -> Tensor:
        """The storage, grown by doubling to hold every slot and ``length`` tokens."""
        held = self._storage
        slot_count, capacity = (held.shape[2], held.shape[4]) if held is not None else (0, 0)
        if held is not None and slot_count >= len(self.slots) and capacity >= length:
            return held
        if len(self.slots) > slot_count:
            slot_count = max(len(self.slots), min(2 * slot_count, 2 * len(self.slots)))
        capacity = max(capacity, _SMALLEST_CAPACITY)
        while capacity < length:
            capacity *= 2
        # Zeros, because a masked key still meets its value as 0 * value, and stray NaNs would survive that.
        grown = torch.zeros(
            (2, self.layer_count, slot_count, self.kv_heads, capacity, self.head_dim),
            dtype=self.dtype,
            device=self.device,
        )
        if held is not None:
            grown[:, :, : held.shape[2], :, : held.shape[4]] = held
        self._storage = grown
        return grown


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """What the attention layers of transformers write to and read from in one forward."""

    storage: Tensor
    """(key or value, layer, row, head, token, dim), a view of the slots that take part."""
    rows: Tensor
    """(rows, 1)"""
    columns: Tensor
    """(rows, width): where each new token goes in its row."""
    total: int
    """Tokens that attention reads, from the start of each row."""
    prefix: SharedPrefix | None
    """Where rows begin alike."""

    @property
    def mask(self) -> Tensor:
        """(rows, 1, width, total): each new token looks at its own row up to itself.

        Bool, true where it looks; with a ``prefix`` of what follows that alone, to be added to the scores.
        """
        start = self.prefix.length if self.prefix else 0
        seen = (torch.arange(start, self.total, device=self.columns.device) <= self.columns[:, :, None])[:, None]
        if self.prefix is None:
            return seen
        return torch.zeros(seen.shape, dtype=self.storage.dtype).masked_fill(~seen, float("-inf"))

    def update(self, keys: Tensor, values: Tensor, layer: int, *_: object, **__: object) -> tuple[Tensor, Tensor]:
        """Writes new keys and values (rows, head, width, dim); returns those of the whole rows."""
        for part, written in zip(self.storage[:, layer], (keys, values)):
            part[self.rows, :, self.columns] = written.transpose(1, 2)
        held = self.storage[:, layer, :, :, : self.total]
        return held[0], held[1]

    def attention(self) -> Attend:
        """How single new tokens attend to their rows; on a CPU only."""
        mask, prefix = self.mask, self.prefix

        def attend(layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
            keys, values = self.update(key[:, :, None], value[:, :, None], layer)
            asking = query[:, :, None]
            if prefix is None:
                return attend_folded(asking, keys, values, mask, scale).flatten(1)
            return attend_sharing(asking, keys, values, mask, prefix, scale).flatten(1)

        return attend
