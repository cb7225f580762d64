"""What prompts begin alike with is forwarded once: the same tokens, whatever came before, and less work."""

import asyncio
import random

import pytest
import torch
from PIL import Image

from saccade.engines.engine import Sampling
from saccade.engines.local import LocalEngine
from saccade.engines.slot import PromptContent
from saccade.models.checkpoint import EngineSettings, LoadSettings
from saccade.native.library import SWITCH
from saccade.types import Message, Observation

SYSTEM = "You look closer with the tool and write what is on the plate. " * 6
OWN = 64
"""Tokens at the end of each prompt that are forwarded with it."""


@pytest.fixture
def asked(model):
    """A prompt of instructions and a question, whose parts are texts and pictures."""

    def make(*parts, system=SYSTEM):
        messages = [Message(role="system", parts=(system,)), Message(role="user", parts=parts)]
        return model.chat.prompt(messages)

    return make


async def one_turn(slot, tokens, sampling):
    try:
        return await slot.sample(tokens.ids, tokens.images, sampling)
    finally:
        slot.close()


def sample_all(engine, prompts, max_tokens=6):
    async def run():
        async with engine.sequences([str(index) for index in range(len(prompts))]) as slots:
            return await asyncio.gather(
                *(
                    one_turn(slot, tokens, Sampling(seed=index, max_tokens=max_tokens + index % 3))
                    for index, (slot, tokens) in enumerate(zip(slots, prompts))
                )
            )

    return asyncio.run(run())


def assert_alike(some, others):
    assert [one.ids for one in some] == [one.ids for one in others]
    for one, other in zip(some, others):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-5)


def alike(first, second):
    """With how many ids two prompts begin."""
    pairs = enumerate(zip(first.ids, second.ids))
    return next((index for index, (one, other) in pairs if one != other), min(len(first.ids), len(second.ids)))


def without(model, **limits):
    return LocalEngine(model, prefix_caching=False, **limits)


def test_instructions_are_forwarded_once_for_all_questions(model, picture, asked):
    prompts = [asked(picture(index), f"What is on plate number {index} of these?") for index in range(6)]
    engine, plain = LocalEngine(model), without(model)
    assert_alike(sample_all(engine, prompts), sample_all(plain, prompts))
    total = sum(len(prompt.ids) for prompt in prompts)
    shared = min(prompts[0].ids.index(model.image_token_id), *(len(prompt.ids) - OWN for prompt in prompts))
    assert shared > 64
    assert engine.work.tokens_prefilled + engine.work.tokens_reused == total == plain.work.tokens_prefilled
    assert engine.work.tokens_reused == 5 * shared
    assert engine.work.prompts_prefilled == plain.work.prompts_prefilled == 6
    assert engine.images_encoded == plain.images_encoded


@pytest.mark.parametrize("limits", [{}, {"max_rows": 1}, {"max_rows": 3}])
def test_native_kernels_give_a_shared_beginning_the_same_bytes(model, picture, asked, limits):
    prompts = [asked(picture(index % 5), "What is written? " * (1 + index % 4)) for index in range(10)]
    shared, alone = (sample_all(make(model, **limits), prompts) for make in (LocalEngine, without))
    assert_alike(shared, alone)
    assert shared == alone or model.recurrent_layers


@pytest.mark.parametrize("is_paged", [False, True])
@pytest.mark.parametrize("max_rows", [2, 128])
def test_modules_of_torch_sample_the_same_tokens_with_and_without(
    model, picture, asked, monkeypatch, is_paged, max_rows
):
    monkeypatch.setenv(SWITCH, "0")
    prompts = [asked(picture(index % 2), "What is written? " * (1 + index % 4)) for index in range(8)]
    limits = {"paged": is_paged, "max_rows": max_rows}
    engine = LocalEngine(model, **limits)
    assert_alike(sample_all(engine, prompts), sample_all(without(model, **limits), prompts))
    assert engine.work.tokens_reused > 7 * 64


