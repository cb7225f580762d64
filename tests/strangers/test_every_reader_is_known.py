"""No module of the source opens a file, or loads code, without being known here: a new reader must be watched too."""

import ast
from functools import cache

import pytest
from loaders import LOADERS
from readers import NATIVE, OTHERS, READ_BY

from places import source_files

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


@cache
def opening_modules() -> frozenset[str]:
    """Modules that call something that opens a file or loads code."""
    found = set()
    for module, path in source_files():
        nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
        own = {one.name for node in nodes if _is_of_plain_files(node) for one in node.names}
        if any(isinstance(node, ast.Call) and _opens(node.func, own) for node in nodes):
            found.add(module)
    return frozenset(found)


def _is_of_plain_files(node: ast.AST) -> bool:
    """Whether it imports functions that open files and never wait."""
    return isinstance(node, ast.ImportFrom) and node.module == "saccade.plain_files"


def _opens(called: ast.expr, own: set[str]) -> bool:
    if isinstance(called, ast.Name):
        return called.id in own or called.id in _CALLS or called.id in _BUILT_IN or "" in _OF.get(called.id, ())
    if not isinstance(called, ast.Attribute):
        return False
    return called.attr in _CALLS or (called.attr in _OF and ast.unparse(called.value) in _OF[called.attr])


def test_every_module_that_opens_something_says_who_watches_it() -> None:
    unknown = sorted(opening_modules() - READ_BY.keys() - OTHERS.keys())
    assert unknown == [], "add a reader to tests/strangers/loaders.py, and here"


def test_no_module_is_listed_that_opens_nothing_any_more() -> None:
    assert sorted((READ_BY.keys() | OTHERS.keys()) - opening_modules()) == []
    assert READ_BY.keys() & OTHERS.keys() == set()
    assert READ_BY.keys() >= NATIVE


@pytest.mark.parametrize("module", READ_BY)
def test_a_module_that_reads_what_strangers_made_names_its_reader(module: str) -> None:
    assert READ_BY[module] in LOADERS


def test_what_is_not_watched_has_a_reason() -> None:
    assert all(len(reason.split()) > 1 for reason in OTHERS.values())
