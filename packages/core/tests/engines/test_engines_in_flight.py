"""Weights that change in the midst of a batch: which tokens they sample, on which keys and values, always the same."""

import asyncio
import os
import signal
from dataclasses import replace

import pytest
import torch
from transformers import DynamicCache

from saccade.engines.engine import EngineContext, EngineLostError, Sampling
from saccade.engines.local import LocalEngine
from saccade.engines.process import ProcessEngine
from saccade.errors import SaccadeError
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.loading import LoadSettings
from saccade.models.weights_by_name import load_weights
from saccade.types import Message, VersionSpan

pytestmark = pytest.mark.usefixtures("warm_engines")

SAMPLINGS = [Sampling(seed=seed, max_tokens=8) for seed in range(4)]
QUESTION = "What is on the red plate?"
STEPS = 5


@pytest.fixture
def old(model, twin):
    return twin(model)


@pytest.fixture
def new(model, twin):
    """What a step of learning made of it, and more of one than any real step would."""
    changed = twin(model)
    with torch.no_grad():
        for weight in changed.hf.parameters():
            weight.mul_(1 + 0.3 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(1)))
    return changed


async def play_all(engine, prompts, shown, given=None):
    """Two turns of each, with an observation between them; ``given`` are weights that come while the batch is open."""

    async def play(slot, prompt, sampling):
        first = await slot.sample(prompt.ids, prompt.images, sampling)
        ids = (*prompt.ids, *first.ids, *shown.ids)
        second = await slot.sample(ids, (*prompt.images, *shown.images), sampling)
        slot.close()
        return first, second

    async with engine.sequences([str(index) for index in range(len(prompts))]) as slots:
        playing = asyncio.gather(*(play(slot, prompt, one) for slot, prompt, one in zip(slots, prompts, SAMPLINGS)))
        if given is not None:
            # Until nothing moves but by them.
            for _ in range(50):
                await asyncio.sleep(0)
            engine.update_weights(given, engine.policy_version + 1)
        return await playing


def expecting(model, after_steps, **limits):
    engine = LocalEngine(model, policy_version=7, **limits)
    engine.expect_weights(after_steps)
    return engine


@pytest.mark.parametrize("is_early", [True, False])
def test_tokens_before_the_change_are_the_old_weights_and_the_batch_is_the_same_whenever_they_come(
    is_early, old, new, twin, prompt, picture
):
    prompts = [prompt(QUESTION, picture(number)) for number in (1, 1, 2, 3)]
    shown = prompt("Here it is.", picture(4))
    before = asyncio.run(play_all(LocalEngine(twin(old)), prompts, shown))
    engine = expecting(twin(old), STEPS)
    if is_early:
        engine.update_weights(new, 8)
    played = asyncio.run(play_all(engine, prompts, shown, given=None if is_early else new))
    assert played == asyncio.run(play_all(expecting(twin(old), STEPS), prompts, shown, given=new))
    for (first, second), (unchanged, _) in zip(played, before, strict=True):
        assert first.ids[:STEPS] == unchanged.ids[:STEPS]
        assert first.logprobs[:STEPS] == unchanged.logprobs[:STEPS]
        assert first.versions == tuple(
            span
            for span in (VersionSpan(version=7, start=0, end=STEPS), VersionSpan(version=8, start=STEPS, end=8))
            if len(first.ids) > span.start
        )
        assert second.versions == (VersionSpan(version=8, start=0, end=len(second.ids)),)
    assert any(first.logprobs != unchanged.logprobs for (first, _), (unchanged, _) in zip(played, before))
    assert engine.policy_version == 8


