"""vLLM itself as an engine: ``make test-vllm``, or SACCADE_VLLM_PYTHON=PYTHON pytest -m vllm. Skipped without it."""

import asyncio
import os
import signal
import threading
from collections import Counter

import httpx2
import psutil
import pytest
import torch
from scipy.stats import chi2
from vllm_samples import group_of

from saccade.chat.chat_model import ChatServerSettings, connect
from saccade.engines.engine import EngineContext, Sampling
from saccade.engines.vllm.engine import VllmEngine
from saccade.engines.vllm.settings import PYTHON_VARIABLE, VllmSettings
from saccade.errors import MachineError
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.loading import LoadSettings
from saccade.testing.engine_check import check_engine, gap_of, play
from saccade.train.parity import ServedParity
from saccade.types import Message

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.skipif(not os.environ.get(PYTHON_VARIABLE), reason=f"{PYTHON_VARIABLE} names no environment with vLLM"),
]

BOUND = 1e-4
TEXTS = ["What is written there? It is too small to read.", "<answer>rows</answer>"] * 9
FAMILIES = ["qwen3_vl", "qwen2_5_vl", "internvl"]


@pytest.fixture(scope="module", params=FAMILIES)
def policy(request, media):
    # Heads of 32, for vLLM's CPU build has no smaller ones.
    size = TinySize(layers=2, heads=2, kv_heads=1, deepstack=request.param == "qwen3_vl", max_tiles=3)
    return tiny_model(TEXTS, media, family=request.param, size=size, vocab_size=512)


@pytest.fixture(scope="module")
def engine(policy):
    engine = VllmEngine(
        EngineContext(model=policy, load=LoadSettings(), policy_version=3),
        VllmSettings(kv_cache_mib=128, max_model_len=4096),
    )
    yield engine
    asyncio.run(engine.aclose())


@pytest.fixture
def pictures(picture):
    return [picture(number, 64 + 16 * number, 64) for number in range(4)]


def change(policy, seed):
    chance = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in policy.hf.parameters():
            weight.add_(torch.randn(weight.shape, generator=chance) * 0.05)


def test_it_conforms(engine, policy, pictures):
    gap = check_engine(engine, policy, pictures, bound=BOUND, max_tokens=24)
    assert engine.policy_version == 3
    assert engine.lost_answers == 0
    print(f"{policy.family.model_type}: {gap:.2g} nats")


def test_an_update_is_exact(engine, policy, pictures):
    before = play(engine, policy, pictures, [Sampling(seed=1, max_tokens=8)])
    change(policy, 1)
    engine.update_weights(policy, 4)
    check_engine(engine, policy, pictures, bound=BOUND)
    assert gap_of(policy, before[0], 1.0) > 1e-2
    assert engine.policy_version == 4


@pytest.mark.parametrize("left_out", ["encoder", None])
def test_the_probe_after_an_update_finds_an_encoder_cache_that_was_not_reset(engine, policy, pictures, left_out):
    resets = tuple(cache for cache in ("prefix", "mm", "encoder") if cache != left_out)
    settings = VllmSettings(urls=(engine.server.url,))
    careless = VllmEngine(EngineContext(model=policy, load=LoadSettings()), settings, resets=resets)
    parity = ServedParity(careless, policy)
    parity.begin([group_of(said) for said in play(careless, policy, pictures, [Sampling(seed=1, max_tokens=8)])])
    change(policy, 2)
    careless.update_weights(policy, 5)
    try:
        if left_out is None:
            parity.after_update()
        else:
            with pytest.raises(MachineError, match="after 1 updates of its weights, on a text of the family 'plates'"):
                parity.after_update()
    finally:
        asyncio.run(careless.aclose())
        engine.update_weights(policy, 6)


def test_an_engine_core_killed_in_mid_batch_costs_nothing_but_time(engine, policy, pictures):
    if policy.family.model_type != FAMILIES[0]:
        pytest.skip("tried with one family: another server has to start for it")
    engine.update_weights(policy, 7)
    samplings = [Sampling(seed=seed, max_tokens=400) for seed in range(6)]
    starts, lost = engine.server.starts, engine.lost_answers
    kill = threading.Timer(1.5, _kill_core, [engine.server.process.pid])
    kill.start()
    played = play(engine, policy, pictures, samplings)
    kill.join()
    assert engine.lost_answers > lost
    assert engine.server.starts == starts + 1
    assert all(len(turn.ids) == len(turn.logprobs) > 0 for said in played for _, turn in said.turns)
    assert max(gap_of(policy, said, 1.0) for said in played) < BOUND


