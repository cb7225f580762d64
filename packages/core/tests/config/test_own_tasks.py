"""What a run was made from: rows that were left out are told, and other data or models are not taken for the same."""

import json
import logging
from contextlib import chdir
from pathlib import Path

import pytest
from PIL import Image

from saccade.config.context import RecipeContext, read_own_tasks
from saccade.config.sources import inputs_of


def rows(directory: Path, *, bad: int) -> Path:
    Image.new("RGB", (32, 32)).save(directory / "a.png")
    good = {"question": "?", "answer": "a", "image": "a.png"}
    path = directory / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in [good, *[{**good, "image": 7}] * bad]))
    return path


def test_rows_left_out_are_counted_with_the_first_reasons(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = rows(tmp_path, bad=7)
    with caplog.at_level(logging.WARNING):
        tasks = read_own_tasks(path, RecipeContext(data=path, skip_bad_rows=True))
    assert len(tasks) == 1
    [record] = caplog.records
    lines = record.getMessage().splitlines()
    assert lines[0] == f"{path}: left out 7 of 8 rows:"
    assert lines[1].startswith(f"  {path}, rows 2, 3, 4, 5, 6 and 2 more: image: must be a path")
    assert len(lines) == 2


def test_without_bad_rows_nothing_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = rows(tmp_path, bad=0)
    assert len(read_own_tasks(path, RecipeContext(data=path, skip_bad_rows=True))) == 1
    assert [one for one in caplog.records if one.levelname != "INFO"] == []


def test_inputs_are_known_by_place_and_content(tmp_path: Path) -> None:
    path = rows(tmp_path, bad=0)
    before = inputs_of(RecipeContext(data=path, model=tmp_path), {"family": None, "n": 3})
    assert sorted(before) == ["data", "data_sha256", "model", "n"]
    assert (before["data"], before["model"], before["n"]) == (str(path), str(tmp_path), "3")
    with chdir(tmp_path):
        assert inputs_of(RecipeContext(data=Path("rows.jsonl")))["data"] == str(path)
    path.write_text(path.read_text() + "\n")
    assert inputs_of(RecipeContext(data=path))["data_sha256"] != before["data_sha256"]


def test_a_data_set_on_the_hub_and_a_run_without_inputs_need_no_file() -> None:
    assert inputs_of(RecipeContext(data=Path("hf:some/name"))) == {"data": "hf:some/name"}
    assert inputs_of(RecipeContext()) == {}
