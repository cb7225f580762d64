"""What a run was made from beside its settings, so that it is not resumed with something else."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from saccade.config.context import RecipeContext
from saccade.config.recipe_source import recipe_source
from saccade.errors import UserError
from saccade.tasks.procedural import family_named, own_family_file
from saccade.types import Json


def inputs_of(
    context: RecipeContext, others: Mapping[str, object] | None = None, families: Iterable[str] = ()
) -> dict[str, str]:
    """What ``--data`` and ``--model`` stand for, and ``others`` of the command line; nothing for what was not given.

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
    if context.image_root is not None:
        found["image_root"] = _place(context.image_root)
    for family in families:
        found |= family_inputs(family)
    return found | {name: str(value) for name, value in (others or {}).items() if value is not None}


def family_inputs(family: str) -> dict[str, str]:
    """The hash of a task family of the user's own, by what its file does; nothing for one that ships."""
    file = own_family_file(family)
    if file is None:
        return {}
    name, _ = family_named(family)
    return {f"family_{name}_sha256": recipe_source(name, file).sha256}


def families_in(settings: Json) -> Iterator[str]:
    """All task families of the user's own that settings name."""
    if isinstance(settings, str):
        if ".py:" in settings and own_family_file(settings) is not None:
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
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error
