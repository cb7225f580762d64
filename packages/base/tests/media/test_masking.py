"""Pictures with black patches."""

import numpy as np
import pytest
from PIL import Image

from saccade.media.masking import with_black_patches


def test_whole_patches_are_black_and_all_else_stays() -> None:
    picture = Image.new("RGB", (50, 33), (200, 100, 50))
    pixels = np.array(with_black_patches(picture, share=0.5, patch_px=14, seed=3))
    assert pixels.shape == (33, 50, 3)
    found = set()
    for y in range(0, 33, 14):
        for x in range(0, 50, 14):
            colours = np.unique(pixels[y : y + 14, x : x + 14].reshape(-1, 3), axis=0).tolist()
            assert len(colours) == 1
            found.add(tuple(colours[0]))
    assert found == {(0, 0, 0), (200, 100, 50)}


@pytest.mark.parametrize(("share", "black"), [(1.0, 1.0), (0.6, 0.6), (0.1, 0.1)])
def test_the_share_is_a_probability(share: float, black: float) -> None:
    pixels = np.array(with_black_patches(Image.new("L", (700, 700), 255), share=share, patch_px=7, seed=0))
    assert (pixels == 0).mean() == pytest.approx(black, abs=0.02)


def test_the_seed_chooses_and_the_picture_that_was_given_is_left_alone() -> None:
    picture = Image.new("RGB", (64, 64), (9, 9, 9))
    one, same, other = (with_black_patches(picture, share=0.5, patch_px=8, seed=seed) for seed in (1, 1, 2))
    assert one.tobytes() == same.tobytes() != other.tobytes()
    assert picture.getpixel((0, 0)) == (9, 9, 9)
