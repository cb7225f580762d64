"""Extras that looks need: the message where one is missing."""

from importlib.util import find_spec

from saccade.errors import UserError, install_command
from saccade.gym.rendering import Renderer


def missing_modules(renderer: Renderer) -> tuple[str, ...]:
    """The modules that a look needs and that are not installed."""
    return tuple(name for name in renderer.modules if find_spec(name) is None)


def check_extra(renderer: Renderer) -> None:
    """``UserError`` where the look's extra is not installed."""
    if missing := missing_modules(renderer):
        raise UserError(f"the look {renderer.name!r} needs {', '.join(missing)}; run {install_command(renderer.extra)}")
