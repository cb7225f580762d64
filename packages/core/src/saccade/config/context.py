"""The command line's part of a run, and the user's own questions."""

import dataclasses
import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from saccade.config.gold_check import report_golds
from saccade.media.store import MediaStore
from saccade.media.video import MAX_FRAMES
from saccade.tasks.files import TaskFile, read_tasks
from saccade.tasks.rows.tasks import BadRow, lines_of
from saccade.tasks.sources import splits_of_files
from saccade.tasks.splits import ALL, split_list, training_split
from saccade.types import AnswerKind, Task


@dataclass(kw_only=True)
class HeldOutRows:
    """Rows of a run's questions that are held out, by identity; filled in while the recipe is called."""

    identities: dict[str, str] = field(default_factory=dict)
    """Identity of the row of each task that was read, by the task's id."""
    kept: dict[str, list[str]] | None = None
    """What each held-out row shows, as the run keeps it; None where nothing is held out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecipeContext:
    """The user's request; a recipe is a function ``recipe(context) -> Plan``."""

    data: Path | None = None
    """File or folder of the user's own tasks, or ``hf:name[:split]``; None when the recipe brings its own."""
    model: Path | None = None
    """Checkpoint directory to start from; None for the recipe's default."""
    env: str | None = None
    """An environment to train in, as ``--env`` names it; None when the recipe brings its own tasks."""
    overrides: tuple[str, ...] = ()
    """``key=value`` texts for ``apply_overrides`` on the recipe's own settings."""
    seed: int = 0
    split: str | None = None
    """Split of ``data`` that is read alone; None for those that its folder names, each for its purpose."""
    held_out: Path | None = None
    """File or folder of questions that are measured on and never trained on; None for those of ``data``."""
    skip_bad_rows: bool = False
    """Leave bad rows of ``data`` out instead of stopping before work starts."""
    answer_kind: AnswerKind | None = None
    """Kind of the answers of rows of ``data`` that name none; None to infer each from its answer."""
    box_frame: str | None = None
    """Frame of the boxes in answers of rows that name none; None to guess it (``saccade.tasks.rows.parts.FRAMES``)."""
    min_iou: float | None = None
    """IoU from which on boxes are right, of rows that name none; None for 0.5."""
    image_root: Path | None = None
    """Folder in which relative paths of images in ``data`` begin; None for the folder of each file."""
    max_frames: int = MAX_FRAMES
    """Of a video in ``data`` at most so many frames are shown, evenly spaced."""
    media: MediaStore = field(default_factory=MediaStore)
    """Where the run's images live; the plan's tasks must put theirs there."""
    held_out_file: Path | None = None
    """Where a run that is resumed keeps what it holds out (``held_out.json``); None for a new run."""
    held_out_rows: HeldOutRows = field(default_factory=HeldOutRows)

    @property
    def is_of_earlier_version(self) -> bool:
        """Whether the run that goes on kept no record of what it holds out."""
        return self.held_out_file is not None and not self.held_out_file.exists()

    def with_defaults(self, *overrides: str) -> "RecipeContext":
        """The context of a shipped recipe with other defaults, as ``key=value``; the user's own overrides win."""
        return replace(self, overrides=type(self.overrides)((*overrides, *self.overrides)))


OPTIONS = {
    name: f"--{name.replace('_', '-')}"
    for name in (
        *("data", "model", "env", "split", "skip_bad_rows"),
        *("answer_kind", "box_frame", "min_iou", "image_root", "max_frames"),
    )
}
"""Fields of a context that a recipe may or may not read, by the options that fill them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchedContext(RecipeContext):
    """A context that knows which of its options were read, of it or of a context that was made from it."""

    read: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, context: RecipeContext) -> "WatchedContext":
        """The context, nothing of which was read yet."""
        return cls(**{one.name: getattr(context, one.name) for one in dataclasses.fields(RecipeContext)})

    def __getattribute__(self, name: str) -> object:
        # ``dataclasses.replace`` copies all fields, which tells nothing of what is used.
        if name in OPTIONS and sys._getframe(1).f_code.co_filename != dataclasses.__file__:
            object.__getattribute__(self, "read").add(name)
        return object.__getattribute__(self, name)

    @property
    def unread(self) -> list[str]:
        """The options that were given and never read."""
        given = RecipeContext()
        names = [name for name in OPTIONS if object.__getattribute__(self, name) != getattr(given, name)]
        return [OPTIONS[name] for name in names if name not in self.read]


REASONS_SHOWN = 5

logger = logging.getLogger(__name__)


def read_own_tasks(
    data: Path, context: RecipeContext, *, split: str | None = None, purpose: str = "read"
) -> tuple[Task, ...]:
    """The tasks of ``--data``. The log says which kinds of answers they have, and which golds no reply can meet.

    Of a folder with several splits it is ``split``, else for the run's own data ``context.split``, else that to train
    on; the log says which file is what, and what it is read for. Rows that ``--skip-bad-rows`` leaves out are counted
    in a warning, with reasons.
    """
    if split is None and data == context.data:
        split = context.split or (ALL if context.is_of_earlier_version and splits_of_files(data) else None)
        if split is None and splits_of_files(data):
            # The run keeps that it read one of several: runs of earlier versions read them all as one.
            context.held_out_rows.kept = context.held_out_rows.kept or {}
    read = read_split(data, context, split, purpose)
    context.held_out_rows.identities |= read.identities
    report_golds(data, read.tasks)
    warn_of_bad_rows(data, read.skipped, len(read.tasks))
    return read.tasks


def read_split(data: Path, context: RecipeContext, split: str | None, purpose: str = "read") -> TaskFile:
    """The tasks of a split as they stand there; the log says which files are of which split."""
    log_splits(data, split, purpose)
    if context.box_frame is not None:
        logger.info("%s: boxes in answers of rows that name no box_frame are in %s", data, context.box_frame)
    return read_tasks(
        data,
        media=context.media,
        skip_bad_rows=context.skip_bad_rows,
        image_root=context.image_root,
        max_frames=context.max_frames,
        answer_kind=context.answer_kind,
        box_frame=context.box_frame,
        min_iou=context.min_iou,
        split=split,
    )


def log_splits(data: Path, split: str | None, purpose: str = "read") -> None:
    """Says which files of a folder are of which split, and which of them is read; UserError where several may be."""
    if splits := splits_of_files(data):
        logger.info("%s: %s; %s: %s", data, split_list(splits), purpose, split or training_split(splits, data))


def warn_of_bad_rows(data: Path, skipped: Sequence[BadRow], good: int) -> None:
    """A warning that counts the rows that were left out, with reasons; nothing where there are none."""
    if not skipped:
        return
    reasons = "\n".join(lines_of(skipped, REASONS_SHOWN))
    logger.warning("%s: left out %d of %d rows:\n%s", data, len(skipped), len(skipped) + good, reasons)
