"""One thread everywhere, since the machines that run the tests share their cores; no test depends on their speed."""

import gc
import os
import tempfile
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("MKL_NUM_THREADS", "1")

from hypothesis import HealthCheck, settings

from warm import WarmProcess

if TYPE_CHECKING:
    from hubs import SharedHub

settings.register_profile("any_speed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any_speed")

ROOT = Path(__file__).parent
_STATE = tempfile.TemporaryDirectory(prefix="saccade-state-")
# No test writes to the state of the user who runs it.
os.environ["XDG_STATE_HOME"] = _STATE.name


@pytest.fixture(scope="module")
def warm_engines() -> Iterator[None]:
    """Engines in processes of their own begin with their imports made, for tests that are not about their start."""
    from saccade.engines import process_connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process_connection, "Popen", WarmProcess)
        yield


@pytest.fixture(scope="session")
def _shared_hub() -> "Iterator[SharedHub]":
    from hubs import SharedHub

    with SharedHub() as hub:
        yield hub


@pytest.fixture
def hub(_shared_hub: "SharedHub") -> "SharedHub":
    """A hub with nothing in it."""
    _shared_hub.empty()
    return _shared_hub


@pytest.fixture(scope="module", autouse=True)
def _kept_sandboxes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Sandboxes share warm parents, one after another, but where these are what is tested."""
    if ROOT / "packages" / "sandbox" in request.path.parents:
        yield
        return
    from kept_sandboxes import kept_parent
    from saccade.sandbox import sandbox

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sandbox, "WarmParent", kept_parent)
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="leave out the files that left_out_of_check.txt names")
    parser.addoption("--full", action="store_true", help="also what is left to chance by default: CONTRIBUTING.md")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With ``--quick``: files whose tests take more than three seconds of an idle core together."""
    if not config.getoption("--quick"):
        return None
    return collection_path in slow_files() or None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collection without garbage collection, which would look at all modules and tests again and again for nothing."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.fixture
def is_full(pytestconfig: pytest.Config) -> bool:
    """Whether ``--full`` asks for all that can be drawn, and not a sample of it."""
    return bool(pytestconfig.getoption("--full"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Slow files first, so that at the end no worker waits for another that has just begun one."""
    if not config.getoption("--full"):
        left_out = [item for item in items if item.get_closest_marker("full")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("full")]
    items.sort(key=lambda item: item.path not in slow_files())


@cache
def slow_files() -> frozenset[Path]:
    names = (ROOT / "tests" / "left_out_of_check.txt").read_text(encoding="utf-8").split()
    return frozenset(ROOT / name for name in names)
