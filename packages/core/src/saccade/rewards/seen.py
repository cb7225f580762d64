"""What calls returned of the question's pictures: regions in pixels of their originals, and pages by name.

The model sees the question's pictures from the start, at its own resolution; here is what its calls gave back beside
that. A call's ``image`` counts all pictures of the episode, results included, so places on a result are followed back
to the question's picture through every crop, zoom, mirroring, quarter turn and drawing. Through other changes (a turn
by 10 degrees, code) only the region of the source as a whole is known, and a crop of it counts as all of that.

=====================================  ===========================================================================
a call                                 returned
=====================================  ===========================================================================
refused, or failed                     nothing
of a tool that says it (``SEEN``)      what it says: boxes, or cells of a grid
of ``search_pages``                    the pages whose pictures it shows, not those shown before
with a region (``crop``, ``zoom``)     the region, clipped to the picture; whole pixels are not rounded outwards
of a detector, of ``segment``          the boxes that it found, however much its picture shows
of another tool on a picture           all of that picture
that reads no pixel (``measure``)      nothing
of code, or an unknown kind of tool    unknown: ``is_known`` is false
=====================================  ===========================================================================
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeGuard

from saccade.errors import UserError
from saccade.geometry import Box
from saccade.protocols.code_words import PYTHON_TOOL
from saccade.protocols.coordinates import numbers
from saccade.rewards.places import NOTHING, UNKNOWN, Patch, PicturePlace, SeenParts, ShownPicture, question_picture
from saccade.types import SEEN, ImageRef, Json, Page, Task, ToolCall, ToolResult, Trajectory

CUTTING = frozenset({"crop", "zoom"})
"""Tools whose picture is the region."""
FINDING = frozenset({"detect_objects", "segment"})
"""Tools that return boxes of what they found, on a copy of the picture."""
COPYING = frozenset({"contrast", "draw_boxes", "draw_points"})
"""Tools whose picture shows the same places as the one before."""
TURNING = frozenset({"flip", "rotate"})
_CHART_TOOLS = ("chart_to_table", "chart_to_svg", "chart_to_scene_graph", "chart_caption", "chart_colors")
_DIAGRAM_TOOLS = ("construction_cdl", "image_cdl", "parse_diagram", "formalize_problem")
READING = frozenset(
    {"read_text", "analyze_chart", "answer_chart", "g_llava", "multimath", *_CHART_TOOLS, *_DIAGRAM_TOOLS}
)
"""Tools that read a whole picture."""
_SOLVERS = ("solve_geometry", "solve_cdl", "check_logic_forms", "translate_geometry", "algebra")
BLIND = frozenset({"measure", "text_cdl", "goal_cdl", "search_web", "read_web_page", *_SOLVERS})
"""Tools that work on numbers and words of the call alone."""
SEARCHING = "search_pages"

MAX_CELLS = 1 << 16
"""Cells of a grid that are read; of a finer one nothing is known."""


def seen_by_turn(task: Task, trajectory: Trajectory) -> tuple[SeenParts | None, ...]:
    """What each turn's call returned; None for a turn that is no call."""
    shown = [question_picture(index, image) for index, image in enumerate(task.images)]
    found: list[SeenParts | None] = []
    for turn in trajectory.turns:
        call, result = turn.action, turn.result
        if not isinstance(call, ToolCall):
            found.append(None)
            continue
        seen, place = _returned(call, result, shown, task) if result is not None and result.is_ok else (NOTHING, None)
        found.append(seen)
        pictures = turn.observation.images if turn.observation else result.images if result else ()
        shown += [_of_result(one, at, call, seen, place, shown) for at, one in enumerate(pictures)]
    return tuple(found)


def _of_result(
    image: ImageRef, at: int, call: ToolCall, seen: SeenParts, place: PicturePlace | None, shown: Sequence[ShownPicture]
) -> ShownPicture:
    if call.name == SEARCHING:
        return ShownPicture(image.width, image.height, SeenParts(pages=seen.pages[at : at + 1]))
    if place is not None:
        return ShownPicture(image.width, image.height, SeenParts(patches=(place.patch,)), place)
    # A detector's picture shows all of its source, though its call returned boxes.
    source = _source(call, shown) if call.name in FINDING else None
    return ShownPicture(image.width, image.height, seen if source is None else source.whole)


