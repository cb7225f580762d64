"""Points of a reasoning, as the paper, Molmo and hostile policies write them."""

from dataclasses import replace

import pytest
from PIL import Image

from saccade.envs import VisualReasoningEnv
from saccade.geometry import CoordinateConvention, Point
from saccade.media.resize import ResizeRule
from saccade.media.store import MediaStore
from saccade.protocols.moments import FrameMention, SegmentMention, find_moments
from saccade.protocols.pointed import pointed_protocol
from saccade.protocols.points import (
    MAX_POINTS,
    find_points,
    has_point_tag,
    points_to_model,
    points_to_original,
    with_points,
    without_points,
    without_tags,
    written_point,
)
from saccade.testing import TINY_VIEW
from saccade.types import Answer, ExpertTurn, ImageRef, Task


def pairs(text: str) -> list[tuple[str, tuple[float, float] | None]]:
    return [(one.label, None if one.point is None else (one.point.x, one.point.y)) for one in find_points(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        # The paper's curated form, figures 13 and 14.
        ('<points x1="408" y1="179" alt="jeep">jeep</points>', [("jeep", (408, 179))]),
        ('<points x2="247" y2="153" alt="sphere">small sphere</points>', [("small sphere", (247, 153))]),
        # Its main text, and Molmo's forms: one point, several, decimals of a percentage.
        ('<point x="10.5" y="20.25" alt="a cup">cup</point>', [("cup", (10.5, 20.25))]),
        ('<points x1="1" y1="2" x2="3" y2="4" alt="eggs">eggs</points>', [("eggs", (1, 2)), ("eggs", (3, 4))]),
        ("<point x='7' y='8' alt='dog'></point>", [("dog", (7, 8))]),
        ("<point x=7 y=8>dog</point>", [("dog", (7, 8))]),
        ("<point x=”7” y=”8” alt=”dog”>dog</point>", [("dog", (7, 8))]),
        ('<point x="7" y="8" alt="dog"/>', [("dog", (7, 8))]),
        ('<point x="-7" y="9999" alt="dog">dog</point>', [("dog", (-7, 9999))]),
    ],
)
def test_points_are_read_as_written(text: str, found: list[tuple[str, tuple[float, float]]]) -> None:
    assert pairs(text) == found
    assert find_points(text).is_well_formed


@pytest.mark.parametrize(
    "attributes",
    [
        "",
        'alt="dog"',
        'x1="3" alt="dog"',
        'x1="3" y2="4"',
        'x1="3" y1="4" x1="5"',
        'x="NaN" y="3"',
        'x="1e3" y="3"',
        'x="9999999999" y="3"',
        'x="٣" y="3"',
        'x="45%" y="3"',
    ],
)
def test_what_holds_no_point_is_an_unreadable_mention(attributes: str) -> None:
    found = find_points(f"<points {attributes}>dog</points>")
    assert [one.point for one in found] == [None]
    assert found[0].label == "dog"
    assert not found.is_well_formed


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('<points x1="1" y1="2" alt="a">', 0),
        ("a</points>", 0),
        ('<points x1="1" y1="2"><points x1="3" y1="4">a</points>', 1),
        ('<points x1="1" y1="2">a</points> and <points', 1),
        ('<points x1="1" y1="2">a</points>' * (MAX_POINTS + 1), MAX_POINTS),
    ],
)
def test_tags_out_of_order_are_ignored_and_ill_formed(text: str, count: int) -> None:
    assert len(find_points(text)) == count
    assert not find_points(text).is_well_formed


POINT = '<points x1="1" y1="2" alt="frame 3">frame 3</points>'


@pytest.mark.parametrize(
    ("text", "frame", "time_s", "image_index"),
    [
        (f"In frame 24 at 18.71 seconds I see {POINT}.", 24, 18.71, 0),
        (f"I see {POINT} in frame 24.", 24, None, 0),
        (f"[F17 @ t=19.21s] at {POINT}", 17, 19.21, 0),
        (f"It starts, then in frame 4 it stops. Here is {POINT}.", 4, None, 0),
        (f"In frame 4 it stops, then it goes on. Here is {POINT}.", None, None, 0),
        (f"In frame 4 it stops. It goes on. Here is {POINT}.", None, None, 0),
        (f"Frames 1-6 show {POINT}, and t=3.5s too.", None, 3.5, 0),
        (f"From frame 2 to frame 9 and 4.47 to 16.11 seconds {POINT}", None, None, 0),
        (f"Frame 2 is dark. Frame 9 shows {POINT}, frame 30 none.", 9, None, 0),
        (f"In image 2 there is {POINT}.", None, None, 1),
        (f"The second image has {POINT}.", None, None, 1),
    ],
)
def test_a_point_is_in_the_frame_that_its_sentence_names(
    text: str, frame: int | None, time_s: float | None, image_index: int
) -> None:
    [found] = find_points(text)
    assert (found.frame, found.time_s, found.image_index) == (frame, time_s, image_index)


def test_moments_of_a_text_are_single_or_ranges() -> None:
    text = (
        "At frame 6 the man sits. Frames 1–6 show him. Between 4.47 and 16.11 seconds he walks. "
        "[F17 @ t=19.21s] he rests. [F1-F4 @ t=0.00-3.31s] he starts. Frame 25 onwards he runs. "
        "Until 5 s nothing moves. "
        f"In frame 8 there is {POINT}."
    )
    found = find_moments(without_tags(text))
    assert found.frames == (
        FrameMention(description="At frame 6 the man sits.", frame=6),
        FrameMention(description="[F17 @ t=19.21s] he rests.", frame=17, time_s=19.21),
    )
    assert found.segments == (
        SegmentMention(description="Frames 1–6 show him.", start_frame=1, end_frame=6),
        SegmentMention(description="Between 4.47 and 16.11 seconds he walks.", start_time=4.47, end_time=16.11),
        SegmentMention(
            description="[F1-F4 @ t=0.00-3.31s] he starts.", start_frame=1, end_frame=4, start_time=0.0, end_time=3.31
        ),
        SegmentMention(description="Frame 25 onwards he runs.", start_frame=25),
        SegmentMention(description="Until 5 s nothing moves.", end_time=5.0),
    )


