"""Sources of a run beside its settings: recipe, data and model, so that it is not resumed with others unnoticed."""

import ast
import difflib
import hashlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from saccade.atomic import disk_errors, write_bytes_atomic
from saccade.config.context import RecipeContext
from saccade.entry_points import Offer
from saccade.errors import UserError
from saccade.media.video import MAX_FRAMES
from saccade.own_code import own_file
from saccade.plain_files import open_plain, plain_text
from saccade.tasks.family_names import offer_of_family
from saccade.types import Json

DIFF_LINES = 60
_SHORT = 12
_HEX = re.compile(r"[0-9a-f]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class RecipeSource:
    """The Python files that a recipe was loaded from: its own and those it imports from its folder."""

    name: str
    """As the command line names the recipe, without the folder of its file."""
    files: Mapping[str, str]
    """Text of each file by its path below the recipe's folder."""
    package: str | None = None
    """The installed package that offers it."""

    @property
    def sha256(self) -> str:
        """A hash of what the files do: comments and layout do not count."""
        digest = hashlib.sha256()
        for name, text in sorted(self.files.items()):
            digest.update(f"{name}\0{_meaning(text)}\0".encode())
        return digest.hexdigest()

    def inputs(self) -> dict[str, str]:
        """The recipe's part of a run's settings."""
        package = {} if self.package is None else {"recipe_package": self.package}
        return {"recipe": self.name, "recipe_sha256": self.sha256, **package}

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
        if not _HEX.fullmatch(sha256):
            return f"({sha256[:80]!r} is no hash of a source)"
        folder = directory / sha256[:_SHORT]
        before = {str(path.relative_to(folder)): plain_text(path) for path in sorted(folder.rglob("*.py"))}
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
    return RecipeSource(name=name, files=_texts(found, folder))


def offered_source(offer: Offer) -> RecipeSource:
    """The source of what a package offers: every Python file of the package, or of its module, imported or not."""
    offer()
    module = offer.target.partition(":")[0]
    top = getattr(sys.modules[module.partition(".")[0]], "__file__", None) or sys.modules[module].__file__
    assert top is not None
    file = Path(top).resolve()
    found = set(file.parent.rglob("*.py")) if file.name == "__init__.py" else {file}
    return RecipeSource(name=offer.name, files=_texts(found, file.parent), package=offer.package)


def _texts(files: Iterable[Path], folder: Path) -> dict[str, str]:
    try:
        return {str(path.relative_to(folder)): plain_text(path) for path in sorted(files)}
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"the source in {folder} cannot be read: {error}") from error


def _is_installed(path: Path) -> bool:
    return "site-packages" in path.parts or "dist-packages" in path.parts


def _meaning(text: str) -> str:
    try:
        return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError):
        return text


def inputs_of(
    context: RecipeContext, others: Mapping[str, object] | None = None, families: Iterable[str] = ()
) -> dict[str, str]:
    """Places and hashes of ``--data``, ``--model`` and ``others`` of the command line, as far as they were given.

    A file of tasks is known by its content too, as is one of a task family of the user's own; a folder by its path
    alone.
    """
    found: dict[str, str] = {}
    if context.data is not None:
        found["data"] = _place(context.data)
        if context.data.is_file():
            found["data_sha256"] = _digest(context.data)
    if context.model is not None:
        found["model"] = _place(context.model)
    if context.env is not None:
        found["env"] = context.env
        if (file := own_file(context.env)) is not None and file.is_file():
            found["env_sha256"] = recipe_source(context.env, file).sha256
    if context.image_root is not None:
        found["image_root"] = _place(context.image_root)
    if context.max_frames != MAX_FRAMES:
        found["max_frames"] = str(context.max_frames)
    for name in ("answer_kind", "box_frame", "min_iou", "split"):
        if (value := getattr(context, name)) is not None:
            found[name] = str(value)
    if context.held_out is not None:
        found["held_out"] = _place(context.held_out)
        if context.held_out.is_file():
            found["held_out_sha256"] = _digest(context.held_out)
    for family in families:
        found |= family_inputs(family)
    return found | {name: str(value) for name, value in (others or {}).items() if value is not None}


def family_inputs(family: str) -> dict[str, str]:
    """The hash of a task family of the user's own, or of a package, by what its file does; nothing for one that ships.

    Of a package's also the package.
    """
    if offer := offer_of_family(family):
        return offered_inputs(f"family_{offer.name}", offer)
    file = own_file(family)
    if file is None:
        return {}
    from saccade.tasks.procedural import family_named

    name, _ = family_named(family)
    return {f"family_{name}_sha256": recipe_source(name, file).sha256}


def offered_inputs(key: str, offer: Offer) -> dict[str, str]:
    """What a run keeps of something that a package offers: a hash of its source, and the package."""
    return {f"{key}_sha256": offered_source(offer).sha256, f"{key}_package": offer.package}


def families_in(settings: Json) -> Iterator[str]:
    """All task families of the user's own, or of packages, that settings name."""
    if isinstance(settings, str):
        is_own = ".py:" in settings and own_file(settings) is not None
        if is_own or offer_of_family(settings) is not None:
            yield settings
    elif isinstance(settings, Mapping):
        for value in settings.values():
            yield from families_in(value)
    elif isinstance(settings, Sequence):
        for value in settings:
            yield from families_in(value)


def _place(path: Path) -> str:
    """The same from wherever the command is run; a name on the hub stays as it is."""
    return str(path.resolve()) if path.exists() else str(path)


def _digest(path: Path) -> str:
    try:
        with open_plain(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error