def test_pictures_that_differ_in_one_pixel_share_what_stands_before_them(model, media, asked):
    image = Image.new("RGB", (96, 64), (90, 90, 200))
    first = media.add(image)
    image.putpixel((95, 63), (90, 90, 201))
    other = media.add(image)
    question = "What is on the plate? " * 8
    prompts = [asked(first, question), asked(other, question)]
    assert prompts[0].ids == prompts[1].ids
    engine = LocalEngine(model)
    assert_alike(sample_all(engine, prompts), sample_all(without(model), prompts))
    assert engine.work.tokens_reused == prompts[0].ids.index(model.image_token_id)
    again = [asked(first, question, "Which colour?"), asked(first, question, "Which form?")]
    engine = LocalEngine(model)
    assert_alike(sample_all(engine, again), sample_all(without(model), again))
    assert engine.images_encoded == 1
    assert engine.work.tokens_reused > again[0].ids.index(model.image_token_id) + len(question) // 8


def test_the_same_text_after_pictures_of_other_forms_stands_at_other_positions(model, media, asked):
    wide, high = (media.add(Image.new("RGB", size, (9, 9, 9))) for size in ((192, 64), (64, 192)))
    question = "What is on the plate? " * 8
    prompts = [asked(wide, question), asked(high, question)]
    engine = LocalEngine(model)
    assert_alike(sample_all(engine, prompts), sample_all(without(model), prompts))
    assert engine.work.tokens_reused == prompts[0].ids.index(model.image_token_id)


def test_shown_pictures_and_their_questions_are_a_beginning_like_any_other(model, picture, asked):
    """What follows a shared picture goes on at the position after it."""
    shown = (picture(1), "Here the plate says 250.", picture(2, 64, 64), "Here it says 900.", picture(1))
    prompts = [asked(*shown, f"And here? {word} " * 12, picture(4 + index)) for index, word in enumerate("abcd")]
    engine, plain = LocalEngine(model), without(model)
    assert_alike(sample_all(engine, prompts), sample_all(plain, prompts))
    assert engine.images_encoded == plain.images_encoded == 6
    assert engine.work.tokens_reused > 3 * alike(prompts[0], asked(*shown[:4]))


def test_a_picture_near_the_end_is_shared_whole_or_not_at_all(model, picture, asked):
    """The tokens that a prompt always forwards itself begin in the midst of its picture."""

    def is_cut(prompt):
        start = prompt.ids.index(model.image_token_id)
        return start < len(prompt.ids) - OWN < start + prompt.ids.count(model.image_token_id)

    lengths = range(1, 40)
    more = next(count for count in lengths if is_cut(asked(picture(3), "on " * count, "Red?")))
    prompts = [asked(picture(3), "on " * more, question) for question in ("Red?", "Not?", "Did?")]
    engine = LocalEngine(model)
    assert_alike(sample_all(engine, prompts), sample_all(without(model), prompts))
    assert engine.work.tokens_reused == 2 * prompts[0].ids.index(model.image_token_id)


def test_beginnings_within_beginnings_are_forwarded_once_each(model, picture, asked):
    """Instructions for all, below them a long text for some: a tree."""
    texts = [f"{word} says the plate. " * 20 for word in ("red", "blue", "green")]
    prompts = [asked(text, f"Question {index}? " * 8) for text in texts for index in range(3)]
    prompts.insert(4, asked("Short?", system="Something else. " * 20))
    engine = LocalEngine(model)
    assert_alike(sample_all(engine, prompts), sample_all(without(model), prompts))
    deepest = alike(prompts[0], prompts[1])
    assert engine.work.tokens_reused >= 6 * (deepest - 8) + 2 * 64


