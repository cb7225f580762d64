"""Places on pictures that a trajectory speaks of, each linked with the stretch of text that names it.

Targets are the question's own. What a call asked for is in its arguments, as pixels; what the model wrote for it is in
the turn's text. Boxes and points of a thought are in the turn. Code that crops by plain numbers is read too.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from saccade.geometry import Box, Mask, Point
from saccade.protocols.coordinates import numbers
from saccade.types import Attempt, ImageRef, Json, ToolCall, Turn
from saccade.viewer.named_boxes import named_boxes
from saccade.viewer.named_points import named_points
from saccade.viewer.outcomes import code_of
from saccade.viewer.scene.frames import frame_words
from saccade.viewer.scene.parts import Origin, Region, RegionKind, SeenPicture, TextSpan, finite, utf16
from saccade.viewer.store.foreign_boxes import in_pixels
from saccade.viewer.store.messages import FOREIGN
from saccade.viewer.words import visible

MAX_REGIONS = 200
"""Of one trajectory; more are in the record alone."""
_NUMBER = r"-?\d{1,9}(?:\.\d{1,9})?"
_LISTS = re.compile(rf"[\[(]\s*({_NUMBER}(?:\s*,\s*{_NUMBER}){{1,3}})\s*,?\s*[\])]")
_CODE_CROP = re.compile(rf"\.crop\(\s*(\(\s*{_NUMBER}(?:\s*,\s*{_NUMBER}){{3}}\s*,?\s*\))")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Written:
    start: int
    end: int
    numbers: tuple[float, ...]


@dataclass(kw_only=True)
class Places:
    """Regions and spans as they are found, turn by turn."""

    regions: list[Region] = field(default_factory=list)
    spans: dict[int, list[TextSpan]] = field(default_factory=dict)
    """By the turn's index, in UTF-16 code units of its text."""
    origins: dict[str, Origin] = field(default_factory=dict)
    """By the key of the picture that a tool made."""

    def add(self, region: Region, turn: Turn | None = None, written: _Written | None = None) -> None:
        if len(self.regions) >= MAX_REGIONS:
            return
        self.regions.append(region)
        if turn is None or written is None or written.start == written.end:
            return
        start = utf16(turn.text[: written.start])
        span = TextSpan(start=start, end=start + utf16(turn.text[written.start : written.end]), region=region.id)
        taken = self.spans.setdefault(turn.index, [])
        if all(span.end <= other.start or other.end <= span.start for other in taken):
            taken.append(span)
            taken.sort(key=lambda one: one.start)


def places_of(attempt: Attempt, pictures: Sequence[SeenPicture]) -> Places:
    """Everything that can be drawn on these pictures, question's targets first."""
    places = Places()
    _targets(attempt, places)
    _named_boxes(attempt, places)
    _named_points(attempt, places)
    is_foreign = attempt.task.source == FOREIGN
    for turn in attempt.trajectory.turns:
        _add_call_regions(turn, pictures, places, is_foreign=is_foreign)
    return places


def _targets(attempt: Attempt, places: Places) -> None:
    for number, target in enumerate(attempt.task.targets, start=1):
        image = attempt.task.images[target.image_index] if target.image_index < len(attempt.task.images) else None
        mask = target.mask
        corners = _corners(target.box)
        if image is not None and mask and corners and mask == Mask.from_box(target.box, image.width, image.height):
            mask = None
        places.add(
            Region(
                id=f"target{number}",
                picture=f"q{target.image_index}",
                kind="target",
                label=visible(target.label, 60),
                mark=f"T{number}" if len(attempt.task.targets) > 1 else "T",
                box=corners,
                mask=None
                if mask is None
                else {"width": mask.width, "height": mask.height, "counts": list(mask.counts)},
            )
        )


