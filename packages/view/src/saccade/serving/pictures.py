"""Pictures of requests: read within limits, held while a request or a trace needs them, and then forgotten."""

import base64
import binascii
import hashlib
import re
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from PIL import Image

from saccade.media.decode import MediaError
from saccade.media.store import MediaStore
from saccade.serving.questions import AskedWrongError, SentPicture
from saccade.serving.settings import AgentServerSettings
from saccade.types import ImageRef

_DATA_URL = re.compile(r"data:image/[a-z0-9.+-]{1,40};base64,", re.IGNORECASE)

_PNG = b"\x89PNG\r\n\x1a\n"
_HEAD_BYTES = 33
"""Of a PNG's signature and first chunk, which has width and height."""
_INFLATED = (b"zTXt", b"iTXt", b"iCCP")
"""Chunks of a PNG beside its pixels that are inflated: some bytes of one may become megabytes."""
_FEW_PIXELS = 1 << 18

_MOST_ENCODINGS = 8
"""Of one picture that are remembered: a client may send the same pixels in any number of files."""


class PicturesInUse:
    """Which pictures of a store are in use, and by how many; the store forgets those that nobody holds any more.

    The files in which held pictures came are known by their SHA-256, so that one that comes again is not decoded again.
    """

    def __init__(self, media: MediaStore) -> None:
        self.media = media
        self._holders: Counter[str] = Counter()
        self._of_file: dict[bytes, ImageRef] = {}
        self._files: dict[str, list[bytes]] = {}
        """By the hash of a picture, the files in which it came."""
        self._lock = threading.Lock()

    @property
    def count(self) -> int:
        """Pictures that are held."""
        return len(self._holders)

    def hold(self, image: ImageRef) -> bool:
        """Counts one holder more; False where the store does not have the picture (any more)."""
        with self._lock:
            self._holders[image.hash] += 1
            return image.hash in self.media

    def hold_file(self, file: bytes) -> ImageRef | None:
        """The picture that came in a file of this SHA-256, with one holder more; None where nobody holds one."""
        with self._lock:
            image = self._of_file.get(file)
            if image is not None:
                self._holders[image.hash] += 1
            return image

    def note_file(self, file: bytes, image: ImageRef) -> None:
        """A file of this SHA-256 has the picture, which the caller holds."""
        with self._lock:
            files = self._files.setdefault(image.hash, [])
            if file not in self._of_file and len(files) < _MOST_ENCODINGS:
                self._of_file[file] = image
                files.append(file)

    def release(self, images: Sequence[ImageRef]) -> None:
        """Counts one holder less of each."""
        with self._lock:
            for image in images:
                self._holders[image.hash] -= 1
                if self._holders[image.hash] <= 0:
                    del self._holders[image.hash]
                    for file in self._files.pop(image.hash, ()):
                        del self._of_file[file]
                    self.media.forget(image)


