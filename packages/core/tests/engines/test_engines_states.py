"""Recurrent layers in the engine: each row has the state after its own last token, and nothing of another's."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from transformers import DynamicCache

from saccade.engines.engine import Completion, Sampling
from saccade.engines.local import LocalEngine
from saccade.engines.slots import SlotCache, empty_cache
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.attention import tree
from saccade.models.vlm import VisionLanguageModel
from saccade.types import Message, Observation, Tokens

LONG = "What is written on the red plate? " * 7


@pytest.fixture(scope="module")
def hybrid() -> VisionLanguageModel:
    return tiny_model([LONG] * 9, MediaStore(), family="qwen3_5", size=TinySize(layers=4), vocab_size=320, seed=3)


def asked(model: VisionLanguageModel, text: str) -> Tokens:
    return model.chat.prompt([Message(role="user", parts=(text,))])


def sampled(engine: LocalEngine, prompts: Sequence[Tokens], *, counts: Sequence[int]) -> list[Completion]:
    async def run() -> list[Completion]:
        async with engine.sequences([str(index) for index in range(len(prompts))]) as slots:

            async def one(index: int) -> Completion:
                sampling = Sampling(seed=index, max_tokens=counts[index])
                done = await slots[index].sample(prompts[index].ids, (), sampling)
                slots[index].close()
                return done

            return await asyncio.gather(*map(one, range(len(prompts))))

    return asyncio.run(run())


@torch.no_grad()
def plain(model: VisionLanguageModel, ids: Sequence[int], start: int) -> list[float]:
    """log p of ``ids[start:]``, by one forward of transformers' own module."""
    hidden = model.hidden(model.embed(torch.tensor([ids]), ()), model.positions(ids, ())[:, None])
    logprobs = model.logprob_logits(hidden[0, start - 1 : -1], 1.0).log_softmax(-1)
    return logprobs.gather(1, torch.tensor(ids[start:])[:, None])[:, 0].tolist()


@pytest.mark.parametrize("is_paged", [False, True])
def test_rows_of_many_lengths_go_on_from_their_own_last_token(hybrid: VisionLanguageModel, is_paged: bool) -> None:
    prompts = [asked(hybrid, text) for text in (LONG, "What?", LONG[:90], "plate " * 20)]
    done = sampled(LocalEngine(hybrid, paged=is_paged), prompts, counts=(3, 9, 6, 9))
    for prompt, said in zip(prompts, done):
        ids = (*prompt.ids, *said.ids)
        assert said.logprobs == pytest.approx(plain(hybrid, ids, len(prompt.ids)), abs=1e-4)


def test_what_a_neighbour_is_asked_changes_nothing(hybrid: VisionLanguageModel) -> None:
    ours = [asked(hybrid, "What?"), asked(hybrid, LONG[:90])]
    first, second = (
        sampled(LocalEngine(hybrid), [*ours, asked(hybrid, other)], counts=(9, 6, 3))[:2] for other in (LONG, "Look")
    )
    assert [one.ids for one in first] == [one.ids for one in second]
    for one, other in zip(first, second):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-5)


def test_a_slot_that_is_used_again_begins_without_a_state(hybrid: VisionLanguageModel) -> None:
    prompts = [asked(hybrid, text) for text in ("What is red?", "What is blue?", "Which?")]
    together = sampled(LocalEngine(hybrid, max_rows=1), prompts, counts=(5, 5, 5))
    for index, prompt in enumerate(prompts):
        counts = (5,) * (index + 1)
        alone = sampled(LocalEngine(hybrid), [prompt] * (index + 1), counts=counts)[index]
        assert together[index].ids == alone.ids
        assert together[index].logprobs == pytest.approx(alone.logprobs, abs=1e-5)


def test_a_new_context_in_the_same_trajectory_begins_without_a_state(hybrid: VisionLanguageModel) -> None:
    first, second = asked(hybrid, LONG), asked(hybrid, "Which one?")

    async def run() -> Completion:
        async with LocalEngine(hybrid).sequences(["a"]) as [slot]:
            await slot.sample(first.ids, (), Sampling(seed=1, max_tokens=4))
            return await slot.sample(second.ids, (), Sampling(seed=1, max_tokens=6, begins_anew=True))

    said = asyncio.run(run())
    assert said.logprobs == pytest.approx(plain(hybrid, (*second.ids, *said.ids), len(second.ids)), abs=1e-4)


