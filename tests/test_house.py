"""Rules of the house that no other tool checks."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]

_ASSERTING = ("raises", "warns", "call_and_validate", "wait_for")


def parsed(folder: str) -> Iterator[tuple[str, ast.Module]]:
    for path in sorted((ROOT / folder).rglob("*.py")):
        yield str(path.relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8"))


def test_each_class_name_means_one_thing() -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path, tree in parsed("src"):
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_each_test_asserts_something() -> None:
    silent = [
        f"{path}::{node.name}"
        for path, tree in parsed("tests")
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
        if not any(_asserts(part) for part in ast.walk(node))
    ]
    assert silent == []


def _asserts(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return True
    called = node.func if isinstance(node, ast.Call) else None
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    return name in ("raises", "warns", "call_and_validate", "wait_for") or name.startswith(
        ("assert_", "check_", "judge")
    )


def test_what_make_check_leaves_out_is_there() -> None:
    left_out = (ROOT / "tests/left_out_of_check.txt").read_text(encoding="utf-8").split()
    assert [name for name in left_out if not (ROOT / "tests" / name).is_file()] == []
    assert left_out == sorted(set(left_out))
