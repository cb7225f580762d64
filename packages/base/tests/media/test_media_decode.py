import io
import random
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from saccade.errors import UserError
from saccade.media.decode import ImageLimits, MediaError, decode_image, to_rgb

RED, GREEN, BLUE, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)


def encoded(image: Image.Image, file_format: str = "PNG", **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format=file_format, **options)
    return buffer.getvalue()


def pixels(image: Image.Image) -> list[list[tuple[int, int, int]]]:
    assert image.mode == "RGB"
    return [
        [image.getpixel((x, y)) for x in range(image.width)]  # type: ignore[misc]
        for y in range(image.height)
    ]


def png_header(width: int, height: int) -> bytes:
    """A PNG of 45 bytes that claims any size."""
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header))
    end = struct.pack(">I", 0) + b"IEND" + struct.pack(">I", zlib.crc32(b"IEND"))
    return b"\x89PNG\r\n\x1a\n" + chunk + end


def test_rgb_png_keeps_its_pixels() -> None:
    image = Image.new("RGB", (2, 1), RED)
    image.putpixel((1, 0), BLUE)
    assert pixels(decode_image(encoded(image), "a.png")) == [[RED, BLUE]]


@pytest.mark.parametrize("file_format", ["PNG", "GIF", "WEBP", "BMP", "TIFF", "PPM", "JPEG"])
def test_every_listed_format_decodes(file_format: str) -> None:
    options = {"lossless": True} if file_format == "WEBP" else {}
    image = decode_image(encoded(Image.new("RGB", (16, 8), WHITE), file_format, **options), "x")
    assert (image.mode, image.size, image.getpixel((3, 3))) == ("RGB", (16, 8), WHITE)


def test_exif_orientation_turns_the_pixels() -> None:
    image = Image.new("RGB", (2, 1), RED)
    image.putpixel((1, 0), BLUE)
    upright = {
        1: [[RED, BLUE]],
        2: [[BLUE, RED]],
        3: [[BLUE, RED]],
        4: [[RED, BLUE]],
        5: [[RED], [BLUE]],
        6: [[RED], [BLUE]],
        7: [[BLUE], [RED]],
        8: [[BLUE], [RED]],
    }
    for orientation, expected in upright.items():
        exif = Image.Exif()
        exif[0x0112] = orientation
        assert pixels(decode_image(encoded(image, exif=exif), "x")) == expected, orientation


def test_orientation_of_a_jpeg_swaps_width_and_height() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    assert decode_image(encoded(Image.new("RGB", (30, 10)), "JPEG", exif=exif), "x").size == (10, 30)


def test_unreadable_exif_is_upright_and_silent() -> None:
    raw = encoded(Image.new("RGB", (30, 10)), "JPEG", exif=b"Exif\x00\x00II*\x00\xff\xff\xff\x7f nonsense")
    assert decode_image(raw, "x").size == (30, 10)


def test_transparent_pixels_become_white() -> None:
    image = Image.new("RGBA", (2, 1), (*RED, 255))
    image.putpixel((1, 0), (0, 0, 0, 0))
    assert pixels(decode_image(encoded(image), "x")) == [[RED, WHITE]]


def test_half_transparent_black_becomes_mid_grey() -> None:
    image = decode_image(encoded(Image.new("RGBA", (1, 1), (0, 0, 0, 128))), "x")
    assert pixels(image) == [[(127, 127, 127)]]


def test_grey_with_alpha_is_laid_on_white() -> None:
    image = Image.new("LA", (2, 1), (0, 255))
    image.putpixel((1, 0), (0, 0))
    assert pixels(decode_image(encoded(image), "x")) == [[(0, 0, 0), WHITE]]


def test_palette_with_transparency_is_laid_on_white() -> None:
    image = Image.new("P", (2, 1), 0)
    image.putpalette([*RED, *GREEN])
    image.putpixel((1, 0), 1)
    assert pixels(decode_image(encoded(image, transparency=1), "x")) == [[RED, WHITE]]
    assert pixels(decode_image(encoded(image, transparency=b"\x00\xff"), "x")) == [[WHITE, GREEN]]
    assert pixels(decode_image(encoded(image), "x")) == [[RED, GREEN]]


def test_transparent_colour_of_an_rgb_png_becomes_white() -> None:
    image = Image.new("RGB", (2, 1), RED)
    image.putpixel((1, 0), BLUE)
    assert pixels(decode_image(encoded(image, transparency=BLUE), "x")) == [[RED, WHITE]]


def test_16_bit_grey_is_scaled_and_not_cut() -> None:
    values = np.array([[0, 128, 257, 32768, 65535]], dtype=np.uint16)
    for file_format in ("PNG", "TIFF"):
        image = decode_image(encoded(Image.fromarray(values), file_format), "x")
        assert [colour[0] for colour in pixels(image)[0]] == [0, 0, 1, 128, 255], file_format


def test_one_bit_image_is_black_and_white() -> None:
    image = Image.new("1", (2, 1), 0)
    image.putpixel((1, 0), 1)
    assert pixels(decode_image(encoded(image), "x")) == [[(0, 0, 0), WHITE]]


def test_float_grey_from_zero_to_one_is_scaled() -> None:
    image = Image.fromarray(np.array([[0.0, 0.5, 1.0]], dtype=np.float32))
    assert [colour[0] for colour in pixels(decode_image(encoded(image, "TIFF"), "x"))[0]] == [0, 128, 255]


