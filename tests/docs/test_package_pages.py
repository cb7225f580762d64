"""The code of each package's ``README.md`` runs in an empty folder; leaf packages load no torch and no transformers."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from code_blocks import PAGES, Block, blocks

from warm import run_warm

OURS = [page for page in PAGES if page.parents[1].name == "packages"]
BLOCKS = [block for block in blocks() if block.page in OURS]
LEAVES = ("base", "sandbox", "gym", "readers", "view")
WITHOUT_TORCH = "\nimport sys\nassert not {'torch', 'transformers'} & sys.modules.keys()\n"


def test_each_package_has_a_short_page_with_its_install_line_and_code() -> None:
    assert len(OURS) == 9
    assert {block.page for block in BLOCKS} == {*OURS}
    for page in OURS:
        text, name = page.read_text(encoding="utf-8"), f"saccade-{page.parent.name}"
        assert text.startswith(f"# {name}\n")
        assert re.search(rf'\n    pip install "?{name}\b', text)
        assert len(text.splitlines()) <= 40


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"{block.page.parent.name}:{block.line}")
def test_the_code_runs_as_it_stands_there(block: Block, tmp_path: Path) -> None:
    is_leaf = block.page.parent.name in LEAVES
    command = [sys.executable, "-c", block.code + WITHOUT_TORCH * is_leaf]
    if is_leaf:
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    else:
        done = run_warm(command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout
