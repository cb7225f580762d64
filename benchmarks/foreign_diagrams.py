"""Diagrams drawn by other programs than ours, read and solved end to end.

    python benchmarks/foreign_diagrams.py [--show] [--out FOLDER] [--drawers matplotlib pillow svg] [--engine rapidocr]

Twelve problems, each drawn in three of eight styles: matplotlib with italic, serif and large upright letters, black or
grey lines, points as dots; Pillow as in worksheets and on a blackboard; SVG through CairoSVG (``pip install cairosvg``)
as geometry programs save it, with filled points and coloured lines. Squares of right angles are large, lengths have
units, some lines are dashed. "Solved" is ``formalize_problem``, then ``solve_geometry``. The first two pictures of each
problem were looked at when the reader was made ("tuned"), the third not ("held out").
"""

import argparse
import cmath
import io
import math
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from saccade.errors import ToolError
from saccade.media.store import MediaStore
from saccade.tools.diagram_tools import DIAGRAM_TOOLS, diagram_tools
from saccade.tools.geometry_tools import GEOMETRY_TOOLS
from saccade.tools.tool import find_tool

SHIFTS = (0, 3, 5)
"""By which the styles of a problem's pictures are chosen; those of the last were not looked at."""

SIDE = 460
BORDER = 62
SAME = 1e-3


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """A figure with y upwards, what is printed in it, and its question."""

    name: str
    places: Mapping[str, complex]
    lines: Sequence[str]
    question: str
    answer: float
    dashed: Sequence[str] = ()
    circles: Mapping[str, float] | None = None
    """Radii by centre."""
    squares: Sequence[str] = ()
    lengths: Mapping[str, str] | None = None
    angles: Mapping[str, str] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Style:
    """How a program draws."""

    font: str
    letter: int
    number: int
    width: float
    ink: str = "black"
    ground: str = "white"
    square: float = 24
    is_dotted: bool = False
    is_italic: bool = False


PROBLEMS = (
    Problem(
        name="right",
        places={"A": 4j, "B": 0j, "C": 3 + 0j},
        lines=("AB", "BC", "AC"),
        squares=("ABC",),
        lengths={"AB": "4 cm", "BC": "3 cm"},
        question="Find the length of AC.",
        answer=5,
    ),
    Problem(
        name="angles",
        places={"P": 0j, "Q": 5 + 0j, "R": 1.853 + 3.209j},
        lines=("PQ", "QR", "PR"),
        angles={"QPR": "60°", "PQR": "45°"},
        question="What is the measure of angle PRQ?",
        answer=75,
    ),
    Problem(
        name="altitude",
        places={"A": 2.25 + 3j, "B": 0j, "C": 6.25 + 0j, "D": 2.25 + 0j},
        lines=("AB", "BDC", "AC"),
        dashed=("AD",),
        squares=("ADC",),
        lengths={"AD": "6 cm", "BD": "4.5 cm"},
        question="Find the length of AB.",
        answer=7.5,
    ),
    Problem(
        name="crossing",
        places={"A": 0j, "B": 4 + 0j, "E": 1.848 + 2.202j, "D": 3.696 + 4.404j, "C": -0.304 + 4.404j},
        lines=("AB", "CD", "AED", "BEC"),
        angles={"BAE": "50°", "ECD": "45.7°"},
        question="AB is parallel to CD. Find the measure of angle AEB.",
        answer=84.3,
    ),
    Problem(
        name="tangent",
        places={"O": 0j, "T": 3j, "P": 4 + 3j},
        lines=("OT", "TP", "OP"),
        circles={"O": 3},
        squares=("OTP",),
        lengths={"OT": "6", "TP": "8"},
        question="PT is tangent to circle O at T. Find OP.",
        answer=10,
    ),
    Problem(
        name="parallelogram",
        places={"A": 0j, "B": 4 + 0j, "C": 5.3 + 2.25j, "D": 1.3 + 2.25j},
        lines=("AB", "BC", "CD", "AD"),
        angles={"BAD": "60°"},
        question="ABCD is a parallelogram. Find the measure of angle ABC.",
        answer=120,
    ),
    Problem(
        name="midsegment",
        places={"A": 1.6 + 4j, "B": 0j, "C": 5 + 0j, "M": 0.8 + 2j, "N": 3.3 + 2j},
        lines=("AMB", "ANC", "BC", "MN"),
        lengths={"BC": "12.4"},
        question="M is the midpoint of AB and N is the midpoint of AC. Find the length of MN.",
        answer=6.2,
    ),
    Problem(
        name="thales",
        places={"O": 0j, "A": -3 + 0j, "B": 3 + 0j, "C": 3 * cmath.exp(1j * math.radians(70))},
        lines=("AOB", "AC", "BC"),
        circles={"O": 3},
        angles={"CAB": "35°"},
        question="AB is a diameter of circle O. Find the measure of angle ABC.",
        answer=55,
    ),
    Problem(
        name="rectangle",
        places={"A": 0j, "B": 6 + 0j, "C": 6 + 2.5j, "D": 2.5j},
        lines=("AB", "BC", "CD", "AD"),
        dashed=("AC",),
        squares=("BAD",),
        lengths={"AB": "12 cm", "BC": "5 cm"},
        question="ABCD is a rectangle. Find the length of AC.",
        answer=13,
    ),
    Problem(
        name="exterior",
        places={"A": 1.4 + 3.2j, "B": 0j, "C": 3.4 + 0j, "D": 5.8 + 0j},
        lines=("AB", "AC", "BCD"),
        angles={"ABC": "66°", "ACD": "122°"},
        question="Find the measure of angle BAC.",
        answer=56,
    ),
    Problem(
        name="similar",
        places={"A": 1.8 + 4.5j, "B": 0j, "C": 5.4 + 0j, "D": 0.72 + 1.8j, "E": 3.96 + 1.8j},
        lines=("ADB", "AEC", "BC", "DE"),
        lengths={"AD": "9", "BD": "6", "BC": "20"},
        question="DE is parallel to BC. Find DE.",
        answer=12,
    ),
    Problem(
        name="kite of two",
        places={"A": 4j, "B": -3 + 0j, "C": 3 + 0j, "D": 0j},
        lines=("AB", "AC", "BDC"),
        dashed=("AD",),
        squares=("ADB",),
        lengths={"AB": "10 cm", "AC": "10 cm", "AD": "8 cm"},
        question="Find the length of BC.",
        answer=12,
    ),
)
"""Each true to its numbers, but for their scale."""