def _kill_core(server):
    [core] = [one for one in psutil.Process(server).children(recursive=True) if "EngineCore" in " ".join(one.cmdline())]
    os.kill(core.pid, signal.SIGKILL)


def test_weights_in_flight_sample_the_rest_of_a_turn_as_if_all_of_it_were_theirs(engine, policy, pictures, twin):
    if policy.family.model_type != FAMILIES[0]:
        pytest.skip("tried with one family")
    engine.update_weights(policy, 9)
    old = twin(policy)
    asked = policy.chat.prompt([Message(role="user", parts=(pictures[0], "What is written there?"))])
    engine.expect_weights(1)

    async def sample():
        async with engine.sequences(["a", "b", "c"]) as slots:
            samplings = [Sampling(seed=seed, max_tokens=1500) for seed in range(3)]
            before = sampled_tokens(engine)
            asking = [
                asyncio.create_task(one.sample(asked.ids, asked.images, how)) for one, how in zip(slots, samplings)
            ]
            while sampled_tokens(engine) < before + 30:
                await asyncio.sleep(0.05)
            change(policy, 3)
            await asyncio.to_thread(engine.update_weights, policy, 10)
            return await asyncio.gather(*asking)

    changed = 0
    for said in asyncio.run(sample()):
        assert said.versions[-1].end == len(said.ids)
        for span in said.versions:
            sampler = {9: old, 10: policy}[span.version]
            exact = logprobs_of(sampler, (*asked.ids, *said.ids), asked.images, len(asked.ids))
            gaps = [abs(exact[place] - said.logprobs[place]) for place in range(span.start, span.end)]
            # Keys and values are worked out anew, so that nothing of the old weights is left in later tokens.
            assert max(gaps) < BOUND
        changed += len(said.versions) > 1
    assert changed
    assert engine.policy_version == 10


def sampled_tokens(engine):
    """So far, as vLLM counts them."""
    said = httpx2.get(f"{engine.server.url}/metrics", trust_env=False).text
    return sum(float(line.split()[-1]) for line in said.splitlines() if line.startswith("vllm:generation_tokens_total"))


@torch.no_grad()
def logprobs_of(policy, ids, images, start):
    """log p of each of ``ids[start:]`` by the policy."""
    embedded = policy.embed(torch.tensor([ids]), policy.encode_images(images))
    hidden = policy.hidden(embedded, policy.positions(ids, images)[:, None])[0, start - 1 : -1]
    own = torch.tensor(ids[start:])[:, None]
    return policy.logprob_logits(hidden, 1.0).log_softmax(dim=-1).gather(1, own)[:, 0].tolist()


def test_judges_and_teachers_ask_it_as_a_chat_server(engine, policy, pictures):
    message = Message(role="user", parts=(pictures[0], "What is written there?"))
    settings = ChatServerSettings(max_tokens=5)
    with connect(f"{engine.server.url}/v1", settings, model="saccade", media=policy.media) as judge:
        texts = asyncio.run(judge([message], temperature=1.0, samples=2, seed=1))
    assert len(texts) == 2


def test_its_samples_have_the_distribution_of_the_policy(engine, policy, pictures):
    """Pearson's chi-square of the first tokens; few turns are the same, since the second token has its own chance."""
    engine.update_weights(policy, 8)
    samplings = [Sampling(seed=seed, max_tokens=2) for seed in range(600)]
    said = play(engine, policy, pictures[:1], samplings)
    exact = next_probabilities(policy, said[0].ids[: said[0].turns[0][0]], said[0].images)
    firsts = Counter(one.turns[0][1].ids[0] for one in said)
    cells = [token for token, p in enumerate(exact) if p * len(said) >= 5]
    expected = [exact[token] * len(said) for token in cells]
    rest = len(said) - sum(expected)
    distances = [(firsts[token] - wanted) ** 2 / wanted for token, wanted in zip(cells, expected)]
    distances.append((len(said) - sum(firsts[token] for token in cells) - rest) ** 2 / rest)
    assert chi2.sf(sum(distances), len(cells)) > 1e-4
    assert len({one.turns[0][1].ids for one in said}) > 300


@torch.no_grad()
def next_probabilities(policy, ids, images):
    embedded = policy.embed(torch.tensor([ids]), policy.encode_images(images))
    positions = policy.positions(ids, images)[:, None]
    return policy.logprob_logits(policy.hidden(embedded, positions)[0, -1:], 1.0).softmax(dim=-1)[0].tolist()
