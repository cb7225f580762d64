"""What decoding takes: strips give the pixels of a conversion in one piece, bombs end early, threads share memory."""

import io
import os
import struct
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from saccade.media.budget import ByteBudget
from saccade.media.decode import MediaError, decode_image, to_rgb

SIZE = (613, 431)
"""A strip is of 427 rows: the last one has four."""


def encoded(image: Image.Image, file_format: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format=file_format, **options)
    return buffer.getvalue()


def noise(bands: int, kind: str = "uint8", top: int = 256) -> np.ndarray:
    shape = (SIZE[1], SIZE[0], bands) if bands > 1 else (SIZE[1], SIZE[0])
    return np.random.default_rng(7).integers(0, top, shape).astype(kind)


def picture(mode: str) -> Image.Image:
    if mode == "I;16":
        return Image.fromarray(noise(1, "uint16", 65536))
    if mode == "I":
        return Image.fromarray(noise(1, "int32", 65536))
    if mode == "F":
        return Image.fromarray((noise(1) / 255).astype(np.float32))
    if mode == "P":
        image = Image.fromarray(noise(1)).convert("P")
        image.putpalette(np.random.default_rng(8).integers(0, 256, 768).astype("uint8").tobytes())
        return image
    bands = {"1": 1, "L": 1, "LA": 2, "RGB": 3, "RGBA": 4, "CMYK": 4}[mode]
    return Image.fromarray(noise(bands)).convert("1") if mode == "1" else Image.fromarray(noise(bands), mode)


def in_one_piece(image: Image.Image) -> Image.Image:
    """The conversion as it is defined: all at once, through copies of the whole picture."""
    if image.has_transparency_data:
        white = Image.new("RGBA", image.size, (255, 255, 255, 255))
        return Image.alpha_composite(white, image.convert("RGBA")).convert("RGB")
    if image.mode == "F" or image.mode.startswith("I"):
        values = np.asarray(image).astype(np.float64) * (255.0 / (1.0 if image.mode == "F" else 65535.0))
        return Image.fromarray(np.rint(values).astype(np.uint8)).convert("RGB")
    return image.convert("RGB")


def assert_as_in_one_piece(raw: bytes) -> None:
    with Image.open(io.BytesIO(raw)) as opened:
        opened.load()
        expected = in_one_piece(opened)
    decoded = decode_image(raw, "x")
    assert (decoded.mode, decoded.size, decoded.info) == ("RGB", expected.size, {})
    assert decoded.tobytes() == expected.tobytes()


