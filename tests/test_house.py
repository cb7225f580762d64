"""Rules of the house that no other tool checks."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]

_ASSERTING = ("raises", "warns", "call_and_validate", "wait_for")


def parsed(folder: str, names: str = "*.py") -> Iterator[tuple[str, ast.Module]]:
    for path in sorted((ROOT / folder).rglob(names)):
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
    return name in _ASSERTING or name.startswith(("assert_", "check_", "judge"))


def test_no_loader_runs_code_of_a_checkpoint_or_asks_the_network_for_one() -> None:
    """``trust_remote_code`` left out means that transformers asks whether it may."""
    calls = [(path, node) for path, tree in parsed("src") for node in ast.walk(tree) if isinstance(node, ast.Call)]
    loading = [(path, node) for path, node in calls if _called(node) == "from_pretrained"]
    building = [(path, node) for path, node in calls if _called(node) == "from_config"]
    assert len(loading) >= 10
    assert [
        f"{path}:{node.lineno}" for path, node in loading + building if not _says(node, "trust_remote_code", False)
    ] == []
    assert [f"{path}:{node.lineno}" for path, node in loading if not _says(node, "local_files_only", True)] == []


def test_nothing_unpickles_but_where_it_is_known_what() -> None:
    """Readers that make plain data of a pickle, and tests that read what they have written themselves."""
    known = {
        "src/saccade/learner/shard_index.py",
        "src/saccade/tasks/datasets/pickles.py",
        "src/saccade/testing/ranks.py",
    }
    found = {
        path
        for path, tree in parsed("src")
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        if {"pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}
        & {*(alias.name for alias in node.names), getattr(node, "module", None)}
    }
    assert found <= known
    loads = [(path, node) for path, tree in parsed("src") for node in ast.walk(tree) if isinstance(node, ast.Call)]
    torch_loads = [(path, node) for path, node in loads if ast.unparse(node.func) == "torch.load"]
    assert len(torch_loads) >= 2
    assert [path for path, node in torch_loads if not _says(node, "weights_only", True)] == []


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""


def _says(node: ast.Call, name: str, value: bool) -> bool:
    return any(
        one.arg == name and isinstance(one.value, ast.Constant) and one.value.value is value for one in node.keywords
    )


def test_what_make_check_leaves_out_is_there() -> None:
    left_out = (ROOT / "tests/left_out_of_check.txt").read_text(encoding="utf-8").split()
    assert [name for name in left_out if not (ROOT / "tests" / name).is_file()] == []
    assert left_out == sorted(set(left_out))


def test_no_room_offers_a_name_that_one_of_its_modules_takes() -> None:
    """Python sets a module that is imported as an attribute of its package, over a function of that name."""
    taken = [
        f"{room}: {alias.name} of {node.module}"
        for room, tree in parsed("src", "__init__.py")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
        if _is_module(Path(room).parent / alias.name)
        # A module that the room imports itself has set its own attribute before the name replaces it.
        if not _is_module(ROOT / "src" / node.module.replace(".", "/") / alias.name)
        and (node not in tree.body or node.module.rpartition(".")[2] != alias.name)
    ]
    assert taken == []


def _is_module(path: Path) -> bool:
    return (ROOT / path).with_suffix(".py").is_file() or (ROOT / path / "__init__.py").is_file()
