"""An index made of a folder, or brought up to date with it; a build that is cut off goes on where it was."""

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from saccade.atomic import TEMPORARY_PREFIX, disk_errors, refuse_link, write_json_atomic, write_whole
from saccade.codec.codecs import plain_json
from saccade.errors import UserError
from saccade.retrieval.folder import read_folder
from saccade.retrieval.late_interaction import Vectors
from saccade.retrieval.layout import (
    ENTRIES,
    IndexEntry,
    IndexHeader,
    IndexPaths,
    IndexSettings,
    read_entries,
    read_header,
    whole_lines,
)
from saccade.retrieval.pdf import PdfReader
from saccade.retrieval.rows import quantised
from saccade.retrieval.sources import DraftedPage, NewPages, picture_bytes
from saccade.vision_models.kinds import PageEncoder, PageVectors


@dataclass(frozen=True, kw_only=True, slots=True)
class BuildReport:
    """What a build found and did."""

    added: int
    """Pages that are new in the index."""
    left_out: Sequence[str]
    """Files of the folder that are neither PDFs nor pictures by their endings."""
    gone: Sequence[str]
    """Files that the index has pages of, and the folder no longer."""


def build_index(
    folder: Path,
    encoder: PageEncoder,
    out: Path,
    settings: IndexSettings = IndexSettings(),
    *,
    where: str = "",
    told: Callable[[IndexEntry], None] = lambda entry: None,
) -> BuildReport:
    """Adds to the index in ``out``, or to a new one there, each page of ``folder`` that is new or has changed.

    ``told`` hears of every entry once it is written; ``where`` is noted down as the encoder's place. A killed build is
    continued by the same call, and ends with the same bytes as one that was left alone. UserError when the index was
    made by another encoder or in another way.
    """
    contents = read_folder(folder, but=out)
    if not contents.sources:
        raise UserError(f"{folder} holds neither PDFs nor pictures; give the folder that holds the documents")
    paths = IndexPaths(out)
    added = 0
    with _build_lock(paths), PdfReader(dots_per_inch=settings.dots_per_inch, max_pixels=settings.max_pixels) as pdfs:
        writer = IndexWriter(paths, encoder, settings, where)
        entries = list(read_entries(paths))
        new = NewPages(entries, pdfs)
        for block in _blocks((draft for source in contents.sources for draft in new.of(source)), settings.block_pages):
            for entry in writer.write(block):
                added += bool(entry.rows)
                told(entry)
    present = {source.name for source in contents.sources}
    gone = dict.fromkeys(entry.file for entry in entries if entry.rows and entry.file not in present)
    return BuildReport(added=added, left_out=contents.left_out, gone=list(gone))


class IndexWriter:
    """Adds blocks to an index; what a killed process left half-written is cut off first."""

    def __init__(self, paths: IndexPaths, encoder: PageEncoder, settings: IndexSettings, where: str = "") -> None:
        self._paths, self._encoder = paths, encoder
        self._header = IndexHeader(
            encoder=encoder.identity, where=where, dimension=encoder.dimension, settings=settings
        )
        _check_header(paths, self._header)
        with disk_errors(paths.root):
            _cut(paths.journal, sum(len(line) + 1 for line in whole_lines(paths.journal)))
            rows = sum(entry.rows for entry in read_entries(paths))
            _cut(paths.vectors, rows * self._header.width * (1 if settings.precision == "int8" else 2))
            _cut(paths.scales, rows * 4 if settings.precision == "int8" else 0)
            for left in [*paths.root.glob(f"{TEMPORARY_PREFIX}*"), *paths.pictures.glob("*/.*.tmp")]:
                left.unlink()

    def write(self, drafts: Sequence[DraftedPage]) -> list[IndexEntry]:
        """Encodes a block and writes it; its entries."""
        images = [draft.image for draft in drafts if draft.image is not None]
        encoded = iter(self._encoder.encode_pages(images) if images else ())
        entries, vectors = [], []
        for draft in drafts:
            entry = draft.entry
            if draft.image is not None:
                page = next(encoded)
                _check_vectors(page, entry, self._header.dimension)
                vectors.append(page.vectors)
                entry = replace(entry, rows=len(page.vectors), grid=page.grid, first=page.first)
                with disk_errors(self._paths.root):
                    write_whole(picture_bytes(draft), self._paths.picture(entry.picture))
            entries.append(entry)
        if vectors:
            self._append_vectors(np.concatenate(vectors))
        line = f"[{', '.join(map(ENTRIES.text, entries))}]"
        _append(self._paths.journal, f"{line}\n".encode("ascii"))
        return entries

    def _append_vectors(self, vectors: Vectors) -> None:
        wide = np.pad(vectors.astype(np.float32), ((0, 0), (0, self._header.width - self._header.dimension)))
        if self._header.settings.precision == "fp16":
            _append(self._paths.vectors, wide.astype(np.float16).tobytes())
            return
        whole, scales = quantised(wide)
        _append(self._paths.vectors, whole.tobytes())
        _append(self._paths.scales, scales.tobytes())


def _check_header(paths: IndexPaths, wanted: IndexHeader) -> None:
    """Writes the header of a new index; UserError when there is another one, or something else."""
    if not paths.header.exists():
        if any(not path.name.startswith(TEMPORARY_PREFIX) for path in paths.root.iterdir()):
            raise UserError(f"{paths.root} is neither empty nor an index; choose another directory with --out")
        write_json_atomic(paths.header, plain_json(wanted))
        return
    found = read_header(paths)
    if (found.encoder, found.dimension) != (wanted.encoder, wanted.dimension):
        raise UserError(
            f"{paths.root} was made by the encoder {found.encoder}, not by {wanted.encoder}: their vectors cannot be "
            "compared; give the same checkpoint, or another --out"
        )
    if found.settings != wanted.settings:
        raise UserError(
            f"{paths.root} was made with {found.settings}, not with {wanted.settings}; give the same, or another --out"
        )


def _check_vectors(page: PageVectors, entry: IndexEntry, dimension: int) -> None:
    shape = page.vectors.shape
    if page.vectors.ndim != 2 or shape[0] == 0 or shape[1] != dimension or not np.isfinite(page.vectors).all():
        raise UserError(
            f"{entry.file}, page {entry.number}: the encoder gives vectors of shape {shape}, where finite ones of "
            f"{dimension} numbers are needed; check the checkpoint"
        )


def _blocks(drafts: Iterator[DraftedPage], pages: int) -> Iterator[list[DraftedPage]]:
    """Runs of drafts with so many pictures, whatever came before: a continued build has the same ones."""
    block: list[DraftedPage] = []
    pictures = 0
    for draft in drafts:
        block.append(draft)
        pictures += draft.image is not None
        if pictures == pages:
            yield block
            block, pictures = [], 0
    if block:
        yield block


@contextmanager
def _build_lock(paths: IndexPaths) -> Iterator[None]:
    """One build at a time."""
    with disk_errors(paths.root):
        paths.root.mkdir(parents=True, exist_ok=True)
        directory = os.open(paths.root, os.O_RDONLY)
    try:
        try:
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"{paths.root} is being written by another process; wait until it has ended") from None
        yield
    finally:
        os.close(directory)


def _append(path: Path, content: bytes) -> None:
    refuse_link(path)
    with disk_errors(path), path.open("ab") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _cut(path: Path, size: int) -> None:
    if path.exists() and path.stat().st_size > size:
        os.truncate(path, size)
