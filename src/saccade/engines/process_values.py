"""Files and values that go to the engine's process and come back: pictures, images by name, spans of versions."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from saccade.errors import MachineError
from saccade.media.store import MediaStore
from saccade.types import Finish, ImageRef, Json, VersionSpan

MODEL, PICTURES = "model", "pictures"
"""Folders below the engine's own."""


class Pictures:
    """Pictures as files that the other process reads; deleted when no request needs them."""

    def __init__(self, media: MediaStore, folder: Path) -> None:
        folder.mkdir()
        self._media = media
        self._folder = folder
        self._written: set[str] = set()
        self._users = 0

    @contextmanager
    def in_use(self) -> Iterator[None]:
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            if not self._users:
                for name in self._written:
                    (self._folder / f"{name}.png").unlink(missing_ok=True)
                self._written.clear()

    def put(self, images: Iterable[ImageRef]) -> None:
        for image in images:
            if image.hash not in self._written:
                self._media.export(image, self._folder)
                self._written.add(image.hash)


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, SafetensorError) as error:
        raise MachineError(
            f"{path}: the engine's weights cannot be written ({error}); free some space there, or set TMPDIR to a "
            "directory that has room for them twice"
        ) from error


def images_as_json(images: Iterable[ImageRef]) -> list[Json]:
    return [[image.hash, image.width, image.height] for image in images]


def versions_as_json(versions: Iterable[VersionSpan]) -> list[Json]:
    return [[span.version, span.start, span.end] for span in versions]


def versions_from(value: Json) -> tuple[VersionSpan, ...]:
    assert isinstance(value, list)
    return tuple(VersionSpan(version=version, start=start, end=end) for version, start, end in value)


def finish_from(value: Json) -> Finish:
    return "stop" if value == "stop" else "eos" if value == "eos" else "length"
