"""The example scripts and the notebooks run as they stand there, in an empty folder."""

import json
import sys
from pathlib import Path

import pytest

from warm import run_warm

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))
NOTEBOOKS = sorted((EXAMPLES / "notebooks").glob("*.ipynb"))


def ran(code: str, folder: Path) -> str:
    done = run_warm([sys.executable, "-c", code], cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_runs(script: Path, tmp_path: Path) -> None:
    said = ran(f"import runpy; runpy.run_path({str(script)!r}, run_name='__main__')", tmp_path)
    assert {"environment_loop": "answered: True", "ask_a_checkpoint": "turn 1:"}[script.stem] in said


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_its_first_cell_to_its_last(notebook: Path, tmp_path: Path) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert [cell["outputs"] for cell in cells if cell["cell_type"] == "code" and cell["outputs"]] == []
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    # A kernel runs cells inside of its event loop.
    within = f"async def cells(): exec({code!r}, {{'__name__': '__main__'}})"
    said = ran(f"import asyncio\n{within}\nasyncio.run(cells())", tmp_path)
    assert {"reading_a_run": "gold: ", "reward_of_your_own": "'Answer'"}[notebook.stem] in said
