"""With LoRA the adapter alone goes to an engine that has the base, and what it samples is as with all weights."""

import asyncio
import os
import signal

import pytest
import torch
from safetensors.torch import load_file

from places import ROOT
from saccade.engines.engine import EngineContext, EngineLostError, Sampling, ScoreRequest
from saccade.engines.local import LocalEngine
from saccade.engines.process import ProcessEngine
from saccade.engines.vllm.engine import VllmEngine
from saccade.engines.vllm.settings import VllmSettings
from saccade.engines.weights import WeightsFile, WeightsWriter, delete_weights, new_weights_path
from saccade.errors import SaccadeError
from saccade.learner.optimizer import OptimizerSettings
from saccade.learner.trained_weights import choose_trained
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.loading import LoadSettings
from saccade.models.lora import LoraSettings, adapter_parameters
from saccade.models.weights_by_name import load_weights, named_weights
from saccade.testing.vllm_server import FakeVllm

QUESTION = "What is on the red plate?"
TEXTS = tuple(tuple(range(start, start + 12)) for start in (5, 40))
WITH_WHOLE = OptimizerSettings(lora=LoraSettings(rank=2), trained=r"visual\.merger")


@pytest.fixture(scope="module")
def make_model(media):
    return lambda layers=2: tiny_model([QUESTION] * 9, media, size=TinySize(layers=layers), vocab_size=512)


@pytest.fixture
def policy(make_model):
    policy = make_model()
    choose_trained(policy, WITH_WHOLE)
    learn(policy, 1)
    return policy


@torch.no_grad()
def learn(policy, seed):
    chance = torch.Generator().manual_seed(seed)
    for weight in adapter_parameters(policy).values():
        weight.add_(torch.randn(weight.shape, generator=chance) * 0.1)


class Whole:
    """All weights of a policy, without a word on its adapter."""

    def __init__(self, policy):
        self.named_weights = policy.named_weights


def scores(engine):
    return asyncio.run(engine.score_batch([ScoreRequest(ids=text, images=(), start=3) for text in TEXTS]))


def same_bits(one, other):
    one, other = dict(one), dict(other)
    return one.keys() == other.keys() and all(torch.equal(weight, other[name]) for name, weight in one.items())


def sizes(folder):
    return sorted(path.stat().st_size for path in folder.glob("*.safetensors"))


@pytest.fixture
def written(tmp_path):
    """Versions of a policy, each written into a folder that keeps the last."""
    writer, files = WeightsWriter(), []

    def write(source):
        files.append(new_weights_path(tmp_path, len(files)))
        writer.write(source, files[-1])
        while len(files) > 1:
            delete_weights(files.pop(0), kept=files)
        return WeightsFile(files[-1])

    return write


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_after_the_first_version_a_file_holds_the_adapter_alone_and_gives_the_same_bits(
    make_model, written, tmp_path, caplog, dtype
):
    caplog.set_level("INFO", logger="saccade")
    policy = make_model()
    policy.hf.to(dtype)
    choose_trained(policy, WITH_WHOLE)
    bases = set()
    for seed in range(3):
        learn(policy, seed)
        file = written(policy)
        assert same_bits(file.named_weights(), policy.named_weights())
        small, large = sizes(tmp_path)
        assert small < 0.5 * large
        bases.add(file.adapted_weights().base)
    assert len(bases) == 1
    assert load_file(file.path).keys() == {
        "base_model.model." + name.replace(".default.", ".") for name in adapter_parameters(policy)
    }
    [told] = [line for line in caplog.messages if line.startswith("weights to the engine: ")]
    assert told.startswith("weights to the engine: adapter only, ")


def test_an_engine_that_has_the_base_scores_what_one_with_all_weights_scores(make_model, policy, written):
    with_files, with_all, first = LocalEngine(make_model()), LocalEngine(make_model()), None
    for version in range(1, 5):
        learn(policy, version)
        with_files.update_weights(written(policy), version)
        with_all.update_weights(Whole(policy), version)
        assert scores(with_files) == scores(with_all)
        assert scores(with_files) != first
        first = scores(with_files)


def test_what_the_adapter_leaves_alone_is_not_copied_again(make_model, policy, written):
    model = make_model()
    engine = LocalEngine(model)
    engine.update_weights(written(policy), 1)
    with torch.no_grad():
        model.hf.get_input_embeddings().weight.zero_()
    learn(policy, 2)
    engine.update_weights(written(policy), 2)
    assert not model.hf.get_input_embeddings().weight.any()
    engine.update_weights(Whole(policy), 3)
    assert same_bits(named_weights(model), policy.named_weights())


