"""The index says what a plain scan of the records says, and reads a record by its place."""

import json
import math
import shutil
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from viewer_fake_run import guessing_attempt, looking_attempt, make_run, search_task

from saccade.evaluation.index_rows import index_row, token_counts, write_index
from saccade.media.store import MediaStore
from saccade.runs.position import Position
from saccade.runs.records import read_records, write_records
from saccade.runs.segments import fingerprint
from saccade.types import Attempt, Segment
from saccade.viewer.app.lists import indexing, indexing_text
from saccade.viewer.store.collection import Collection
from saccade.viewer.store.facets import select, sorted_rows
from saccade.viewer.store.filters import Filter, filter_from
from saccade.viewer.store.run import GoneError, Run
from saccade.viewer.store.segment_files import load_segment


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("view") / "run")


def loaded(folder: Path, cache: Path) -> Run:
    collection = Collection(paths=(folder,), cache=cache)
    collection.load()
    [run] = collection.runs.values()
    return run


def scanned(folder: Path) -> list[tuple[str, Attempt]]:
    files = [*folder.glob("trajectories/*/*.jsonl"), *folder.glob("evaluations/*.jsonl")]
    return [(file.stem, attempt) for file in files for attempt in read_records(file)]


FILTERS = [
    ("", lambda name, one: True),
    ("right=0", lambda name, one: one.trajectory.score.is_right is False),
    ("right=1&family=counting", lambda name, one: one.trajectory.score.is_right and one.task.family == "counting"),
    ("family=counting&family=chart_bars", lambda name, one: one.task.family in ("counting", "chart_bars")),
    ("tool=crop", lambda name, one: len(one.trajectory.turns) == 2),
    ("tool=none&kind=eval", lambda name, one: len(one.trajectory.turns) == 1 and not name.startswith("step-")),
    ("stage=after_rl&turns_min=2&turns_max=2", lambda name, one: name == "after_rl" and len(one.trajectory.turns) == 2),
    ("reward_max=0.5", lambda name, one: one.trajectory.score.total <= 0.5),
    ("term.accuracy_min=1", lambda name, one: one.trajectory.score.terms[0].value >= 1),
    ("task=visual_search/held_out/0", lambda name, one: one.task.id == "visual_search/held_out/0"),
    ("status=failed", lambda name, one: one.trajectory.status == "failed"),
]


@pytest.mark.parametrize(("query", "holds"), FILTERS, ids=[query for query, _ in FILTERS])
def test_a_filter_leaves_what_a_plain_scan_leaves(run_folder: Path, tmp_path: Path, query: str, holds) -> None:  # type: ignore[no-untyped-def]
    run = loaded(run_folder, tmp_path)
    view = run.table.view()
    pairs = [tuple(part.split("=", 1)) for part in query.split("&") if part]
    selection = select(filter_from(pairs), view)  # type: ignore[arg-type]
    wanted = [one for name, one in scanned(run_folder) if holds(name, one)]
    opened = [
        run.open(run.id_of(int(view.columns["file"][row]), int(view.columns["ordinal"][row]))) for row in selection.rows
    ]
    key = lambda one: (one.task.id, one.trajectory.sample, str(one.trajectory.turns))  # noqa: E731
    assert sorted(map(key, (one.attempt for one in opened))) == sorted(map(key, wanted))
    # Each facet counts under all other parts of the filter: without its own that is the list itself.
    families = Counter(one.task.family for one in wanted)
    if "family" not in query:
        assert dict(selection.facets["family"]) == families


