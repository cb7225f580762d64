"""Points of a reasoning, as the paper, Molmo and hostile policies write them."""

import pytest

from saccade.geometry import Point
from saccade.protocols.moments import FrameMention, SegmentMention, find_moments
from saccade.protocols.points import MAX_POINTS, find_points, has_point_tag, without_points, without_tags, written_point


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


def test_points_are_written_and_taken_out() -> None:
    text = written_point('a "red" <jeep>', [Point(407.6, 179.2), Point(3, 4)])
    assert text == '<points x1="408" y1="179" x2="3" y2="4" alt="a red jeep">a red jeep</points>'
    assert without_points(f"There is {text} here.") == "There is a red jeep here."
    assert has_point_tag(text)
    assert not has_point_tag("points at it")
    assert find_points(text).is_well_formed