def main() -> int:
    """Prints solved, refused and wrong; status 1 when anything is wrong."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--show", action="store_true", help="print what was not solved, and why")
    options.add_argument("--out", type=Path, help="where to save the pictures")
    options.add_argument("--drawers", nargs="+", default=list(DRAWERS), choices=list(DRAWERS))
    options.add_argument("--engine", choices=["none", "rapidocr"], default="none")
    chosen = options.parse_args()
    counts: dict[str, Counter[str]] = {}
    for number, problem in enumerate(PROBLEMS):
        for shift in SHIFTS:
            name, style = list(STYLES.items())[(number + shift * (1 + number // 4)) % len(STYLES)]
            drawer = name.split()[0]
            if drawer not in chosen.drawers:
                continue
            image = DRAWERS[drawer](problem, style)
            if chosen.out:
                chosen.out.mkdir(parents=True, exist_ok=True)
                image.save(chosen.out / f"{problem.name}_{name}.png".replace(" ", "_"))
            outcome, why = _outcome(problem, image, chosen.engine)
            counts.setdefault("held out" if shift == SHIFTS[-1] else "tuned", Counter())[outcome] += 1
            if chosen.show and outcome != "solved":
                print(f"  {outcome}: {problem.name}, {name}\n    {why}")
    for part, count in counts.items():
        print(f"{part}: solved {count['solved']}/{count.total()}, refused {count['refused']}, wrong {count['wrong']}")
    return 1 if any(count["wrong"] for count in counts.values()) else 0


def _outcome(problem: Problem, image: Image.Image, engine: str) -> tuple[str, str]:
    media = MediaStore()
    tools = DIAGRAM_TOOLS
    if engine == "rapidocr":
        from saccade.readers.text.rapid import RapidReader

        tools = diagram_tools(RapidReader())
    read = ""
    try:
        found = find_tool("formalize_problem", tools).call({"question": problem.question}, (media.add(image),), media)
        read = found.text
        parts = {name: part if isinstance(part, str) else "\n".join(part) for name, part in found.data.items()}  # type: ignore[arg-type]
        arguments = {"logic_forms": parts["logic_forms"], "points": parts["points"]}
        (answer,) = find_tool("solve_geometry", GEOMETRY_TOOLS).call(arguments, (), media).data["answers"]  # type: ignore[misc]
    except ToolError as error:
        return "refused", f"{error} {read}"
    value = answer["value"]  # type: ignore[index,call-overload]
    if value is None:
        return "refused", f"{answer['verdict']} {read}"  # type: ignore[index,call-overload]
    is_right = abs(float(str(value)) - problem.answer) <= SAME * problem.answer
    return ("solved", "") if is_right else ("wrong", f"{value} for {problem.answer} {read}")


def _laid_out(problem: Problem) -> tuple[dict[str, complex], float]:
    """The points in pixels with y downwards, and how many pixels a unit has."""
    outline = list(problem.places.values())
    for centre, radius in (problem.circles or {}).items():
        outline += [problem.places[centre] + radius * way for way in (1, 1j, -1, -1j)]
    low = complex(min(at.real for at in outline), min(at.imag for at in outline))
    high = complex(max(at.real for at in outline), max(at.imag for at in outline))
    scale = (SIDE - 2 * BORDER) / max((high - low).real, (high - low).imag)
    middle = (low + high) / 2
    return {
        name: complex(SIDE / 2, SIDE / 2) + ((at - middle) * scale).conjugate() for name, at in problem.places.items()
    }, scale


def _texts(problem: Problem, spots: Mapping[str, complex], style: Style) -> list[tuple[str, complex, int, bool]]:
    """Every label: text, middle, size, whether it is a point's letter."""
    centre = sum(spots.values()) / len(spots)
    found = []
    for name, at in spots.items():
        ways = [
            (spots[other] - at) / abs(spots[other] - at)
            for line in (*problem.lines, *problem.dashed)
            if name in line
            for other in line
            if other != name
        ]
        away = -sum(ways) if ways and abs(sum(ways)) > 0.3 else (at - centre) or 1j
        if not ways or abs(sum(ways)) <= 0.3:
            away = 1j * ways[0] if ways else 1j
            away = away if away.imag > 0 else -away
        found.append((name, at + (8 + 0.75 * style.letter) * away / abs(away), style.letter, True))
    for line, text in (problem.lengths or {}).items():
        one, other = (spots[name] for name in line)
        across = 1j * (other - one) / abs(other - one)
        middle = (one + other) / 2
        side = across if abs(middle + across - centre) > abs(middle - across - centre) else -across
        wide = abs(side.real) * len(text) * 0.28 * style.number
        found.append((text, middle + (0.8 * style.number + 4 + wide) * side, style.number, False))
    for corner, text in (problem.angles or {}).items():
        arms = [(spots[corner[i]] - spots[corner[1]]) / abs(spots[corner[i]] - spots[corner[1]]) for i in (0, 2)]
        way = sum(arms) / abs(sum(arms))
        found.append((text, spots[corner[1]] + (34 + 1.0 * style.number) * way, style.number, False))
    return found


