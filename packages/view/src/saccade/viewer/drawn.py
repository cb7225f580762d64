"""Drawings: parts of pages that only show something, as nested lists that a browser builds node by node.

A drawing is ``[name, attributes, ...children]``: the element with its classes (``"span.small"``), a mapping where it
has attributes, then texts and drawings. Texts become text nodes, so that nothing in them is ever read as markup.
"""

from collections.abc import Mapping, Sequence

from saccade.evaluation.statistics import Accuracy
from saccade.types import Json
from saccade.viewer.words import bar_of, number_text


def draw(element: str, /, *children: Json, **attributes: Json) -> Json:
    """An element; ``class_`` and ``aria_label`` are attributes, None and "" no child."""
    told = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items() if value is not None}
    return [element, *([told] if told else []), *(child for child in children if child is not None and child != "")]


def number(value: float | None) -> str:
    """The number in short; a dash for none."""
    return "–" if value is None or value != value else number_text(value)


def count_text(count: int, word: str, words: str = "") -> str:
    """``1 turn``, ``2 turns``, ``1,024 turns``."""
    return f"{count:,} {word if count == 1 else words or f'{word}s'}"


def numbers_cell(*children: Json) -> Json:
    return draw("td.numbers", *children)


def numbers_head(*children: Json) -> Json:
    return draw("th.numbers", *children, scope="col")


def table(label: str, heads: Sequence[Json], rows: Sequence[Sequence[Json]], *drawn: Json) -> Json:
    """A table that scrolls by itself; a row begins with its heading. Cells may come drawn, and whole rows too."""
    return draw(
        "div.scroll",
        draw(
            "table",
            draw("thead", draw("tr", *(one if _is_cell(one) else draw("th", one, scope="col") for one in heads))),
            draw("tbody", *map(_row, rows), *drawn),
        ),
        tabindex=0,
        role="group",
        aria_label=label,
    )


def _row(cells: Sequence[Json]) -> Json:
    first, *others = cells
    heading = first if _is_cell(first) else draw("th", first, scope="row")
    return draw("tr", heading, *(one if _is_cell(one) else draw("td", one) for one in others))


def _is_cell(one: Json) -> bool:
    return isinstance(one, list) and str(one[0]).partition(".")[0] in ("td", "th")


def picture_of_bars(name: str, *shapes: Json, height: int = 10, **attributes: Json) -> Json:
    """A drawing 100 wide that stretches with its place; without a label nobody is told of it."""
    told: Mapping[str, Json] = attributes or {"aria_hidden": "true"}
    return draw(name, *shapes, viewBox=f"0 0 100 {height}", preserveAspectRatio="none", **told)


def bar(name: str, start: float, width: float, *, y: float = 0, height: float = 10) -> Json:
    return draw(f"rect.{name}" if name else "rect", x=round(start, 6), y=y, width=round(width, 6), height=height)


TRACK = bar("track", 0, 100)


def share_line(answers: Accuracy) -> Json:
    """A share as a bar with its interval, and the numbers beside it."""
    told = bar_of(answers)
    if told.center is None:
        return draw("span.small", "–")
    words = f"{told.accuracy}, 95 % interval {told.interval}, {count_text(told.n, 'question')}"
    shown = picture_of_bars(
        "svg.share",
        TRACK,
        bar("interval", told.low, max(told.high - told.low, 0.5), y=1, height=8),
        bar("center", told.center - 0.6, 1.2),
        role="img",
        aria_label=words,
    )
    return draw("span.share-line", shown, draw("b", told.accuracy), draw("span.small", f" of {told.n:,}"), title=words)


def spark_line(values: Sequence[float]) -> Json:
    """A small curve."""
    if len(values) < 2:
        return draw("span.small", "–")
    low, high = min(values), max(values)
    points = " ".join(
        f"{100 * at / (len(values) - 1):.1f},{22 - 20 * (value - low) / (high - low or 1):.1f}"
        for at, value in enumerate(values)
    )
    line = draw("polyline", points=points)
    label = f"from {number(values[0])} to {number(values[-1])}"
    return picture_of_bars("svg.spark", line, height=24, role="img", aria_label=label)
