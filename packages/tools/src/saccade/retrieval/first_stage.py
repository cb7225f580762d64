"""What a first look at all pages needs: fewer vectors of each, or only their signs, in files beside the index.

They are made of the index alone, page after page, so they can be made again, cut off and continued like the index.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from saccade.atomic import disk_errors, refuse_link
from saccade.characters import shell_words
from saccade.errors import UserError
from saccade.retrieval.late_interaction import Vectors
from saccade.retrieval.rows import PageRows, quantised, signs
from saccade.retrieval.store import PageStore

_ROUNDS = 4
_PAGES_AT_ONCE = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class FirstStage:
    """How the first look sees a page."""

    vectors: int | None = 32
    """Means of so many groups of like vectors; None takes all vectors as they are."""
    precision: Literal["int8", "signs"] = "int8"

    def __str__(self) -> str:
        return f"{'all' if self.vectors is None else self.vectors}-{self.precision}"

    @staticmethod
    def read(text: str) -> "FirstStage":
        """The stage of a text like "32-int8" or "all-signs"; UserError unless it is one."""
        count, _, precision = text.partition("-")
        vectors = int(count) if count.isdecimal() and len(count) < 6 else None
        if vectors == 0 or (vectors is None and count != "all") or precision not in ("int8", "signs"):
            raise UserError(
                f"{text!r} is no first stage; write VECTORS-int8 or VECTORS-signs, or all in place of VECTORS"
            )
        return FirstStage(vectors=vectors, precision="int8" if precision == "int8" else "signs")

    def counts(self, pages: PageRows) -> NDArray[np.int64]:
        """Vectors that each page has here."""
        rows = pages.beyond - pages.first
        return rows if self.vectors is None else np.minimum(rows, self.vectors)

    def files(self, root: Path, width: int) -> dict[Path, int]:
        """The stage's files in an index, and the bytes that a vector takes in each."""
        if self.precision == "signs":
            return {root / f"first-{self}.bin": -(-width // 64) * 8}
        return {root / f"first-{self}.bin": width, root / f"first-{self}.scales.bin": 4}

    def of(self, vectors: Vectors) -> list[bytes]:
        """What a page adds to each file."""
        few = vectors if self.vectors is None else pooled(vectors, self.vectors)
        return [signs(few).tobytes()] if self.precision == "signs" else [part.tobytes() for part in quantised(few)]


def pooled(vectors: Vectors, count: int) -> Vectors:
    """Directions of the means of ``count`` groups of like vectors, or the vectors themselves where they are no more.

    k-means on the sphere from runs of neighbours, so that nothing is drawn.
    """
    if len(vectors) <= count:
        return vectors
    edges = np.linspace(0, len(vectors), count + 1).astype(np.int64)[:-1]
    centers = _directions(np.add.reduceat(vectors, edges, axis=0))
    for _ in range(_ROUNDS):
        nearest = (vectors @ centers.T).argmax(axis=1)
        sums = (np.arange(count)[:, None] == nearest).astype(np.float32) @ vectors
        # A group that lost all its vectors keeps its place.
        centers = np.where(np.bincount(nearest, minlength=count)[:, None] > 0, _directions(sums), centers)
    return centers


def build_first_stage(store: PageStore, stage: FirstStage, *, told: Callable[[int], None] = lambda pages: None) -> None:
    """Brings the stage's files up to date with the index; ``told`` hears how many pages they have."""
    beyond = np.cumsum(stage.counts(store.everything))
    files = stage.files(store.paths.root, store.header.width)
    # What a killed process wrote of a page in some of the files is written again.
    rows = min(path.stat().st_size // size if path.exists() else 0 for path, size in files.items())
    done = int(np.searchsorted(beyond, rows, side="right"))
    for path, size in files.items():
        refuse_link(path)
        with disk_errors(path), path.open("ab") as file:
            file.truncate(int(beyond[done - 1]) * size if done else 0)
    while done < len(beyond):
        block = range(done, min(done + _PAGES_AT_ONCE, len(beyond)))
        parts = [stage.of(store.everything.wide(place)) for place in block]
        for path, added in zip(files, zip(*parts), strict=True):
            with disk_errors(path), path.open("ab") as file:
                file.write(b"".join(added))
        done = block.stop
        told(done)


def first_rows(store: PageStore, stage: FirstStage) -> PageRows:
    """The stage's vectors of an index, memory-mapped; UserError when they are not all there."""
    counts = stage.counts(store.everything)
    rows = int(counts.sum())
    files = stage.files(store.paths.root, store.header.width)
    for path, size in files.items():
        there = path.stat().st_size if path.exists() else -1
        if there != rows * size:
            raise UserError(
                f"{path} is {'not there' if there < 0 else 'out of date'}; make it with: saccade index FOLDER "
                f"--encoder CHECKPOINT --out {shell_words(store.paths.root)} --first-stage {stage}"
            )
    main, *scales = files
    kind = np.uint64 if stage.precision == "signs" else np.int8
    width = files[main] // np.dtype(kind).itemsize
    beyond = np.cumsum(counts)
    return PageRows(
        vectors=np.memmap(main, dtype=kind, mode="r", shape=(rows, width)) if rows else np.empty((0, width), kind),
        scales=np.memmap(scales[0], dtype=np.float32, mode="r") if scales and rows else None,
        first=beyond - counts,
        beyond=beyond,
    ).at(store.living)


def _directions(sums: Vectors) -> Vectors:
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    found: Vectors = (sums / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return found