def _returned(
    call: ToolCall, result: ToolResult, shown: Sequence[ShownPicture], task: Task
) -> tuple[SeenParts, PicturePlace | None]:
    """What a call that ran returned, and where its picture lies, if that can be followed."""
    name, source = call.name, _source(call, shown)
    if SEEN in result.data:
        return _said(result.data[SEEN], task), None
    if name == SEARCHING:
        return _found_pages(result.data.get("pages")), None
    if name == PYTHON_TOOL or name in BLIND:
        return UNKNOWN if name == PYTHON_TOOL else NOTHING, None
    region = numbers(call.arguments.get("bbox_2d"), 4)
    is_on_picture = "image" in call.arguments or name in CUTTING | FINDING | COPYING | TURNING | READING
    if source is None or (region is None and not is_on_picture) or (region is None and name in CUTTING):
        return UNKNOWN, None
    if name in FINDING:
        parts = [source.region(box) for box in _found_boxes(result.data)]
        return SeenParts.union(parts), source.place
    if region is not None:
        return source.region(Box(*region)), source.cut(Box(*region)) if name in CUTTING else None
    return source.whole, _changed(call, source.place)


def _source(call: ToolCall, shown: Sequence[ShownPicture]) -> ShownPicture | None:
    """The picture that a call names by its number; the first where it names none."""
    number = numbers([call.arguments.get("image", 1)], 1)
    if number is None or number[0] not in range(1, len(shown) + 1):
        return None
    return shown[int(number[0]) - 1]


def _changed(call: ToolCall, place: PicturePlace | None) -> PicturePlace | None:
    """Where the picture of a call on a whole picture lies; None where that is not exact."""
    if place is None or call.name in COPYING:
        return place
    if call.name == "flip":
        is_level = call.arguments.get("direction") == "horizontal"
        return place.part(1, 0, 0, 1) if is_level else place.part(0, 1, 1, 0)
    degrees = numbers([call.arguments.get("degrees")], 1) if call.name == "rotate" else None
    if degrees is None or degrees[0] % 90:
        return None
    return place.turned(int(degrees[0] // 90) % 4)


def _found_boxes(data: Mapping[str, Json]) -> list[Box]:
    listed = data.get("detections")
    boxes = [one.get("box") for one in listed if isinstance(one, Mapping)] if _is_list(listed) else [data.get("box")]
    return [Box(*corners) for box in boxes if (corners := numbers(box, 4)) is not None]


def _found_pages(listed: Json) -> SeenParts:
    pages = []
    for one in listed if _is_list(listed) else ():
        if isinstance(one, Mapping) and one.get("is_new") is True:
            try:
                pages.append(Page.read(str(one.get("page"))))
            except UserError:
                return UNKNOWN
    return SeenParts(pages=tuple(dict.fromkeys(pages)))


def _said(listed: Json, task: Task) -> SeenParts:
    """What a tool says that its result depends on; unknown where one part of it cannot be read."""
    parts = [_said_part(one, task) for one in listed] if _is_list(listed) else [UNKNOWN]
    union = SeenParts.union(parts)
    return replace(union, patches=tuple(dict.fromkeys(union.patches))) if union.is_known else UNKNOWN


def _said_part(one: Json, task: Task) -> SeenParts:
    if not isinstance(one, Mapping):
        return UNKNOWN
    index, rows = numbers([one.get("image")], 1), one.get("cells")
    if index is None or index[0] not in range(len(task.images)):
        return UNKNOWN
    at = int(index[0])
    picture = question_picture(at, task.images[at])
    if (corners := numbers(one.get("box"), 4)) is not None:
        return picture.region(Box(*corners))
    lines = [row for row in rows if isinstance(row, str)] if _is_list(rows) else []
    across = len(lines[0]) if lines else 0
    if not across or len(lines) * across > MAX_CELLS or any(len(row) != across for row in lines):
        return UNKNOWN
    wide, tall = picture.width / across, picture.height / len(lines)
    runs = [
        Box(start * wide, y * tall, end * wide, (y + 1) * tall)
        for y, row in enumerate(lines)
        for start, end in _runs(row)
    ]
    return SeenParts(patches=tuple(Patch(image_index=at, box=box) for box in runs))


def _runs(row: str) -> list[tuple[int, int]]:
    """Where runs of 1 begin and end."""
    edges = [at for at in range(len(row) + 1) if (row[at : at + 1] == "1") != (at > 0 and row[at - 1] == "1")]
    return list(zip(edges[::2], edges[1::2]))


def _is_list(value: Json) -> TypeGuard[Sequence[Json]]:
    return isinstance(value, Sequence) and not isinstance(value, str)
