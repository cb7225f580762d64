"""The source of a recipe, kept with its run, so that a run is not resumed with an edited one unnoticed."""

import ast
import difflib
import hashlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from saccade.atomic import disk_errors, write_bytes_atomic
from saccade.errors import UserError

DIFF_LINES = 60
_SHORT = 12


@dataclass(frozen=True, kw_only=True, slots=True)
class RecipeSource:
    """The Python files that a recipe was loaded from: its own and those it imports from its folder."""

    name: str
    """As the command line names the recipe, without the folder of its file."""
    files: Mapping[str, str]
    """Text of each file by its path below the recipe's folder."""

    @property
    def sha256(self) -> str:
        """A hash of what the files do: comments and layout do not count."""
        digest = hashlib.sha256()
        for name, text in sorted(self.files.items()):
            digest.update(f"{name}\0{_meaning(text)}\0".encode())
        return digest.hexdigest()

    def inputs(self) -> dict[str, str]:
        """What the run's settings say of the recipe."""
        return {"recipe": self.name, "recipe_sha256": self.sha256}

    def save(self, directory: Path) -> None:
        """Write the files below ``directory``, in a folder named by their hash; nothing where it is there."""
        folder = directory / self.sha256[:_SHORT]
        for name, text in self.files.items():
            path = folder / name
            if not path.exists():
                with disk_errors(path):
                    path.parent.mkdir(parents=True, exist_ok=True)
                write_bytes_atomic(path, text.encode())

    def difference(self, directory: Path, sha256: str) -> str:
        """The changed lines from the version that a run saved below ``directory`` to this one."""
        folder = directory / sha256[:_SHORT]
        before = {str(path.relative_to(folder)): path.read_text("utf-8") for path in sorted(folder.rglob("*.py"))}
        if not before:
            return f"(the earlier source is not in {folder})"
        lines: list[str] = []
        for name in sorted(before.keys() | self.files.keys()):
            old, new = before.get(name, ""), self.files.get(name, "")
            lines += difflib.unified_diff(
                old.splitlines(), new.splitlines(), f"{name} of the run", f"{name} now", lineterm="", n=1
            )
        if len(lines) > DIFF_LINES:
            lines = [*lines[:DIFF_LINES], f"... and {len(lines) - DIFF_LINES} more lines"]
        return "\n".join(lines)


def recipe_source(name: str, file: Path) -> RecipeSource:
    """The source of the recipe in ``file``, with the loaded modules that lie in its folder or below.

    Modules of installed packages are not part of it, even where an environment lies in that folder. UserError for a
    file that cannot be read.
    """
    folder = file.resolve().parent
    found = {file.resolve()}
    for module in list(sys.modules.values()):
        origin = getattr(module, "__file__", None)
        # Some modules of torch name files that nowhere exist.
        if isinstance(origin, str) and origin.endswith(".py") and Path(origin).is_file():
            path = Path(origin).resolve()
            if path.is_relative_to(folder) and not _is_installed(path):
                found.add(path)
    try:
        files = {str(path.relative_to(folder)): path.read_text("utf-8") for path in sorted(found)}
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file}: the recipe's source cannot be read: {error}") from error
    return RecipeSource(name=name, files=files)


def _is_installed(path: Path) -> bool:
    return "site-packages" in path.parts or "dist-packages" in path.parts


def _meaning(text: str) -> str:
    try:
        return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError):
        return text
