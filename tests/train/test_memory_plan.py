"""What is said of a run's memory before it begins: counted from a configuration, part by part."""

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from transformers import AutoModelForImageTextToText

from saccade.bench.checkpoint import SIZES, write_checkpoint
from saccade.cli.commands import saccade
from saccade.errors import UserError
from saccade.learner.optimizer import OptimizerSettings
from saccade.models.checkpoint import EngineSettings, LoadSettings
from saccade.models.lora import LoraSettings
from saccade.models.shape import ModelShape, read_shape
from saccade.train.memory_plan import Load, MemoryPlan, memory_plan

LOAD = Load(pack_tokens=4096, pack_image_tokens=1024, rows=32, row_tokens=2048)
GIB = 2**30


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shape") / "model"
    write_checkpoint(path, SIZES["tiny"])
    return path


@pytest.fixture(scope="module")
def shape(checkpoint: Path) -> ModelShape:
    return read_shape(checkpoint)


def part(plan: MemoryPlan, name: str) -> int:
    return sum(one.bytes for one in plan.parts if one.name == name)


def planned(
    shape: ModelShape, *, gpus: int = 0, limits: EngineSettings = EngineSettings(), **options: object
) -> MemoryPlan:
    dtype = "bfloat16" if gpus else "float32"
    settings = replace(OptimizerSettings(), **options)  # type: ignore[arg-type]
    load = LoadSettings(device="cpu", dtype=dtype, engine=limits)  # type: ignore[arg-type]
    return memory_plan(shape, model=load, optimizer=settings, load=LOAD, gpus=gpus)


def test_weights_are_counted_without_reading_any(checkpoint: Path, tmp_path: Path, shape: ModelShape) -> None:
    real = AutoModelForImageTextToText.from_pretrained(checkpoint)
    assert shape.weights == sum(weight.numel() for weight in real.parameters())
    assert shape.vision_weights == sum(weight.numel() for weight in real.model.visual.parameters())
    for name in ("config.json", "preprocessor_config.json"):
        (tmp_path / name).write_bytes((checkpoint / name).read_bytes())
    assert read_shape(tmp_path) == shape
    # Four layers of one key head pair: keys and values of 2 x 32 numbers each.
    assert shape.cache_numbers == 2 * 4 * 64
    layers = 4 * (4 * (128 + 128) - 2 * 64 + 3 * (128 + 356))
    assert shape.adapter_weights(LoraSettings(rank=2)) == 2 * layers


def test_states_of_the_optimiser_by_precision_and_place(shape: ModelShape) -> None:
    count = shape.weights
    plain, half = planned(shape), planned(shape, gpus=1)
    assert (part(plain, "weights"), part(plain, "moments"), part(plain, "fp32 masters")) == (4 * count, 8 * count, 0)
    assert (part(half, "weights"), part(half, "moments"), part(half, "fp32 masters")) == (
        2 * count,
        8 * count,
        4 * count,
    )
    offloaded = planned(shape, gpus=1, offload_optimizer=True)
    # Masters, moments and the gradient at the step go to the host; while it is summed up it is beside the model.
    assert half.in_phase("step") - offloaded.in_phase("step") >= 16 * count
    assert half.in_phase("learning") - offloaded.in_phase("learning") == 12 * count
    assert part(planned(shape, eight_bit_optimizer=True), "moments") == int(count * 2.03125)
    adapter = planned(shape, lora=LoraSettings(rank=2))
    assert part(adapter, "moments") == 8 * shape.adapter_weights(LoraSettings(rank=2))
    frozen = planned(shape, frozen_vision=True)
    assert part(frozen, "moments") == 8 * (count - shape.vision_weights)
    shared = planned(shape, gpus=4)
    assert part(shared, "moments") == 2 * count
    assert part(shared, "weights of the engine, whole") == 2 * count


def test_keys_and_values_are_bounded_by_the_engine_s_settings(shape: ModelShape) -> None:
    one_token = 4 * shape.cache_numbers
    assert part(planned(shape), "keys and values") == 32 * 2048 * one_token
    bounded = planned(shape, limits=EngineSettings(cache_tokens=5000))
    assert part(bounded, "keys and values") == 5000 * one_token
    # One row is always played.
    least = planned(shape, limits=EngineSettings(cache_tokens=10))
    assert part(least, "keys and values") == 2048 * one_token


def test_checkpointing_keeps_less_of_a_pack(shape: ModelShape) -> None:
    name = "activations of a pack: language model"
    deep = replace(shape, language=replace(shape.language, count=28))
    whole, recomputed = part(planned(deep), name), part(planned(deep, activation_checkpointing=True), name)
    # The inputs of 28 layers, and one layer at work.
    assert 0.1 * whole < recomputed < 0.25 * whole


def test_the_command_says_what_fits_and_what_to_change(checkpoint: Path) -> None:
    run = CliRunner()
    said = run.invoke(saccade, ["plan-memory", "--model", str(checkpoint), "--rows", "4", "--row-tokens", "512"])
    assert said.exit_code == 0, said.output
    assert "1.64" not in said.output
    assert "qwen2_5_vl, 0.00 B weights" in said.output
    assert "4 trajectories of 512 tokens" in said.output
    assert "moments" in said.output
    tight = ["plan-memory", "--model", str(checkpoint), "--memory", "0.6"]
    failed = run.invoke(saccade, [*tight, "--rows", "1", "--row-tokens", "64"])
    assert isinstance(failed.exception, UserError)
    assert "does not fit" in str(failed.exception)
    assert "rl.optimizer.activation_checkpointing=true" in str(failed.exception)
    many = run.invoke(saccade, [*tight, "--pack-tokens", "64"])
    assert "lower model.engine.cache_tokens or model.engine.max_rows" in str(many.exception)
    nothing = run.invoke(saccade, ["plan-memory", "--model", str(checkpoint.parent)])
    assert isinstance(nothing.exception, UserError)
