"""A playground's questions on disk: an ordinary run, one step for each question that was asked."""

import shutil
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from saccade.atomic import disk_errors
from saccade.media.store import MediaStore
from saccade.runs.directory import RunDirectory
from saccade.runs.position import Position
from saccade.runs.records import write_records
from saccade.train.measure import write_beside
from saccade.types import Attempt, ImageRef, Json

STAGE = "chat"
_TOKENIZER = "tokenizer.json"


@dataclass(kw_only=True)
class PlaygroundRun:
    """The run of one playground; safe to use from threads."""

    directory: RunDirectory
    media: MediaStore
    _step: int = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        paths = self.directory.paths
        steps = [int(file.stem.rpartition("-")[2]) for file in (paths.root / "trajectories" / STAGE).glob("*.jsonl")]
        self._step = max(steps, default=0)

    def next_step(self) -> int:
        with self._lock:
            self._step += 1
            return self._step

    def export(self, image: ImageRef, media: MediaStore) -> None:
        """The picture where pages ask for it."""
        media.export(image, self.directory.paths.media)

    def keep(self, step: int, attempts: Sequence[Attempt], media: MediaStore) -> Path:
        """The file of records of one question's samples."""
        self.directory.check_in_place()
        paths = self.directory.paths
        position = Position(stage=STAGE, step=step)
        path = paths.trajectories(position)
        places = write_records(path, position, attempts, media=media, media_directory=paths.media)
        with disk_errors(path):
            write_beside(paths, path, position, places, attempts)
        return path

    def keep_tokenizer(self, checkpoint: Path | None) -> None:
        """The tokenizer, by which token texts are shown later, where the checkpoint has it in one file."""
        source = None if checkpoint is None else checkpoint / _TOKENIZER
        target = self.directory.paths.checkpoints / STAGE / _TOKENIZER
        if source is not None and source.is_file() and not target.exists():
            with disk_errors(target):
                target.parent.mkdir(exist_ok=True)
                shutil.copyfile(source, target)


def playground_settings(model: str, how: str) -> Mapping[str, Json]:
    return {"model": model, "asked": how, "stages": {STAGE: {"kind": "chat", "title": "own questions"}}}
