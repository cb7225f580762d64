"""``--config FILE``: a command's options and settings from YAML, and the same of a command as it was given."""

import difflib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import click
from click.core import ParameterSource

from saccade.cli.completion import preset_items
from saccade.errors import UserError
from saccade.types import Json

Command = TypeVar("Command", bound=Callable[..., None])

_OVERRIDES = "saccade.config_overrides"
_PRESET = "saccade.preset"
_SHAPES = ("as_json", "as_yaml", "of_presets")
_NOT_KEPT = ("config", "overrides", "out", "resume", "accepted", "quiet", "retry_failed", *_SHAPES)
"""Options that say where and how a run goes on, not what it is."""


def config_option(command: Command) -> Command:
    """The option for a command; what the command line gives as well, and its ``--set``, win over the file."""
    return click.option(
        "--config",
        type=click.Path(path_type=Path),
        is_eager=True,
        expose_value=False,
        callback=_read,
        metavar="FILE.yaml",
        help="YAML file with settings by the keys of --set and, under `run:`, these options by name. Every run writes "
        "its own as config.yaml.",
    )(command)


def preset_option(command: Command) -> Command:
    """The option for a command; ``with_file`` puts its settings where they belong."""
    return click.option(
        "--preset",
        is_eager=True,
        expose_value=False,
        callback=_take_preset,
        metavar="NAME",
        shell_complete=preset_items,
        help="Settings that fit a model on a machine (`saccade settings --presets` lists them); --set wins over them.",
    )(command)


def _take_preset(context: click.Context, parameter: click.Parameter, name: str | None) -> None:
    if name is not None and not context.resilient_parsing:
        from saccade.config.presets import preset_called

        context.meta[_PRESET] = preset_called(name)


def with_file(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """The changes of settings by ``--config``, ``--preset`` and ``--set``; later ones win.

    A file that names its preset itself wins over it: a run's own file holds the preset and what was changed of it.
    """
    preset, in_file = context.meta.get(_PRESET), context.meta.get(_OVERRIDES, ())
    overrides = () if preset is None else preset.overrides
    if context.get_parameter_source("preset") is ParameterSource.COMMANDLINE:
        return (*in_file, *overrides, *given)
    return (*overrides, *in_file, *given)


def options_given(context: click.Context) -> dict[str, Json]:
    """The options of this command that were given, as the block ``run`` holds them; paths from wherever it is read."""
    preset = context.meta.get(_PRESET)
    found: dict[str, Json] = {} if preset is None else {"preset": preset.name}
    for name in _configurable_options(context):
        if name in context.params and context.get_parameter_source(name) not in (ParameterSource.DEFAULT, None):
            found[name] = _plain(context.params[name], is_recipe=name == "recipe")
    return found


def _read(context: click.Context, parameter: click.Parameter, path: Path | None) -> None:
    if path is None:
        return
    from saccade.config.config_file import read_config

    config = read_config(path)
    options = _configurable_options(context)
    given: dict[str, object] = {}
    for name, option in config.run.items():
        if name not in options:
            near = difflib.get_close_matches(name, options, n=1)
            meant = f" Did you mean {near[0]!r}?" if near else ""
            raise UserError(f"{option.place}: run has no key {name!r}.{meant} Known here: {', '.join(options)}")
        is_path = isinstance(options[name].type, click.Path) or (name == "recipe" and ".py" in str(option.value))
        values = [option.value] if isinstance(option.value, str) else option.value
        placed = [_from_folder(path.parent, text) if is_path else text for text in values]
        takes_many = getattr(options[name], "multiple", False)
        if not takes_many and len(placed) != 1:
            raise UserError(f"{option.place}: run.{name} must be one value, not {len(placed)}")
        try:
            for text in placed:
                options[name].type.convert(text, options[name], context)
        except click.BadParameter as error:
            raise UserError(f"{option.place}: run.{name}: {error.message}") from None
        given[name] = placed if takes_many else placed[0]
    context.default_map = {**(context.default_map or {}), **given}
    context.meta[_OVERRIDES] = config.overrides


def _configurable_options(context: click.Context) -> Mapping[str, click.Parameter]:
    return {one.name: one for one in context.command.params if one.name is not None and one.name not in _NOT_KEPT}


def _from_folder(folder: Path, text: str) -> str:
    """A relative path begins in the folder of the file that names it; names on the hub stay as they are."""
    from saccade.interop.hub import hub_name

    if text.startswith("hf:") or Path(text).expanduser().is_absolute():
        return text
    is_elsewhere = hub_name(text) is not None and not (folder / text).exists() and not (folder / text).parent.is_dir()
    return text if is_elsewhere else str(folder / text)


def _plain(value: object, *, is_recipe: bool) -> Json:
    if isinstance(value, tuple):
        return [_plain(one, is_recipe=False) for one in value]
    if isinstance(value, Path):
        return str(value.resolve()) if value.exists() else str(value)
    if is_recipe and isinstance(value, str) and ".py" in value:
        place, colon, function = (value, "", "") if value.endswith(".py") else value.rpartition(":")
        return f"{Path(place).resolve()}{colon}{function}"
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)
