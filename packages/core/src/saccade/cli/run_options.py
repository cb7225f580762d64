"""The options of every command that starts a run."""

import functools
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypedDict, cast

import click

from saccade.cli import completion, options
from saccade.cli.config_option import config_option, with_file
from saccade.cli.options import Command
from saccade.errors import UserError

_PACKAGE = re.compile(r"[A-Za-z0-9._-]{1,100}")


class RunOptions(TypedDict):
    """Values of the options that say where and how a run goes on."""

    out: Path
    resume: bool
    accepted: tuple[str, ...]
    threads: int
    quiet: bool
    deterministic: bool


def run_options(*, default_out: Path | None) -> Callable[[Command], Command]:
    """The options of every command that starts a run."""
    return options.together(
        config_option,
        options.out_option("Directory of the run.", default=default_out),
        click.option(
            "--seed",
            type=click.IntRange(min=0),
            default=0,
            show_default=True,
            help="The same seed gives the same bytes.",
        ),
        click.option(
            "--set",
            "overrides",
            multiple=True,
            metavar="KEY=VALUE",
            callback=with_file,
            shell_complete=completion.setting_items,
            help="Change a setting. Repeatable.",
        ),
        click.option(
            "--deterministic",
            is_flag=True,
            help="The same bytes twice on a GPU too, and the same bits in engine and learner: "
            "model.deterministic=true, model.batch_invariant=true.",
        ),
        click.option("--resume", is_flag=True, help="Continue the run in --out from its last checkpoint."),
        click.option(
            "--accept-change",
            "accepted",
            multiple=True,
            metavar="KEY",
            help="With --resume: continue although this setting has changed (recipe: its source). Repeatable.",
        ),
        options.thread_count,
        click.option("--quiet", is_flag=True, help="Show no progress."),
        _naming_missing_packages,
    )


def _naming_missing_packages(command: Command) -> Command:
    """A resumed run that lacks something of a package which is not installed here says so."""

    @functools.wraps(command)
    def run(**given: object) -> object:
        try:
            return command(**given)
        except UserError as error:
            missing = _missing_packages(Path(str(given["out"]))) if given["resume"] else []
            if not missing:
                raise
            lacking = f"the run was started with the package {', '.join(missing)}, which is not installed here"
            raise UserError(f"{error}; {lacking}") from error

    return cast("Command", run)


def _missing_packages(out: Path) -> list[str]:
    """Packages that a run's settings name (``recipe_package``, ...) and that are not installed."""
    from importlib.metadata import PackageNotFoundError, distribution

    from saccade.runs.runinfo import RunPaths, read_json_object

    try:
        inputs = read_json_object(RunPaths(root=out).settings).get("inputs")
    except UserError:
        return []
    named = inputs.items() if isinstance(inputs, Mapping) else ()
    packages = {value for key, value in named if key.endswith("_package") and isinstance(value, str)}
    missing = []
    for package in sorted(filter(_PACKAGE.fullmatch, packages)):
        try:
            distribution(package)
        except PackageNotFoundError:
            missing.append(package)
    return missing
