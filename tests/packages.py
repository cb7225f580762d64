"""The import-linter contract ``packages``: a package imports those that its pyproject.toml names, and no other."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, output
from tests.places import ROOT, SOURCES


class Packages(Contract):
    """Modules import modules of their own package and of those that it depends on."""

    type_name = "packages"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Fails for wrong imports."""
        faults = wrong_imports(graph, homes(), dependencies())
        return ContractCheck(kept=not faults, metadata={"faults": faults})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Each fault in a line."""
        for pair, what in check.metadata["faults"]:
            output.print_error(f"{pair}: {what}")


@cache
def homes() -> dict[str, str]:
    """The package of each module, by the folder that its file lies in."""
    found = {}
    for source in SOURCES:
        for file in source.glob("saccade/**/*.py"):
            found[".".join(file.relative_to(source).with_suffix("").parts).removesuffix(".__init__")] = (
                source.parent.name
            )
    return found


@cache
def dependencies() -> dict[str, frozenset[str]]:
    """Packages of Saccade that each of them needs, by its pyproject.toml."""
    return {
        source.parent.name: frozenset(
            found[1]
            for need in project(source.parent.name)["dependencies"]
            if (found := re.match(r"saccade-(\w+)", need))
        )
        for source in SOURCES
    }


def project(package: str) -> dict[str, list[str]]:
    """The table ``project`` of a package's pyproject.toml."""
    text = (ROOT / "packages" / package / "pyproject.toml").read_text(encoding="utf-8")
    table: dict[str, list[str]] = tomllib.loads(text)["project"]
    return table


def wrong_imports(
    graph: ImportGraph, homes: Mapping[str, str], allowed: Mapping[str, frozenset[str]]
) -> list[tuple[str, str]]:
    """``(importing -> imported package, the import)`` of each that is not allowed."""
    faults = []
    for module in sorted(graph.modules & homes.keys()):
        own = homes[module]
        for imported in sorted(graph.find_modules_directly_imported_by(module) & homes.keys()):
            if homes[imported] not in (own, *allowed[own]):
                faults.append((f"{own} -> {homes[imported]}", f"{module} -> {imported}"))
    return faults
