"""``saccade check``, and every command that loads a checkpoint whose files are not what was written."""

import json
import os
import shutil
from pathlib import Path

import pytest

from saccade.checksums import CHECKSUMS, read_sums
from saccade.cli import run_command
from saccade.learner.learner import Learner, OptimizerSettings
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.loading import load_model
from saccade.models.lora import LoraSettings
from saccade.models.vlm import VisionLanguageModel
from saccade.runs.checkpoints import prune_checkpoints, save_checkpoint
from saccade.runs.directory import RunDirectory
from saccade.runs.position import Position

SIZE = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48)


def fresh() -> VisionLanguageModel:
    return tiny_model(["Which colour?"] * 9, MediaStore(), size=SIZE, vocab_size=300, seed=1)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a whole checkpoint, one of an adapter and its base."""
    root = tmp_path_factory.mktemp("made") / "runs" / "mine"
    with RunDirectory.create(root, resume=False, settings={"seed": 1}) as run:
        (run.paths.media / "00.png").write_bytes(b"a picture")
        model = fresh()
        save_checkpoint(run.paths.checkpoints, Position(stage="rl", step=1), model, Learner(model, OptimizerSettings()))
        Learner(model, OptimizerSettings(lora=LoraSettings(rank=2)))
        save_checkpoint(run.paths.checkpoints, Position(stage="lora", step=1), model, None)
        run.finish("finished")
    return root


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made.parent, tmp_path / "runs") / "mine"


def changed(path: Path) -> Path:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    return path


def checked(path: Path, *more: str) -> int:
    return run_command(["check", str(path), *more])


def test_whole_runs_are_counted_with_what_others_added(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint = run / "checkpoints" / "rl-000001"
    (checkpoint / "README.md").write_text("added")
    (run.parent / "notes").mkdir()
    assert checked(run.parent) == 0
    said = capsys.readouterr().out
    assert f"{run}: 3 files are whole" in said
    assert f"{checkpoint}: 9 files are whole" in said
    assert "without a checksum: README.md" in said
    assert f"{run}/checkpoints/base-lora: " in said


def test_damaged_and_missing_files_are_named_and_the_status_is_1(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed(run / "checkpoints" / "rl-000001" / "model.safetensors")
    (run / "media" / "00.png").unlink()
    assert checked(run) == 1
    said = capsys.readouterr().out
    assert "  model.safetensors is damaged (its bytes are not those that were written)\n" in said
    assert "  media/00.png is missing\n" in said
    assert checked(run, "--json") == 1
    values = json.loads(capsys.readouterr().out)
    assert (values[0]["whole"], [damage["kind"] for damage in values[0]["damages"]]) == (2, ["missing"])


def test_what_is_no_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert checked(tmp_path / "nowhere") != 0
    assert checked(tmp_path) != 0
    assert "holds no run and no checkpoint" in capsys.readouterr().err


def test_checkpoints_of_others_are_said_to_have_no_checksums(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint = run / "checkpoints" / "rl-000001"
    (checkpoint / CHECKSUMS).unlink()
    changed(checkpoint / "model.safetensors")
    assert checked(checkpoint) == 0
    assert "no checksums" in capsys.readouterr().out
    load_model(checkpoint, MediaStore())


def test_a_damaged_checkpoint_is_refused_by_the_commands_that_load_it(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, adapter = run / "checkpoints" / "rl-000001", run / "checkpoints" / "lora-000001"
    changed(whole / "tokenizer.json")
    changed(run / "checkpoints" / "base-lora" / "model.safetensors")
    data = tmp_path / "tasks.jsonl"
    data.write_text('{"question": "1 + 1?", "answer": "2"}\n')
    for command, file in (
        (["eval", "--model", str(whole), "--data", str(data), "--out", str(tmp_path / "out")], "tokenizer.json"),
        (["serve-agent", "--model", str(whole), "--port", "0"], "tokenizer.json"),
        (["merge", str(adapter), str(tmp_path / "merged")], "base-lora/model.safetensors"),
        (["push", str(run), "me/mine", "--checkpoint", "rl-000001", "--only-write", str(tmp_path / "w")], "tokenizer"),
    ):
        assert run_command(command) != 0, command
        said = capsys.readouterr().err
        assert f"{file}" in said, command
        assert "is damaged" in said, command
        assert "--accept" in said, command


def test_what_training_alone_needs_may_be_missing_where_a_model_is_loaded(run: Path) -> None:
    checkpoint = run / "checkpoints" / "rl-000001"
    shutil.rmtree(checkpoint / "trainer")
    load_model(checkpoint, MediaStore())
    assert checked(checkpoint) == 1


@pytest.mark.parametrize("name", ["saccade_checksums.jsonl", "config.json"])
def test_a_change_that_was_meant_is_accepted(run: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    checkpoint = run / "checkpoints" / "rl-000001"
    changed(run / "settings.json")
    (run / "media" / "00.png").unlink()
    (checkpoint / name).write_text((checkpoint / name).read_text() + "\n")
    (checkpoint / CHECKSUMS).write_bytes((checkpoint / CHECKSUMS).read_bytes() + b"{}\n")
    assert checked(run) == 1
    assert checked(run, "--accept") == 0
    assert checked(run) == 0
    load_model(checkpoint, MediaStore())
    capsys.readouterr()
    assert checked(run.parent, "--accept") != 0
    assert "takes one run or checkpoint" in capsys.readouterr().err


def test_a_run_that_is_being_written_is_not_accepted(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with RunDirectory.create(run, resume=True, settings={"seed": 1}):
        assert checked(run, "--accept") != 0
    assert "is being written by another process" in capsys.readouterr().err


def test_merged_checkpoints_have_checksums_and_a_model_saved_over_one_has_none(run: Path, tmp_path: Path) -> None:
    merged = tmp_path / "merged"
    assert run_command(["merge", str(run / "checkpoints" / "lora-000001"), str(merged)]) == 0
    assert "model.safetensors" in {one.file for one in read_sums(merged)}
    model = load_model(merged, MediaStore())
    next(model.hf.parameters()).data.add_(1.0)
    model.save(merged)
    assert not (merged / CHECKSUMS).exists()
    load_model(merged, MediaStore())


def test_what_transformers_saves_over_a_checkpoint_is_told_apart_from_damage_by_the_user(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = run / "checkpoints" / "rl-000001"
    hf = load_model(checkpoint, MediaStore()).hf
    next(hf.parameters()).data.add_(1.0)
    hf.save_pretrained(checkpoint)
    assert checked(checkpoint) == 1
    assert checked(checkpoint, "--accept") == 0
    load_model(checkpoint, MediaStore())


def test_the_optimizer_that_a_later_stage_drops_is_not_missed(run: Path) -> None:
    model = fresh()
    checkpoints = run / "checkpoints"
    save_checkpoint(checkpoints, Position(stage="next", step=1), model, Learner(model, OptimizerSettings()))
    prune_checkpoints(checkpoints, Position(stage="next", step=1), kept=1)
    assert not (checkpoints / "rl-000001" / "trainer" / "optimizer.pt").exists()
    assert checked(checkpoints / "rl-000001") == 0


def test_a_strangers_run_makes_no_check_wait_and_no_terminal_change(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(run / "media" / "pipe")
    (run / "media" / "\x1b[31mred").touch()
    with (run / CHECKSUMS).open("a") as file:
        file.write('{"file": "media/pipe", "bytes": 1, "xxh3_128": ""}\n')
        file.write('{"file": "media/\\u001b[2J", "bytes": 1, "xxh3_128": ""}\n')
    assert checked(run) == 1
    said = capsys.readouterr().out
    assert "media/pipe is damaged (it is a FIFO, not a file)" in said
    assert "\x1b" not in said
    with (run / CHECKSUMS).open("a") as file:
        file.write('{"file": "../../../etc/passwd", "bytes": 1, "xxh3_128": ""}\n')
    assert checked(run) == 1
    assert "which is not in this folder" in capsys.readouterr().out