def test_a_turn_after_a_rest_goes_on_from_where_it_was(hybrid: VisionLanguageModel) -> None:
    """One waits for its tool while the other decodes; both begin with one prompt."""
    prompt = asked(hybrid, LONG)

    async def run() -> list[tuple[tuple[int, ...], Completion]]:
        async with LocalEngine(hybrid).sequences(["a", "b"]) as slots:

            async def play(index: int) -> tuple[tuple[int, ...], Completion]:
                sampling = Sampling(seed=index, max_tokens=3 + 12 * index)
                first = await slots[index].sample(prompt.ids, (), sampling)
                seen = hybrid.chat.observation(Observation(text="Seen"), ends_with_eos=first.finish == "eos")
                ids = (*prompt.ids, *first.ids, *seen.ids)
                second = await slots[index].sample(ids, (), replace(sampling, max_tokens=9))
                slots[index].close()
                return ids, second

            return await asyncio.gather(play(0), play(1))

    for ids, said in asyncio.run(run()):
        assert said.logprobs == pytest.approx(plain(hybrid, (*ids, *said.ids), len(ids)), abs=1e-4)


def forwarded(model: VisionLanguageModel, cache: SlotCache, lengths: Sequence[int], width: int) -> None:
    window = cache.window(0, lengths, width)
    ids = torch.full((len(lengths), width), 100)
    places = (torch.tensor(lengths)[:, None] + torch.arange(width)).expand(3, -1, -1)
    model.hidden(model.embed(ids, ()), places, window.mask, window, prefix=window.prefix)
    for slot, length in zip(cache.slots, lengths):
        slot.length = length + width


@torch.no_grad()
def test_a_slot_that_rests_holds_no_state_but_its_own(hybrid: VisionLanguageModel) -> None:
    cache = empty_cache(hybrid, rows=3)
    slots = [cache.take(()) for _ in range(3)]
    forwarded(hybrid, cache, (0, 0, 0), 5)
    assert not any(slot.state.is_alone for slot in slots if slot.state)
    forwarded(hybrid, cache, (5, 5), 1)
    resting = slots[2].state
    assert resting is not None
    assert (resting.is_alone, resting.length) == (True, 5)
    cache.give_back(slots[2])
    assert slots[2].state is None
    with pytest.raises(ValueError, match="keeps no recurrent state after 5 tokens"):
        slots[2].state_after(5)


def test_only_layers_with_attention_take_memory_for_keys_and_values(hybrid: VisionLanguageModel) -> None:
    paged = empty_cache(hybrid, rows=1, paged=True).pages
    assert paged is not None
    assert paged.layer_count == len(hybrid.attention_layers) == 2
    assert hybrid.recurrent_layers == (0, 2)


@torch.no_grad()
@pytest.mark.parametrize("cuts", [(0, 100, 101, 102, 180, 230), (0, 1, 2, 3, 230), (0, 64, 128, 230)])
def test_transformers_goes_on_from_a_state_in_chunks_and_token_by_token(
    hybrid: VisionLanguageModel, cuts: Sequence[int]
) -> None:
    """What ours is compared with elsewhere, by its own cache."""
    ids, positions = torch.randint(0, 256, (2, 230)), torch.arange(230).expand(3, 2, -1)
    cache, parts = DynamicCache(config=hybrid.hf.config.text_config), []
    for start, stop in pairwise(cuts):
        embedded = hybrid.embed(ids[:, start:stop], ())
        parts.append(hybrid.hidden(embedded, positions[:, :, start:stop], None, cache))
    whole = hybrid.hidden(hybrid.embed(ids, ()), positions)
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, atol=2e-4, rtol=0)


@torch.no_grad()
def test_suffixes_without_a_prefix_begin_without_a_state(hybrid: VisionLanguageModel) -> None:
    ids = torch.randint(0, 256, (1, 33))
    positions = torch.cat([torch.arange(11)] * 3).expand(3, 1, -1)
    packed = hybrid.hidden(hybrid.embed(ids, ()), positions, packing=(tree(0, 0, (11, 11)), tree(22, 11, ())))
    alone = hybrid.hidden(hybrid.embed(ids.view(3, 11), ()), positions[:, :, :11].expand(3, 3, -1))
    torch.testing.assert_close(packed.view(3, 11, -1), alone, atol=1e-5, rtol=0)
