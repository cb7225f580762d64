"""Kinds of other trainers' files, and how they are known."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from saccade.viewer.store.formats import RecordFormat


@dataclass(frozen=True, kw_only=True, slots=True)
class ForeignKind:
    """One trainer's files."""

    format: RecordFormat
    is_folder: Callable[[Path], bool]
    """Whether a folder is one run of the trainer."""
    files: Callable[[Path], Iterator[Path]]
    """The files of such a folder."""
    is_file: Callable[[Path], bool]


FOREIGN: tuple[ForeignKind, ...] = ()
