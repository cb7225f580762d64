"""Checkpoints: a directory that ``from_pretrained`` opens, with what the trainer needs to go on beside it."""

import errno
import json
import logging
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from saccade.atomic import TEMPORARY_PREFIX, disk_errors, sync_directory
from saccade.characters import shell_words
from saccade.checksums import CHECKSUMS, damage_in, drop_sums, sums_file
from saccade.errors import UserError
from saccade.heartbeat import phase
from saccade.media.store import MediaStore
from saccade.models.checkpoint import TRAINER_PREFIX, refuse_damaged_model
from saccade.models.checkpoint_checks import damage
from saccade.models.loading import LoadSettings, load_model
from saccade.models.lora import ADAPTER_CONFIG, adapter_base
from saccade.models.vlm import VisionLanguageModel
from saccade.plain_files import plain_text
from saccade.runs.position import Position
from saccade.types import Json

if TYPE_CHECKING:
    from saccade.learner.policy_learner import PolicyLearner

_NAME = re.compile(r"(?P<stage>.+)-(?P<step>\d{6})")
_TRAINER = TRAINER_PREFIX.rstrip("/")
_POSITION = f"{TRAINER_PREFIX}position.json"
_OPTIMIZER = f"{TRAINER_PREFIX}optimizer"
"""Begins the names of a learner's moments and masters: a file, or a directory of shards."""
_SET_ASIDE = ".set-aside"
_OS_ERROR = re.compile(r"\(os error (?P<code>\d+)\)")
"""As Rust writes it."""
_NEARLY_FULL_BYTES = 1 << 20

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """A finished checkpoint on disk."""

    path: Path
    position: Position


def save_checkpoint(
    directory: Path,
    position: Position,
    model: VisionLanguageModel,
    learner: "PolicyLearner | None",
    *,
    extras: Mapping[str, Json] = MappingProxyType({}),
    records: Mapping[str, Mapping[str, Json]] = MappingProxyType({}),
) -> Checkpoint:
    """Writes ``<stage>-<step>`` so that it is there whole or not at all; an existing one that is whole stays.

    ``extras`` is what else a resumed run needs, ``records`` are JSON files for users of the policy. Where the base
    of an adapter is on no disk yet, it is written once beside the checkpoints.
    """
    path = directory / f"{position.stage}-{position.step:06d}"
    with phase(lambda: f"writing {path}"):
        return _saved(path, position, model, learner, extras=extras, records=records)


def _saved(
    path: Path,
    position: Position,
    model: VisionLanguageModel,
    learner: "PolicyLearner | None",
    *,
    extras: Mapping[str, Json],
    records: Mapping[str, Mapping[str, Json]],
) -> Checkpoint:
    directory = path.parent
    if path.exists():
        if (why := _damaged_part(path)) is None:
            return Checkpoint(path=path, position=position)
        logger.warning("%s; it is written again, and %s", why, _set_aside(path))
    if model.adapter is not None and model.adapter.base is None:
        base = directory / f"base-{position.stage}"
        if base.exists() and (wrong := damage_in(base)) is not None:
            logger.warning("%s/%s; it is written again, and %s", base, wrong, _set_aside(base))
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
        (unfinished / _POSITION).write_text(json.dumps(state) + "\n", encoding="utf-8")
    return Checkpoint(path=path, position=position)


def checkpoints(directory: Path) -> list[Checkpoint]:
    """All finished checkpoints, in no particular order."""
    return [one for one in _named_so(directory) if (one.path / _POSITION).is_file()]


def _named_so(directory: Path) -> list[Checkpoint]:
    found = []
    for path in sorted(directory.iterdir()) if directory.is_dir() else []:
        match = _NAME.fullmatch(path.name)
        if match and path.is_dir():
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


def whole_checkpoint(directory: Path, stages: Sequence[str], needed: Mapping[str, str]) -> Checkpoint | None:
    """The checkpoint furthest in a plan of which every file is whole; None where there is none at all.

    Later ones are set aside under another name, and the log says why. Those of a stage in ``needed`` go by the last
    checkpoint of another one too, as a reference policy does. UserError where all are damaged.
    """
    passed: list[tuple[Path, str]] = []
    mine = (one for one in _named_so(directory) if (one.path / _POSITION).is_file() or one.position.stage in stages)
    found = sorted(mine, key=lambda one: one.position.place_in(stages))
    for checkpoint in reversed(found):
        why = _damaged_part(checkpoint.path)
        if why is None and (stage := needed.get(checkpoint.position.stage)) is not None:
            last = [one.path for one in found if one.position.stage == stage][-1:]
            missing = f"{checkpoint.path} needs the last checkpoint of stage {stage!r}, which is missing"
            why = _damaged_part(last[0]) if last else missing
        if why is None:
            for path, reason in passed:
                logger.warning("%s; going on from %s, and %s", reason, checkpoint.path, _set_aside(path))
            return checkpoint
        passed.append((checkpoint.path, why))
    if passed:
        raise UserError(
            f"{passed[0][1]}, and no older checkpoint of this run is whole. Delete them (rm -r "
            f"{shell_words(*(path for path, _ in passed))}), and --resume begins the run anew"
        )
    return None


def _damaged_part(checkpoint: Path) -> str | None:
    """A damaged file of a checkpoint, or of the base of an adapter, in words; None where all is whole."""
    if not (checkpoint / _POSITION).is_file():
        return f"{checkpoint / _POSITION} is missing"
    if (wrong := damage_in(checkpoint)) is not None:
        return f"{checkpoint}/{wrong}"
    if (checkpoint / ADAPTER_CONFIG).is_file():
        try:
            refuse_damaged_model(adapter_base(checkpoint))
        except UserError as error:
            return str(error)
    return None


def _set_aside(path: Path) -> str:
    """Renames a checkpoint, so that the run can write it again."""
    aside = next(
        one for number in range(1000) if not (one := path.with_name(f"{path.name}{_SET_ASIDE}{number or ''}")).exists()
    )
    with disk_errors(path):
        path.rename(aside)
    return f"{path.name} is now {aside.name}, which may be deleted"


def position_reached(directory: Path, stages: tuple[str, ...]) -> Position | None:
    """The position of the newest checkpoint; None before the first."""
    latest = latest_checkpoint(directory, stages)
    return None if latest is None else latest.position


def load_checkpoint(checkpoint: Checkpoint, media: MediaStore, settings: LoadSettings) -> VisionLanguageModel:
    """The model of a checkpoint, bit by bit as it was saved. UserError where it cannot be loaded."""
    try:
        model = load_model(checkpoint.path, media, settings)
    except UserError as error:
        if (checkpoint.path / CHECKSUMS).exists():
            raise
        raise UserError(
            f"{error}. This checkpoint of the run has no checksums, as of earlier versions: if its files are damaged, "
            f"delete it (rm -r {shell_words(checkpoint.path)}), and --resume goes on from an older one, or begins anew"
        ) from error
    # Checkpoints are deleted when newer ones are there: none is a base to rely on.
    model.source = None
    return model


def restore_learner(checkpoint: Checkpoint, learner: "PolicyLearner") -> None:
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
                drop_sums(found[-1].path, lambda name: name.startswith(_OPTIMIZER))
                for moments in found[-1].path.glob(f"{_OPTIMIZER}*"):
                    shutil.rmtree(moments, ignore_errors=True) if moments.is_dir() else moments.unlink()


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
            (unfinished / CHECKSUMS).write_bytes(sums_file(unfinished))
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
