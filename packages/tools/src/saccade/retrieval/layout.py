"""An index on disk: its files, what it was made with, and the journal of what it holds.

``index.json``      what the index was made with: it never changes
``journal.jsonl``   one line for each block of pages, written after its vectors; what no line speaks of is no part
``vectors.bin``     a row for each vector, page after page: int8 or halves, the dimension filled up to an even number
``scales.bin``      of int8 rows: the number that each is to be multiplied by, fp32
``pictures/``       each page as the encoder saw it, by its content

Pages are only ever added at the end, so an index can be read while it grows, and one that was cut off is continued at
the end of its last whole line.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from saccade.characters import shell_words
from saccade.codec.codecs import PLAIN_CODEC, Codec
from saccade.codec.forms import Form
from saccade.codec.wrong import BrokenRecordError
from saccade.errors import UserError
from saccade.plain_files import ANY_BYTES, check_plain_below, plain_bytes

FORMAT = 1
_PICTURE = re.compile(r"\w[\w.-]*")
Precision = Literal["int8", "fp16"]
TYPES: Mapping[Precision, type[np.int8] | type[np.float16]] = {"int8": np.int8, "fp16": np.float16}


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexSettings:
    """How an index is made; one that is there is only added to with the same."""

    precision: Precision = "int8"
    """Of the vectors: int8 takes half the space and time of fp16, and changes scores by some thousandths."""
    dots_per_inch: int = 144
    """Resolution of the pages of PDFs."""
    max_pixels: int = 4_000_000
    """Larger pages of PDFs are drawn smaller."""
    block_pages: int = 16
    """Pages that are encoded and written together."""


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexHeader:
    """What an index was made with."""

    FORM: ClassVar = Form(flat=("settings",), tag=("format", FORMAT))

    encoder: str
    """Its identity."""
    dimension: int
    settings: IndexSettings
    where: str = ""
    """Where the encoder was: a checkpoint directory, or a server. A hint: what it gives is told by its identity."""

    @property
    def width(self) -> int:
        """Numbers of a row: the kernel takes two at once."""
        return self.dimension + self.dimension % 2


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexEntry:
    """A line of an index' table of contents: a page, a page or file that cannot be read, or the end of a file."""

    file: str
    """Path below the indexed folder."""
    sha256: str
    """Of the file's bytes."""
    document: str = ""
    number: int = 0
    """Of the page in its document; 0 when this is about the file as a whole."""
    rows: int = 0
    """Vectors of the page; 0 for what is none."""
    grid: tuple[int, int] | None = None
    first: int = 0
    picture: str = ""
    """Name in ``pictures/``."""
    error: str = ""
    """Why there is no page."""
    is_last: bool = False
    """The file has no further pages."""
    is_replaced: bool = False
    """The pages that this file had so far are no longer part of the index: the file has changed."""


ENTRIES = Codec({IndexEntry: Form(is_closed=True)}, is_lenient=True)
"""Reads and writes entries: of each what differs from the default."""


@dataclass(frozen=True, slots=True)
class IndexPaths:
    """The files of an index."""

    root: Path

    @property
    def header(self) -> Path:
        return self.root / "index.json"

    @property
    def journal(self) -> Path:
        return self.root / "journal.jsonl"

    @property
    def vectors(self) -> Path:
        return self.root / "vectors.bin"

    @property
    def scales(self) -> Path:
        return self.root / "scales.bin"

    @property
    def pictures(self) -> Path:
        return self.root / "pictures"

    def picture(self, name: str) -> Path:
        """UserError for a name that is a path: an index may come from anybody."""
        if not _PICTURE.fullmatch(name):
            raise UserError(f"{self.journal} names the picture {name[:80]!r}, which is none of this index")
        return self.pictures / name[:2] / name


def read_header(paths: IndexPaths) -> IndexHeader:
    """What the index was made with; UserError where there is none."""
    check_plain_below(paths.root)
    if not paths.header.is_file():
        raise UserError(
            f"{paths.root} is no index of pages; make one with: saccade index FOLDER --out {shell_words(paths.root)}"
        )
    try:
        return PLAIN_CODEC.read(IndexHeader, plain_bytes(paths.header), "the file")
    except (OSError, BrokenRecordError) as error:
        raise UserError(f"{paths.header} cannot be read: {error}; make the index again") from error


def read_entries(paths: IndexPaths) -> Iterator[IndexEntry]:
    """All entries of whole lines; UserError at a damaged one."""
    for place, line in enumerate(whole_lines(paths.journal), start=1):
        try:
            for said in json.loads(line):
                yield ENTRIES.reader(IndexEntry).from_json(said, "an entry")
        except (ValueError, TypeError, RecursionError, BrokenRecordError) as error:
            raise UserError(f"{paths.journal}, line {place}, is damaged ({error}); make the index again") from error


def whole_lines(path: Path) -> list[bytes]:
    """The lines of a file that have an end."""
    return plain_bytes(path, ANY_BYTES).split(b"\n")[:-1] if path.exists() else []
