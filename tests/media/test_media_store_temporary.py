"""What is added for a while is forgotten afterwards, and nothing else is."""

import copy

import pytest
from PIL import Image

from saccade.media.store import MediaStore


def test_pictures_first_added_inside_are_forgotten_and_others_stay() -> None:
    media = MediaStore()
    before = media.add(Image.new("RGB", (4, 4), (1, 2, 3)))
    with media.temporary():
        inside = media.add(Image.new("RGB", (4, 4), (9, 9, 9)))
        again = media.add(Image.new("RGB", (4, 4), (1, 2, 3)))
        assert media.get(inside).getpixel((0, 0)) == (9, 9, 9)
    assert again == before
    assert media.get(before).getpixel((0, 0)) == (1, 2, 3)
    with pytest.raises(KeyError):
        media.get(inside)


def test_a_forgotten_picture_can_be_added_again() -> None:
    media = MediaStore()
    with media.temporary():
        media.add(Image.new("RGB", (4, 4)))
    assert media.get(media.add(Image.new("RGB", (4, 4)))).size == (4, 4)


def test_memory_of_a_long_run_does_not_grow() -> None:
    media = MediaStore()
    for step in range(50):
        with media.temporary():
            media.add(Image.new("RGB", (32, 32), (step, 0, 0)))
    assert len(media._backings) == 0
    assert media._cached_bytes == 0


def test_an_environment_that_holds_a_store_shares_it_when_copied() -> None:
    media = MediaStore()
    assert copy.deepcopy(media) is media
