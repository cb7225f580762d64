"""Files and values that go to the engine's process and come back: pictures, and what the headers of frames say."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError

from saccade.engines.engine import Sampling
from saccade.errors import MachineError
from saccade.media.store import MediaStore
from saccade.types import Finish, ImageRef, VersionSpan

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


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleHead:
    """A turn to sample, without its ids, which are a binary part of the same frame."""

    slot: int
    images: tuple[ImageRef, ...]
    sampling: Sampling


@dataclass(frozen=True, kw_only=True, slots=True)
class SampledHead:
    """A turn that was sampled, without its ids, log-probabilities and experts."""

    finish: Finish
    versions: tuple[VersionSpan, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoredText:
    """A text to score, which has the next ``count`` of the frame's ids."""

    count: int
    images: tuple[ImageRef, ...]
    start: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreHead:
    """Texts to score, without their ids."""

    requests: tuple[ScoredText, ...]
    temperature: float