def changed_base(policy):
    with torch.no_grad():
        policy.hf.get_input_embeddings().weight.mul_(1.5)


def other_adapter(policy):
    choose_trained(policy, OptimizerSettings(lora=LoraSettings(rank=3)))
    learn(policy, 7)


def all_weights(policy):
    choose_trained(policy, OptimizerSettings())


def all_weights_and_back(policy):
    all_weights(policy)
    choose_trained(policy, WITH_WHOLE)
    learn(policy, 8)


@pytest.mark.parametrize("change", [changed_base, other_adapter, all_weights, all_weights_and_back])
def test_another_base_is_sent_whole(make_model, policy, written, tmp_path, change):
    engine, fresh = LocalEngine(make_model()), LocalEngine(make_model())
    engine.update_weights(written(policy), 1)
    before = set(tmp_path.glob("*-base.safetensors"))
    change(policy)
    for _ in range(2):
        engine.update_weights(written(policy), 2)
        fresh.update_weights(Whole(policy), 2)
        assert same_bits(named_weights(engine.model), policy.named_weights())
        assert scores(engine) == scores(fresh)
    after = set(tmp_path.glob("*-base.safetensors"))
    assert len(before) == 1
    assert not before & after
    assert len(after) == (policy.adapter is not None)


def test_the_adapter_of_another_model_changes_nothing(make_model, policy, written):
    engine = LocalEngine(make_model(layers=3))
    before = [weight.clone() for _, weight in named_weights(engine.model)]
    with pytest.raises(SaccadeError, match="weights of another model"):
        engine.update_weights(written(policy), 1)
    assert all(torch.equal(old, new) for old, (_, new) in zip(before, named_weights(engine.model)))


@pytest.mark.usefixtures("warm_engines")
def test_the_process_is_sent_the_adapter_alone_and_one_that_replaces_it_the_base_too(make_model, policy, tmp_path):
    engine = ProcessEngine(EngineContext(model=policy, load=LoadSettings(device="cpu")), folder=tmp_path)
    [folder] = tmp_path.iterdir()
    small, base = sizes(folder)
    with_all = LocalEngine(make_model())
    for version in (1, 2):
        learn(policy, version)
        engine.update_weights(policy, version)
        assert sizes(folder) == [small, base]
        with_all.update_weights(Whole(policy), version)
        assert scores(engine) == scores(with_all)

    async def killed():
        async with engine.sequences(["a"]) as [slot]:
            os.kill(engine.process_id, signal.SIGKILL)
            await slot.sample((5, 6, 7), (), Sampling(seed=0))

    with pytest.raises(EngineLostError):
        asyncio.run(killed())
    learn(policy, 3)
    engine.update_weights(policy, 3)
    with_all.update_weights(Whole(policy), 3)
    assert scores(engine) == scores(with_all)
    plain = make_model()
    load_weights(plain, policy.named_weights())
    engine.update_weights(plain, 4)
    assert len(sizes(folder)) == 1
    assert scores(engine) == scores(with_all)
    asyncio.run(engine.aclose())


def test_vllms_plugin_merges_what_an_engine_here_merges(policy, written, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "engine"))
    from saccade_vllm_plugin.merged import merged_weights

    assert same_bits(merged_weights(written(policy).path), policy.named_weights())
    choose_trained(policy, OptimizerSettings())
    assert same_bits(merged_weights(written(policy).path), policy.named_weights())


def test_servers_of_vllm_are_sent_the_adapter_alone(make_model, policy, tmp_path):
    with FakeVllm(make_model()) as server:
        settings = VllmSettings(urls=(server.url,), folder=tmp_path)
        engine = VllmEngine(EngineContext(model=policy, load=LoadSettings()), settings)
        [folder] = tmp_path.iterdir()
        for version in (1, 2):
            learn(policy, version)
            engine.update_weights(policy, version)
            small, large = sizes(folder)
            assert small < 0.5 * large
            assert same_bits(named_weights(server.model), policy.named_weights())
        assert engine.lost_answers == 0
        choose_trained(policy, OptimizerSettings())
        engine.update_weights(policy, 3)
        assert len(sizes(folder)) == 1
        assert same_bits(named_weights(server.model), policy.named_weights())
        asyncio.run(engine.aclose())
