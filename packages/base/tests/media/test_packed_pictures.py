"""Pictures on their way to another process: equal to the byte, and nothing else passes for one."""

import struct

import pytest
from PIL import Image

from saccade.media.decode import MediaError
from saccade.media.packed import add_packed, packed, packed_pictures, unpacked
from saccade.media.store import MediaStore


def picture(width: int, height: int) -> Image.Image:
    return Image.frombytes("RGB", (width, height), bytes(number * 7 % 251 for number in range(3 * width * height)))


def test_a_picture_comes_back_equal_and_under_its_hash() -> None:
    here, there = MediaStore(), MediaStore()
    made = [here.add(picture(*size)) for size in ((1, 1), (33, 20), (256, 256))]
    sent = packed_pictures(here, {one.hash for one in made})
    add_packed(there, sent)
    for one in made:
        assert there.get(one).tobytes() == here.get(one).tobytes()
        assert there.get(one).size == (one.width, one.height)
    # A second time nothing is looked at any more.
    add_packed(there, {made[0].hash: b"nothing"})


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"1234567",
        struct.pack("<II", 0, 5),
        struct.pack("<II", 2**31, 2**31) + b"x",
        packed(picture(4, 4))[:-3],
        struct.pack("<II", 5, 4) + packed(picture(4, 4))[8:],
        struct.pack("<II", 3, 4) + packed(picture(4, 4))[8:],
        struct.pack("<II", 4, 4) + b"\x89PNG\r\n\x1a\n" * 4,
    ],
)
def test_bytes_that_are_no_packed_picture_are_refused_by_name(raw: bytes) -> None:
    with pytest.raises(MediaError, match="image 7: these bytes are no packed picture"):
        unpacked(raw, "image 7")


def test_a_picture_under_another_ones_name_is_refused() -> None:
    media = MediaStore()
    with pytest.raises(MediaError, match="another process sent the picture"):
        add_packed(media, {"0" * 64: packed(picture(2, 2))})
