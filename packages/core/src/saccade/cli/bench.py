"""``saccade bench``: Saccade measured, also beside its peers."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from saccade.characters import shell_words
from saccade.cli import options
from saccade.cli.options import PATH
from saccade.errors import UserError

if TYPE_CHECKING:
    from typing import Literal

    from saccade.bench.checkpoint import SizeName
    from saccade.bench.workload import DeviceName, DtypeName, FrameworkName, StepReport, WorkloadName
    from saccade.models.checkpoint import MatmulPrecision
    from saccade.types import Json


@click.group()
def bench() -> None:
    """Measure Saccade, alone or beside other frameworks."""


@bench.command("rl")
@click.option("--workload", type=click.Choice(["single", "multi"]), default="single", show_default=True)
@click.option(
    "--framework",
    type=click.Choice(["saccade", "trl", "plain", "both", "all"]),
    default="all",
    show_default=True,
    help="Frameworks to time: plain is a training step by transformers alone; both are saccade and trl.",
)
@click.option(
    "--steps", type=click.IntRange(min=1), default=5, show_default=True, help="Timed steps of each framework."
)
@options.thread_count
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True)
@click.option("--dtype", type=click.Choice(["float32", "bfloat16"]), help="By default bfloat16 on a GPU, else float32.")
@click.option(
    "--matmul-precision",
    type=click.Choice(["highest", "medium"]),
    default="highest",
    show_default=True,
    help="Of fp32 products in all frameworks: medium rounds their factors to bf16 on CPUs with AMX or avx512_bf16.",
)
@click.option("--size", type=click.Choice(["tiny", "3b"]), help="Size of a random model, by default tiny.")
@click.option("--model", type=PATH, help="A checkpoint instead of a random model.")
@click.option("--lora", "lora_rank", type=click.IntRange(min=1), help="Train an adapter of this rank, not all weights.")
@click.option("--prompts", type=click.IntRange(min=1), help="Questions of a step.")
@click.option("--group", type=click.IntRange(min=2), help="Trajectories of a question.")
@click.option("--turn-tokens", type=click.IntRange(min=1), help="Tokens that the model says in a turn.")
@click.option("--image-px", type=click.IntRange(min=56), help="Side of the image; prompts grow with it.")
@click.option("--json", "json_file", type=PATH, help="Write all figures to this file.")
@options.quiet
def bench_rl(
    workload: "WorkloadName",
    framework: "FrameworkName | Literal['both', 'all']",
    steps: int,
    threads: int,
    device: "DeviceName",
    dtype: "DtypeName | None",
    matmul_precision: "MatmulPrecision",
    size: "SizeName | None",
    model: Path | None,
    lora_rank: int | None,
    prompts: int | None,
    group: int | None,
    turn_tokens: int | None,
    image_px: int | None,
    json_file: Path | None,
) -> None:
    """Time one RL step, by default beside TRL's GRPOTrainer and a plain training step on the same tokens."""
    from rich.console import Console

    from saccade.bench.checkpoint import SIZES
    from saccade.bench.race import race
    from saccade.bench.results import write_figures
    from saccade.bench.workload import WORKLOADS, with_image

    if model is not None and size is not None:
        raise UserError(f"--size {size} is of a random model; leave it out, or --model")
    chosen = WORKLOADS[workload] if image_px is None else with_image(WORKLOADS[workload], image_px)
    chosen = replace(
        chosen,
        prompts=prompts or chosen.prompts,
        group_size=group or chosen.group_size,
        turn_tokens=turn_tokens or chosen.turn_tokens,
    )
    together: dict[str, tuple[FrameworkName, ...]] = {"both": ("saccade", "trl"), "all": ("saccade", "trl", "plain")}
    steps_told: list[dict[str, Json]] = []

    def tell(name: "FrameworkName", report: "StepReport") -> None:
        # A race that is cut short has still told something.
        told: dict[str, Json] = {
            "framework": name,
            "step": report.step,
            "wall_s": report.wall_s,
            "peak_mb": report.peak_mb,
        }
        steps_told.append(told)
        if json_file is not None:
            write_figures({"unfinished": [*steps_told]}, json_file)

    result = race(
        chosen,
        together.get(framework, (cast("FrameworkName", framework),)),
        model=model or SIZES[size or "tiny"],
        steps=steps,
        threads=threads,
        device=device,
        dtype=dtype,
        matmul_precision=matmul_precision,
        lora_rank=lora_rank,
        tell=tell,
        command=shell_words("saccade", *click.get_current_context().obj),
    )
    Console().print(result.table())
    if json_file is not None:
        write_figures(result.as_json(), json_file)
