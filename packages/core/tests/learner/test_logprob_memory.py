"""A training step's memory with a large vocabulary, measured in a process of its own."""

import json
import sys

import pytest

from places import ROOT
from warm import run_warm

SCRIPT = ROOT / "benchmarks" / "logprob_memory.py"


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of resident memory is read from /proc")
def test_a_step_never_holds_the_logits_of_all_its_tokens() -> None:
    """All logits of these tokens are 293 MiB, and a plain step holds three times as much."""
    command = [sys.executable, str(SCRIPT), "--vocabulary", "150000", "--tokens", "512"]
    measured = json.loads(run_warm(command, check=True).stdout)
    assert measured["all_logits_mib"] > 290
    assert measured["lifted_mib"] < 2.5 * measured["chunk_mib"]