@torch.no_grad()
def test_tokens_after_the_change_are_scored_by_the_new_weights_on_keys_and_values_of_the_old(old, new, twin, prompt):
    start = prompt(QUESTION)
    engine = expecting(twin(old), STEPS)
    engine.update_weights(new, 8)

    async def sample():
        async with engine.sequences(["a"]) as [slot]:
            return await slot.sample(start.ids, (), replace(SAMPLINGS[0], max_tokens=20))

    said = asyncio.run(sample())
    assert len(said.ids) > STEPS
    ids = (*start.ids, *said.ids)
    # The last token before the change is forwarded after it.
    cut = len(start.ids) + STEPS - 1
    cache, scores = DynamicCache(config=old.hf.config.text_config), []
    for policy, begin, end in ((old, 0, cut), (new, cut, len(ids))):
        positions = torch.arange(begin, end).expand(3, 1, -1)
        hidden = policy.hidden(policy.embed(torch.tensor([ids[begin:end]]), ()), positions, None, cache)
        scores.append(policy.logprob_logits(hidden[0], 1.0).log_softmax(-1))
    predicted = torch.cat(scores)[len(start.ids) - 1 : -1]
    expected = predicted.gather(1, torch.tensor(said.ids)[:, None])[:, 0].tolist()
    assert said.logprobs == pytest.approx(expected, abs=1e-4)


def test_who_begins_after_the_change_begins_with_the_new_weights_alone(old, new, twin, prompt, picture):
    asked = prompt(QUESTION, picture(1))
    shown = prompt("Here it is.", picture(4))
    # The only row is never free before the change: the second trajectory finds its own prompt there, of old weights.
    engine = expecting(twin(old), STEPS, max_rows=1)
    engine.update_weights(new, 8)
    _, late = asyncio.run(play_all(engine, [asked, asked], shown))
    fresh = LocalEngine(twin(new), max_rows=1)
    _, expected = asyncio.run(play_all(fresh, [asked, asked], shown))
    assert [turn.ids for turn in late] == [turn.ids for turn in expected]
    for turn, other in zip(late, expected):
        assert turn.logprobs == pytest.approx(other.logprobs, abs=1e-5)
        assert turn.versions == (VersionSpan(version=8, start=0, end=len(turn.ids)),)


def test_a_batch_that_ends_before_the_change_leaves_it_to_the_next(old, new, twin, prompt, picture):
    prompts, shown = [prompt(QUESTION, picture(number)) for number in (1, 2)], prompt("Here.", picture(4))
    before = asyncio.run(play_all(LocalEngine(twin(old)), prompts, shown))
    after = asyncio.run(play_all(LocalEngine(twin(new)), prompts, shown))
    engine = expecting(twin(old), 1000)
    engine.update_weights(new, 8)
    with pytest.raises(SaccadeError, match="weights changed while"):
        engine.update_weights(old, 9)
    played = asyncio.run(play_all(engine, prompts, shown))
    assert [turn.logprobs for turns in played for turn in turns] == [turn.logprobs for one in before for turn in one]
    assert {span.version for turns in played for turn in turns for span in turn.versions} == {7}
    assert engine.policy_version == 8
    assert asyncio.run(play_all(engine, prompts, shown)) == after


@pytest.fixture(scope="module")
def make_policy(media):
    return lambda: tiny_model([QUESTION] * 9, media, size=TinySize(layers=2), vocab_size=512)


def test_in_a_process_of_its_own_and_when_that_is_killed_the_batch_has_the_same_bytes(make_policy, picture):
    old, new = make_policy(), make_policy()
    with torch.no_grad():
        new.hf.get_input_embeddings().weight.mul_(1.5)
    message = [Message(role="user", parts=(picture(1), QUESTION))]
    prompts, shown = [old.chat.prompt(message)] * 2, old.chat.prompt([Message(role="user", parts=(picture(2), "So"))])
    here = make_policy()
    load_weights(here, ((name, weight.clone()) for name, weight in old.named_weights()))
    expected = asyncio.run(play_all(expecting(here, STEPS), prompts, shown, given=new))
    engine = ProcessEngine(EngineContext(model=old, load=LoadSettings(device="cpu"), policy_version=7))

    async def killed():
        async with engine.sequences(["a"]) as [slot]:
            engine.update_weights(new, 8)
            os.kill(engine.process_id, signal.SIGKILL)
            await slot.sample(shown.ids, shown.images, SAMPLINGS[0])

    try:
        engine.expect_weights(STEPS)
        with pytest.raises(EngineLostError, match="SIGKILL"):
            asyncio.run(killed())
        assert engine.policy_version == 7
        assert asyncio.run(play_all(engine, prompts, shown)) == expected
        assert engine.policy_version == 8
        assert asyncio.run(play_all(engine, prompts, shown)) == asyncio.run(play_all(LocalEngine(new), prompts, shown))
    finally:
        asyncio.run(engine.aclose())
