"""The answers of the drawn families, found again from the pixels or by measuring with the tools."""

import math
import re
from collections.abc import Iterator, Mapping

import numpy as np
import pytest
from skimage.measure import label

from saccade.geometry import Box, Point
from saccade.gym.drawn.chart_bars import BOTTOM_PX, PX_PER_UNIT
from saccade.media.store import MediaStore
from saccade.tasks.drawing import BACKGROUND, COLOURS, FAINT, INK, PAPER, SHAPES, Canvas, font, text_box
from saccade.tasks.procedural import generate
from saccade.tools.images import IMAGE_TOOLS
from saccade.tools.tool import find_tool
from saccade.types import Example, Target, ToolCall

Pixels = np.ndarray

MEDIA = MediaStore()
MIDDLE = Point(128, 128)


def drawn(family: str, count: int = 24) -> Iterator[tuple[Example, list[Pixels]]]:
    """Tasks of all difficulties, with the pixels of their pictures."""
    for index in range(count):
        example = generate(family, split="train", index=index, seed=2, media=MEDIA, difficulty=index % 6 / 5)
        yield example, [np.asarray(MEDIA.get(image)) for image in example.task.images]


def is_colour(pixels: Pixels, colour: tuple[int, int, int]) -> Pixels:
    return (pixels == np.array(colour)).all(axis=-1)


def colour_at(pixels: Pixels, target: Target) -> str:
    """The name of the colour at a target's point."""
    found = tuple(pixels[int(target.point.y), int(target.point.x)].tolist())
    return next(name for name, colour in COLOURS.items() if colour == found)


def measurements(example: Example) -> list[Mapping[str, float]]:
    """What the measure tool says to the expert's calls."""
    found = []
    for turn in example.turns:
        if isinstance(turn.action, ToolCall) and turn.action.name == "measure":
            tool = find_tool("measure", IMAGE_TOOLS)
            found.append(tool.call(turn.action.arguments, example.task.images, MEDIA).data)
    return found  # type: ignore[return-value]


def is_word(example: Example, word: str) -> bool:
    return word in re.findall(r"[a-z]+", example.task.question.lower())


def test_the_asked_object_has_the_colour_and_shape_of_the_answer() -> None:
    for example, (pixels,) in drawn("attributes"):
        (target,) = example.task.targets
        colour, shape = target.label.split()
        assert colour_at(pixels, target) == colour
        assert is_word(example, colour if "shape" in example.task.question else shape)
        if example.task.answer in ("yes", "no"):
            asked = re.search(r"Is the (\w+) (\w+),", example.task.question)
            assert asked is not None
            assert asked[1] == shape
            assert (asked[2] == colour) == (example.task.answer == "yes")
        else:
            assert example.task.answer in (colour, shape)


def test_a_shape_fills_its_share_of_its_circle() -> None:
    for example, _ in drawn("attributes"):
        (target,) = example.task.targets
        assert target.mask is not None
        radius = float(np.interp(example.task.difficulty, [0, 0.5, 1], [40, 20, 9]))
        fills = {"circle": 1.0, "square": 0.775, "triangle": 0.413, "star": 0.393, "cross": 0.640, "diamond": 0.637}
        assert set(fills) == set(SHAPES)
        share = target.mask.area / (math.pi * radius**2)
        assert share == pytest.approx(fills[target.label.split()[1]], abs=0.1)


def test_counted_objects_are_as_many_connected_patches_of_colour() -> None:
    for example, (pixels,) in drawn("counting"):
        answer = int(example.task.answer)
        assert len(example.task.targets) == answer
        patches = label((pixels != np.array(BACKGROUND)).any(axis=-1), connectivity=2)
        assert len({patches[int(t.point.y), int(t.point.x)] for t in example.task.targets}) == answer
        if "are there" in example.task.question:
            assert patches.max() == answer
        colour = re.search(r"objects are (\w+)\?", example.task.question)
        if colour and colour[1] in COLOURS:
            assert label(is_colour(pixels, COLOURS[colour[1]]), connectivity=2).max() == answer
        shape = re.search(r"the shape (\w+)\?", example.task.question)
        if shape:
            assert all(target.label.endswith(shape[1]) for target in example.task.targets)


