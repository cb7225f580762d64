"""``saccade benchmarks`` and ``saccade reread``."""

import base64
import io
import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from saccade.cli.entry import run_command
from saccade.evaluation.benchmarks import open_benchmark
from saccade.media.store import MediaStore
from saccade.runs.position import Position
from saccade.runs.records import write_records
from saccade.runs.runinfo import RunPaths
from saccade.testing.chat_server import ChatServer, chat_reply
from saccade.types import Answer, Attempt, Trajectory, Turn


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a small file of V*."""
    buffer = io.BytesIO()
    Image.new("RGB", (12, 12)).save(buffer, "PNG")
    image = base64.b64encode(buffer.getvalue()).decode()
    row = {"question": "Which?", "A": "red", "B": "blue", "answer": "B", "category": "c", "image": image}
    path = tmp_path / "VStarBench.tsv"
    pd.DataFrame([{"index": place, **row} for place in range(2)]).to_csv(path, sep="\t", index=False)
    return tmp_path


def test_what_is_ready_is_listed_and_what_is_not_is_told_where_to_put(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["benchmarks", "--dir", str(folder), "--suite", "ivgr"]) == 0
    told = capsys.readouterr().out
    assert f"ready: {folder / 'VStarBench.tsv'}" in told
    assert f"put {folder / 'POPE.tsv'}" in told
    assert "1 of 15 are ready." in told


def test_a_file_that_is_not_the_published_one_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["benchmarks", "vstar", "--dir", str(folder), "--check"]) == 0
    assert "NOT a published file (b18854d7075574be06b631cd5f7d2d6a)" in capsys.readouterr().out
    (folder / "VStarBench.tsv").write_text("index\timage\n1\tx\n")
    assert run_command(["benchmarks", "vstar", "--dir", str(folder), "--check"]) == 2
    assert "is no file of V* Bench: the columns question, answer" in capsys.readouterr().out


def test_programs_get_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["benchmarks", "vstar", "pope", "--dir", str(folder), "--json"]) == 0
    vstar, pope = json.loads(capsys.readouterr().out)
    assert (vstar["ready"], pope["ready"], vstar["headline"]) == (True, False, "vlmevalkit")


def test_an_unknown_name_lists_the_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["benchmarks", "vstarr"]) == 2
    assert "there is no benchmark 'vstarr'; choose one of vstar, hrbench-4k" in capsys.readouterr().err


def played(folder: Path, run: Path) -> None:
    """A run that answered both questions of V* in words that no rule reads."""
    media = MediaStore()
    opened = open_benchmark("vstar", folder, media=media)
    attempts = [
        Attempt(
            task=task,
            trajectory=Trajectory(
                task_id=task.id,
                family=task.family,
                stream="evaluation",
                sample=0,
                seed=0,
                policy_version=0,
                segments=(),
                turns=(Turn(index=0, text="x", thought="", action=Answer(text="the other"), is_well_formed=True),),
                status="answered",
            ),
        )
        for task in opened.tasks
    ]
    paths = RunPaths(root=run)
    position = Position(stage="vstar_direct", step=0)
    write_records(paths.evaluation("vstar_direct"), position, attempts, media=media, media_directory=paths.media)
    (run / "benchmarks").mkdir()
    told = {"benchmark": "vstar", "evaluation": "vstar_direct"}
    (run / "benchmarks/vstar_direct.json").write_text(json.dumps(told))


def test_a_run_is_read_again_with_a_judge(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = folder / "run"
    played(folder, run)
    with ChatServer(lambda _: chat_reply("B")) as server:
        asked = ["reread", str(run), "--benchmarks-dir", str(folder), "--judge", server.url, "--judge-model", "judge"]
        assert run_command(asked) == 0
    assert "vlmevalkit with the judge: accuracy 100.0% (n=2, 0 without verdict, 0 failed)" in capsys.readouterr().out
    kept = json.loads((run / "benchmarks/vstar_direct.judged.json").read_text())
    assert (kept["judge"], kept["readings"][0]["n"]) == (f"judge at {server.url}", 2)


def test_a_folder_that_holds_no_benchmark_run_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["reread", str(folder), "--judge", "http://127.0.0.1:9/v1", "--judge-model", "x"]) == 2
    assert "holds no evaluation of a benchmark" in capsys.readouterr().err


def test_missing_files_of_benchmarks_are_told_before_torch_is_imported(tmp_path: Path) -> None:
    base = ["eval", "--model", str(tmp_path), "--out", str(tmp_path / "out"), "--benchmarks-dir", str(tmp_path)]
    code = (
        "import sys\n"
        "from saccade.cli import run_command\n"
        f"assert run_command([*{base!r}, '--suite', 'ivgr']) == 2\n"
        f"assert run_command([*{base!r}, '--benchmark', 'mmstar=shuffled']) == 2\n"
        "assert not {'torch', 'transformers'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert f"no benchmark of iVGR, tables 2 to 4 is in {tmp_path}; put there any of:" in done.stderr
    assert f"MMStar is not there; put {tmp_path / 'MMStar.tsv'}" in done.stderr
