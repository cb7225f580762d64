"""Steps of the benchmark: each thing done once, on the scripted tokens, in Saccade and in TRL alike."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from bench_small import SMALL, SMALL_SIZE, checkpoint_spec
from safetensors.torch import load_file, save_file
from transformers import PreTrainedTokenizerFast

from saccade.bench import worker
from saccade.bench.measuring import fingerprint
from saccade.bench.ours import SaccadeSide
from saccade.bench.plain_side import PlainSide
from saccade.bench.race import check_agreement, gradient_error, race
from saccade.bench.results import Agreement, write_figures
from saccade.bench.script import Script
from saccade.bench.worker import running_worker
from saccade.bench.workload import BenchSpec, FrameworkName
from saccade.cli import run_command
from saccade.errors import MachineError, UserError
from saccade.miniature.tiny_model import TinyFamily
from saccade.models.lora import ADAPTER_CONFIG
from saccade.testing.ranks import FRESH


def expected_sequences(script: Script, side: SaccadeSide) -> list[tuple[list[int], list[bool]]]:
    """The sequences of the first step, put together by hand."""
    image = side.model.image_token_id

    def rendered(role: str, text: str, count: int) -> list[int]:
        message = {"role": role, "content": [{"type": "image"}, {"type": "text", "text": text}]}
        text = script.tokenizer.apply_chat_template([message], tokenize=False, add_generation_prompt=True)
        ids = script.tokenizer.encode(text if role == "user" else "\n" + text, add_special_tokens=False)
        place = ids.index(image)
        return [*ids[:place], *[image] * count, *ids[place + 1 :]]

    prompt, shown = rendered("user", script.question, 16), rendered("tool", script.observation, 4)
    sequences = []
    for question in range(2):
        for sample in range(3):
            first, second = (list(script.turn(0, question, sample, turn)) for turn in range(2))
            ids = [*prompt, *first, *shown, *second]
            mask = [False] * len(prompt) + [True] * 50 + [False] * len(shown) + [True] * 50
            sequences.append((ids, mask))
    return sequences


def test_a_step_does_everything_once_and_trains_on_the_script(
    spec: BenchSpec, tokenizer: PreTrainedTokenizerFast
) -> None:
    side = SaccadeSide(spec)
    report = side.step(0)
    work, unique = report.work, SMALL.unique_work
    assert (work.images_preprocessed, work.images_encoded_rollout, work.images_encoded_training) == (8, 8, 8)
    assert (work.tokens_prefilled, work.tokens_decoded) == (unique.tokens_prefilled, unique.tokens_decoded)
    assert 0.95 * unique.tokens_trained <= work.tokens_trained <= unique.tokens_trained
    assert report.trained_on == fingerprint(expected_sequences(Script.of(SMALL, tokenizer), side))
    assert report.gradient_norm > 0
    assert report.cpu_s > 0


def test_half_precision_does_the_same_work(spec: BenchSpec) -> None:
    full, half = (SaccadeSide(replace(spec, dtype=dtype)).step(0) for dtype in ("float32", "bfloat16"))
    assert (half.work, half.trained_on) == (full.work, full.trained_on)
    assert half.gradient_norm == pytest.approx(full.gradient_norm, rel=0.2)


# PEFT asks a model of transformers 5 by a name of before.
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")
@pytest.mark.parametrize("lora_rank", [None, 4])
@pytest.mark.parametrize("family", ["qwen2_5_vl", "qwen3_vl", "internvl"])
def test_a_plain_step_on_a_checkpoint_has_our_tokens_and_our_gradient(
    tmp_path: Path, family: TinyFamily, lora_rank: int | None
) -> None:
    spec = checkpoint_spec(tmp_path, family, lora_rank)
    side = SaccadeSide(spec)
    with side.keeping_gradients():
        ours = side.step(0)
    plain = PlainSide(spec).step(0)
    assert plain.trained_on == ours.trained_on
    assert gradient_error(spec, "plain") < 1e-4
    assert plain.gradient_norm == pytest.approx(ours.gradient_norm, rel=1e-4)
    # A picture and two crops of each of three trajectories, in two prompts.
    assert (ours.work.images_encoded_rollout, ours.work.images_encoded_training) == (8, 8)
    assert (plain.work.images_preprocessed, plain.work.images_encoded_training) == (8, 12)
    assert set(load_file(spec.gradient_file("plain"))) == {
        name for name, _ in side.model.hf.named_parameters() if lora_rank is None or ".lora_" in name
    }


def test_a_gradient_of_an_adapters_a_that_is_wrong_shows_beside_that_of_its_b(spec: BenchSpec, tmp_path: Path) -> None:
    kept = replace(spec, directory=tmp_path)
    small, large = torch.full((2, 2), 1e-6), torch.ones(2, 2)
    save_file({"q.lora_A.default": 2 * small, "q.lora_B.default": large}, kept.gradient_file("saccade"))
    save_file({"q.lora_A.default": small, "q.lora_B.default": large}, kept.gradient_file("plain"))
    assert gradient_error(kept, "plain") == pytest.approx(1.0)
    save_file({"q.lora_A.default": small}, kept.gradient_file("plain"))
    with pytest.raises(MachineError, match="different parameters"):
        gradient_error(kept, "plain")


def test_an_adapter_is_no_checkpoint_for_all_frameworks(tmp_path: Path) -> None:
    (tmp_path / ADAPTER_CONFIG).write_text("{}")
    with pytest.raises(UserError, match="merge it"):
        race(SMALL, ("saccade",), model=tmp_path, steps=1)


def test_a_size_beside_a_checkpoint_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["bench", "rl", "--model", str(tmp_path), "--size", "3b"]) == 2
    assert "--size 3b is of a random model" in capsys.readouterr().err


def test_the_next_step_is_on_other_tokens(spec: BenchSpec) -> None:
    side = SaccadeSide(spec)
    assert side.step(0).trained_on != side.step(1).trained_on


def test_without_trl_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    # None is how Python itself is told that a module cannot be imported.
    monkeypatch.setitem(sys.modules, "trl", None)
    with pytest.raises(UserError, match=r'pip install -e "\.\[interop\]"'):
        race(SMALL, ("saccade", "trl"), model=SMALL_SIZE, steps=1)


def test_a_race_without_steps_is_refused() -> None:
    with pytest.raises(UserError, match="steps=0"):
        race(SMALL, ("saccade",), model=SMALL_SIZE, steps=0)


def test_turns_that_are_too_short_for_the_models_tokenizer_are_refused_before_a_framework_starts() -> None:
    with pytest.raises(UserError, match="turn_tokens=10 is too short"):
        race(replace(SMALL, turn_tokens=10), ("saccade",), model=SMALL_SIZE, steps=1)


def agreement(**changes: object) -> Agreement:
    values = {"same_tokens": True, "gradient_error": 1e-6, "gradient_norm_error": 1e-6, "entropy_error": 1e-6}
    return Agreement(**{**values, **changes})


def test_times_of_other_work_are_never_shown() -> None:
    check_agreement("trl", agreement(), "float32")
    with pytest.raises(MachineError, match="same tokens"):
        check_agreement("trl", agreement(same_tokens=False), "float32")
    with pytest.raises(MachineError, match=r"differ by 0\.01"):
        check_agreement("trl", agreement(gradient_error=0.01), "float32")
    with pytest.raises(MachineError, match="differ by nan"):
        check_agreement("plain", agreement(gradient_error=float("nan")), "float32")


@pytest.fixture
def warm_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of frameworks begin with torch imported, for tests that are not about what a process costs."""
    monkeypatch.setattr(worker, "_PROCESSES", FRESH)


