"""The import-linter contract ``packages``: imports between the packages of ``packages.toml`` go the right way alone."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class Packages(Contract):
    """Each module is in one package, and imports what its package may."""

    type_name = "packages"

    table = fields.StringField()

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Fails for wrong imports, names of the table that no module has, and modules of no package."""
        faults = wrong_imports(graph, Path(str(self.table)))
        return ContractCheck(kept=not faults, metadata={"faults": faults})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Each fault in a line."""
        for pair, what in check.metadata["faults"]:
            output.print_error(f"{pair}: {what}")


def homes_of(table: Path) -> dict[str, str]:
    """The package of each name of the table."""
    named: dict[str, str] = tomllib.loads(table.read_text(encoding="utf-8"))["modules"]
    return {f"saccade.{name}": package for package, names in named.items() for name in names.split()}


def package_of(module: str, homes: Mapping[str, str]) -> str:
    """The package of a module, or "no package"."""
    parts = module.split(".")
    named = (".".join(parts[:length]) for length in range(len(parts), 1, -1))
    return next((homes[one] for one in named if one in homes), "base" if not parts[1:] else "no package")


def wrong_imports(graph: ImportGraph, table: Path) -> list[tuple[str, str]]:
    """``(importing -> imported package, the import)`` of each that is not allowed; unknown names of the table first."""
    allowed, homes = tomllib.loads(table.read_text(encoding="utf-8"))["may_import"], homes_of(table)
    faults = [("the table", f"there is no module {name}") for name in sorted(homes.keys() - graph.modules)]
    ours = {module for module in graph.modules if not graph.is_module_squashed(module)}
    for module in sorted(ours):
        own = package_of(module, homes)
        for imported in sorted(graph.find_modules_directly_imported_by(module) & ours):
            other = package_of(imported, homes)
            if other != own and other not in allowed.get(own, ()):
                faults.append((f"{own} -> {other}", f"{module} -> {imported}"))
        if own == "no package":
            faults.append((own, f"{module} is not in the table"))
    return faults
