"""One decode step: rows leave, prompts are shared, chunks appended, and each row gets its next token."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from saccade.engines.forward import Chunk, forwards_for
from saccade.engines.local_sequence import LocalSequence, OpenTurn
from saccade.engines.prefixes import NewPrompt, PrefixCache
from saccade.engines.sampling import Draw, Drawn, TokenBytes, scoring_temperature
from saccade.engines.scheduler import StepPlan
from saccade.engines.slot import Prompt, PromptKey, Slot
from saccade.engines.slots import SlotCache
from saccade.errors import SaccadeError
from saccade.models.vlm import VisionLanguageModel
from saccade.native import FeatureCache
from saccade.types import Finish

if TYPE_CHECKING:
    from saccade.engines.drafts import Drafts


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineWork:
    """Work counted, so that tests and benchmarks can tell whether any was done twice."""

    prompts_prefilled: int = 0
    """Prompts that went through the model."""
    prompts_shared: int = 0
    """Trajectories that began from the keys and values of another with the same prompt."""
    turns_continued: int = 0
    """Turns that were appended to the keys and values of the turns before."""
    tokens_prefilled: int = 0
    """Tokens forwarded in chunks, without padding: prompts, and observations with the sampled token before them."""
    tokens_reused: int = 0
    """Tokens of prompts whose keys and values were another's: of whole prompts, and of what prompts begin with."""
    tokens_decoded: int = 0
    """Tokens forwarded after their prompts, one of each row at a time, and the drafts after them."""
    tokens_drafted: int = 0
    drafts_accepted: int = 0
    """Tokens of drafts that were sampled: each has spared its row a forward."""
    tokens_sampled: int = 0
    tokens_scored: int = 0
    """Tokens forwarded to score given texts; a prompt that several share counts once."""
    decode_steps: int = 0

    def plus(self, other: "EngineWork") -> "EngineWork":
        return EngineWork(
            prompts_prefilled=self.prompts_prefilled + other.prompts_prefilled,
            prompts_shared=self.prompts_shared + other.prompts_shared,
            turns_continued=self.turns_continued + other.turns_continued,
            tokens_prefilled=self.tokens_prefilled + other.tokens_prefilled,
            tokens_reused=self.tokens_reused + other.tokens_reused,
            tokens_decoded=self.tokens_decoded + other.tokens_decoded,
            tokens_drafted=self.tokens_drafted + other.tokens_drafted,
            drafts_accepted=self.drafts_accepted + other.drafts_accepted,
            tokens_sampled=self.tokens_sampled + other.tokens_sampled,
            tokens_scored=self.tokens_scored + other.tokens_scored,
            decode_steps=self.decode_steps + other.decode_steps,
        )


@dataclass(eq=False, kw_only=True, slots=True)
class _Row:
    """A sequence's place in the cache, and how far the cache has followed the sequence."""

    sequence: LocalSequence
    slot: Slot
    position: int = 0
    """Position of the first token that the slot does not hold."""
    image_count: int = 0
    """Images whose tokens the slot holds."""
    new: NewPrompt | None = None
    """Its prompt, until that is forwarded; None where another row had it forwarded."""
    noted: int = 0
    """Tokens that drafts may come from."""
    draft: list[int] = field(default_factory=list)
    """What was forwarded after the last token of the sequence."""

    def chunk(self) -> Chunk:
        """All tokens that the slot does not hold. Images never straddle its edge: only text is sampled."""
        return Chunk(
            ids=tuple(self.sequence.ids[self.slot.length :]),
            images=tuple(self.sequence.images[self.image_count :]),
            cached=self.slot.length,
            position=self.position,
        )

    def follow(self, position: int) -> None:
        """The slot now holds all of the sequence's tokens."""
        self.slot.length, self.position = len(self.sequence.ids), position
        self.image_count = len(self.sequence.images)


