"""The table family x check, of a tiny checkpoint of each family or of given ones, in Markdown.

OMP_NUM_THREADS=1 python benchmarks/family_table.py
OMP_NUM_THREADS=1 python benchmarks/family_table.py glm4v llava_onevision
OMP_NUM_THREADS=1 python benchmarks/family_table.py --directories checkpoints/my-model
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinyFamily, TinySize, tiny_model
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", metavar="FAMILY")
    parser.add_argument("--directories", nargs="+", type=Path, default=[])
    given = parser.parse_args()
    found = {path.name: list(family_findings(path)) for path in given.directories}
    for family in given.families or ([] if given.directories else get_args(TinyFamily)):
        with TemporaryDirectory() as folder:
            found[family] = list(family_findings(write_tiny(Path(folder), family)))
    print(as_markdown(found))


if __name__ == "__main__":
    main()
