"""Releases, runs and videos of other tests are material here too."""

import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path += [str(TESTS / name) for name in ("tasks/datasets", "evaluation/benchmarks", "viewer", "media")]
