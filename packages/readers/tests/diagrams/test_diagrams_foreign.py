"""Diagrams of other programs, from the picture to the answer."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from saccade.media.store import MediaStore
from saccade.readers.diagrams.ink import ink_of
from saccade.readers.diagrams.labels import print_of
from saccade.readers.diagrams.segments import dash_of, dashed_lines
from saccade.tools.diagram_tools import DIAGRAM_TOOLS
from saccade.tools.geometry_tools import solve_geometry
from saccade.tools.tool import find_tool

FOLDER = Path(__file__).parent / "foreign"
PROBLEMS = json.loads((FOLDER / "problems.json").read_text())


@pytest.mark.parametrize("problem", PROBLEMS, ids=[problem["file"] for problem in PROBLEMS])
def test_a_foreign_diagram_is_read_and_solved(problem: dict[str, object]) -> None:
    media = MediaStore()
    image = media.add(Image.open(FOLDER / str(problem["file"])).convert("RGB"))
    tool = find_tool("formalize_problem", DIAGRAM_TOOLS)
    read = tool.call({"question": str(problem["question"])}, (image,), media).data
    assert isinstance(read["logic_forms"], list)
    forms = "\n".join(map(str, read["logic_forms"]))
    (answer,) = solve_geometry(forms, str(read["points"])).data["answers"]  # type: ignore[misc]
    assert answer["value"] == pytest.approx(problem["answer"])  # type: ignore[index,call-overload]


def test_a_digit_that_runs_into_an_arc_leaves_the_rest_unread() -> None:
    ink = ink_of(Image.open(FOLDER / "cut_35.png").convert("RGB"))
    assert "5" not in [label.text for label in print_of(ink).labels if label.kind != "unread"]


def test_dashes_in_a_row_are_a_line_and_letters_are_none() -> None:
    dashes = [dash_of(n, np.ones((2, 8), np.bool_), 14 * n, 50, 256) for n in range(5)]
    found = [dash for dash in dashes if dash is not None]
    assert [[dash.number for dash in line] for line in dashed_lines(found)] == [[0, 1, 2, 3, 4]]
    assert dashed_lines(found[:3]) == []
