"""Recipes by name: a function in a file of the user or one that ships, and its settings with what they mean."""

import dataclasses
import difflib
import importlib
import inspect
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from saccade.config.context import RecipeContext
from saccade.config.setting_values import describe
from saccade.config.settings import AskForSettings, SettingsAsked, required_settings, setting_keys, to_json
from saccade.config.sources import RecipeSource, offered_source, recipe_source
from saccade.entry_points import Offer, offers_by_name
from saccade.errors import UserError
from saccade.own_code import module_of_file, named_in
from saccade.types import Json

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from saccade.train.plan import Plan


SHIPPED = ("saccade.recipes", "saccade.miniature")
"""The packages whose modules hold recipes; those named in ``__all__`` hold one of their own name, or ``tiny``."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadedRecipe:
    """A recipe and where it came from."""

    function: "Callable[[RecipeContext], Plan]"
    name: str
    file: Path | None = None
    """Its file; None where a package offers it."""
    offer: Offer | None = None

    def __call__(self, context: RecipeContext) -> "Plan":
        return self.function(context)

    def source(self) -> RecipeSource:
        """Its file as it is now, with the modules beside it that were imported so far; of a package's all files."""
        if self.offer is not None:
            return offered_source(self.offer)
        assert self.file is not None
        return recipe_source(self.name, self.file)


def load_recipe(target: str) -> LoadedRecipe:
    """The recipe called ``FILE.py:function``, or the shipped one called ``name``, or ``name:function`` beside it.

    Or the one of this name that an installed package offers (entry points ``saccade.recipes``). Raises UserError that
    lists what is there when it is not found, and says what a recipe's shape is.
    """
    if (offer := offered_recipes().get(target)) is not None:
        place = f"the package {offer.package}, {offer.target}"
        return LoadedRecipe(function=_checked_recipe(offer(), place), name=target, offer=offer)
    module, function = _module_and_name(target)
    assert module.__file__ is not None
    file = Path(module.__file__)
    place = file.name if target.partition(":")[0].endswith(".py") else file.stem
    named = target.rpartition(":")[0] or target
    return LoadedRecipe(
        function=_checked_recipe(named_in(module, function, named, what="recipe", parameters=1), target),
        name=f"{place}:{function}",
        file=file,
    )


def _module_and_name(target: str) -> tuple[ModuleType, str]:
    """The module that holds the recipe, and the name of its function; empty where a file is named alone."""
    place, colon, function = target.rpartition(":")
    if target.endswith(".py"):
        place, function = target, ""
    if place.endswith(".py"):
        return module_of_file(Path(place), what="recipe"), function
    beside = place.replace("-", "_")
    if colon and beside in recipe_names():
        return _shipped_module(beside, function), function
    if colon:
        raise UserError(
            f"{target!r} is neither FILE.py:function nor the name of a recipe ({', '.join(recipe_names())})"
        )
    module = target.replace("-", "_")
    if module not in recipe_names():
        near = difflib.get_close_matches(module, recipe_names(), n=1)
        suggestion = f" Did you mean {near[0]}?" if near else ""
        raise UserError(
            f"there is no recipe {target!r}.{suggestion} Recipes: {', '.join((*recipe_names(), *offered_recipes()))}; "
            "one of your own is named FILE.py:function"
        )
    return _shipped_module(module, module), module


def recipe_names() -> list[str]:
    """The shipped recipes, in alphabetical order; nothing of them is imported."""
    return sorted({name for room in SHIPPED for name in importlib.import_module(room).__all__})


def offered_recipes() -> dict[str, Offer]:
    """The recipes of installed packages by name; none takes the name of a shipped one."""
    taken = recipe_names()
    return {
        name: offer
        for name, offer in offers_by_name("saccade.recipes", {}).items()
        if name.replace("-", "_") not in taken
    }


def offered_recipe_lines() -> list[tuple[str, str]]:
    """Every recipe of an installed package and what it is for, or why it cannot be used."""
    found = []
    for name, offer in offered_recipes().items():
        try:
            line = (inspect.getdoc(offer()) or "").partition("\n")[0]
            found.append((name, _without_marks(f"{line} (package {offer.package})")))
        except UserError as error:
            found.append((name, str(error)))
    return found


