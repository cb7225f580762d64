"""The command line. It reads arguments, calls one function, and turns errors into messages.

Everything heavy is imported inside the commands, so that ``saccade --help`` is instant.
"""

from pkgutil import extend_path

from saccade.cli.entry import main, run_command
from saccade.cli.machine import prepare_machine

__path__ = extend_path(__path__, __name__)

__all__ = ["main", "prepare_machine", "run_command"]