class Rows:
    """The rows of one batch of sequences. Callers switch gradients off."""

    def __init__(
        self,
        model: VisionLanguageModel,
        features: FeatureCache,
        token_bytes: TokenBytes,
        *,
        cache: SlotCache,
        expected: int,
        max_chunk_tokens: int,
        draw: Draw,
        prefix_caching: bool = True,
        drafts: "Drafts | None" = None,
    ) -> None:
        """``expected`` is how many rows there will be at once."""
        self.work = EngineWork()
        self._model = model
        self._draw = draw
        self._drafts = drafts
        self._token_bytes = token_bytes
        self._cache = cache
        self._forwards = forwards_for(
            model, features, self._cache, max_chunk_tokens=max_chunk_tokens, decoded_rows=expected
        )
        self._prefixes = PrefixCache(model, cache, self._forwards, is_on=prefix_caching)
        self._rows: dict[LocalSequence, _Row] = {}
        self._changes = 0

    def note_changed_weights(self) -> None:
        """The model has other weights from here on: rows go on, and no new one begins with a prompt of the old ones."""
        self._changes += 1
        self._forwards.note_changed_weights()

    def _prompt_key(self, sequence: LocalSequence) -> PromptKey:
        return PromptKey(tuple(sequence.ids), tuple(sequence.images), self._changes)

    @property
    def page_count(self) -> int:
        """Pages that the cache has come to; 0 for a cache in rows."""
        return self._cache.page_count

    def advance(self, plan: StepPlan) -> list[tuple[LocalSequence, Finish]]:
        """Gives each decoding and joining sequence its next token; returns the sequences whose turn ended by it."""
        for sequence in plan.leaving:
            if sequence in self._rows:
                self._cache.give_back(self._rows.pop(sequence).slot)
        if plan.is_short:
            self._cache.drop_prompts({self._prompt_key(sequence) for sequence in (*plan.joining, *plan.waiting)})
        self._begin_recording(plan.joining)
        decoding = [self._rows[sequence] for sequence in plan.decoding]
        chunked, shared = self._place_joining(plan, [row.slot for row in decoding])
        joining = [*chunked, *shared]
        self._cache.arrange([row.slot for row in decoding], [row.slot for row in joining])
        decoding.sort(key=lambda row: row.slot.index)
        hidden = self._decode(decoding)
        if joining:
            hidden += self._extend(chunked, first=len(decoding))
            hidden += self._share(shared)
        return self._sample([*decoding, *joining], torch.cat(hidden))

    def _begin_recording(self, joining: Sequence[LocalSequence]) -> None:
        """Keeps the experts of what is forwarded from here on where a turn asks for them."""
        if self._cache.experts is None and any(one.open_turn.sampling.records_experts for one in joining):
            if self._model.experts is None:
                raise SaccadeError(f"no routing can be recorded in {self._model.family.model_type}")
            self._cache.experts = self._model.experts

    def _place_joining(self, plan: StepPlan, decoding: Sequence[Slot]) -> tuple[list[_Row], list[_Row]]:
        """Rows that begin a turn with a chunk of their own, longest first, and those that begin with a held prompt."""
        chunked = [self._rows[sequence] for sequence in plan.joining if sequence in self._rows]
        arriving = {sequence: self._prompt_key(sequence) for sequence in plan.joining if sequence not in self._rows}
        shared: list[_Row] = []
        if arriving:
            wanted = {*arriving.values(), *(self._prompt_key(sequence) for sequence in plan.waiting)}
            unheld = [key for key in dict.fromkeys(arriving.values()) if self._cache.holder_of(key) is None]
            new = self._prefixes.new_prompts(unheld, wanted)
            kept = [prompt.source for prompt in new.values() if prompt.source is not None]
            for sequence, key in arriving.items():
                prompt = new.pop(key, None)
                if prompt is not None:
                    slot = self._prefixes.place(prompt, wanted, kept)
                else:
                    slot = self._cache.take_with_prompt(key) or self._cache.take(wanted, kept)
                self._rows[sequence] = _Row(sequence=sequence, slot=slot, new=prompt)
                (shared if prompt is None else chunked).append(self._rows[sequence])
            self._begin_alike(chunked, decoding)
        return sorted(chunked, key=lambda row: row.slot.length - len(row.sequence.ids)), shared

    def _begin_alike(self, rows: Sequence[_Row], decoding: Sequence[Slot]) -> None:
        """Lets new rows hold what their prompts have in common with each other and with held ones."""
        new = [(row, row.new) for row in rows if row.new is not None]
        forwarded = self._prefixes.fill([prompt for _, prompt in new], decoding)
        for row, prompt in new:
            row.position, row.image_count = prompt.position, prompt.image_count
        reused = sum(row.slot.length for row, _ in new) - forwarded
        self.work = self.work.plus(EngineWork(tokens_prefilled=forwarded, tokens_reused=reused))

    def _decode(self, rows: Sequence[_Row]) -> list[Float[Tensor, "tokens hidden"]]:
        """Of the last token of each row, and of the draft after it."""
        if not rows:
            return []
        drafted = 0 if self._drafts is None else self._make_drafts(rows, self._drafts)
        tokens, places, counts = [row.sequence.ids[-1] for row in rows], [row.position for row in rows], None
        if drafted:
            tokens = [token for last, row in zip(tokens, rows) for token in (last, *row.draft)]
            places = [row.position + step for row in rows for step in range(1 + len(row.draft))]
            counts = [1 + len(row.draft) for row in rows]
        hidden = self._forwards.decode(tokens, places, [row.slot.length for row in rows], counts)
        for row in rows:
            row.follow(row.position + 1)
        self.work = self.work.plus(EngineWork(tokens_decoded=len(hidden), tokens_drafted=drafted))
        return [hidden]

    def _make_drafts(self, rows: Sequence[_Row], drafts: "Drafts") -> int:
        """Tokens of the drafts of all rows, which the step has room for."""
        room = free = drafts.step_tokens - len(rows)
        for row in rows:
            turn = row.sequence.open_turn
            row.noted = drafts.note(row.sequence.ids, row.noted)
            row.draft = drafts.after(row.sequence.ids, min(free, turn.sampling.max_tokens - len(turn.ids) - 1))
            free -= len(row.draft)
        return room - free

    def _extend(self, rows: Sequence[_Row], *, first: int) -> list[Float[Tensor, "row=1 hidden"]]:
        chunks = [row.chunk() for row in rows]
        extended = self._forwards.extend(chunks, first=first)
        prompts = sum(row.new is not None for row in rows)
        for row, end in zip(rows, extended):
            if row.new is not None:
                key, content, states = row.new.key, row.new.content, row.new.states | row.slot.kept_states()
                row.slot.prompt = Prompt(
                    key=key, hidden=end.hidden, position=end.position, content=content, states=states
                )
                row.new = None
            row.follow(end.position)
        self.work = self.work.plus(
            EngineWork(
                prompts_prefilled=prompts,
                turns_continued=len(chunks) - prompts,
                tokens_prefilled=sum(len(chunk.ids) for chunk in chunks),
            )
        )
        return [end.hidden[None] for end in extended]

    def _share(self, rows: Sequence[_Row]) -> list[Float[Tensor, "row=1 hidden"]]:
        """Copies each row's prompt from a slot that holds it, unless its own slot still does."""
        targets: dict[int, list[Slot]] = {}
        for row in rows:
            if row.slot.prompt is None:
                targets.setdefault(self._holder_of(row).index, []).append(row.slot)
        for holder, slots in targets.items():
            self._cache.copy_prompt(self._cache.slots[holder], slots)
        for row in rows:
            row.follow(row.slot.held_prompt.position)
        reused = sum(row.slot.length for row in rows)
        self.work = self.work.plus(EngineWork(prompts_shared=len(rows), tokens_reused=reused))
        return [row.slot.held_prompt.hidden[None] for row in rows]

    def _holder_of(self, row: _Row) -> Slot:
        holder = self._cache.holder_of(self._prompt_key(row.sequence))
        if holder is None:
            raise ValueError(f"no slot holds the prompt of sequence {row.sequence.label!r}")
        return holder

    def _sample(
        self, rows: Sequence[_Row], hidden: Float[Tensor, "tokens hidden"]
    ) -> list[tuple[LocalSequence, Finish]]:
        """One token of each row, and one more after each token of its draft that was drawn."""
        turns, widths = [row.sequence.open_turn for row in rows], [1 + len(row.draft) for row in rows]
        samplings = [turn.sampling for turn, width in zip(turns, widths) for _ in range(width)]
        numbers = [row.sequence.next_uniform() for row, width in zip(rows, widths) for _ in range(width)]
        temperatures = [scoring_temperature(sampling) for sampling in samplings]
        drawn = self._draw(self._logits(hidden, temperatures), samplings, numbers)
        finished: list[tuple[LocalSequence, Finish]] = []
        start = accepted = 0
        for row, turn, width in zip(rows, turns, widths):
            finish = self._add(row.sequence, turn, drawn[start])
            if width > 1:
                more, finish = self._accept(row, turn, drawn[start : start + width], finish)
                row.sequence.return_uniforms(numbers[start + 1 + more : start + width])
                accepted += more
            start += width
            if finish is not None:
                finished.append((row.sequence, finish))
        self.work = self.work.plus(
            EngineWork(decode_steps=1, tokens_sampled=len(rows) + accepted, drafts_accepted=accepted)
        )
        for sequence, _ in finished:
            if sequence.open_turn.sampling.records_experts:
                sequence.open_turn.routed_experts = self._new_experts(self._rows[sequence])
        return finished

    def _accept(
        self, row: _Row, turn: OpenTurn, drawn: Sequence[Drawn], finish: Finish | None
    ) -> tuple[int, Finish | None]:
        """Adds what was drawn after a row's draft, as long as the draft is that, unless the turn ends before.

        How many tokens these are, and why the turn ends, if it does.
        """
        draft, count = row.draft, 0
        while finish is None and count < len(draft) and drawn[count].token == draft[count]:
            count += 1
            finish = self._add(row.sequence, turn, drawn[count])
        # The slot holds keys and values of the whole draft: what was not drawn is written over.
        self._cache.count(row.slot, row.slot.length + count)
        row.position += count
        row.draft = []
        return count, finish

    def _add(self, sequence: LocalSequence, turn: OpenTurn, draw: Drawn) -> Finish | None:
        """Why the turn ends with this token, if it does."""
        sequence.ids.append(draw.token)
        turn.note_first()
        turn.ids.append(draw.token)
        turn.logprobs.append(draw.logprob)
        if draw.token in self._model.end_ids:
            return "eos"
        if turn.stops.completes(self._token_bytes[draw.token]):
            return "stop"
        return "length" if len(turn.ids) >= turn.sampling.max_tokens else None

    def _new_experts(self, row: _Row) -> bytes:
        """Experts of the tokens that were forwarded since the last completion."""
        assert self._cache.experts is not None
        each, kept = self._cache.experts.token_bytes, row.slot.routed_experts
        if len(kept) != each * row.slot.length:
            raise SaccadeError("all turns of a batch must ask for the experts of their tokens, or none")
        begin, row.sequence.told = row.sequence.told, row.slot.length
        return bytes(kept[begin * each :])

    def _logits(
        self, hidden: Float[Tensor, "rows hidden"], temperatures: Sequence[float]
    ) -> Float[Tensor, "rows vocabulary"]:
        model, logits = self._model, self._forwards.logits(hidden)
        if len(set(temperatures)) == 1:
            return model.at_temperature(logits, temperatures[0])
        return torch.stack([model.at_temperature(row, temperature) for row, temperature in zip(logits, temperatures)])
