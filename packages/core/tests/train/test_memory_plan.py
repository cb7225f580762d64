"""What is said of a run's memory before it begins: counted from a configuration, part by part."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from transformers import AutoModelForImageTextToText

from places import ROOT
from published_models import config_of
from saccade.bench.checkpoint import SIZES, write_checkpoint
from saccade.cli import run_command
from saccade.cli.commands import saccade
from saccade.config.fleet import FleetSettings
from saccade.config.presets import preset_called, presets
from saccade.errors import UserError
from saccade.learner.forwards import has_native_forward
from saccade.learner.memory import AHEAD_BYTES
from saccade.learner.optimizer import OptimizerSettings
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinyFamily, TinySize, tiny_model
from saccade.models.checkpoint import EngineSettings, LoadSettings
from saccade.models.families import FAMILIES
from saccade.models.lora import LoraSettings
from saccade.models.shape import ModelShape, read_shape
from saccade.native.kernels import native_kernels
from saccade.native.library import SWITCH
from saccade.train.memory_plan import MemoryPlan, memory_plan
from saccade.train.memory_process import PHASES, Load
from saccade.train.memory_roles import Role, roles_of

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
    shape: ModelShape,
    *,
    gpus: int = 0,
    limits: EngineSettings = EngineSettings(),
    role: Role = Role(),
    teacher: ModelShape | None = None,
    **options: object,
) -> MemoryPlan:
    dtype = "bfloat16" if gpus else "float32"
    settings = replace(OptimizerSettings(), **options)  # type: ignore[arg-type]
    load = LoadSettings(device="cpu", dtype=dtype, engine=limits)  # type: ignore[arg-type]
    return memory_plan(shape, model=load, optimizer=settings, load=LOAD, on_gpu=gpus > 0, role=role, teacher=teacher)


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
    # All weights of the four layers' products are sampled with from a copy that has the adapter in it.
    merged = 4 * (2 * 128 * 128 + 2 * 128 * 64 + 3 * 128 * 356)
    assert part(adapter, "weights with the adapter in them") == 4 * merged
    assert part(plain, "weights with the adapter in them") == 0
    frozen = planned(shape, frozen_vision=True)
    assert part(frozen, "moments") == 8 * (count - shape.vision_weights)


def test_activations_in_the_host_s_memory_leave_a_layer_and_what_is_on_its_way(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config_of("Qwen/Qwen2.5-VL-7B-Instruct")))
    seven = read_shape(tmp_path)
    name, hosts = "activations of a pack: language model", "activations in the host's memory: language model"
    for recomputes in (False, True):
        kept = planned(seven, gpus=1, activation_checkpointing=recomputes)
        moved = planned(seven, gpus=1, activation_checkpointing=recomputes, offload_activations=True)
        sent, stays = part(moved, hosts), part(moved, name)
        assert part(kept, hosts) == 0
        assert next(one.place for one in moved.parts if one.name == hosts) == "host"
        if recomputes:
            # The inputs of 28 layers in bf16.
            assert sent == 4096 * 28 * 2 * 3584
            assert part(kept, name) - stays == sent - 2 * AHEAD_BYTES
        else:
            assert sent == part(kept, name)
            assert stays == sent // 28 + 2 * AHEAD_BYTES
        assert moved.in_phase("learning") < kept.in_phase("learning")


def with_layers_of_their_own(checkpoint: Path, folder: Path) -> ModelShape:
    """The same sizes in layers that the native kernels do not know."""
    config = json.loads((checkpoint / "config.json").read_text())
    config["text_config"]["hidden_act"] = "gelu"
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "preprocessor_config.json").write_bytes((checkpoint / "preprocessor_config.json").read_bytes())
    return read_shape(folder)


def test_layers_that_the_kernels_do_not_know_keep_what_modules_keep(
    checkpoint: Path, tmp_path: Path, shape: ModelShape, monkeypatch: pytest.MonkeyPatch
) -> None:
    if native_kernels() is None:
        pytest.skip("no native kernels here")
    kept, merged = "activations of a pack: language model", "weights with the adapter in them"
    lora = LoraSettings(rank=2)
    known, foreign = planned(shape, lora=lora), planned(with_layers_of_their_own(checkpoint, tmp_path), lora=lora)
    assert part(foreign, kept) > 1.3 * part(known, kept)
    assert (part(known, merged) > 0, part(foreign, merged)) == (True, 0)
    monkeypatch.setenv(SWITCH, "0")
    assert part(planned(shape, lora=lora), kept) == part(foreign, kept)


def test_the_program_takes_more_for_many_tokens_and_for_products_in_bfloat16(shape: ModelShape) -> None:
    assert part(planned(replace(shape, vocabulary=150_000)), "tokenizer") == 75_000_000
    for dtype, precision in (("bfloat16", "highest"), ("float32", "medium")):
        load = LoadSettings(device="cpu", dtype=dtype, matmul_precision=precision)  # type: ignore[arg-type]
        rounded = memory_plan(shape, model=load, optimizer=OptimizerSettings(), load=LOAD)
        assert part(rounded, "program") > part(planned(shape), "program")


@pytest.mark.parametrize("family", list(FAMILIES))
def test_every_family_is_planned(family: TinyFamily, tmp_path: Path) -> None:
    tiny_model(["Which plate? User Assistant"] * 9, MediaStore(), family=family).save(tmp_path)
    shape = read_shape(tmp_path)
    plan = planned(shape, lora=LoraSettings(rank=2))
    assert part(plan, "weights") > 0
    # The kernels sample with such copies.
    assert (part(plan, "weights with the adapter in them") > 0) == has_native_forward(shape.skeleton)
    assert has_native_forward(shape.skeleton) != family.startswith(("glm", "gemma", "qwen3_vl_moe", "qwen3_5"))
    if shape.language.recurrent:
        # The convolution's last three inputs of 128 channels, and four heads' 16 x 16; three times.
        assert part(plan, "states of recurrent layers") == LOAD.rows * (3 * 128 + 4 * 16 * 16) * 4 * 3


def test_a_mixture_holds_all_experts_and_computes_with_those_of_a_token(tmp_path: Path) -> None:
    size = TinySize(hidden=32, layers=2, heads=2, kv_heads=2, mlp=96)
    tiny_model(["Which plate?"] * 9, MediaStore(), family="qwen3_vl_moe", size=size).save(tmp_path)
    shape = read_shape(tmp_path)
    # By hand: two of four experts are idle, each of three matrices of 32 x 48, in two layers.
    assert shape.idle_weights == 2 * 2 * 3 * 32 * 48
    assert (shape.language.mlp, shape.language.copies) == (2 * 48, 2)
    said = CliRunner().invoke(saccade, ["plan-memory", "--model", str(tmp_path), "--rows", "4", "--row-tokens", "512"])
    assert said.exit_code == 0, said.output
    assert "B weights, of which a token meets 0.00 B" in said.output
    assert "transformers' modules do the work of the language model" in said.output


def test_learners_share_states_and_rollout_workers_have_none(shape: ModelShape) -> None:
    count = shape.weights
    first, other, worker = roles_of(FleetSettings(learners=4, rollouts=2))
    assert [first.count, other.count, worker.count] == [1, 3, 2]
    plans = [planned(shape, gpus=6, role=role) for role in (first, other, worker)]
    assert [part(plan, "moments") for plan in plans] == [2 * count, 2 * count, 0]
    assert [part(plan, "weights") for plan in plans] == [2 * count // 4, 2 * count // 4, 2 * count]
    assert [part(plan, "weights of the engine, whole") for plan in plans] == [2 * count, 0, 0]
    # Workers play all; without them the first learner does.
    assert [part(plan, "keys and values") > 0 for plan in plans] == [False, False, True]
    alone = [planned(shape, gpus=4, role=role) for role in roles_of(FleetSettings(learners=4))]
    assert [part(plan, "keys and values") > 0 for plan in alone] == [True, False]
    # A tower that is not trained stays whole on each.
    frozen = planned(shape, gpus=4, role=other, frozen_vision=True)
    assert part(frozen, "weights") == 2 * ((count - shape.vision_weights) // 4 + shape.vision_weights)
    # What a server samples is in no process of the run.
    assert [role.samples for role in roles_of(FleetSettings(rollouts=2), is_served=True)] == [False]


def test_keys_and_values_are_bounded_by_the_engine_s_settings(shape: ModelShape) -> None:
    one_token = 4 * shape.cache_numbers
    assert part(planned(shape), "keys and values") == 32 * 2048 * one_token
    bounded = planned(shape, limits=EngineSettings(cache_tokens=5000))
    assert part(bounded, "keys and values") == 5000 * one_token
    # One row is always played.
    least = planned(shape, limits=EngineSettings(cache_tokens=10))
    assert part(least, "keys and values") == 2048 * one_token


def test_kept_graphs_keep_keys_and_values_while_the_learner_is_at_work(shape: ModelShape) -> None:
    kept = EngineSettings(keep_graphs=True)
    plain, keeping = planned(shape, gpus=1), planned(shape, gpus=1, limits=kept)
    pages = part(plain, "keys and values") + part(plain, "one layer's rows, gathered")
    assert pages > 2 * 32 * 2048 * shape.cache_numbers
    assert [keeping.in_phase(phase) - plain.in_phase(phase) for phase in PHASES] == [0, pages, pages]
    # A CPU records nothing.
    assert planned(shape, limits=kept) == planned(shape)


@pytest.mark.parametrize("family", ["gemma3", "qwen3_vl_moe", "qwen3_5"])
def test_models_whose_steps_are_not_recorded_keep_nothing(tmp_path: Path, family: TinyFamily) -> None:
    tiny_model(["some words"], MediaStore(), family=family, size=TinySize(layers=2)).save(tmp_path / "model")
    other = read_shape(tmp_path / "model")
    assert planned(other, gpus=1, limits=EngineSettings(keep_graphs=True)) == planned(other, gpus=1)


def test_checkpointing_keeps_less_of_a_pack(shape: ModelShape) -> None:
    name = "activations of a pack: language model"
    deep = replace(shape, language=replace(shape.language, count=28))
    whole, recomputed = part(planned(deep), name), part(planned(deep, activation_checkpointing=True), name)
    # The inputs of 28 layers, and one layer at work.
    assert 0.1 * whole < recomputed < 0.25 * whole


def test_with_checkpointing_blocks_lie_free_between_the_inputs_of_layers_on_a_cpu(shape: ModelShape) -> None:
    large = replace(shape, weights=10**8)
    of_layers = 4 * LOAD.pack_tokens * 4 * (128 + 356)
    assert part(planned(large, activation_checkpointing=True), "freed memory between activations") == of_layers
    assert part(planned(large, activation_checkpointing=True, gpus=1), "freed memory between activations") == 0
    assert part(planned(shape, activation_checkpointing=True), "freed memory between activations") == 0


def test_the_command_says_what_fits_and_what_to_change(checkpoint: Path) -> None:
    run = CliRunner()
    said = run.invoke(saccade, ["plan-memory", "--model", str(checkpoint), "--rows", "4", "--row-tokens", "512"])
    assert said.exit_code == 0, said.output
    assert "1.64" not in said.output
    assert "qwen2_5_vl, 0.00 B weights" in said.output
    assert "4 trajectories of 512 tokens" in said.output
    assert "moments" in said.output
    tight = ["plan-memory", "--model", str(checkpoint), "--memory", "0.4"]
    failed = run.invoke(saccade, [*tight, "--rows", "1", "--row-tokens", "64"])
    assert isinstance(failed.exception, UserError)
    assert "does not fit" in str(failed.exception)
    assert "None of the settings that save memory make it fit" in str(failed.exception)
    nothing = run.invoke(saccade, ["plan-memory", "--model", str(checkpoint.parent)])
    assert isinstance(nothing.exception, UserError)


def test_a_teacher_is_whole_at_the_first_learner_and_nowhere_else(shape: ModelShape) -> None:
    assert part(planned(shape, teacher=shape), "teacher") == 4 * shape.weights
    first = Role(learners=2, has_copy=True)
    assert part(planned(shape, teacher=shape, role=first), "teacher") == 4 * shape.weights
    for other in (Role(learners=2), Role(learners=0)):
        assert part(planned(shape, teacher=shape, role=other), "teacher") == 0


def test_the_command_counts_a_teacher_by_its_directory_and_the_first_policy_as_a_reference(checkpoint: Path) -> None:
    run = CliRunner()
    plain = ["plan-memory", "--model", str(checkpoint), "--rows", "4", "--row-tokens", "512"]
    whole = ["--set", "rl.algorithm.distill.weight=1", "--set", "rl.algorithm.distill.loss=jsd"]
    said = {
        name: run.invoke(saccade, [*plain, *more]).output
        for name, more in {
            "none": [],
            "own": ["--teacher", str(checkpoint), *whole],
            "start": ["--teacher", "start"],
            "server": ["--teacher", "http://localhost:8000"],
        }.items()
    }
    assert ["  teacher" in said[name] for name in said] == [False, True, False, False]
    assert ["reference policy" in said[name] for name in said] == [False, False, True, False]
    assert "distributions of policy and teacher" in said["own"]


def test_the_command_says_what_recurrent_layers_fall_back_to(tmp_path: Path) -> None:
    tiny_model(["Which plate? User Assistant"] * 9, MediaStore(), family="qwen3_5").save(tmp_path)
    said = CliRunner().invoke(saccade, ["plan-memory", "--model", str(tmp_path), "--rows", "4"])
    assert "1 of 2 layers are recurrent: transformers' modules run the language model" in said.output
    assert "states of recurrent layers" in said.output


def published(folder: Path, name: str) -> str:
    (folder / "config.json").write_text(json.dumps(config_of(f"Qwen/Qwen2.5-VL-{name}-Instruct")))
    return str(folder)


def refusal(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert run_command(["plan-memory", *arguments]) == 2
    return capsys.readouterr().err


def test_what_is_said_to_fit_fits_when_it_is_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = ["--model", published(tmp_path, "7B"), "--gpu-memory", "80", "--memory", "400"]
    lines = refusal([*plan, "--gpus", "1"], capsys).splitlines()
    assert lines[0].startswith("saccade: the run does not fit: 197.1 GiB on the GPU, which has 80.0. It fits with any")
    assert len(lines) == 4
    kinds = ("offload_optimizer=true", "lora.rank=64", "fleet.learners=4   (4 GPUs)")
    assert all(kind in line for kind, line in zip(kinds, lines[1:], strict=True))
    for line in lines[1:]:
        settings = line.partition("   (")[0].split()
        assert settings[0] == "--set"
        gpus = [] if "learners" in line else ["--gpus", "1"]
        on_gpus = ["--set", "fleet.learner_gpus=1"] if "learners" in line else []
        assert run_command(["plan-memory", *plan, *gpus, *settings, *on_gpus]) == 0
    assert "None of the settings that save memory" in refusal([*plan, "--gpus", "1", "--gpu-memory", "4"], capsys)


def test_a_layout_of_a_fleet_is_planned_by_its_own_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layout = (ROOT / "examples" / "fleet" / "eight_gpus.sh").read_text()
    settings = [word for line in re.findall(r"--set \S+", layout) for word in line.split()]
    plan = ["--model", published(tmp_path, "7B"), "--gpu-memory", "80", "--memory", "400", *settings]
    assert run_command(["plan-memory", *plan, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [(one["who"], one["count"]) for one in said["processes"]] == [
        ("the first learner", 1),
        ("each of 3 other learners", 3),
        ("each of 4 rollout workers", 4),
    ]
    assert (said["fits"], said["would_fit"], said["on_gpu"]) == (True, [], True)
    assert all(one["peak"]["device"] < 80 * GIB for one in said["processes"])
    assert "take 8 GPUs, and --gpus is 4" in refusal([*plan, "--gpus", "4"], capsys)
    assert "does not work with fleet.learners above 1" in refusal(
        [*plan, "--set", "rl.optimizer.offload_optimizer=true"], capsys
    )
    assert run_command(["plan-memory", *plan, "--set", "engine.kind=vllm"]) == 0
    assert "a server samples: its memory is not counted" in capsys.readouterr().out


@pytest.mark.parametrize("name", presets())
def test_each_preset_fits_its_machine(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = preset_called(name)
    (tmp_path / "config.json").write_text(json.dumps(config_of(one.model)))
    # Cards have a little less than they are named for, and other programs take some.
    plan = ["--gpus", str(one.gpus), "--gpu-memory", str(0.95 * one.gpu_memory), "--memory", "128"]
    assert run_command(["plan-memory", "--model", str(tmp_path), "--preset", name, *plan]) == 0
    assert f"there are {0.95 * one.gpu_memory:.1f}" in capsys.readouterr().out
    refused = refusal(["--model", str(tmp_path), *plan], capsys)
    assert "does not fit" in refused
