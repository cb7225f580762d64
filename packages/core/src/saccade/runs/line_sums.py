"""Checksums of the lines of a journal, in ``line_sums/NAME.txt`` beside its folder: they are written line by line."""

from collections.abc import Iterable
from pathlib import Path

import xxhash

from saccade.plain_files import ANY_BYTES, open_plain, plain_bytes, plain_lines

FOLDER = "line_sums"


def line_sums_of(journal: Path) -> Path:
    return journal.parents[1] / FOLDER / f"{journal.stem}.txt"


def line_sum(line: bytes) -> bytes:
    """A line of the file of checksums, for a journal's line with its end."""
    return f"{xxhash.xxh3_128_hexdigest(line)}\n".encode()


def known_sums(journal: Path) -> frozenset[bytes] | None:
    """What lines of the journal may have; None where an earlier version wrote it. Raises OSError."""
    path = line_sums_of(journal)
    return frozenset(plain_bytes(path, ANY_BYTES).splitlines(keepends=True)) if path.is_file() else None


def sums_of_lines(lines: Iterable[bytes]) -> bytes:
    return b"".join(map(line_sum, lines))


def damaged_lines(journal: Path) -> list[int]:
    """Numbers of the lines, from 1, that are not as they were written. Raises OSError."""
    known = known_sums(journal)
    if known is None:
        return []
    with open_plain(journal) as file:
        # A last line without its end is being written, or was when its process was killed.
        whole = [(number, line) for number, line in enumerate(plain_lines(file), start=1) if line.endswith(b"\n")]
    return [number for number, line in whole if line_sum(line) not in known]
