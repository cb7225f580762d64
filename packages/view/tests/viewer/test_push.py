"""Runs on a hub and back: pushed, fetched by name, by us and by huggingface_hub, ``hf``, transformers and datasets."""

import io
import json
import re
import shutil
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from PIL import Image
from viewer_fake_run import hostile_attempt, make_run

import saccade.models
from hubs import SharedHub
from saccade.checksums import CHECKSUMS, damage_in, read_sums, sums_file
from saccade.cli import run_command
from saccade.envs import DEFAULT_VIEW
from saccade.learner.learner import Learner, OptimizerSettings
from saccade.media.store import MediaStore
from saccade.models.checkpoint import ASKING_RECORD
from saccade.models.loading import load_model
from saccade.models.lora import LoraSettings
from saccade.protocols.tagged import tagged_protocol
from saccade.rollout.episodes import EpisodeSpec, RolloutSettings
from saccade.runs.asking import AskingRecord
from saccade.runs.checkpoints import save_checkpoint
from saccade.runs.position import Position
from saccade.runs.records import write_records
from saccade.runs.runinfo import RunPaths
from saccade.tools.images import IMAGE_TOOLS
from saccade.train.plan_record import way_of
from saccade.viewer.evidence import collect
from saccade.viewer.model_card import Rights, model_card

BASE = Path(saccade.models.__file__).parent / "base_checkpoint"
REPO = "me/looker"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_run(tmp_path_factory.mktemp("push") / "looker", n=12)
    checkpoint = root / "checkpoints" / "rl-000030"
    shutil.copytree(BASE, checkpoint)
    (checkpoint / "trainer").mkdir()
    (checkpoint / "trainer" / "position.json").write_text('{"stage": "rl", "step": 30}')
    (checkpoint / "trainer" / "optimizer.pt").write_bytes(b"large")
    (checkpoint / CHECKSUMS).write_bytes(sums_file(checkpoint))
    (root / "config.yaml").write_text("# A title\nrun:\n  model: /home/somebody/base\n  seed: 0\nrl:\n  steps: 30\n")
    return root


def test_a_run_is_pushed_in_one_commit_and_opened_by_others(hub: SharedHub, run: Path, tmp_path: Path) -> None:
    push = ("hf_writes", ["push", str(run), REPO])
    (status, said), (again, _) = hub.told_by(tmp_path, push, push)
    assert (status, again) == (0, 0), said
    repo = hub.state.repos["model", REPO]
    assert said.startswith(f"Pushed: {hub.state.url}/{REPO}/commit/")
    assert repo.messages == ["A run of Saccade"]  # The second push had nothing new.
    assert sum(one.startswith("PUT /blobs/") for one in hub.asked) == 2
    files = hub.state.files("model", REPO)
    added = {"README.md", "trajectory.png", "config.yaml", CHECKSUMS}
    assert set(files) == {*(file.name for file in BASE.iterdir()), *added}
    assert files["model.safetensors"] == (BASE / "model.safetensors").read_bytes()
    assert files["config.yaml"] == b"# A title\nrun:\n  model: base\n  seed: 0\nrl:\n  steps: 30\n"
    opened = (
        "import huggingface_hub as h, transformers as t; m = t.AutoModelForImageTextToText.from_pretrained('me/looker')"
    )
    told = hub.run(f"{opened}; print(h.snapshot_download('me/looker'), type(m).__name__)", tmp_path).split()
    assert told[1] == "Qwen3VLForConditionalGeneration"
    assert {one.name for one in Path(told[0]).iterdir()} >= set(files)
    assert damage_in(Path(told[0])) is None
    assert [one.file for one in read_sums(Path(told[0]))] == sorted(file.name for file in BASE.iterdir())


