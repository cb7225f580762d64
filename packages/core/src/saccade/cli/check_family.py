"""``saccade check-family`` tries a checkpoint's model family against transformers' own classes."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from saccade.cli import options
from saccade.cli.machine import existing, prepare_machine
from saccade.cli.options import PATH


@click.command("check-family")
@click.argument("model", type=PATH, metavar="DIR")
@options.as_json
@click.pass_context
def check_family(context: click.Context, model: Path, as_json: bool) -> None:
    """Check that Saccade runs the model of a checkpoint DIR as transformers does.

    Each check prints what it measured: tokens and pixels of odd pictures, texts and positions against the model's own
    processor, engine and packs against plain forwards, gradients, adapters, files, planned memory. A small checkpoint
    takes seconds. What falls back works in another way, said beside it. Exit status 1 if a check fails.
    """
    prepare_machine(None)
    path = existing("--model", model)
    assert path is not None
    from saccade.testing.family_check import CHECKS, family_findings

    found = []
    for one in family_findings(path):
        found.append(one)
        if not as_json:
            click.echo(f"{one.check:<{max(map(len, CHECKS))}}  {one.outcome:<10}  {one.figure}")
    if as_json:
        click.echo(json.dumps([asdict(one) for one in found], indent=2))
    context.exit(1 if any(one.outcome == "fails" for one in found) else 0)