@pytest.mark.filterwarnings("ignore:'mode' parameter is deprecated")
@pytest.mark.parametrize(
    ("mode", "file_format"),
    [
        *((mode, "PNG") for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")),
        *((mode, "TIFF") for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16", "I", "F")),
        *((mode, "JPEG") for mode in ("L", "RGB", "CMYK")),
        *((mode, "WEBP") for mode in ("RGB", "RGBA")),
        *((mode, "BMP") for mode in ("1", "L", "P", "RGB", "RGBA")),
        *((mode, "GIF") for mode in ("L", "P")),
        *((mode, "PPM") for mode in ("L", "RGB", "I")),
    ],
)
def test_strips_have_the_pixels_of_a_conversion_in_one_piece(mode: str, file_format: str) -> None:
    image = picture(mode)
    assert_as_in_one_piece(encoded(image, file_format))
    expected = in_one_piece(image).tobytes()
    before = image.tobytes()
    assert to_rgb(image, "x").tobytes() == expected
    assert image.tobytes() == before


@pytest.mark.filterwarnings("ignore:'mode' parameter is deprecated")
@pytest.mark.parametrize(
    ("mode", "transparency"), [("L", 77), ("P", 77), ("P", bytes(range(256))), ("RGB", (1, 2, 3)), ("1", 1)]
)
def test_strips_lay_transparent_colours_of_a_png_on_white(mode: str, transparency: object) -> None:
    assert_as_in_one_piece(encoded(picture(mode), "PNG", transparency=transparency))


@pytest.mark.filterwarnings("ignore:'mode' parameter is deprecated")
@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_turned_picture_has_the_pixels_of_one_that_is_turned_whole(orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    turns = [None, *(Image.Transpose(turn) for turn in (0, 3, 1, 5, 4, 6, 2))]
    for mode, file_format in (("RGBA", "PNG"), ("L", "JPEG")):
        raw = encoded(picture(mode), file_format, exif=exif)
        with Image.open(io.BytesIO(raw)) as opened:
            upright = in_one_piece(opened)
        turn = turns[orientation - 1]
        assert decode_image(raw, "x").tobytes() == (upright if turn is None else upright.transpose(turn)).tobytes()


@pytest.mark.filterwarnings("ignore:'mode' parameter is deprecated")
@pytest.mark.parametrize("file_format", ["GIF", "PNG", "WEBP", "TIFF"])
def test_the_first_frame_of_an_animation_has_the_pixels_of_a_conversion_in_one_piece(file_format: str) -> None:
    frames = [picture("RGBA"), Image.new("RGBA", SIZE, (1, 2, 3, 4))]
    options = {"lossless": True, "method": 0} if file_format == "WEBP" else {}
    assert_as_in_one_piece(encoded(frames[0], file_format, save_all=True, append_images=frames[1:], **options))


@pytest.mark.parametrize(("magic", "bands"), [(b"P5", 1), (b"P6", 3)])
@pytest.mark.parametrize("largest", [1, 100, 254, 256, 1023, 4095, 65534, 65535])
def test_odd_ranges_of_a_pgm_are_scaled_as_pillow_scales_them(magic: bytes, bands: int, largest: int) -> None:
    values = np.random.default_rng(3).integers(0, min(largest + 3, 65536 if largest > 255 else 256), 11 * 7 * bands)
    raw = magic + b" 11 7 %d\n" % largest + values.astype("u1" if largest < 256 else ">u2").tobytes()
    assert_as_in_one_piece(raw)
    with pytest.raises(MediaError, match="damaged or cut off"):
        decode_image(raw[:-1], "x")


def chunk(name: bytes, content: bytes = b"") -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def png(width: int, height: int, depth: int, colour: int, *chunks: bytes) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return b"".join([b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", header), *chunks, chunk(b"IEND")])


def tiff_of_offsets(count: int) -> bytes:
    """8 x 8 grey in strips of four rows, of which there are said to be so many."""
    tags = [(256, 3, 8), (257, 3, 8), (258, 3, 8), (259, 3, 1), (262, 3, 1), (277, 3, 1), (278, 3, 4), (279, 4, 32)]
    entries = [struct.pack("<HHII", name, kind, 1, value) for name, kind, value in tags]
    entries.insert(5, struct.pack("<HHII", 273, 4, count, 122))
    return b"II*\0" + struct.pack("<IH", 8, len(entries)) + b"".join(entries) + bytes(4) + struct.pack("<I", 8) * count


def jpeg_of_scans(count: int) -> bytes:
    raw = encoded(Image.new("L", (16, 16), 9), "JPEG", progressive=True)
    last, end = raw.rindex(b"\xff\xda"), raw.rindex(b"\xff\xd9")
    return raw[:end] + raw[last:end] * count + raw[end:]


def jpeg_of_segments(name: bytes, count: int) -> bytes:
    raw = encoded(Image.new("L", (16, 16), 9), "JPEG")
    segment = b"\xff\xe1" + struct.pack(">H", 2 + len(name) + 100) + name + bytes(100)
    return raw[:2] + segment * count + raw[2:]


ROWS = chunk(b"IDAT", zlib.compress(bytes(72)))


@pytest.mark.parametrize(
    ("bomb", "why"),
    [
        (lambda: b"P5 #" + b"x" * 100_000 + b"\n8 8 255 " + bytes(64), "more parts than a picture needs"),
        (lambda: jpeg_of_segments(b"Exif\0\0", 65), "Exif more than 64 times"),
        (lambda: jpeg_of_segments(b"anything", 3000), "more parts than a picture needs"),
        (lambda: jpeg_of_scans(101), "more than 100 scans"),
        (lambda: png(8, 8, 8, 0, chunk(b"iCCP", b"a\0\0" + zlib.compress(b"")) * 65, ROWS), "iCCP more than 64 times"),
        (lambda: png(8, 8, 8, 0, chunk(b"tIME") * 10_000, ROWS), "more parts than a picture needs"),
        (lambda: png(8, 8, 8, 0, ROWS, chunk(b"tIME") * 200_000), "more parts than a picture needs"),
        (lambda: tiff_of_offsets(200_000), "tag 273 has 200000 values"),
    ],
)
def test_a_header_that_costs_more_than_a_picture_is_refused(bomb: Callable[[], bytes], why: str) -> None:
    with pytest.raises(MediaError, match=why):
        decode_image(bomb(), "x")


def test_many_parts_that_an_honest_picture_may_have_are_read() -> None:
    for raw in (
        b"P5 #" + b"x" * 4000 + b"\n8 8 255 " + bytes(64),
        jpeg_of_segments(b"Exif\0\0", 60),
        jpeg_of_segments(b"http://ns.adobe.com/xmp/extension/\0", 500),
        jpeg_of_scans(50),
        png(8, 8, 8, 0, chunk(b"tEXt", b"a\0b") * 1000, ROWS),
        png(8, 8, 8, 0, *[chunk(b"IDAT", zlib.compress(bytes(72))[at : at + 1]) for at in range(20)]),
        tiff_of_offsets(1000),
    ):
        assert decode_image(raw, "x").mode == "RGB"


_PEAKS = """
import resource, sys
from saccade.media.decode import decode_image
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
decode_image(open(sys.argv[1], "rb").read(), "x")
for path in sys.argv[2:]:
    raw, before = open(path, "rb").read(), peak()
    decode_image(raw, path)
    print(peak() - before)
"""


def test_a_decoded_picture_peaks_at_itself_and_one_copy(tmp_path: Path) -> None:
    side = 2500
    rows = chunk(b"IDAT", zlib.compress(bytes((1 + 8 * side) * side), 1))
    shapes = {"grey16": (16, 0), "palette": (8, 3), "rgba": (8, 6)}
    colours = chunk(b"PLTE", bytes(768)) + chunk(b"tRNS", bytes(256))
    (tmp_path / "small").write_bytes(png(8, 8, 8, 0, ROWS))
    for name, (depth, colour) in shapes.items():
        (tmp_path / name).write_bytes(png(side, side, depth, colour, colours if colour == 3 else b"", rows))
    # Each in its own process: the peak of the last one would hide the next.
    for name in shapes:
        command = [sys.executable, "-c", _PEAKS, str(tmp_path / "small"), str(tmp_path / name)]
        grown = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        assert grown < 9 * side * side, name


MIB = 1 << 20


def test_shares_never_pass_the_budget_and_all_threads_get_theirs() -> None:
    budget = ByteBudget(100 * MIB)
    held, most, lock = [0], [0], threading.Lock()

    def decode(need: int) -> None:
        with budget.share(need):
            with lock:
                held[0] += min(need, budget.total)
                most[0] = max(most[0], held[0])
            with lock:
                held[0] -= min(need, budget.total)

    needs = [(9 + 37 * at % 150) * MIB for at in range(200)]
    threads = [threading.Thread(target=lambda part=at: [decode(need) for need in needs[part::8]]) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert 0 < most[0] <= budget.total
    assert (held, budget.waiting) == ([0], 0)


def test_a_large_share_is_not_passed_over_by_small_ones_that_come_later() -> None:
    budget, order, lock = ByteBudget(100 * MIB), [], threading.Lock()

    def decode(name: str, need: int) -> None:
        with budget.share(need), lock:
            order.append(name)

    threads = []
    with budget.share(50 * MIB):
        for name, need in (("all", 500 * MIB), ("small", 10 * MIB), ("small too", 10 * MIB)):
            threads.append(threading.Thread(target=decode, args=(name, need)))
            threads[-1].start()
            while budget.waiting < len(threads):
                threading.Event().wait(0.001)
        # A picture of a few megabytes waits for nobody.
        decode("tiny", 8 * MIB)
    for thread in threads:
        thread.join(60)
    assert order[:2] == ["tiny", "all"]
    assert sorted(order[2:]) == ["small", "small too"]


def test_a_share_is_given_back_by_a_picture_that_cannot_be_decoded() -> None:
    budget = ByteBudget(20 * MIB)
    for _ in range(3):
        with pytest.raises(ValueError, match="damaged"), budget.share(15 * MIB):
            raise ValueError("damaged")
    with budget.share(20 * MIB):
        assert budget.waiting == 0


@pytest.mark.parametrize(
    ("given", "said"), [("32", str(32 * MIB)), ("", str(1 << 30)), ("much", "is no number of MiB")]
)
def test_the_budget_of_a_process_is_set_by_a_variable(given: str, said: str) -> None:
    command = [sys.executable, "-c", "from saccade.media.budget import DECODING; print(DECODING.total)"]
    environment = os.environ | {"SACCADE_DECODING_MB": given}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert said in done.stdout + done.stderr
