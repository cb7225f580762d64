"""What of the pictures the output of code depends on, found from outside by running it again on changed pictures.

A process cannot be asked what it read, for code that it ran may answer; and ``np.array(picture)`` reads everything,
whatever is shown of it afterwards. So parts of the pictures are changed, the session's runs are made again, and this
process compares what the last of them shows (delta debugging, Zeller and Hildebrandt 2002, over a quadtree):

1. With the same pictures and another seed the same must be shown: output of the clock or of chance is no evidence.
2. A part is *not needed* if the same is shown with it blank and with its negative, with all parts that were found not
   needed before changed alike. A part that is needed is split in four and its quarters are tried, from large to small,
   until ``depth`` splits or the last of the allowed runs. What could not be tried counts as needed.

What remains suffices: whatever stands elsewhere in the picture, the output is the same. It is not always all that was
read (of ``left.mean() > right.mean()`` so much remains as decides the comparison), and with few runs it is coarse. An
output that a blank picture and the negative show as well, such as the else of a comparison of counts, needs nothing.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from PIL import Image, ImageChops

from saccade.seeding import seed_for
from saccade.tools.code_work import BLANK, Again, Pictures, Shown
from saccade.types import Json

DEPTH = 4
"""Splits of a picture's sides: cells are a sixteenth of a side wide and high."""


@dataclass(frozen=True, slots=True)
class _PictureCell:
    """A part of a picture: the cell at this column and row of the 2 ** level by 2 ** level grid."""

    name: str
    level: int
    column: int
    row: int

    def quarters(self) -> Iterator["_PictureCell"]:
        for row in (2 * self.row, 2 * self.row + 1):
            for column in (2 * self.column, 2 * self.column + 1):
                yield _PictureCell(self.name, self.level + 1, column, row)

    def box(self, width: int, height: int) -> tuple[int, int, int, int]:
        """Its pixels; empty in a picture with fewer pixels than cells."""
        cells = 1 << self.level
        across = (width * self.column // cells, width * (self.column + 1) // cells)
        down = (height * self.row // cells, height * (self.row + 1) // cells)
        return across[0], down[0], across[1], down[1]


def needed_cells(
    again: Again, codes: Sequence[str], pictures: Pictures, shown: Shown, *, seed: int, runs: int, depth: int = DEPTH
) -> Mapping[str, Sequence[str]] | None:
    """For each picture by name the rows of its grid of 2 ** depth cells a side: 1 where the output needs the cell.

    ``codes`` are the runs of a session in their order and ``shown`` what the last of them showed; at most ``runs``
    sessions are begun. None where the output depends on the clock or on chance, and where nothing could be tried.
    MachineError of a session.
    """
    search = _CellSearch(again, codes, pictures, shown, seed=seed, left=runs)
    if not search.is_repeated():
        return None
    waiting = deque(_PictureCell(name, 0, 0, 0) for name in pictures)
    needed: list[_PictureCell] = []
    while waiting:
        part = waiting.popleft()
        if search.is_needed(part):
            if part.level == depth:
                needed.append(part)
            else:
                waiting.extend(part.quarters())
    return {name: _rows([part for part in needed if part.name == name], depth) for name in pictures}


def seen_json(grids: Mapping[str, Sequence[str]]) -> Json:
    """The grids of a question's pictures, in its order, as ``SEEN`` has them; pictures without a cell are left out."""
    rows = enumerate(grids.values())
    return [{"image": index, "cells": list(cells)} for index, cells in rows if any("1" in row for row in cells)]


class _CellSearch:
    """Runs on pictures of which more and more is changed."""

    def __init__(
        self, again: Again, codes: Sequence[str], pictures: Pictures, shown: Shown, *, seed: int, left: int
    ) -> None:
        self._again, self._codes, self._shown, self._seed = again, codes, shown, seed
        self._pictures, self._left = pictures, left
        self._blank = {name: Image.new("RGB", picture.size, BLANK) for name, picture in pictures.items()}
        self._negative = {name: ImageChops.invert(picture.convert("RGB")) for name, picture in pictures.items()}
        self._changed = [{name: picture.convert("RGB") for name, picture in pictures.items()} for _ in range(2)]
        """The pictures with what is not needed blank, and with its negative."""

    def is_repeated(self) -> bool:
        """Whether the runs show the same on the same pictures with another seed."""
        self._left -= 1
        return (
            self._left >= 0 and self._again(self._codes, self._pictures, seed_for(self._seed, "control")) == self._shown
        )

    def is_needed(self, part: _PictureCell) -> bool:
        """Whether the output changes with the part; one that is not needed stays changed from here on."""
        picture = self._pictures[part.name]
        box = part.box(*picture.size)
        if box[0] == box[2] or box[1] == box[3]:
            return False
        tried = []
        for changed, other in zip(self._changed, (self._blank, self._negative), strict=True):
            if self._left <= 0:
                return True
            self._left -= 1
            before = changed[part.name]
            after = before.copy()
            after.paste(other[part.name].crop(box), box)
            if self._again(self._codes, {**changed, part.name: after}, self._seed) != self._shown:
                return True
            tried.append(after)
        for changed, after in zip(self._changed, tried, strict=True):
            changed[part.name] = after
        return False


def _rows(needed: Sequence[_PictureCell], depth: int) -> list[str]:
    cells = {(part.row, part.column) for part in needed}
    side = range(1 << depth)
    return ["".join("1" if (row, column) in cells else "0" for column in side) for row in side]