@pytest.mark.parametrize("text", ["It is red for 1.5 seconds.", "It lasts 1.5 s", "3,2 seconds", "a frame of wood"])
def test_a_duration_is_no_moment(text: str) -> None:
    found = find_moments(text)
    assert (found.frames, found.segments) == ((), ())


def test_points_are_written_and_taken_out() -> None:
    text = written_point('a "red" <jeep>', [Point(407.6, 179.2), Point(3, 4)])
    assert text == '<points x1="408" y1="179" x2="3" y2="4" alt="a red jeep">a red jeep</points>'
    assert without_points(f"There is {text} here.") == "There is a red jeep here."
    assert has_point_tag(text)
    assert not has_point_tag("points at it")
    assert find_points(text).is_well_formed


def view_of(convention: CoordinateConvention) -> ResizeRule:
    return replace(TINY_VIEW, convention=convention)


@pytest.mark.parametrize("convention", ["absolute", "relative_1000"])
def test_points_are_converted_on_the_picture_that_is_named(convention: CoordinateConvention) -> None:
    view = view_of(convention)
    images = (ImageRef(hash="a", width=200, height=100), ImageRef(hash="b", width=400, height=400))
    cup, dog, cat = Point(100, 50), Point(100, 300), Point(3, 4)
    thought = (
        f"Here is {written_point('cup', [cup])}. In image 2 there is {written_point('dog', [dog])}, "
        f"and in image 7 {written_point('cat', [cat])}."
    )
    text = points_to_model(thought, images, view)
    shown = [view.frame_for(image).point_to_model(point) for image, point in zip(images, (cup, dog))]
    assert [one.point for one in find_points(text)] == [*shown, cat]
    found = points_to_original(find_points(text), images, view)
    assert [one.image_index for one in found] == [0, 1, 6]
    for mention, wanted in zip(found, (cup, dog, cat)):
        assert mention.point is not None
        assert (mention.point.x, mention.point.y) == pytest.approx((wanted.x, wanted.y), abs=3)


def test_the_pointed_protocol_reads_points_of_the_thought_alone() -> None:
    parse = pointed_protocol().parse
    point = written_point("cup", [Point(4, 5)])
    fine = parse(f"<think>a {point}</think><answer>red</answer>")
    assert (fine.is_well_formed, [one.label for one in fine.points]) == (True, ["cup"])
    none = parse("<think>a cup</think><answer>red</answer>")
    assert (none.is_well_formed, none.points) == (True, ())
    elsewhere = parse(f"<think>a cup</think><answer>red {point}</answer>")
    assert (elsewhere.is_well_formed, elsewhere.points) == (False, ())
    assert not parse("<think>a <points x1='3'>b</points></think><answer>red</answer>").is_well_formed


def test_a_turn_of_the_environment_has_points_in_original_pixels() -> None:
    media = MediaStore()
    image = media.add(Image.new("RGB", (200, 100), "red"))
    task = Task(id="t", family="f", question="?", answer="red", answer_kind="exact", images=(image,))
    env = VisualReasoningEnv(media=media, view=TINY_VIEW, protocol=pointed_protocol(style="brief"), max_turns=1)
    env.reset(options={"task": task})
    thought = f"a {written_point('cup', [Point(150, 50)])}"
    text = env.write_turn(ExpertTurn(thought=thought, action=Answer(text="red")))
    env.step(text)
    [mention] = env.turns[0].points
    assert mention.point is not None
    assert (mention.label, mention.point.x, mention.point.y) == (
        "cup",
        pytest.approx(150, abs=3),
        pytest.approx(50, abs=3),
    )


def test_points_are_put_in_place_of_others_in_the_same_tags_or_in_one_form() -> None:
    text = 'a <point x="1" y="2">cup</point>, <points x3=4 y3=5 x4=6 y4=7 alt="two cups"/> and b'
    others = [replace(one, point=Point(one.point.x + 10.456, one.point.y)) for one in find_points(text) if one.point]
    assert with_points(text, others) == (
        'a <point x="11.46" y="2">cup</point>, <points x3="14.46" y3="5" x4="16.46" y4="7" alt="two cups"/> and b'
    )
    assert with_points(text, others, in_one_form=True) == (
        'a <points x1="11" y1="2" alt="cup">cup</points>, '
        '<points x1="14" y1="5" x2="16" y2="7" alt="two cups">two cups</points> and b'
    )
    assert with_points("no points", ()) == "no points"


@pytest.mark.parametrize("count", [0, 1, 2, 4])
def test_other_numbers_of_points_are_an_error(count: int) -> None:
    text = '<point x="1" y="2">cup</point><points x1=4 y1=5 x2=6 y2=7>b</points>'
    points = [*find_points(text), *find_points(text)][:count]
    with pytest.raises(ValueError, match="points"):
        with_points(text, points)


def test_tags_out_of_order_get_no_points() -> None:
    for text in ('<point x="1" y="2">cup', "cup</point>", '<point x="1">cup</point>'):
        with pytest.raises(ValueError, match="points"):
            with_points(text, find_points(text))
