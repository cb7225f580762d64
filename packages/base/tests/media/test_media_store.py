"""The media store: content addressing, export, and pictures that are kept for a while only."""

import copy
import hashlib
import io
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from saccade.media import store as media_store
from saccade.media.decode import ImageLimits, MediaError
from saccade.media.encode import png_bytes
from saccade.media.store import MediaStore
from saccade.types import ImageRef

RED, BLUE = (255, 0, 0), (0, 0, 255)


def jpeg(colour: tuple[int, int, int], size: tuple[int, int] = (20, 10)) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, colour).save(buffer, format="JPEG")
    return buffer.getvalue()


def noise(seed: int, side: int = 32) -> Image.Image:
    generator = np.random.Generator(np.random.PCG64(seed))
    return Image.fromarray(generator.integers(0, 256, (side, side, 3), dtype=np.uint8))


def test_reference_is_the_hash_of_size_and_pixels() -> None:
    expected = hashlib.sha256(struct.pack("<II", 2, 1) + bytes([*RED, *RED])).hexdigest()
    assert MediaStore().add(Image.new("RGB", (2, 1), RED)) == ImageRef(hash=expected, width=2, height=1)


def test_same_bytes_in_another_shape_are_another_image() -> None:
    store = MediaStore()
    assert store.add(Image.new("RGB", (2, 1), RED)) != store.add(Image.new("RGB", (1, 2), RED))