def _modules_of(name: str) -> list[ModuleType]:
    rooms = [room for room in SHIPPED if name in importlib.import_module(room).__all__]
    return [importlib.import_module(f"{room}.{name}") for room in rooms]


def _shipped_module(name: str, function: str) -> ModuleType:
    """The module of this name that has the function; the first of them where none has."""
    modules = _modules_of(name)
    return next((one for one in modules if hasattr(one, function)), modules[0])


def shipped_recipes() -> list[tuple[str, str]]:
    """Every shipped recipe and what it is for, those beside the module's own (``ivgr:tiny``) included."""
    found = []
    for name in recipe_names():
        modules = {one.__name__ for one in _modules_of(name)}
        for function, value in [pair for one in _modules_of(name) for pair in vars(one).items()]:
            if not inspect.isfunction(value) or value.__module__ not in modules or function.startswith("_"):
                continue
            hints = list(inspect.signature(value).parameters.values())
            if len(hints) == 1 and hints[0].annotation in (RecipeContext, "RecipeContext"):
                own = inspect.getmodule(value) if function == name else None
                lines = [(inspect.getdoc(one) or "").partition("\n")[0] for one in (own, value) if one is not None]
                found.append((name if function == name else f"{name}:{function}", _without_marks(" ".join(lines))))
    return found


def _checked_recipe(recipe: object, target: str) -> "Callable[[RecipeContext], Plan]":
    shape = "a recipe is a function of one argument: def recipe(context: RecipeContext) -> Plan"
    if not callable(recipe):
        raise UserError(f"{target} is not a function but {type(recipe).__name__}; {shape}")
    try:
        inspect.signature(recipe).bind(RecipeContext())
    except TypeError as error:
        raise UserError(f"{target}{inspect.signature(recipe)} cannot be called ({error}); {shape}") from None

    def checked_plan(context: RecipeContext) -> "Plan":
        plan = recipe(context)
        # After the recipe, which imports it too: it takes seconds, and a mistake is told before.
        from saccade.train.plan import Plan

        if not isinstance(plan, Plan):
            raise UserError(f"{target} returned {type(plan).__name__}, not a Plan; {shape}")
        return plan

    return checked_plan


@dataclass(frozen=True, kw_only=True, slots=True)
class SettingDoc:
    """One setting that ``--set`` changes."""

    key: str
    default: Json
    kind: str
    """Values that it takes, in words."""
    meaning: str
    """The line under its field; empty where the name says all."""
    once_set: Json = None
    """Of a setting in a group that is none: its value once another one of the group is set."""


def settings_of(recipe: LoadedRecipe, context: RecipeContext) -> "DataclassInstance":
    """The settings that the recipe begins with; nothing else of it is done. UserError when it has none."""
    asking = dataclasses.replace(context, overrides=AskForSettings())
    try:
        recipe.function(asking)
    except SettingsAsked as asked:
        return asked.settings
    raise UserError(f"{recipe.name} has no settings: it never calls apply_overrides(settings, context.overrides)")


def setting_docs(settings: "DataclassInstance") -> list[SettingDoc]:
    """Every setting in order of definition."""
    values, meanings = to_json(settings), dict(_meanings(type(settings), ""))
    return [
        SettingDoc(
            key=key,
            default=_value_at(values, key),
            kind=describe(annotation),
            meaning=_without_marks(meanings.get(key, "")),
            once_set=_value_once_set(type(settings), values, key),
        )
        for key, annotation in setting_keys(type(settings)).items()
    ]


def _without_marks(text: str) -> str:
    """Docstrings mark code twice; terminals and Markdown show it once."""
    return text.replace("``", "`")


def _value_at(values: Json, key: str) -> Json:
    """The value at a dotted key; None below a group that is None."""
    for name in key.split("."):
        values = values.get(name) if isinstance(values, Mapping) else None
    return values


def _value_once_set(kind: type, values: Json, key: str) -> Json:
    """As ``SettingDoc.once_set``; None where a setting of the group has no default."""
    name, _, rest = key.partition(".")
    if not rest:
        return None
    group, inner = _group_class(kind, name), _value_at(values, name)
    if inner is not None:
        return _value_once_set(group, inner, rest)
    return None if required_settings(group) else _value_at(to_json(group()), rest)


def _meanings(kind: type, prefix: str) -> Iterator[tuple[str, str]]:
    from saccade.codec.docs import field_docs

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
