"""Faces of rooms: a package offers names of its modules and imports each on its first use (PEP 562).

A room's ``__init__`` writes its imports once, below ``if TYPE_CHECKING``: type checkers and import-linter read them
there, and so does ``names_on_use``. A face therefore costs nothing until a name is used, and loads torch only with a
name that needs it.
"""

import ast
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path


def names_on_use(room: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of the package ``room``.

    A name must differ from those of the room's modules: Python sets a module that was imported as an attribute of its
    package, and a name like it would then mean the module.
    """

    def get(name: str) -> object:
        home = _homes(room).get(name)
        if home is None:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        found: object = getattr(import_module(home), name)
        setattr(sys.modules[room], name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[room]), *_homes(room)})

    return get, names


@cache
def _homes(room: str) -> dict[str, str]:
    """The module of each name that the room's ``if TYPE_CHECKING`` block imports."""
    source = Path(sys.modules[room].__path__[0], "__init__.py").read_text(encoding="utf-8")
    return {
        alias.name: imported.module
        for block in ast.parse(source).body
        if isinstance(block, ast.If)
        for imported in block.body
        if isinstance(imported, ast.ImportFrom) and imported.module is not None
        for alias in imported.names
    }