def test_the_way_in_does_not_change_the_reference(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    noise(1).save(path)
    refs = {
        MediaStore().add(noise(1)),
        MediaStore().add_file(path),
        MediaStore().add_encoded(path.read_bytes(), "x"),
        MediaStore(tmp_path / "media").add(noise(1)),
        MediaStore().add(noise(1).convert("RGBA")),
    }
    assert len(refs) == 1


def test_a_picture_is_encoded_only_when_it_leaves_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[bytes] = []

    def counted(image: Image.Image) -> bytes:
        encoded.append(image.tobytes())
        return png_bytes(image)

    monkeypatch.setattr(media_store, "png_bytes", counted)
    store = MediaStore(cache_bytes=2 * 32 * 32 * 3)
    refs = [store.add(noise(seed)) for seed in range(2)]
    assert encoded == []
    refs.append(store.add(noise(2)))
    assert encoded == [noise(0).tobytes()]
    for _ in range(2):
        assert [store.get(ref).tobytes() for ref in refs] == [noise(seed).tobytes() for seed in range(3)]
    assert encoded == [noise(seed).tobytes() for seed in range(3)]


@pytest.mark.parametrize("cache_bytes", [0, 1 << 20])
def test_what_was_added_comes_back(tmp_path: Path, cache_bytes: int) -> None:
    path = tmp_path / "photo.jpg"
    path.write_bytes(jpeg(RED))
    store = MediaStore(cache_bytes=cache_bytes)
    made, encoded, file = store.add(noise(1)), store.add_encoded(jpeg(BLUE), "x"), store.add_file(path)
    assert store.get(made).tobytes() == noise(1).tobytes()
    assert store.get(encoded.hash).tobytes() == Image.open(io.BytesIO(jpeg(BLUE))).tobytes()
    assert store.get(file).tobytes() == Image.open(path).tobytes()
    assert all(ref.hash in store for ref in (made, encoded, file))


def test_caller_may_draw_on_the_image_that_it_added() -> None:
    store = MediaStore()
    image = Image.new("RGB", (4, 4), RED)
    ref = store.add(image)
    image.putpixel((0, 0), BLUE)
    assert store.get(ref).getpixel((0, 0)) == RED


def test_decoded_images_are_cached_up_to_the_bound_and_the_oldest_leaves_first() -> None:
    store = MediaStore(cache_bytes=2 * 32 * 32 * 3)
    refs = [store.add(noise(seed)) for seed in range(3)]
    second = store.get(refs[1])
    assert store.get(refs[1]) is second
    first = store.get(refs[0])
    # Image 2 was used least recently and has made room.
    assert store.get(refs[1]) is second
    assert store.get(refs[0]) is first
    third = store.get(refs[2])
    assert third.tobytes() == noise(2).tobytes()
    assert store.get(refs[1]) is not second


def test_unknown_image_is_a_key_error() -> None:
    store = MediaStore()
    assert "0" * 64 not in store
    assert 3 not in store
    with pytest.raises(KeyError, match="no image 0000"):
        store.get("0" * 64)


def test_file_that_changed_since_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    noise(1).save(path)
    store = MediaStore(cache_bytes=0)
    ref = store.add_file(path)
    noise(2).save(path)
    with pytest.raises(MediaError, match=r"a\.png: the image has changed since"):
        store.get(ref)
    path.unlink()
    with pytest.raises(MediaError, match=r"a\.png: the image file cannot be read \(No such file"):
        store.get(ref)


def test_missing_file_and_directory_are_errors(tmp_path: Path) -> None:
    with pytest.raises(MediaError, match=r"gone\.png: the image file cannot be read"):
        MediaStore().add_file(tmp_path / "gone.png")
    with pytest.raises(MediaError, match="cannot be read"):
        MediaStore().add_file(tmp_path)


def test_file_over_the_byte_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    noise(1).save(path)
    with pytest.raises(MediaError, match="more than 100;"):
        MediaStore(limits=ImageLimits(max_bytes=100)).add_file(path)


def test_broken_bytes_name_their_place() -> None:
    with pytest.raises(MediaError, match=r"^rows\.jsonl, row 4, image 1: not an image"):
        MediaStore().add_encoded(b"nonsense", "rows.jsonl, row 4, image 1")


def test_directory_keeps_made_images_for_the_next_run(tmp_path: Path) -> None:
    ref = MediaStore(tmp_path / "media").add(noise(1))
    assert [path.name for path in (tmp_path / "media").iterdir()] == [f"{ref.hash}.png"]
    later = MediaStore(tmp_path / "media")
    assert ref.hash in later
    assert later.get(ref).tobytes() == noise(1).tobytes()


def test_tampered_file_in_the_directory_is_an_error(tmp_path: Path) -> None:
    ref = MediaStore(tmp_path).add(noise(1))
    noise(2).save(tmp_path / f"{ref.hash}.png")
    with pytest.raises(MediaError, match="has changed"):
        MediaStore(tmp_path).get(ref)


def test_key_that_is_a_path_is_never_opened(tmp_path: Path) -> None:
    noise(1).save(tmp_path / "secret.png")
    store = MediaStore(tmp_path / "media")
    assert "../secret" not in store
    with pytest.raises(KeyError):
        store.get("../secret")


def test_export_writes_once_and_leaves_nothing_beside(tmp_path: Path) -> None:
    store = MediaStore()
    ref = store.add_encoded(jpeg(RED), "x")
    path = store.export(ref, tmp_path / "out")
    assert path == tmp_path / "out" / f"{ref.hash}.png"
    assert Image.open(path).tobytes() == store.get(ref).tobytes()
    written = path.stat().st_mtime_ns
    assert store.export(ref.hash, tmp_path / "out") == path
    assert path.stat().st_mtime_ns == written
    assert [entry.name for entry in (tmp_path / "out").iterdir()] == [path.name]


def test_many_threads_see_the_right_pictures() -> None:
    store = MediaStore(cache_bytes=3 * 32 * 32 * 3)
    seeds = [seed % 8 for seed in range(160)]
    with ThreadPoolExecutor(8) as threads:
        refs = list(threads.map(lambda seed: store.add(noise(seed)), seeds))
        images = list(threads.map(store.get, refs))
    assert [image.tobytes() for image in images] == [noise(seed).tobytes() for seed in seeds]
    assert len(set(refs)) == 8


def test_an_image_from_a_file_is_exported_as_that_file(tmp_path: Path) -> None:
    source = tmp_path / "a.JPG"
    Image.new("RGB", (20, 10), "red").save(source, format="JPEG")
    media = MediaStore()
    image = media.add_file(source)
    for _ in range(2):
        path = media.export_source(image, tmp_path / "out")
        assert path == tmp_path / "out" / f"{image.hash}.jpg"
        assert path.read_bytes() == source.read_bytes()
    # The same file by another name takes no space, and stays when the first name goes.
    assert path.stat().st_ino == source.stat().st_ino
    source.unlink()
    assert MediaStore().add_file(path) == image


def test_a_linked_image_file_is_exported_itself(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    Image.new("RGB", (20, 10), "red").save(tmp_path / "real" / "a.png")
    (tmp_path / "link.png").symlink_to(tmp_path / "real" / "a.png")
    media = MediaStore()
    path = media.export_source(media.add_file(tmp_path / "link.png"), tmp_path / "out")
    assert not path.is_symlink()
    assert MediaStore().add_file(path).width == 20


def test_an_image_that_came_as_bytes_is_exported_as_a_picture(tmp_path: Path) -> None:
    media = MediaStore()
    image = media.add(Image.new("RGB", (20, 10), "red"))
    assert media.export_source(image, tmp_path).name == f"{image.hash}.png"
    with pytest.raises(KeyError):
        media.export_source("0" * 64, tmp_path)


def test_an_exported_picture_may_be_read_by_whom_the_umask_says(tmp_path: Path) -> None:
    store = MediaStore()
    program = (
        "import os, sys; from pathlib import Path; from saccade.atomic import write_whole\n"
        "os.umask(int(sys.argv[2], 8)); write_whole(b'x', Path(sys.argv[1]))"
    )
    for umask, mode in (("022", 0o644), ("077", 0o600)):
        path = tmp_path / f"{umask}.png"
        subprocess.run([sys.executable, "-c", program, str(path), umask], check=True)
        assert path.stat().st_mode & 0o777 == mode
    store.export(store.add(noise(1)), tmp_path)
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".png"] * 3


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


def test_what_is_lent_to_two_stays_until_the_last_of_them_ends() -> None:
    store = MediaStore()
    kept = store.add(Image.new("RGB", (3, 2), (1, 1, 1)))
    pictures = [Image.new("RGB", (3, 2), (1, 1, 1)), Image.new("RGB", (4, 4), (9, 9, 9))]
    with store.lent(pictures) as first:
        with store.lent(pictures[::-1]) as second:
            assert first == second[::-1] == [kept, first[1]]
        assert first[1].hash in store
    assert first[1].hash not in store
    assert kept.hash in store


def test_the_first_that_was_lent_a_picture_may_end_before_the_second() -> None:
    store, picture = MediaStore(), Image.new("RGB", (4, 4), (9, 9, 9))
    first, second = store.lent([picture]), store.lent([picture])
    [one], [other] = first.__enter__(), second.__enter__()
    first.__exit__(None, None, None)
    assert other.hash in store
    second.__exit__(None, None, None)
    assert one.hash not in store