@pytest.mark.slow
@pytest.mark.usefixtures("warm_workers")
def test_trl_trains_on_the_same_tokens_to_the_same_gradient_with_more_work(tmp_path: Path) -> None:
    told: list[tuple[str, float]] = []
    result = race(
        SMALL,
        ("saccade", "trl"),
        model=SMALL_SIZE,
        steps=1,
        command="saccade bench rl",
        tell=lambda name, report: told.append((name, report.wall_s)),
    )
    assert {name for name, _ in told} == {"saccade", "trl"}
    for name, framework in result.frameworks.items():
        assert [seconds for of, seconds in told if of == name] == [step.wall_s for step in framework.steps]
    assert result.agreements["trl"].same_tokens
    assert result.agreements["trl"].gradient_error < 1e-4
    theirs = result.frameworks["trl"].work
    # Six prompts, then two images in each of six second turns, the six crops once more for their tokens, all again.
    assert theirs.images_preprocessed == 6 + 12 + 6 + 12
    assert (theirs.images_encoded_rollout, theirs.images_encoded_training) == (6 + 12, 12)
    assert theirs.tokens_prefilled == 6 * 60 + 6 * (60 + 50 + 30)
    assert theirs.tokens_decoded == 6 * 2 * 49
    assert theirs.tokens_trained == 6 * (60 + 50 + 30 + 50)
    file = tmp_path / "figures" / "bench.json"
    write_figures(result.as_json(), file)
    written = json.loads(file.read_text())
    assert set(written["frameworks"]) == {"saccade", "trl"}
    ours = written["frameworks"]["saccade"]
    assert ours["cpu_s_min"] == min(ours["cpu_s"][1:])
    assert ours["wall_s_min"] == min(ours["wall_s"][1:])
    assert written["speedup"]["trl"]["cpu"] == written["frameworks"]["trl"]["cpu_s_min"] / ours["cpu_s_min"]
    assert written["frameworks"]["trl"]["versions"]["trl"].startswith("1.16")
    assert ours["peak_mb"] >= ours["resident_mb"] > 0


