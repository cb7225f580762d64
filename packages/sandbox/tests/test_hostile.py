"""Hostile code, run in every way that the sandbox promises to withstand: `hostile/` holds the attacks and the judge."""

import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hostile.attack import Attack
from hostile.attacks import BOMBS, CORRUPTION, ESCAPES
from hostile.judge import Judge, judging, promised
from places import ROOT, SOURCES
from saccade.sandbox import Isolation

ALL = ESCAPES + BOMBS + CORRUPTION
_FUZZ = ROOT / "benchmarks/sandbox_fuzz.py"


def _a_third(attacks: list[Attack]) -> pytest.MarkDecorator:
    """Every third attack; the others with ``--full`` only."""
    marked = [
        pytest.param(one, id=one.name, marks=() if place % 3 == 0 else pytest.mark.full)
        for place, one in enumerate(attacks)
    ]
    return pytest.mark.parametrize("attack", marked)


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with judging("full") as judge:
        yield judge


@pytest.fixture(scope="module")
def judge_without_namespaces() -> Iterator[Judge]:
    with judging("restricted") as judge:
        yield judge


@pytest.fixture
def folder_for_all() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.parametrize("attack", [attack for attack in ALL if not attack.is_slow], ids=lambda attack: attack.name)
def test_attack_is_contained(judge: Judge, attack: Attack) -> None:
    judge.judge(attack)


@pytest.mark.slow
@pytest.mark.parametrize("attack", [attack for attack in ALL if attack.is_slow], ids=lambda attack: attack.name)
def test_attack_that_takes_long_is_contained(judge: Judge, attack: Attack) -> None:
    judge.judge(attack)


@_a_third(promised(ESCAPES, "restricted"))
def test_escape_is_contained_without_namespaces(judge_without_namespaces: Judge, attack: Attack) -> None:
    """Each of them is made so by an ordinary user, below."""
    judge_without_namespaces.judge(attack)


@pytest.mark.slow
@_a_third(promised(CORRUPTION, "restricted"))
def test_corruption_is_contained_without_namespaces(judge_without_namespaces: Judge, attack: Attack) -> None:
    """What keeps a session's state is the same code with namespaces, where each of these attacks is made, above."""
    judge_without_namespaces.judge(attack)


@pytest.mark.parametrize(
    ("isolation", "attacks", "share"),
    [("full", ESCAPES, 2), ("restricted", ESCAPES, 1), ("restricted", BOMBS, 3)],
    ids=["full-escapes", "restricted-escapes", "restricted-bombs"],
)
def test_attacks_from_an_ordinary_user_are_contained(
    isolation: Isolation, attacks: tuple[Attack, ...], share: int, folder_for_all: Path, is_full: bool
) -> None:
    """All escapes where there are no namespaces; one in ``share`` of what is made as root, above; with ``--full`` each.

    What spoils a session's own state needs no rights, and is tried above alone.
    """
    chosen = [attack.name for attack in attacks[:: 1 if is_full else share]]
    assert _judged_as_nobody(isolation, folder_for_all, chosen) == "0 broken"


def test_there_are_more_than_eighty_attacks_each_with_a_name_of_its_own() -> None:
    assert len(ALL) == len({attack.name for attack in ALL}) > 80


@pytest.mark.parametrize("seed", [11])
def test_random_programs_lose_no_session_and_leave_nothing(seed: int) -> None:
    """A short round; `benchmarks/sandbox_fuzz.py` makes long ones."""
    specification = importlib.util.spec_from_file_location("sandbox_fuzz", _FUZZ)
    assert specification is not None
    assert specification.loader is not None
    sandbox_fuzz = importlib.util.module_from_spec(specification)
    sys.modules["sandbox_fuzz"] = sandbox_fuzz
    specification.loader.exec_module(sandbox_fuzz)
    counted = sandbox_fuzz.fuzz(240.0, seed=seed, sessions=4, workers=2, isolation="full", most=60)
    assert counted["runs"] >= 60
    assert counted["clean"], counted


def _judged_as_nobody(isolation: Isolation, folder: Path, names: list[str]) -> str:
    """What the judge says when it, the trainer and the sandbox run as an ordinary user."""
    if os.geteuid() != 0:
        pytest.skip("the tests run as an ordinary user already")
    python = _python_for_everybody(folder)
    told = subprocess.run(
        [python, "-m", "hostile.judge", isolation, *names],
        cwd=Path(__file__).parent,
        env={"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(map(str, SOURCES))},
        user=65534,
        group=65534,
        extra_groups=[],
        capture_output=True,
        text=True,
        timeout=900,
    )
    broken = [line for line in told.stdout.splitlines() if not line.startswith("slow ")]
    return "\n".join(broken) or told.stderr


def _python_for_everybody(folder: Path) -> str:
    """This Python where others may read it, else the system's with the same libraries."""
    if _is_open(Path(sys.base_prefix)) and _is_open(Path(sys.prefix)):
        return sys.executable
    version = f"python3.{sys.version_info.minor}"
    system = Path("/usr/bin") / version
    libraries = Path(sys.prefix) / "lib" / version / "site-packages"
    if not system.exists() or not _is_open(libraries):
        pytest.skip(f"no ordinary user can read {sys.base_prefix}, and there is no {system}")
    place = folder / "environment"
    (place / "bin").mkdir(parents=True)
    (place / "bin/python").symlink_to(system)
    (place / "pyvenv.cfg").write_text(f"home = /usr/bin\nversion = 3.{sys.version_info.minor}\n")
    (place / f"lib/{version}").mkdir(parents=True)
    (place / f"lib/{version}/site-packages").symlink_to(libraries)
    return str(place / "bin/python")


def _is_open(place: Path) -> bool:
    return all(part.stat().st_mode & 0o5 == 0o5 for part in (place, *place.parents))