@pytest.mark.parametrize("value", [1.5, -0.1, float("nan"), float("inf")])
def test_float_grey_out_of_range_is_an_error(value: float) -> None:
    image = Image.fromarray(np.array([[value, 0.5]], dtype=np.float32))
    with pytest.raises(MediaError, match=r"^depth.tiff: grey values outside of 0 to 1 "):
        decode_image(encoded(image, "TIFF"), "depth.tiff")


def test_32_bit_grey_beyond_16_bits_is_an_error() -> None:
    image = Image.fromarray(np.array([[0, 70000]], dtype=np.int32))
    with pytest.raises(MediaError, match="outside of 0 to 65535"):
        to_rgb(image, "x")


def test_cmyk_jpeg_becomes_rgb() -> None:
    image = decode_image(encoded(Image.new("CMYK", (16, 16), (0, 255, 255, 0)), "JPEG"), "x")
    red, green, blue = pixels(image)[8][8]
    assert red > 240
    assert max(green, blue) < 15


@pytest.mark.parametrize("file_format", ["GIF", "PNG", "WEBP"])
def test_animation_gives_its_first_frame(file_format: str) -> None:
    frames = [Image.new("RGB", (8, 8), colour) for colour in (RED, GREEN, BLUE)]
    options = {"lossless": True} if file_format == "WEBP" else {}
    raw = encoded(frames[0], file_format, save_all=True, append_images=frames[1:], **options)
    assert decode_image(raw, "x").getpixel((4, 4)) == RED


def test_too_many_pixels_are_refused_from_the_header() -> None:
    with pytest.raises(MediaError, match=r"^bomb.png: an image of 60000 x 60000 px has more than 64000000"):
        decode_image(png_header(60000, 60000), "bomb.png")


def test_between_pillows_warning_and_its_error_there_is_no_warning() -> None:
    """Pillow warns from 89 megapixels on and refuses from 179 on; warnings are errors in this suite."""
    with pytest.raises(MediaError, match="more than 64000000"):
        decode_image(png_header(10000, 10000), "x")


def test_limits_are_the_callers() -> None:
    raw = encoded(Image.new("RGB", (10, 10)))
    assert decode_image(raw, "x", ImageLimits(max_pixels=100)).size == (10, 10)
    with pytest.raises(MediaError, match="more than 99 pixels"):
        decode_image(raw, "x", ImageLimits(max_pixels=99))
    with pytest.raises(MediaError, match=f"has {len(raw)} bytes, more than 10;"):
        decode_image(raw, "x", ImageLimits(max_bytes=10))


def test_very_long_image_is_refused() -> None:
    with pytest.raises(MediaError, match="more than 200 times longer"):
        decode_image(encoded(Image.new("RGB", (201, 1))), "x")
    assert decode_image(encoded(Image.new("RGB", (200, 1))), "x").size == (200, 1)


def test_zero_width_is_refused() -> None:
    with pytest.raises(MediaError, match=r"^x: "):
        decode_image(png_header(0, 5), "x")


@pytest.mark.parametrize(
    "raw", [b"", b"hello", b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"%!PS-Adobe-3.0 EPSF", b"RIFF1234WAVE"]
)
def test_what_is_no_image_is_an_error_that_names_the_place(raw: bytes) -> None:
    with pytest.raises(MediaError, match=r"^row 3 of x\.jsonl: "):
        decode_image(raw, "row 3 of x.jsonl")


def test_a_media_error_is_a_user_error() -> None:
    assert issubclass(MediaError, UserError)


@pytest.mark.parametrize("file_format", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "PPM"])
def test_truncated_file_is_an_error(file_format: str) -> None:
    noise = np.random.Generator(np.random.PCG64(1)).integers(0, 256, (40, 40, 3), dtype=np.uint8)
    raw = encoded(Image.fromarray(noise), file_format)
    for share in (0.02, 0.3, 0.7):
        with pytest.raises(MediaError, match=r"^x: "):
            decode_image(raw[: int(len(raw) * share)], "x")


@pytest.mark.parametrize("file_format", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "PPM"])
def test_damaged_bytes_decode_or_raise_a_media_error_and_never_warn(file_format: str) -> None:
    chance = random.Random(7)
    exif = Image.Exif()
    exif[0x0112] = 3
    exif[0x010E] = "a description"
    options = {"exif": exif} if file_format in ("PNG", "JPEG", "WEBP", "TIFF") else {}
    gradient = np.linspace(0, 255, 24 * 24 * 3).reshape(24, 24, 3).astype(np.uint8)
    raw = encoded(Image.fromarray(gradient), file_format, **options)
    for _ in range(300):
        damaged = bytearray(raw)
        for _ in range(chance.randint(1, 4)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            image = decode_image(bytes(damaged), "x", ImageLimits(max_pixels=1_000_000))
        except MediaError:
            continue
        assert image.mode == "RGB"


def test_to_rgb_gives_a_copy_without_metadata() -> None:
    image = Image.new("RGB", (2, 2), RED)
    image.info["icc_profile"] = b"x"
    copy = to_rgb(image, "x")
    copy.putpixel((0, 0), BLUE)
    assert copy.info == {}
    assert image.getpixel((0, 0)) == RED


def test_decoding_a_saved_file_equals_decoding_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    Image.new("RGB", (3, 3), GREEN).save(path)
    assert pixels(decode_image(path.read_bytes(), "a")) == [[GREEN] * 3] * 3
