"""The diagram reader and the formalisation on fresh problems of the family ``geometry_problem``.

    python -m studies.readers.diagrams [--count 200] [--seed 2026] [--styles plain] [--kinds ...] [--json FILE]

For each kind of figure: how many points (within 4 px), lines (with the right points in order), circles, printed lengths
and angles and marks are read rightly; how many diagrams are read without any mistake; and how many problems are solved
from picture and words, by logic forms and by CDL. Whatever is missing or made up counts as wrong; nothing is skipped.

Styles: ``plain`` as the family draws; ``scan`` on white paper, 1.6 times as large, as a JPEG of quality 60;
``rapidocr`` plain, with every label read by RapidOCR (``pip install -e ".[ocr]"``). Problems are solved in
``plain``. The reader was made with seed 5.
"""

import argparse
import io
import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from PIL import Image

from saccade.errors import ToolError
from saccade.gym.drawn.geometry_problem import KINDS, GeometryProblem, draw_problem
from saccade.gym.drawn.geometry_sketch import Sketch
from saccade.media.store import MediaStore
from saccade.readers.diagrams.diagram import Diagram, read_diagram
from saccade.readers.text.lines import TextReader
from saccade.seeding import generator_for
from saccade.tools.diagram_tools import DIAGRAM_TOOLS
from saccade.tools.geometry_tools import GEOMETRY_TOOLS
from saccade.tools.tool import find_tool

NEAR_PX = 4.0
SAME_ANSWER = 1e-3
EVERY = 2.0
"""Above 1: no label is read sure enough without the text reader."""

PARTS = ("points", "lines", "circles", "lengths", "angles", "right angles", "equal parts", "parallels")


