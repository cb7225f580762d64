"""The plan's parts beside what torch allocates in a step: bytes, which no other process changes."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from saccade.algorithms.losses import negative_log_likelihood
from saccade.learner.learner import Learner, OptimizerSettings
from saccade.learner.sequences import TrainingSequence
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinyFamily, TinySize, tiny_model
from saccade.models.checkpoint import LoadSettings
from saccade.models.lora import LoraSettings
from saccade.models.shape import ModelShape, read_shape
from saccade.models.vlm import VisionLanguageModel
from saccade.native.kernels import native_kernels
from saccade.native.library import SWITCH
from saccade.train.memory_plan import MemoryPlan, memory_plan
from saccade.train.memory_process import Load

PROMPT, ACTIONS = 102, 250
"""Tokens; two trajectories with one prompt fill a pack, but for their last tokens, from which nothing follows."""
DEEP = TinySize(hidden=64, mlp=256, layers=24)
LORA = OptimizerSettings(lora=LoraSettings(rank=2), micro_batch_tokens=PROMPT + 2 * ACTIONS + 2)
FULL = OptimizerSettings(frozen_vision=True, micro_batch_tokens=LORA.micro_batch_tokens)


def most_allocated(work: Callable[[], object], folder: Path) -> int:
    """Bytes that torch had at most beyond what it had before."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        work()
    profiled.export_chrome_trace(str(folder / "trace.json"))
    events = json.loads((folder / "trace.json").read_text())["traceEvents"]
    changes = sorted((one["ts"], one["args"]["Bytes"]) for one in events if one["name"] == "[memory]")
    return max(accumulate(change for _, change in changes))


def model_and_shape(
    folder: Path, size: TinySize, vocabulary: int, family: TinyFamily
) -> tuple[VisionLanguageModel, ModelShape]:
    media = MediaStore()
    small = tiny_model(["Which plate is red?"] * 9, media, family=family, size=size, vocab_size=300)
    small.hf.resize_token_embeddings(vocabulary, mean_resizing=False)
    model = VisionLanguageModel(small.hf, small.tokenizer, small.image_processor, media)
    model.save(folder / "model")
    return model, read_shape(folder / "model")


def sequences() -> list[TrainingSequence]:
    """Two packs."""
    return [
        TrainingSequence(
            ids=tuple(100 + (place + index) % 50 if place >= PROMPT else 100 for place in range(PROMPT + ACTIONS)),
            is_action=(False,) * PROMPT + (True,) * ACTIONS,
            images=(),
            prompt_tokens=PROMPT,
            prompt_images=0,
            sampled_logprobs=(0.0,) * ACTIONS,
            advantages=(1.0,) * ACTIONS,
            token_weight=1.0 / ACTIONS,
        )
        for index in range(4)
    ]


def planned_and_allocated(
    folder: Path, settings: OptimizerSettings, size: TinySize, *, vocabulary: int, family: TinyFamily = "internvl"
) -> tuple[int, int]:
    """Of forward and backward, beyond weights and moments."""
    torch.set_num_threads(1)
    model, shape = model_and_shape(folder, size, vocabulary, family)
    learner = Learner(model, settings)
    load = Load(pack_tokens=PROMPT + 2 * ACTIONS - 2, pack_image_tokens=0, rows=1, row_tokens=1)
    # What is compiled, too, runs the modules.
    planned = replace(settings, compile=not native_kernels())
    plan = memory_plan(shape, model=LoadSettings(device="cpu", dtype="float32"), optimizer=planned, load=load)
    given = sequences()

    def learn() -> None:
        learner.accumulate(given, negative_log_likelihood, temperature=1.0)

    allocated = most_allocated(learn, folder)
    assert learner.work.tokens == 2 * load.pack_tokens
    return of_learning(plan), allocated


def of_learning(plan: MemoryPlan) -> int:
    return sum(part.bytes for part in plan.parts if part.phase == "learning")


@pytest.mark.parametrize("settings", [LORA, FULL], ids=["LoRA", "all weights"])
def test_logits_and_the_head_s_gradients_are_planned(tmp_path: Path, settings: OptimizerSettings) -> None:
    """Nearly all of a small model with a large vocabulary: chunks of 64 MiB, and gradients of 24 MiB."""
    size = TinySize(hidden=64, mlp=64, layers=1)
    planned, allocated = planned_and_allocated(tmp_path, settings, size, vocabulary=100_000)
    assert planned == pytest.approx(allocated, rel=0.05)


@pytest.mark.parametrize("kernels", ["", "0"], ids=["kernels", "modules"])
@pytest.mark.parametrize("family", ["internvl", "qwen3_vl", "gemma3", "gemma4", "qwen3_5"])
def test_what_layers_keep_for_an_adapter_is_planned(
    tmp_path: Path, family: TinyFamily, kernels: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SWITCH, kernels)
    planned, allocated = planned_and_allocated(tmp_path, LORA, DEEP, vocabulary=400, family=family)
    assert planned == pytest.approx(allocated, rel=0.05)


@pytest.mark.parametrize("recomputes", [False, True])
def test_what_layers_keep_for_all_weights_is_planned(tmp_path: Path, recomputes: bool) -> None:
    if native_kernels() is None:
        pytest.skip("no native kernels here")
    settings = replace(FULL, activation_checkpointing=recomputes)
    planned, allocated = planned_and_allocated(tmp_path, settings, DEEP, vocabulary=300)
    assert planned == pytest.approx(allocated, rel=0.05)
