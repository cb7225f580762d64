"""Kinds of other trainers' files, and how a folder or a file is known to be of one."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from saccade.viewer.store.field_map import FieldMap
from saccade.viewer.store.foreign_inspect import INSPECT, is_inspect
from saccade.viewer.store.foreign_lines import LineKind, first_record
from saccade.viewer.store.foreign_lmms_eval import LMMS_EVAL
from saccade.viewer.store.foreign_messages import messages_kind
from saccade.viewer.store.foreign_swift import SWIFT_COMPLETIONS, SWIFT_RESULTS
from saccade.viewer.store.foreign_texts import EASYR1, LLAMA_FACTORY, is_easyr1
from saccade.viewer.store.foreign_trackio import TRACKIO, is_trackio
from saccade.viewer.store.foreign_trl import TRL, completions_of, is_trl
from saccade.viewer.store.foreign_verifiers import VERIFIERS, VERIFIERS_TRACES
from saccade.viewer.store.foreign_verl import VERL
from saccade.viewer.store.foreign_vlmevalkit import VLMEVALKIT_LIST, VLMEVALKIT_TABLE, is_vlmevalkit
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
        _of_files(INSPECT, ("*.eval",), is_inspect),
        _of_files(EASYR1.format, ("*.log",), is_easyr1),
        _of_files(TRACKIO, ("*.db",), is_trackio),
        _of_files(VLMEVALKIT_TABLE, ("*.xlsx", "*.tsv"), is_vlmevalkit),
        *map(_of_lines, (*_LINES, messages_kind(fields))),
    )


_LINES = (
    VERL,
    LLAMA_FACTORY,
    LMMS_EVAL,
    VLMEVALKIT_LIST,
    VERIFIERS_TRACES,
    SWIFT_COMPLETIONS,
    SWIFT_RESULTS,
    VERIFIERS,
)
"""The particular before the general."""


def _of_lines(kind: LineKind) -> ForeignKind:
    def is_shown(path: Path) -> bool:
        """Metrics and settings that stand beside are not; lines whose first is damaged are, and have a note."""
        first = first_record(path)
        return path.suffix != ".json" if first is None else kind.is_one(first)

    whole = _of_files(kind.format, ("*.jsonl", "*.json", "*.ndjson"), kind.is_file)
    return replace(whole, files=lambda folder: filter(is_shown, whole.files(folder)))


def _of_files(form: RecordFormat, patterns: Sequence[str], is_file: Callable[[Path], bool]) -> ForeignKind:
    def files(folder: Path) -> Iterator[Path]:
        found = sorted(path for pattern in patterns for path in folder.glob(pattern))
        return (path for path in found if not path.is_symlink() and path.is_file())

    def is_folder(folder: Path) -> bool:
        return any(is_file(path) for path, _ in zip(files(folder), range(_LOOKED_AT)))

    return ForeignKind(format=form, is_folder=is_folder, files=files, is_file=is_file)
