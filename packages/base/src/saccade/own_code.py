"""Python files of the user's own: the module of a file, and what it holds under a name."""

import difflib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from saccade.errors import SaccadeError, UserError

_PREFIX = "saccade_custom_"


def module_of_file(path: Path, *, what: str) -> ModuleType:
    """Runs the file as a module; ``what`` says in messages what is sought in it: ``recipe``.

    ``UserError`` names the line of the file that raised. The file may import its neighbours.
    """
    if not path.is_file():
        raise UserError(f"there is no {what} file {path}; check the path (it is looked for from {Path.cwd()})")
    name = f"{_PREFIX}{what.replace(' ', '_')}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and type hints look their module up by name.
    sys.modules[name] = module
    sys.path.insert(0, str(path.resolve().parent))
    with errors_of_own(path):
        spec.loader.exec_module(module)
    return module


@contextmanager
def errors_of_own(path: Path, hint: str = "") -> Iterator[None]:
    """Makes what the user's file raises inside, which may be anything at all, a ``UserError`` with its line there."""
    try:
        yield
    except SaccadeError:
        raise
    except Exception as error:
        said = error.msg if isinstance(error, SyntaxError) else str(error)
        if isinstance(error, ImportError) and error.name == "saccade":
            said += "; names are in modules of saccade: from saccade.types import Task; Box is in saccade.geometry"
        raise UserError(f"{_place_of(error, path)}: {type(error).__name__}: {said}{hint}") from error


def file_of_own(value: object) -> Path | None:
    """The file of the user's own in which a function, or the class of an object, is defined; None for any other."""
    defined = value if hasattr(value, "__qualname__") else type(value)
    name = getattr(defined, "__module__", "")
    file = getattr(sys.modules.get(name), "__file__", None) if name.startswith(_PREFIX) else None
    return Path(file) if isinstance(file, str) else None


def own_file(name: str) -> Path | None:
    """The file of ``FILE.py:NAME`` or ``FILE.py``; None for any other text."""
    place = name if name.endswith(".py") else name.rpartition(":")[0]
    return Path(place) if place.endswith(".py") else None


def named_in(module: ModuleType, name: str, place: str, *, what: str, parameters: int) -> object:
    """The object that the module at ``place`` calls so.

    ``UserError`` lists its functions of so many ``parameters`` when there is no such thing.
    """
    functions = [
        other
        for other, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not other.startswith("_")
        if len(inspect.signature(value).parameters) == parameters
    ]
    listed = f"functions there: {', '.join(functions)}" if functions else "it has no functions"
    if not name:
        example = functions[0] if functions else what.rpartition(" ")[2]
        raise UserError(f"{place} is a file; name the {what} in it, as in {place}:{example} ({listed})")
    if not hasattr(module, name):
        near = difflib.get_close_matches(name, functions, n=1)
        suggestion = f" Did you mean {near[0]}?" if near else ""
        raise UserError(f"{place} has no function {name!r}.{suggestion} ({listed})")
    return getattr(module, name)


def _place_of(error: Exception, path: Path) -> str:
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}"
    frames = [one for one in traceback.extract_tb(error.__traceback__) if Path(one.filename) == path.absolute()]
    return f"{path}:{frames[-1].lineno}" if frames else str(path)
