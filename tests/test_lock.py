"""constraints.txt is the lock file of `make demo` and `make test`: all packages, at the versions that are here.

hashes.txt has the hashes of their files, docs/licences.tsv their licences.
"""

import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution, files, version

import pytest
from packaging.utils import canonicalize_name
from packaging.version import Version

from licences import ALL, EXTRAS, LINES, LOCKED, PAGE, PROJECT, ROOT, STRONG, TABLE, closure, installed_alone, licence


def found(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def needed(*extras: str) -> set[str]:
    """Names of all that is installed for the package with extras, directly or by what it needs."""

    def needs(name: str) -> list[str] | None:
        there = found(name)
        return None if there is None else there.requires or []

    return closure([*PROJECT["dependencies"], *(text for extra in extras for text in EXTRAS[extra])], needs)


def test_each_line_pins_one_version() -> None:
    assert [line for line in LINES if line and not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line)] == []


def test_every_package_of_the_demo_and_the_tests_is_locked_at_the_version_that_is_here() -> None:
    for names, least in ((needed(), 50), (needed("dev") | installed_alone(), 200)):
        assert len(names) >= least
        assert sorted(name for name in names if name not in LOCKED) == []
        here = {name: Version(version(name)).public for name in names}
        other = {name: (there, LOCKED[name]) for name, there in here.items() if there != Version(LOCKED[name]).public}
        assert other == {}


def test_every_locked_version_has_hashes() -> None:
    """After a change of constraints.txt: make hashes."""
    lines = (ROOT / "hashes.txt").read_text(encoding="utf-8").splitlines()
    assert [line[:80] for line in lines if not re.fullmatch(r"\S+==\S+( --hash=sha256:[0-9a-f]{64})+", line)] == []
    assert {canonicalize_name(line.split("==")[0]): line.split()[0].split("==")[1] for line in lines} == LOCKED


def test_every_locked_version_has_its_licence_in_the_table() -> None:
    """After a change of constraints.txt: make licences."""
    rows = [line.split("\t") for line in ALL.read_text(encoding="utf-8").splitlines()][1:]
    assert {name: pin for name, pin, _, _ in rows} == LOCKED


def in_images() -> set[str]:
    images = [path.read_text(encoding="utf-8") for path in (ROOT / "docker").iterdir()]
    return needed(*(extra for text in images for extra in re.findall(r"'\.\[(.+?)\]'", text)[0].split(",")))


def test_no_package_of_the_set_up_and_of_the_images_is_under_the_gpl() -> None:
    stated = {}
    for name in needed("dev") | in_images() | installed_alone():
        one = distribution(name).metadata
        kinds = one.get_all("Classifier") or []
        stated[name] = licence(one.get("License-Expression"), one.get("License"), kinds)
    assert len(stated) >= 200
    assert {name: text for name, text in stated.items() if STRONG.search(text)} == {}


@pytest.mark.parametrize(
    ("stated", "strong"),
    [
        ("GPL-3.0+", True),
        ("MIT OR AGPL-3.0-only", True),
        ("GNU General Public License v3 or later (GPLv3+)", True),
        ("GNU LGPL v3+", False),
        ("LGPL-2.1-or-later", False),
        ("GNU Lesser General Public License v3 or later (LGPLv3+)", False),
        ("GNU Library or Lesser General Public License (LGPL)", False),
    ],
)
def test_the_gpl_is_told_from_the_lgpl(stated: str, strong: bool) -> None:
    assert bool(STRONG.search(stated)) is strong


def test_the_page_names_every_wheel_that_holds_a_library_under_the_gpl() -> None:
    libraries = re.compile(r"/lib(x264|x265|xvidcore|postproc|rubberband|fftw3|readline)\b[^/]*\.(so|dylib)")
    holding = {name for name in needed("dev") if any(libraries.search(str(file)) for file in files(name) or [])}
    words, _, _ = PAGE.read_text(encoding="utf-8").partition(TABLE)
    assert sorted(name for name in holding if f"`{name}`" not in words) == []
    # The page says so of them all.
    assert holding & in_images() == set()
