"""Rules of the house that no other tool checks."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from places import ROOT, source_file, source_files
from planted import FAULTS

_ASSERTING = ("raises", "warns", "call_and_validate", "wait_for")


def parsed(files: Iterable[tuple[str, Path]]) -> Iterator[tuple[str, ast.Module]]:
    for name, path in files:
        yield name, ast.parse(path.read_text(encoding="utf-8"))


Nodes = Sequence[tuple[str, Sequence[ast.AST]]]
"""Of each file of the source, its module first."""


@pytest.fixture(scope="module")
def source() -> Nodes:
    """Parsed and walked once: that takes longer than all that is looked for."""
    return [(path, list(ast.walk(tree))) for path, tree in parsed(source_files())]


def test_each_class_name_means_one_thing(source: Nodes) -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path, nodes in source:
        for node in ast.iter_child_nodes(nodes[0]):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def files_of_tests() -> list[Path]:
    return [file for tests in ("tests", "packages/*/tests") for file in sorted(ROOT.glob(f"{tests}/**/*.py"))]


def test_each_test_asserts_something() -> None:
    silent = [
        f"{path}::{node.name}"
        for path, tree in parsed((str(file.relative_to(ROOT)), file) for file in files_of_tests())
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


def test_no_loader_runs_code_of_a_checkpoint_or_asks_the_network_for_one(source: Nodes) -> None:
    """``trust_remote_code`` left out means that transformers asks whether it may."""
    calls = [(path, node) for path, nodes in source for node in nodes if isinstance(node, ast.Call)]
    loading = [(path, node) for path, node in calls if _called(node) == "from_pretrained"]
    building = [(path, node) for path, node in calls if _called(node) == "from_config"]
    assert len(loading) >= 10
    assert [
        f"{path}:{node.lineno}" for path, node in loading + building if not _says(node, "trust_remote_code", False)
    ] == []
    assert [f"{path}:{node.lineno}" for path, node in loading if not _says(node, "local_files_only", True)] == []


def test_nothing_unpickles_but_where_it_is_known_what(source: Nodes) -> None:
    """Readers that make plain data of a pickle, and tests that read what they have written themselves."""
    known = {
        "learner/shard_index.py",
        "tasks/datasets/pickles.py",
        "testing/ranks.py",
    }
    found = {
        path
        for path, nodes in source
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        if {"pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}
        & {*(alias.name for alias in node.names), getattr(node, "module", None)}
    }
    assert found <= known
    loads = [(path, node) for path, nodes in source for node in nodes if isinstance(node, ast.Call)]
    torch_loads = [
        (path, node) for path, node in loads if _called(node) == "load" and ast.unparse(node.func) == "torch.load"
    ]
    assert len(torch_loads) >= 2
    assert [path for path, node in torch_loads if not _says(node, "weights_only", True)] == []


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""


def _says(node: ast.Call, name: str, value: bool) -> bool:
    return any(
        one.arg == name and isinstance(one.value, ast.Constant) and one.value.value is value for one in node.keywords
    )


def test_no_two_test_files_have_one_name() -> None:
    """pytest imports a test file by its name alone where its folder is no package, and refuses the second."""
    names = Counter(path.name for path in files_of_tests() if path.name.startswith("test_"))
    assert len(names) > 100
    assert not [name for name, count in names.items() if count > 1]


def test_what_make_check_leaves_out_is_there() -> None:
    left_out = (ROOT / "tests/left_out_of_check.txt").read_text(encoding="utf-8").split()
    assert [name for name in left_out if not (ROOT / name).is_file()] == []
    assert left_out == sorted(set(left_out))


def test_each_planted_fault_fits_one_place_and_names_tests_that_are_there() -> None:
    assert [one for one in FAULTS if source_file(one.file).read_text("utf-8").count(one.old) != 1] == []
    assert [one.tests for one in FAULTS if not (ROOT / one.tests).is_file()] == []


def test_no_room_offers_a_name_that_one_of_its_modules_takes() -> None:
    """Python sets a module that is imported as an attribute of its package, over a function of that name."""
    taken = [
        f"{room}: {alias.name} of {node.module}"
        for room, tree in parsed(source_files("__init__.py"))
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
        if _is_module(f"{Path(room).parent}/{alias.name}")
        # A module that the room imports itself has set its own attribute before the name replaces it.
        if not _is_module(f"{node.module.removeprefix('saccade.').replace('.', '/')}/{alias.name}")
        and (node not in tree.body or node.module.rpartition(".")[2] != alias.name)
    ]
    assert taken == []


def _is_module(name: str) -> bool:
    return any(path for end in (".py", "/__init__.py") for path in ROOT.glob(f"packages/*/src/saccade/{name}{end}"))


_OWN_FILES = (
    # What runs inside of walls of its own, tests with, or measures.
    "sandbox/",
    "testing/",
    "bench/",
    # Files that came with the package, or that this process has just written.
    "entry_points.py",
    "faces.py",
    "config/presets.py",
    "evaluation/audit/golden.py",
    "evaluation/benchmarks/published_record.py",
    "gym/tagged_photos.py",
    "gym/golden.py",
    "gym/looks/",
    "interop/exports/bundle.py",
    "interop/exports/packages.py",
    "readers/diagrams/ink.py",
    "services/images.py",
    "services/workers/worker.py",
    "viewer/app/assets.py",
    "viewer/app/summaries.py",
    "viewer/exported.py",
    "viewer/scripts.py",
    "native/library.py",
    "engines/vllm/server.py",
    "engines/weights.py",
    # Checkpoints: ``check_plain_below`` has looked through the folder.
    "models/loading.py",
    "models/lora.py",
    "models/shape.py",
    "vision_models/checkpoints.py",
    "vision_models/page_encoders.py",
    "learner/state_files.py",
    # Pictures and videos in memory, and a file that is open already.
    "media/video.py",
    "recipes/evaluation_pixels.py",
    "plain_files.py",
)
_OPENING = (
    "read_text",
    "read_bytes",
    "ParquetFile",
    "memory_map",
    "load_file",
    "safe_open",
    "load_workbook",
)


def test_files_that_strangers_may_have_laid_out_are_opened_by_one_module(source: Nodes) -> None:
    """A FIFO or a device in the place of a file would hold any other reader for ever."""
    found = [
        f"{path}:{node.lineno}: {ast.unparse(node)[:60]}"
        for path, nodes in source
        if not path.startswith(_OWN_FILES)
        for node in nodes
        if isinstance(node, ast.Call) and _opens(node) and "check_plain(" not in ast.unparse(node)
    ]
    assert found == []


def _opens(node: ast.Call) -> bool:
    """Whether the call opens a file to read it, as far as its form tells."""
    called = node.func
    if isinstance(called, ast.Name):
        return called.id in ("open", *_OPENING[2:])
    if not isinstance(called, ast.Attribute):
        return False
    if called.attr in _OPENING:
        return True
    if called.attr not in ("open", "load"):
        return False
    of = ast.unparse(called.value)
    if called.attr == "open":
        modes = [one.value for one in node.args[:1] if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        is_text = not modes and any(
            word.arg in ("encoding", "buffering", "newline", "errors") for word in node.keywords
        )
        return is_text or of in ("Image", "io") or any(not set(mode) & set("wax+") for mode in modes)
    return of in ("np", "numpy", "torch", "json", "tomllib")
