"""What packages beside Saccade offer by their entry points."""

from pathlib import Path

import pytest

from saccade.entry_points import offers_by_name
from saccade.errors import UserError

OWN = {"joined": "os.path:join", "module": "saccade.errors"}


def installed(folder: Path, package: str, entry_points: str, **modules: str) -> None:
    """A package as pip leaves it in a folder of the path."""
    metadata = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(entry_points)
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_own_names_come_first_and_an_installed_package_adds_its_own(site: Path) -> None:
    points = "[saccade.shapes]\nround = shapes_of_a_stranger:Shape.sides\njoined = shapes_of_a_stranger:Shape\n"
    installed(site, "my-shapes", points, shapes_of_a_stranger="class Shape:\n    sides = 0\n")
    offers = offers_by_name("saccade.shapes", OWN)
    assert list(offers) == ["joined", "module", "round"]
    assert offers["joined"]() is __import__("os").path.join, "no package takes the place of Saccade's own"
    assert offers["module"]() is __import__("saccade.errors").errors
    assert (offers["round"](), offers["round"].package) == (0, "my-shapes")
    assert list(offers_by_name("saccade.other", OWN)) == ["joined", "module"]


def test_nothing_is_imported_before_an_offer_is_called_and_a_broken_one_names_its_package(site: Path) -> None:
    points = "[saccade.shapes]\nends = ends_python\nmissing = ends_nowhere:Shape\nempty = saccade.errors:Nothing\n"
    installed(site, "broken-shapes", points, ends_python="raise SystemExit(3)\n")
    offers = offers_by_name("saccade.shapes", {})
    for name, reason in (("ends", "SystemExit: 3"), ("missing", "No module named"), ("empty", "no attribute")):
        with pytest.raises(UserError, match=f"the package broken-shapes offers '{name}' .*{reason}"):
            offers[name]()


def test_a_name_that_two_packages_offer_is_neithers(site: Path) -> None:
    for package in ("one-shape", "two-shapes"):
        installed(site, package, "[saccade.shapes]\nround = os.path:join\n")
    with pytest.raises(UserError, match=r"several packages offer 'round' .*: one-shape, two-shapes"):
        offers_by_name("saccade.shapes", {})["round"]()


def test_a_damaged_file_of_entry_points_names_its_package_and_leaves_the_others(site: Path) -> None:
    installed(site, "damaged-shapes", "[saccade.shapes]\nround\n")
    installed(site, "my-shapes", "[saccade.shapes]\nround = os.path:join\n")
    offers = offers_by_name("saccade.shapes", {})
    assert offers["round"]() is __import__("os").path.join
    with pytest.raises(UserError, match=r"the package damaged-shapes offers .*a damaged entry_points.txt"):
        offers["?"]()
