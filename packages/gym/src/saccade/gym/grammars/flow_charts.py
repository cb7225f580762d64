"""Flow charts: boxes below each other from Start to End; decisions skip boxes, lead aside, or lead back.

Axes: ``clutter`` (how many boxes), ``branches`` (how many decisions at most).
"""

from dataclasses import dataclass

from numpy.random import Generator

from saccade.geometry import Point
from saccade.gym.family import Grammar
from saccade.gym.levels import Levels
from saccade.gym.state import Element, Link, SceneState
from saccade.tasks.scene import pick_several

WORK = (
    *("Wash", "Peel", "Cut", "Boil", "Fry", "Bake", "Mix", "Cool", "Pack", "Label", "Ship", "Weigh", "Sort", "Scan"),
    *("Print", "Sign", "Stamp", "Mail", "File", "Copy", "Save", "Load", "Wait", "Rinse", "Dry", "Fold", "Paint"),
    *("Sand", "Drill", "Glue", "Clean", "Drain", "Fill", "Heat", "Stir", "Taste", "Serve", "Store", "Count", "Call"),
)
"""What boxes with work in them say."""

QUESTIONS = (
    *("Ripe?", "Hot?", "Full?", "Damp?", "Dirty?", "Paid?", "Late?", "Valid?", "Empty?", "Heavy?", "Open?", "New?"),
    *("Signed?", "Broken?", "Sweet?", "Large?", "Sold?", "Fresh?", "Loud?", "Safe?"),
)
"""What decisions ask."""

MAIN_X, SIDE_X, WIDTH = 210, 408, 500
TOP_PX, ROW_PX = 34, 76

START, END = "Start", "End"


@dataclass(frozen=True, kw_only=True, slots=True)
class FlowState(SceneState):
    """Boxes of the kind "box", of the "sort" start, end, work or decision, in columns 0 and 1 (``numbers``).

    Links have the kinds "next", "yes" and "no"; each has an element ``arrow_id`` of the kind "arrow".
    """

    is_mirrored: bool
    """Whether ways aside are at the left."""


def arrow_id(first: str, kind: str) -> str:
    """The element of the arrow that leaves a box."""
    return f"arrow:{first}:{kind}"


def draw_flow_chart(rng: Generator, levels: Levels) -> FlowState:
    """A column of boxes; of two ways out of a decision one leads down."""
    most = levels.whole("clutter", 5, 8, 12)
    count = int(rng.integers(max(4, most - 2), most + 1))
    deepest = min(levels.whole("branches", 2, 3, 5), count - 2)
    decisions = sorted(int(row) for row in rng.permutation(count - 1)[: int(rng.integers(1, deepest + 1))] + 1)
    names = [START, *pick_several(rng, WORK, count), END]
    for row, name in zip(decisions, pick_several(rng, QUESTIONS, len(decisions))):
        names[row] = name
    is_mirrored = bool(rng.integers(2))
    boxes = [_box(row, name, row, 0, is_mirrored) for row, name in enumerate(names)]
    asides = iter(pick_several(rng, tuple(name for name in WORK if name not in names), len(decisions)))
    links: list[Link] = []
    right, left = 0, 0  # rows down to which the lanes at both sides are taken
    for row in range(count + 1):
        if row not in decisions:
            links.append(Link(kind="next", first=boxes[row].id, second=boxes[row + 1].id))
            continue
        down, aside = ("yes", "no") if rng.integers(2) else ("no", "yes")
        links.append(Link(kind=down, first=boxes[row].id, second=boxes[row + 1].id))
        can_go_back, can_go_on = row > left + 1, row >= right
        if can_go_back and (not can_go_on or rng.random() < 0.45):
            to = int(rng.integers(left + 1, row))
            links.append(Link(kind=aside, first=boxes[row].id, second=boxes[to].id))
            left = row
        elif can_go_on:
            has_box = bool(rng.integers(2)) or row == count
            to = int(rng.integers(row + 1 if has_box else row + 2, min(row + 4, count + 1) + 1))
            if has_box:
                boxes.append(_box(len(boxes), next(asides), row, 1, is_mirrored))
                links.append(Link(kind=aside, first=boxes[row].id, second=boxes[-1].id))
                links.append(Link(kind="next", first=boxes[-1].id, second=boxes[to].id))
            else:
                links.append(Link(kind=aside, first=boxes[row].id, second=boxes[to].id))
            right = to
        else:
            links[-1] = Link(kind="next", first=boxes[row].id, second=boxes[row + 1].id)
            boxes[row] = _box(row, next(asides), row, 0, is_mirrored)  # no way is free: it is no decision
    named = {box.id: box.name for box in boxes}
    arrows = [
        Element(
            id=arrow_id(link.first, link.kind),
            kind="arrow",
            name=f"arrow from {named[link.first]} to {named[link.second]}",
        )
        for link in links
    ]
    height = 2 * TOP_PX + ROW_PX * (count + 1)
    return FlowState(
        elements=(*boxes, *arrows), links=tuple(links), width=WIDTH, height=height, is_mirrored=is_mirrored
    )


def _box(index: int, name: str, row: int, column: int, is_mirrored: bool) -> Element:
    x = SIDE_X if column else MAIN_X
    sort = "decision" if name.endswith("?") else {START: "start", END: "end"}.get(name, "work")
    return Element(
        id=f"box:{index}",
        kind="box",
        name=name,
        attributes={"sort": sort},
        numbers={"row": row, "column": column},
        center=Point(WIDTH - x if is_mirrored else x, TOP_PX + ROW_PX * row),
    )


FLOW_CHARTS = Grammar(name="flow_chart", draw=draw_flow_chart, axes=("clutter", "branches"))
