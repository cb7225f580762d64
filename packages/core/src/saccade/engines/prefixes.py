"""Beginnings that prompts have in common, such as instructions: their keys and values are worked out once.

Prompts are compared by content, token by token, as in automatic prefix caching and in a radix tree (Zheng et al. 2024,
"SGLang", arXiv 2312.07104). What is held are the prompts of the batch's slots, of those in use and of those given back.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress, count, islice
from operator import ne

from saccade.engines.forward import Chunk, Forwards
from saccade.engines.slot import Prompt, PromptContent, PromptKey, Slot
from saccade.engines.slots import SlotCache
from saccade.engines.states import RowState
from saccade.models.vlm import VisionLanguageModel
from saccade.native import MANY_ROWS

_SHORTEST = MANY_ROWS
"""Tokens in common that are worth a copy."""
_OWN = MANY_ROWS
"""Tokens at the end of a prompt that are forwarded with it whatever is held: products of fewer rows are rounded
otherwise, and so native kernels give each token the keys and values that it has in a prompt forwarded whole."""
_WORTH_A_FORWARD, _WORTH_ONE_ON_A_GPU = 64, 1024
"""Tokens that a forward of its own must save. On a GPU a small one takes as long as one of hundreds of tokens."""


@dataclass(eq=False, kw_only=True, slots=True)
class NewPrompt:
    """A prompt that no slot holds as a whole, on its way into one."""

    key: PromptKey
    content: PromptContent
    source: Slot | None = None
    """Holds its first ``source_length`` tokens."""
    source_length: int = 0
    takes_source: bool = False
    """Whether it goes on in the very slot."""
    slot: Slot | None = None
    position: int = 0
    """Of the first token that its slot does not hold."""
    states: dict[int, RowState] = field(default_factory=dict)
    """Of recurrent layers, where others may go on from it."""
    fork: int = 0
    """Where it leaves a held prompt that keeps no state there: it keeps one for those that come."""

    @property
    def own_slot(self) -> Slot:
        if self.slot is None:
            raise ValueError(f"a prompt of {len(self.key.ids)} tokens has no slot yet")
        return self.slot

    @property
    def image_count(self) -> int:
        """Images whose tokens its slot holds."""
        return self.content.images_before(self.own_slot.length)

    def hold(self, length: int, position: int) -> None:
        """Its slot holds the first ``length`` tokens."""
        self.own_slot.length = self.own_slot.written = length
        self.position = position

    def chunk(self, end: int) -> Chunk:
        """The tokens before ``end`` that its slot does not hold."""
        start = self.own_slot.length
        images = self.key.images[self.content.images_before(start) : self.content.images_before(end)]
        return Chunk(ids=self.key.ids[start:end], images=images, cached=start, position=self.position)


class PrefixCache:
    """Finds what new prompts have in common with each other and with held ones, and fills their slots with it."""

    def __init__(self, model: VisionLanguageModel, cache: SlotCache, forwards: Forwards, *, is_on: bool) -> None:
        """Where it is not ``is_on`` no prompt holds anything before it is forwarded."""
        self._is_on = is_on
        self._model = model
        self._cache = cache
        self._forwards = forwards
        self._worth_a_forward = _WORTH_A_FORWARD if model.device.type == "cpu" else _WORTH_ONE_ON_A_GPU

    def new_prompts(self, keys: Iterable[PromptKey], wanted: Collection[PromptKey]) -> dict[PromptKey, NewPrompt]:
        """Each with the slot that holds most of its beginning.

        A free slot whose prompt is not among the ``wanted`` is taken over by the prompt that has most of it.
        """
        new = {key: NewPrompt(key=key, content=self._content(key)) for key in keys}
        best: dict[Slot, NewPrompt] = {}
        for prompt in new.values() if self._is_on else ():
            for slot in self._cache.slots:
                held = slot.prompt
                if held is None or held.content is None or held.key.changes != prompt.key.changes:
                    continue
                common = _usable(prompt.content, _alike(prompt.content, held.content))
                length = self._reusable(held, common)
                if length < common:
                    prompt.fork = max(prompt.fork, common)
                if length > prompt.source_length:
                    prompt.source, prompt.source_length = slot, length
                    prompt.states = {after: state for after, state in held.states.items() if after <= length}
            if prompt.source is not None:
                longest = best.setdefault(prompt.source, prompt)
                if prompt.source_length > longest.source_length:
                    best[prompt.source] = prompt
        for slot, prompt in best.items():
            prompt.takes_source = not slot.is_taken and slot.held_prompt.key not in wanted
        return new

    def _reusable(self, held: Prompt, length: int) -> int:
        """How many of its first ``length`` tokens can be begun with: recurrent states are there after some alone."""
        if not self._cache.has_states:
            return length
        return max((after for after in held.states if _SHORTEST <= after <= length), default=0)

    def place(self, prompt: NewPrompt, wanted: Collection[PromptKey], kept: Collection[Slot]) -> Slot:
        """The slot that it goes into; see ``SlotCache.take``."""
        if prompt.source is not None and prompt.takes_source:
            self._cache.take_beginning(prompt.source, prompt.source_length)
            prompt.slot = prompt.source
        else:
            prompt.slot = self._cache.take(wanted, kept)
        return prompt.slot

    def _content(self, key: PromptKey) -> PromptContent:
        if not key.images:
            return PromptContent(key.ids, ())
        tokens, spans = list(key.ids), []
        places = iter([place for place, token in enumerate(key.ids) if token == self._model.image_token_id])
        for image in key.images:
            of_image = list(islice(places, self._model.view.token_count(image)))
            for place in of_image:
                # Below 0, where no id is. The same frames at other times have other positions.
                tokens[place] = -int.from_bytes(f"{image.hash}{image.patch_seconds}".encode()) - 1
            spans.append((of_image[0], of_image[-1]))
        return PromptContent(tuple(tokens), tuple(spans))

    def fill(self, prompts: Sequence[NewPrompt], decoding: Sequence[Slot]) -> int:
        """Lets the slots of prompts hold what these have in common; returns how many tokens were forwarded for it.

        ``decoding`` are the slots that lie first.
        """
        for prompt in prompts:
            if prompt.source is not None:
                length = prompt.source_length
                if not prompt.takes_source:
                    self._cache.copy(prompt.source, [prompt.own_slot], length, prompt.states.get(length))
                before = prompt.key.ids[:length], prompt.key.images[: prompt.content.images_before(length)]
                prompt.hold(length, self._model.positions_from(*before, start=0)[1])
        forwarded = 0
        while groups := sorted(self._going_on_alike(prompts), key=_added, reverse=True):
            leaders = [(members[0], members[0].chunk(end)) for members, end in groups]
            self._cache.arrange(decoding, [leader.own_slot for leader, _ in leaders])
            extended = self._forwards.extend([chunk for _, chunk in leaders], first=len(decoding))
            for (members, end), (leader, chunk), reached in zip(groups, leaders, extended):
                kept = leader.own_slot.kept_states()
                self._cache.copy(leader.own_slot, [other.own_slot for other in members[1:]], end, kept.get(end))
                for member in members:
                    member.hold(end, reached.position)
                    member.states.update(kept)
                forwarded += len(chunk.ids)
        return forwarded

    def _going_on_alike(self, prompts: Sequence[NewPrompt]) -> Iterator[tuple[list[NewPrompt], int]]:
        """Prompts that hold as much as each other and go on alike, and up to which token."""
        groups: dict[tuple[int, tuple[int, ...]], list[NewPrompt]] = {}
        grouped: set[PromptKey] = set()
        for prompt in prompts if self._is_on else ():
            start, tokens = prompt.own_slot.length, prompt.content.tokens
            if _usable(prompt.content, len(tokens)) >= start + _SHORTEST:
                groups.setdefault((start, tokens[: start + _SHORTEST]), []).append(prompt)
        for (start, _), members in groups.items():
            contents = [member.content for member in members]
            # What the first and the last in order have in common all have.
            alike = _alike(min(contents, key=_tokens), max(contents, key=_tokens))
            end = min(_usable(content, alike) for content in contents)
            if end >= start + _SHORTEST and (len(members) - 1) * (end - start) >= self._worth_a_forward:
                grouped |= {member.key for member in members}
                yield members, end
        for prompt in prompts if self._is_on else ():
            if prompt.fork > prompt.own_slot.length and prompt.key not in grouped:
                yield [prompt], prompt.fork


def _added(group: tuple[Sequence[NewPrompt], int]) -> int:
    members, end = group
    return end - members[0].own_slot.length


def _tokens(content: PromptContent) -> tuple[int, ...]:
    return content.tokens


def _alike(one: PromptContent, other: PromptContent) -> int:
    """With how many tokens both begin."""
    differing = compress(count(), map(ne, one.tokens, other.tokens))
    return next(differing, min(len(one.tokens), len(other.tokens)))


def _usable(content: PromptContent, alike: int) -> int:
    """How many of the first ``alike`` tokens are taken over: whole images, and all but the prompt's own end."""
    length = content.cut(min(alike, len(content.tokens) - _OWN))
    return length if length >= _SHORTEST else 0
