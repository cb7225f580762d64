"""The trajectories of a run as columns: numbers and codes in arrays that grow, words once each.

Rows stand in the order in which their files were indexed, newest first, so that a live run appends; ``rank`` is their
order in the run. Texts stay on disk, in the segments.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from saccade.runs.segments import SEPARATOR
from saccade.viewer.store.segment_files import LoadedSegment

Array = NDArray[np.number]

CODED = ("stage", "kind", "family", "stream", "status", "reason")
"""Columns of one word a row."""
LISTED = ("tools", "errors")
"""Columns of several words a row; a code stands for the whole list."""
NUMBERS: Mapping[str, type[np.number]] = {
    "file": np.int32,
    "ordinal": np.int32,
    "step": np.int32,
    "sample": np.int32,
    "turns": np.int32,
    "tokens": np.int32,
    "action_tokens": np.int32,
    "right": np.int8,
    "reward": np.float32,
    "advantage": np.float32,
    "entropy": np.float32,
    "seconds": np.float32,
    "task_key": np.int64,
}


@dataclass
class CodedWords:
    """Words of a column, each with its code."""

    words: list[str] = field(default_factory=list)
    codes: dict[str, int] = field(default_factory=dict)

    def code(self, word: str) -> int:
        found = self.codes.get(word)
        if found is None:
            found = self.codes[word] = len(self.words)
            self.words.append(word)
        return found

    def translate(self, words: Sequence[str], codes: Array) -> Array:
        """Codes of another list of words, in these."""
        table = np.array([self.code(word) for word in words] or [0], dtype=np.int32)
        return np.asarray(table[codes], np.int32)


@dataclass(frozen=True, kw_only=True, slots=True)
class RowsView:
    """The rows at one moment: arrays that no one writes to again, and the words as they were."""

    count: int
    columns: Mapping[str, Array]
    """``NUMBERS``, codes of ``CODED`` and ``LISTED``, and ``term.NAME`` for each part of the reward."""
    words: Mapping[str, tuple[str, ...]]
    rank: Array
    """Place of each row in the run, from the oldest."""
    version: int

    def words_by_code(self, name: str) -> list[tuple[str, ...]]:
        """For each code of a listed column its words."""
        return [tuple(word.split(SEPARATOR)) if word else () for word in self.words[name]]


class RowTable:
    """Rows of a run that is being indexed; may be read from other threads by its ``view``."""

    def __init__(self, stage_order: Sequence[str] = ()) -> None:
        """``stage_order``: names of the stages in the order of the plan."""
        self._stage_order = tuple(stage_order)
        self._lock = threading.Lock()
        self._count = 0
        self._version = 0
        self._arrays: dict[str, Array] = {
            **{name: np.zeros(0, kind) for name, kind in NUMBERS.items()},
            **{name: np.zeros(0, np.int32) for name in (*CODED, *LISTED)},
        }
        self._words = {name: CodedWords() for name in (*CODED, *LISTED)}
        self._view: RowsView | None = None

    def add(self, file: int, segment: LoadedSegment) -> None:
        """Append the rows of a file."""
        with self._lock:
            start, end = self._count, self._count + segment.count
            self._reserve(end, segment.terms)
            fixed: dict[str, int | str] = {"file": file, "step": segment.info.position.step}
            words = {"stage": segment.info.position.stage, "kind": segment.info.kind}
            for name in self._arrays:
                target = self._arrays[name]
                if name in fixed:
                    target[start:end] = fixed[name]
                elif name in words:
                    target[start:end] = self._words[name].code(words[name])
                elif name == "ordinal":
                    target[start:end] = np.arange(segment.count)
                elif name in segment.coded:
                    listed, codes = segment.coded[name]
                    target[start:end] = self._words[name].translate(listed, codes)
                elif name in segment.numbers:
                    target[start:end] = segment.numbers[name]
                elif target.dtype.kind == "f":
                    target[start:end] = np.nan
            self._count = end
            self._mark_changed()

    def drop(self, files: Sequence[int]) -> None:
        """Take out the rows of files that have changed or are gone."""
        with self._lock:
            kept = ~np.isin(self._arrays["file"][: self._count], files)
            for name, array in self._arrays.items():
                self._arrays[name] = array[: self._count][kept].copy()
            self._count = int(kept.sum())
            self._mark_changed()

    def view(self) -> RowsView:
        with self._lock:
            if self._view is None:
                columns = {name: array[: self._count] for name, array in self._arrays.items()}
                words = {name: tuple(of.words) for name, of in self._words.items()}
                self._view = RowsView(
                    count=self._count,
                    columns=columns,
                    words=words,
                    rank=_ranks(columns, words["stage"], self._stage_order),
                    version=self._version,
                )
            return self._view

    def _mark_changed(self) -> None:
        self._version += 1
        self._view = None

    def _reserve(self, count: int, terms: Mapping[str, Array]) -> None:
        for name in terms:
            # A new part of the reward: no row before has it.
            self._arrays.setdefault(name, np.full(len(self._arrays["file"]), np.nan, np.float32))
        if count <= len(self._arrays["file"]):
            return
        capacity = max(count, 3 * len(self._arrays["file"]) // 2, 1024)
        for name, array in self._arrays.items():
            # Views of before keep the array that they look at.
            grown = np.zeros(capacity, array.dtype)
            grown[: self._count] = array[: self._count]
            self._arrays[name] = grown


def _ranks(columns: Mapping[str, Array], stages: Sequence[str], order: Sequence[str]) -> Array:
    """Rows by stage in the order of the plan, step and place in their file."""
    places = {name: place for place, name in enumerate(order)}
    of_stage = np.array([places.get(name, len(order)) for name in stages] or [0], np.int64)
    key = (of_stage[columns["stage"]] << 51) | (columns["step"].astype(np.int64) << 24) | columns["ordinal"]
    # Stable, since whole files stand in order already and are only merged.
    sorted_rows = np.argsort(key, kind="stable")
    ranks = np.empty(len(sorted_rows), np.int32)
    ranks[sorted_rows] = np.arange(len(sorted_rows), dtype=np.int32)
    return ranks