def test_an_adapter_that_is_pushed_has_the_checksum_of_its_new_configuration(run: Path, tmp_path: Path) -> None:
    copied, written = shutil.copytree(run, tmp_path / "run"), tmp_path / "files"
    checkpoint = copied / "checkpoints" / "rl-000030"
    base = "/home/me/hub/models--me--base/snapshots/0123456"
    (checkpoint / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": base}))
    (checkpoint / CHECKSUMS).write_bytes(sums_file(checkpoint))
    assert run_command(["push", str(copied), REPO, "--only-write", str(written)]) == 0
    assert json.loads((written / "adapter_config.json").read_text())["base_model_name_or_path"] == "me/base"
    assert damage_in(written) is None


def test_the_card_has_figures_with_intervals_settings_and_a_trajectory(run: Path, tmp_path: Path) -> None:
    assert run_command(["push", str(run), REPO, "--only-write", str(tmp_path / "files")]) == 0
    text = (tmp_path / "files" / "README.md").read_text()
    head = yaml.safe_load(text.split("---\n")[1])
    assert head["model-index"][0]["name"] == "looker"
    assert [one["dataset"]["type"] for one in head["model-index"][0]["results"]] == [
        "after_sft",
        "after_rl",
        "after_rl_without_tool",
    ]
    figures = "| after rl | 12 | 66.7 % | 39.1 % to 86.2 % | 100 % |"  # Wilson's interval of 8 of 12.
    assert figures in text.replace("\N{NO-BREAK SPACE}", " ")
    assert "![What the policy saw" in text
    assert "learning_rate: 0.002" in text
    with Image.open(io.BytesIO((tmp_path / "files" / "trajectory.png").read_bytes())) as picture:
        assert picture.height == 256
        assert picture.width > 400  # The question's picture and the crop beside it.
    assert run_command(["push", str(run), REPO, "--only-write", str(tmp_path / "files")]) == 2


def test_nothing_that_a_model_wrote_becomes_markup(run: Path, tmp_path: Path) -> None:
    root = tmp_path / "hostile"
    shutil.copytree(run, root)
    paths, media = RunPaths(root=root), MediaStore()
    for file in paths.evaluations.iterdir():
        file.unlink()
    attempt = hostile_attempt(media.add(Image.new("RGB", (32, 32))))
    place = Position(stage="after_rl", step=1)
    write_records(paths.evaluations / "after_rl.jsonl", place, [attempt], media=media, media_directory=paths.media)
    assert run_command(["push", str(root), REPO, "--only-write", str(tmp_path / "files")]) == 0
    text = (tmp_path / "files" / "README.md").read_text()
    outside = "".join(text.split("```")[::2])
    assert "<script>" in text
    assert "<script>" not in outside
    assert "\u202e" not in text
    assert len(text) < 30_000


@pytest.mark.parametrize("name", ["checkpoints/rl-000030/notes.txt", "report.html"])
def test_a_link_out_of_the_run_is_not_pushed(
    run: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    secret, stranger = tmp_path / "secret", tmp_path / "stranger"
    secret.write_text("a key")
    shutil.copytree(run, stranger)
    (stranger / name).symlink_to(secret)
    also = ["--report"] if name == "report.html" else []
    assert run_command(["push", str(stranger), REPO, *also, "--only-write", str(tmp_path / "out")]) == 2
    assert f"is a link to {secret}" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("text", ["[" * 5000, "a: &a [*a]", "a list", "a: !!bool x"])
def test_a_configuration_that_no_run_wrote_is_not_pushed(
    run: Path, tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    stranger = tmp_path / "stranger"
    shutil.copytree(run, stranger)
    (stranger / "config.yaml").write_text(text)
    assert run_command(["push", str(stranger), REPO, "--only-write", str(tmp_path / "out")]) == 2
    assert str(stranger / "config.yaml") in capsys.readouterr().err


def test_what_the_hub_refuses_is_told(hub: SharedHub, run: Path, tmp_path: Path) -> None:
    hub.state.add("model", "them/hidden", {"config.json": b"{}"}, is_private=True)
    hub.state.add("model", REPO, {"config.json": b"{}"})
    (tmp_path / "them" / "folder").mkdir(parents=True)
    (tmp_path / "runs").mkdir()
    plan = ["plan-memory", "--gpus", "1", "--model"]
    asked = [
        ("", ["push", str(run), REPO], "needs a token that may write: set HF_TOKEN"),
        ("hf_reads", ["push", str(run), "me/new"], "does not let this token write to me/new"),
        ("hf_writes", ["push", str(run), "them/new"], "does not let this token write to them/new"),
        ("hf_wrong", ["push", str(run), REPO], "refuses the token"),
        ("hf_writes", ["push", str(run), REPO, "--branch", "next"], "has no branch, tag or commit 'next'"),
        ("hf_writes", ["push", str(run), "no name"], "give OWNER/NAME"),
        ("hf_writes", ["push", str(run), REPO, "--checkpoint", "rl-1"], "it has rl-000030"),
        ("", [*plan, "me/nothing"], "there is no such file or folder here, and there is no model me/nothing on http"),
        ("hf_reads", [*plan, "hf:them/hidden"], "your token may not read it"),
        ("", [*plan, f"{REPO}@v9"], "has no branch, tag or commit 'v9'"),
        ("hf_wrong", [*plan, REPO], "refuses the token"),
        ("", [*plan, "runs/mine"], "; hf:runs/mine would be the one on the hub"),
    ]
    told = hub.told_by(tmp_path, *((token, command) for token, command, _ in asked))
    assert [(status, part in said) for (status, said), (_, _, part) in zip(told, asked)] == [(2, True)] * len(asked), (
        told
    )
    # A folder of that name is the folder, with no question to the hub; hf: means the hub.
    before = len(hub.asked)
    (_, own), (_, far) = hub.told_by(tmp_path, ("", [*plan, "them/folder"]), ("", [*plan, "hf:them/folder"]))
    assert "config.json" in own
    assert "there is no model them/folder on" in far
    assert len(hub.asked) == before + 1


def test_a_push_that_a_variable_forbids_names_the_variable(hub: SharedHub, run: Path, tmp_path: Path) -> None:
    [(status, told)] = hub.told_by(tmp_path, ("hf_writes", ["push", str(run), REPO]), HF_HUB_OFFLINE="1")
    assert (status, "HF_HUB_OFFLINE is set" in told, "try again" in told) == (2, True, False)


def test_without_a_connection_the_cache_is_enough(hub: SharedHub, tmp_path: Path) -> None:
    hub.state.add("model", "me/base", {file.name: file.read_bytes() for file in BASE.iterdir()})
    command = ("", ["plan-memory", "--gpus", "1", "--model", "me/base"])
    [(first, said)] = hub.told_by(tmp_path, command)
    assert first == 0, said
    other = ("", [*command[1][:-1], "me/other"])
    [(second, _), (status, told)] = hub.told_by(tmp_path, command, other, HF_ENDPOINT="http://127.0.0.1:9")
    assert (second, status) == (0, 3)
    assert "http://127.0.0.1:9 cannot be reached and the cache" in told
    [(offline, why)] = hub.told_by(tmp_path, other, HF_HUB_OFFLINE="1")
    assert (offline, "HF_HUB_OFFLINE is set" in why) == (3, True)


def test_a_download_that_is_cut_off_or_killed_goes_on(hub: SharedHub, tmp_path: Path) -> None:
    hub.state.add("model", "me/base", {file.name: file.read_bytes() for file in BASE.iterdir()})
    hub.waits.set()
    code = "from saccade.interop.hub import *; print(fetch_repository(hub_name('me/base'), 'model'))"
    child = subprocess.Popen([sys.executable, "-c", code], env=hub.environment, stdout=subprocess.DEVNULL)
    while not any(one.startswith("GET /blobs/") for one in hub.asked):
        assert child.poll() is None
        time.sleep(0.02)
    waited_for = {one.split("/")[-1] for one in hub.asked if one.startswith("GET ") and "/resolve/" in one}
    child.kill()
    child.wait()
    hub.waits.clear()
    hub.asked.clear()
    hub.cuts.append(100_000)
    folder = Path(hub.run(code, tmp_path).strip())
    assert {one.name: one.read_bytes() for one in folder.iterdir()} == hub.state.files("model", "me/base")
    # The weights were asked for twice: once cut off, once from there on.
    assert sum(one.startswith("GET /blobs/") for one in hub.asked) == 2
    assert {one.split("/")[-1] for one in hub.asked if one.startswith("GET ") and "/resolve/" in one} <= (
        {file.name for file in BASE.iterdir()} - waited_for
    ) | waited_for


def test_questions_are_read_from_the_hub(hub: SharedHub, tmp_path: Path) -> None:
    picture = io.BytesIO()
    Image.new("RGB", (40, 40), "red").save(picture, format="PNG")
    row = {"question": "Which colour?", "answer": "red", "image": "pictures/a.png"}
    plain = {"rows.jsonl": json.dumps(row).encode(), "pictures/a.png": picture.getvalue()}
    hub.state.add("dataset", "me/plain", plain)
    deep = {
        f"data/{name}-0.jsonl": json.dumps({"question": name, "answer": "a"}).encode() for name in ("train", "test")
    }
    hub.state.add("dataset", "me/deep", deep)
    code = """
from pathlib import Path
from saccade.cli.machine import existing
from saccade.media.store import MediaStore
from saccade.tasks.files import read_tasks
for name in ("me/plain", "me/deep", "me/deep:test", "me/deep@main:test"):
    read = read_tasks(existing("--data", Path(name)), media=MediaStore()).tasks
    print([(one.question, len(one.images)) for one in read])
"""
    told = hub.run(code, tmp_path).splitlines()
    assert told == ["[('Which colour?', 1)]", "[('train', 0)]", "[('test', 0)]", "[('test', 0)]"]


def test_the_hub_of_the_tests_serves_the_hf_command(hub: SharedHub, run: Path, tmp_path: Path) -> None:
    env = {**hub.environment, "HF_TOKEN": "hf_writes"}
    tool = str(Path(sys.executable).parent / "hf")
    for words in (
        ["upload", "me/by-hf", str(BASE), "."],
        ["download", "me/by-hf", "--local-dir", str(tmp_path / "got")],
    ):
        done = subprocess.run([tool, *words], env=env, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "got" / "model.safetensors").read_bytes() == (BASE / "model.safetensors").read_bytes()


def test_a_card_shows_a_trajectory_of_the_pushed_checkpoint_alone(run: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(run, tmp_path / "run")
    evidence = collect(RunPaths(root=copied))
    measured = {one.name: one for one in evidence.evaluations}
    own = {attempt.task.question for attempt in measured["after_rl"].attempts}
    card = model_card(evidence, repo=REPO, checkpoint=copied / "checkpoints" / "rl-000030")
    assert any(question in card.text for question in own)
    halfway = model_card(evidence, repo=REPO, checkpoint=copied / "checkpoints" / "rl-000010")
    (copied / "evaluations" / "after_rl.jsonl").unlink()
    only_before = collect(RunPaths(root=copied))
    unmeasured = model_card(only_before, repo=REPO, checkpoint=copied / "checkpoints" / "rl-000030")
    for one in (halfway, unmeasured):
        assert (one.picture, "## A trajectory" in one.text) == (None, False)


def test_an_adapter_of_a_folder_is_pushed_with_the_base_that_its_reader_needs(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copied, written = shutil.copytree(run, tmp_path / "my run"), tmp_path / "files"
    checkpoint = copied / "checkpoints" / "rl-000030"
    (checkpoint / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "/home/me/secret base"}))
    (checkpoint / CHECKSUMS).write_bytes(sums_file(checkpoint))
    push = ["push", str(copied), REPO, "--only-write", str(written)]
    assert run_command(push) == 2
    assert "--base OWNER/NAME" in capsys.readouterr().err
    assert run_command([*push, "--base", "/home/me/secret base"]) == 2
    assert not written.exists()
    assert run_command([*push, "--base", "them/base", "--license", "apache-2.0"]) == 0
    assert json.loads((written / "adapter_config.json").read_text())["base_model_name_or_path"] == "them/base"
    assert damage_in(written) is None
    text = (written / "README.md").read_text()
    head = yaml.safe_load(text.split("---\n")[1])
    assert (head["base_model"], head["license"]) == ("them/base", "apache-2.0")
    assert "licensed under apache-2.0" in text
    assert not [file for file in written.rglob("*") if b"secret" in file.read_bytes()]


def test_a_card_without_a_licence_says_whose_terms_apply(run: Path) -> None:
    evidence, checkpoint = collect(RunPaths(root=run)), run / "checkpoints" / "rl-000030"
    card = model_card(evidence, repo=REPO, checkpoint=checkpoint, rights=Rights(base="them/base"))
    assert "named no licence; the terms of `them/base` apply" in card.text


def code_of(card: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", card, re.DOTALL)


def test_the_code_of_a_card_runs_as_it_stands(hub: SharedHub, run: Path, tmp_path: Path) -> None:
    written = tmp_path / "files"
    assert run_command(["push", str(run), REPO, "--only-write", str(written)]) == 0
    hub.state.add("model", REPO, {file.name: file.read_bytes() for file in written.iterdir() if file.is_file()})
    Image.new("RGB", (96, 64), "red").save(tmp_path / "picture.png")
    with_tools, alone = code_of((written / "README.md").read_text())
    assert "\nAnswer: " in hub.run(with_tools, tmp_path)
    compile(alone, "card", "exec")
    if find_spec("torchvision") is not None:  # Without it transformers makes no processor of these families.
        assert "Turn: " in hub.run(alone, tmp_path)


def test_the_code_of_an_adapters_card_fetches_its_base(hub: SharedHub, run: Path, tmp_path: Path) -> None:
    copied, written = shutil.copytree(run, tmp_path / "run"), tmp_path / "files"
    checkpoints = RunPaths(root=copied).checkpoints
    shutil.rmtree(checkpoints)
    model = load_model(shutil.copytree(BASE, tmp_path / "own base"), MediaStore())
    Learner(model, OptimizerSettings(lora=LoraSettings(rank=2)))
    save_checkpoint(checkpoints, Position(stage="rl", step=30), model, None)
    assert run_command(["push", str(copied), REPO, "--base", "them/base", "--only-write", str(written)]) == 0
    assert not [file for file in written.rglob("*") if b"own base" in file.read_bytes()]
    shutil.rmtree(tmp_path / "own base")
    for name, folder in ((REPO, written), ("them/base", BASE)):
        hub.state.add("model", name, {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()})
    Image.new("RGB", (96, 64), "red").save(tmp_path / "picture.png")
    [with_tools] = code_of((written / "README.md").read_text())
    assert "\nAnswer: " in hub.run(with_tools, tmp_path)


def test_a_card_has_the_instructions_that_the_policy_was_trained_with(run: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(run, tmp_path / "run")
    checkpoint = copied / "checkpoints" / "rl-000030"
    protocol = tagged_protocol(style="brief", max_turns=2)
    episodes = EpisodeSpec(protocol=protocol, tools=IMAGE_TOOLS, rollout=RolloutSettings(), max_turns=2)
    way = way_of(episodes, DEFAULT_VIEW)
    (checkpoint / ASKING_RECORD).write_text(json.dumps({"version": 1, **AskingRecord(evaluated=(way,)).as_json()}))
    _, alone = code_of(model_card(collect(RunPaths(root=copied)), repo=REPO, checkpoint=checkpoint).text)
    assert way.system
    assert repr(way.system) in alone
    compile(alone, "card", "exec")
