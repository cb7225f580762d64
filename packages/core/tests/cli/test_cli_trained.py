"""By commands: the projector alone on captions, then the projector whole beside an adapter, then one checkpoint."""

import json
from pathlib import Path

import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from saccade.cli import run_command
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model

COLOURS = ("red", "green", "blue", "white")
SIZE = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48)
TRAINED = "sft.optimizer.trained=multi_modal_projector"
FEW = ("sft.steps=2", "sft.batch_size=2", "sft.checkpoint_every=1", "sft.warmup_steps=0")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    tiny_model(["What is it? A square"] * 9, MediaStore(), family="internvl", size=SIZE, vocab_size=320).save(folder)
    return folder


@pytest.fixture(scope="module")
def captions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("captions")
    rows = []
    for colour in COLOURS:
        Image.new("RGB", (32, 32), colour).save(folder / f"{colour}.png")
        said = [
            {"role": "user", "content": "<image>What is it?"},
            {"role": "assistant", "content": f"A {colour} square"},
        ]
        rows.append({"messages": said, "images": [f"{colour}.png"]})
    (folder / "captions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "captions.jsonl"


def train(model: Path, data: Path, out: Path, *settings: str) -> int:
    overrides = [word for one in (*FEW, *settings) for word in ("--set", one)]
    return run_command(["train", "sft", "--model", str(model), "--data", str(data), *overrides, "--out", str(out)])


def changed(before: Path, after: Path) -> set[str]:
    old, new = (load_file(path / "model.safetensors") for path in (before, after))
    assert old.keys() == new.keys()
    return {name for name in old if not torch.equal(old[name], new[name])}


def test_a_projector_is_trained_alone_and_then_beside_an_adapter_and_merged(
    model: Path, captions: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert train(model, captions, tmp_path / "aligned", TRAINED) == 0
    assert "stage sft: trained: 6 of 54 weights (5,440 of 49,232 numbers): model.multi_modal_projector" in caplog.text
    aligned = tmp_path / "aligned" / "checkpoints" / "sft-000002"
    projector = changed(model, aligned)
    assert len(projector) == 6
    assert all("multi_modal_projector" in name for name in projector)

    assert train(aligned, captions, tmp_path / "tuned", TRAINED, "sft.optimizer.lora.rank=2") == 0
    tuned = tmp_path / "tuned" / "checkpoints" / "sft-000002"
    config = json.loads((tuned / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == str(aligned)
    assert {name.rpartition(".")[0] for name in config["modules_to_save"]} == {"model.multi_modal_projector"}
    assert not (tuned / "model.safetensors").exists()

    assert run_command(["merge", str(tuned), str(tmp_path / "merged")]) == 0
    moved = changed(aligned, tmp_path / "merged")
    assert projector < moved
    assert all("multi_modal_projector" in name or "_proj.weight" in name for name in moved)


def test_a_stage_that_trains_nothing_ends_before_any_work(
    model: Path, captions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert train(model, captions, out, "sft.optimizer.trained=projektor") == 2
    assert "trained='projektor' is found in no weight's name" in capsys.readouterr().err
    assert not out.exists()


def test_the_names_of_others_for_it_are_told_ours(
    model: Path, captions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(model, captions, tmp_path / "run", "sft.optimizer.modules_to_save=projector") == 2
    assert "sft.optimizer.trained" in capsys.readouterr().err
