"""From the process's arguments to its exit status; every error is one clear message."""

import os
import signal
import sys
import traceback
from typing import NoReturn

import click

from saccade.characters import shell_words
from saccade.cli.commands import saccade
from saccade.cli.shown import printable, shown_on, shown_output
from saccade.errors import SaccadeError, UserError, pip_command

USER_ERROR, MACHINE_ERROR, INTERRUPTED = 2, 3, 130
_OF_TRAINING = ("torch", "transformers", "tokenizers", "tensorboard")
"""Packages that the core has in its extra ``train``: the viewer, among others, needs none of them."""


def main() -> NoReturn:
    """Run the command of ``sys.argv`` and exit with its status."""
    # Ended by a scheduler, a run closes its files and says how to continue, as after Ctrl-C.
    signal.signal(signal.SIGTERM, _interrupt)
    sys.exit(run_command(sys.argv[1:]))


def _interrupt(signum: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


def run_command(arguments: list[str]) -> int:
    """Run one command; the exit status. Messages go to stderr, tracebacks only with ``SACCADE_TRACEBACK=1``."""
    try:
        with shown_output():
            status = saccade.main(args=arguments, prog_name="saccade", standalone_mode=False, obj=arguments)
    except click.ClickException as error:
        error.show(shown_on(sys.stderr))
        return USER_ERROR
    except UserError as error:
        return _report_failure(str(error), USER_ERROR)
    except SaccadeError as error:
        return _report_failure(str(error), MACHINE_ERROR)
    except (KeyboardInterrupt, click.Abort):
        return _report_failure(_interruption_text(arguments), INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has left; Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        return _report_os_error(error)
    except ModuleNotFoundError as error:
        if error.name not in _OF_TRAINING:
            raise
        cure = pip_command("saccade-core", "train")
        return _report_failure(f"this command needs {error.name}, which is not installed; run {cure}", USER_ERROR)
    return status if isinstance(status, int) else 0


def _report_os_error(error: OSError) -> int:
    """A place that cannot be written, or a full disk, where the command itself had no word for it."""
    from saccade.atomic import disk_error

    # A file that should be there and is not is our mistake, whose traceback is wanted.
    told = None if isinstance(error, FileNotFoundError) else disk_error(error)
    if told is None:
        raise error
    return _report_failure(str(told), USER_ERROR if isinstance(told, UserError) else MACHINE_ERROR)


def _report_failure(message: str, status: int) -> int:
    if os.environ.get("SACCADE_TRACEBACK") == "1":
        traceback.print_exc()
    click.echo(f"saccade: {printable(message)}", err=True)
    return status


def _interruption_text(arguments: list[str]) -> str:
    if not arguments or arguments[0] not in ("demo", "train", "eval", "curate"):
        return "stopped"
    again = arguments if "--resume" in arguments else [*arguments, "--resume"]
    return f"stopped; continue with: saccade {shell_words(*again)}"
