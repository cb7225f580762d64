"""``saccade plan-memory`` says what a run will take before it is begun."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from saccade.cli.machine import existing, prepare_machine
from saccade.cli.options import PATH
from saccade.errors import UserError

if TYPE_CHECKING:
    from saccade.recipes.questions_settings import QuestionsSettings
    from saccade.train.memory_plan import MemoryPlan, Place

_WORDS = {"sampling": "while trajectories are sampled", "learning": "in forward and backward", "step": "at the step"}


@click.command("plan-memory")
@click.option("--model", type=PATH, required=True, help="Directory with config.json; weights are not needed.")
@click.option("--gpus", type=click.IntRange(min=0), default=0, show_default=True, help="Processes, each with a GPU.")
@click.option("--gpu-memory", type=click.FloatRange(min=0.1), help="GiB of each GPU, by default this machine's or 80.")
@click.option("--memory", type=click.FloatRange(min=0.1), help="GiB of the host, by default this machine's.")
@click.option(
    "--pack-tokens", type=click.IntRange(min=1), help="Tokens of the largest micro-batch, if fewer than are allowed."
)
@click.option("--image-tokens", type=click.IntRange(min=0), help="Image tokens in that micro-batch.")
@click.option("--rows", type=click.IntRange(min=1), help="Trajectories sampled together, if fewer than are allowed.")
@click.option(
    "--row-tokens", type=click.IntRange(min=1), help="Tokens of the longest trajectory, if fewer than are allowed."
)
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a setting of saccade train questions. Repeatable.",
)
def plan_memory(
    model: Path,
    gpus: int,
    gpu_memory: float | None,
    memory: float | None,
    pack_tokens: int | None,
    image_tokens: int | None,
    rows: int | None,
    row_tokens: int | None,
    overrides: tuple[str, ...],
) -> None:
    """Estimate the memory of an RL run of MODEL per process, part by part, and say whether it fits.

    The settings are those of `saccade train questions`. Without further options trajectories are as long and pictures
    as large as the settings allow. Exit status 2 if the run does not fit.
    """
    prepare_machine(None)
    from dataclasses import replace

    from saccade.config.settings import apply_overrides
    from saccade.models.shape import read_shape
    from saccade.recipes.questions_settings import QuestionsSettings
    from saccade.train.memory_plan import memory_plan, usual_load

    path = existing("--model", model, is_loaded=False)
    assert path is not None
    settings = apply_overrides(QuestionsSettings(), overrides)
    shape = read_shape(path)
    load = usual_load(shape, settings.model, settings.rl, settings.rollout)
    load = replace(load, rows=rows or load.rows, row_tokens=row_tokens or load.row_tokens)
    tokens = pack_tokens or load.pack_tokens
    pictures = load.pack_image_tokens if image_tokens is None else image_tokens
    load = replace(load, pack_tokens=tokens, pack_image_tokens=min(tokens, pictures))
    options = settings.rl.algorithm.options
    plan = memory_plan(
        shape,
        model=settings.model,
        optimizer=settings.rl.optimizer,
        load=load,
        gpus=gpus,
        needs_reference=options.kl_weight > 0 or options.kl_in_reward > 0,
        needs_critic=settings.rl.algorithm.name == "ppo",
    )
    trained = settings.rl.optimizer.lora
    click.echo(
        f"{shape.model_type}, {shape.weights / 1e9:.2f} B weights"
        + (f", an adapter of {shape.adapter_weights(trained) / 1e6:.1f} M" if trained else "")
        + f"; micro-batches of {load.pack_tokens:,} tokens, {load.pack_image_tokens:,} of them of pictures; "
        f"{load.rows} trajectories of {load.row_tokens:,} tokens side by side"
    )
    bounds = {"device": gpu_memory or _gpu_gib() if gpus else memory or _host_gib(), "host": memory or _host_gib()}
    too_large = [_told(plan, place, bounds[place], gpus) for place in (("device", "host") if gpus else ("device",))]
    if any(too_large):
        raise UserError(f"the run does not fit: {'; '.join(filter(None, too_large))}. {_advice(settings, plan)}")


def _told(plan: "MemoryPlan", place: "Place", bound_gib: float, gpus: int) -> str | None:
    """Prints the parts in one place; what is too large, or None."""
    from saccade.train.memory_plan import grouped

    where = f"on each of {gpus} GPUs" if gpus and place == "device" else "in the host's memory"
    # A host has all processes, but reads its code once.
    times = gpus if gpus and place == "host" else 1
    click.echo(f"\n{where} (GiB{', for each process' if times > 1 else ''})")
    for part in grouped(plan)[place]:
        when = "" if part.phase == "always" else f"  {_WORDS[part.phase]}"
        click.echo(f"  {part.bytes / 2**30:8.2f}  {part.name}{when}")
    highest = plan.highest_phase(place)
    peak = times * plan.peak(place) / 2**30
    click.echo(f"  {peak:8.2f}  at most, {_WORDS[highest]}; there are {bound_gib:.1f}")
    return f"{peak:.1f} GiB {where}, which has {bound_gib:.1f}" if peak > bound_gib else None


def _advice(settings: "QuestionsSettings", plan: "MemoryPlan") -> str:
    """Settings that are not yet used and lower the highest phase."""
    optimizer, limits = settings.rl.optimizer, settings.model.engine
    if plan.highest_phase() == "sampling":
        ways = [
            "model.engine.cache_tokens or model.engine.max_rows",
            "rollout.max_tokens",
            "model.engine.max_chunk_tokens",
        ]
        bounded = "" if limits.cache_tokens is None else f" (cache_tokens is {limits.cache_tokens})"
        return f"Sampling takes most: lower {', '.join(ways)}{bounded}"
    unused = [
        ("rl.optimizer.activation_checkpointing=true", not optimizer.activation_checkpointing),
        ("rl.optimizer.lora.rank=16", optimizer.lora is None),
        ("rl.optimizer.eight_bit_optimizer=true", plan.gpus < 2 and not optimizer.eight_bit_optimizer),
        ("rl.optimizer.offload_optimizer=true", plan.gpus == 1 and not optimizer.offload_optimizer),
        ("model.dtype=bfloat16", settings.model.dtype == "float32"),
    ]
    names = [name for name, helps in unused if helps]
    return f"Set {', or '.join(names)}, lower rl.optimizer.micro_batch_tokens, or take more GPUs or a smaller model"


def _gpu_gib() -> float:
    import torch

    if not torch.cuda.is_available():
        return 80.0
    return float(torch.cuda.get_device_properties(0).total_memory) / 2**30


def _host_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