def test_groups_share_their_whole_prompt_and_all_groups_the_instructions(model, picture, asked):
    questions = [asked(picture(index), f"What is on plate number {index}? " * 4) for index in range(3)]
    prompts = [one for one in questions for _ in range(4)]
    engine = LocalEngine(model)
    assert_alike(sample_all(engine, prompts), sample_all(without(model), prompts))
    assert (engine.work.prompts_prefilled, engine.work.prompts_shared) == (3, 9)
    assert engine.work.tokens_prefilled + engine.work.tokens_reused == sum(len(one.ids) for one in prompts)
    assert engine.work.tokens_prefilled < sum(len(one.ids) for one in questions) - 2 * 64


@pytest.mark.parametrize("is_paged", [False, True])
def test_turns_go_on_after_a_shared_beginning(model, picture, asked, is_paged):
    prompts = [asked(picture(index), f"What is on plate number {index}? " * 4) for index in range(5)]

    async def two_turns(slot, index):
        tokens, sampling = prompts[index], Sampling(seed=index, max_tokens=4 + index)
        first = await slot.sample(tokens.ids, tokens.images, sampling)
        seen = Observation(text="Seen " * index, images=(picture(9 + index),))
        suffix = model.chat.observation(seen, ends_with_eos=first.finish == "eos")
        second = await slot.sample((*tokens.ids, *first.ids, *suffix.ids), (*tokens.images, *suffix.images), sampling)
        slot.close()
        return first, second

    async def run(engine):
        async with engine.sequences(list("abcde")) as slots:
            return await asyncio.gather(*(two_turns(slot, index) for index, slot in enumerate(slots)))

    engine = LocalEngine(model, paged=is_paged, max_rows=3)
    both, plain = asyncio.run(run(engine)), asyncio.run(run(without(model, paged=is_paged, max_rows=3)))
    for turn in (0, 1):
        assert_alike([one[turn] for one in both], [one[turn] for one in plain])
    assert engine.work.tokens_reused > 4 * 64


def test_nothing_is_taken_over_from_a_batch_that_has_ended(model, twin, asked):
    """Between two batches weights may change: by a step of training, by an adapter, by loading."""
    model, tokens = twin(model), asked("What is on the plate? " * 8)
    engine = LocalEngine(model)
    before = sample_all(engine, [tokens])
    with torch.no_grad():
        model.hf.get_input_embeddings().weight.mul_(1.5)
    engine.update_weights(model, 1)
    after = sample_all(engine, [tokens])
    assert after != before
    assert after == sample_all(without(model), [tokens])
    assert engine.work.tokens_reused == 0


def test_a_prompt_begins_with_nothing_of_the_weights_before_a_change_in_the_midst_of_a_batch(model, twin, asked):
    changed = twin(model)
    with torch.no_grad():
        changed.hf.get_input_embeddings().weight.mul_(1.5)
    prompts = [asked(f"What is on plate number {index}? " * 8) for index in range(3)]

    async def run(engine):
        engine.expect_weights(4)
        engine.update_weights(changed, 1)
        async with engine.sequences(list("abc")) as slots:
            lengths = (8, 2, 5)
            return await asyncio.gather(
                *(
                    one_turn(slot, tokens, Sampling(seed=1, max_tokens=count))
                    for slot, tokens, count in zip(slots, prompts, lengths)
                )
            )

    def engine(**how):
        return LocalEngine(twin(model), max_rows=2, **how)

    sharing = engine()
    assert_alike(asyncio.run(run(sharing)), asyncio.run(run(engine(prefix_caching=False))))
    # The first two begin together with the old weights; the third begins when the new ones are there.
    assert sharing.work.tokens_reused < alike(prompts[0], prompts[1]) + 1


