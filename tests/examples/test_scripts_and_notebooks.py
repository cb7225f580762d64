"""The example scripts and the notebooks run as they stand there, in an empty folder."""

import json
import re
import sys
from pathlib import Path

import pytest

from places import ROOT
from warm import run_warm

EXAMPLES = ROOT / "examples"
NOTEBOOKS = sorted((EXAMPLES / "notebooks").glob("*.ipynb"))
SHOWN = {
    "101_loop": "'gradient_norm'",
    "201_reward": "'Answer'",
    "202_environment": "answered: True",
    "301_recipe": "rl 2 right",
    "401_looking_at_a_run": "gold: ",
}
CELLS = """
import asyncio, json, sys
from IPython.core.interactiveshell import InteractiveShell

async def run_cells(sources):
    # As in a kernel, inside of its event loop.
    shell = InteractiveShell.instance()
    for source in sources:
        (await shell.run_cell_async(source, transformed_cell=shell.transform_cell(source))).raise_error()

asyncio.run(run_cells(json.loads(sys.argv[1])))
"""


def ran(command: list[str], folder: Path) -> str:
    done = run_warm([sys.executable, *command], cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_loop_by_hand_runs_from_its_first_measurement_to_its_last(tmp_path: Path) -> None:
    shown = ran([str(EXAMPLES / "grpo_by_hand.py"), "0", "1", "4"], tmp_path)
    assert "held-out questions right" in shown


@pytest.mark.parametrize(
    "notebook",
    [pytest.param(path, marks=[pytest.mark.full] if path.stem.startswith("301") else []) for path in NOTEBOOKS],
    ids=lambda path: path.stem,
)
def test_a_notebook_runs_from_its_first_cell_to_its_last(notebook: Path, tmp_path: Path) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert len(cells) <= 12
    assert [cell["outputs"] for cell in cells if cell["cell_type"] == "code" and cell["outputs"]] == []
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert SHOWN[notebook.stem] in ran(["-c", CELLS, json.dumps(code)], tmp_path)


def test_links_of_examples_lead_somewhere() -> None:
    pages = {path: path.read_text(encoding="utf-8") for path in (EXAMPLES / "README.md", *NOTEBOOKS)}
    links = [(page, link) for page, text in pages.items() for link in re.findall(r"\]\(([^)#\s]+)\)", text)]
    assert len(links) > 20
    assert [f"{page.name}: {link}" for page, link in links if not (page.parent / link).exists()] == []
