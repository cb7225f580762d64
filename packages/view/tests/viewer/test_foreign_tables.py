"""Tables, data bases and graphs of other programs: TRL, Trackio, VLMEvalKit, verifiers.v1; large and hostile ones.

Below ``foreign/`` are true files, written by the writers' own code with questions made up for it:
``trl/``: TRL 1.16's ``GRPOTrainer.log`` (its table, its ``strip_images_from_messages``, pandas);
``trackio/``: the tables ``traces`` and ``metrics`` of a data base of Trackio 0.43, as statements, with its picture;
``vlmevalkit/``: ``vlmeval.smp.dump`` of VLMEvalKit (e8e78f05) in its four formats;
``verifiers/``: ``Episode``, ``Trace`` and ``write_episode`` of verifiers 0.4.0.
"""

import json
import os
import sqlite3
import time
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from foreign_files import TRUE, copied, opened, terms, trackio_folder

from saccade.types import ToolCall
from saccade.viewer.store.collection import Collection
from saccade.viewer.store.indexing import index_pending
from saccade.viewer.store.xlsx_rows import BROKEN, xlsx_rows

SPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def test_completions_of_trl_keep_calls_rewards_and_advantages(tmp_path: Path) -> None:
    run, [first, second] = opened(copied("trl", tmp_path), tmp_path / "cache")
    assert run.source.kind == "trl"
    assert (first.task.answer, terms(first), first.advantages) == (
        "2",
        {"accuracy_reward": 1.0, "format_reward": 1.0},
        (0.7071,),
    )
    # None of a reward function that did not judge it is no number.
    assert terms(second) == {"accuracy_reward": 0.0}
    assert second.trajectory.turns[0].action == ToolCall(name="crop", arguments={"bbox": [1, 2, 30, 40]})
    assert run.table.view().columns["step"].tolist() == [7, 7]


def test_a_table_of_completions_may_have_any_name(tmp_path: Path) -> None:
    file = tmp_path / "mine.parquet"
    file.write_bytes((TRUE / "trl" / "completions" / "completions_00007.parquet").read_bytes())
    assert len(opened(file, tmp_path / "cache")[1]) == 2


def test_traces_and_tables_of_trackio(tmp_path: Path) -> None:
    folder = trackio_folder(tmp_path)
    before = sorted(path.name for path in folder.iterdir())
    run, [first, second, row] = opened(folder, tmp_path / "cache")
    assert run.source.kind == "trackio"
    assert (first.task.question, first.trajectory.answer, first.advantages) == ("Which colour?", "red", (0.5,))
    assert terms(first) == {"accuracy": 1.0}
    assert [(one.width, one.height) for one in first.task.images] == [(24, 16)]
    assert (second.trajectory.answer, second.trajectory.stream, second.task.images) == ("blue", "step 3", ())
    assert (row.trajectory.answer, row.trajectory.stream, terms(row)) == ("2", "step 4", {"accuracy_reward": 1.0})
    assert [(one.width, one.height) for one in row.task.images] == [(24, 16)]
    assert set(run.table.view().columns["step"]) == {0}
    # Nothing is written beside the data base.
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_view_in_the_place_of_traces_is_no_data_base_of_trackio(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "evil.db")) as base:
        base.executescript("CREATE TABLE metrics (id INTEGER); CREATE VIEW traces AS SELECT 1 AS messages;")
    collection = Collection(paths=(tmp_path,), cache=tmp_path / "cache")
    collection.load()
    assert collection.runs == {}


