"""Pictures of requests: read within limits, held while a request or a trace needs them, and then forgotten."""

import base64
import binascii
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from PIL import Image

from saccade.media.decode import MediaError
from saccade.media.store import MediaStore
from saccade.serving.questions import AskedWrongError, SentPicture
from saccade.serving.settings import AgentServerSettings
from saccade.types import ImageRef

_DATA_URL = re.compile(r"data:image/[a-z0-9.+-]{1,40};base64,", re.IGNORECASE)

FetchPicture = Callable[[str], bytes]
"""The bytes at an ``https://`` address; ``AskedWrongError`` when there are none."""


class PicturesInUse:
    """Which pictures of a store are in use, and by how many; the store forgets those that nobody holds any more."""

    def __init__(self, media: MediaStore) -> None:
        self.media = media
        self._holders: Counter[str] = Counter()
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

    def release(self, images: Sequence[ImageRef]) -> None:
        """Counts one holder less of each."""
        with self._lock:
            for image in images:
                self._holders[image.hash] -= 1
                if self._holders[image.hash] <= 0:
                    del self._holders[image.hash]
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
        return self._holding(lambda: self._held.media.add_encoded(raw, where))

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
    sent: Sequence[SentPicture], media: MediaStore, settings: AgentServerSettings, fetch: FetchPicture | None
) -> tuple[ImageRef, ...]:
    """The pictures decoded and kept; ``AskedWrongError`` names the first that cannot be used."""
    images: list[ImageRef] = []
    pixels = 0
    for picture in sent:
        raw = _encoded(picture, fetch)
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


def _encoded(picture: SentPicture, fetch: FetchPicture | None) -> bytes:
    header = _DATA_URL.match(picture.url)
    if header:
        try:
            return base64.b64decode(picture.url[header.end() :], validate=True)
        except (binascii.Error, ValueError) as error:
            raise AskedWrongError(
                f"{picture.place}: the data URL is not base64 ({error})", picture.place, code="invalid_image"
            ) from None
    if picture.url.startswith("https://") and fetch is not None:
        return fetch(picture.url)
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
