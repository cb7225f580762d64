"""The commands over small models in the files that publishers wrote, from a folder and by name from a hub."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from PIL import Image

from hubs import SharedHub
from places import ROOT
from published_models import SIZES, write_published
from saccade.cli import run_command
from warm import WarmProcess

NAMES = ("Qwen/Qwen2.5-VL-3B-Instruct", "Qwen/Qwen3-VL-4B-Instruct", "OpenGVLab/InternVL3-8B-hf")
PORT = re.compile(rb'"serving".*"port": (\d+)')
SMALL = ("sft.steps=0", "rl.steps=1", "rl.tasks_per_step=2", "rl.group_size=2", "rollout.max_turn_tokens=8")
PICTURES = ("--set", "model.max_pixels=30000")


def small(*also: str) -> list[str]:
    return [word for setting in (*SMALL, *also) for word in ("--set", setting)]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("questions")
    rows = []
    for index, colour in enumerate(("red", "green", "blue", "red", "green", "blue")):
        Image.new("RGB", (80 + index, 60), colour).save(folder / f"{index}.png")
        rows.append({"question": "Which colour?", "answer": colour, "image": f"{index}.png"})
    (folder / "my.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "my.jsonl"


@pytest.mark.parametrize("name", NAMES)
def test_a_published_model_trains_is_measured_and_adapted(name: str, data: Path, tmp_path: Path) -> None:
    model, run = tmp_path / name.split("/")[1], tmp_path / "run"
    write_published(model, name)
    whole = ["train", "questions", "--model", str(model), "--data", str(data), *PICTURES, "--quiet"]
    assert run_command(["plan-memory", "--model", str(model)]) == 0
    assert run_command([*whole, *small(), "--out", str(run)]) == 0
    trained = run / "checkpoints" / "rl-000001"
    assert run_command(["eval", "--model", str(trained), "--data", str(data), "--out", str(tmp_path / "seen")]) == 0
    assert run_command([*whole, *small("rl.optimizer.lora.rank=2"), "--out", str(tmp_path / "lora")]) == 0
    adapter = tmp_path / "lora" / "checkpoints" / "rl-000001"
    assert run_command(["merge", str(adapter), str(tmp_path / "merged")]) == 0
    assert run_command(["push", str(run), "me/it", "--only-write", str(tmp_path / "pushed")]) == 0
    assert "What the policy saw" in (tmp_path / "pushed" / "README.md").read_text()


@pytest.mark.parametrize("name", [NAMES[0], *(pytest.param(one, marks=pytest.mark.full) for one in NAMES[1:])])
def test_a_published_model_is_served_with_its_tools_and_chatted_with(name: str, tmp_path: Path) -> None:
    model = tmp_path / "model"
    write_published(model, name)
    served = ["serve-agent", "--model", str(model), "--port", "0", "--turns", "1", "--set", "rollout.max_turn_tokens=8"]
    with WarmProcess([sys.executable, "-m", "saccade", *served], stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        port = next(int(found[1]) for line in process.stderr if (found := PORT.search(line)))
        asked = {"model": "saccade", "messages": [{"role": "user", "content": "Which colour is <video>?"}]}
        told = httpx2.post(f"http://127.0.0.1:{port}/v1/chat/completions", json=asked, timeout=120)
        process.terminate()
        process.communicate(timeout=180)
    assert told.status_code == 200, told.text
    assert told.json()["choices"][0]["message"]["role"] == "assistant"
    chat = ["chat", str(model), "--out", str(tmp_path / "chat"), "--port", "0", "--no-open"]
    with WarmProcess([sys.executable, "-m", "saccade", *chat], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"Chat: http://127.0.0.1:")
        process.terminate()
        process.communicate(timeout=180)


def told_by(hub: SharedHub, folder: Path, *commands: list[str]) -> list[tuple[int, str]]:
    """Status and words of each command of one who may write."""
    return hub.told_by(folder, *(("hf_writes", command) for command in commands))


def test_a_name_is_looked_at_before_its_weights_and_before_the_data(hub: SharedHub, tmp_path: Path) -> None:
    """InternVL3's first repositories hold code of their own; 16 GB of them would be of no use."""
    old = {"model_type": "internvl_chat", "auto_map": {"AutoModel": "modeling_internvl_chat.InternVLChatModel"}}
    files = {"config.json": json.dumps(old).encode(), "model.safetensors": b"many"}
    hub.state.add("model", "OpenGVLab/InternVL3-8B", files)
    (tmp_path / "empty").mkdir()
    train = ["train", "questions", "--data", "me/questions", "--out", "run", "--model"]
    by_name, in_folder = told_by(hub, tmp_path, [*train, "OpenGVLab/InternVL3-8B"], [*train, "empty"])
    asked = list(hub.asked)
    assert by_name[0] == in_folder[0] == 2
    assert "copies that need no code of their own often have names that end in -hf" in by_name[1]
    assert "no such file or folder" not in by_name[1]
    assert "empty holds no config.json" in in_folder[1]
    assert any(one.endswith("/config.json") for one in asked)
    assert not any("safetensors" in one or "/blobs/" in one or "datasets" in one for one in asked), asked


