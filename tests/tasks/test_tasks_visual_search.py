"""Visual search: what a small view holds, and what the drawing promises."""

import numpy as np
import pytest
from PIL import Image

from saccade.media.store import MediaStore
from saccade.seeding import generator_for
from saccade.tasks.families.visual_search import (
    PLATE_PX,
    TEXTURES,
    draw_plate,
    draw_visual_search,
    plate_corner,
)
from saccade.tasks.palette import BACKGROUND, COLOURS
from saccade.tasks.procedural import generate
from saccade.types import Answer, ToolCall


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
