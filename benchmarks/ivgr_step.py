"""What a step of two streams costs beside a step of one, with as many trajectories: iVGR in miniature.

    python benchmarks/ivgr_step.py [--model CHECKPOINT] [--rounds 12] [--threads 1] [--json FILE]

Four steps take turns in one process, each in another order, so that whatever else runs on the machine hits all alike:
both streams with the exact judge, both without it, the textual stream alone, the grounded one alone. Each has a model
of its own from the same checkpoint (without ``--model`` a short imitation makes one) and a learning rate of 0, so that
what is compared stays the same. A ratio is the median over rounds of one step's time by another's in the same round.

Grounded texts are longer than textual ones, so neither stream alone is the fair comparison: half of the trajectories
with boxes of a two-stream step are of each kind, and ``both / mean`` holds it against the mean of the single streams.
Two streams ask fewer different questions: each picture is encoded once for both of them.
"""

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from rich.console import Console
from rich.table import Table

from saccade.bench.measuring import Moment
from saccade.bench.results import hardware, write_figures
from saccade.cli import prepare_machine
from saccade.config.context import RecipeContext
from saccade.engines.local import LocalEngine
from saccade.learner.learner import Learner
from saccade.media.store import MediaStore
from saccade.miniature.ivgr import tiny
from saccade.runs.checkpoints import latest_checkpoint
from saccade.runs.progress import Progress
from saccade.train.loops import RLLoop
from saccade.train.plan import RLStage, SFTStage
from saccade.train.run import run_plan
from saccade.train.state import repeatable
from saccade.types import Json

BOTH, UNJUDGED, TEXTUAL, GROUNDED = "both", "both, no judge", "textual", "grounded"

VARIANTS: dict[str, tuple[str, ...]] = {
    BOTH: ("streams=both",),
    UNJUDGED: ("streams=both", "consistency=false"),
    TEXTUAL: ("streams=textual",),
    GROUNDED: ("streams=grounded",),
}

PROMISE = 1.1
"""A two-stream step takes at most so many times the mean of the single-stream ones."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One measured step."""

    cpu_s: float
    wall_s: float
    trajectories: int
    questions: int
    action_tokens: int
    forwarded_tokens: int
    """By the learner, prompts once a group."""


@dataclass(kw_only=True)
class Variant:
    """A reinforcement in progress and what its steps took."""

    media: MediaStore
    stepping: RLLoop
    steps: list[Step] = field(default_factory=list)

    def step(self) -> Step:
        """Drawn, played, scored and learned from."""
        before = Moment.now("cpu")
        with self.media.temporary():
            outcome = next(self.stepping)
        after = Moment.now("cpu")
        return Step(
            cpu_s=after.cpu_s - before.cpu_s,
            wall_s=after.wall_s - before.wall_s,
            trajectories=len(outcome.attempts),
            questions=len({one.task.id for one in outcome.attempts}),
            action_tokens=sum(sum(one.trajectory.action_mask) for one in outcome.attempts),
            forwarded_tokens=int(outcome.metrics.get("forwarded_tokens", 0)),
        )


def opened(name: str, model: Path, overrides: Sequence[str], rounds: int, seed: int) -> Variant:
    """The variant at its first step."""
    fixed = (f"rl.steps={rounds}", "rl.optimizer.learning_rate=0", "rl.evaluate_every=0")
    context = RecipeContext(model=model, overrides=(*fixed, *VARIANTS[name], *overrides), seed=seed)
    plan = tiny(context)
    plan.check()
    stage = next(one for one in plan.stages if isinstance(one, RLStage))
    policy = plan.build_model()
    engine = LocalEngine(policy)
    stepping = RLLoop(
        stage,
        policy,
        engine,
        Learner(policy, stage.settings.optimizer),
        seed=seed,
        first_step=0,
        load_reference=plan.build_model,
    )
    return Variant(media=context.media, stepping=stepping)


