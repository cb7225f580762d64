"""``saccade recipes`` and ``saccade settings``: what can be trained, and what can be set of it, before a run."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from saccade.cli import options
from saccade.cli.machine import existing, prepare_machine
from saccade.cli.options import PATH

if TYPE_CHECKING:
    from saccade.train.recipe_loading import SettingDoc


@click.command()
def recipes() -> None:
    """List the recipes that ship with Saccade."""
    prepare_machine(None)
    from saccade.train.recipe_loading import shipped_recipes

    found = shipped_recipes()
    width = max(len(name) for name, _ in found)
    for name, line in found:
        click.echo(f"{name:<{width}}  {line}")
    click.echo("\nsaccade settings RECIPE lists what can be set; saccade train RECIPE --out DIR runs it.")


@click.command()
@click.argument("recipe", metavar="FILE.py:FUNCTION|NAME")
@click.option("--data", type=PATH, help="As for saccade train, if the defaults depend on it.")
@click.option("--model", type=PATH, help="As for saccade train, if the defaults depend on it.")
@options.as_json
def settings(recipe: str, data: Path | None, model: Path | None, as_json: bool) -> None:
    """List the settings of a recipe: default, the paper's value, meaning."""
    prepare_machine(None)
    from saccade.config.context import RecipeContext
    from saccade.recipes.paper_values import PAPER_VALUES
    from saccade.train.recipe_loading import documented, load_recipe, settings_of

    loaded = load_recipe(recipe)
    context = RecipeContext(data=existing("--data", data), model=existing("--model", model))
    found = documented(settings_of(loaded, context))
    place, _, function = loaded.name.partition(":")
    papers = PAPER_VALUES.get(place, {}) if function == place else {}
    if as_json:
        rows = [
            {
                "key": one.key,
                "default": one.default,
                "takes": one.kind,
                "paper": papers.get(one.key),
                "meaning": one.meaning,
            }
            for one in found
        ]
        click.echo(json.dumps(rows, indent=1))
        return
    for one in found:
        click.echo(_shown(one, papers.get(one.key)))


def _shown(setting: "SettingDoc", paper: str | None) -> str:
    value = "none" if setting.default is None else json.dumps(setting.default)
    line = f"{setting.key} = {value}"
    if paper is not None:
        line += f"   [paper: {paper}]"
    said = f"{setting.meaning} " if setting.meaning else ""
    return f"{line}\n    {said}({setting.kind})"
