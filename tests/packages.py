"""The import-linter contract ``packages``: imports between the packages of ``packages.toml`` go the right way alone."""

import tomllib
from collections import Counter
from pathlib import Path

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output
from importlinter.application.contract_utils import AlertLevel, remove_ignored_imports_and_report


class Packages(Contract):
    """Each module is in one package, and imports what its package may."""

    type_name = "packages"

    table = fields.StringField()
    ignore_imports = fields.SetField(subfield=fields.ImportExpressionField(), required=False)

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Fails for wrong imports that are not ignored, ignored ones that are gone, and modules of no package."""
        remove_ignored_imports_and_report(graph, self.ignore_imports, AlertLevel.ERROR)  # type: ignore[arg-type]
        faults = wrong_imports(graph, Path(str(self.table)))
        return ContractCheck(kept=not faults, metadata={"faults": faults})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Each fault in a line, and counts by pair of packages."""
        faults: list[tuple[str, str]] = check.metadata["faults"]
        for pair, what in faults:
            output.print_error(f"{pair}: {what}")
        output.print_error(", ".join(f"{pair} {count}" for pair, count in Counter(p for p, _ in faults).most_common()))


def wrong_imports(graph: ImportGraph, table: Path) -> list[tuple[str, str]]:
    """``(importing -> imported package, the import)`` of each that is not allowed; unknown names of the table first."""
    read = tomllib.loads(table.read_text(encoding="utf-8"))
    homes = {f"saccade.{name}": package for package, names in read["modules"].items() for name in names.split()}

    def package_of(module: str) -> str:
        parts = module.split(".")
        named = (".".join(parts[:length]) for length in range(len(parts), 1, -1))
        return next((homes[one] for one in named if one in homes), "base" if not parts[1:] else "no package")

    faults = [("the table", f"there is no module {name}") for name in sorted(homes.keys() - graph.modules)]
    ours = {module for module in graph.modules if not graph.is_module_squashed(module)}
    for module in sorted(ours):
        own = package_of(module)
        for imported in sorted(graph.find_modules_directly_imported_by(module) & ours):
            other = package_of(imported)
            if other != own and other not in read["may_import"].get(own, ()):
                faults.append((f"{own} -> {other}", f"{module} -> {imported}"))
        if own == "no package":
            faults.append((own, f"{module} is not in the table"))
    return faults
