"""The engine in a process of its own samples what the local one samples, and is replaced when it dies."""

import asyncio
import os
import signal

import pytest
import torch

from saccade.codec.codecs import PLAIN_CODEC
from saccade.engines.engine import EngineContext, EngineLostError, Sampling, candidates
from saccade.engines.local import LocalEngine
from saccade.engines.process import ProcessEngine
from saccade.engines.process_values import SampleHead
from saccade.errors import SaccadeError
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.loading import LoadSettings
from saccade.models.lora import LoraSettings, add_adapter
from saccade.native.kernels import native_kernels
from saccade.turn_ends import FencedActions
from saccade.types import Message

SAMPLINGS = [Sampling(seed=seed, max_tokens=8, temperature=0.9) for seed in range(4)]
QUESTION = "What is on the red plate?"


@pytest.fixture(scope="module")
def make_policy(media):
    return lambda: tiny_model([QUESTION] * 9, media, size=TinySize(layers=2), vocab_size=512)


@pytest.fixture(scope="module")
def policy(make_policy):
    return make_policy()


@pytest.fixture(scope="module")
def engine(policy):
    engine = ProcessEngine(EngineContext(model=policy, load=LoadSettings(device="cpu"), policy_version=3))
    yield engine
    asyncio.run(engine.aclose())


@pytest.fixture
def played(policy, picture):
    """Four trajectories of two turns with a picture in each, at some engine."""
    prompts = [policy.chat.prompt([Message(role="user", parts=(picture(number), QUESTION))]) for number in (1, 2)]

    async def play(slot, sampling):
        first = await slot.sample(prompts[0].ids, prompts[0].images, sampling)
        ids = (*prompts[0].ids, *first.ids, *prompts[1].ids)
        second = await slot.sample(ids, (*prompts[0].images, *prompts[1].images), sampling)
        slot.close()
        return first, second

    async def play_all(engine):
        async with engine.sequences([str(index) for index in range(len(SAMPLINGS))]) as slots:
            return await asyncio.gather(*(play(slot, sampling) for slot, sampling in zip(slots, SAMPLINGS)))

    return lambda engine: asyncio.run(play_all(engine))


async def opened(engine):
    async with engine.sequences(["a"]):
        pass


def test_it_samples_what_the_local_engine_samples(engine, policy, played):
    assert played(engine) == played(LocalEngine(policy))
    assert engine.policy_version == 3


def test_blocks_that_end_a_turn_reach_the_other_process():
    rule = FencedActions(languages=("python",), tags=("code",), tag="code", words=("a",))
    sampling = Sampling(seed=1, stop=("</code>",), fenced_actions=rule, opening="<think>")
    head = SampleHead(slot=0, images=(), sampling=sampling)
    assert PLAIN_CODEC.reader(SampleHead).from_json(PLAIN_CODEC.to_json(head), "the turn") == head


def test_it_scores_what_the_local_engine_scores(engine, policy, picture):
    tokens = policy.chat.prompt([Message(role="user", parts=(picture(1), QUESTION))])
    requests = candidates(tokens, [policy.chat.encode(text) for text in ("red", "a plate", "")])
    expected = asyncio.run(LocalEngine(policy).score_batch(requests, temperature=0.5))
    assert asyncio.run(engine.score_batch(requests, temperature=0.5)) == expected
    [score] = asyncio.run(engine.score_batch(requests[:1]))
    assert asyncio.run(engine.score(requests[0].ids, requests[0].images, requests[0].start)) == score


def test_errors_of_the_other_side_are_raised_here(engine, policy):
    async def without_its_image():
        async with engine.sequences(["a"]) as [slot]:
            await slot.sample((1, policy.image_token_id), (), Sampling(seed=0))

    with pytest.raises(ValueError, match="1 image tokens for 0 images"):
        asyncio.run(without_its_image())

    async def two_batches():
        async with engine.sequences(["a"]), engine.sequences(["b"]):
            pass

    with pytest.raises(SaccadeError, match="another batch is open"):
        asyncio.run(two_batches())

    async def new_weights_in_the_middle():
        async with engine.sequences(["a"]):
            engine.update_weights(policy, 7)

    with pytest.raises(SaccadeError, match="weights changed while"):
        asyncio.run(new_weights_in_the_middle())
    assert engine.policy_version == 3


@pytest.mark.usefixtures("warm_engines")
def test_a_killed_process_costs_its_batch_and_is_replaced_with_the_newest_weights(engine, make_policy, played):
    policy, first, unchanged = make_policy(), engine.process_id, played(engine)

    async def killed():
        async with engine.sequences(["a"]) as [slot]:
            os.kill(engine.process_id, signal.SIGKILL)
            await slot.sample((5, 6, 7), (), Sampling(seed=0))

    with pytest.raises(EngineLostError, match=f"process {first} was ended by SIGKILL"):
        asyncio.run(killed())
    with torch.no_grad():
        policy.hf.get_input_embeddings().weight.mul_(1.5)
    engine.update_weights(policy, 5)
    there = played(engine)
    assert there == played(LocalEngine(policy))
    assert there != unchanged
    with torch.no_grad():
        policy.hf.get_input_embeddings().weight.mul_(0.5)
    engine.update_weights(policy, 6)
    assert played(engine) == played(LocalEngine(policy))
    assert engine.process_id != first
    assert engine.policy_version == 6


@pytest.mark.usefixtures("warm_engines")
def test_an_adapter_is_sent_with_the_weights_and_a_process_that_cannot_load_says_why(make_policy, played, tmp_path):
    policy = make_policy()
    add_adapter(policy, LoraSettings(rank=2))
    with torch.no_grad():
        for name, weight in policy.hf.named_parameters():
            if ".lora_" in name:
                weight.normal_(generator=torch.Generator().manual_seed(1), std=0.1)
    engine = ProcessEngine(EngineContext(model=policy, load=LoadSettings(device="cpu")), folder=tmp_path)
    there, here = played(engine), played(LocalEngine(policy))
    assert [[turn.ids for turn in turns] for turns in there] == [[turn.ids for turn in turns] for turns in here]
    # Kernels sample from the same merged weights on both sides, modules from the adapter beside them here.
    assert there == here or native_kernels() is None
    assert here != played(LocalEngine(make_policy()))
    for path in tmp_path.glob("*/model/*"):
        path.unlink()
    os.kill(engine.process_id, signal.SIGKILL)
    # Answers when the end is known.
    engine.reset()
    with pytest.raises(EngineLostError, match=r"ended with status 1: .*config.json"):
        asyncio.run(opened(engine))
    asyncio.run(engine.aclose())
    asyncio.run(engine.aclose())
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(SaccadeError, match="closed"):
        asyncio.run(opened(engine))