def main() -> int:
    """Prints a line for each kind and style; the results go to a file on demand."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--count", type=int, default=200, help="problems of each kind")
    options.add_argument("--seed", type=int, default=2027)
    options.add_argument("--styles", nargs="+", default=["plain"], choices=["plain", "scan", "rapidocr"])
    options.add_argument("--kinds", nargs="+", default=list(KINDS), choices=list(KINDS))
    options.add_argument("--json", type=Path, help="where to write the results")
    options.add_argument("--failures", action="store_true", help="print what was read wrongly")
    chosen = options.parse_args()
    results: dict[str, object] = {"seed": chosen.seed, "count": chosen.count}
    for style in chosen.styles:
        for kind in chosen.kinds:
            numbers = [_measured(kind, index, style, chosen) for index in range(chosen.count)]
            results.setdefault(style, {})[kind] = summary = _summary(numbers, style)  # type: ignore[index]
            print(f"{style:9} {kind:17} " + "  ".join(f"{name} {value}" for name, value in summary.items()), flush=True)
            if chosen.json:
                chosen.json.write_text(json.dumps(results, indent=1) + "\n")
    return 0


def _measured(kind: str, index: int, style: str, chosen: argparse.Namespace) -> dict[str, object]:
    problem = draw_problem(generator_for(chosen.seed, "diagrams benchmark", kind, index), 1.0, kind)
    image, scale = _in_style(problem.canvas.image, style)
    started = time.process_time()
    try:
        diagram = read_diagram(image, _reader() if style == "rapidocr" else None, EVERY)
    except ToolError as error:
        print(f"  {kind} {index}: {error}")
        diagram = None
    cpu_s = time.process_time() - started
    counts = {part: _compared(*sides) for part, sides in _sides(problem, diagram, scale).items()}
    is_whole = all(right == wanted and not more for right, wanted, more in counts.values())
    solved = _solved(problem) if style == "plain" else {}
    if chosen.failures and not (is_whole and all(solved.values())):
        wrong = {part: sides for part, sides in _sides(problem, diagram, scale).items() if sides[0] != sides[1]}
        print(f"  {kind} {index}: {solved} {wrong} {diagram.notes if diagram else ''} {problem.sketch.question}")
    return {"counts": counts, "is_whole": is_whole, "cpu_s": cpu_s, **solved}


def _summary(numbers: Sequence[Mapping[str, object]], style: str) -> dict[str, object]:
    found: dict[str, object] = {}
    for part in PARTS:
        counts = [one["counts"][part] for one in numbers]  # type: ignore[index]
        wanted, right, more = (sum(count[place] for count in counts) for place in (1, 0, 2))
        if wanted or more:
            found[part] = f"{right}/{wanted}" + (f" (+{more})" if more else "")
    found["whole diagrams"] = f"{sum(bool(one['is_whole']) for one in numbers)}/{len(numbers)}"
    for name in ("solved by logic forms", "solved by CDL") if style == "plain" else ():
        found[name] = f"{sum(bool(one[name]) for one in numbers)}/{len(numbers)}"
    times = sorted(float(str(one["cpu_s"])) for one in numbers)
    found["reading cpu ms"] = f"median {1000 * statistics.median(times):.0f}, longest {1000 * times[-1]:.0f}"
    return found


def _in_style(image: Image.Image, style: str) -> tuple[Image.Image, float]:
    if style != "scan":
        return image, 1.0
    scale = 1.6
    grey = image.convert("L").point(lambda value: min(255, round((value - 12) * 243 / 116 + 12)))
    grey = grey.resize((round(image.width * scale), round(image.height * scale)), Image.Resampling.BICUBIC)
    file = io.BytesIO()
    grey.convert("RGB").save(file, "JPEG", quality=60)
    return Image.open(file).convert("RGB"), scale


def _reader() -> TextReader:
    from saccade.readers.text.rapid import RapidReader

    return RapidReader()


def _compared(wanted: Iterable[object], found: Iterable[object]) -> tuple[int, int, int]:
    """How many are right, how many there are, how many were made up."""
    one, other = Counter(wanted), Counter(found)
    return (one & other).total(), one.total(), (other - one).total()


def _sides(problem: GeometryProblem, diagram: Diagram | None, scale: float) -> dict[str, tuple[list, list]]:
    """Of every part: what is drawn, and what was read."""
    sketch = problem.sketch
    drawn = {
        "points": list(problem.spots),
        "lines": [_line(line) for line in sketch.lines],
        "circles": [(centre, frozenset(on)) for centre, on in sketch.circles.items()],
        "lengths": [(frozenset(line), text) for line, text in sketch.lengths.items()],
        "angles": [(_corner(corner, sketch), text) for corner, text in sketch.angles.items()],
        "right angles": [_corner(corner, sketch) for corner in sketch.right_angles],
        "equal parts": [frozenset(map(frozenset, group)) for group in sketch.equal_lengths]
        + [frozenset(_corner(corner, sketch) for corner in group) for group in sketch.equal_angles],
        "parallels": [frozenset(_whole(line, sketch) for line in group) for group in sketch.parallels],
    }
    if diagram is None:
        return {part: (wanted, []) for part, wanted in drawn.items()}
    read = {
        "points": [
            name if _is_near(name, at / scale, problem) else f"{name} elsewhere" for name, at in diagram.places.items()
        ],
        "lines": [_line(line) for line in diagram.lines],
        "circles": [(circle.centre, frozenset(circle.names)) for circle in diagram.circles],
        "lengths": [(frozenset(piece), text) for piece, text in diagram.lengths.items()],
        "angles": [(_corner(corner, sketch), text) for corner, text in diagram.angles.items()],
        "right angles": [_corner(corner, sketch) for corner in diagram.right_angles],
        "equal parts": [frozenset(map(frozenset, group)) for group in diagram.equal_lengths]
        + [frozenset(_corner(corner, sketch) for corner in group) for group in diagram.equal_angles],
        "parallels": [frozenset(map(_line, group)) for group in diagram.parallels],
    }
    return {part: (wanted, read[part]) for part, wanted in drawn.items()}


def _is_near(name: str, at: complex, problem: GeometryProblem) -> bool:
    return name in problem.spots and abs(at - complex(problem.spots[name].x, problem.spots[name].y)) <= NEAR_PX


def _line(names: str) -> str:
    return min(names, names[::-1])


def _whole(segment: str, sketch: Sketch) -> str:
    return _line(next(line for line in sketch.lines if set(segment) <= set(line)))


def _corner(corner: Sequence[str], sketch: Sketch) -> tuple[frozenset[str], str]:
    """The angle by its vertex and the nearest points on its arms: the same for all names of it."""
    arms = []
    for arm in (corner[0], corner[2]):
        near = arm
        for line in sketch.lines:
            for one, other in (*pairwise(line), *pairwise(line[::-1])):
                if (
                    one == corner[1]
                    and arm in line
                    and (line.index(arm) > line.index(one)) == (line.index(other) > line.index(one))
                ):
                    near = other
        arms.append(near)
    return frozenset(arms), corner[1]


def _solved(problem: GeometryProblem) -> dict[str, bool]:
    """Whether the answer comes out of the picture and the words, through the tools as a model would call them."""
    media = MediaStore()
    image = media.add(problem.canvas.image)
    try:
        read = find_tool("formalize_problem", DIAGRAM_TOOLS).call(
            {"question": problem.sketch.question}, (image,), media
        )
    except ToolError:
        return {"solved by logic forms": False, "solved by CDL": False}
    parts = {name: part if isinstance(part, str) else "\n".join(part) for name, part in read.data.items()}  # type: ignore[arg-type]
    by_forms = {"logic_forms": parts["logic_forms"], "points": parts["points"]}
    by_cdl = {name: parts[name] for name in ("construction_cdl", "text_cdl", "goal_cdl", "image_cdl")}
    return {
        "solved by logic forms": _is_right("solve_geometry", by_forms, problem, media),
        "solved by CDL": _is_right("solve_cdl", by_cdl, problem, media),
    }


def _is_right(tool: str, arguments: Mapping[str, str], problem: GeometryProblem, media: MediaStore) -> bool:
    try:
        (answer,) = find_tool(tool, GEOMETRY_TOOLS).call(arguments, (), media).data["answers"]  # type: ignore[misc]
    except (ToolError, ValueError):
        return False
    value, wanted = answer["value"], problem.sketch.answer  # type: ignore[index,call-overload]
    return isinstance(value, float) and abs(value - wanted) <= SAME_ANSWER * max(1.0, abs(wanted))


if __name__ == "__main__":
    sys.exit(main())
