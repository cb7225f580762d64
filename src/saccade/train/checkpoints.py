"""Checkpoints: a directory that ``from_pretrained`` opens, with what the trainer needs to go on beside it."""

import errno
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.models.vlm import LoadSettings, VisionLanguageModel, load_model
from saccade.train.atomic import TEMPORARY_PREFIX, disk_errors, sync_directory
from saccade.train.position import Position

_NAME = re.compile(r"(?P<stage>.+)-(?P<step>\d{6})")
_TRAINER = "trainer"
_OS_ERROR = re.compile(r"\(os error (?P<code>\d+)\)")
"""As Rust writes it."""
_NEARLY_FULL_BYTES = 1 << 20
KEPT_PER_STAGE = 2
"""Newest checkpoints that a stage keeps while it runs; of a finished stage only the last stays."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """A finished checkpoint on disk."""

    path: Path
    position: Position


def save_checkpoint(
    directory: Path,
    position: Position,
    model: VisionLanguageModel,
    optimizer: torch.optim.Optimizer | None,
) -> Checkpoint:
    """Writes ``<stage>-<step>`` so that it is there whole or not at all; an existing one stays as it is."""
    path = directory / f"{position.stage}-{position.step:06d}"
    if path.exists():
        return Checkpoint(path=path, position=position)
    unfinished = directory / f"{TEMPORARY_PREFIX}{os.getpid()}-{path.name}"
    with disk_errors(path):
        shutil.rmtree(unfinished, ignore_errors=True)
        try:
            (unfinished / _TRAINER).mkdir(parents=True)
            with _libraries_disk_errors(unfinished):
                model.save(unfinished)
                if optimizer is not None:
                    torch.save(optimizer.state_dict(), unfinished / _TRAINER / "optimizer.pt")
            state = {"stage": position.stage, "step": position.step}
            (unfinished / _TRAINER / "position.json").write_text(json.dumps(state) + "\n", encoding="utf-8")
            _sync_tree(unfinished)
            unfinished.rename(path)
        except OSError:
            # On a full disk half a checkpoint would take the room that the user is asked to make.
            shutil.rmtree(unfinished, ignore_errors=True)
            raise
        sync_directory(directory)
    return Checkpoint(path=path, position=position)


def checkpoints(directory: Path) -> list[Checkpoint]:
    """All finished checkpoints, in no particular order."""
    found = []
    for path in sorted(directory.iterdir()) if directory.is_dir() else []:
        match = _NAME.fullmatch(path.name)
        if match and (path / _TRAINER / "position.json").is_file():
            position = Position(stage=match["stage"], step=int(match["step"]))
            found.append(Checkpoint(path=path, position=position))
    return found


def latest_checkpoint(
    directory: Path, stages: tuple[str, ...], *, among: tuple[str, ...] | None = None
) -> Checkpoint | None:
    """The checkpoint furthest in a plan with these stages, or furthest ``among`` some of them; None without any."""
    latest: Checkpoint | None = None
    for checkpoint in checkpoints(directory):
        if among is not None and checkpoint.position.stage not in among:
            continue
        if latest is None or checkpoint.position.is_after(latest.position, stages):
            latest = checkpoint
    return latest


def load_checkpoint(checkpoint: Checkpoint, media: MediaStore, settings: LoadSettings) -> VisionLanguageModel:
    """The model of a checkpoint, bit by bit as it was saved."""
    return load_model(checkpoint.path, media, settings)


def restore_optimizer(checkpoint: Checkpoint, optimizer: torch.optim.Optimizer) -> None:
    """The optimiser's state as it was saved; UserError when the file is damaged or of another model."""
    path = checkpoint.path / _TRAINER / "optimizer.pt"
    try:
        optimizer.load_state_dict(torch.load(path, weights_only=True))
    except Exception as error:  # Unpickling what a broken disk left may raise anything.
        reason = error.strerror if isinstance(error, OSError) else type(error).__name__
        raise UserError(
            f"{path} cannot be restored: it is damaged or of another model ({reason}); delete this checkpoint "
            "to resume from an older one"
        ) from error


def prune_checkpoints(directory: Path, current: Position) -> None:
    """Deletes what is not needed to resume: all but the newest few of a stage, all but the last of earlier ones."""
    by_stage: dict[str, list[Checkpoint]] = {}
    for checkpoint in checkpoints(directory):
        by_stage.setdefault(checkpoint.position.stage, []).append(checkpoint)
    for stage, found in by_stage.items():
        kept = KEPT_PER_STAGE if stage == current.stage else 1
        for old in sorted(found, key=lambda checkpoint: checkpoint.position.step)[:-kept]:
            # Renamed first, so that a kill in the middle of deleting leaves no half checkpoint under its name.
            doomed = old.path.with_name(f"{TEMPORARY_PREFIX}{old.path.name}")
            with disk_errors(old.path):
                old.path.rename(doomed)
                shutil.rmtree(doomed)


@contextmanager
def _libraries_disk_errors(directory: Path) -> Iterator[None]:
    """OSError for what safetensors, tokenizers and torch raise when the disk is full: each has an error of its own."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        number = _OS_ERROR.search(str(error))
        if number is None and shutil.disk_usage(directory).free > _NEARLY_FULL_BYTES:
            raise
        code = int(number["code"]) if number else errno.ENOSPC
        raise OSError(code, os.strerror(code), str(directory)) from error


def _sync_tree(directory: Path) -> None:
    for path in [*directory.rglob("*"), directory]:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