def test_the_trainers_index_and_the_viewers_are_the_same(tmp_path: Path) -> None:
    media = MediaStore()
    tasks = [search_task(media, index) for index in range(3)]
    attempts = [looking_attempt(media, tasks[0], "rows"), guessing_attempt(tasks[1], "checks", sample=1)]
    segments = (
        Segment(role="prompt", turn=0, ids=(1, 2, 3)),
        Segment(role="action", turn=0, ids=(4, 5), logprobs=(-0.5, -1.5)),
    )
    with_tokens = [Attempt(task=one.task, trajectory=_with(one, segments), advantages=(0.25,)) for one in attempts]
    records, position = tmp_path / "run" / "trajectories" / "rl" / "step-000007.jsonl", Position(stage="rl", step=7)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    places = write_records(records, position, with_tokens, media=media, media_directory=tmp_path / "run" / "media")
    ours = tmp_path / "trainer.arrow"
    write_index(ours, records, places, with_tokens, position=position, kind="train")
    run = loaded(tmp_path / "run", tmp_path / "cache")
    [made] = (tmp_path / "cache").rglob("*.arrow")
    trainer, viewer = load_segment(ours), load_segment(made)
    assert trainer.info == viewer.info
    for name, column in trainer.numbers.items():
        np.testing.assert_array_equal(column, viewer.numbers[name], err_msg=name)
    assert {name: words for name, (words, _) in trainer.coded.items()} == {
        name: words for name, (words, _) in viewer.coded.items()
    }
    view = run.table.view()
    assert view.columns["entropy"].tolist() == [1.0, 1.0]
    assert view.columns["advantage"].tolist() == [0.25, 0.25]
    assert view.columns["tokens"].tolist() == [5, 5]
    for row, attempt in enumerate(with_tokens):
        opened = run.open(run.id_of(0, row))
        assert opened.attempt == attempt
        counts = token_counts(attempt.trajectory)
        assert (counts.total, counts.actions, counts.entropy) == (5, 2, 1.0)
        assert index_row(attempt, counts).question == opened.texts.question


def _with(attempt: Attempt, segments: tuple[Segment, ...]):  # type: ignore[no-untyped-def]
    from dataclasses import replace

    return replace(attempt.trajectory, segments=segments)


def test_sorting_puts_rows_without_a_number_last_and_keeps_ties_in_order(run_folder: Path, tmp_path: Path) -> None:
    view = loaded(run_folder, tmp_path).table.view()
    rows = np.arange(view.count)
    rewards = view.columns["reward"]
    down = rewards[sorted_rows(rows, view, "-reward")]
    assert down.tolist() == sorted(rewards.tolist(), reverse=True)
    assert sorted_rows(rows, view, "-reward", until=5).tolist() == sorted_rows(rows, view, "-reward")[:5].tolist()
    # Nothing was trained here, so no row has an advantage: the order of the run is left.
    assert view.rank[sorted_rows(rows, view, "advantage")].tolist() == list(range(view.count))
    negative = sorted_rows(rows, view, "reward")
    assert rewards[negative].tolist() == sorted(rewards.tolist())


def test_damaged_lines_and_files_are_notes_that_name_them(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", n=6)
    file = folder / "evaluations" / "after_rl.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    lines[3] = b'{"kind": "trajectory", "task_id": \n'
    lines.append(b'{"kind": "task", "id": "cut')
    file.write_bytes(b"".join(lines))
    (folder / "evaluations" / "after_sft.jsonl").write_bytes(b"\x00\xff nothing\n")
    (folder / "evaluations" / "empty.jsonl").write_bytes(b"")
    run = loaded(folder, tmp_path / "cache")
    assert run.indexed == (5, 5)
    assert "after_rl.jsonl:4" in run.notes["after_rl.jsonl"]
    assert "no end" in run.notes["after_rl.jsonl"]
    assert "after_sft.jsonl:1" in run.notes["after_sft.jsonl"]
    assert run.table.view().count > 0


@pytest.mark.parametrize("has_files", [True, False])
def test_until_its_files_have_been_looked_for_a_run_is_being_indexed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_files: bool
) -> None:
    """A page that is drawn sooner would say for good that there is nothing."""
    folder = make_run(tmp_path / "run", n=6)
    for name in () if has_files else ("trajectories", "evaluations"):
        shutil.rmtree(folder / name)
    may_look, is_told, look = threading.Event(), threading.Event(), Run.refresh
    monkeypatch.setattr(Run, "refresh", lambda run: may_look.wait() and look(run))
    collection = Collection(
        paths=(folder,), cache=tmp_path / "cache", tell=lambda event, _: event == "index" and is_told.set()
    )
    collection.start()
    [run] = collection.runs.values()
    assert indexing_text(indexing(run)) == "indexing, looking for files"
    may_look.set()
    assert is_told.wait(120)
    collection.close()
    assert indexing(run) is None or has_files
    assert bool(run.indexed[1]) == has_files


