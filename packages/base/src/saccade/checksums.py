"""Checksums of files, which find damage: what is read is what was written.

A folder's ``saccade_checksums.jsonl`` has a line for each of its files, or for a part of one that grows. They are XXH3
of 128 bits: fast, and no help against forgery, for whoever changes a file can change its line.
"""

import json
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
import xxhash

from saccade.atomic import TEMPORARY_PREFIX, write_bytes_atomic
from saccade.characters import shell_words
from saccade.errors import UserError
from saccade.plain_files import open_plain

CHECKSUMS = "saccade_checksums.jsonl"

_BUFFER_BYTES = 1 << 20
_MAX_BYTES = 1 << 30
"""Of the file of checksums: those of millions of files."""
_THREADS = 4
"""Hashing lets other threads run; more would wait for the disk."""
_THREADED_BYTES = 16 << 20
_SHARES = 256


@dataclass(frozen=True, kw_only=True, slots=True)
class FileSum:
    """A line: these bytes of the file have this checksum."""

    file: str
    """Path below the folder, with slashes."""
    bytes: int
    xxh3_128: str
    """Hexadecimal, as ``xxhsum -H2`` prints it."""
    start: int | None = None
    """First byte, of a file that grows and has a line for each part; None for a whole file."""
    stage: str | None = None
    step: int | None = None
    """Position of the run when the line was written; None for a checkpoint, and at a run's end."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Damage:
    """A file that is not as it was written."""

    file: str
    kind: Literal["damaged", "missing"]
    why: str

    def __str__(self) -> str:
        return f"{printable_name(self.file)} is {self.kind}{f' ({self.why})' if self.why else ''}"


Given = TypeVar("Given")
Made = TypeVar("Made")

_line = msgspec.json.Decoder(FileSum)


def printable_name(name: str) -> str:
    """A stranger's file name for a terminal."""
    return name if name.isprintable() else ascii(name)[1:-1]


def sum_of(path: Path, name: str, *, start: int | None = None) -> FileSum:
    """The line of a file as it is now, or of what it has from ``start`` on. Raises OSError, as for a pipe."""
    with open_plain(path) as file:
        count = max(0, os.fstat(file.fileno()).st_size - (start or 0))
        digest = _digest_of(file.fileno(), start or 0, count)
    return FileSum(file=name, bytes=count, xxh3_128=digest, start=start)


def sums_of(folder: Path, names: Iterable[str]) -> list[FileSum]:
    """The lines of these files, in this order. Raises OSError."""
    given = list(names)
    size = sum((folder / name).lstat().st_size for name in given)
    return _in_threads(lambda name: sum_of(folder / name, name), given, size)


def sum_of_bytes(content: bytes, name: str) -> FileSum:
    """The line of a file that will have this content."""
    return FileSum(file=name, bytes=len(content), xxh3_128=xxhash.xxh3_128_hexdigest(content))


def files_below(folder: Path) -> list[str]:
    """Names of all files below the folder that have or could have a line, sorted; links to folders are not followed."""
    found: list[str] = []
    for root, _, names in os.walk(folder):
        inside = "" if root == str(folder) else f"{Path(root).relative_to(folder).as_posix()}/"
        found += [inside + name for name in names]
    return sorted(name for name in found if is_covered(name))


def lines_of(sums: Iterable[FileSum]) -> bytes:
    fields = ("file", "bytes", "xxh3_128", "start", "stage", "step")
    lines = ({key: value for key in fields if (value := getattr(one, key)) is not None} for one in sums)
    return "".join(f"{json.dumps(line)}\n" for line in lines).encode("ascii")


def whole_file_of(sums: Collection[FileSum]) -> bytes:
    """Content of the file of a folder that does not grow: the number of its lines stands first."""
    return f'{{"files": {len(sums)}}}\n'.encode() + lines_of(sums)


def sums_file(folder: Path) -> bytes:
    """Content of the file for all that is below the folder now. Raises OSError."""
    return whole_file_of(sums_of(folder, files_below(folder)))


def drop_sums(folder: Path, is_dropped: Callable[[str], bool]) -> None:
    """Takes lines of files out that are about to be deleted; a file of checksums that cannot be read stays as it is."""
    try:
        sums = read_sums(folder)
    except UserError:
        return
    kept = [one for one in sums if not is_dropped(one.file)]
    if len(kept) < len(sums):
        write_bytes_atomic(folder / CHECKSUMS, whole_file_of(kept))


def read_sums(folder: Path) -> list[FileSum]:
    """The lines of a folder's file. UserError where it is damaged itself, or names files that are not below the folder.

    A last line without its end is left out: a killed process was writing it.
    """
    path = folder / CHECKSUMS
    try:
        with open_plain(path) as file:
            content = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise _damaged_sums(path, error.strerror or str(error)) from error
    if len(content) > _MAX_BYTES:
        raise _damaged_sums(path, "it is too large")
    lines = content.split(b"\n")[:-1]
    expected = None
    if lines and lines[0].startswith(b'{"files"'):
        head = lines.pop(0)
        expected = _count_in(head)
        if expected is None:
            raise _damaged_sums(path, "its first line cannot be read")
    if not content or expected not in (None, len(lines)):
        raise _damaged_sums(path, "lines are missing")
    sums = []
    for number, line in enumerate(lines, start=1 if expected is None else 2):
        try:
            sums.append(_line.decode(line))
        except msgspec.DecodeError as error:
            raise _damaged_sums(path, f"line {number}: {error}") from error
        if not is_covered(sums[-1].file):
            raise _damaged_sums(
                path, f"line {number} names {printable_name(sums[-1].file)!r}, which is not in this folder"
            )
    return sums


