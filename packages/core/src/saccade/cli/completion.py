"""What a shell completes: recipes, names of settings after ``--set``, families and presets."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import click
from click.shell_completion import CompletionItem

from saccade.atomic import write_bytes_atomic
from saccade.distribution import source_folders
from saccade.errors import SaccadeError
from saccade.plain_files import plain_bytes
from saccade.private_folders import cache_folder, private_folder

_Found = TypeVar("_Found", list[str], dict[str, list[str]])
_IS_NAME = re.compile(r"[a-z0-9_-]+(:[a-z0-9_]+)?")
"""Of shipped recipes."""


def recipe_items(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Shipped recipes, those beside a module's own (``ivgr:tiny``) once their module is written; else files."""
    from saccade.entry_points import offers_by_name

    names = (
        _find_cached("recipes", _recipe_names) if ":" not in incomplete else _find_cached("all-recipes", _all_recipes)
    )
    names = [*names, *offers_by_name("saccade.recipes", {})]
    return _beginning(names, incomplete) or [CompletionItem(incomplete, type="file")]


def setting_items(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The recipe's settings and those of the fleet, the engine and trackers, each with ``=``; what one takes after it.

    They are known once the recipe is written: ``saccade train questions --set rl.<TAB>``.
    """
    from saccade.config.engine import EngineChoice
    from saccade.config.fleet import FleetSettings
    from saccade.config.tracking import TrackingSettings

    found: dict[str, list[str]] = {}
    for name, kind in (("fleet", FleetSettings), ("engine", EngineChoice), ("tracking", TrackingSettings)):
        found |= {f"{name}.{key}": values for key, values in _values_by_key(kind).items()}
    if not incomplete.startswith(("fleet.", "engine.", "tracking.")):
        found |= _of_recipe(context)
    key, equals, _ = incomplete.partition("=")
    if equals:
        return _beginning([f"{key}={value}" for value in found.get(key, ())], incomplete)
    return _beginning([f"{name}=" for name in found], incomplete)


def family_items(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Families by name; files for those of one's own."""
    from saccade.tasks.family_names import SHIPPED, offered_families

    return _beginning([*SHIPPED, *offered_families()], incomplete) or [CompletionItem(incomplete, type="file")]


def preset_items(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Presets with what each is for."""
    from saccade.config.presets import presets

    return [CompletionItem(name, help=one.meaning) for name, one in presets().items() if name.startswith(incomplete)]


def _of_recipe(context: click.Context) -> Mapping[str, list[str]]:
    """The settings of the recipe that was written, or the command's own; none where it has none."""
    # An option that still lacks its value keeps click from reading arguments: they are left over.
    written = context.params.get("recipe") or next(iter(context.args), None)
    own = {"demo": "demo", "plan-memory": "questions", "eval": "evaluation"}
    name = own.get(context.info_name or "", written)
    # A file of one's own would be run for each press of the key.
    if not isinstance(name, str) or not _IS_NAME.fullmatch(name):
        return {}
    try:
        return _find_cached(f"settings-{name}", lambda: _settings_of(name))
    except SaccadeError:
        return {}


def _settings_of(name: str) -> dict[str, list[str]]:
    from saccade.config.context import RecipeContext
    from saccade.train.recipe_loading import load_recipe, settings_of

    return _values_by_key(type(settings_of(load_recipe(name), RecipeContext(model=Path("published")))))


def _recipe_names() -> list[str]:
    from saccade.train.recipe_loading import recipe_names

    return recipe_names()


def _all_recipes() -> list[str]:
    from saccade.train.recipe_loading import shipped_recipes

    return [name for name, _ in shipped_recipes()]


def _find_cached(name: str, find: Callable[[], _Found]) -> _Found:
    """What ``find`` gives, from a file of the user's own where this version of Saccade has looked before.

    Recipes import torch, which takes seconds; a press of a key should take none.
    """
    sources = (file for folder in source_folders() for file in folder.rglob("*.py"))
    seen = [(str(one), one.stat().st_mtime_ns) for one in sources]
    stamp = hashlib.sha256(repr(sorted(seen)).encode()).hexdigest()
    file = cache_folder("completion") / f"{name.replace(':', '-')}.json"
    with suppress(OSError, ValueError, LookupError, TypeError):
        kept: tuple[str, _Found] = json.loads(plain_bytes(file))
        if kept[0] == stamp:
            return kept[1]
    found = find()
    with suppress(OSError, SaccadeError), private_folder(file.parent):
        write_bytes_atomic(file, json.dumps((stamp, found)).encode())
    return found


def _values_by_key(kind: type) -> dict[str, list[str]]:
    from saccade.config.settings import setting_keys

    return {key: _values(annotation) for key, annotation in setting_keys(kind).items()}


def _values(annotation: object) -> list[str]:
    from typing import Literal, get_args, get_origin

    from saccade.config.setting_values import none_word

    kinds = [annotation, *get_args(annotation)]
    words = [str(word) for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]
    return [*words, *(["true", "false"] if bool in kinds else []), *([none_word(kinds)] if type(None) in kinds else [])]


def _beginning(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
