"""What a run was made from beside its settings, so that it is not resumed with something else."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from saccade.config.context import RecipeContext
from saccade.errors import UserError


def inputs_of(context: RecipeContext, others: Mapping[str, object] | None = None) -> dict[str, str]:
    """What ``--data`` and ``--model`` stand for, and ``others`` of the command line; nothing for what was not given.

    A file of tasks is known by its content too; a folder by its path alone.
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
    return found | {name: str(value) for name, value in (others or {}).items() if value is not None}


def _place(path: Path) -> str:
    """The same from wherever the command is run; a name on the hub stays as it is."""
    return str(path.resolve()) if path.exists() else str(path)


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error
