"""Families that other packages offer: found by their entry point, imported on use, and never in the place of ours."""

import subprocess
import sys
from pathlib import Path

import pytest

from places import ROOT

SPECKS = (ROOT / "docs" / "add" / "task_family.md").read_text(encoding="utf-8")
USE = """
import sys
from saccade.media.store import MediaStore
from saccade.tasks import generate
try:
    task = generate({name!r}, split="train", index=0, seed=0, media=MediaStore()).task
    print(task.id, task.question, task.family)
except Exception as error:
    print(type(error).__name__, error)
print([name for name in sys.modules if name.endswith("_families") or name == "saccade.gym.registry"])
"""


def install(folder: Path, package: str, offers: str, code: str = "") -> None:
    """What pip leaves of a package: its module, and a folder of what it says of itself."""
    about = folder / f"{package}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(f"[saccade.families]\n{offers}\n", encoding="utf-8")
    if code:
        (folder / f"{package}.py").write_text(code, encoding="utf-8")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    code = SPECKS.split("```python\n")[1].split("```")[0]
    parts = (
        "from dataclasses import replace\nfrom saccade.gym import gym_families\n"
        'lots = replace(gym_families()["shape_counts"], name="lots")\n'
    )
    offers = "specks = my_families:draw_specks\ncounting = my_families:draw_specks\nnumber = my_families:COLOURS"
    install(folder, "my_families", offers, code)
    install(folder, "lot_families", "lots = lot_families:lots", parts)
    install(folder, "broken_families", "broken = broken_families:draw_broken", "raise OSError('no camera')")
    return folder


def drawn(site: Path, name: str) -> list[str]:
    """What a process says that has these packages on its path: the task, and which modules it took."""
    code = f"import sys; sys.path.insert(0, {str(site)!r})\n{USE.format(name=name)}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_a_family_of_another_package_is_drawn_by_its_name_and_no_other_package_is_imported(site: Path) -> None:
    task, modules = drawn(site, "specks")
    assert task == "specks/train/000000 Which colour has the speck? specks"
    assert modules == "['saccade.gym.registry', 'my_families']"


def test_a_part_of_such_a_family_is_named_as_those_of_the_gym(site: Path) -> None:
    task, _ = drawn(site, "lots/parity?clutter=0")
    assert task.startswith("lots/parity?clutter=0/train/000000 ")
    assert drawn(site, "specks/parity")[0].startswith("UserError 'specks/parity' asks for a part of a family")


def test_no_package_takes_the_name_of_a_family_that_ships(site: Path) -> None:
    task, modules = drawn(site, "counting")
    assert task.endswith(" counting")
    assert "speck" not in task
    assert modules == "[]"


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("broken", "the package broken_families offers 'broken'"),
        ("number", "the package my_families, my_families:COLOURS is not a function but tuple"),
        ("speck", "broken, lots, number, specks"),
    ],
)
def test_what_is_wrong_with_a_name_is_one_sentence(site: Path, name: str, complaint: str) -> None:
    said, _ = drawn(site, name)
    assert said.startswith("UserError ")
    assert complaint in said
