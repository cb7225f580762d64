"""Faces of rooms: a package offers names of its modules and imports each on its first use (PEP 562).

A room's ``__init__`` writes its imports once, below ``if TYPE_CHECKING``: type checkers and import-linter read them
there, and ``names_on_use`` reads them in the compiled module, where they stand though they never run. A face therefore
costs nothing until a name is used, and loads torch only with a name that needs it. Names whose modules are in another
part of Saccade are offered by that part (``saccade.faces`` of ``saccade.offers``: names by module).
"""

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import CodeType


def names_on_use(room: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """``__getattr__`` (which also gives ``__all__``) and ``__dir__`` of the package ``room``.

    A name must differ from those of the room's modules: Python sets a module that was imported as an attribute of its
    package, and a name like it would then mean the module.
    """
    written = sys._getframe(1).f_code

    @cache
    def homes() -> dict[str, str]:
        return _imported_homes(written)

    def get(name: str) -> object:
        if name == "__all__":
            return sorted(homes())
        home = homes().get(name) or _offered_homes(room).get(name)
        if home is None:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        found: object = getattr(import_module(home), name)
        setattr(sys.modules[room], name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[room]), *homes(), *_offered_homes(room)})

    return get, names


def _offered_homes(room: str) -> dict[str, str]:
    """The module of each name that parts of Saccade offer for the room."""
    from saccade.entry_points import own_targets

    by_module = own_targets("saccade.faces").items()
    return {name: module for module, names in by_module if module.rpartition(".")[0] == room for name in names.split()}


def _imported_homes(written: CodeType) -> dict[str, str]:
    """The module of each name that the module imports from another, of those that never ran too."""
    from dis import get_instructions

    homes: dict[str, str] = {}
    home = ""
    for step in get_instructions(written):
        if step.opname == "IMPORT_NAME":
            home = step.argval
        elif step.opname == "IMPORT_FROM" and home not in ("typing", "pkgutil", __name__):
            homes[step.argval] = home
    return homes
