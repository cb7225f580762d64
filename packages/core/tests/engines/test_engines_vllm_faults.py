"""What goes wrong at a vLLM server costs an answer, never a trajectory, and no token of unnamed weights is taken."""

import asyncio
import threading
from dataclasses import replace

import pytest
import torch
from vllm_samples import group_of

from saccade.engines.engine import EngineContext, EngineLostError, Sampling, ScoreRequest
from saccade.engines.vllm.engine import VllmEngine
from saccade.engines.vllm.settings import VllmSettings
from saccade.engines.vllm.wire import BadReplyError, generate_body, read_sampled, read_scores, rules_of
from saccade.errors import MachineError, SaccadeError, UserError
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.loading import LoadSettings
from saccade.testing.engine_check import gap_of, play
from saccade.testing.vllm_server import FakeVllm
from saccade.train.parity import ServedParity
from saccade.types import Message, VersionSpan

SAMPLINGS = [Sampling(seed=seed, max_tokens=4) for seed in range(3)]
IMPATIENT = 0.2


@pytest.fixture(scope="module")
def make_model(media):
    return lambda: tiny_model(["What is written there?"] * 9, media, size=TinySize(layers=1), vocab_size=400)


@pytest.fixture(scope="module")
def policy(make_model):
    return make_model()


@pytest.fixture
def server(make_model):
    with FakeVllm(make_model()) as server:
        yield server


@pytest.fixture
def pictures(picture):
    return [picture(number) for number in range(4)]


@pytest.fixture
def engine_at(policy):
    made = []

    def make(*servers, **settings):
        urls = tuple(one.url for one in servers)
        made.append(VllmEngine(EngineContext(model=policy, load=LoadSettings()), VllmSettings(urls=urls, **settings)))
        return made[-1]

    yield make
    for engine in made:
        asyncio.run(engine.aclose())


def test_a_picture_that_the_server_lost_is_sent_again(server, engine_at, policy, pictures):
    engine = engine_at(server)
    before = play(engine, policy, pictures, SAMPLINGS)
    server.held.clear()
    assert play(engine, policy, pictures, SAMPLINGS) == before
    assert len(server.pixels_received) == 8
    engine.reset()
    assert play(engine, policy, pictures, SAMPLINGS) == before


def test_a_server_that_ends_in_mid_batch_is_given_the_newest_weights_and_asked_again(
    server, engine_at, policy, pictures
):
    engine = engine_at(server)
    with torch.no_grad():
        policy.hf.get_input_embeddings().weight.mul_(1.2)
    engine.update_weights(policy, 1)
    expected = play(engine, policy, pictures, SAMPLINGS)
    answered = []

    def die_once(reply):
        answered.append(reply)
        if len(answered) == 6:
            server.is_down = True
            revival.start()
        return reply

    def revive():
        server.begin_anew()
        server.is_down = False

    revival = threading.Timer(0.3, revive)
    server.lies = die_once
    played = play(engine, policy, pictures, SAMPLINGS)
    revival.join()
    assert [said.ids for said in played] == [said.ids for said in expected]
    assert engine.lost_answers > 0
    assert max(gap_of(policy, said, 1.0) for said in played) < 1e-4


def test_weights_that_come_in_flight_sample_the_rest_of_a_turn_and_the_reply_says_which(
    make_model, server, engine_at, policy, pictures
):
    asked = policy.chat.prompt([Message(role="user", parts=(pictures[0], "What?"))])
    engine, long = engine_at(server), Sampling(seed=3, max_tokens=12)

    async def sample(*, with_weights=None):
        async with engine.sequences(["a"]) as [slot]:
            asking = asyncio.create_task(slot.sample(asked.ids, asked.images, long))
            if with_weights is not None:
                # As a loop does that learns in another thread, after sampling has begun with the weights before.
                await asyncio.to_thread(server.wait_for_the_waiting)
                await asyncio.to_thread(engine.update_weights, with_weights, 1)
            first = await asking
            return first, await slot.sample((*asked.ids, *first.ids), asked.images, replace(long, max_tokens=4))

    whole, _ = asyncio.run(sample())
    assert whole.versions == ()
    changed = make_model()
    with torch.no_grad():
        changed.hf.get_input_embeddings().weight.mul_(1.3)
    server.waits_at = 5
    engine.expect_weights(1)
    first, second = asyncio.run(sample(with_weights=changed))
    assert first.ids[:5] == whole.ids[:5]
    assert first.logprobs[:5] == whole.logprobs[:5]
    assert first.logprobs[5:] != whole.logprobs[5:]
    assert first.versions == (
        VersionSpan(version=0, start=0, end=5),
        VersionSpan(version=1, start=5, end=len(first.ids)),
    )
    assert second.versions == (VersionSpan(version=1, start=0, end=len(second.ids)),)
    assert "/pause?mode=keep&clear_cache=true" in server.posted
    assert (engine.policy_version, engine.lost_answers) == (1, 0)
    assert asyncio.run(sample())[0].versions == ()

    # Weights that nobody gave are refused in flight too.
    def by_others(reply):
        [choice] = reply["choices"]
        span = {"version": "w-other", "start": 0, "end": len(choice["token_ids"])}
        return {**reply, "choices": [{**choice, "weight_versions": [span]}]}

    server.lies = by_others
    engine.expect_weights(1)
    with pytest.raises(EngineLostError, match="sampled with weights w-other in place of w-000001"):
        asyncio.run(sample())
    # The batch is played anew, and the weights that come meanwhile are still for it.
    server.lies = lambda reply: reply
    engine.update_weights(policy, 2)
    assert engine.policy_version == 1
    again, _ = asyncio.run(sample())
    assert again.versions == (VersionSpan(version=2, start=0, end=len(again.ids)),)
    assert again.ids == whole.ids
    assert engine.policy_version == 2


