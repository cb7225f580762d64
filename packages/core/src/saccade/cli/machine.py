"""What commands do before anything heavy: threads, messages on standard error, paths that must be there, browsers."""

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from saccade.cli.shown import printable
from saccade.errors import MachineError, SaccadeError, UserError
from saccade.heartbeat import Heart, phase

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


def existing(option: str, path: Path | None, *, is_loaded: bool = True) -> Path | None:
    """The path itself, a shipped checkpoint, or the hub's cache of what ``--model`` or ``--data`` name there.

    A model's configuration is looked at, on the hub before its weights are fetched, which one that ``is_loaded`` needs.
    UserError when what is given is none of these, or a model that would not be loaded.
    """
    if path is None:
        return None
    if path.exists():
        if option == "--model" and is_loaded:
            _look_at_model(path)
        return path
    text = str(path)
    if option == "--model" and text.startswith("saccade:"):
        from saccade.models.checkpoint import shipped_checkpoint

        return shipped_checkpoint(text)
    if option in _DATA and text.startswith("hf:"):
        return path  # Read by the library `datasets`.
    if option in ("--model", *_DATA) and (name := _name_on_hub(text)) is not None:
        return _fetch(option, name, is_loaded=is_loaded)
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


def _look_at_model(path: Path) -> None:
    from saccade.models.loading import check_model

    check_model(path)


def _fetch(option: str, name: "HubName", *, is_loaded: bool, is_base: bool = False) -> Path:
    from saccade.interop.hub import CONFIGURATION, fetch_repository, fetched_data

    def of_hub(fetch: Callable[[], Path]) -> Path:
        try:
            return fetch()
        except SaccadeError as error:
            kind = UserError if isinstance(error, UserError) else MachineError
            raise kind(f"{option} {name}: there is no such file or folder here, and {error}") from error

    if option != "--model":
        return of_hub(lambda: fetched_data(name))
    folder = of_hub(lambda: fetch_repository(name, "model", only=CONFIGURATION))
    if not is_base:
        # One that is an adapter itself is refused below.
        _fetch_base(folder, is_loaded=is_loaded)
    _look_at_model(folder)
    return of_hub(lambda: fetch_repository(name, "model")) if is_loaded else folder


def _fetch_base(folder: Path, *, is_loaded: bool) -> None:
    """Fetches the base of an adapter that came from the hub, where it is there too."""
    from saccade.models.lora import ADAPTER_CONFIG, named_base

    if (folder / ADAPTER_CONFIG).is_file():
        base = _name_on_hub(named_base(folder))
        if base is not None:
            _fetch("--model", base, is_loaded=is_loaded, is_base=True)


def open_in_browser(address: str) -> None:
    """Opens the address where there is a desktop: elsewhere xdg-open complains, or takes the terminal for a browser."""
    if sys.platform != "linux" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        click.launch(address)


@contextmanager
def telling_of_waits(what: str) -> Iterator[None]:
    """Inside, standard error has a line on what is done once it lasts (``saccade.heartbeat``)."""
    heart = Heart(lambda words: click.echo(printable(f"saccade: {words}"), err=True))
    with heart.beating(), phase(lambda: what):
        yield


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
            # Not by click, whose own wrapper goes past the bar's stream and writes into its line.
            print(printable(self.format(record)), file=sys.stderr, flush=True)
        except (OSError, ValueError):
            self.setLevel(logging.CRITICAL + 1)