class EpisodePictures(MediaStore):
    """The store as one request sees it: what is added through it is held until ``close``. Safe to use from threads."""

    def __init__(self, held: PicturesInUse) -> None:
        super().__init__()
        self._held = held
        self._own: dict[str, ImageRef] = {}
        self._own_lock = threading.Lock()
        self._is_closed = False

    def add(self, image: Image.Image) -> ImageRef:
        return self._holding(lambda: self._held.media.add(image))

    def add_encoded(self, raw: bytes, where: str) -> ImageRef:
        """As in any store; a file whose picture somebody holds is not decoded."""
        file = hashlib.sha256(raw).digest()
        known = self._held.hold_file(file)
        if known is not None:
            return self._own_or_released(known)
        image = self._holding(lambda: self._held.media.add_encoded(raw, where))
        with self._own_lock:
            # Held until ``close``: nothing is noted of a picture that may be forgotten by now.
            if image.hash in self._own:
                self._held.note_file(file, image)
        return image

    def add_file(self, path: Path) -> ImageRef:
        return self._holding(lambda: self._held.media.add_file(path))

    def get(self, image: ImageRef | str) -> Image.Image:
        return self._held.media.get(image)

    def export(self, image: ImageRef | str, directory: Path) -> Path:
        return self._held.media.export(image, directory)

    def export_source(self, image: ImageRef | str, directory: Path) -> Path:
        return self._held.media.export_source(image, directory)

    def forget(self, image: ImageRef) -> None:
        """Nothing: others may hold it, and ``close`` forgets what only this request held."""

    @contextmanager
    def temporary(self) -> Iterator[None]:
        yield

    def __contains__(self, key: object) -> bool:
        return key in self._held.media

    @property
    def images(self) -> tuple[ImageRef, ...]:
        """All pictures that are held through it."""
        with self._own_lock:
            return tuple(self._own.values())

    @property
    def is_closed(self) -> bool:
        """Whether nobody waits for what is added any more."""
        return self._is_closed

    def handed_over(self) -> "EpisodePictures":
        """All that it holds, to whoever keeps them longer; it holds nothing more itself."""
        taken = EpisodePictures(self._held)
        with self._own_lock:
            taken._own, self._own = self._own, {}
        return taken

    def close(self) -> None:
        """Gives all of them up, and at once what a tool that is still at work adds; closing twice is allowed."""
        with self._own_lock:
            own, self._own, self._is_closed = tuple(self._own.values()), {}, True
        self._held.release(own)

    def _own_or_released(self, image: ImageRef) -> ImageRef:
        """A picture that was counted as held once more, which stands where it is not held by this request yet."""
        with self._own_lock:
            if image.hash not in self._own and not self._is_closed:
                self._own[image.hash] = image
                return image
        self._held.release([image])
        return image

    def _holding(self, add: Callable[[], ImageRef]) -> ImageRef:
        image = add()
        with self._own_lock:
            if image.hash in self._own:
                return image
            # Between adding and holding, the last other holder may have let it be forgotten.
            while not self._held.hold(image):
                self._held.release([image])
                add()
            if not self._is_closed:
                self._own[image.hash] = image
                return image
        self._held.release([image])
        return image


def read_pictures(
    sent: Sequence[SentPicture], media: EpisodePictures, settings: AgentServerSettings, fetched: Mapping[str, bytes]
) -> tuple[ImageRef, ...]:
    """The pictures decoded and kept; ``AskedWrongError`` names the first that cannot be used.

    ``fetched`` are the files at ``https://`` addresses. Fewer where ``media`` is closed meanwhile: the client left.
    """
    images: list[ImageRef] = []
    pixels = 0
    for picture in sent:
        if media.is_closed:
            break
        raw = _picture_bytes(picture, fetched)
        try:
            image = media.add_encoded(raw, picture.place)
        except MediaError as error:
            raise AskedWrongError(str(error), picture.place, code="invalid_image") from None
        images.append(image)
        pixels += image.width * image.height
        if pixels > settings.max_images_mp * 1_000_000:
            raise AskedWrongError(
                f"the images have more than {settings.max_images_mp} megapixels together; send smaller ones",
                picture.place,
                code="image_too_large",
            )
    return tuple(images)


def are_small(sent: Sequence[SentPicture]) -> bool:
    """Whether all can be decoded in a moment: PNG of few pixels in all, with nothing else in them to inflate."""
    pixels = 0
    for picture in sent:
        header = _DATA_URL.match(picture.url)
        try:
            raw = base64.b64decode(picture.url[header.end() :], validate=True) if header else b""
        except (binascii.Error, ValueError):
            return False
        if len(raw) < _HEAD_BYTES or not raw.startswith(_PNG) or any(chunk in raw for chunk in _INFLATED):
            return False
        width, height = struct.unpack_from(">II", raw, len(_PNG) + 8)
        pixels += width * height
    return pixels <= _FEW_PIXELS


def _picture_bytes(picture: SentPicture, fetched: Mapping[str, bytes]) -> bytes:
    header = _DATA_URL.match(picture.url)
    if header:
        try:
            return base64.b64decode(picture.url[header.end() :], validate=True)
        except (binascii.Error, ValueError) as error:
            raise AskedWrongError(
                f"{picture.place}: the data URL is not base64 ({error})", picture.place, code="invalid_image"
            ) from None
    if picture.url in fetched:
        return fetched[picture.url]
    if picture.url.startswith(("https://", "http://")):
        raise AskedWrongError(
            f"{picture.place}: this server fetches no pictures; send a data URL (data:image/png;base64,...)",
            picture.place,
            code="invalid_image_url",
        )
    raise AskedWrongError(
        f"{picture.place}: the image must be a data URL of a picture (data:image/png;base64,...), not "
        f"{picture.url[:60]!r}",
        picture.place,
        code="invalid_image_url",
    )
