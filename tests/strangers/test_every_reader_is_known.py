"""No module of the source opens a file, or loads code, without being known here: a new reader must be watched too."""

import ast
from collections.abc import Iterator

import pytest
from loaders import LOADERS

from places import source_files
from readers import NATIVE, OTHERS, READ_BY

_CALLS = frozenset(
    [
        "open",
        "fdopen",
        "read_text",
        "read_bytes",
        "load_file",
        "safe_open",
        "from_pretrained",
        "read_table",
        "ParquetFile",
        "ZipFile",
        "PdfDocument",
        "load_from_disk",
        "load_dataset",
        "load_dataset_builder",
        "load_workbook",
        "memory_map",
        "open_stream",
        "memmap",
        "fromfile",
        "import_module",
        "spec_from_file_location",
        "open_file",
        "CDLL",
        "load_library",
        "FileSystemReader",
        "from_file",
        "SentenceTransformer",
        "tofile",
        "run_path",
        "metadata_load",
    ]
)
_OF = {
    "load": ("np", "numpy", "torch", "pickle", "json", "yaml", "tomllib", ""),
    "loads": ("pickle", "marshal"),
    "connect": ("sqlite3",),
}
"""Calls of a common name, which count after these modules alone; "" is the bare name."""
_BUILT_IN = ("exec", "eval", "compile", "__import__")


def opening_modules() -> Iterator[tuple[str, str]]:
    """Modules that call something that opens a file or loads code, with one of its names."""
    for module, path in source_files():
        tree = ast.parse(path.read_text("utf-8"))
        own = {one.name for node in ast.walk(tree) if _is_of_plain_files(node) for one in node.names}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and (name := _opening(node.func, own)):
                yield module, name


def _is_of_plain_files(node: ast.AST) -> bool:
    """Whether it imports functions that open files and never wait."""
    return isinstance(node, ast.ImportFrom) and node.module == "saccade.plain_files"


def _opening(called: ast.expr, own: set[str]) -> str:
    if isinstance(called, ast.Name):
        known = called.id in own or called.id in _CALLS or called.id in _BUILT_IN or "" in _OF.get(called.id, ())
        return called.id if known else ""
    if isinstance(called, ast.Attribute):
        of = ast.unparse(called.value)
        return called.attr if called.attr in _CALLS or of in _OF.get(called.attr, ()) else ""
    return ""


def test_every_module_that_opens_something_says_who_watches_it() -> None:
    found = {module for module, _ in opening_modules()}
    assert sorted(found - READ_BY.keys() - OTHERS.keys()) == [], "add a reader to tests/strangers/loaders.py, and here"


def test_no_module_is_listed_that_opens_nothing_any_more() -> None:
    found = {module for module, _ in opening_modules()}
    assert sorted((READ_BY.keys() | OTHERS.keys()) - found) == []
    assert READ_BY.keys() & OTHERS.keys() == set()
    assert READ_BY.keys() >= NATIVE


@pytest.mark.parametrize("module", READ_BY)
def test_a_module_that_reads_what_strangers_made_names_its_reader(module: str) -> None:
    assert READ_BY[module] in LOADERS


def test_what_is_not_watched_has_a_reason() -> None:
    assert all(len(reason.split()) > 1 for reason in OTHERS.values())
