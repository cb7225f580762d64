"""constraints.txt is the lock file of `make demo` and `make test`: all packages, at the versions that are here."""

import re
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
LINES = [line.split("#")[0].strip() for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()]
LOCKED = {canonicalize_name(name): pin for name, _, pin in (line.partition("==") for line in LINES if line)}


def needed(extra: str) -> set[str]:
    """Names of all that is installed for the package with an extra, directly or by what it needs."""
    found: set[str] = set()
    waiting = [("saccade-vlm", frozenset({extra}))]
    seen = set(waiting)
    while waiting:
        name, extras = waiting.pop()
        try:
            requirements = distribution(name).requires or []
        except PackageNotFoundError:
            continue
        found.add(canonicalize_name(name))
        for text in requirements:
            one = Requirement(text)
            holds = one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in extras or {""})
            place = (canonicalize_name(one.name), frozenset(one.extras))
            if holds and place not in seen:
                seen.add(place)
                waiting.append(place)
    return found - {"saccade-vlm"}


def test_each_line_pins_one_version() -> None:
    assert [line for line in LINES if line and not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line)] == []


def test_every_package_of_the_demo_and_the_tests_is_locked_at_the_version_that_is_here() -> None:
    for extra, least in (("", 50), ("dev", 200)):
        names = needed(extra)
        assert len(names) >= least
        assert sorted(name for name in names if name not in LOCKED) == []
        here = {name: Version(version(name)).public for name in names}
        other = {name: (there, LOCKED[name]) for name, there in here.items() if there != Version(LOCKED[name]).public}
        assert other == {}
