"""Engines of this process and behind vLLM's wire do what trainer and evaluations rely on."""

import asyncio

import pytest
import torch

from saccade.engines.engine import EngineContext
from saccade.engines.local import LocalEngine
from saccade.engines.vllm.engine import VllmEngine
from saccade.engines.vllm.settings import VllmSettings
from saccade.models.loading import LoadSettings
from saccade.testing.engine_check import check_engine
from saccade.testing.vllm_server import FakeVllm

BOUND = 2e-5


@pytest.fixture
def pictures(picture):
    return [picture(number, 64 + 16 * number, 64) for number in range(4)]


def context(model):
    return EngineContext(model=model, load=LoadSettings(device="cpu"))


def test_the_local_engine(model, pictures):
    check_engine(LocalEngine(model), model, pictures, bound=BOUND)


@pytest.mark.parametrize(
    "model", ["qwen3_vl", pytest.param("qwen2_5_vl", marks=pytest.mark.full), "internvl"], indirect=True
)
def test_the_engine_behind_the_wire_of_vllm(model, pictures, twin):
    with FakeVllm(twin(model)) as server:
        engine = VllmEngine(context(model), VllmSettings(urls=(server.url,)))
        check_engine(engine, model, pictures, bound=BOUND)
        assert engine.lost_answers == 0
        assert sorted(server.pixels_received) == sorted({one.hash for one in pictures})
        with torch.no_grad():
            model.hf.get_input_embeddings().weight.mul_(1.1)
        engine.update_weights(model, 1)
        check_engine(engine, model, pictures, bound=BOUND)
        with torch.no_grad():
            model.hf.get_input_embeddings().weight.div_(1.1)
        asyncio.run(engine.aclose())
