"""``saccade bench``: Saccade measured, also beside its peers."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from saccade.characters import shell_words
from saccade.cli import options
from saccade.cli.options import PATH

if TYPE_CHECKING:
    from typing import Literal

    from saccade.bench.checkpoint import SizeName
    from saccade.bench.workload import DeviceName, DtypeName, FrameworkName, WorkloadName


@click.group()
def bench() -> None:
    """Measure Saccade, alone or beside other frameworks."""


@bench.command("rl")
@click.option("--workload", type=click.Choice(["single", "multi"]), default="single", show_default=True)
@click.option(
    "--framework",
    type=click.Choice(["saccade", "trl", "both"]),
    default="both",
    show_default=True,
    help="Frameworks to time.",
)
@click.option(
    "--steps", type=click.IntRange(min=1), default=5, show_default=True, help="Timed steps of each framework."
)
@options.thread_count
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True)
@click.option("--dtype", type=click.Choice(["float32", "bfloat16"]), help="By default bfloat16 on a GPU, else float32.")
@click.option("--size", type=click.Choice(["tiny", "3b"]), default="tiny", show_default=True, help="Size of the model.")
@click.option("--image-px", type=click.IntRange(min=56), help="Side of the image; prompts grow with it.")
@click.option("--json", "json_file", type=PATH, help="Write all figures to this file.")
@options.quiet
def bench_rl(
    workload: "WorkloadName",
    framework: "FrameworkName | Literal['both']",
    steps: int,
    threads: int,
    device: "DeviceName",
    dtype: "DtypeName | None",
    size: "SizeName",
    image_px: int | None,
    json_file: Path | None,
) -> None:
    """Time one RL step, by default beside TRL's GRPOTrainer on the same tokens."""
    from rich.console import Console

    from saccade.bench.checkpoint import SIZES
    from saccade.bench.race import race
    from saccade.bench.results import write_figures
    from saccade.bench.workload import WORKLOADS, with_image

    chosen = WORKLOADS[workload] if image_px is None else with_image(WORKLOADS[workload], image_px)
    result = race(
        chosen,
        ("saccade", "trl") if framework == "both" else (framework,),
        size=SIZES[size],
        steps=steps,
        threads=threads,
        device=device,
        dtype=dtype,
        command=shell_words("saccade", *click.get_current_context().obj),
    )
    Console().print(result.table())
    if json_file is not None:
        write_figures(result.as_json(), json_file)
