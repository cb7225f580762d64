"""Releases, runs and videos of other tests are material here too."""

import sys

from places import ROOT

sys.path += [
    str(ROOT / "packages" / name)
    for name in (
        "core/tests/tasks/datasets",
        "evals/tests/evaluation/benchmarks",
        "view/tests/viewer",
        "base/tests/media",
    )
]