@pytest.mark.slow
@pytest.mark.usefixtures("warm_workers")
def test_trl_trains_an_adapter_of_a_checkpoint_with_tiles_to_the_same_gradient(tmp_path: Path) -> None:
    spec = checkpoint_spec(tmp_path, "internvl", 4)
    frameworks: tuple[FrameworkName, ...] = ("saccade", "trl", "plain")
    result = race(replace(SMALL, turn_tokens=70), frameworks, model=spec.model, steps=1, lora_rank=4)
    assert result.spec.workload == spec.workload
    assert {peer: found.same_tokens for peer, found in result.agreements.items()} == {"trl": True, "plain": True}
    assert max(found.gradient_error for found in result.agreements.values()) < 1e-4
    assert result.as_json()["lora_rank"] == 4
    assert set(result.speedups("plain")) == {"training_cpu"}


@pytest.mark.usefixtures("warm_workers")
def test_a_framework_that_fails_says_why(tmp_path: Path, spec: BenchSpec) -> None:
    with (
        running_worker("saccade", replace(spec, directory=tmp_path)) as failing,
        pytest.raises(MachineError, match=r"saccade failed in the benchmark(?s:.*)model"),
    ):
        failing.ready()


@pytest.mark.usefixtures("warm_workers")
def test_the_command_writes_its_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bench.json"
    command = ["bench", "rl", "--framework", "saccade", "--image-px", "112", "--steps", "1", "--json", str(file)]
    assert run_command([*command, "--quiet"]) == 0
    assert "tokens prefilled" in capsys.readouterr().out
    written = json.loads(file.read_text())
    assert written["agreement"] == {}
    assert written["workload"]["image_px"] == 112
    assert written["command"].startswith("saccade bench rl --framework saccade")
    assert len(written["frameworks"]["saccade"]["wall_s"]) == 2
