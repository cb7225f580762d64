"""One sequence's place among keys and values: the prompt that it begins with, what it holds, where it lies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import is_

from jaxtyping import Float
from torch import Tensor

from saccade.engines.states import RowState
from saccade.native import SlotAttention
from saccade.types import ImageRef


@dataclass(frozen=True, slots=True)
class PromptKey:
    """Prompt by content: two sequences with equal keys have equal keys and values in the cache."""

    ids: tuple[int, ...]
    images: tuple[ImageRef, ...]
    changes: int = 0
    """How often the weights had changed in the batch when it was forwarded."""


@dataclass(frozen=True, slots=True)
class PromptContent:
    """A prompt token by token."""

    tokens: tuple[int, ...]
    """Its ids, and at an image's placeholders what stands for the image."""
    image_spans: tuple[tuple[int, int], ...]
    """First and last placeholder of each image."""

    def cut(self, length: int) -> int:
        """So many tokens, or those before the image that would be cut."""
        return next((first for first, last in self.image_spans if first < length <= last), length)

    def images_before(self, length: int) -> int:
        """Images that lie in the first ``length`` tokens."""
        return sum(last < length for _, last in self.image_spans)


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """Beginning of a slot, and what the next token follows from."""

    key: PromptKey
    hidden: Float[Tensor, "hidden"]
    """The last hidden state."""
    position: int
    """The next token's."""
    content: PromptContent | None = None
    """Where other prompts may begin with a part of it."""
    states: Mapping[int, RowState] = field(default_factory=dict)
    """Of recurrent layers, after as many tokens: at its end, and where it went on otherwise than other prompts."""


@dataclass(eq=False, slots=True)
class Slot:
    """One sequence's place. A slot that was given back keeps its prompt until its place is needed."""

    index: int
    place: int
    """In memory; where a cache moves slots, it is the index."""
    is_taken: bool = False
    length: int = 0
    """Tokens whose keys and values are in the slot."""
    written: int = 0
    """Tokens that its memory has come to hold, with those of a forward that nobody has counted yet."""
    prompt: Prompt | None = None
    routed_experts: bytearray = field(default_factory=bytearray)
    """Experts of its tokens, where the cache keeps them."""
    state: RowState | None = None
    """Of recurrent layers, where the last forward has left them."""

    @property
    def held(self) -> int:
        """Tokens that a move must take along."""
        return max(self.length, self.written)

    @property
    def held_prompt(self) -> Prompt:
        if self.prompt is None:
            raise ValueError(f"slot {self.index} holds no prompt")
        return self.prompt

    def state_after(self, length: int) -> RowState | None:
        """Of recurrent layers after its first ``length`` tokens; None for none. ValueError where none is kept."""
        if not length:
            return None
        if self.state is not None and self.state.length == length:
            return self.state
        if self.prompt is None or length not in self.prompt.states:
            raise ValueError(f"slot {self.index} keeps no recurrent state after {length} tokens")
        return self.prompt.states[length]

    def kept_states(self) -> dict[int, RowState]:
        """Its present state by the tokens before it, for a prompt to keep; empty for a model without such layers."""
        return {} if self.state is None else {self.state.length: self.state.alone()}


def order_of(slots: Sequence[Slot], decoding: Sequence[Slot], joining: Sequence[Slot]) -> list[Slot]:
    """All slots with ``decoding`` first and ``joining`` behind them in their order; as few as can be are moved."""
    places: list[Slot | None] = [None] * len(slots)
    for slot in decoding:
        if slot.index < len(decoding):
            places[slot.index] = slot
    holes = (index for index in range(len(decoding)) if places[index] is None)
    for slot in decoding:
        if slot.index >= len(decoding):
            places[next(holes)] = slot
    places[len(decoding) : len(decoding) + len(joining)] = joining
    placed = {id(slot) for slot in places if slot is not None}
    others = [slot for slot in slots if id(slot) not in placed]
    displaced = []
    for slot in others:
        if places[slot.index] is None:
            places[slot.index] = slot
        else:
            displaced.append(slot)
    free = iter(displaced)
    return [slot if slot is not None else next(free) for slot in places]


@dataclass(slots=True)
class DecodedSlots:
    """How some slots were last given one token each."""

    slots: Sequence[object]
    """And their prompts."""
    lengths: Sequence[int]
    """Before that token."""
    attention: SlotAttention

    def goes_on(self, slots: Sequence[object], lengths: Sequence[int]) -> bool:
        are_grown = [length + 1 for length in self.lengths] == list(lengths)
        return are_grown and all(map(is_, self.slots, slots))
