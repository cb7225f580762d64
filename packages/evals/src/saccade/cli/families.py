"""``saccade families``: task families of the gym and of packages, with their programs, looks and what each needs."""

import inspect
from typing import TYPE_CHECKING

import click

from saccade.cli.unread_options import refuse_unread
from saccade.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from saccade.entry_points import Offer
    from saccade.gym.family import GymFamily
    from saccade.gym.interactive.interactive_family import InteractiveFamily


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
    chosen, offered = _chosen_families(names)
    shown = [family for family in chosen if domain in (None, family.domain)]
    if is_page:
        refuse_unread("with --markdown", "is_json")
        click.echo(as_page(shown), nl=False)
        return
    for family in shown:
        click.echo(json.dumps(as_json(family)) if is_json else as_text(family, with_programs=bool(names)))
    for offer in offered if domain is None else ():
        about = _about(offer)
        of_package = {"name": offer.name, "about": about, "package": offer.package}
        click.echo(json.dumps(of_package) if is_json else f"{offer.name}: {about}\n    package {offer.package}")
    for played in _interactive_families(names) if domain is None else ():
        axes = ", ".join(played.axes)
        as_one = {"name": played.name, "about": played.about, "axes": list(played.axes), "env": f"gym:{played.name}"}
        line = f"{played.name}: {played.about}\n    interactive, played by --env gym:{played.name}; axes: {axes}"
        click.echo(json.dumps(as_one) if is_json else line)
    if not is_json and (shown or not names):
        click.echo(summary(shown))


def _chosen_families(names: tuple[str, ...]) -> "tuple[Sequence[GymFamily], Sequence[Offer]]":
    """The families of the gym and those of packages that are named, or all of them."""
    from saccade.gym.interactive.registry import INTERACTIVE
    from saccade.gym.registry import gym_families
    from saccade.tasks.family_names import offered_families

    known, offered = gym_families(), offered_families()
    if unknown := [name for name in names if name not in {*known, *offered, *INTERACTIVE}]:
        raise UserError(f"no family {unknown[0]!r} in the gym; the families are {', '.join((*known, *offered))}")
    wanted = names or (*known, *offered)
    return [known[name] for name in wanted if name in known], [offered[name] for name in wanted if name in offered]


def _interactive_families(names: tuple[str, ...]) -> "Sequence[InteractiveFamily]":
    from saccade.gym.interactive.registry import INTERACTIVE

    return [family for name, family in INTERACTIVE.items() if not names or name in names]


def _about(offer: "Offer") -> str:
    """What a family of a package draws, in a line; or why it cannot be used."""
    try:
        family = offer()
    except UserError as error:
        return str(error)
    about = getattr(family, "about", None) or inspect.getdoc(family) or ""
    return str(about).partition("\n")[0]