def _square(corner: str, spots: Mapping[str, complex], size: float) -> list[complex]:
    at = spots[corner[1]]
    one, other = ((spots[corner[i]] - at) / abs(spots[corner[i]] - at) for i in (0, 2))
    return [at + size * one, at + size * (one + other), at + size * other]


def _arc(corner: str, spots: Mapping[str, complex], radius: float) -> list[complex]:
    at = spots[corner[1]]
    start, end = (cmath.phase(spots[corner[i]] - at) for i in (0, 2))
    sweep = (end - start + math.pi) % (2 * math.pi) - math.pi
    return [at + radius * cmath.exp(1j * (start + sweep * k / 24)) for k in range(25)]


def _by_matplotlib(problem: Problem, style: Style) -> Image.Image:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    spots, scale = _laid_out(problem)
    figure = plt.figure(figsize=(SIDE / 100, SIDE / 100), dpi=100, facecolor=style.ground)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, SIDE)
    axes.set_ylim(SIDE, 0)
    axes.axis("off")

    def draw(way: Sequence[complex], dashes: str = "-", width: float = style.width) -> None:
        axes.plot([at.real for at in way], [at.imag for at in way], dashes, color=style.ink, linewidth=width)

    for line in problem.lines:
        draw([spots[line[0]], spots[line[-1]]])
    for line in problem.dashed:
        draw([spots[line[0]], spots[line[-1]]], "--")
    for centre, radius in (problem.circles or {}).items():
        at = (spots[centre].real, spots[centre].imag)
        axes.add_patch(plt.Circle(at, radius * scale, fill=False, edgecolor=style.ink, linewidth=style.width))
    for corner in problem.squares:
        draw(_square(corner, spots, style.square))
    for corner in problem.angles or {}:
        draw(_arc(corner, spots, 26))
    if style.is_dotted:
        for at in spots.values():
            axes.plot([at.real], [at.imag], "o", color=style.ink, markersize=4.5)
    for text, at, size, is_letter in _texts(problem, spots, style):
        shown = f"${text}$" if style.is_italic and is_letter else text
        axes.text(
            at.real, at.imag, shown, fontsize=0.72 * size, family=style.font, color=style.ink, ha="center", va="center"
        )
    file = io.BytesIO()
    figure.savefig(file, format="png", facecolor=style.ground)
    plt.close(figure)
    return Image.open(file).convert("RGB")


