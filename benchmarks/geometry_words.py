"""Word problems in the wording of public sources, by the two routes that a model can take.

    python benchmarks/geometry_words.py [--show] [--json FILE]

The problems (``geometry_words.jsonl``) have numbers of our own and need no diagram; one, ``answer`` null, is open
without it. "CDL tools" is ``text_cdl`` and ``goal_cdl``, then ``solve_cdl``; "inner route" reads the words into
logic forms for the solver. ``tuned`` were looked at when the reader of words was made, ``held out`` were not.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from saccade.errors import ToolError
from saccade.media.store import MediaStore
from saccade.readers.diagrams.words import read_words
from saccade.readers.geometry.solver import solve
from saccade.tools.diagram_tools import DIAGRAM_TOOLS
from saccade.tools.geometry_tools import GEOMETRY_TOOLS
from saccade.tools.tool import find_tool

SAME = 1e-3
PROBLEMS = Path(__file__).with_suffix(".jsonl")


def main() -> int:
    """Prints solved, refused and wrong of each set and route; status 1 when anything is wrong."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--show", action="store_true", help="print what was not solved, and why")
    options.add_argument("--json", type=Path, help="where to write the counts")
    chosen = options.parse_args()
    counts: dict[str, Counter[str]] = {}
    for line in PROBLEMS.read_text().splitlines():
        problem = json.loads(line)
        for route, solved in ROUTES.items():
            outcome, why = _outcome(solved, problem)
            counts.setdefault(f"{problem['set']}, {route}", Counter())[outcome] += 1
            if chosen.show and outcome != "solved":
                print(f"  {outcome} by {route}: {problem['text']} ({problem['answer']})\n    {why}")
    for name, count in counts.items():
        print(f"{name}: solved {count['solved']}/{count.total()}, refused {count['refused']}, wrong {count['wrong']}")
    if chosen.json:
        chosen.json.write_text(json.dumps(counts, indent=1) + "\n")
    return 1 if any(count["wrong"] for count in counts.values()) else 0


def _outcome(solved: Callable[[str], float | None], problem: Mapping[str, object]) -> tuple[str, str]:
    wanted = problem["answer"]
    try:
        value = solved(str(problem["text"]))
    except ToolError as error:
        return "refused", str(error)
    if value is None:
        return ("solved" if wanted is None else "refused"), "not determined"
    is_right = wanted is not None and abs(value - float(str(wanted))) <= SAME * max(1.0, abs(value))
    return ("solved" if is_right else "wrong"), f"{value}"


def by_cdl(question: str) -> float | None:
    """The value by the CDL tools."""
    media = MediaStore()
    said = find_tool("text_cdl", DIAGRAM_TOOLS).call({"question": question}, (), media).data["text_cdl"]
    goals = find_tool("goal_cdl", DIAGRAM_TOOLS).call({"question": question}, (), media).data["goal_cdl"]
    assert isinstance(said, list)
    assert isinstance(goals, list)
    if len(goals) != 1:
        raise ToolError(f"{len(goals)} goals")
    arguments = {"construction_cdl": "", "text_cdl": "\n".join(map(str, said)), "goal_cdl": str(goals[0])}
    (answer,) = find_tool("solve_cdl", GEOMETRY_TOOLS).call(arguments, (), media).data["answers"]  # type: ignore[misc]
    value = answer["value"]  # type: ignore[index,call-overload]
    return None if value is None else float(str(value))


def by_words(question: str) -> float | None:
    """The value by logic forms."""
    words = read_words(question)
    (answer,) = solve([*words.said, *words.goals], None, "the words")
    return answer.value


ROUTES = {"CDL tools": by_cdl, "inner route": by_words}


if __name__ == "__main__":
    sys.exit(main())