def test_a_file_that_changes_or_goes_leaves_no_rows_behind(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", n=6)
    collection = Collection(paths=(folder,), cache=tmp_path / "cache")
    collection.load()
    [run] = collection.runs.values()
    before = run.table.view().count
    [step] = folder.glob("trajectories/rl/*.jsonl")
    old = run.open(run.id_of(run.locate(_any_id(run, "rl"))[0].number, 0)).id
    step.unlink()
    collection.load()
    assert run.table.view().count == before - 2
    with pytest.raises(GoneError, match="not any more"):
        run.open(old)


def _any_id(run: Run, stage: str) -> str:
    view = run.table.view()
    row = int(np.flatnonzero(view.columns["stage"] == view.words["stage"].index(stage))[0])
    return run.id_of(int(view.columns["file"][row]), int(view.columns["ordinal"][row]))


def test_a_forged_index_is_made_anew(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", n=6)
    cache = tmp_path / "cache"
    loaded(folder, cache)
    for segment in cache.rglob("*.arrow"):
        own = folder / "index" / segment.relative_to(next(cache.iterdir()))
        own.parent.mkdir(parents=True, exist_ok=True)
        raw = bytearray(segment.read_bytes())
        raw[len(raw) // 3 : len(raw) // 3 + 64] = b"\xff" * 64
        own.write_bytes(raw)
    run = loaded(folder, tmp_path / "other")
    view = run.table.view()
    assert view.count == len(scanned(folder))
    for row in range(view.count):
        run.open(run.id_of(int(view.columns["file"][row]), int(view.columns["ordinal"][row])))


def test_a_file_that_has_changed_is_read_anew(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", n=6)
    before = loaded(folder, tmp_path / "cache").table.view().count
    [file] = folder.glob("evaluations/after_rl.jsonl")
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-1]))
    assert loaded(folder, tmp_path / "cache").table.view().count == len(scanned(folder)) == before - 1


def test_neither_writing_nor_reading_an_index_loads_pandas(run_folder: Path, tmp_path: Path) -> None:
    """Where pandas is installed, pyarrow loads it for a list of numbers: half a second of each process that indexes."""
    script = (
        "import sys\nfrom pathlib import Path\nfrom saccade.viewer.store.collection import Collection\n"
        "told = Collection(paths=(Path(sys.argv[1]),), cache=Path(sys.argv[2]))\ntold.load()\n"
        "[run] = told.runs.values()\nprint(run.table.view().count, 'pandas' in sys.modules)"
    )
    command = [sys.executable, "-c", script, str(run_folder), str(tmp_path)]
    for _ in ("made", "read"):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.split() == [str(len(scanned(run_folder))), "False"]


def test_words_of_numbers_that_are_none_are_refused() -> None:
    for query in ("reward_min=x", "colour=red", "sort=beauty", f"q={'x' * 300}"):
        with pytest.raises(Exception, match=r"number|filter|sort|characters"):
            filter_from([tuple(query.split("=", 1))])  # type: ignore[list-item]
    assert filter_from([("reward_min", "-inf")]) == Filter(bounds={"reward": (-math.inf, math.inf)})


def test_a_fingerprint_changes_with_size_beginning_and_end(tmp_path: Path) -> None:
    file = tmp_path / "a"
    seen = set()
    for content in (b"a" * 10_000, b"a" * 10_001, b"b" + b"a" * 9_999, b"a" * 9_999 + b"b"):
        file.write_bytes(content)
        seen.add(fingerprint(file))
    assert len(seen) == 4


def test_token_arrays_are_skipped_whatever_stands_before_them(tmp_path: Path) -> None:
    """A call whose arguments have a key ``segments`` looks like the end of a head."""
    folder = make_run(tmp_path / "run", n=2)
    file = folder / "evaluations" / "after_rl.jsonl"
    lines = file.read_text().splitlines()
    value = json.loads(lines[2])
    value["turns"][0]["action"] = {"type": "tool_call", "name": "x", "arguments": {"a": 1, "segments": [{"b": 2}]}}
    lines[2] = json.dumps(value)
    file.write_text("\n".join(lines) + "\n")
    run = loaded(folder, tmp_path / "cache")
    assert run.notes == {}
    assert run.table.view().count == len(scanned(folder))
