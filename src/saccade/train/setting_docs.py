"""The settings of a recipe with what they mean: defaults from the values, meanings from the lines under the fields."""

import ast
import dataclasses
import inspect
import itertools
import textwrap
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from saccade.config.context import RecipeContext
from saccade.config.setting_values import describe
from saccade.config.settings import AskForSettings, SettingsAsked, setting_keys, to_json
from saccade.errors import UserError
from saccade.train.recipe_loading import LoadedRecipe
from saccade.types import Json

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(frozen=True, kw_only=True, slots=True)
class SettingDoc:
    """One setting that ``--set`` changes."""

    key: str
    default: Json
    kind: str
    """What values it takes."""
    meaning: str
    """The line under its field; empty where the name says all."""


def settings_of(recipe: LoadedRecipe, context: RecipeContext) -> "DataclassInstance":
    """The settings that the recipe begins with; nothing else of it is done. UserError when it has none."""
    asking = dataclasses.replace(context, overrides=AskForSettings())
    try:
        recipe.function(asking)
    except SettingsAsked as asked:
        return asked.settings
    raise UserError(f"{recipe.name} has no settings: it never calls apply_overrides(settings, context.overrides)")


def documented(settings: "DataclassInstance") -> list[SettingDoc]:
    """Every setting in order of definition."""
    values, meanings = to_json(settings), dict(_meanings(type(settings), ""))
    return [
        SettingDoc(key=key, default=_value_at(values, key), kind=describe(annotation), meaning=meanings.get(key, ""))
        for key, annotation in setting_keys(type(settings)).items()
    ]


def _value_at(values: Json, key: str) -> Json:
    """The value at a dotted key; None below a group that is None."""
    for name in key.split("."):
        values = values.get(name) if isinstance(values, Mapping) else None
    return values


def _meanings(kind: type, prefix: str) -> Iterator[tuple[str, str]]:
    lines = field_docs(kind)
    keys = setting_keys(kind)
    for field in dataclasses.fields(kind):
        yield f"{prefix}{field.name}", lines.get(field.name, "")
        if any(key.startswith(f"{field.name}.") for key in keys):
            group = _group_class(kind, field.name)
            yield from _meanings(group, f"{prefix}{field.name}.")


def _group_class(kind: type, name: str) -> type:
    annotation = typing.get_type_hints(kind)[name]
    members = (annotation, *typing.get_args(annotation))
    return next(one for one in members if isinstance(one, type) and dataclasses.is_dataclass(one))


def field_docs(kind: type) -> dict[str, str]:
    """The text under each field of a dataclass, its bases' included, on one line each."""
    found: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        if dataclasses.is_dataclass(one):
            found |= _own_field_docs(one)
    return found


def _own_field_docs(kind: type) -> dict[str, str]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError, SyntaxError):
        # A class made at run time has no source.
        return {}
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    docs: dict[str, str] = {}
    for field, below in itertools.pairwise(body):
        if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
            continue
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str):
            docs[field.target.id] = " ".join(below.value.value.split())
    return docs
