"""``saccade plan-memory`` says what a run will take before it is begun."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from saccade.cli import completion, options
from saccade.cli.config_option import preset_option, with_file
from saccade.cli.machine import existing, prepare_machine
from saccade.cli.options import PATH
from saccade.errors import UserError

if TYPE_CHECKING:
    from saccade.config.fleet import FleetSettings
    from saccade.train.memory_fit import MemoryBounds, Setup
    from saccade.train.memory_plan import MemoryPlan
    from saccade.train.memory_process import Load, Place
    from saccade.train.memory_roles import Role

_WORDS = {"sampling": "while trajectories are sampled", "learning": "in forward and backward", "step": "at the step"}


@click.command("plan-memory")
@click.option("--model", type=PATH, required=True, help="Directory with config.json; weights are not needed.")
@preset_option
@click.option(
    "--gpus",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="GPUs; as many learners, unless fleet.* says what processes there are.",
)
@click.option("--gpu-memory", type=click.FloatRange(min=0.1), help="GiB of each GPU, by default this machine's or 80.")
@click.option("--memory", type=click.FloatRange(min=0.1), help="GiB of the host, by default this machine's.")
@click.option(
    "--teacher",
    help="As teacher.model of `saccade train distill`: a checkpoint's directory, policy, start or a server.",
)
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
    callback=with_file,
    shell_complete=completion.setting_items,
    help="Change a setting of saccade train questions. Repeatable.",
)
@options.as_json
def plan_memory(
    model: Path,
    gpus: int,
    gpu_memory: float | None,
    memory: float | None,
    teacher: str | None,
    pack_tokens: int | None,
    image_tokens: int | None,
    rows: int | None,
    row_tokens: int | None,
    overrides: tuple[str, ...],
    as_json: bool,
) -> None:
    """Estimate the memory of an RL run of MODEL per process, part by part, and say whether it fits.

    The settings are those of `saccade train questions`, with those of its fleet. Without further options trajectories
    are as long and pictures as large as the settings allow. Exit status 2 if the run does not fit, with settings that
    do.
    """
    prepare_machine(None)

    path = existing("--model", model, is_loaded=False)
    assert path is not None

    def limit(load: "Load") -> "Load":
        tokens = min(pack_tokens or load.pack_tokens, load.pack_tokens)
        pictures = load.pack_image_tokens if image_tokens is None else image_tokens
        return replace(
            load,
            rows=min(rows or load.rows, load.rows),
            row_tokens=min(row_tokens or load.row_tokens, load.row_tokens),
            pack_tokens=tokens,
            pack_image_tokens=min(tokens, pictures),
        )

    setup = _taught_by(teacher, _setup(path, overrides, gpus, limit))
    from saccade.train.memory_fit import MemoryBounds, fitting_settings

    host = memory or _host_gib()
    bounds = MemoryBounds(gpu=(gpu_memory or _gpu_gib() if setup.on_gpu else host) * 2**30, host=host * 2**30)
    plans = setup.plans()
    fits = bounds.fit(setup)
    ways = [] if fits else fitting_settings(setup, bounds)
    if as_json:
        click.echo(json.dumps(_as_json(setup, bounds, plans, ways), indent=1))
    else:
        _tell(setup, bounds, plans)
    if not fits:
        raise UserError(f"the run does not fit: {_too_large(setup, bounds, plans)}. {_advice(setup, ways)}")


def _setup(path: Path, overrides: tuple[str, ...], gpus: int, limit: "Callable[[Load], Load]") -> "Setup":
    from saccade.config.engine import split_engine
    from saccade.config.fleet import split_overrides
    from saccade.config.settings import apply_overrides
    from saccade.config.tracking import split_tracking
    from saccade.learner.sharding import check_can_shard
    from saccade.models.shape import read_shape
    from saccade.recipes.questions_settings import QuestionsSettings
    from saccade.train.memory_fit import Setup

    fleet, own = split_overrides(overrides)
    engine, own = split_engine(split_tracking(own)[1])
    settings = apply_overrides(QuestionsSettings(), own)
    fleet = _on(gpus, fleet)
    if fleet.learners > 1:
        check_can_shard(settings.rl.optimizer, "rl.optimizer.")
    return Setup(
        shape=read_shape(path),
        model=settings.model,
        rl=settings.rl,
        rollout=settings.rollout,
        fleet=fleet,
        on_gpu=gpus > 0 or fleet.learner_gpus > 0 or fleet.rollout_gpus > 0,
        is_served=engine.kind != "recipe",
        limit=limit,
    )


def _taught_by(teacher: str | None, setup: "Setup") -> "Setup":
    """The run with the teacher, as far as it takes memory here."""
    from saccade.models.shape import read_shape
    from saccade.train.stage_settings import TeacherSettings

    chosen = TeacherSettings(model=teacher or "policy")
    is_here = chosen.has_own_weights and chosen.url is None
    path = existing("--teacher", Path(chosen.model), is_loaded=False) if is_here else None
    shape = None if path is None else read_shape(path)
    return replace(setup, teacher=shape, is_taught_by_first=chosen.model == "start")


def _on(gpus: int, fleet: "FleetSettings") -> "FleetSettings":
    """The fleet on so many GPUs. UserError where it takes more."""
    if gpus > 1 and fleet.learners == 1 and not fleet.rollouts:
        return replace(fleet, learners=gpus)
    taken = fleet.learners * (fleet.learner_gpus or 1) + fleet.rollouts * (fleet.rollout_gpus or 1)
    if gpus and taken > gpus:
        raise UserError(
            f"fleet.learners={fleet.learners} and fleet.rollouts={fleet.rollouts} take {taken:g} GPUs, and --gpus is "
            f"{gpus}; leave --gpus out, or take fewer processes"
        )
    return fleet


def _tell(setup: "Setup", bounds: "MemoryBounds", plans: "list[tuple[Role, MemoryPlan]]") -> None:
    """Prints what is worked on, and the parts of each process."""
    from saccade.learner.forwards import has_native_forward
    from saccade.train.memory_fit import host_bytes

    shape, load, lora = setup.shape, setup.load, setup.rl.optimizer.lora
    click.echo(
        f"{shape.model_type}, {shape.weights / 1e9:.2f} B weights"
        + (f", of which a token meets {(shape.weights - shape.idle_weights) / 1e9:.2f} B" if shape.idle_weights else "")
        + (f", an adapter of {shape.adapter_weights(lora) / 1e6:.1f} M" if lora else "")
        + f"; micro-batches of {load.pack_tokens:,} tokens, {load.pack_image_tokens:,} of them of pictures; "
        f"{load.rows} trajectories of {load.row_tokens:,} tokens side by side"
    )
    if recurrent := shape.language.recurrent:
        click.echo(
            f"{recurrent} of {shape.language.count} layers are recurrent: transformers' modules run the language "
            "model, not the CPU's kernels or CUDA graphs; beginnings of prompts are reused where a state was kept"
        )
    elif shape.idle_weights:
        click.echo(
            "transformers' modules do the work of the language model: the CPU's native kernels and CUDA graphs know no "
            "experts"
        )
    elif not setup.on_gpu and not has_native_forward(shape.skeleton):
        click.echo("the native kernels do not know the language model's layers: transformers' modules do their work")
    if setup.is_served:
        click.echo("a server samples: its memory is not counted")
    places: list[Place] = ["device", "host"] if setup.on_gpu else ["device"]
    for place in places:
        for role, plan in plans:
            bound = bounds.of(role, place, on_gpu=setup.on_gpu) / 2**30
            is_alone = len(plans) == 1 or (place == "device" and setup.on_gpu)
            _tell_part(plan, place, _where(role, place, on_gpu=setup.on_gpu), bound if is_alone else None)
    if len(plans) > 1 and setup.fleet.is_local:
        count = sum(role.count for role, _ in plans)
        total, there_are = host_bytes(setup, plans) / 2**30, bounds.host / 2**30
        click.echo(f"\n{total:10.2f}  in the host's memory by all {count} processes; there are {there_are:.1f}")


def _where(role: "Role", place: "Place", *, on_gpu: bool) -> str:
    if on_gpu and place == "device":
        return f"on the GPU of {role.name}" if role.name else "on the GPU"
    return f"in the host's memory, by {role.name}" if role.name else "in the host's memory"


def _tell_part(plan: "MemoryPlan", place: "Place", where: str, bound_gib: float | None) -> None:
    from saccade.train.memory_plan import grouped

    click.echo(f"\n{where} (GiB)")
    parts = grouped(plan)[place]
    for part in parts:
        when = "" if part.phase == "always" else f"  {_WORDS[part.phase]}"
        click.echo(f"  {part.bytes / 2**30:8.2f}  {part.name}{when}")
    there_are = "" if bound_gib is None else f"; there are {bound_gib:.1f}"
    phase = plan.highest_phase(place)
    highest = f", {_WORDS[phase]}" if any(part.phase == phase for part in parts) else ""
    click.echo(f"  {plan.peak(place) / 2**30:8.2f}  at most{highest}{there_are}")


def _too_large(setup: "Setup", bounds: "MemoryBounds", plans: "list[tuple[Role, MemoryPlan]]") -> str:
    """Every place that is too small, and what it would hold."""
    from saccade.train.memory_fit import host_bytes

    found = []
    for role, plan in plans if setup.on_gpu else []:
        peak, bound = plan.peak(), bounds.of(role, "device", on_gpu=True)
        if peak > bound:
            found.append(f"{peak / 2**30:.1f} GiB {_where(role, 'device', on_gpu=True)}, which has {bound / 2**30:.1f}")
    host = host_bytes(setup, plans)
    if host > bounds.host:
        found.append(f"{host / 2**30:.1f} GiB in the host's memory, which has {bounds.host / 2**30:.1f}")
    return "; ".join(found)


def _advice(setup: "Setup", ways: list[tuple[str, ...]]) -> str:
    """The settings that fit, ready to be copied."""
    if not ways:
        return (
            "None of the settings that save memory make it fit: take a smaller model, lower rollout.max_tokens or "
            "model.max_pixels, or take more GPUs"
        )
    lines = [f"  {' '.join(f'--set {text}' for text in way)}{_more_gpus(setup, way)}" for way in ways]
    return "\n".join([f"It fits with {'any of these' if len(ways) > 1 else 'this'}, by the same plan:", *lines])


def _more_gpus(setup: "Setup", way: tuple[str, ...]) -> str:
    learners = [int(text.partition("=")[2]) for text in way if text.startswith("fleet.learners=")]
    return f"   ({learners[0] + setup.fleet.rollouts} GPUs)" if learners else ""


def _as_json(
    setup: "Setup", bounds: "MemoryBounds", plans: "list[tuple[Role, MemoryPlan]]", ways: list[tuple[str, ...]]
) -> dict[str, object]:
    """Sizes in bytes."""
    return {
        "model_type": setup.shape.model_type,
        "weights": setup.shape.weights,
        "active_weights": setup.shape.weights - setup.shape.idle_weights,
        "on_gpu": setup.on_gpu,
        "there_are": {"gpu": bounds.gpu if setup.on_gpu else None, "host": bounds.host},
        "fits": bounds.fit(setup),
        "processes": [
            {
                "who": role.name or "the only process",
                "count": role.count,
                "peak": {place: plan.peak(place) for place in ("device", "host")},
                "parts": [
                    {"name": part.name, "bytes": part.bytes, "phase": part.phase, "place": part.place}
                    for part in plan.parts
                ],
            }
            for role, plan in plans
        ],
        "would_fit": [list(way) for way in ways],
    }


def _gpu_gib() -> float:
    import torch

    if not torch.cuda.is_available():
        return 80.0
    return float(torch.cuda.get_device_properties(0).total_memory) / 2**30


def _host_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
