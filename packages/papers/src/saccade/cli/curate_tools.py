"""``saccade curate tools``: linguistic tools learned from a run's right trajectories; ``tools-diff`` compares two."""

from pathlib import Path
from typing import Unpack

import click

from saccade.cli import options
from saccade.cli.curate_options import WHO, CurationOptions, curation_options
from saccade.cli.machine import existing
from saccade.cli.options import PATH
from saccade.codec.codecs import plain_json
from saccade.strict_json import strict_json


@click.command("tools")
@click.argument("run", type=PATH)
@click.option("--stage", metavar="NAME", help="Use only this stage or evaluation; by default all of training.")
@click.option("--k", type=click.IntRange(min=1), default=7, show_default=True, help="Number of tools in the toolbox.")
@curation_options(
    {"curator": f"Model that names steps: {WHO}, or the run's own policy."},
    first="curator",
    default="policy",
    out="JSON file to write the toolbox to.",
    resume="Continue the curation of this file; nothing is asked twice.",
)
def tools(run: Path, stage: str | None, k: int, **curation: Unpack[CurationOptions]) -> None:
    """Curate linguistic tools, which are named ways of looking, from a run's right trajectories.

    The curator reads right trajectories one by one and rewrites each as tool uses. It reuses tools that it has named
    before where they fit, and names new ones where none does. The most frequent tools become the toolbox.
    """
    from saccade.curation.linguistic_tools.run import ToolCurationRequest, curate_run_tools

    found = existing("RUN", run)
    assert found is not None
    curated = curate_run_tools(ToolCurationRequest(run=found, stage=stage, k=k, **curation))
    click.echo(curated.describe(), nl=False)
    click.echo(f"Toolbox: {curation['out']}")


@click.command("tools-diff")
@click.argument("first", type=PATH)
@click.argument("second", type=PATH)
@options.as_json
def tools_diff(first: Path, second: Path, as_json: bool) -> None:
    """Compare the tools of FIRST and SECOND: runs that curated a toolbox, or files of toolboxes.

    Tools with the same name or nearly the same description count as one. If a curation is recorded, its whole pool is
    compared, with the right trajectories that use each tool.
    """
    from saccade.curation.linguistic_tools.comparison import compared_tools, comparison_lines, pooled_tools

    for name, path in (("FIRST", first), ("SECOND", second)):
        existing(name, path)
    found = compared_tools(pooled_tools(first), pooled_tools(second))
    if as_json:
        click.echo(strict_json([plain_json(one) for one in found], indent=2, ensure_ascii=False))
    else:
        click.echo("\n".join(comparison_lines(found)))
