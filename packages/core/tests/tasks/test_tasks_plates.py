"""Plates: textures that a small view cannot tell apart, marks that are drawn as named, and experts that solve both."""

from collections import Counter

import numpy as np
import pytest
from PIL import Image

from saccade.geometry import Box, iou
from saccade.gym.drawn import NAMED_FAMILIES
from saccade.gym.drawn.plates import (
    MARKS,
    PLATE_PX,
    TEXTURES,
    draw_plate,
    draw_visual_search,
    marked_plates,
    marked_scene,
    plate_corner,
)
from saccade.media.store import MediaStore
from saccade.protocols.box_text import find_boxes
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.seeding import generator_for
from saccade.tasks.drawing import BACKGROUND, COLOURS
from saccade.tasks.procedural import SPLITS, generate
from saccade.tasks.scene import place_of
from saccade.tasks.two_streams import grounded, sought_objects, textual
from saccade.types import Answer, Example, ToolCall

DIFFICULTIES = (0.0, 0.3, 0.5, 0.8, 1.0)
NAMES = {colour: name for name, colour in {**COLOURS, **MARKS}.items()}

every_family = pytest.mark.parametrize("family", list(NAMED_FAMILIES))


@pytest.mark.parametrize("colour", sorted(COLOURS))
def test_the_small_view_is_the_same_for_all_four_textures_at_every_jitter(colour: str) -> None:
    for shift in range(-6, 7):
        views = set()
        originals = set()
        for texture in TEXTURES:
            pixels = np.full((256, 256, 3), BACKGROUND, dtype=np.uint8)
            left, top = plate_corner(5, shift, -shift // 2)
            draw_plate(pixels, left, top, colour, texture)
            originals.add(pixels.tobytes())
            views.add(Image.fromarray(pixels).reduce(4).tobytes())
        assert len(views) == 1
        assert len(originals) == 4


def test_the_textured_area_lies_inside_its_plate() -> None:
    for shift in range(-6, 7):
        pixels = np.zeros((256, 256, 3), dtype=np.uint8)
        left, top = plate_corner(15, shift, -shift)
        draw_plate(pixels, left, top, "red", "checks")
        rows, columns = np.nonzero(pixels.any(axis=2))
        assert (columns.min(), columns.max() + 1) == (left, left + PLATE_PX)
        assert (rows.min(), rows.max() + 1) == (top, top + PLATE_PX)
        assert 192 <= left < left + PLATE_PX <= 256


def test_the_answer_can_be_read_from_the_cell_that_the_expert_crops() -> None:
    media = MediaStore()
    for index in range(200):
        example = generate("visual_search", split="train", index=index, seed=3, media=media, difficulty=1.0)
        look, final = example.turns
        assert isinstance(look.action, ToolCall)
        assert isinstance(final.action, Answer)
        x1, y1, x2, y2 = (int(side) for side in look.action.arguments["bbox_2d"])  # type: ignore[union-attr,arg-type]
        assert (x2 - x1, y2 - y1) == (64, 64)
        assert x1 % 64 == y1 % 64 == 0
        crop = np.asarray(media.get(example.task.images[0]))[y1:y2, x1:x2].astype(int)
        assert final.action.text == example.task.answer == _texture_in(crop)


def _texture_in(crop: np.ndarray) -> str:
    """By how brightness changes along rows and along columns in the middle of the cell."""
    middle = crop[20:44, 20:44].sum(axis=2)
    along_x = bool((middle != middle[:, :1]).any())
    along_y = bool((middle != middle[:1]).any())
    return {(False, True): "rows", (True, False): "columns", (True, True): "checks", (False, False): "plain"}[
        along_x, along_y
    ]


def test_the_usual_difficulty_has_one_to_three_plates_in_the_first_four_colours() -> None:
    counts = set()
    for index in range(60):
        scene = draw_visual_search(generator_for(0, "test", index), 0.5)
        # A coarse grid of pixels is enough to meet each plate's border.
        pixels = {tuple(pixel) for pixel in np.asarray(scene.images[0])[::4, ::2].reshape(-1, 3).tolist()}
        assert not pixels & {COLOURS[name] for name in ("orange", "purple", "cyan", "pink")}
        counts.add(len(pixels & set(COLOURS.values())))
    assert counts == {1, 2, 3}


def test_every_texture_is_the_answer_about_as_often() -> None:
    answers = [draw_visual_search(generator_for(1, "test", index), 0.5).asked.answer for index in range(800)]
    assert all(150 < answers.count(texture) < 250 for texture in TEXTURES)


@pytest.fixture(scope="module")
def media() -> MediaStore:
    return MediaStore()


@pytest.fixture(scope="module")
def examples(media: MediaStore) -> dict[str, list[Example]]:
    """Some tasks of every family at every difficulty."""
    return {
        family: [
            generate(family, split="train", index=index, seed=3, media=media, difficulty=DIFFICULTIES[index % 5])
            for index in range(60)
        ]
        for family in NAMED_FAMILIES
    }


@every_family
def test_every_plate_is_named_with_the_colour_the_place_and_the_mark_that_are_drawn(
    family: str, examples: dict[str, list[Example]], media: MediaStore
) -> None:
    for example in examples[family]:
        pixels = np.asarray(media.get(example.task.images[0]))
        for one in example.task.objects:
            x1, y1, x2, y2 = (int(side) for side in one.box.as_tuple())
            corners = {tuple(pixels[y, x]) for y in (y1, y2 - 1) for x in (x1, x2 - 1)}
            assert [NAMES[tuple(int(channel) for channel in corner)] for corner in corners] == [one.name]
            middle = pixels[(y1 + y2) // 2, (x1 + x2) // 2]
            assert NAMES[tuple(int(channel) for channel in middle)] == one.attributes["mark"]
            assert one.attributes["place"] == place_of(one.box.center)


@every_family
def test_nothing_but_the_named_plates_is_drawn(
    family: str, examples: dict[str, list[Example]], media: MediaStore
) -> None:
    for example in examples[family]:
        pixels = np.asarray(media.get(example.task.images[0])).copy()
        for one in example.task.objects:
            x1, y1, x2, y2 = (int(side) for side in one.box.as_tuple())
            pixels[y1:y2, x1:x2] = 128
        assert (pixels == 128).all()
        assert len({one.name for one in example.task.objects}) == len(example.task.objects)


@every_family
def test_the_answer_is_the_mark_of_each_plate_that_is_asked_for(
    family: str, examples: dict[str, list[Example]]
) -> None:
    for example in examples[family]:
        sought = sought_objects(example)
        assert " and ".join(one.attributes["mark"] for one in sought) == example.task.answer
        assert all(f"the {one.name} plate" in example.task.question for one in sought)


@every_family
def test_both_experts_give_the_right_answer_and_only_one_of_them_writes_boxes(
    family: str, examples: dict[str, list[Example]]
) -> None:
    for example in examples[family]:
        [boxed], [plain] = grounded(example).turns, textual(example).turns
        for turn in (boxed, plain):
            assert isinstance(turn.action, Answer)
            assert answer_is_right(example.task, turn.action.text)
        written = [mention.box for mention in find_boxes(boxed.thought).mentions]
        assert written == [target.box for target in example.task.targets]
        assert not find_boxes(plain.thought).mentions


@every_family
def test_boxes_rounded_to_the_grid_still_fit_their_plates(family: str, examples: dict[str, list[Example]]) -> None:
    for example in examples[family]:
        mentions = find_boxes(grounded(example, grid_px=12.8).turns[0].thought).mentions
        for mention, target in zip(mentions, example.task.targets, strict=True):
            assert isinstance(mention.box, Box)
            assert iou(mention.box, target.box) > 0.5


@every_family
def test_no_picture_is_shared_between_splits(family: str, media: MediaStore) -> None:
    shown: dict[str, set[str]] = {split: set() for split in SPLITS}
    for split in SPLITS:
        for index in range(40):
            task = generate(family, split=split, index=index, seed=0, media=media, difficulty=0.0).task
            shown[split].update(image.hash for image in task.images)
    assert not shown["train"] & shown["held_out"]
    assert not shown["train"] & shown["validation"]
    assert not shown["validation"] & shown["held_out"]


def test_no_mark_is_common_enough_to_guess(media: MediaStore) -> None:
    answers = Counter(
        generate("plate_mark", split="train", index=index, seed=1, media=media).task.answer for index in range(400)
    )
    assert set(answers) == set(MARKS)
    assert max(answers.values()) < 0.33 * 400


@pytest.mark.parametrize("side", [1, 2, 4, 20])
def test_marks_are_drawn_with_the_side_that_is_asked_for(side: int) -> None:
    plates = marked_plates(generator_for(5, "marks"), 0.5)
    scene = marked_scene(plates, 0.5, "Which mark?", plates[0].mark, sought=plates[:1], mark_px=side)
    pixels = np.asarray(scene.images[0])
    for name, colour in MARKS.items():
        here = sum(plate.mark == name for plate in plates)
        assert (pixels == np.asarray(colour)).all(axis=2).sum() == here * side**2


def test_an_expert_refuses_a_task_whose_objects_are_not_named(media: MediaStore) -> None:
    example = generate("attributes", split="train", index=0, seed=0, media=media)
    with pytest.raises(ValueError, match="does not name what its question is about"):
        grounded(example)
