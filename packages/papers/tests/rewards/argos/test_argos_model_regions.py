"""Regions by models: what is asked of them, what they fail, and what is remembered of their answers."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from saccade.errors import MachineError, ToolError, UserError
from saccade.geometry import Box, Mask, Point
from saccade.media.store import MediaStore
from saccade.rewards.argos import CachedRegions, ModelRegions, RegionFinding, RegionRequest, VisionPointer, read_points
from saccade.rewards.argos.model_regions import asked_label
from saccade.rewards.argos.pointers import PointUnits
from saccade.testing.tiny_specialists import save_tiny
from saccade.types import Task
from saccade.vision_models import Detection, DetectionRequest, Segmentation, SegmentationRequest
from saccade.vision_models.detectors import load_detector
from saccade.vision_models.segmenters import load_segmenter

SIZE = (40, 30)


@dataclass
class Halves:
    """Detects "left" and "right", fails on "smoke", and says what it was asked."""

    asked: list[tuple[str, ...]] = field(default_factory=list)

    def detect_batch(self, requests: Sequence[DetectionRequest]) -> list[list[Detection]]:
        self.asked += [one.phrases for one in requests]
        boxes = {"left": Box(-5, 0, 20, 30), "right": Box(20, 0, 45, 30), "beyond": Box(41, 0, 50, 30)}
        if any(one.phrases == ("smoke",) for one in requests):
            raise RuntimeError("out of memory")
        return [
            [
                Detection(phrase=name, box=box, score=0.4 + place / 10)
                for place, (name, box) in enumerate(boxes.items())
                if one.phrases in ((name,), ("both",))
            ]
            for one in requests
        ]


class Cutter:
    """Cuts out the box, or the column of the first point."""

    def segment_batch(self, requests: Sequence[SegmentationRequest]) -> list[Segmentation]:
        return [Segmentation(mask=_cut(one), score=1.0) for one in requests]


def _cut(request: SegmentationRequest) -> Mask:
    array = np.zeros(SIZE[::-1], dtype=np.bool_)
    box = request.box
    start, end = (int(box.x1), int(box.x2)) if box else (int(request.points[0].x), int(request.points[0].x) + 1)
    array[:, start:end] = True
    return Mask.from_array(array)


def columns(start: int, end: int) -> Mask:
    return _cut(SegmentationRequest(image=Image.new("RGB", SIZE), box=Box(start, 0, end, 30)))


class Pointing:
    """Answers in points, as it was told to for a label."""

    def __init__(self, **replies: str) -> None:
        self.replies, self.prompts = replies, list[str]()

    def answer(self, image: Image.Image, prompt: str) -> str:
        self.prompts.append(prompt)
        word = next(word for word in self.replies if word in prompt)
        if word == "refused":
            raise ToolError("no")
        if word == "down":
            raise MachineError("down")
        return self.replies[word]


def requests_for(media: MediaStore, *labels: str, finder: str = "detector") -> list[RegionRequest]:
    image = media.add(Image.new("RGB", SIZE, "red"))
    task = Task(id="t", family="f", question="?", answer="a", answer_kind="exact", images=(image,))
    return [
        RegionRequest(task=task, image_index=0, label=label, finder="pointer" if finder == "pointer" else "detector")
        for label in labels
    ]


def test_each_label_is_looked_for_once_and_each_thing_is_cut_out() -> None:
    media, detector = MediaStore(), Halves()
    regions = ModelRegions(media=media, name="halves", segmenter=Cutter(), detector=detector, batch_size=2)
    labels = ("left", "both", "left", "beyond", "nowhere", "", "...", "x" * 65, "left, right.")
    left, right = columns(0, 20), columns(20, 40)
    found = regions.find(requests_for(media, *labels))
    assert found == [(left,), (right, left), (left,), (), (), (), (), (), ()]
    assert detector.asked == [("left",), ("both",), ("beyond",), ("nowhere",), ("left right",)]
    few = ModelRegions(
        media=media, name="h", segmenter=Cutter(), detector=Halves(), finding=RegionFinding(max_things=1)
    )
    assert few.find(requests_for(media, "both")) == [(right,)]


def test_a_pass_that_fails_is_a_failure_of_its_requests_alone() -> None:
    media = MediaStore()
    regions = ModelRegions(media=media, name="halves", segmenter=Cutter(), detector=Halves(), batch_size=1)
    left, smoke, right = regions.find(requests_for(media, "left", "smoke", "right"))
    assert (left, right) == ((columns(0, 20),), (columns(20, 40),))
    assert isinstance(smoke, MachineError)
    assert str(smoke) == "the detector failed: out of memory"
    elsewhere = ModelRegions(media=MediaStore(), name="halves", segmenter=Cutter(), detector=Halves())
    [lost] = elsewhere.find(requests_for(media, "left"))
    assert isinstance(lost, MachineError)
    assert "cannot be read" in str(lost)


def test_a_missing_model_and_wrong_settings_are_refused() -> None:
    media = MediaStore()
    regions = ModelRegions(media=media, name="none", segmenter=Cutter())
    for finder in ("detector", "pointer"):
        with pytest.raises(UserError, match=f"give {finder}="):
            regions.find(requests_for(media, "left", finder=finder))
    with pytest.raises(UserError, match="box_threshold=2"):
        RegionFinding(box_threshold=2)
    with pytest.raises(UserError, match="max_things=0"):
        RegionFinding(max_things=0)


def test_a_pointing_model_finds_what_the_segmenter_cuts_out() -> None:
    media = MediaStore()
    model = Pointing(
        bars='<points x1="50" y1="50" x2="25" y2="10" alt="bars">bars</points>',
        none="There are none.",
        chatter="What a nice chart!",
        refused="",
        down="",
    )
    pointer = VisionPointer(model=model, name="molmo")
    regions = ModelRegions(media=media, name="m", segmenter=Cutter(), pointer=pointer)
    found = regions.find(requests_for(media, "bars", "none", "chatter", "refused", "down", finder="pointer"))
    assert found[:2] == [(columns(20, 21), columns(10, 11)), ()]
    assert [isinstance(one, MachineError) for one in found[2:]] == [True] * 3
    assert sorted(model.prompts)[0] == "Point to every bars."
    assert regions.identity.endswith("pointer molmo in percent by 'Point to every {label}.'")


def test_a_label_is_no_template_of_the_prompt() -> None:
    model = Pointing(**{"{width}": "[]"})
    pixels = VisionPointer(model=model, name="qwen", units="pixels")
    [request] = requests_for(MediaStore(), "{width} {label}")
    regions = ModelRegions(media=MediaStore(), name="m", segmenter=Cutter(), pointer=pixels)
    media = regions.media
    assert regions.find(requests_for(media, request.label, finder="pointer")) == [()]
    assert "Where is each {width} {label} in the image, which is 40 x 30 pixels?" in model.prompts[0]
    assert '[{"point_2d": [x, y]}]' in model.prompts[0]


@pytest.mark.parametrize(
    ("reply", "units", "points"),
    [
        ('<point x="61.5" y="40.0" alt="cup">cup</point>', "percent", [(123.0, 40.0)]),
        ('<points x1="10" y1="20" x2="50" y2="50" alt="c">c</points>', "percent", [(20.0, 20.0), (100.0, 50.0)]),
        ('```json\n[{"point_2d": [150, 80], "label": "cup"}]\n```', "pixels", [(150.0, 80.0)]),
        ('[{"point_2d": [500, 500]}, {"point_2d": [250, 100]}]', "thousandths", [(100.0, 50.0), (50.0, 10.0)]),
        ('{"points": [[1, 2], [3, 4]]}', "pixels", [(1.0, 2.0), (3.0, 4.0)]),
        ('[{"x": 7, "y": 9}]', "pixels", [(7.0, 9.0)]),
        ("The cup is at (30, 40) and (35.5, 41).", "pixels", [(30.0, 40.0), (35.5, 41.0)]),
        ("[[1, 2], [1e999, NaN], [201, 5]]", "pixels", [(1.0, 2.0)]),
        (f"[[{10**400}, 1], [3, 4]]", "pixels", [(3.0, 4.0)]),
        ('<point x="150" y="40">out of range</point>', "percent", []),
        ("[]", "pixels", []),
        ("There is no cup in the image.", "percent", []),
        ("[0.1, 0.2, 0.3, 0.4]", "pixels", None),
        ("A cup.", "percent", None),
        ("", "percent", None),
        ("[" * 30_000, "pixels", None),
    ],
)
def test_replies_of_pointing_models(reply: str, units: PointUnits, points: list[tuple[float, float]] | None) -> None:
    found = read_points(reply, (200, 100), units)
    assert found == (None if points is None else [Point(*one) for one in points])


def test_what_is_known_is_not_asked_in_this_run_or_the_next(tmp_path: Path) -> None:
    media, detector = MediaStore(), Halves()
    inner = ModelRegions(media=media, name="halves", segmenter=Cutter(), detector=detector, batch_size=1)
    cached = CachedRegions(inner=inner, directory=tmp_path)
    asked = requests_for(media, "left", "smoke", "left", "both", "nowhere")
    first = cached.find(asked)
    assert cached.counts.as_counts() == {"region_requests": 5, "regions_sought": 4, "regions_failed": 1}
    again = cached.find(asked)
    assert again[:1] + again[2:] == first[:1] + first[2:]
    assert detector.asked == [("left",), ("smoke",), ("both",), ("nowhere",), ("smoke",)]

    later = CachedRegions(inner=inner, directory=tmp_path)
    assert later.find(asked)[2:] == first[2:]
    assert len(detector.asked) == 6
    others = ModelRegions(
        media=media, name="halves", segmenter=Cutter(), detector=detector, finding=RegionFinding(box_threshold=0.1)
    )
    CachedRegions(inner=others, directory=tmp_path).find(asked[:1])
    assert detector.asked[6:] == [("left",)]


def test_memory_is_bounded_and_a_damaged_file_is_asked_again(tmp_path: Path) -> None:
    media, detector = MediaStore(), Halves()
    inner = ModelRegions(media=media, name="halves", segmenter=Cutter(), detector=detector)
    cached = CachedRegions(inner=inner, max_entries=1)
    asked = requests_for(media, "left", "right")
    assert cached.find(asked) == cached.find(asked) == [(columns(0, 20),), (columns(20, 40),)]
    assert len(detector.asked) == 3

    kept = CachedRegions(inner=inner, directory=tmp_path)
    kept.find(asked[:1])
    [file] = tmp_path.rglob("*.json")
    assert json.loads(file.read_text()) == {"label": "left", "masks": [columns(0, 20).to_coco()]}
    for content in (b"", b"{}", b'{"masks": ["zz"]}', b"[" * 100_000, b"\xff"):
        file.write_bytes(content)
        assert CachedRegions(inner=inner, directory=tmp_path).find(asked[:1]) == [(columns(0, 20),)]
        assert json.loads(file.read_text())["masks"] == [columns(0, 20).to_coco()]


def test_tiny_checkpoints_find_what_they_find_alone(tmp_path: Path) -> None:
    media = MediaStore()
    detector = load_detector(save_tiny("grounding_dino", tmp_path / "dino"))
    segmenter = load_segmenter(save_tiny("sam", tmp_path / "sam"))
    finding = RegionFinding(box_threshold=0.0, text_threshold=0.0, max_things=2)
    regions = ModelRegions(media=media, name="tiny", segmenter=segmenter, detector=detector, finding=finding)
    # On a blank picture many boxes score the same but for rounding, which a batch's size changes on some processors.
    noise = np.random.default_rng(0).integers(0, 256, size=(*SIZE[::-1], 3), dtype=np.uint8)
    image = Image.fromarray(noise)
    ref = media.add(image)
    asked = [replace(one, task=replace(one.task, images=(ref,))) for one in requests_for(media, "cat", "dog")]
    for request, found in zip(asked, regions.find(asked), strict=True):
        wanted = DetectionRequest(image=image, phrases=(request.label,), box_threshold=0, text_threshold=0)
        [things] = detector.detect_batch([wanted])
        boxes = [one.box.clipped(*SIZE) for one in sorted(things, key=lambda one: -one.score)]
        large = [box for box in boxes if min(box.width, box.height) >= 1][:2]
        cut = segmenter.segment_batch([SegmentationRequest(image=image, box=box) for box in large])
        assert len(cut) == 2
        assert not isinstance(found, MachineError)
        assert [mask.counts for mask in found] == [one.mask.counts for one in cut]


def test_a_label_speaks_no_token_of_a_model_s() -> None:
    """A pointing model reads it in its prompt, a detector in its words."""
    assert asked_label("a <|image_pad|>cup[SEP]") == "a image_pad cup SEP"
    assert asked_label("<|>") == ""