def test_half_an_update_ends_the_server_and_is_never_sampled_with(server, engine_at, policy, pictures):
    engine = engine_at(server)
    server.fails_at = "/update_weights"
    engine.update_weights(policy, 1)
    assert server.ends == 1
    server.fails_at = ""
    played = play(engine, policy, pictures, SAMPLINGS)
    assert max(gap_of(policy, said, 1.0) for said in played) < 1e-4
    assert server.version.startswith("w-000001-")


def test_without_any_server_the_batch_is_lost_after_its_patience(server, engine_at, policy, pictures):
    engine = engine_at(server, patience_s=IMPATIENT)
    server.is_down = True
    with pytest.raises(EngineLostError, match=server.url):
        play(engine, policy, pictures, SAMPLINGS)


def test_another_replica_takes_over(make_model, server, engine_at, policy, pictures):
    with FakeVllm(make_model()) as second:
        engine = engine_at(server, second)
        expected = play(engine, policy, pictures, SAMPLINGS)
        assert "/inference/v1/generate" in second.posted
        second.is_down = True
        assert [said.ids for said in play(engine, policy, pictures, SAMPLINGS)] == [said.ids for said in expected]


def test_weights_of_a_stranger_are_not_sampled_with(server, engine_at, policy, pictures):
    engine = engine_at(server)

    def other(reply):
        [choice] = reply["choices"]
        return {**reply, "choices": [{**choice, "weight_versions": [{"version": "w-9", "start": 0, "end": 99}]}]}

    server.lies = other
    with pytest.raises(EngineLostError, match="sampled with weights w-9 in place of w-000000-"):
        play(engine, policy, pictures, SAMPLINGS)


def test_a_token_that_only_the_environment_may_write_is_no_answer(server, engine_at, policy, pictures):
    engine = engine_at(server)

    def forge(reply):
        [choice] = reply["choices"]
        ids = [policy.image_token_id, *choice["token_ids"][1:]]
        return {**reply, "choices": [{**choice, "token_ids": ids}]}

    server.lies = forge
    with pytest.raises(BadReplyError, match="which only an environment may write"):
        play(engine, policy, pictures, SAMPLINGS)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ([], "no choices"),
        ({"choices": [{"token_ids": [1, 2], "logprobs": {"content": [{"logprob": -1.0}]}}]}, "for each token"),
        ({"choices": [{"token_ids": [1], "logprobs": {"content": [{"logprob": -9999.0}]}}]}, "diverged"),
        ({"choices": [{"token_ids": [1], "logprobs": {"content": [{"logprob": -1.0}]}}]}, "with which weights"),
        ({"choices": [{"token_ids": ["1"], "logprobs": {"content": [{"logprob": -1.0}]}}]}, "whole number"),
    ],
)
def test_a_reply_that_breaks_the_interface_is_said_in_words(reply, words):
    with pytest.raises(BadReplyError, match=words):
        read_sampled(reply)


def test_scores_without_a_row_for_each_token_are_no_answer():
    with pytest.raises(BadReplyError, match="of the 3 tokens"):
        read_scores({"prompt_logprobs": [None]}, (1, 2, 3), 1)


def test_fewer_placeholders_than_images_are_found_before_anything_is_sent(policy, pictures):
    count = policy.view.token_count(pictures[0])
    ids = [policy.image_token_id] * (count - 1)
    with pytest.raises(ValueError, match="fewer placeholders"):
        generate_body(ids, pictures[:1], {}, rules_of(policy), counts=[count])


def test_what_vllm_cannot_do_is_refused(server, engine_at, policy):
    engine = engine_at(server)
    with pytest.raises(UserError, match="only at temperature 1"):
        asyncio.run(engine.score_batch([ScoreRequest(ids=(1, 2), images=(), start=1)], temperature=0.5))
    asyncio.run(engine.aclose())
    with pytest.raises(SaccadeError, match="closed"):
        play(engine, policy, [], [])


def test_another_program_at_the_address_is_named(server, engine_at, policy, pictures):
    engine = VllmEngine(
        EngineContext(model=policy, load=LoadSettings()), VllmSettings(urls=(f"{server.url}/elsewhere",))
    )
    with pytest.raises(UserError, match="no server that `saccade engine serve` started"):
        play(engine, policy, pictures, SAMPLINGS)
    asyncio.run(engine.aclose())


def test_a_server_that_keeps_its_old_weights_ends_the_run_after_the_first_update(
    make_model, server, engine_at, policy, pictures
):
    engine = engine_at(server)
    parity = ServedParity(engine, policy)
    parity.begin([group_of(said) for said in play(engine, policy, pictures, SAMPLINGS)])
    server.ignores_updates = True
    with torch.no_grad():
        policy.hf.get_input_embeddings().weight.mul_(1.2)
    engine.update_weights(policy, 1)
    with pytest.raises(MachineError, match=rf"after 1 updates .* on a text of the family .plates. at {server.url}"):
        parity.after_update()
