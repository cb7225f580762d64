"""Options of ``saccade curate``'s commands: models by role, and what every curation has."""

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import click

from saccade.cli import options
from saccade.cli.unread_options import refuse_unread

if TYPE_CHECKING:
    from saccade.curation.requests import NamedModel

WHO = "URL of a server (http://host/v1), or a checkpoint directory"


class CurationOptions(TypedDict):
    """Values of the options that every curation has, by the names of ``CurationRequest``."""

    models: "Mapping[str, NamedModel]"
    api_key_env: str
    out: Path
    seed: int
    overrides: tuple[str, ...]
    resume: bool


def curation_options(
    roles: Mapping[str, str],
    *,
    first: str,
    default: str | None = None,
    out: str = "Folder of the examples.",
    resume: str = "Continue the curation in --out; nothing is asked twice.",
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The options of a curation; ``roles`` says what each model does, and ``first`` is the one that must be there."""
    named = [option for role, does in roles.items() for option in _model_options(role, does, role == first, default)]
    shared = options.together(
        *named,
        options.api_key_env,
        options.out_option(out),
        options.seed,
        options.overrides,
        click.option("--resume", is_flag=True, help=resume),
        options.threads,
        options.quiet,
    )

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def with_models(**given: object) -> None:
            models = {role: _named_model(role, given) for role in roles}
            command(models={role: model for role, model in models.items() if model is not None}, **given)

        return shared(with_models)

    return decorated


def _model_options(
    role: str, does: str, is_first: bool, default: str | None
) -> tuple[Callable[[options.Command], options.Command], ...]:
    name = click.option(f"--{role}-model", help=f"The model's name at the server of --{role}.")
    if is_first and default is not None:
        return click.option(f"--{role}", default=default, show_default=True, help=does), name
    return click.option(f"--{role}", required=is_first, help=does), name


def _named_model(role: str, given: dict[str, object]) -> "NamedModel | None":
    """The model of a role, taken out of the values of the options."""
    from saccade.curation.requests import NamedModel

    option = role.replace("-", "_")
    where, name = given.pop(option), given.pop(f"{option}_model")
    if where is None:
        refuse_unread(f"without --{role}", f"{option}_model")
        return None
    return NamedModel(str(where), None if name is None else str(name))
