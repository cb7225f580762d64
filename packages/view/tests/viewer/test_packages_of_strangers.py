"""A package of somebody else, as pip installs it, adds a figure and a section; a broken one is named and left out."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from view_client import viewing
from viewer_fake_run import make_run

from places import ROOT
from saccade.cli.entry import run_command
from saccade.types import Json
from test_entry_points import installed

PAGE = (ROOT / "docs" / "add" / "package.md").read_text(encoding="utf-8")
_, PACKAGE = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
POINTS = """[saccade.figures]
length = length_of_answers:FIGURE
[saccade.sections]
praise = length_of_answers:SECTION
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    yield folder
    for file in folder.glob("*.py"):
        sys.modules.pop(file.stem, None)


def page_of(run: Path, cache: Path) -> dict[str, Json]:
    with viewing(run, cache=cache) as (client, _):
        [told] = client.get("/api/runs").json()["runs"]
        page: dict[str, Json] = client.get(f"/api/runs/{told['id']}").json()
        return page


def test_a_figure_and_a_section_stand_in_the_report_and_the_viewer(site: Path, tmp_path: Path) -> None:
    taken = PACKAGE.replace('"praise": count}', '"praise": count, "title": "another"}')
    installed(site, "my-paper", POINTS, length_of_answers=taken)
    run = make_run(tmp_path / "run", n=6)
    assert run_command(["report", str(run)]) == 0
    told = json.loads((run / "report.json").read_text())
    assert all(stage["length"]["mean"] > 0 for stage in told["stages"])
    assert (told["praise"], told["title"]) == (3, "A tiny model learns to look closer")
    page = (run / "report.html").read_text()
    assert f"answers: {told['stages'][0]['length']['mean']:.2f} characters &lt;b&gt;" in page
    assert "<h2>Praise for 3</h2>" in page
    assert page.count("praised by all") == 1
    shown = page_of(run, tmp_path / "cache")
    assert shown["drawn"]["sections"] == [["section", ["h2", "Praise for 3"]]]
    assert f"after rl: answers: {told['stages'][1]['length']['mean']:.2f} characters <b>" in json.dumps(shown["drawn"])


RAISES = "FIGURE = StageFigure(kind=Length, of=lambda _: 1 / 0)\nSECTION = Section(read=lambda *_: 1 / 0, rows=dict)"
NO_VALUES = "FIGURE = StageFigure(kind=Length, of=lambda _: 3)\nSECTION = Section(read=lambda *_: 3, rows=dict)"


@pytest.mark.parametrize(
    ("change", "reason", "is_told_by_the_viewer"),
    [
        ("raise SystemExit(1)", "cannot be imported: SystemExit: 1", True),
        ("FIGURE = SECTION = 3", "is a int and no", True),
        (RAISES, "failed: ZeroDivisionError: division by zero", False),
        (NO_VALUES, "'int' object", False),
    ],
    ids=["import", "kind", "raises", "values"],
)
def test_a_broken_package_is_named_and_everything_else_is_there(
    site: Path, tmp_path: Path, change: str, reason: str, is_told_by_the_viewer: bool
) -> None:
    installed(site, "my-paper", POINTS, length_of_answers=f"{PACKAGE}\n{change}\n")
    run = make_run(tmp_path / "run", n=6)
    assert run_command(["report", str(run)]) == 0
    told = json.loads((run / "report.json").read_text())
    assert len(told["stages"]) == 3
    notes = [note for note in told["notes"] if "package my-paper" in note]
    assert [reason in note for note in notes] == [True, True]
    assert ("package my-paper" in json.dumps(page_of(run, tmp_path / "cache")["notes"])) == is_told_by_the_viewer
