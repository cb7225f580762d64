"""Recorded trajectories as episodes that are shown before questions."""

from collections.abc import Sequence
from pathlib import Path

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.protocols.few_shot import ShownEpisode, ShownTurn
from saccade.rewards.reward import counts_as_right
from saccade.runs.records import images_of, read_records
from saccade.runs.runinfo import RunPaths
from saccade.types import Answer, Attempt, ImageRef, ToolCall


def recorded_episodes(path: Path, count: int, media: MediaStore) -> Sequence[ShownEpisode]:
    """The first ``count`` trajectories of a file that can be shown, one of each question; their images go to ``media``.

    Those are answered rightly, and each of their turns is well-formed with a call that ran. UserError for an image
    that the file's run does not hold.
    """
    folder = next(
        (RunPaths(root=one).media for one in path.absolute().parents if RunPaths(root=one).info.exists()), None
    )
    found: dict[str, ShownEpisode] = {}
    for number, record in enumerate(read_records(path), start=1):
        if len(found) == count:
            break
        if record.task.id in found or not _is_exemplary(record):
            continue
        add_images(images_of(record), folder, media, path)
        turns = tuple(ShownTurn(text=turn.text, recorded=turn, result=turn.result) for turn in record.trajectory.turns)
        where = f"{path}, trajectory {number}"
        found[record.task.id] = ShownEpisode(task=record.task, turns=turns, where=where)
    return list(found.values())


def _is_exemplary(record: Attempt) -> bool:
    *calls, last = record.trajectory.turns or (None,)
    if last is None or not isinstance(last.action, Answer) or not last.is_well_formed:
        return False
    ran = all(
        turn is not None and isinstance(turn.action, ToolCall) and turn.is_well_formed and turn.result is not None
        for turn in calls
    )
    return ran and counts_as_right(record.task, record.trajectory)


def add_images(images: Sequence[ImageRef], folder: Path | None, media: MediaStore, path: Path) -> None:
    """Puts the pictures of a record into ``media``; ``folder`` has them, and ``path`` is the record's in messages."""
    for image in images:
        if image.hash in media:
            continue
        file = None if folder is None else folder / f"{image.hash}.png"
        if file is None or not file.exists():
            raise UserError(f"{path}: the picture {image.hash[:16]} is not in the folder media of its run")
        media.add_file(file)