def test_a_published_model_is_planned_measured_and_its_adapter_opened_by_name(
    hub: SharedHub, data: Path, tmp_path: Path
) -> None:
    name = "Qwen/Qwen2.5-VL-3B-Instruct"
    write_published(tmp_path / "model", name)
    evaluate = ["eval", "--data", str(data), *PICTURES, "--set", "rollout.max_turn_tokens=8", "--quiet", "--model"]
    train = ["train", "questions", "--model", name, "--data", str(data), *PICTURES, "--quiet", "--out", "runs/lora"]
    files = {file.name: file.read_bytes() for file in (tmp_path / "model").iterdir()}
    hub.state.add("model", name, files)
    [(planned, said)] = told_by(hub, tmp_path, ["plan-memory", "--model", name])
    assert planned == 0, said
    assert not any("safetensors" in one or "/blobs/" in one for one in hub.asked)
    done = told_by(hub, tmp_path, [*train, *small("rl.optimizer.lora.rank=2")], ["push", "runs/lora", "me/lora"])
    assert [status for status, _ in done] == [0, 0], done
    assert json.loads(hub.state.files("model", "me/lora")["adapter_config.json"])["base_model_name_or_path"] == name
    # Elsewhere nothing of it is there, and the base is found by the name that the adapter has for it.
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    hub.forget()
    opened = told_by(hub, elsewhere, ["plan-memory", "--model", "me/lora"], [*evaluate, "me/lora", "--out", "seen"])
    assert [status for status, _ in opened] == [0, 0], opened


DOCS = ROOT
TRAIN, PUSH = "saccade train questions --data my.jsonl --model Qwen/", "saccade push runs/mine"


def shown(page: str, begins: str) -> list[str]:
    """The command of a page that begins so, word by word as it stands there."""
    lines = (line.strip() for line in (DOCS / page).read_text(encoding="utf-8").splitlines())
    (found,) = [line for line in lines if line.startswith(begins)]
    return shlex.split(found, comments=True)[1:]


def test_the_commands_of_the_pages_run_as_they_stand_there(hub: SharedHub, data: Path, tmp_path: Path) -> None:
    """Of the model alone the size is another; what is added makes the run short."""
    trained = shown("README.md", TRAIN)
    planned = shown("docs/photo_task.md", "saccade plan-memory --model Qwen/")
    measured = shown("docs/guide.md", "saccade eval --model runs/mine/checkpoints/rl-000100 --data")
    name = trained[trained.index("--model") + 1]
    assert name in planned
    write_published(tmp_path / "model", name)
    for file in data.parent.iterdir():
        shutil.copy(file, tmp_path)
    shutil.copy(data, tmp_path / "other.jsonl")
    after = [word.replace("rl-000100", "rl-000001") for word in measured]
    hub.state.add("model", name, {file.name: file.read_bytes() for file in (tmp_path / "model").iterdir()})
    short = [*small(), *PICTURES]
    done = told_by(hub, tmp_path, planned, [*trained, *short], after, shown("README.md", PUSH))
    assert [status for status, _ in done] == [0, 0, 0, 0], done
    assert "model.safetensors" in hub.state.files("model", "me/my-model")


def test_every_model_that_the_pages_train_was_published_in_files_that_are_tested() -> None:
    pages = [DOCS / "README.md", *(DOCS / "docs").glob("*.md"), *(DOCS / "examples").rglob("*.md")]
    lines = [line for page in pages for line in page.read_text(encoding="utf-8").splitlines() if "saccade " in line]
    named = {name for line in lines for name in re.findall(r"--model ((?:Qwen|OpenGVLab)/[\w.-]+)", line)}
    assert len(named) >= 2
    assert named <= SIZES.keys()
