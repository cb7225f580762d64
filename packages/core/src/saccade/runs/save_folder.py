"""The folder elsewhere that a run is copied to: a bucket of S3 or GCS, or whatever else fsspec opens.

A save is a file ``saves/NUMBER.json`` that names all files of the run with their sizes and checksums. It is written
when all of them are there, and readers go by the newest: of uploads that were cut off nothing is seen. Files keep their
names; one that has changed since the save before lies below ``again/CHECKSUM/``, so that the older save stays whole
until the newer one is there.
"""

import logging
import re
from dataclasses import dataclass
from io import BytesIO
from typing import IO, Protocol, TypeVar, cast

import msgspec
import xxhash

from saccade.checksums import CHECKSUMS, is_covered, printable_name
from saccade.errors import UserError
from saccade.plain_files import MAX_WHOLE_BYTES
from saccade.runs.directory import RUN_ENTRIES

_SAVES = "saves"
PIECE_BYTES = 8 << 20
_HEXADECIMAL = re.compile("[0-9a-f]{32}")

Made = TypeVar("Made")
logger = logging.getLogger(__name__)


class FileSystem(Protocol):
    """What is needed of fsspec's file systems, which have no types."""

    def open(self, path: str, mode: str) -> IO[bytes]: ...
    def ls(self, path: str, detail: bool) -> list[str]: ...
    def makedirs(self, path: str, exist_ok: bool) -> None: ...
    def rm_file(self, path: str) -> None: ...
    def invalidate_cache(self) -> None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class SavedFile:
    """A file of a run, as it is in the folder."""

    file: str
    """Path below the run, with slashes."""
    bytes: int
    xxh3_128: str
    at: str
    """Path below the folder."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Save:
    """All files of a run at one time."""

    number: int
    files: tuple[SavedFile, ...]

    def is_sound(self) -> bool:
        """Whether every name is one that a run may have, in the run and in the folder."""
        names = [one.file for one in self.files]
        folders = {name[:at] for name in names for at, letter in enumerate(name) if letter == "/"}
        return (
            len({*names}) == len(names)
            and folders.isdisjoint(names)
            and all(
                (one.file == CHECKSUMS or is_covered(one.file))
                and one.file.split("/")[0] in RUN_ENTRIES
                and one.at in (one.file, place_again(one.file, one.xxh3_128))
                and _HEXADECIMAL.fullmatch(one.xxh3_128) is not None
                for one in self.files
            )
        )


def place_again(file: str, digest: str) -> str:
    """Where a file lies that the save before has with other content."""
    return f"again/{digest}/{file}"


class SaveFolder:
    """The folder at a URL. Its methods raise whatever its file system does."""

    def __init__(self, url: str) -> None:
        """UserError for a URL that nothing here opens."""
        from fsspec.core import url_to_fs

        try:
            self._files, root = cast(tuple[FileSystem, str], url_to_fs(url))
        except (ImportError, ValueError) as error:
            # fsspec names the package that opens such URLs.
            raise UserError(
                f"tracking.save_folder={url} cannot be opened: {error} (pip install s3fs for s3://, gcsfs for gs://)"
            ) from error
        self.url, self._root = url, root.rstrip("/")

    def newest(self) -> Save | None:
        """The newest save that is whole; None where there is none. ValueError for one that a run cannot have."""
        self._files.invalidate_cache()
        try:
            names = self._files.ls(f"{self._root}/{_SAVES}", detail=False)
        except FileNotFoundError:
            return None
        numbers = (name.rpartition("/")[2].removesuffix(".json") for name in names if name.endswith(".json"))
        for number in sorted((int(one) for one in numbers if one.isdecimal() and len(one) < 10), reverse=True):
            try:
                with self._files.open(self._at(_save_name(number)), "rb") as file:
                    save = msgspec.json.decode(file.read(MAX_WHOLE_BYTES), type=Save)
            except msgspec.DecodeError:
                # A disk was cut off in the midst of it.
                continue
            if save.number != number or not save.is_sound():
                raise ValueError(f"{_save_name(number)} names files that no run has")
            return save
        return None

    def write(self, at: str, content: IO[bytes], count: int) -> str:
        """Writes a file with the first ``count`` bytes of the content, and gives its checksum."""
        digest = xxhash.xxh3_128()
        try:
            target = self._files.open(self._at(at), "wb")
        except FileNotFoundError:
            self._files.makedirs(self._at(at).rpartition("/")[0], exist_ok=True)
            target = self._files.open(self._at(at), "wb")
        with target:
            while count > 0 and (piece := content.read(min(PIECE_BYTES, count))):
                digest.update(piece)
                target.write(piece)
                count -= len(piece)
        return digest.hexdigest()

    def fetch(self, one: SavedFile, target: IO[bytes]) -> None:
        """Brings a file. ValueError where it is not what the save says."""
        digest, left = xxhash.xxh3_128(), one.bytes
        with self._files.open(self._at(one.at), "rb") as source:
            while piece := source.read(min(PIECE_BYTES, left + 1)):
                left -= len(piece)
                if left < 0:
                    break
                digest.update(piece)
                target.write(piece)
        if left or digest.hexdigest() != one.xxh3_128:
            raise ValueError(f"{printable_name(one.at)} is not what was saved: its bytes differ")

    def finish(self, save: Save) -> None:
        """Makes the save the newest."""
        content = msgspec.json.encode(save)
        self.write(_save_name(save.number), BytesIO(content), len(content))

    def drop(self, before: Save, save: Save) -> None:
        """Deletes a save, and the files that it has and the newer one has not."""
        kept = {one.at for one in save.files}
        for at in [_save_name(before.number), *(one.at for one in before.files if one.at not in kept)]:
            self._files.rm_file(self._at(at))

    def probe(self) -> None:
        """Raises where nothing may be written."""
        self.write(f"{_SAVES}/probe", BytesIO(b"\n"), 1)

    def _at(self, name: str) -> str:
        return f"{self._root}/{name}"


def _save_name(number: int) -> str:
    return f"{_SAVES}/{number:06d}.json"
