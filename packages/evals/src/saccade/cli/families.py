"""``saccade families``: the task families that ship, with their programs, looks and what each needs."""

from typing import TYPE_CHECKING

import click

from saccade.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from saccade.gym.family import GymFamily


def _shown_items(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    from saccade.gym.registry import gym_families

    return [name for name in gym_families() if name.startswith(incomplete)]


@click.command()
@click.argument("names", nargs=-1, metavar="[FAMILY]...", shell_complete=_shown_items)
@click.option("--domain", help="List only families of this domain.")
@click.option("--json", "is_json", is_flag=True, help="Write one JSON object a line.")
@click.option(
    "--markdown",
    "is_page",
    is_flag=True,
    help="Write a Markdown page with a row for each family, like docs/gym_families.md.",
)
def families(names: tuple[str, ...], domain: str | None, is_json: bool, is_page: bool) -> None:
    """List task families: domain, programs, looks, extra, and whether they need a closer look.

    Every option that takes a family takes each of these, or a part of one:
    `FAMILY[/PROGRAM][@LOOK][?AXIS=LEVEL&expert=KIND&unanswerable=SHARE]`.
    """
    import json

    from saccade.gym.listing import as_json, as_page, as_text, summary
    from saccade.gym.registry import DOMAINS

    if domain is not None and domain not in DOMAINS:
        raise UserError(f"--domain {domain}: no such domain; use one of {', '.join(DOMAINS)}")
    shown = [family for family in _chosen(names) if domain in (None, family.domain)]
    if is_json:
        for family in shown:
            click.echo(json.dumps(as_json(family)))
        return
    if is_page:
        click.echo(as_page(shown), nl=False)
        return
    for family in shown:
        click.echo(as_text(family, with_programs=bool(names)))
    click.echo(summary(shown))


def _chosen(names: tuple[str, ...]) -> "Sequence[GymFamily]":
    from saccade.gym.registry import gym_families

    known = gym_families()
    if unknown := [name for name in names if name not in known]:
        raise UserError(f"no family {unknown[0]!r} in the gym; the families are {', '.join(known)}")
    return [known[name] for name in names or known]