@pytest.mark.parametrize("suffix", ["xlsx", "tsv", "json"])
def test_predictions_of_vlmevalkit(suffix: str, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    for name in (f"tiny_Colours.{suffix}", "tiny_Colours_checkpoint.pkl"):
        (folder / name).write_bytes((TRUE / "vlmevalkit" / name).read_bytes())
    run, [right, failed, wrong] = opened(folder, tmp_path / "cache")
    assert run.source.kind == "vlmevalkit"
    assert right.task.question == "What colour is it?\nA. red\nB. blue"
    assert (right.task.id, right.task.answer, right.task.family) == ("1", "A", "colour")
    assert (right.trajectory.turns[0].thought, right.trajectory.answer) == ("it is red", "A")
    assert right.trajectory.turns[0].observation is not None
    assert right.trajectory.turns[0].observation.text == "Prefetch succeed."
    assert failed.trajectory.status == "failed"
    assert wrong.trajectory.answer == "A"
    assert run.table.view().columns["right"].tolist() == [1, -1, 0]
    if suffix != "json":
        assert "1 *.pkl beside it not opened" in " ".join(run.notes.values())


def _book(path: Path, sheet: bytes, strings: bytes = b"") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("xl/worksheets/sheet1.xml", sheet)
        if strings:
            file.writestr("xl/sharedStrings.xml", strings)
    return path


@pytest.mark.parametrize(
    "sheet",
    [
        b"<worksheet",
        b'<!DOCTYPE x [<!ENTITY a "b">]><worksheet/>',
        f'<worksheet {SPACE}><sheetData><row><c t="s"><v>9</v></c></row></sheetData></worksheet>'.encode(),
        f'<worksheet {SPACE}><sheetData><row><c r="ZZZ1"><v>9</v></c></row></sheetData></worksheet>'.encode(),
        f"<worksheet {SPACE}><sheetData>{' ' * (2 << 20)}</sheetData></worksheet>".encode(),
    ],
    ids=["cut", "entities", "no such string", "too many columns", "bomb"],
)
def test_hostile_sheets_are_refused(sheet: bytes, tmp_path: Path) -> None:
    book = _book(tmp_path / "a.xlsx", sheet, f"<sst {SPACE}><si><t>x</t></si></sst>".encode())
    with pytest.raises(BROKEN):
        list(xlsx_rows(book, 1 << 20))


def test_a_sheet_with_many_rows_gives_each_of_them(tmp_path: Path) -> None:
    row = '<row><c t="inlineStr"><is><t>{}</t></is></c></row>'
    rows = "".join(row.format(number) for number in ("index", *range(2500)))
    book = _book(tmp_path / "a.xlsx", f"<worksheet {SPACE}><sheetData>{rows}</sheetData></worksheet>".encode())
    assert [one["index"] for one in xlsx_rows(book)] == [str(number) for number in range(2500)]


def test_traces_of_verifiers_follow_the_path_to_the_last_leaf(tmp_path: Path) -> None:
    run, [done, failed] = opened(copied("verifiers", tmp_path), tmp_path / "cache")
    assert run.source.kind == "verifiers.v1"
    assert (done.task.question, done.task.answer, done.task.family) == ("Which color?", "red", "colors")
    assert [(one.width, one.height) for one in done.task.images] == [(10, 8)]
    crop, answer = done.trajectory.turns
    assert (crop.thought, crop.action) == ("I crop.", ToolCall(name="crop", arguments={"bbox": [1, 1, 6, 5]}))
    assert crop.observation is not None
    assert len(crop.observation.images) == 1
    # The branch that was left says blue.
    assert (answer.text, done.trajectory.stream) == ("red", "solver")
    assert terms(done) == {"correct": 1.0, "length": 0.1}
    assert done.advantages == ((0.5 + 0.5 - 0.25) / 3,) * 2
    assert (failed.trajectory.status, failed.trajectory.failure) == ("failed", "RuntimeError: the sandbox is gone")


def test_several_traces_of_an_episode_and_a_graph_in_circles(tmp_path: Path) -> None:
    episode = json.loads((TRUE / "verifiers" / "traces.jsonl").read_text().splitlines()[0])
    circle = {**episode["traces"][0], "agent": {"name": "judge"}}
    asked = {"role": "user", "content": "?"}
    circle["nodes"] = [{"parent": parent, "message": asked} for parent in (1, 0, 1)]
    # As prime-rl stamps it.
    run_info = {"type": "train", "id": "r", "work": {"type": "train", "step": 12}}
    whole = {**episode, "run": run_info, "traces": [episode["traces"][0], circle]}
    (tmp_path / "traces.jsonl").write_text(json.dumps(whole) + "\n")
    run, [solver, judge] = opened(tmp_path / "traces.jsonl", tmp_path / "cache")
    assert set(run.table.view().columns["step"]) == {12}
    assert (solver.trajectory.stream, judge.trajectory.stream) == ("solver", "judge")
    assert judge.trajectory.turns == ()


def test_the_beginning_of_a_large_file_is_listed_before_it_is_read_whole(tmp_path: Path) -> None:
    line = json.dumps({"input": "user\nHow many?\nassistant\n", "output": "4" * 60_000, "score": 1.0, "step": 3}) + "\n"
    file = tmp_path / "3.jsonl"
    with file.open("w") as out:
        for _ in range(320):
            out.write(line)
        out.write("{}\n")
    assert file.stat().st_size > 16 << 20
    collection = Collection(paths=(file,), cache=tmp_path / "cache")
    collection._find()
    [run] = collection.runs.values()
    run.refresh()
    steps = index_pending(run, is_ended=lambda: False)
    began_s = time.process_time()
    next(steps)
    first_s, first = time.process_time() - began_s, run.table.view().count
    identity = run.id_of(0, 0)
    assert 0 < first <= 320
    assert first_s < 3, "the bound is 0.3 s of reading"
    assert "the rest is being read" in run.notes["3.jsonl"] or first == 320
    assert run.open(identity).attempt.task.question == "How many?"
    assert [run.table.view().count for _ in steps] == [320]
    assert "1 of 321 records are left out" in run.notes["3.jsonl"]
    assert run.open(identity).attempt.task.question == "How many?"
    assert not run.pending


def test_a_folder_of_fifos_is_passed_over(tmp_path: Path) -> None:
    for name in ("a.jsonl", "a.json", "a.db", "a.xlsx", "a.tsv", "a.eval", "a.parquet"):
        os.mkfifo(tmp_path / name)
    collection = Collection(paths=(tmp_path,), cache=tmp_path / "cache")
    collection.load()
    assert collection.runs == {}