@pytest.mark.parametrize("is_paged", [False, True])
def test_a_row_that_is_given_back_or_cancelled_leaves_its_beginning_to_others(model, asked, is_paged):
    prompts = [asked(f"What is on plate number {index}? " * 8) for index in range(4)]
    engine = LocalEngine(model, max_rows=2, paged=is_paged)

    async def run():
        async with engine.open_batch() as batch:
            leaving = batch.join("leaves")
            cancelled = asyncio.ensure_future(one_turn(leaving, prompts[0], Sampling(seed=9, max_tokens=500)))
            while len(leaving.ids) < len(prompts[0].ids) + 3:
                await asyncio.sleep(0)
            cancelled.cancel()
            done = []
            for index, tokens in enumerate(prompts[1:], start=1):
                done.append(await one_turn(batch.join(str(index)), tokens, Sampling(seed=index, max_tokens=6)))
            return done

    done = asyncio.run(asyncio.wait_for(run(), 60))
    for index, one in enumerate(done, start=1):
        [alone] = sample_with_seed(without(model), prompts[index], index)
        assert_alike([one], [alone])
    assert engine.work.tokens_reused > 3 * 64


def sample_with_seed(engine, tokens, seed):
    async def run():
        async with engine.sequences(["alone"]) as [slot]:
            return [await one_turn(slot, tokens, Sampling(seed=seed, max_tokens=6))]

    return asyncio.run(run())


@pytest.mark.parametrize("is_paged", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_whatever_comes_and_goes_the_tokens_are_those_of_a_trajectory_alone(model, picture, asked, is_paged, seed):
    """Prompts that are cut out of others, prolonged, repeated and mixed, in few rows."""
    chance = random.Random(seed)
    systems = [SYSTEM, SYSTEM[:200], "Another way to ask. " * 12]
    prompts = [
        asked(
            *(chance.choice([picture(1), picture(2), "Look closer. " * chance.randint(1, 20)]) for _ in range(3)),
            "What is it? " * chance.randint(1, 12),
            system=chance.choice(systems),
        )
        for _ in range(10)
    ]
    prompts += chance.sample(prompts, 4)
    limits = {"max_rows": chance.randint(1, 4), "paged": is_paged, "cache_tokens": chance.choice([None, 900])}
    engine = LocalEngine(model, **limits)
    assert_alike(sample_all(engine, prompts, max_tokens=3), sample_all(without(model, **limits), prompts, max_tokens=3))
    assert engine.work.tokens_prefilled + engine.work.tokens_reused == sum(len(one.ids) for one in prompts)


def test_kept_beginnings_take_no_more_pages_than_prompts_that_share_nothing(model, asked):
    """One slot for each row, however many prompts there were; whole pages of a beginning are there once."""
    prompts = [asked(f"What is on plate number {index}? " * 12) for index in range(12)]
    pages = {}
    for is_on in (False, True):
        engine = LocalEngine(model, max_rows=3, paged=True, prefix_caching=is_on)

        async def run(engine=engine):
            async with engine.sequences([str(index) for index in range(12)]) as slots:
                turns = [one_turn(*each, Sampling(seed=1, max_tokens=2)) for each in zip(slots, prompts)]
                done = await asyncio.gather(*turns)
                cache = engine._rows._cache
                return done, len(cache.slots), sum(uses > 0 for uses in cache.pages._uses)

        _, slots, pages[is_on] = asyncio.run(run())
        assert slots == 3
    assert pages[True] <= pages[False]


def test_the_setting_switches_it_off(model, asked):
    from saccade.engines.engine import EngineContext
    from saccade.engines.local import local_engine

    prompts = [asked(f"What is on plate number {index}? " * 8) for index in range(3)]
    reused = []
    for is_on in (True, False):
        load = LoadSettings(device="cpu", engine=EngineSettings(prefix_caching=is_on))
        engine = local_engine(EngineContext(model=model, load=load))
        sample_all(engine, prompts)
        reused.append(engine.work.tokens_reused)
    assert reused[0] > 2 * 64
    assert reused[1] == 0


def test_a_beginning_never_ends_within_a_picture():
    content = PromptContent(tuple(range(20)), ((4, 9), (12, 12)))
    assert [content.cut(length) for length in (4, 5, 9, 10, 12, 13)] == [4, 4, 4, 10, 12, 13]
    assert [content.images_before(length) for length in (4, 9, 10, 12, 13)] == [0, 0, 1, 1, 2]
