"""The table family x check, of a tiny checkpoint of each family or of given ones, in Markdown; or what a step costs.

OMP_NUM_THREADS=1 python benchmarks/family_table.py
OMP_NUM_THREADS=1 python benchmarks/family_table.py --costs       # CPU seconds, with native kernels and without
OMP_NUM_THREADS=1 python benchmarks/family_table.py glm4v llava_onevision
OMP_NUM_THREADS=1 python benchmarks/family_table.py --directories checkpoints/my-model
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinyFamily, TinySize, tiny_model
from saccade.native.library import SWITCH
from saccade.testing.family_check import CHECKS, FamilyFinding, family_findings

MARKS = {"passes": "yes", "fails": "**fails**", "falls back": "falls back", "not tried": "not tried"}


def write_tiny(folder: Path, family: TinyFamily) -> Path:
    """A checkpoint with two layers of each part, pictures of up to nine tiles, and deepstack where there is any.

    Gemma 4 has four: the last two look at the keys of the first.
    """
    layers = 4 if family == "gemma4" else 2
    size = TinySize(layers=layers, vision_depth=2, max_tiles=9, deepstack=family.startswith("qwen3_vl"))
    tiny_model(["Which plate? User Assistant"] * 9, MediaStore(), family=family, size=size, seed=1).save(folder)
    return folder


def as_markdown(found: dict[str, list[FamilyFinding]]) -> str:
    """A row for each check, and what stands behind everything but a pass."""
    lines = [f"| check | {' | '.join(found)} |", f"|---{'|---' * len(found)}|"]
    for place, check in enumerate(CHECKS):
        cells = [MARKS[findings[place].outcome] for findings in found.values()]
        lines.append(f"| {check} | {' | '.join(cells)} |")
    others = [
        f"- {name}, {one.check}: {one.figure}"
        for name, findings in found.items()
        for one in findings
        if one.outcome != "passes"
    ]
    return "\n".join([*lines, "", *others])


COST_SIZE = TinySize(hidden=256, mlp=768, layers=6, heads=4, kv_heads=2)
STEP = ("--framework", "saccade", "--workload", "single", "--prompts", "2", "--group", "8", "--turn-tokens", "32")


def costs(families: Sequence[TinyFamily]) -> str:
    """A Markdown table of the CPU seconds of one RL step of each family at the same width, in two processes."""
    lines = ["| family | M weights | CPU s a step, kernels | without | of its training, kernels | without |"]
    lines.append("|---|---|---|---|---|---|")
    for family in families:
        with TemporaryDirectory() as folder:
            tiny_model(["Which plate?"] * 9, MediaStore(), family=family, size=COST_SIZE, seed=1).save(Path(folder))
            native, plain = (step_of(Path(folder), switch) for switch in ("", "0"))
        cells = [f"{one[key]:.2f}" for key in ("cpu_s_min", "training_cpu_s_min") for one in (native, plain)]
        lines.append(f"| {family} | {native['parameters'] / 1e6:.1f} | {' | '.join(cells)} |")
    return "\n".join(lines)


def step_of(model: Path, switch: str) -> dict[str, float]:
    """What ``saccade bench rl`` measures of a checkpoint, with that setting of the native kernels."""
    written = model / "step.json"
    command = [sys.executable, "-m", "saccade", "bench", "rl", "--model", str(model), *STEP, "--json", str(written)]
    subprocess.run([*command, "--quiet"], env=os.environ | {SWITCH: switch}, check=True, stdout=subprocess.DEVNULL)
    found = json.loads(written.read_text())
    step = found["frameworks"]["saccade"]
    return {"parameters": found["parameters"], **{key: step[key] for key in ("cpu_s_min", "training_cpu_s_min")}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", metavar="FAMILY")
    parser.add_argument("--directories", nargs="+", type=Path, default=[])
    parser.add_argument("--costs", action="store_true", help="CPU seconds of a step in place of checks")
    given = parser.parse_args()
    if given.costs:
        print(costs(given.families or get_args(TinyFamily)))
        return
    found = {path.name: list(family_findings(path)) for path in given.directories}
    for family in given.families or ([] if given.directories else get_args(TinyFamily)):
        with TemporaryDirectory() as folder:
            found[family] = list(family_findings(write_tiny(Path(folder), family)))
    print(as_markdown(found))


if __name__ == "__main__":
    main()
