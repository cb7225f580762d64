"""What a shell completes: recipes, names of settings after ``--set``, families and presets."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from saccade.errors import SaccadeError


def recipe_items(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Shipped recipes, those beside a module's own (``ivgr:tiny``) once their module is written; else files."""
    from saccade.train.recipe_loading import recipe_names, shipped_recipes

    names = recipe_names() if ":" not in incomplete else [name for name, _ in shipped_recipes()]
    return _beginning(names, incomplete) or [CompletionItem(incomplete, type="file")]


def setting_items(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The recipe's settings and those of the fleet, the engine and trackers, each with ``=``; what one takes after it.

    They are known once the recipe is written: ``saccade train questions --set rl.<TAB>``.
    """
    from saccade.config.engine import EngineChoice
    from saccade.config.fleet import FleetSettings
    from saccade.config.settings import setting_keys
    from saccade.config.tracking import TrackingSettings

    found: dict[str, object] = {}
    for name, kind in (("fleet", FleetSettings), ("engine", EngineChoice), ("tracking", TrackingSettings)):
        found |= {f"{name}.{key}": of for key, of in setting_keys(kind).items()}
    if not incomplete.startswith(("fleet.", "engine.", "tracking.")):
        found |= _of_recipe(context)
    key, equals, _ = incomplete.partition("=")
    if equals:
        return _beginning([f"{key}={value}" for value in _values(found.get(key))], incomplete)
    return _beginning([f"{name}=" for name in found], incomplete)


def family_items(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Families by name; files for those of one's own."""
    from saccade.tasks.family_names import SHIPPED, offered_families

    return _beginning([*SHIPPED, *offered_families()], incomplete) or [CompletionItem(incomplete, type="file")]


def gym_family_items(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The families that ``saccade families`` lists."""
    from saccade.gym.registry import gym_families

    return _beginning(gym_families(), incomplete)


def preset_items(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Presets with what each is for."""
    from saccade.config.presets import presets

    return [CompletionItem(name, help=one.meaning) for name, one in presets().items() if name.startswith(incomplete)]


def _of_recipe(context: click.Context) -> Mapping[str, object]:
    """The settings of the recipe that was written, or the command's own; none where it has none."""
    from saccade.config.context import RecipeContext
    from saccade.config.settings import setting_keys
    from saccade.train.recipe_loading import load_recipe, settings_of

    # An option that still lacks its value keeps click from reading arguments: they are left over.
    written = context.params.get("recipe") or next(iter(context.args), None)
    own = {"demo": "demo", "plan-memory": "questions", "eval": "evaluation"}
    name = own.get(context.info_name or "", written)
    # A file of one's own would be run for each press of the key.
    if not isinstance(name, str) or ".py" in name:
        return {}
    try:
        return setting_keys(type(settings_of(load_recipe(name), RecipeContext(model=Path("published")))))
    except SaccadeError:
        return {}


def _values(annotation: object) -> list[str]:
    from typing import Literal, get_args, get_origin

    kinds = [annotation, *get_args(annotation)]
    words = [str(word) for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]
    return [*words, *(["true", "false"] if bool in kinds else []), *(["none"] if type(None) in kinds else [])]


def _beginning(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
