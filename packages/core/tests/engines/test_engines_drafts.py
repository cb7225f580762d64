"""Drafts: the tokens that would be sampled without them, in fewer steps, and what is guessed from which text."""

import asyncio
from dataclasses import replace

import pytest
import torch

from saccade.engines.drafts import Drafts
from saccade.engines.engine import Sampling
from saccade.engines.local import LocalEngine
from saccade.errors import UserError
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.batch_invariant import make_batch_invariant
from saccade.native.library import SWITCH
from saccade.train.rollouts import prefilled_by
from saccade.types import Message, Observation

FAMILIES = ["qwen2_5_vl", "qwen3_vl", "gemma3", "gemma4", "qwen3_vl_moe"]


def fluent(family, media):
    """A model that repeats itself now and then, as a trained one does."""
    size = TinySize(hidden=32, mlp=96, layers=2, vision_hidden=32, vision_mlp=48, deepstack=family.startswith("qwen3"))
    model = tiny_model(["What is on the red plate?"] * 9, media, family=family, size=size, vocab_size=320)
    with torch.no_grad():
        model.hf.lm_head.weight *= 3
    return model


@pytest.fixture(scope="module", params=FAMILIES)
def speaker(request, media):
    return fluent(request.param, media)


@pytest.fixture(scope="module")
def qwen(media):
    return fluent("qwen2_5_vl", media)


def played(engine, model, picture, sampling, rows=6):
    """Two turns with pictures of some rows, every other of which shares its prompt."""

    async def trajectory(slot, row):
        asked = model.chat.prompt([Message(role="user", parts=(picture(row % 2), "the red plate the red plate"))])
        own = replace(sampling, seed=row, temperature=(0.0, 0.6, 1.0)[row % 3])
        first = await slot.sample(asked.ids, asked.images, own)
        seen = model.chat.observation(Observation(text="Here", images=(picture(7),)), ends_with_eos=False)
        ids, images = (*asked.ids, *first.ids, *seen.ids), (*asked.images, *seen.images)
        turns = first, await slot.sample(ids, images, own)
        slot.close()
        return turns

    async def play():
        async with engine.sequences([str(row) for row in range(rows)]) as slots:
            return await asyncio.gather(*(trajectory(slot, row) for row, slot in enumerate(slots)))

    return [turn for turns in asyncio.run(play()) for turn in turns]


def assert_same(ours, theirs, *, within=1e-4):
    for one, other in zip(ours, theirs, strict=True):
        assert (one.ids, one.finish, one.routed_experts) == (other.ids, other.finish, other.routed_experts)
        assert one.logprobs == pytest.approx(other.logprobs, abs=within)


@pytest.mark.parametrize("paged", [False, True], ids=["rows", "pages"])
def test_drafts_change_no_token_and_spare_steps(speaker, picture, paged):
    sampling = Sampling(seed=0, max_tokens=40, records_experts=speaker.experts is not None)
    plain, drafting = (LocalEngine(speaker, paged=paged, drafts=drafts) for drafts in (0, 5))
    assert_same(played(drafting, speaker, picture, sampling), played(plain, speaker, picture, sampling))
    work = drafting.work
    assert 0 < work.drafts_accepted < work.tokens_drafted
    assert work.tokens_sampled == plain.work.tokens_sampled
    assert work.tokens_decoded - work.tokens_drafted == plain.work.tokens_decoded - work.drafts_accepted
    assert work.decode_steps < plain.work.decode_steps


def test_drafts_change_no_token_without_kernels(qwen, picture, monkeypatch):
    monkeypatch.setenv(SWITCH, "0")
    sampling = Sampling(seed=0, max_tokens=40, top_p=0.95)
    plain, drafting = (LocalEngine(qwen, drafts=drafts) for drafts in (0, 5))
    assert_same(played(drafting, qwen, picture, sampling), played(plain, qwen, picture, sampling))
    assert drafting.work.drafts_accepted


