"""The step of two revisions of Saccade beside one another: is B slower than A?

    python benchmarks/compare_revisions.py A B [--workload multi] [--isa avx2] [--model DIR] [--pairs 3]

Each revision is checked out into a folder of its own and builds its own kernels; both take turns. A run counts by its
least CPU time of a step, on one thread. ``--isa avx2`` builds kernels for AVX2 alone, and has torch work
as on one. Printed are the processor's instruction sets, each pair, and the ratio B / A with its mean's 95 % interval.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
AVX2 = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}
STUDENT = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26}
"""Two-sided 95 % points by degrees of freedom."""
# Revisions before CXXFLAGS was read get it from this compiler.
COMPILER = """#!/bin/sh
[ "$1" = --version ] && { g++ --version; echo avx2; exit; }
exec g++ "$@" -march=x86-64-v3
"""


def environment(source: Path, folder: Path, isa: str) -> dict[str, str]:
    paths = sorted(source.glob("packages/*/src"))
    settings = {
        "PYTHONPATH": os.pathsep.join(map(str, paths or [source / "src"])),
        "HF_HUB_OFFLINE": "1",
        "SACCADE_NATIVE": "1",
    }
    if isa == "avx2":
        compiler = folder / "avx2-g++"
        compiler.write_text(COMPILER)
        compiler.chmod(0o755)
        settings |= {**AVX2, "CXX": str(compiler)}
    return os.environ | settings


def command_s(source: Path, folder: Path, given: argparse.Namespace) -> float:
    """Least CPU time of a step, in seconds."""
    out = folder / "figures.json"
    command = [sys.executable, "-m", "saccade", "bench", "rl", "--framework", "saccade", "--workload", given.workload]
    command += ["--steps", str(given.steps), "--json", str(out)]
    command += [] if given.model is None else ["--model", str(given.model.resolve())]
    subprocess.run(command, env=environment(source, folder, given.isa), cwd=folder, check=True, capture_output=True)
    return float(json.loads(out.read_text())["frameworks"]["saccade"]["cpu_s_min"])


def interval(ratios: list[float]) -> tuple[float, float, float]:
    """Geometric mean of the ratios, and the bounds of its 95 % interval."""
    logs = [math.log(ratio) for ratio in ratios]
    mean = statistics.fmean(logs)
    half = (
        STUDENT.get(len(logs) - 1, 1.96) * statistics.stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else math.inf
    )
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def instruction_sets() -> str:
    flags = set(Path("/proc/cpuinfo").read_text().split())
    return " ".join(sorted(flag for flag in flags if flag.startswith(("avx", "fma", "amx")))) or "unknown"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revisions", nargs=2, metavar="REVISION", help="A and B: commits, tags or branches")
    parser.add_argument("--workload", choices=["single", "multi"], default="single")
    parser.add_argument("--isa", choices=["native", "avx2"], default="native")
    parser.add_argument("--model", type=Path, help="a checkpoint in the place of a random Qwen2.5-VL")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--steps", type=int, default=5)
    given = parser.parse_args()
    print(f"instruction sets: {instruction_sets()}; built for: {given.isa}", flush=True)
    with tempfile.TemporaryDirectory(prefix="saccade-revisions-") as directory:
        sources = [Path(directory) / name for name in "AB"]
        git = ["git", "-C", str(ROOT), "worktree"]
        try:
            for source, revision in zip(sources, given.revisions):
                subprocess.run([*git, "add", "--detach", source, revision], check=True, capture_output=True)
            ratios = []
            for pair in range(given.pairs):
                # The one that goes first takes turns, too.
                order = sources if pair % 2 == 0 else sources[::-1]
                taken = {one: command_s(one, Path(directory), given) for one in order}
                first, second = (taken[source] for source in sources)
                ratios.append(second / first)
                print(f"A {first:.3f} s, B {second:.3f} s: B / A {ratios[-1]:.3f}", flush=True)
        finally:
            for source in sources:
                subprocess.run([*git, "remove", "--force", source], check=False, capture_output=True)
    print("B / A {:.3f} [{:.3f}, {:.3f}]".format(*interval(ratios)))


if __name__ == "__main__":
    main()