def _by_pillow(problem: Problem, style: Style) -> Image.Image:
    spots, scale = _laid_out(problem)
    image = Image.new("RGB", (2 * SIDE, 2 * SIDE), style.ground)
    pen = ImageDraw.Draw(image)
    width = round(2 * style.width)

    def draw(way: Sequence[complex]) -> None:
        pen.line([(2 * at.real, 2 * at.imag) for at in way], fill=style.ink, width=width)

    for line in problem.lines:
        draw([spots[line[0]], spots[line[-1]]])
    for line in problem.dashed:
        one, other = spots[line[0]], spots[line[-1]]
        count = int(abs(other - one) / 13)
        for k in range(count):
            draw([one + (other - one) * k / count, one + (other - one) * (k + 0.6) / count])
    for centre, radius in (problem.circles or {}).items():
        at, reach = 2 * spots[centre], 2 * radius * scale
        pen.ellipse(
            (at.real - reach, at.imag - reach, at.real + reach, at.imag + reach), outline=style.ink, width=width
        )
    for corner in problem.squares:
        draw(_square(corner, spots, style.square))
    for corner in problem.angles or {}:
        draw(_arc(corner, spots, 26))
    if style.is_dotted:
        for at in spots.values():
            pen.ellipse((2 * at.real - 6, 2 * at.imag - 6, 2 * at.real + 6, 2 * at.imag + 6), fill=style.ink)
    for text, at, size, _ in _texts(problem, spots, style):
        font = ImageFont.truetype(style.font, 2 * size)
        pen.text((2 * at.real, 2 * at.imag), text, fill=style.ink, font=font, anchor="mm")
    return image.resize((SIDE, SIDE), Image.Resampling.LANCZOS)


def _by_svg(problem: Problem, style: Style) -> Image.Image:
    import cairosvg

    spots, scale = _laid_out(problem)
    slant = ' font-style="italic"' if style.is_italic else ""
    parts = [f'<rect width="{SIDE}" height="{SIDE}" fill="{style.ground}"/>']

    def draw(way: Sequence[complex], extra: str = "") -> None:
        spelt = " ".join(f"{at.real:.2f},{at.imag:.2f}" for at in way)
        parts.append(
            f'<polyline points="{spelt}" fill="none" stroke="{style.ink}" stroke-width="{style.width}"{extra}/>'
        )

    for line in problem.lines:
        draw([spots[line[0]], spots[line[-1]]])
    for line in problem.dashed:
        draw([spots[line[0]], spots[line[-1]]], ' stroke-dasharray="9,5"')
    for centre, radius in (problem.circles or {}).items():
        at = spots[centre]
        parts.append(
            f'<circle cx="{at.real}" cy="{at.imag}" r="{radius * scale}" fill="none" stroke="{style.ink}" '
            f'stroke-width="{style.width}"/>'
        )
    for corner in problem.squares:
        draw(_square(corner, spots, style.square))
    for corner in problem.angles or {}:
        draw(_arc(corner, spots, 26))
    if style.is_dotted:
        parts += [f'<circle cx="{at.real}" cy="{at.imag}" r="4" fill="#4d4dff"/>' for at in spots.values()]
    for text, at, size, _ in _texts(problem, spots, style):
        parts.append(
            f'<text x="{at.real}" y="{at.imag + 0.36 * size}" font-size="{size}" font-family="{style.font}"{slant} '
            f'text-anchor="middle" fill="{style.ink}">{text}</text>'
        )
    text = f'<svg xmlns="http://www.w3.org/2000/svg" width="{SIDE}" height="{SIDE}">{"".join(parts)}</svg>'
    return Image.open(io.BytesIO(cairosvg.svg2png(bytestring=text.encode()))).convert("RGB")


STYLES: Mapping[str, Style] = {
    "matplotlib plain": Style(font="DejaVu Sans", letter=20, number=17, width=1.6, square=22),
    "matplotlib italic": Style(font="DejaVu Serif", letter=22, number=18, width=1.4, is_italic=True, square=30),
    "pillow worksheet": Style(font="LiberationSans-Regular.ttf", letter=22, number=20, width=2, square=34),
    "svg program": Style(font="DejaVu Sans", letter=19, number=17, width=2, is_dotted=True, square=26),
    "matplotlib dots": Style(font="DejaVu Sans", letter=19, number=16, width=1.2, is_dotted=True, square=40),
    "pillow board": Style(
        font="DejaVuSans.ttf", letter=20, number=18, width=2, ink="white", ground="#14402c", square=24
    ),
    "svg serif": Style(font="Liberation Serif", letter=24, number=20, width=1.3, square=28),
    "svg italic": Style(font="Liberation Serif", letter=24, number=20, width=1.5, is_italic=True, square=44),
}
DRAWERS: Mapping[str, Callable[[Problem, Style], Image.Image]] = {
    "matplotlib": _by_matplotlib,
    "pillow": _by_pillow,
    "svg": _by_svg,
}


if __name__ == "__main__":
    sys.exit(main())
