"""The graded score of tools beside the public code's own functions, on drawn chains.

    git clone https://github.com/NEUIR/Lang2Act
    python benchmarks/lang2act_graded.py Lang2Act/src/Easyr1/examples/reward_function/toolrl.py [--json FILE]

Runs the two functions of that file that check a chain's format and score its tools, without its judge. Chains have 0 to
9 tools, known or not, with and without pages; ``--empty-args`` adds arguments that are empty, where the two differ by
intent. Exit status 1 when any score differs.
"""

import argparse
import json
import random
import re
import sys
import typing
from collections.abc import Callable
from datetime import date
from pathlib import Path

from saccade.protocols import LinguisticTool, LinguisticToolbox, read_chain
from saccade.rewards.lang2act import graded_tools

PAGELESS = ("compute_difference", "compute_percentage")
ARGS = ("Image 1: a", "Image 2: b", "Image 9: c", "Image 3: row, col", "a vs b", "$5 (Image 2) vs 3", "3, 4")
THOUGHTS = ("Image 1 and Image 2 help", "Image 3", "nothing", "Images: Image 2")
PAGES = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="toolrl.py of the public code.")
    parser.add_argument("--chains", type=int, default=20_000)
    parser.add_argument("--empty-args", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    theirs, names = public_score(arguments.file)
    toolbox = LinguisticToolbox(tuple(LinguisticTool(name, "x") for name in sorted(names)))
    args = (*ARGS, "") if arguments.empty_args else ARGS
    chance, different = random.Random(0), 0
    for _ in range(arguments.chains):
        text = drawn(chance, sorted(names), args)
        chain = read_chain(text, toolbox, PAGES)
        ours = graded_tools(chain, toolbox, PAGES, PAGELESS) if chain.is_in_order else None
        given = theirs(text)
        is_same = ours == given if ours is None or given is None else abs(ours - given) < 1e-9
        different += not is_same
    told = {"chains": arguments.chains, "different": different}
    print(json.dumps(told))
    if arguments.json:
        head = {"command": f"python benchmarks/lang2act_graded.py {' '.join(sys.argv[1:])}"}
        arguments.json.write_text(json.dumps({**head, "date": date.today().isoformat(), **told}, indent=1) + "\n")
    sys.exit(1 if different else 0)


def drawn(chance: random.Random, names: list[str], args: tuple[str, ...]) -> str:
    """A chain of up to nine tools; one in nine is not in the toolbox, one in eight says little or nothing."""
    tools = []
    for _ in range(chance.choice((0, 1, 2, 3, 9))):
        name, finding = chance.choice((*names, "zap")), chance.choice(("found 7",) * 6 + ("x", ""))
        tools.append(f'<tool name="{name}" args="{chance.choice(args)}">{finding}</tool>')
    description = "\n".join(tools)
    return f"<think>{chance.choice(THOUGHTS)}</think><description>{description}</description><answer>7</answer>"


def public_score(path: Path) -> tuple[Callable[[str], float | None], set[str]]:
    """The public score of a text's tools, None where it refuses the format; and the names that it knows."""
    source = path.read_text(encoding="utf-8")
    start, end = source.index("TOOL_TAG_PATTERN"), source.index("# ====", source.index("def validate_tool_content"))
    scope: dict[str, typing.Any] = {**vars(typing), "re": re}
    exec(source[start:end], scope)

    def score(text: str) -> float | None:
        found = scope["check_strict_format"](text)
        if not found["valid"]:
            return None
        parsed = found["parsed"]
        return float(scope["validate_tool_content"](parsed["description"], parsed["think"], PAGES))

    return score, set(scope["ALLOWED_TOOLS"])


if __name__ == "__main__":
    main()