def test_a_turn_ends_in_the_middle_of_a_draft_where_it_would_end_without(qwen, picture):
    plain = LocalEngine(qwen)
    whole = played(plain, qwen, picture, Sampling(seed=0, max_tokens=40))
    ends = {qwen.tokenizer.decode(turn.ids[-3:]) for turn in whole if turn.finish == "length"}
    sampling = Sampling(seed=0, max_tokens=33, stop=tuple(ends))
    drafting = LocalEngine(qwen, drafts=8)
    ours = played(drafting, qwen, picture, sampling)
    assert_same(ours, played(plain, qwen, picture, sampling))
    assert {"stop", "length"} <= {turn.finish for turn in ours}
    assert drafting.work.drafts_accepted


def test_batch_invariant_models_give_the_same_bits_with_drafts(media, picture):
    model, sampling = fluent("qwen2_5_vl", media), Sampling(seed=0, max_tokens=24)
    make_batch_invariant(model)
    plain, drafting = LocalEngine(model), LocalEngine(model, drafts=5)
    assert_same(played(drafting, model, picture, sampling), played(plain, model, picture, sampling), within=0)
    assert drafting.work.drafts_accepted


def test_a_step_forwards_no_more_tokens_than_rows_are_allowed(qwen, picture):
    engine = LocalEngine(qwen, drafts=8, max_rows=8)
    played(engine, qwen, picture, Sampling(seed=0, max_tokens=40))
    assert engine.work.tokens_decoded <= 8 * engine.work.decode_steps
    assert engine.work.tokens_drafted


def test_what_was_written_in_a_batch_is_guessed_in_the_next_until_the_engine_is_reset(qwen, picture):
    engine, drafted = LocalEngine(qwen, drafts=5), []
    for is_new in (True, False, True):
        if is_new:
            engine.reset()
        played(engine, qwen, picture, Sampling(seed=0, max_tokens=40))
        drafted.append(prefilled_by(engine)["time/tokens_drafted"])
    assert drafted[0] == drafted[2] < drafted[1]
    assert sum(drafted) == engine.work.tokens_drafted


def test_models_with_recurrent_layers_are_refused(media):
    with pytest.raises(UserError, match=r"qwen3_5 has recurrent layers.*set model.engine.drafts=0"):
        LocalEngine(fluent("qwen3_5", media), drafts=4)


def made(*texts, longest=4, never=()):
    drafts = Drafts(longest, step_tokens=99, never=never)
    for text in texts:
        drafts.note(text, 0)
    return drafts


def test_a_draft_is_what_the_latest_text_went_on_with():
    own = [1, 2, 3, 4, 5, 6, 9, 1, 2, 3]
    assert made(own).after(own, 9) == [4, 5, 6]
    assert made(own, [7, 1, 2, 3, 8, 8]).after(own, 9) == [8, 8]
    assert made([7, 1, 2, 3, 8, 8], own).after([5, 2, 3], 9) == []


def test_a_draft_is_as_long_as_what_is_alike_before_it():
    own = [0, 9, 1, 2, 3, 4, 5, 6, 7, 9, 1, 2, 3]
    assert made(own).after(own, 9) == [4, 5, 6, 7]
    assert made(own, longest=9).after(own[1:], 9) == [4, 5, 6, 7]
    assert made(own).after([8, 1, 2, 3], 9) == [4, 5, 6]
    assert made(own).after(own, 2) == [4, 5]
    assert made(own).after(own, 0) == []


def test_no_draft_holds_an_end_or_a_picture():
    own = [1, 2, 3, 4, 5, 1, 2, 3]
    assert made(own, never={5}).after(own, 9) == [4]


def test_a_text_that_grows_is_noted_from_where_it_was_known():
    drafts, text = made(), [1, 2, 3, 4]
    known = drafts.note(text, 0)
    text += [1, 2, 3]
    assert drafts.note(text, known) == 7
    assert drafts.after(text, 9) == [4, 1, 2]
    drafts.clear()
    assert drafts.after(text, 9) == []
