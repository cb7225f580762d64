"""Problems with one condition taken away and a drawing left: what the solver still calls determined.

    python benchmarks/geometry_open.py [--count 8] [--seed 2031] [--drawings true crooked wide half] [--show]

From solved problems (``examples/geometry_problems.jsonl``, and fresh ones of the family ``geometry_problem``) one
statement at a time is left out: a number, a parallel, a right angle, equal parts, a point on a line. The solver gets
the rest with the places of points in a drawing: ``true`` to the numbers; ``crooked``, every point moved by a few per
cent; ``wide``, stretched to 1.6; ``half``, of every other point only. Each whole problem is solved with the same
drawings too.

A value counts as wrong when it is not the answer of the whole problem: the drawings are not to scale, so whoever
measures them is found out. In true drawings (where measuring would give the answer) every value counts as wrong but
where the statement that was left out follows from the others, which is told by hand in ``FOLLOWS``. Ends with status 1
when anything is wrong.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from saccade.errors import ToolError
from saccade.readers.geometry.cdl import statements_of
from saccade.readers.geometry.figure import figure_of
from saccade.readers.geometry.language import parse_statements
from saccade.readers.geometry.numeric import find_figures
from saccade.readers.geometry.solver import solve
from saccade.readers.geometry.terms import Call, written
from saccade.seeding import generator_for
from saccade.tasks.families.geometry_problem import KINDS, draw_problem

DRAWINGS = ("true", "crooked", "wide", "half")
CROOKED, TORN = 0.04, 0.25
"""By which points are moved: of a drawing's size, and at most of its nearest points' distance, so that sides stay."""

SAME = 1e-3
KEPT = ("Find", "Line", "Triangle", "Circle", "Counterclockwise")
"""What says nothing that could be missed."""

FOLLOWS = (
    "IsDiameterOf",
    "InscribedIn",
    "IsChordOf",
    "IsRadiusOf",
    "PointLiesOnCircle",
    "PointLiesOnLine",
    "IntersectAt",
    "Right",
    "RightAngle",
    "Perpendicular(beside Right)",
)
"""In the family's problems and true drawings: that a diameter's centre lies on it and that corners lie on the circle is
said by the points, that an angle is right by the word ``Right``, whose corner the drawing shows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """A determined problem with a true drawing."""

    name: str
    source: str
    statements: tuple[Call, ...]
    places: Mapping[str, complex]
    """With y upwards."""
    answer: float


def main() -> int:
    """Prints a line for each source and drawing, and the totals."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--count", type=int, default=8, help="fresh problems of each kind")
    options.add_argument("--seed", type=int, default=2031)
    options.add_argument("--drawings", nargs="+", default=DRAWINGS, choices=DRAWINGS)
    options.add_argument("--problems", type=Path, default=Path("examples/geometry_problems.jsonl"))
    options.add_argument("--show", action="store_true", help="print what is wrong")
    chosen = options.parse_args()
    problems = [*_fresh(chosen.count, chosen.seed), *_examples(chosen.problems)]
    total: Counter[str] = Counter()
    for drawing in chosen.drawings:
        for source in dict.fromkeys(problem.source for problem in problems):
            counts: Counter[str] = Counter()
            for number, problem in enumerate(problems):
                if problem.source == source:
                    places = _drawn(problem, drawing, generator_for(chosen.seed, "drawing", number))
                    counts.update(_tried(problem, drawing, places, shows=chosen.show))
            _tell(f"{drawing:8} {source:17}", counts)
            total += counts
    _tell("together", total)
    return 1 if total["wrong"] + total["whole wrong"] else 0


def _tell(what: str, counts: Counter[str]) -> None:
    whole = counts["whole solved"] + counts["whole open"] + counts["whole wrong"]
    cut = counts["wrong"] + counts["open"] + counts["follows"]
    print(
        f"{what}: whole problems solved {counts['whole solved']}/{whole}, wrong {counts['whole wrong']}; one statement "
        f"left out: {cut}, of which wrongly determined {counts['wrong']}, not determined {counts['open']}, still "
        f"determined because the statement follows {counts['follows']}",
        flush=True,
    )


def _tried(problem: Problem, drawing: str, places: Mapping[str, complex], *, shows: bool) -> Iterator[str]:
    value = _solved(problem.statements, places)
    is_right = value is not None and _is_same(value, problem.answer)
    yield "whole solved" if is_right else "whole open" if value is None else "whole wrong"
    if shows and not is_right:
        print(f"  {problem.name} whole, {drawing}: {value} for {problem.answer}")
    for left_out in problem.statements:
        if left_out.name in KEPT:
            continue
        value = _solved([said for said in problem.statements if said is not left_out], places)
        if value is None:
            yield "open"
        elif _is_same(value, problem.answer) and (drawing != "true" or _may_follow(left_out, problem)):
            yield "follows"
        else:
            yield "wrong"
            if shows:
                print(f"  {problem.name} without {written(left_out)}, {drawing}: {value} for {problem.answer}")


def _may_follow(left_out: Call, problem: Problem) -> bool:
    if problem.source == "examples":
        # Their drawings are any of the figures that fulfil the statements; only crooked ones tell more.
        return True
    names = {said.name for said in problem.statements}
    is_beside = left_out.name == "Perpendicular" and "Right" in names
    return left_out.name in FOLLOWS or is_beside


def _solved(statements: Sequence[Call], places: Mapping[str, complex]) -> float | None:
    try:
        named = figure_of(statements).points
        (answer,) = solve(statements, {name: (at.real, at.imag) for name, at in places.items() if name in named})
    except ToolError:
        return None
    return answer.value


def _is_same(value: float, answer: float) -> bool:
    return abs(value - answer) <= SAME * max(1.0, abs(answer))


def _drawn(problem: Problem, drawing: str, rng: np.random.Generator) -> dict[str, complex]:
    spots = dict(problem.places)
    if drawing == "half":
        return dict(list(spots.items())[::2])
    if drawing == "wide":
        return {name: complex(1.6 * at.real, at.imag) for name, at in spots.items()}
    if drawing == "crooked":
        gaps = [abs(one - other) for one, other in combinations(spots.values(), 2)]
        moved = min(CROOKED * max(gaps), TORN * min(gaps))
        return {name: at + moved * complex(*rng.uniform(-1, 1, size=2)) for name, at in spots.items()}
    return spots


def _fresh(count: int, seed: int) -> Iterator[Problem]:
    for kind in KINDS:
        for index in range(count):
            problem = draw_problem(generator_for(seed, "open", kind, index), 1.0, kind)
            yield Problem(
                name=f"{kind} {index}",
                source=kind,
                statements=parse_statements("\n".join(problem.sketch.logic_forms)),
                places={name: complex(round(at.x), -round(at.y)) for name, at in problem.spots.items()},
                answer=problem.sketch.answer,
            )


def _examples(path: Path) -> Iterator[Problem]:
    """The determined ones with points, each drawn as the first figure that the solver finds."""
    for line in path.read_text().splitlines():
        one = json.loads(line)
        text = one["text"]
        statements = statements_of(text, "it") if one["language"] == "cdl" else parse_statements(text)
        state = find_figures(figure_of(statements)).state
        if one["answer"] is not None and len(state.points) > 2:
            places = {name: complex(float(x[0]), float(y[0])) for name, (x, y) in state.points.items()}
            yield Problem(name=one["id"], source="examples", statements=statements, places=places, answer=one["answer"])


if __name__ == "__main__":
    sys.exit(main())
