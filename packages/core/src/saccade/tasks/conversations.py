"""Conversations and pairs of them from the user's own files, as they are: checked row by row before any work starts."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.tasks.files import check_bad_rows, counted_rows
from saccade.tasks.rows.fields import Row, RowError, WatchedRow
from saccade.tasks.rows.images import ImageReader
from saccade.tasks.rows.preferences import pair_of
from saccade.tasks.rows.spoken import conversation_of
from saccade.tasks.rows.tasks import BadRow
from saccade.tasks.rows.unread import say_what_is_unread
from saccade.tasks.sources import sources_of
from saccade.types import SpokenConversation, SpokenPair

Read = TypeVar("Read")
ReadRow = TypeVar("ReadRow", covariant=True)


class RowReader(Protocol[ReadRow]):
    """Reads what a row holds, and what of it is left out; ``RowError`` says what is wrong with it."""

    def __call__(
        self, row: Row, images: ImageReader, /, *, where: str, stem: str
    ) -> tuple[ReadRow, tuple[str, ...]]: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ConversationFile:
    """The conversations of a file in its order, and what is left out."""

    conversations: tuple[SpokenConversation, ...]
    skipped: tuple[BadRow, ...] = ()
    left_out: tuple[tuple[str, int], ...] = ()
    """Parts of rows that are not imitated, each in a few words, and in how many rows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PairFile:
    """The pairs of a file in its order, and what is left out."""

    pairs: tuple[SpokenPair, ...]
    skipped: tuple[BadRow, ...] = ()
    left_out: tuple[tuple[str, int], ...] = ()


def any_length(_: SpokenConversation) -> None:
    """Takes every conversation."""


def read_conversations(
    path: Path | str,
    *,
    media: MediaStore,
    skip_bad_rows: bool = False,
    image_root: Path | None = None,
    split: str | None = None,
    check: Callable[[SpokenConversation], object] = any_length,
) -> ConversationFile:
    """The conversations of a JSONL, JSON, parquet or CSV file, of a folder of them, or of ``hf:name[:split]``.

    Of a folder with several splits it is ``split``, else that to train on.

    ``check`` raises UserError for one that a model cannot imitate. Paths of images as in ``read_tasks``. UserError
    lists the bad rows, unless they are to be skipped; without a single good row it is raised all the same.
    """
    found, bad, left_out = _read_rows(path, conversation_of, media, skip_bad_rows, image_root, split, check)
    return ConversationFile(conversations=found, skipped=bad, left_out=left_out)


def read_pairs(
    path: Path | str,
    *,
    media: MediaStore,
    check: Callable[[SpokenPair], object],
    skip_bad_rows: bool = False,
    image_root: Path | None = None,
    split: str | None = None,
) -> PairFile:
    """The pairs of such files (``saccade.tasks.rows.preferences``), as ``read_conversations`` reads them."""
    found, bad, left_out = _read_rows(path, pair_of, media, skip_bad_rows, image_root, split, check)
    return PairFile(pairs=found, skipped=bad, left_out=left_out)


def _read_rows(
    path: Path | str,
    read_row: RowReader[Read],
    media: MediaStore,
    skip_bad_rows: bool,
    image_root: Path | None,
    split: str | None,
    check: Callable[[Read], object],
) -> tuple[tuple[Read, ...], tuple[BadRow, ...], tuple[tuple[str, int], ...]]:
    found: list[Read] = []
    bad: list[BadRow] = []
    left_out: Counter[str] = Counter()
    unread: dict[str, Counter[str]] = {}
    for source in sources_of(path, image_root, split):
        images = ImageReader(source.image_root, media, from_hub=source.is_from_hub)
        for numbered in counted_rows(source.rows, source.name):
            try:
                if isinstance(numbered.row, RowError):
                    raise numbered.row
                where, row = f"{source.name}, row {numbered.number}", WatchedRow(numbered.row)
                one, notes = read_row(row, images, where=where, stem=source.stem)
                check(one)
            except RowError as error:
                bad.append(BadRow(file=source.name, row=numbered.number, key=error.key, why=error.why))
            except RecursionError:
                bad.append(BadRow(file=source.name, row=numbered.number, key="", why="is nested too deeply"))
            except UserError as error:
                bad.append(BadRow(file=source.name, row=numbered.number, key="", why=str(error)))
            else:
                found.append(one)
                left_out.update(notes)
                unread.setdefault(source.name, Counter()).update(row.unread)
    check_bad_rows(path, bad, len(found), skip_bad_rows=skip_bad_rows)
    say_what_is_unread(unread, {})
    return tuple(found), tuple(bad), tuple(left_out.most_common())
