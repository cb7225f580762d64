"""Checkpoints: a directory that ``from_pretrained`` opens, with what the trainer needs to go on beside it."""

import errno
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from saccade.atomic import TEMPORARY_PREFIX, disk_errors, sync_directory
from saccade.learner.policy_learner import PolicyLearner
from saccade.learner.state_files import damage, drop_optimizer
from saccade.media.store import MediaStore
from saccade.models.loading import LoadSettings, load_model
from saccade.models.vlm import VisionLanguageModel
from saccade.plain_files import plain_text
from saccade.runs.position import Position
from saccade.types import Json

_NAME = re.compile(r"(?P<stage>.+)-(?P<step>\d{6})")
_TRAINER = "trainer"
_OS_ERROR = re.compile(r"\(os error (?P<code>\d+)\)")
"""As Rust writes it."""
_NEARLY_FULL_BYTES = 1 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """A finished checkpoint on disk."""

    path: Path
    position: Position


def save_checkpoint(
    directory: Path,
    position: Position,
    model: VisionLanguageModel,
    learner: PolicyLearner | None,
    *,
    extras: Mapping[str, Json] = MappingProxyType({}),
    records: Mapping[str, Mapping[str, Json]] = MappingProxyType({}),
) -> Checkpoint:
    """Writes ``<stage>-<step>`` so that it is there whole or not at all; an existing one stays as it is.

    ``extras`` is what else a resumed run needs, ``records`` are JSON files for users of the policy. Where the base
    of an adapter is on no disk yet, it is written once beside the checkpoints.
    """
    path = directory / f"{position.stage}-{position.step:06d}"
    if path.exists():
        return Checkpoint(path=path, position=position)
    if model.adapter is not None and model.adapter.base is None:
        base = directory / f"base-{position.stage}"
        if not base.exists():
            with _whole(base) as unfinished:
                model.save_base(unfinished)
        model.adapter.base = base.resolve()
    with _whole(path) as unfinished:
        trainer = unfinished / _TRAINER
        trainer.mkdir()
        model.save(unfinished)
        for name, record in records.items():
            (unfinished / name).write_text(json.dumps(record) + "\n", encoding="utf-8")
        if learner is not None:
            learner.save_state(trainer)
        if extras:
            (trainer / "extras.json").write_text(json.dumps(dict(extras)) + "\n", encoding="utf-8")
        state = {"stage": position.stage, "step": position.step}
        (trainer / "position.json").write_text(json.dumps(state) + "\n", encoding="utf-8")
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


def position_reached(directory: Path, stages: tuple[str, ...]) -> Position | None:
    """The position of the newest checkpoint; None before the first."""
    latest = latest_checkpoint(directory, stages)
    return None if latest is None else latest.position


def load_checkpoint(checkpoint: Checkpoint, media: MediaStore, settings: LoadSettings) -> VisionLanguageModel:
    """The model of a checkpoint, bit by bit as it was saved."""
    model = load_model(checkpoint.path, media, settings)
    # Checkpoints are deleted when newer ones are there: none is a base to rely on.
    model.source = None
    return model


def restore_learner(checkpoint: Checkpoint, learner: PolicyLearner) -> None:
    """Optimiser, critic and reference policy as they were saved.

    UserError when a file is damaged or of another model, or was written with other precision or offload.
    """
    learner.restore_state(checkpoint.path / _TRAINER)


def load_extras(checkpoint: Checkpoint) -> Mapping[str, Json]:
    """The ``extras`` that were given when the checkpoint was saved; UserError when the file is damaged."""
    path = checkpoint.path / _TRAINER / "extras.json"
    if not path.exists():
        return {}
    with damage(path):
        extras = json.loads(plain_text(path))
        if not isinstance(extras, dict):
            raise ValueError("no JSON object")
    return extras


def prune_checkpoints(directory: Path, current: Position, *, kept: int) -> None:
    """Deletes what is not needed to resume: all but the ``kept`` newest of a stage, all but the last of other ones.

    Where the stage has a checkpoint of its own, nobody goes on from those of others: their policies stay alone.
    """
    by_stage: dict[str, list[Checkpoint]] = {}
    for checkpoint in checkpoints(directory):
        by_stage.setdefault(checkpoint.position.stage, []).append(checkpoint)
    for stage, found in by_stage.items():
        count = kept if stage == current.stage else 1
        found.sort(key=lambda checkpoint: checkpoint.position.step)
        for old in found[:-count]:
            # Renamed first, so that a kill in the middle of deleting leaves no half checkpoint under its name.
            doomed = old.path.with_name(f"{TEMPORARY_PREFIX}{old.path.name}")
            with disk_errors(old.path):
                old.path.rename(doomed)
                shutil.rmtree(doomed)
        if stage != current.stage and current.stage in by_stage:
            with disk_errors(found[-1].path):
                drop_optimizer(found[-1].path / _TRAINER)


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """A directory to write in, which becomes ``path`` at the end; nothing is left of it after an error."""
    unfinished = path.with_name(f"{TEMPORARY_PREFIX}{os.getpid()}-{path.name}")
    with disk_errors(path):
        shutil.rmtree(unfinished, ignore_errors=True)
        try:
            unfinished.mkdir(parents=True)
            with _libraries_disk_errors(unfinished):
                yield unfinished
            _sync_tree(unfinished)
            unfinished.rename(path)
        except OSError:
            # On a full disk half a checkpoint would take the room that the user is asked to make.
            shutil.rmtree(unfinished, ignore_errors=True)
            raise
        sync_directory(path.parent)


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
