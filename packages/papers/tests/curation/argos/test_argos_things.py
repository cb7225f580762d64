"""Things and marks: names out of any JSON, points inside of regions, overlays with the originals' coordinates."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from saccade.curation.argos.asking import asked_trace
from saccade.curation.argos.marks import Mark, PointerMarks, RegionMarks, marks_of, middle, requests_for
from saccade.curation.argos.overlays import Overlays, overlaid
from saccade.curation.argos.things import NamedEvent, NamedThings, asked_things, known_things, read_things
from saccade.errors import MachineError
from saccade.geometry import Box, Mask, Point
from saccade.media.store import MediaStore
from saccade.rewards.argos import RegionRequest, Selection
from saccade.types import ImageRef, Target, Task
from saccade.vision_models.kinds import PointingRequest

PICTURE = ImageRef(hash="0" * 64, width=100, height=80)


def task(**more: object) -> Task:
    fields: dict[str, object] = {"images": (PICTURE,), "answer": "red", "question": "Which colour has the cup?", **more}
    return Task(id="t", family="f", answer_kind="text", **fields)  # type: ignore[arg-type]


VIDEO = task(images=(PICTURE,) * 3, frame_times_s=(0.0, 1.5, 3.0))


@pytest.mark.parametrize(
    ("reply", "named"),
    [
        ('{"things": ["red cup", "the red cup", "Red  cup", "table"], "events": []}', ("red cup", "table")),
        ('Sure! {not json} ```json\n{"things": ["cup"]}\n``` as you wished', ("cup",)),
        ('{"things": [{"name": "cup"}, {"label": "table"}, {"x": 1}, 3, null, [], true]}', ("cup", "table")),
        ('{"things": ["a\\ud800", "", "...", "<b>cup\\"</b>", "x, y\\nz"]}', ("bcup/b", "x y z")),
        (json.dumps({"things": [f"thing {n}" for n in range(50)]}), tuple(f"thing {n}" for n in range(10))),
        (json.dumps({"things": ["long " * 50, "cup"]}), ("cup",)),
    ],
)
def test_names_are_taken_out_of_any_json(reply: str, named: tuple[str, ...]) -> None:
    found = read_things(reply, task())
    assert found is not None
    assert found.things == named


@pytest.mark.parametrize(
    "reply",
    ["", "no", "{", "[]", '{"things": "cup"}', '{"things": []}', '{"things"', "{" * 60_000, '{"a":' * 20_000,
     '{"things": [' + "[" * 30_000, "null", '{"things": {"cup": 1}}', "\ud800"],
)  # fmt: skip
def test_a_reply_without_names_is_none(reply: str) -> None:
    assert read_things(reply, task()) is None


def test_events_have_times_inside_of_the_video() -> None:
    events = [
        {"what": "it falls", "from_s": 0, "to_s": 1.5},
        {"what": "it flies", "from_s": -1, "to_s": 99},
        {"what": "it turns", "from_s": 2.0, "to_s": 1.0},
        {"what": "it  stops", "from_s": 10**400, "to_s": True},
        "it rolls",
        {"what": 3},
        4,
    ]
    found = read_things(json.dumps({"things": [], "events": events}), VIDEO)
    assert found == NamedThings(
        events=(
            NamedEvent(what="it falls", from_s=0.0, to_s=1.5),
            NamedEvent(what="it flies"),
            NamedEvent(what="it turns"),
            NamedEvent(what="it stops"),
            NamedEvent(what="it rolls"),
        )
    )
    assert read_things('{"events": [{"what": "a", "from_s": NaN, "to_s": Infinity}]}', VIDEO) == NamedThings(
        events=(NamedEvent(what="a"),)
    )


def test_the_extractor_sees_the_answer_and_the_times() -> None:
    [message] = asked_things(VIDEO)
    assert [part for part in message.parts if isinstance(part, str)][:3] == ["0.00 s:", "1.50 s:", "3.00 s:"]
    assert "Answer: red" in str(message.parts[-1])


def test_rules_take_labels_else_the_drawn_things_that_are_named() -> None:
    box = Box(10, 10, 30, 30)
    cups = tuple(Target(label=label, box=box, point=box.center) for label in ("cup", "Cup"))
    boxed = task(targets=cups)
    assert known_things(boxed) == NamedThings(things=("cup",))
    assert known_things(task()) == NamedThings()


def ring() -> Mask:
    array = np.zeros((80, 100), dtype=np.bool_)
    array[10:40, 10:40] = True
    array[15:35, 15:35] = False
    return Mask.from_array(array)


def test_a_mark_lies_inside_of_its_region() -> None:
    point = middle(ring())
    assert ring().contains(point)
    array = np.zeros((80, 100), dtype=np.bool_)
    array[0, 99] = True
    assert middle(Mask.from_array(array)) == Point(99, 0)


class Found:
    """Regions that are what the test says."""

    identity = "test"

    def __init__(self, *masks: Mask | MachineError) -> None:
        self.masks = masks

    def find(self, requests: Sequence[RegionRequest], /) -> list[tuple[Mask, ...] | MachineError]:
        error = next((one for one in self.masks if isinstance(one, MachineError)), None)
        masks = tuple(one for one in self.masks if not isinstance(one, MachineError))
        return [error or masks for _ in requests]


def test_regions_that_lie_are_a_failure_and_vague_ones_give_no_mark() -> None:
    requests = requests_for(task(), ["cup"], Selection(("detector",)))
    whole = Mask.from_array(np.ones((80, 100), dtype=np.bool_))
    assert RegionMarks(Found(ring())).find(requests) == [[middle(ring())]]
    assert RegionMarks(Found(whole)).find(requests) == [[]]
    [lying] = RegionMarks(Found(Mask.from_array(np.ones((3, 3), dtype=np.bool_)))).find(requests)
    assert isinstance(lying, MachineError)
    error = MachineError("gone")
    assert RegionMarks(Found(error)).find(requests) == [error]
    with pytest.raises(MachineError, match="gone"):
        marks_of(requests, [error], ["cup"], 8)
    assert requests_for(task(), ["a  Cup"], Selection(("pointer",)))[0].finder == "pointer"


class Pointing:
    identity = "test"

    def __init__(self, *points: Point) -> None:
        self.points = points

    def point_batch(self, requests: Sequence[PointingRequest]) -> list[Sequence[Point] | MachineError]:
        return [self.points for _ in requests]


def test_marks_are_pixels_of_the_picture_each_once_and_not_too_many() -> None:
    media = MediaStore()
    asked = task(images=(media.add(Image.new("L", (100, 80))),))
    requests = requests_for(asked, ["Red Cup"], Selection(("detector",)))
    outside = [Point(-1, 0), Point(100, 3), Point(float("nan"), 1)]
    points = [Point(5.5, 6.9), Point(5, 6), *outside, *(Point(number, 9) for number in range(50))]
    found = PointerMarks(pointer=Pointing(*points), media=media).find(requests)
    marks = marks_of(requests, found, ["Red Cup"], 3)
    assert marks == tuple(Mark(label="Red Cup", point=point) for point in (Point(5, 6), Point(0, 9), Point(1, 9)))
    broken = PointerMarks(pointer=Pointing(), media=media)
    object.__setattr__(broken, "pointer", type("Short", (), {"point_batch": lambda self, requests: []})())
    [failed] = broken.find(requests)
    assert isinstance(failed, MachineError)


@pytest.mark.parametrize("size", [(1, 1), (1, 3000), (60, 40), (3000, 2000)])
@pytest.mark.parametrize("mode", ["RGB", "L", "RGBA", "I;16"])
def test_overlays_are_drawn_on_any_picture(size: tuple[int, int], mode: str) -> None:
    corners = [Point(0, 0), Point(size[0] - 1, size[1] - 1)]
    drawn = overlaid(Image.new(mode, size), [Mark(label="a", point=one) for one in corners], "frame 1   0.00 s")
    times = drawn.width // size[0]
    assert drawn.mode == "RGB"
    assert drawn.size == (size[0] * times, size[1] * times)
    assert max(drawn.size) >= 768
    if min(drawn.size) > 1:
        assert drawn.getextrema() != ((0, 0),) * 3


def test_frames_without_marks_still_say_what_they_are() -> None:
    media = MediaStore()
    images = tuple(media.add(Image.new("RGB", (800, 600), (number, 0, 0))) for number in range(3))
    asked = task(images=images, frame_times_s=(0.0, 1.5, 3.0))
    overlays = Overlays(media, images)
    copies = overlays.lend(asked, [Mark(label="cup", point=Point(400, 300), image_index=1)])
    changed = [
        np.argwhere(np.any(np.asarray(media.get(copy)) != np.asarray(media.get(image)), axis=2))
        for copy, image in zip(copies, images)
    ]
    # The heading is in the corner of each; only the second frame is marked.
    assert [bool((one.max(axis=0) > 290).any()) for one in changed] == [False, True, False]
    prompt = asked_trace(asked, NamedThings(), (), copies)
    assert [part for part in prompt[0].parts if isinstance(part, ImageRef)] == list(copies)


def test_copies_are_in_the_store_while_a_question_is_out_and_originals_always(tmp_path: Path) -> None:
    media = MediaStore(tmp_path)
    images = tuple(media.add(Image.new("RGB", (800, 600), (number, 0, 0))) for number in range(2))
    asked = task(images=images)
    overlays = Overlays(media, images)
    marks = [Mark(label="cup", point=Point(400, 300))]
    first, second = overlays.lend(asked, marks), overlays.lend(asked, marks)
    assert first == second
    # A large picture without a mark is its own copy.
    assert first[1] == images[1]
    overlays.take_back(first)
    assert media.get(first[0]).size == (800, 600)
    overlays.take_back(second)
    assert [image.hash in media for image in (first[0], *images)] == [False, True, True]
    assert sorted(path.stem for path in tmp_path.iterdir()) == sorted(image.hash for image in images)
