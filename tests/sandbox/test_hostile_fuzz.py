"""A short round of random programs; `benchmarks/sandbox_fuzz.py` makes long ones."""

import importlib.util
import sys
from pathlib import Path

import pytest

_PATH = Path(__file__).parents[2] / "benchmarks/sandbox_fuzz.py"


@pytest.mark.parametrize("seed", [11])
def test_random_programs_lose_no_session_and_leave_nothing(seed: int) -> None:
    specification = importlib.util.spec_from_file_location("sandbox_fuzz", _PATH)
    assert specification is not None
    assert specification.loader is not None
    sandbox_fuzz = importlib.util.module_from_spec(specification)
    sys.modules["sandbox_fuzz"] = sandbox_fuzz
    specification.loader.exec_module(sandbox_fuzz)
    counted = sandbox_fuzz.fuzz(4.0, seed=seed, sessions=4, workers=2, isolation="full")
    assert counted["runs"] > 10
    assert counted["clean"], counted
