"""``saccade curate tools``: linguistic tools learned from a run's right trajectories; ``tools-diff`` compares two."""

import json
from pathlib import Path

import click

from saccade.cli.running import PATH, existing, log_to_stderr, prepare_machine


@click.command("tools")
@click.argument("run", type=PATH)
@click.option("--stage", metavar="NAME", help="Use only this stage or evaluation; by default all of training.")
@click.option(
    "--curator",
    default="policy",
    show_default=True,
    help="Model that names steps: URL of a server (http://host/v1), a checkpoint directory, or the run's own policy.",
)
@click.option("--curator-model", help="The curator's model name at its server.")
@click.option("--k", type=click.IntRange(min=1), default=7, show_default=True, help="Number of tools in the toolbox.")
@click.option(
    "--api-key-env", default="OPENAI_API_KEY", show_default=True, help="Environment variable with the server's key."
)
@click.option("--out", type=PATH, required=True, metavar="FILE", help="JSON file to write the toolbox to.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change a setting. Repeatable.")
@click.option("--resume", is_flag=True, help="Continue the curation of this file; nothing is asked twice.")
@click.option("--threads", type=click.IntRange(min=1), help="CPU threads, by default 1.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def tools(
    run: Path,
    stage: str | None,
    curator: str,
    curator_model: str | None,
    k: int,
    api_key_env: str,
    out: Path,
    seed: int,
    overrides: tuple[str, ...],
    resume: bool,
    threads: int | None,
    quiet: bool,
) -> None:
    """Curate linguistic tools, which are named ways of looking, from a run's right trajectories.

    The curator reads right trajectories one by one and rewrites each as tool uses. It reuses tools that it has named
    before where they fit, and names new ones where none does. The most frequent tools become the toolbox.
    """
    prepare_machine(threads)
    log_to_stderr(is_quiet=quiet)
    from saccade.curation.linguistic_tools.run import ToolCurationRequest, curate_run_tools

    found = existing("RUN", run)
    assert found is not None
    curated = curate_run_tools(
        ToolCurationRequest(
            run=found,
            stage=stage,
            curator=curator,
            model=curator_model,
            api_key_env=api_key_env,
            k=k,
            out=out,
            seed=seed,
            overrides=overrides,
            resume=resume,
        )
    )
    click.echo(curated.describe(), nl=False)
    click.echo(f"Toolbox: {out}")


@click.command("tools-diff")
@click.argument("first", type=PATH)
@click.argument("second", type=PATH)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
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
        click.echo(json.dumps([one.as_json() for one in found], indent=2, ensure_ascii=False))
    else:
        click.echo("\n".join(comparison_lines(found)))