def damages_of(folder: Path, sums: Iterable[FileSum]) -> list[Damage]:
    """What is not as its lines say, each file once, in the order of the lines.

    Of several lines about a whole file any may hold: one is written before the file is replaced.
    """
    by_file: dict[str, list[FileSum]] = {}
    for one in sums:
        by_file.setdefault(one.file, []).append(one)
    size = sum(one.bytes for lines in by_file.values() for one in lines)
    found = _in_threads(lambda lines: _damage_of(folder, lines), list(by_file.values()), size)
    return [damage for damage in found if damage is not None]


def damage_in(folder: Path, *, of: Callable[[str], bool] = lambda _: True) -> Damage | None:
    """The first damage of a folder that has a file of checksums, among the files chosen; None where all is whole.

    None also for a folder without such a file. Files without a line do no harm.
    """
    if not os.path.lexists(folder / CHECKSUMS):
        return None
    try:
        sums = read_sums(folder)
    except UserError as error:
        return Damage(file=CHECKSUMS, kind="damaged", why=str(error).partition(": ")[2].partition(";")[0])
    return next(iter(damages_of(folder, (one for one in sums if of(one.file)))), None)


def refuse_damaged(folder: Path, *, of: Callable[[str], bool] = lambda _: True) -> None:
    """UserError that names the first damaged or missing file among those chosen, and says what to do."""
    if (damage := damage_in(folder, of=of)) is not None:
        raise UserError(
            f"{folder}/{damage}. Use another checkpoint of the run, or copy this one again; a change that was meant is "
            f"accepted by `saccade check {shell_words(folder)} --accept`"
        )


def _damage_of(folder: Path, lines: Sequence[FileSum]) -> Damage | None:
    name = lines[0].file
    try:
        with open_plain(folder / name) as file:
            why = _objection(file.fileno(), lines)
    except FileNotFoundError:
        return Damage(file=name, kind="missing", why="")
    except OSError as error:
        why = error.strerror or str(error)
    return None if why is None else Damage(file=name, kind="damaged", why=why)


def _objection(descriptor: int, lines: Sequence[FileSum]) -> str | None:
    """What is wrong with an open file; no more is read than it has, whatever the lines say. Raises OSError."""
    size = os.fstat(descriptor).st_size
    parts = [one for one in lines if one.start is not None]
    if sum(one.bytes for one in parts) > size:
        return f"it has {size:,} bytes, fewer than were written"
    for one in parts:
        if _digest_of(descriptor, one.start or 0, one.bytes) != one.xxh3_128:
            return f"bytes {one.start:,} to {(one.start or 0) + one.bytes:,} are not those that were written"
    accepted = [one for one in lines if one.start is None]
    if not accepted:
        return None
    same = {one.xxh3_128 for one in accepted if one.bytes == size}
    if not same:
        return f"it has {size:,} bytes, and {accepted[-1].bytes:,} were written"
    return None if _digest_of(descriptor, 0, size) in same else "its bytes are not those that were written"


def _digest_of(descriptor: int, start: int, count: int) -> str:
    """Checksum of so many bytes from ``start`` on, or of fewer where the file ends. Raises OSError."""
    digest, buffer = xxhash.xxh3_128(), memoryview(bytearray(max(0, min(_BUFFER_BYTES, count))))
    os.lseek(descriptor, start, os.SEEK_SET)
    while count > 0 and (read := os.readv(descriptor, [buffer[:count]])):
        digest.update(buffer[:read])
        count -= read
    return digest.hexdigest()


def is_covered(name: str) -> bool:
    """Whether a name may have a line: a path below the folder, in UTF-8, and nothing that is being written."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    is_below = bool(name) and "\0" not in name and not {"", ".", ".."} & {*name.split("/")}
    return is_below and name != CHECKSUMS and TEMPORARY_PREFIX not in name


def _count_in(head: bytes) -> int | None:
    try:
        return msgspec.json.decode(head, type=dict[str, int])["files"]
    except (msgspec.DecodeError, KeyError):
        return None


def _damaged_sums(path: Path, why: str) -> UserError:
    return UserError(
        f"{path} cannot be read: {why}; without it nothing can be checked: "
        f"`saccade check {shell_words(path.parent)} --accept` writes it anew for what is there now"
    )


def _in_threads(work: Callable[[Given], Made], given: Sequence[Given], size: int) -> list[Made]:
    """In shares, since handing over a small file takes as long as reading it; ``size`` is that of all files."""
    if size < _THREADED_BYTES:
        return [work(one) for one in given]
    size = -(-len(given) // _SHARES)
    with ThreadPoolExecutor(_THREADS) as pool:
        shares = pool.map(lambda start: [work(one) for one in given[start : start + size]], range(0, len(given), size))
        return [made for share in shares for made in share]