def _named_boxes(attempt: Attempt, places: Places) -> None:
    """Boxes of thoughts, which are on the question's first picture."""
    cursor: dict[int, int] = {}
    mentions = [mention for turn in attempt.trajectory.turns for mention in turn.boxes]
    for named, mention in zip(named_boxes(attempt), mentions):
        turn = attempt.trajectory.turns[named.turn]
        found = _find(turn.text, mention.text, cursor.get(turn.index, 0))
        if found is not None:
            cursor[turn.index] = found.end
        corners = None if named.box is None else _corners(named.box)
        if corners is None:
            continue
        written = _numbers(mention.text, 4)
        places.add(
            Region(
                id=f"named{named.number}",
                picture="q0",
                kind="named",
                label=f"box {named.number} of the thought",
                mark=str(named.number),
                box=corners,
                written=written,
                frame=_frame(written, corners, attempt.task.images),
                turn=turn.index + 1,
                fate=named.fate,
            ),
            turn,
            found,
        )


def _named_points(attempt: Attempt, places: Places) -> None:
    cursor: dict[int, int] = {}
    mentions = [mention for turn in attempt.trajectory.turns for mention in turn.points]
    kinds: dict[str, RegionKind] = {"hit": "hit", "miss": "miss"}
    for named, mention in zip(named_points(attempt), mentions):
        turn = attempt.trajectory.turns[named.turn]
        found = _find(turn.text, mention.text, cursor.get(turn.index, 0))
        if found is not None:
            cursor[turn.index] = found.end
        pair = None if named.point is None else _pair(named.point)
        if pair is None or named.image_index is None:
            continue
        written = _numbers(mention.text, 2)
        image = attempt.task.images[named.image_index : named.image_index + 1]
        places.add(
            Region(
                id=f"point{named.number}",
                picture=f"q{named.image_index}",
                kind=kinds.get(named.kind, "named"),
                label=visible(mention.label, 60) or f"point {named.number}",
                mark=f"p{named.number}",
                point=pair,
                written=written,
                frame=_frame(written, pair, image),
                turn=turn.index + 1,
                fate=named.fate,
            ),
            turn,
            found,
        )


def _add_call_regions(turn: Turn, pictures: Sequence[SeenPicture], places: Places, *, is_foreign: bool) -> None:
    """What a call asked for, with the pictures that came of it; of other trainers' calls in the frame that fits."""
    call = turn.action
    if not isinstance(call, ToolCall):
        return
    code = code_of(turn)
    if code is not None:
        on, found = (pictures[0] if pictures else None), list(_code_boxes(turn, code))
    else:
        on, found = _picture_meant(call, turn, pictures), list(_argument_shapes(call, turn))
        if is_foreign and on is not None:
            found = list(_foreign_shapes(call, found, ImageRef(hash=on.hash, width=on.width, height=on.height)))
    if on is None:
        return
    made = [picture for picture in pictures if picture.key.startswith(f"t{turn.index + 1}.")]
    for number, (shape, written) in enumerate(found, start=1):
        region = _asked_region(turn, number, len(found), on, shape, written, call.name)
        places.add(region, turn, written)
        box = region.box
        cut = made[number - 1] if number <= len(made) and len(made) in (1, len(found)) else None
        if box is not None and cut is not None and cut.hash != on.hash:
            places.origins[cut.key] = Origin(turn=turn.index + 1, picture=on.key, box=box, region=region.id)


def _asked_region(
    turn: Turn, number: int, count: int, on: SeenPicture, shape: tuple[float, ...], written: _Written | None, tool: str
) -> Region:
    several = f".{number}" if count > 1 else ""
    image = ImageRef(hash=on.hash, width=on.width, height=on.height)
    return Region(
        id=f"asked{turn.index + 1}.{number}",
        picture=on.key,
        kind="asked",
        label=f"turn {turn.index + 1}: {visible(tool, 40)}{several}",
        mark=f"{turn.index + 1}{several}",
        box=(shape[0], shape[1], shape[2], shape[3]) if len(shape) == 4 else None,
        point=(shape[0], shape[1]) if len(shape) == 2 else None,
        written=None if written is None else written.numbers,
        frame="pixels" if written is None else frame_words(written.numbers, shape, image),
        turn=turn.index + 1,
    )