def imitated(steps: int, seed: int, threads: int) -> Iterator[Path]:
    """A checkpoint after a short imitation, there until the next one is asked for."""
    context = RecipeContext(overrides=(f"sft.steps={steps}",), seed=seed)
    plan = tiny(context)
    plan = replace(plan, stages=tuple(stage for stage in plan.stages if isinstance(stage, SFTStage)))
    with tempfile.TemporaryDirectory() as folder:
        run_plan(plan, out=Path(folder) / "run", media=context.media, seed=seed, threads=threads, progress=Progress())
        reached = latest_checkpoint(Path(folder) / "run" / "checkpoints", ("sft",))
        assert reached is not None
        yield reached.path


def measured(variants: Mapping[str, Variant], rounds: int) -> None:
    """Each variant's steps; the first round warms up and is not kept."""
    names = list(variants)
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            step = variants[name].step()
            if number:
                variants[name].steps.append(step)
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)


def ratios(variants: Mapping[str, Variant], clock: str) -> dict[str, float]:
    """Medians over rounds."""
    seconds = {name: [getattr(step, clock) for step in one.steps] for name, one in variants.items()}
    mean = [(textual + grounded) / 2 for textual, grounded in zip(seconds[TEXTUAL], seconds[GROUNDED])]
    below = {TEXTUAL: seconds[TEXTUAL], GROUNDED: seconds[GROUNDED], "mean": mean, UNJUDGED: seconds[UNJUDGED]}
    return {
        f"both / {name}": statistics.median(one / other for one, other in zip(seconds[BOTH], others))
        for name, others in below.items()
    }


def medians(variant: Variant) -> dict[str, float]:
    return {
        name: statistics.median(getattr(step, name) for step in variant.steps) for name in Step.__dataclass_fields__
    }


def table(found: Mapping[str, Mapping[str, float]]) -> Table:
    shown = Table(title="one step of reinforcement, medians")
    names = ("processor (s)", "wall (s)", "trajectories", "questions", "tokens written", "tokens forwarded")
    for column in ("streams", *names):
        shown.add_column(column, justify="left" if column == "streams" else "right")
    for name, of in found.items():
        counts = (f"{of[key]:,.0f}" for key in ("trajectories", "questions", "action_tokens", "forwarded_tokens"))
        shown.add_row(name, f"{of['cpu_s']:.3f}", f"{of['wall_s']:.3f}", *counts)
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="A checkpoint of the miniature after its imitation.")
    parser.add_argument("--imitation-steps", type=int, default=400, help="Where no --model is given.")
    parser.add_argument("--rounds", type=int, default=12, help="The first of them warms up.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.rounds < 2:
        parser.error(f"--rounds {options.rounds} leaves nothing after the first, which warms up; use 2 or more")
    threads = prepare_machine(options.threads)
    checkpoints = iter([options.model]) if options.model else imitated(options.imitation_steps, options.seed, threads)
    for model in checkpoints:
        with repeatable(threads=threads, device="cpu"):
            variants = {name: opened(name, model, options.overrides, options.rounds, options.seed) for name in VARIANTS}
            measured(variants, options.rounds)
    found = {name: medians(variant) for name, variant in variants.items()}
    by_clock = {"cpu": ratios(variants, "cpu_s"), "wall": ratios(variants, "wall_s")}
    Console(width=100).print(table(found))
    for clock, values in by_clock.items():
        print(f"{clock}: " + ", ".join(f"{name} {value:.2f}" for name, value in values.items()))
    print(f"promised: both / mean is at most {PROMISE}; the streams alone differ by the lengths of their texts")
    if options.json is not None:
        figures: dict[str, Json] = {
            "command": " ".join(["python benchmarks/ivgr_step.py", *sys.argv[1:]]),
            "date": date.today().isoformat(),
            "hardware": hardware(),
            "threads": threads,
            "rounds": options.rounds - 1,
            "medians": json.loads(json.dumps(found)),
            "ratios": json.loads(json.dumps(by_clock)),
        }
        write_figures(figures, options.json)


if __name__ == "__main__":
    main()
