"""``saccade recipes`` and ``saccade settings``: what can be trained, and what can be set of it, before a run."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from saccade.cli import completion, options
from saccade.cli.config_option import options_given
from saccade.cli.machine import existing, prepare_machine
from saccade.cli.options import PATH
from saccade.cli.unread_options import refuse_unread

if TYPE_CHECKING:
    from saccade.train.recipe_loading import SettingDoc
    from saccade.types import Json


@click.command()
@options.as_json
def recipes(as_json: bool) -> None:
    """List the recipes that ship with Saccade, and those of installed packages."""
    prepare_machine(None)
    from saccade.train.recipe_loading import offered_recipe_lines, shipped_recipes

    found = [*shipped_recipes(), *offered_recipe_lines()]
    if as_json:
        click.echo(json.dumps([{"name": name, "meaning": line} for name, line in found], indent=1))
        return
    formatter = click.get_current_context().make_formatter()
    formatter.write_dl(found)
    click.echo(formatter.getvalue())
    click.echo("saccade settings RECIPE lists what can be set; saccade train RECIPE --out DIR runs it.")


@click.command()
@click.argument("recipe", metavar="FILE.py:FUNCTION|NAME", required=False, shell_complete=completion.recipe_items)
@click.option("--data", type=PATH, help="As for saccade train, if the defaults depend on it.")
@click.option("--model", type=PATH, help="As for saccade train, if the defaults depend on it.")
@click.option("--yaml", "as_yaml", is_flag=True, help="Write a file for `saccade train FILE.yaml`, with meanings.")
@click.option("--presets", "of_presets", is_flag=True, help="List what --preset takes, instead of RECIPE's settings.")
@options.as_json
def settings(
    recipe: str | None, data: Path | None, model: Path | None, as_yaml: bool, of_presets: bool, as_json: bool
) -> None:
    """List the settings of a recipe: default, the paper's value, meaning."""
    if (recipe is None) != of_presets or (as_yaml and (as_json or of_presets)):
        raise click.UsageError("give RECIPE, and --yaml or --json with it, or --presets")
    if recipe is None:
        refuse_unread("with --presets", "data", "model")
        _tell_presets(as_json=as_json)
        return
    prepare_machine(None)
    from saccade.config.context import RecipeContext
    from saccade.recipes.paper_values import PAPER_VALUES
    from saccade.train.recipe_loading import load_recipe, setting_docs, settings_of

    loaded = load_recipe(recipe)
    context = RecipeContext(data=existing("--data", data), model=existing("--model", model, is_loaded=False))
    found = setting_docs(settings_of(loaded, context))
    place, _, function = loaded.name.partition(":")
    papers = PAPER_VALUES.get(place, {}) if function == place else {}
    larger: dict[str, Json] = {}
    if model is None and function == place:
        # No weights are there, so the recipe takes it for a published model.
        other = setting_docs(settings_of(loaded, dataclasses.replace(context, model=Path("published"))))
        larger = {one.key: there.default for one, there in zip(found, other) if one.default != there.default}
    if as_yaml:
        from saccade.cli.settings_file import settings_file

        click.echo(
            settings_file(found, options_given(click.get_current_context()), papers=papers, larger=larger), nl=False
        )
        return
    if as_json:
        click.echo(json.dumps([_as_json(one, papers, larger) for one in found], indent=1))
        return
    if larger:
        click.echo("Defaults for the tiny base model; [larger models: ...] for published ones, where they differ.\n")
    for one in found:
        differs = f"   [larger models: {_value(larger[one.key])}]" if one.key in larger else ""
        click.echo(_setting_text(one, papers.get(one.key), differs))


def _tell_presets(*, as_json: bool) -> None:
    from saccade.config.presets import presets

    if as_json:
        click.echo(json.dumps([dataclasses.asdict(one) for one in presets().values()], indent=1))
        return
    for one in presets().values():
        click.echo(f"{one.name}: {one.meaning}")
        for setting in one.settings:
            click.echo(f"    --set {setting}")
    click.echo("\nsaccade train RECIPE --preset NAME takes one; --set wins over it.")


def _as_json(setting: "SettingDoc", papers: Mapping[str, str], larger: "Mapping[str, Json]") -> "Json":
    return {
        "key": setting.key,
        "default": setting.default,
        "takes": setting.kind,
        "paper": papers.get(setting.key),
        **({"larger_models": larger[setting.key]} if setting.key in larger else {}),
        **({} if setting.once_set is None else {"once_set": setting.once_set}),
        "meaning": setting.meaning,
    }


def _value(value: "Json") -> str:
    return "none" if value is None else json.dumps(value)


def _setting_text(setting: "SettingDoc", paper: str | None, differs: str) -> str:
    line = f"{setting.key} = {_value(setting.default)}{differs}"
    if setting.once_set is not None:
        line += f"   [once {setting.key.rpartition('.')[0]} is set: {_value(setting.once_set)}]"
    if paper is not None:
        line += f"   [paper: {paper}]"
    said = f"{setting.meaning} " if setting.meaning else ""
    return f"{line}\n    {said}({setting.kind})"