def _picture_meant(call: ToolCall, turn: Turn, pictures: Sequence[SeenPicture]) -> SeenPicture | None:
    """The picture that a call is about: the first where it does not say, none where there is no such number."""
    number = call.arguments.get("image", 1)
    before = [one for one in pictures if one.key.startswith("q") or _turn_of(one) < turn.index + 1]
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= len(before):
        return None
    return before[number - 1]


def _turn_of(picture: SeenPicture) -> int:
    return int(picture.key[1:].split(".")[0])


def _argument_shapes(call: ToolCall, turn: Turn) -> Iterator[tuple[tuple[float, ...], _Written | None]]:
    shapes = [shape for value in call.arguments.values() for shape in _shapes(value)]
    at = max(turn.text.find("arguments"), 0)
    written = list(_lists(turn.text, at))
    for count in (4, 2):
        of_count = [one for one in written if len(one.numbers) == count]
        wanted = [shape for shape in shapes if len(shape) == count]
        matched = of_count if len(of_count) == len(wanted) else [None] * len(wanted)
        yield from zip(wanted, matched)


def _foreign_shapes(
    call: ToolCall, found: Sequence[tuple[tuple[float, ...], _Written | None]], image: ImageRef
) -> Iterator[tuple[tuple[float, ...], _Written | None]]:
    """The shapes in pixels; those without a frame that fits are left out."""
    key = next((name for name in call.arguments if name in ("box_2d", "bbox")), "")
    for shape, written in found:
        placed = in_pixels(key, shape, image)
        if placed is not None:
            # Numbers that stand in no text are those of the call.
            yield placed, written or _Written(start=0, end=0, numbers=shape)


def _code_boxes(turn: Turn, code: str) -> Iterator[tuple[tuple[float, ...], _Written | None]]:
    """Crops by plain numbers, which code takes in pixels of the original."""
    at = max(turn.text.find(code), 0)
    for match in _CODE_CROP.finditer(turn.text, at):
        written = _numbers(match[1], 4)
        if written is not None:
            yield written, _Written(start=match.start(1), end=match.end(1), numbers=written)


def _shapes(value: Json) -> Iterator[tuple[float, ...]]:
    if not isinstance(value, list | tuple):
        return
    for count in (2, 4):
        if (shape := numbers(value, count)) is not None:
            yield tuple(float(number) for number in shape)
            return
    for item in value:
        yield from _shapes(item)


def _lists(text: str, start: int) -> Iterator[_Written]:
    for match in _LISTS.finditer(text, start):
        written = tuple(float(number) for number in match[1].split(","))
        yield _Written(start=match.start(), end=match.end(), numbers=written)


def _find(text: str, piece: str, start: int) -> _Written | None:
    at = text.find(piece, start) if piece else -1
    return None if at < 0 else _Written(start=at, end=at + len(piece), numbers=())


def _numbers(text: str, count: int) -> tuple[float, ...] | None:
    """The first ``count`` numbers of a text; None where it has fewer."""
    found = re.findall(_NUMBER, text[:400])
    return tuple(float(number) for number in found[:count]) if len(found) >= count else None


def _frame(written: tuple[float, ...] | None, pixels: Sequence[float], images: Sequence[ImageRef]) -> str:
    return frame_words(written, pixels, images[0]) if written and images else "pixels"


def _corners(box: Box) -> tuple[float, float, float, float] | None:
    corners = box.as_tuple()
    return corners if all(finite(side) is not None and abs(side) < 1e9 for side in corners) else None


def _pair(point: Point) -> tuple[float, float] | None:
    return (point.x, point.y) if math.isfinite(point.x) and math.isfinite(point.y) else None
