"""Photographs with tags: the answer cannot be seen from afar, and the box holds it."""

import numpy as np

from saccade.gym.drawn.plates import TEXTURES
from saccade.gym.tagged_photos import COLOURS, TaggedPhoto, tagged_photo
from saccade.seeding import generator_for


def photos(count: int) -> list[TaggedPhoto]:
    return [tagged_photo(generator_for(7, index)) for index in range(count)]


def test_every_answer_and_colour_is_asked_for_and_the_same_number_gives_the_same_picture() -> None:
    drawn = photos(60)
    assert ({one.answer for one in drawn}, {one.colour for one in drawn}) == (set(TEXTURES), set(COLOURS))
    assert all(one.colour in one.question for one in drawn)
    assert drawn[5].image.tobytes() == photos(6)[5].image.tobytes()


def test_a_view_of_64_px_shows_no_texture_and_the_box_does() -> None:
    for photo in photos(24):
        pixels = np.asarray(photo.image.crop(photo.box), dtype=np.float64)[12:52, 12:52]
        seen = pixels.reshape(10, 4, 10, 4, 3).mean(axis=(1, 3))
        assert np.ptp(seen, axis=(0, 1)).max() == 0
        assert (np.ptp(pixels, axis=(0, 1)).max() > 0) == (photo.answer != "plain")
