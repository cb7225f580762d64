"""A run taken back from its ``save_folder``, and the thread that copies it there."""

import logging
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import msgspec

from saccade.atomic import TEMPORARY_PREFIX, disk_errors
from saccade.checksums import printable_name
from saccade.config.tracking import TrackingSettings
from saccade.errors import MachineError, SaccadeError, UserError
from saccade.runs.runinfo import RunPaths, read_info
from saccade.runs.save_folder import Save, SavedFile, SaveFolder
from saccade.runs.saver import Saver, try_often

_AT_ONCE = 4
_LOOK_EVERY_S = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class _Started:
    """Which run a ``run.json`` is of."""

    started: str


logger = logging.getLogger(__name__)


def restore(settings: TrackingSettings, out: Path, *, is_first: bool = True) -> None:
    """Brings the newest save of the run to ``out``, where there is nothing yet; what is not as it was saved is refused.

    Of several processes the first one brings it, and the others return when it is there.
    """
    if not settings.save_folder or (out.is_dir() and any(out.iterdir())):
        return
    folder = SaveFolder(settings.save_folder)
    save = _newest(folder)
    if save is None:
        return
    while not is_first and not RunPaths(root=out).info.exists():
        time.sleep(_LOOK_EVERY_S)
    if is_first:
        logger.info("the run is brought from %s to %s", folder.url, out)
        _bring(folder, save, out)


def _bring(folder: SaveFolder, save: Save, out: Path) -> None:
    unfinished = out.absolute().with_name(f"{TEMPORARY_PREFIX}{out.name}")

    def one(file: SavedFile) -> None:
        path = unfinished / file.file
        path.parent.mkdir(parents=True, exist_ok=True)

        def fetch() -> None:
            with path.open("wb") as target:
                folder.fetch(file, target)

        try_often(fetch, threading.Event())

    with disk_errors(out):
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
    try:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(one, save.files))
        unfinished.rename(out)
    except Exception as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise _store_error(folder, error) from error


def open_saver(settings: TrackingSettings, root: Path, *, is_resumed: bool) -> Saver:
    """What copies the run at ``root`` to its ``save_folder``.

    UserError for a folder that cannot be written, or that holds another run.
    """
    folder = SaveFolder(settings.save_folder)
    newest = _newest(folder)
    if newest is not None and not (is_resumed and _is_of(folder, newest, root)):
        raise UserError(
            f"tracking.save_folder={folder.url} holds another run; name a folder of this run's own, or continue that "
            "one by --resume with an --out that is not there yet"
        )
    try:
        folder.probe()
    except Exception as error:
        raise _store_error(folder, error) from error
    return Saver(folder, root, records=settings.save_records, newest=newest)


def _is_of(folder: SaveFolder, save: Save, root: Path) -> bool:
    """Whether a save is one of the run at ``root``."""
    content = BytesIO()
    try:
        folder.fetch(next(one for one in save.files if one.file == "run.json"), content)
        return msgspec.json.decode(content.getvalue(), type=_Started).started == read_info(RunPaths(root=root)).started
    except Exception as error:
        raise _store_error(folder, error) from error


def _newest(folder: SaveFolder) -> Save | None:
    try:
        return try_often(folder.newest, threading.Event())
    except Exception as error:
        raise _store_error(folder, error) from error


def _store_error(folder: SaveFolder, error: Exception) -> SaccadeError:
    """What went wrong, whatever the store's client raises for it."""
    said = f"tracking.save_folder={folder.url}: {type(error).__name__}: {printable_name(str(error))}"
    if isinstance(error, FileNotFoundError | PermissionError | ValueError | NotImplementedError):
        return UserError(f"{said}; mend it, or leave tracking.save_folder out")
    return MachineError(said)
