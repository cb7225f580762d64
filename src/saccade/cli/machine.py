"""What commands do before anything heavy: threads, messages on standard error, paths that must be there, browsers."""

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from saccade.cli.shown import shown
from saccade.errors import MachineError, SaccadeError, UserError

if TYPE_CHECKING:
    from saccade.interop.hub import HubName

_DATA = ("--data", "--held-out")

DEFAULT_THREADS = 1
"""Small models gain nothing from more: the demo ran no faster with two threads on two idle cores."""


def prepare_machine(threads: int | None) -> int:
    """Threads to use, set where torch's thread pool reads it when torch is first imported.

    Without ``threads`` it is ``OMP_NUM_THREADS`` or else 1: the same on all machines.
    """
    # Waiting threads that spin starve whatever else runs on the machine.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    set_before = os.environ.get("OMP_NUM_THREADS", "")
    default = int(set_before) if set_before.isdecimal() and int(set_before) else DEFAULT_THREADS
    count = threads or default
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(count)
    return count


def existing(option: str, path: Path | None) -> Path | None:
    """The path itself, a shipped checkpoint, or the hub's cache of what ``--model`` or ``--data`` name there.

    UserError when it is given and none of these.
    """
    if path is None or path.exists():
        return path
    text = str(path)
    if option == "--model" and text.startswith("saccade:"):
        from saccade.models.checkpoint import shipped_checkpoint

        return shipped_checkpoint(text)
    if option in _DATA and text.startswith("hf:"):
        return path  # Read by the library `datasets`.
    if option in ("--model", *_DATA) and (name := _name_on_hub(text)) is not None:
        return _fetched(option, name)
    is_name = option in ("--model", *_DATA) and _name_on_hub(f"hf:{text}") is not None
    elsewhere = f"; hf:{text} would be the one on the hub" if is_name else ""
    raise UserError(f"{option} {path}: there is no such file or folder (looked for from {Path.cwd()}){elsewhere}")


def _name_on_hub(text: str) -> "HubName | None":
    """The name on a hub that an option gives; a path into a folder that is there is a wrong path."""
    from saccade.interop.hub import hub_name
    from saccade.tasks.splits import FILE_KINDS

    name = hub_name(text)
    if name is None or text.startswith("hf:"):
        return name
    is_path = Path(text).parent.is_dir() or Path(text).suffix.lower() in FILE_KINDS
    return None if is_path else name


def _fetched(option: str, name: "HubName") -> Path:
    from saccade.interop.hub import fetched, fetched_data

    try:
        return fetched(name, "model") if option == "--model" else fetched_data(name)
    except SaccadeError as error:
        kind = UserError if isinstance(error, UserError) else MachineError
        raise kind(f"{option} {name}: there is no such file or folder here, and {error}") from error


def open_in_browser(address: str) -> None:
    """Opens the address where there is a desktop: elsewhere xdg-open complains, or takes the terminal for a browser."""
    if sys.platform != "linux" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        click.launch(address)


def log_to_stderr(*, is_quiet: bool) -> None:
    """Let what Saccade's loggers say be seen."""
    logger = logging.getLogger("saccade")
    logger.setLevel(logging.INFO)
    if not any(isinstance(handler, _StderrHandler) for handler in logger.handlers):
        handler = _StderrHandler(level=logging.WARNING if is_quiet else logging.INFO)
        handler.setFormatter(logging.Formatter("%(message)s"))
        logger.addHandler(handler)


class _StderrHandler(logging.Handler):
    """Looks stderr up at each message, since a progress bar replaces it; never stops the run when it is closed."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            click.echo(shown(self.format(record)), err=True)
        except (OSError, ValueError):
            self.setLevel(logging.CRITICAL + 1)
