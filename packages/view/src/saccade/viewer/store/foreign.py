"""Kinds of other trainers' files, and how a folder or a file is known to be of one."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from saccade.viewer.store.field_map import FieldMap
from saccade.viewer.store.foreign_inspect import INSPECT, is_inspect
from saccade.viewer.store.foreign_lines import (
    VERIFIERS,
    VERL,
    is_messages,
    is_verifiers,
    is_verl,
    messages_format,
)
from saccade.viewer.store.foreign_texts import EASYR1, LLAMA_FACTORY, is_easyr1, is_llama_factory
from saccade.viewer.store.foreign_trl import TRL, completions_of, is_trl
from saccade.viewer.store.formats import RecordFormat

_LOOKED_AT = 20
"""Files of a folder that are looked into."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ForeignKind:
    """One trainer's files."""

    format: RecordFormat
    is_folder: Callable[[Path], bool]
    """Whether a folder is one run of the trainer."""
    files: Callable[[Path], Iterator[Path]]
    """The files of such a folder, without links."""
    is_file: Callable[[Path], bool]


def kinds(fields: FieldMap) -> tuple[ForeignKind, ...]:
    """All kinds, the particular before the general; ``fields`` names those of a file of messages."""
    return (
        ForeignKind(
            format=TRL,
            is_folder=lambda folder: any(completions_of(folder)),
            files=completions_of,
            is_file=is_trl,
        ),
        _of_files(INSPECT, "*.eval", is_inspect),
        _of_files(VERL, "*.jsonl", is_verl),
        _of_files(EASYR1, "*.log", is_easyr1),
        _of_files(LLAMA_FACTORY, "*.jsonl", is_llama_factory),
        _of_files(VERIFIERS, "*.jsonl", is_verifiers),
        _of_files(messages_format(fields), "*.jsonl", partial(is_messages, fields)),
    )


def _of_files(form: RecordFormat, pattern: str, is_file: Callable[[Path], bool]) -> ForeignKind:
    def files(folder: Path) -> Iterator[Path]:
        return (path for path in sorted(folder.glob(pattern)) if not path.is_symlink() and path.is_file())

    def is_folder(folder: Path) -> bool:
        return any(is_file(path) for path, _ in zip(files(folder), range(_LOOKED_AT)))

    return ForeignKind(format=form, is_folder=is_folder, files=files, is_file=is_file)
