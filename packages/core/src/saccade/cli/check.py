"""``saccade check`` names the damaged files of runs and checkpoints."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from saccade.cli import options
from saccade.cli.options import PATH

if TYPE_CHECKING:
    from saccade.runs.checking import CheckedFolder
    from saccade.types import Json

_SHOWN = 5


@click.command()
@click.argument("path", type=PATH, metavar="PATH")
@click.option(
    "--accept", "is_accepted", is_flag=True, help="Take the files as they are now for right: you changed them."
)
@options.as_json
@click.pass_context
def check(context: click.Context, path: Path, is_accepted: bool, as_json: bool) -> None:
    """Compare the files of a run, a checkpoint or a folder of runs with their checksums.

    The exit status is 1 where a file is damaged or missing.
    """
    from saccade.runs.checking import accept
    from saccade.runs.checking import check as checked

    if is_accepted:
        accept(path)
    found = []
    for one in checked(path):
        found.append(one)
        if not as_json:
            _tell(one)
    if as_json:
        click.echo(json.dumps([_values(one) for one in found], indent=2))
    context.exit(1 if any(one.damages for one in found) else 0)


def _tell(one: "CheckedFolder") -> None:
    from saccade.checksums import printable_name

    if not one.has_checksums:
        click.echo(f"{one.path}: no checksums; an earlier version or another program wrote it")
        return
    click.echo(f"{one.path}: {one.whole:,} files are whole ({one.bytes / 1e6:,.1f} MB in all)")
    for damage in one.damages:
        click.echo(f"  {damage}")
    if one.uncovered:
        more = f" and {len(one.uncovered) - _SHOWN:,} more" if len(one.uncovered) > _SHOWN else ""
        click.echo(f"  without a checksum: {', '.join(map(printable_name, one.uncovered[:_SHOWN]))}{more}")


def _values(one: "CheckedFolder") -> "dict[str, Json]":
    return {**asdict(one), "path": str(one.path)}
