"""Checksums of a run's records: ``saccade_checksums.jsonl`` in its directory, which grows with each checkpoint.

A step pays nothing: when a checkpoint is written, the files that are new since the last one are read. ``run.json`` and
others that are written again and again have their line before they are replaced.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from saccade.atomic import disk_errors, json_bytes, write_bytes_atomic
from saccade.checksums import (
    CHECKSUMS,
    Damage,
    FileSum,
    damages_of,
    files_below,
    lines_of,
    read_sums,
    sum_of,
    sum_of_bytes,
    sums_of,
)
from saccade.errors import UserError
from saccade.runs.position import Position
from saccade.types import Json

REPLACED = ("settings.json", "config.yaml", "run.json", "asked.json", "held_out.json")
_GROWING = "metrics.jsonl"
_MEDIA = "media"
_FOLDERS = (*("trajectories", "evaluations", "samples", "signals", "clocks", "derived", "nonfinite", "recipe"), _MEDIA)

_MOST_PICTURES, _MOST_PICTURE_BYTES = 50_000, 2 << 30
"""They are read in two seconds."""

logger = logging.getLogger(__name__)


class RecordSums:
    """The checksums of one run, for the process that writes it; reading them alone changes nothing."""

    def __init__(self, root: Path) -> None:
        """``problem`` says why those on disk cannot be read, if so; then there are none."""
        self.root = root
        self.problem: str | None = None
        self.sums: list[FileSum] = []
        try:
            if self.exists:
                self.sums = read_sums(root)
        except UserError as error:
            self.problem = str(error)

    @property
    def exists(self) -> bool:
        return (self.root / CHECKSUMS).exists()

    def damages(self, names: Sequence[str] | None = None) -> list[Damage]:
        """Files, among these or all, that are not as they were written."""
        return damages_of(self.root, [one for one in self.sums if names is None or one.file in names])

    def damages_on_resume(self) -> list[Damage]:
        """As ``damages``, but for pictures of gigabytes, which would be waited for; whatever uses one compares it."""
        pictures = [one for one in self.sums if one.file.startswith(f"{_MEDIA}/")]
        if len(pictures) <= _MOST_PICTURES and sum(one.bytes for one in pictures) <= _MOST_PICTURE_BYTES:
            return self.damages()
        logger.info("the %d pictures of the run are not compared with their checksums now", len(pictures))
        return damages_of(self.root, [one for one in self.sums if not one.file.startswith(f"{_MEDIA}/")])

    def uncovered_files(self) -> list[str]:
        """Records that have no checksum yet."""
        known = {one.file for one in self.sums}
        places = [name for name in (*REPLACED, _GROWING) if (self.root / name).is_file()]
        for folder in _FOLDERS:
            places += [f"{folder}/{name}" for name in files_below(self.root / folder)]
        new = [name for name in places if name not in known]
        # Hidden files are being written, and an artefact's folder of work has a journal of its own, which grows.
        return [name for name in new if "/." not in name and ".work/" not in name]

    def write_json(self, path: Path, value: Mapping[str, Json]) -> None:
        self.write(path, json_bytes(value))

    def write(self, path: Path, content: bytes) -> None:
        """Replaces a file in one step, its line first: whichever of the two a kill leaves there is whole."""
        self._append([sum_of_bytes(content, path.relative_to(self.root).as_posix())])
        write_bytes_atomic(path, content)

    def cover(self, position: Position | None = None) -> None:
        """Adds what has been written since the last time; ``position`` is that of the checkpoint, None at the end."""
        with disk_errors(self.root):
            new = sums_of(self.root, (name for name in self.uncovered_files() if name != _GROWING))
            known = sum(one.bytes for one in self.sums if one.file == _GROWING)
            metrics = self.root / _GROWING
            if metrics.is_file() and metrics.stat().st_size > known:
                new.append(sum_of(metrics, _GROWING, start=known))
        if position is not None:
            new = [replace(one, stage=position.stage, step=position.step) for one in new]
        self._append(new)

    def forget_after(self, position: Position | None, stages: Sequence[str]) -> None:
        """Takes out what came after a checkpoint, which is about to be deleted or written again; None takes out all.

        Pictures stay: their names are their content's.
        """
        self.keep([one for one in self.sums if _stays(one, position, stages)])

    def keep(self, sums: Sequence[FileSum]) -> None:
        """Only these from now on."""
        self.sums = list(sums)
        write_bytes_atomic(self.root / CHECKSUMS, lines_of(sums))

    def _append(self, new: Sequence[FileSum]) -> None:
        # The system writes it when it likes: what a power cut takes has no checksum, and no wrong one.
        with disk_errors(self.root), (self.root / CHECKSUMS).open("ab") as file:
            end = file.tell()
            try:
                file.write(lines_of(new))
                file.flush()
            except OSError:
                file.truncate(end)
                raise
        self.sums += new


def _stays(one: FileSum, position: Position | None, stages: Sequence[str]) -> bool:
    if one.file in REPLACED or one.file.startswith(f"{_MEDIA}/"):
        return True
    if position is None or one.stage is None or one.step is None:
        return False
    return not Position(stage=one.stage, step=one.step).is_after(position, stages)
