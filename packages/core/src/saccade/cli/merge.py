"""``saccade merge`` makes one plain checkpoint of an adapter and its base."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from saccade.cli.machine import prepare_machine, telling_of_waits
from saccade.cli.options import PATH

if TYPE_CHECKING:
    from typing import Literal


@click.command()
@click.argument("adapter", type=PATH, metavar="ADAPTER_DIR")
@click.argument("out", type=PATH, metavar="OUT_DIR")
@click.option(
    "--dtype",
    type=click.Choice(["base", "float32", "bfloat16"]),
    default="base",
    show_default=True,
    help="Precision of the weights that are written; base: as the adapter's base is.",
)
def merge(adapter: Path, out: Path, dtype: "Literal['base', 'float32', 'bfloat16']") -> None:
    """Write a LoRA checkpoint and its base, as its weights are on disk, as one plain checkpoint."""
    prepare_machine(None)
    with telling_of_waits("merging"):
        from saccade.models.loading import write_merged

        write_merged(adapter, out, dtype=dtype)
    click.echo(f"Model: {out}")