def test_objects_never_come_nearer_than_their_gap() -> None:
    for _, (pixels,) in drawn("counting"):
        patches = label((pixels != np.array(BACKGROUND)).any(axis=-1), connectivity=2)
        grown_together = label(grown(patches > 0, 2), connectivity=2)
        assert grown_together.max() == patches.max()


def test_the_side_follows_from_the_middles_of_both_objects() -> None:
    for example, (pixels,) in drawn("spatial_relation"):
        moved, _fixed = example.task.targets
        assert colour_at(pixels, moved) == moved.label.split()[0]
        (measured,) = measurements(example)
        nearest = round(measured["angle_degrees"] / 90) * 90
        assert abs(measured["angle_degrees"] - nearest) < 36
        side = {0: "right", 90: "above", 180: "left", -180: "left", -90: "below"}[nearest]
        if example.task.answer_kind == "choice":
            assert example.task.choices["ABCD".index(example.task.answer)] == side
        elif example.task.answer in ("yes", "no"):
            assert is_word(example, side) == (example.task.answer == "yes")
        else:
            assert example.task.answer == side


def bars_in(pixels: Pixels) -> list[tuple[int, float]]:
    """(middle x, value) of each bar, from the colours just above the foot and the height of each."""
    bars = []
    foot = [tuple(pixel) for pixel in pixels[BOTTOM_PX - 1].tolist()]
    for colour in COLOURS.values():
        columns = [x for x, pixel in enumerate(foot) if pixel == colour]
        if columns:
            x = columns[len(columns) // 2]
            bars.append((x, int(is_colour(pixels[:, x], colour).sum()) / PX_PER_UNIT))
    return bars


def test_bars_answer_from_their_heights() -> None:
    for example, (pixels,) in drawn("chart_bars"):
        bars = bars_in(pixels)
        task = example.task
        values = [value for _, value in bars]
        asked = [value for t in task.targets for x, value in bars if t.box.x1 <= x < t.box.x2]
        assert len(asked) == len(task.targets)
        assert asked == [target.box.height / PX_PER_UNIT for target in task.targets]
        if "tallest" in task.question:
            assert asked == [max(values)]
            assert values.count(max(values)) == 1
        elif "shortest" in task.question:
            assert asked == [min(values)]
            assert values.count(min(values)) == 1
        elif "above 50" in task.question:
            assert sum(value > 50 for value in values) == int(task.answer)
        elif "below 50" in task.question:
            assert sum(value < 50 for value in values) == int(task.answer)
        elif "higher" in task.question:
            assert asked[0] - asked[1] == int(task.answer)
        else:
            assert asked == [int(task.answer)]
        assert 50 not in values


@pytest.mark.parametrize("family", ["chart_bars", "chart_lines"])
def test_the_experts_measurements_give_the_value_in_a_chart(family: str) -> None:
    for example, _ in drawn(family):
        if example.task.answer_kind == "number":
            axis, span = (measured["distance_px"] for measured in measurements(example))
            assert 100 * span / axis == pytest.approx(int(example.task.answer))


def test_lines_answer_from_where_their_markers_are() -> None:
    for example, (pixels,) in drawn("chart_lines"):
        task = example.task
        colours = [colour_at(pixels, target) for target in task.targets]
        assert colours == [target.label.split()[0] for target in task.targets]
        heights = [target.box.center.y for target in task.targets]
        if task.answer_kind == "number":
            assert (BOTTOM_PX - heights[0]) / 2 == pytest.approx(int(task.answer), abs=0.6)
        elif "Which line" in task.question:
            assert task.answer == colours[heights.index(min(heights))]
            assert abs(heights[0] - heights[1]) >= 20
        else:
            rows, columns = np.nonzero(is_colour(pixels, COLOURS[colours[0]]))
            extreme = rows.min() if "highest" in task.question else rows.max()
            assert abs(float(columns[rows == extreme].mean()) - task.targets[0].point.x) < 2
            assert task.targets[0].label.endswith(task.answer)


def test_slices_answer_from_their_area() -> None:
    for example, (pixels,) in drawn("chart_pie"):
        task = example.task
        areas = {name: int(is_colour(pixels, colour).sum()) for name, colour in COLOURS.items()}
        whole = sum(areas.values())
        assert whole == pytest.approx(math.pi * 88**2, rel=0.06)
        shares = [areas[colour_at(pixels, target)] / whole for target in task.targets]
        present = [area / whole for area in areas.values() if area]
        if task.answer_kind == "number":
            assert 100 * shares[0] == pytest.approx(int(task.answer), abs=1.0)
        elif "largest" in task.question or "smallest" in task.question:
            find = max if "largest" in task.question else min
            assert shares == [find(present)]
            assert sum(abs(share - shares[0]) < 0.03 for share in present) == 1
        else:
            labels = [target.label for target in task.targets]
            assert task.answer == labels[shares.index(max(shares))]
            assert abs(shares[0] - shares[1]) > 0.03


def test_the_measured_edges_of_a_slice_give_its_share() -> None:
    for example, _ in drawn("chart_pie"):
        if example.task.answer_kind == "number":
            start, end = (measured["angle_degrees"] for measured in measurements(example))
            # The tool counts anticlockwise, slices go clockwise.
            assert (start - end) % 360 / 3.6 == pytest.approx(int(example.task.answer), abs=0.8)


def reads(pixels: Pixels, box: Box, words: str, size: int) -> bool:
    """Whether exactly these words stand in the box."""
    written = Canvas()
    placed = text_box(words, box.center, size)
    if (placed.width, placed.height) != (box.width, box.height):
        return False
    at = text_box(words, box.center, size)
    written.text(words, box.center, size)
    shown = np.asarray(written.image)[int(at.y1) : int(at.y2), int(at.x1) : int(at.x2)]
    return bool((shown == pixels[int(box.y1) : int(box.y2), int(box.x1) : int(box.x2)]).all())


def test_the_cells_of_a_table_show_the_item_and_the_number_of_the_answer() -> None:
    for example, (pixels,) in drawn("table_lookup"):
        size = round(float(np.interp(example.task.difficulty, [0, 0.5, 1], [20, 15, 11])))
        item, number = example.task.targets
        assert reads(pixels, item.box, item.label, size)
        assert reads(pixels, number.box, number.label, size)
        assert example.task.answer in (item.label, number.label)
        assert abs(item.box.center.y - number.box.center.y) < size / 2


def test_the_extreme_of_a_column_is_found_by_reading_the_whole_column() -> None:
    for example, (pixels,) in drawn("table_lookup"):
        if "number in column" not in example.task.question or example.task.answer_kind != "exact":
            continue
        size = round(float(np.interp(example.task.difficulty, [0, 0.5, 1], [20, 15, 11])))
        target = example.task.targets[1]
        column = []
        for step in range(-8, 9):
            y = target.box.center.y + step * (size + 14)
            found = [n for n in range(1, 100) if number_is_at(pixels, n, target.box.center.x, y, size)]
            # One digit may be part of a number of two: the longest that fits is what is written.
            column.extend(found[-1:])
        assert len(column) >= 2
        find = max if "largest" in example.task.question else min
        assert int(target.label) == find(column)


def number_is_at(pixels: Pixels, number: int, x: float, y: float, size: int) -> bool:
    """Whether a number of this text size is written within a pixel of this place."""
    left, top, right, bottom = font(size).getbbox(str(number), anchor="mm")
    wide, tall = math.ceil(right) - math.floor(left), math.ceil(bottom) - math.floor(top)
    glyph = rendered(number, size)
    for x1 in (math.floor(x - wide / 2), math.ceil(x - wide / 2), math.floor(x - wide / 2) - 1):
        for y1 in (math.floor(y - tall / 2), math.ceil(y - tall / 2), math.floor(y - tall / 2) - 1):
            if x1 >= 1 and y1 >= 0:
                part = pixels[y1 : y1 + tall, x1 - 1 : x1 + wide + 1]
                if part.shape == glyph.shape and (part == glyph).all():
                    return True
    return False


GLYPHS: dict[tuple[int, int], Pixels] = {}


def rendered(number: int, size: int) -> Pixels:
    """The pixels of a number with an empty column on both sides."""
    if (number, size) not in GLYPHS:
        canvas = Canvas()
        box = canvas.text(str(number), MIDDLE, size)
        whole = np.asarray(canvas.image)
        GLYPHS[number, size] = whole[int(box.y1) : int(box.y2), int(box.x1) - 1 : int(box.x2) + 1]
    return GLYPHS[number, size]


def test_the_answer_stands_in_the_box_of_its_field() -> None:
    for example, (pixels,) in drawn("document_text"):
        size = round(float(np.interp(example.task.difficulty, [0, 0.5, 1], [18, 13, 9])))
        (target,) = example.task.targets
        right = text_box(example.task.answer, target.box.center, size, anchor="rm")
        assert (right.width, right.height) == (target.box.width, target.box.height)
        canvas = Canvas()
        written = canvas.text(example.task.answer, MIDDLE, size, anchor="rm")
        x1, y1, x2, y2 = (int(side) for side in written.as_tuple())
        a, b, c, d = (int(side) for side in target.box.as_tuple())
        assert (np.asarray(canvas.image)[y1:y2, x1:x2] == pixels[b:d, a:c]).all()


def test_the_measured_arms_give_the_angle() -> None:
    for example, (pixels,) in drawn("geometry_angle"):
        step = int(re.findall(r"multiple of (\d+)", example.task.question)[0])
        first, second = (measured["angle_degrees"] for measured in measurements(example))
        between = abs(first - second) % 360
        between = min(between, 360 - between)
        assert round(between / step) * step == int(example.task.answer)
        assert abs(between - int(example.task.answer)) < 2
        assert is_colour(pixels, COLOURS["yellow"])[
            int(example.task.targets[0].point.y), int(example.task.targets[0].point.x)
        ]


def test_the_marked_sector_is_as_wide_as_the_angle() -> None:
    for example, _ in drawn("geometry_angle"):
        mask = example.task.targets[0].mask
        assert mask is not None
        assert 360 * mask.area / (math.pi * 22**2) == pytest.approx(int(example.task.answer), abs=6)


def test_the_measured_scale_and_line_give_the_length() -> None:
    for example, (pixels,) in drawn("geometry_length"):
        step = int(re.findall(r"multiple of (\d+)", example.task.question)[0])
        scale, line = (measured["distance_px"] for measured in measurements(example))
        assert round(10 * line / scale / step) * step == int(example.task.answer)
        (target,) = example.task.targets
        diagonal = math.hypot(target.box.width, target.box.height)
        assert diagonal == pytest.approx(line, abs=5)
        assert colour_at(pixels, target) == target.label.split()[0]


def grown(mask: Pixels, by: int) -> Pixels:
    padded = np.pad(mask, by)
    views = [
        padded[y : y + mask.shape[0], x : x + mask.shape[1]]
        for y in range(0, 2 * by + 1, by)
        for x in range(0, 2 * by + 1, by)
    ]
    return np.logical_or.reduce(views)


def test_a_region_is_all_of_its_colour_and_little_else() -> None:
    for example, (pixels,) in drawn("map_regions"):
        region = target_mask(example.task.targets[0])
        assert is_colour(pixels, COLOURS[colour_of(pixels, region)])[region].mean() > 0.7


def colour_of(pixels: Pixels, region: Pixels) -> str:
    """The name of the colour that most of the region has; no pixel outside has it."""
    counts = {name: int(is_colour(pixels, colour)[region].sum()) for name, colour in COLOURS.items()}
    name = max(counts, key=lambda name: counts[name])
    assert not is_colour(pixels, COLOURS[name])[~region].any()
    return name


def test_map_questions_answer_from_colours_and_borders() -> None:
    for example, (pixels,) in drawn("map_regions"):
        task = example.task
        masks = [target_mask(target) for target in task.targets]
        label_and_colour = (task.targets[0].label, colour_of(pixels, masks[0]))
        question = task.question.split(":")[0]
        if "Which colour" in question:
            assert (question.split()[-1], task.answer) == label_and_colour
        elif "Which region is" in question:
            assert (task.answer, question.split()[-1][:-1]) == label_and_colour
        elif "star" in question:
            star = task.targets[1].point
            assert is_colour(pixels, PAPER)[int(star.y), int(star.x)]
            assert masks[0][int(star.y), int(star.x)]
            assert task.answer == task.targets[0].label
        else:
            near = [grown(mask, 3) for mask in masks]
            shared = [int((near[0] & other).sum()) for other in near[1:]]
            if task.answer == "no":
                assert max(shared) < 16
            else:
                assert min(shared) > 40
                assert task.answer == "yes" or len(shared) == int(task.answer)


def target_mask(target: Target) -> Pixels:
    assert target.mask is not None
    return target.mask.to_array()


def test_an_event_is_seen_in_the_frames_between_its_start_and_its_end_only() -> None:
    for example, frames in drawn("video_event", 18):
        task = example.task
        assert task.event_s is not None
        start, end = task.event_s
        assert list(task.frame_times_s) == [i / 2 for i in range(len(frames))]
        seen = [target.image_index for target in task.targets]
        assert seen == [i for i, time in enumerate(task.frame_times_s) if start <= time < end]
        assert 0 < start < end <= task.frame_times_s[-1]
        subject = COLOURS[task.targets[0].label.split()[0]]
        has_colour = [bool(is_colour(pixels, subject).any()) for pixels in frames]
        touches = [gap_to_wall(pixels, subject) <= 1 for pixels in frames]
        # The event is either that the colour is there, or that what has it is at the wall.
        event = touches if all(has_colour) else has_colour
        assert [i for i, is_on in enumerate(event) if is_on] == seen
        assert all(gap_to_wall(pixels, subject) >= 10 for i, pixels in enumerate(frames) if i not in seen)


def gap_to_wall(pixels: Pixels, colour: tuple[int, int, int]) -> int:
    """Columns between the wall and what has the colour; 99 when nothing has it."""
    wall = np.flatnonzero(is_colour(pixels[60:200], INK).all(axis=0))
    near = np.flatnonzero(is_colour(pixels, colour).any(axis=0))
    if not near.size:
        return 99
    return int(np.abs(wall[:, None] - near[None]).min()) - 1


def test_video_answers_follow_from_the_event() -> None:
    kinds = set()
    for example, frames in drawn("video_event", 30):
        task = example.task
        assert task.event_s is not None
        start, end = task.event_s
        if task.answer_kind == "choice":
            chosen = task.choices["ABC".index(task.answer)]
            kinds.add(chosen)
            still = (INK, FAINT, BACKGROUND)
            moving = [~np.logical_or.reduce([is_colour(f, colour) for colour in still])[30:216] for f in frames]
            patches = [label(mask) for mask in moving]
            first = task.targets[0]
            subject = COLOURS[first.label.split()[0]]
            is_there_before = bool(is_colour(frames[0], subject).any())
            big = [sum(int((p == n).sum()) > 60 for n in np.unique(p[p > 0])) for p in patches]
            guess = "touch" if is_there_before else "new object" if max(big) > min(big) else "colour change"
            assert chosen == guess
        elif "how long" in task.question:
            assert float(task.answer) == end - start
        elif re.search(r"stop|leave|disappear", task.question):
            assert float(task.answer) == end
        else:
            assert float(task.answer) == start
    assert kinds == {"touch", "new object", "colour change"}


def test_every_frame_shows_its_time() -> None:
    for example, frames in drawn("video_event", 8):
        for time, pixels in zip(example.task.frame_times_s, frames):
            canvas = Canvas()
            box = canvas.text(f"{time:.1f} s", Point(6, 6), 17, anchor="la")
            x1, y1, x2, y2 = (int(side) for side in box.as_tuple())
            assert (np.asarray(canvas.image)[y1:y2, x1:x2] == pixels[y1:y2, x1:x2]).all()


def test_every_frame_of_a_video_names_what_it_shows() -> None:
    for example, frames in drawn("video_event", 12):
        task = example.task
        for at, pixels in enumerate(frames):
            shown = {one.name: one for one in task.objects if one.image_index == at}
            assert {"wall", "clock"} < set(shown)
            assert shown["clock"].attributes["time"] == f"{task.frame_times_s[at]:.1f} s"
            x1, y1, x2, y2 = (int(side) for side in shown["wall"].box.as_tuple())
            # A thing that touches it may tint its edge.
            assert is_colour(pixels[y1:y2, x1:x2], INK).all(axis=0).sum() >= 7
            for name, one in shown.items():
                if name in ("wall", "clock"):
                    continue
                assert one.mask is not None
                inside = is_colour(pixels, COLOURS[one.attributes["colour"]])
                # The edges are smooth: half of a pixel's colour may be the background's.
                assert not (inside & ~one.mask.to_array()).any()
                assert inside.sum() > 0.6 * one.mask.area
        assert {(target.image_index, target.label) for target in task.targets} <= {
            (one.image_index, one.name) for one in task.objects
        }
