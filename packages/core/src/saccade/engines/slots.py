"""Slots of keys and values: one per sequence, arranged so that those that are forwarded together are neighbours."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from saccade.engines.row_memory import RowMemory, Storage, Window
from saccade.engines.slot import DecodedSlots, PromptKey, Slot, order_of
from saccade.engines.states import RowState, joined
from saccade.models.recurrent import CarriedStates
from saccade.models.routing import Experts, RecordedRouting
from saccade.models.shared_prefix import SharedPrefix, shared_prefix
from saccade.models.vlm import VisionLanguageModel
from saccade.native import Kernels, NewTokens, SlotAttention

if TYPE_CHECKING:
    from saccade.engines.in_place import Kernel
    from saccade.engines.kept_graphs import KeptGraphs
    from saccade.engines.pages import PageMemory


class SlotCache:
    """Keys and values of all layers: on a CPU in rows, elsewhere in pages."""

    def __init__(
        self,
        *,
        layer_count: int,
        kv_heads: int,
        head_dim: int,
        dtype: torch.dtype,
        device: torch.device,
        expected_rows: int = 1,
        longest: int = 0,
        first_pages: int = 0,
        paged: bool | None = None,
        window: int = 0,
        attention_layers: Sequence[int] | None = None,
        heads: Sequence[tuple[int, int]] | None = None,
        in_place: "Kernel | None" = None,
    ) -> None:
        """``expected_rows`` and ``longest`` are how many rows, of how many tokens, are usual at most. ``window`` is
        that of sliding layers, where there are any.

        ``paged`` is None for what suits the device. ``attention_layers`` are the ``layer_count`` layers that have keys
        and values, where the model's others have a recurrent state. ``heads`` are those of each layer, and the numbers
        of a head, where layers differ. ``in_place`` reads pages where they lie.
        """
        self.slots: list[Slot] = []
        self.experts: Experts | None = None
        """Experts whose choices are kept beside keys and values; None keeps none."""
        self.has_states = attention_layers is not None
        """Whether slots keep the states of recurrent layers."""
        self._attention_layers = None if attention_layers is None else {at: i for i, at in enumerate(attention_layers)}
        self._device = device
        self._window = window
        self._decoded: dict[int, DecodedSlots] = {}
        """By the first slot; of the present storage."""
        self._rows: RowMemory | None = None
        self.pages: PageMemory | None = None
        """Where keys and values are, if they are not in rows."""
        self.kept: KeptGraphs | None = None
        """What has recorded decode steps of other batches on these pages."""
        is_paged = device.type != "cpu" if paged is None else paged
        if heads is not None:
            from saccade.engines.split_memory import SplitPages, SplitRows

            if is_paged:
                self.pages = SplitPages(heads, dtype, device, first_pages)
            else:
                self._rows = SplitRows(heads, dtype, expected_rows, longest)
        elif is_paged:
            from saccade.engines import pages

            self.pages = pages.PageMemory(layer_count, kv_heads, head_dim, dtype, device, first_pages)
            if in_place is not None:
                from saccade.engines.in_place import PAGE_IN_PLACE

                self.pages.page, self.pages.in_place = PAGE_IN_PLACE, in_place
        else:
            self._rows = RowMemory(layer_count, kv_heads, head_dim, dtype, expected_rows, longest)
        self.moves = not is_paged
        """Whether slots that are forwarded together have to lie together in memory, as torch sees rows."""

    @property
    def is_paged(self) -> bool:
        return self.pages is not None

    @property
    def page_count(self) -> int:
        """Pages of the pool; 0 of a cache in rows."""
        return 0 if self.pages is None else self.pages.page_count

    def take(self, wanted: Collection[PromptKey], kept: Collection[Slot] = ()) -> Slot:
        """A free slot; rather a new one than one that is ``kept`` or whose prompt is among the ``wanted``."""
        for slot in self.slots:
            if not slot.is_taken and (slot.prompt is None or slot.prompt.key not in wanted) and slot not in kept:
                self.take_beginning(slot, 0)
                return slot
        slot = Slot(index=len(self.slots), place=len(self.slots), is_taken=True)
        self.slots.append(slot)
        return slot

    def take_beginning(self, slot: Slot, length: int) -> None:
        """Takes a free slot with the first ``length`` tokens of its prompt."""
        state = slot.state_after(length) if self.has_states else None
        self._shorten(slot, length)
        slot.is_taken, slot.prompt, slot.state = True, None, state

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
        slot.is_taken, slot.state = False, None
        self._shorten(slot, 0 if slot.prompt is None else len(slot.prompt.key.ids))

    def drop_prompts(self, wanted: Collection[PromptKey]) -> None:
        """Gives up what free slots hold of prompts that are not among the ``wanted``."""
        for slot in self.slots:
            if not slot.is_taken and slot.prompt is not None and slot.prompt.key not in wanted:
                slot.prompt = None
                self._shorten(slot, 0)

    def _shorten(self, slot: Slot, length: int) -> None:
        """Keeps the first ``length`` tokens and gives up the memory of the others."""
        if self.pages is not None:
            self.pages.release(slot.place, length)
        elif self._rows is not None:
            self._rows.give_back(slot.place, length, slot.held)
        slot.length = slot.written = length
        if self.experts is not None:
            del slot.routed_experts[length * self.experts.token_bytes :]

    def count(self, slot: Slot, length: int) -> None:
        """Of what a forward has written after a slot's tokens, the first are kept: it holds ``length`` tokens now."""
        slot.length = length
        if self.experts is not None:
            del slot.routed_experts[length * self.experts.token_bytes :]

    def copy_prompt(self, source: Slot, targets: Sequence[Slot]) -> None:
        """Lets ``targets`` begin with the prompt of ``source``."""
        self.copy(source, targets, len(source.held_prompt.key.ids))
        for target in targets:
            target.prompt = source.prompt

    def copy(self, source: Slot, targets: Sequence[Slot], length: int, state: RowState | None = None) -> None:
        """Lets ``targets`` begin with the first ``length`` tokens of ``source``.

        ``state`` is that of recurrent layers after them, where ``source`` may not keep it any more.
        """
        if self.has_states and state is None:
            state = source.state_after(length)
        places = [target.place for target in targets]
        if self.pages is not None:
            self.pages.share(source.place, places, length)
        elif self._rows is not None:
            self.reserve(length)
            self._rows.copy(source.place, places, length)
        for target in targets:
            target.length = target.written = length
            target.state = state
            if self.experts is not None:
                target.routed_experts[:] = source.routed_experts[: length * self.experts.token_bytes]

    def recording(self) -> RecordedRouting | None:
        """What a forward is to record for ``keep_experts``."""
        return None if self.experts is None else RecordedRouting(self.experts)

    def keep_experts(self, first: int, lengths: Sequence[int], counts: Sequence[int], seen: RecordedRouting) -> None:
        """Keeps what a forward has chosen in the slots from ``first`` on, which held ``lengths`` tokens before it.

        ``counts`` are how many new tokens each slot keeps, where some are padding.
        """
        assert self.experts is not None
        each, rows = self.experts.token_bytes, seen.packed()
        width = len(rows) // len(lengths)
        for row, (slot, length, count) in enumerate(zip(self.slots[first:], lengths, counts)):
            slot.routed_experts[length * each :] = rows[row * width : row * width + count].tobytes()

    def arrange(self, decoding: Sequence[Slot], joining: Sequence[Slot]) -> None:
        """Puts ``decoding`` first, in any order, and ``joining`` behind them in theirs; the rest lies after both."""
        if not joining and all(slot.index < len(decoding) for slot in decoding):
            return
        self._move(order_of(self.slots, decoding, joining))

    def _move(self, order: list[Slot]) -> None:
        for index, slot in enumerate(order):
            slot.index = index
        self.slots = order
        moved = [slot for slot in order if self.moves and slot.place != slot.index]
        filled = [(slot.place, slot.index, slot.held) for slot in moved if slot.held]
        if filled and self._rows is not None:
            self.reserve(0)
            self._rows.move(filled)
        for slot in moved:
            slot.place = slot.index

    def window(self, first: int, lengths: Sequence[int], width: int, counts: Sequence[int] | None = None) -> Window:
        """The cache that a forward of ``width`` new tokens sees in the slots from ``first`` on.

        ``counts`` are how many of them each slot keeps, where some are padding.
        """
        prefix = self._prefix(first, len(lengths), max(lengths) + width)
        if self._rows is not None:
            self.reserve(max(lengths) + width, lengths, first)
            self._write(first, [length + width for length in lengths])
            window = self._rows.window(first, lengths, width, prefix)
        else:
            assert self.pages is not None
            places = self.places(first, len(lengths))
            window = self.pages.window(places, lengths, width, counts or [width] * len(lengths), prefix)
        return self._carrying(window, first, lengths, counts or [width] * len(lengths)) if self.has_states else window

    def _carrying(self, window: Window, first: int, lengths: Sequence[int], counts: Sequence[int]) -> Window:
        """The window with the states of its slots, which have those after it from here on."""
        slots = self.slots[first : first + len(lengths)]
        before = joined([slot.state_after(length) for slot, length in zip(slots, lengths)])
        states = CarriedStates(counts=tuple(counts), before=before)
        for row, (slot, length, count) in enumerate(zip(slots, lengths, counts)):
            slot.state = RowState(length + count, states.after, row)
        for slot in self.slots:
            # One that rests would keep the states of all that it was last forwarded with.
            if slot.state is not None and slot.state.layers is not states.after:
                slot.state = slot.state.alone()
        return replace(window, attention_layers=self._attention_layers, states=states)

    def places(self, first: int, count: int) -> list[int]:
        """Where in memory neighbouring slots are."""
        return [slot.place for slot in self.slots[first : first + count]]

    def _write(self, first: int, ends: Sequence[int]) -> None:
        for slot, end in zip(self.slots[first:], ends):
            slot.written = max(slot.written, end)

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
        storage = self.reserve(max(row.cached + row.added for row in rows), lengths, first)
        self._write(first, [row.cached + row.added for row in rows])
        return SlotAttention(storage, rows, kernels)

    def next_tokens(self, first: int, lengths: Sequence[int], counts: Sequence[int], kernels: Kernels) -> SlotAttention:
        """The same; where each slot is given one token, as by the last call, next to nothing is built."""
        if max(counts) > 1:
            return self.attention(first, lengths, counts, kernels)
        self.reserve(max(lengths) + 1, lengths, first)
        slots = self.slots[first : first + len(lengths)]
        begun = [*slots, *(slot.prompt for slot in slots)]
        before = self._decoded.get(first)
        if before is not None and before.goes_on(begun, lengths):
            before.lengths = lengths
            before.attention.advance()
            return before.attention
        attention = self.attention(first, lengths, [1] * len(lengths), kernels)
        self._decoded[first] = DecodedSlots(begun, lengths, attention)
        return attention

    def _prefix(self, first: int, count: int, total: int) -> SharedPrefix | None:
        """How neighbouring slots share the prompts that they begin with; only the CPU's attention makes use of it.

        None where the longest has so many tokens that a sliding layer no longer sees all of its prompt.
        """
        if self._device.type != "cpu" or 0 < self._window < total:
            return None
        prompts = [slot.prompt for slot in self.slots[first : first + count]]
        # By identity: a prompt is handed on from slot to slot, and hashing its ids in every step would cost more.
        return shared_prefix([None if prompt is None else (id(prompt), len(prompt.key.ids)) for prompt in prompts])

    def reserve(self, length: int, lengths: Sequence[int] = (), first: int = 0) -> Storage:
        """The storage of a cache in rows, with room for every slot and ``length`` tokens.

        The slots from ``first`` on hold ``lengths`` tokens, which stay where it has to be moved.
        """
        assert self._rows is not None
        storage = self._rows.holding(len(self.slots), length)
        if storage is None:
            # What looked at the storage that is given up is forgotten first: nothing else may keep it alive.
            self._decoded.clear()
            self._write(first, lengths)
            held = {slot.place: slot.held for slot in self.slots}
            storage = self._rows.grow(len(self.slots), length, [held[place] for place in range(len(held))])
        return storage


def empty_cache(
    model: VisionLanguageModel,
    *,
    rows: int,
    first_pages: int = 0,
    paged: bool | None = None,
    in_place: "Kernel | None" = None,
) -> SlotCache:
    """A cache for that many rows of one model's sequences."""
    heads = model.key_heads
    return SlotCache(
        layer_count=len(heads),
        attention_layers=model.attention_layers if model.recurrent_layers else None,
        kv_heads=heads[0][0],
        head_dim=heads[0][1],
        heads=heads if len(set(heads)) > 1 else None,
        dtype=model.dtype,
        device=model.device,
        expected_rows=rows,
        longest=model.longest_sequence,
        first_pages=first_pages,
        paged=paged,
        in_place=in_place,
        window=0 if model.mask_rule is None else model.mask_rule.window,
    )
