"""The faces of rooms: every name that a room offers is there, is explained, and is loaded on its first use only."""

import ast
import inspect
import json
import pkgutil
import subprocess
import sys
from importlib import import_module

import pytest

import saccade
from saccade.entry_points import own_targets
from saccade.train import Plan

ROOMS = [room.name for room in pkgutil.walk_packages(saccade.__path__, "saccade.") if room.ispkg]
LAZY = [room for room in ROOMS if "names_on_use" in vars(import_module(room))]


def offered(room: str) -> list[str]:
    names: list[str] = getattr(import_module(room), "__all__", [])
    return names


def test_every_room_says_what_it_is_for() -> None:
    assert [room for room in ROOMS if not import_module(room).__doc__] == []


def test_every_name_of_a_room_is_there_and_explained() -> None:
    unexplained = []
    for room in ROOMS:
        face = import_module(room)
        for name in offered(room):
            found = getattr(face, name) if name in dir(face) else import_module(f"{room}.{name}")
            if (inspect.isclass(found) or inspect.isroutine(found) or inspect.ismodule(found)) and not found.__doc__:
                unexplained.append(f"{room}.{name}")
    assert unexplained == []


def test_no_name_that_a_room_loads_on_its_use_is_one_of_its_modules() -> None:
    clashes = {
        room: set(offered(room)) & {module.name for module in pkgutil.iter_modules(import_module(room).__path__)}
        for room in LAZY
    }
    assert {room: names for room, names in clashes.items() if names} == {}


def test_a_room_offers_just_what_it_imports_for_type_checkers() -> None:
    for room in LAZY:
        block = next(
            node for node in ast.parse(inspect.getsource(import_module(room))).body if isinstance(node, ast.If)
        )
        written = [alias for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names]
        assert sorted(alias.name for alias in written) == offered(room)
        assert [alias.name for alias in written] == [alias.asname for alias in written]


def test_an_unknown_name_is_an_error_that_names_the_room() -> None:
    with pytest.raises(AttributeError, match=r"module 'saccade.train' has no attribute 'Plam'"):
        _ = import_module("saccade.train").Plam


def test_a_name_is_the_one_of_its_module() -> None:
    assert Plan is import_module("saccade.train.plan").Plan
    assert "RLStage" in dir(import_module("saccade.train"))


def test_names_that_another_part_offers_for_a_face_are_those_of_its_modules() -> None:
    for home, names in own_targets("saccade.faces").items():
        room = home.rpartition(".")[0]
        assert not set(names.split()) - set(dir(import_module(room)))
        assert all(getattr(import_module(room), name) is getattr(import_module(home), name) for name in names.split())


def test_the_faces_load_no_torch_and_no_module_of_their_rooms() -> None:
    eager = {room for room in ROOMS if room not in LAZY}
    rooms = [room for room in LAZY if not eager & set(with_parents(room))]
    script = f"import json, sys; [__import__(room) for room in {rooms!r}]; print(json.dumps(list(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    loaded = set(json.loads(shown))
    assert not loaded & {"torch", "transformers"}
    assert [name for name in loaded if name.rpartition(".")[0] in LAZY and name not in LAZY] == []


def with_parents(room: str) -> list[str]:
    parts = room.split(".")
    return [".".join(parts[:end]) for end in range(2, len(parts) + 1)]
