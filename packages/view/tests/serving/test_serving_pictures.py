"""Pictures of requests: decoded once while somebody holds them, and forgotten with their last holder."""

import base64
import hashlib
import io
from concurrent.futures import ThreadPoolExecutor

from PIL import Image
from PIL.PngImagePlugin import PngInfo
from served_agent import picture, said, shown

from saccade.media.store import MediaStore
from saccade.serving.pictures import EpisodePictures, PicturesInUse, are_small
from saccade.serving.questions import SentPicture


class CountingStore(MediaStore):
    """A store that counts what it decodes."""

    def __init__(self):
        super().__init__()
        self.decoded = 0

    def add_encoded(self, raw, where):
        self.decoded += 1
        return super().add_encoded(raw, where)


def png(note="", shade=9):
    """The same pixels for one shade, in another file for each note."""
    written = PngInfo()
    written.add_text("note", note)
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), (shade, 90, 0)).save(buffer, "PNG", pnginfo=written)
    return buffer.getvalue()


def digest(raw):
    return hashlib.sha256(raw).digest()


def test_a_file_whose_picture_is_held_is_not_decoded_again():
    media = CountingStore()
    held = PicturesInUse(media)
    first, second, third = (EpisodePictures(held) for _ in range(3))
    image = first.add_encoded(png(), "first")
    assert second.add_encoded(png(), "second") == second.add_encoded(png(), "twice") == image
    assert media.decoded == 1
    first.close()
    assert image.hash in media
    second.close()
    assert (image.hash in media, held.count, held.hold_file(digest(png()))) == (False, 0, None)
    assert third.add_encoded(png(), "third") == image
    assert media.decoded == 2


def test_a_trace_keeps_a_file_known_and_its_end_forgets_it():
    media = CountingStore()
    held = PicturesInUse(media)
    asked = EpisodePictures(held)
    asked.add_encoded(png(), "asked")
    kept = asked.handed_over()
    asked.close()
    EpisodePictures(held).add_encoded(png(), "again")
    assert media.decoded == 1
    kept.close()
    assert held.count == 1


def test_of_one_picture_only_some_files_are_remembered():
    media = CountingStore()
    held = PicturesInUse(media)
    pictures = EpisodePictures(held)
    files = [png(str(number)) for number in range(20)]
    for _ in range(2):
        assert len({pictures.add_encoded(file, "file") for file in files}) == 1
    assert media.decoded == 20 + 12
    pictures.close()
    assert [held.hold_file(digest(file)) for file in files] == [None] * 20


def test_a_request_that_is_over_holds_no_known_picture():
    held = PicturesInUse(MediaStore())
    open_one, over = EpisodePictures(held), EpisodePictures(held)
    open_one.add_encoded(png(), "open")
    over.close()
    over.add_encoded(png(), "over")
    assert over.images == ()
    open_one.close()
    assert held.count == 0


def test_many_threads_leave_nothing_behind():
    media = CountingStore()
    held = PicturesInUse(media)

    def ask(number):
        pictures = EpisodePictures(held)
        image = pictures.add_encoded(png(shade=number % 3), "asked")
        seen = pictures.get(image).getpixel((0, 0))
        pictures.close()
        return seen == (number % 3, 90, 0)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(400)))
    assert held.count == 0
    assert not any(held.hold_file(digest(png(shade=shade))) for shade in range(3))


def test_a_known_picture_counts_towards_the_pixels_of_a_request(serve):
    with serve(max_images_mp=1) as agent:
        one = shown(picture(5, (800, 700)))
        assert agent.ask([one, said("x")]).status_code == 200
        reply = agent.ask([one, one, said("x")])
        assert reply.status_code == 400
        assert "megapixels together" in reply.json()["error"]["message"]


def test_bytes_that_were_refused_are_refused_again(serve):
    with serve() as agent:
        broken = "data:image/png;base64," + base64.b64encode(png()[:50]).decode()
        for _ in range(2):
            assert agent.ask([shown(broken), said("x")]).status_code == 400
        assert agent.episodes.open_count == 0


def sent(raw, kind="png"):
    return SentPicture(url=f"data:image/{kind};base64,{base64.b64encode(raw).decode()}", place="here")


def with_size(raw, width, height):
    """A PNG that says it has another size."""
    return raw[:16] + width.to_bytes(4) + height.to_bytes(4) + raw[24:]


def test_only_small_pictures_with_nothing_else_to_inflate_are_read_in_the_event_loop():
    compressed = PngInfo()
    compressed.add_text("note", "x" * 100_000, zip=True)
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8)).save(buffer, "PNG", pnginfo=compressed)
    assert are_small([])
    assert are_small([sent(png()), sent(with_size(png(), 500, 500))])
    assert not are_small([sent(with_size(png(), 400, 400))] * 2)
    assert not are_small([sent(png()), sent(with_size(png(), 1 << 31, 1))])
    assert not are_small([sent(buffer.getvalue())])
    assert not are_small([sent(b"\xff\xd8\xff" + bytes(64), "jpeg")])
    assert not are_small([sent(png()[:20])])
    assert not are_small([SentPicture(url="https://example.org/cat.png", place="here")])
    assert not are_small([SentPicture(url="data:image/png;base64,@@@@", place="here")])
