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
from saccade.testing.chat_server import ChatServer, Received, Served, chat_reply
from saccade.types import Answer, Attempt, Trajectory, Turn
from saccade.viewer.app.comparing import answers_of, evaluations_compared
from saccade.viewer.evidence import collect
from saccade.viewer.model_card import model_card
from saccade.viewer.store.accuracies import evaluations_of
from saccade.viewer.store.collection import Collection


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


def test_the_orders_of_a_question_count_as_one_question_with_one_interval_everywhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = []
    for place in range(12):
        buffer = io.BytesIO()
        Image.new("RGB", (12, 12), (20 * place, 0, 0)).save(buffer, "PNG")
        options = {"A": "red", "B": "blue", "C": "green", "D": "grey"}
        known = {"index": place, "question": "Easy?" if place < 4 else "Hard?", "answer": "A", "category": "c"}
        rows.append({**known, **options, "image": base64.b64encode(buffer.getvalue()).decode()})
    pd.DataFrame(rows).to_csv(tmp_path / "VStarBench.tsv", sep="\t", index=False)
    run, measured = tmp_path / "run", ["--benchmark", "vstar=cycles", "--benchmarks-dir", str(tmp_path)]

    def reply(asked: Received) -> Served:
        return chat_reply(f"<answer>{'red' if 'Easy?' in json.dumps(asked.body) else 'blue'}</answer>")

    with ChatServer(reply) as server:
        how = ["--server", server.url, "--server-model", "m", "--protocol", "direct", "--out", str(run)]
        assert run_command(["eval", *how, *measured]) == 0
    told = capsys.readouterr().out
    assert run_command(["figures", str(run)]) == 0
    figures = capsys.readouterr().out
    evidence = collect(RunPaths(root=run))
    [answers] = [one.summary.overall for one in evidence.evaluations]
    low, high = answers.ci95
    assert (answers.n, answers.accuracy) == (12, 1 / 3)
    assert high - low > 0.4  # Of 48 independent answers it would be 0.26.
    interval = f"({low:.1%} to {high:.1%})"
    assert f"33.3% right ({low:.1%} to {high:.1%}, 12 tasks)" in told
    assert f"33.3% {interval}, 12 questions in 12 clusters" in figures
    assert "right in all cycles 33.3%" in figures
    card = model_card(evidence, repo="me/x", checkpoint=tmp_path).text.replace("\N{NO-BREAK SPACE}", " ")
    assert f"| 12 | 33.3 % | {100 * low:.1f} % to {100 * high:.1f} % |" in card
    report = (run / "report.html").read_text()
    assert f"{100 * low:.1f} to {100 * high:.1f} %" in report.replace("\N{NO-BREAK SPACE}", " ")
    assert f"33.3% {interval}" in report
    assert "accuracy 33.3% (n=12)" in told
    assert "12 in 12" in report
    collection = Collection(paths=(run,), cache=tmp_path / "cache", tell=lambda *_: None)
    collection.load()
    [seen] = collection.runs.values()
    [on_its_page] = evaluations_of(seen)
    assert on_its_page.answers == answers
    sides = [answers_of(seen, on_its_page.name)] * 2
    assert "12 questions in both: 0 gained, 0 lost" in json.dumps(evaluations_compared(*sides))


def test_samples_that_were_cut_leave_a_note_and_the_figures_without_clusters(folder: Path) -> None:
    run = folder / "run"
    played(folder, run)
    (run / "run.json").write_text(
        json.dumps({"status": "finished", "title": "x", "command": [], "started": "", "versions": {}})
    )
    (run / "samples").mkdir()
    (run / "samples" / "vstar_direct.jsonl").write_text('{"kind": "hea')
    evidence = collect(RunPaths(root=run))
    [one] = evidence.evaluations
    assert (one.summary.overall.n, one.belonging) == (2, None)
    assert any("samples/vstar_direct.jsonl" in note for note in evidence.notes)
