"""Argos' filters (section 4.3) in miniature: the same beginner taught by all traces, by right ones, and by
right and grounded ones.

A teacher answers questions several times; the verifier scores each trace, and each filter keeps as many traces as the
strictest. The beginner imitated for a quarter of the steps. It is taught by itself, and by a model that imitated to the
end and is careless. Both are checkpoints of studies/argos/seeds.py, which is run first; its --out is --starts here.

python -m studies.argos.filters --seeds 0 1 2 --json studies/argos/filters.json
"""

import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import cast

from studies.argos.seeds import BASE, KEPT, KINDS, SHORT, groundings
from studies.seed_runs import (
    Row,
    Variants,
    arguments_of,
    by_seed,
    directory_of,
    imitation_of,
    pooled,
    run_all,
    write_results,
)

from saccade.codec.codecs import plain_json
from saccade.curation.argos import PointedTrace, TraceFilter, equal_sets, traces_of
from saccade.learner import OptimizerSettings
from saccade.media import MediaStore
from saccade.miniature.argos import PointedQuestions, RuleTeacher, TinyArgosSettings
from saccade.models import load_model
from saccade.protocols.points import find_points
from saccade.rewards.argos import ArgosReward, ExactRegions, Verifier
from saccade.runs import read_records
from saccade.seeding import seed_for
from saccade.tasks import Epochs
from saccade.train import Demonstration, Evaluate, ImitationSettings, Plan, SFTStage, Stage, run_plan
from saccade.types import Example, Task

UNTAUGHT = "untaught"
TEACHERS = {"itself": SHORT, "a careless model": BASE}
FILTERS: tuple[TraceFilter, ...] = ("all", "right", "grounded")
VARIANTS: Variants = {UNTAUGHT: (), **{f"{who}, {by}": () for who in TEACHERS for by in FILTERS}}
QUESTIONS, SAMPLES, TEMPERATURE = 500, 8, 1.0
STEPS = ImitationSettings(
    steps=200,
    batch_size=32,
    optimizer=OptimizerSettings(learning_rate=5e-4, micro_batch_tokens=16_384),
    warmup_steps=10,
    decay="cosine",
    final_rate=0.1,
)
SETTINGS = TinyArgosSettings(sft=STEPS)
REWARD = ArgosReward(verifier=Verifier(regions=ExactRegions(), teacher=RuleTeacher()), measured_share=1.0)


def main() -> None:
    starts = Path("runs/argos_seeds")
    arguments = arguments_of(__doc__, VARIANTS, shown=list(VARIANTS), out=Path("runs/argos_filters"), starts=starts)
    rows = run_all(partial(taught, starts=arguments.starts), arguments, VARIANTS, base=UNTAUGHT)
    print(f"{table(rows)}\n")
    if arguments.json:
        write_results(arguments.json, rows)


def taught(variant: str, seed: int, out: Path, threads: int, _: list[str], *, starts: Path) -> Row:
    """The beginner, imitating what the variant keeps, as measured on held-out questions."""
    start = time.monotonic()
    directory = directory_of(variant, seed, out)
    media = MediaStore()
    asked = PointedQuestions(settings=SETTINGS, seed=seed_for(seed, "argos"), media=media)
    beginner = imitation_of(directory_of(SHORT, seed, starts))
    made: Row = {}
    shown: Sequence[PointedTrace] = ()
    if variant != UNTAUGHT:
        who, by = variant.rsplit(", ", 1)
        teacher = imitation_of(directory_of(TEACHERS[who], seed, starts))
        every = traces(teacher, asked, directory_of(f"traces of {who}", seed, out), seed, threads)
        sets = equal_sets(every, distinct=False, seed=seed)
        shown = sets[cast(TraceFilter, by)]
        made = {
            "traces": len(every),
            "passing": {by: sum(one.passes(by) for one in every) for by in FILTERS},
            "shown": len(shown),
            "contents": contents(shown),
        }
    kinds = {"": "trained", "_more": "more", **{name: f"plate{name}" for name in list(KINDS.values())[2:]}}
    measures = [
        evaluation(f"after_sft{suffix}", asked.held_out(kind, SETTINGS.evaluation_tasks))
        for suffix, kind in kinds.items()
    ]
    stages: list[Stage] = [*([imitation([one.example for one in shown], seed)] if shown else []), *measures]
    plan = plan_of(f"A beginner taught by {variant}", beginner, stages, media)
    summaries = run_plan(plan, out=directory, seed=seed, media=media, threads=threads, resume=True)
    found = {name: {key: plain_json(summary).get(key) for key in KEPT} for name, summary in summaries.items()}
    return {"wall_s": time.monotonic() - start, "stages": found, **made}


def traces(teacher: Path, asked: PointedQuestions, out: Path, seed: int, threads: int) -> list[PointedTrace]:
    """What the teacher answers to questions that no imitation has seen, scored by the verifier."""

    def tasks() -> list[Task]:
        first = SETTINGS.sft_questions + SETTINGS.rl_questions
        return [asked.trained("train", first + index).task for index in range(QUESTIONS)]

    stage = evaluation("traces", tasks, temperature=TEMPERATURE, samples=SAMPLES)
    run_plan(
        plan_of("Traces", teacher, [stage], asked.media),
        out=out,
        seed=seed,
        media=asked.media,
        threads=threads,
        resume=True,
    )
    files = sorted((out / "evaluations").rglob("*.jsonl"))
    return traces_of(attempt for file in files for attempt in read_records(file))


def evaluation(
    name: str, tasks: Callable[[], Sequence[Task]], *, temperature: float = 0.0, samples: int = 1
) -> Evaluate:
    return Evaluate(
        name=name,
        tasks=tasks,
        episodes=SETTINGS.episodes("brief"),
        reward=REWARD,
        temperature=temperature,
        samples=samples,
    )


def imitation(examples: Sequence[Example], seed: int) -> SFTStage:
    shown, episodes = Epochs(examples, seed=seed_for(seed, "sft")), SETTINGS.episodes("brief")
    return SFTStage(
        name="sft",
        source=lambda index, _: Demonstration(example=shown(index), episodes=episodes),
        settings=SETTINGS.sft,
    )


def plan_of(title: str, model: Path, stages: Sequence[Stage], media: MediaStore) -> Plan:
    return Plan(title=title, settings=SETTINGS, build_model=lambda: load_model(model, media), stages=tuple(stages))


def contents(shown: Sequence[PointedTrace]) -> Row:
    """What is imitated: the shares that are right, that are right and grounded, and that point at all."""
    points = [bool(find_points(turn.thought)) for one in shown for turn in one.example.turns]
    return {
        "right": statistics.mean(one.passes("right") for one in shown),
        "grounded": statistics.mean(one.passes("grounded") for one in shown),
        "points": statistics.mean(points),
    }


def table(rows: Sequence[Row]) -> str:
    """Accuracy (all seeds with Wilson's interval; each) and grounding accuracy of each seed, by what was imitated."""
    lines = ["| taught by | traces shown (right; right and grounded; with points) | " + " | ".join(KINDS) + " |"]
    lines.append("|---" * (len(KINDS) + 2) + "|")
    for variant in dict.fromkeys(row["variant"] for row in rows):
        found = [row for row in rows if row["variant"] == variant]
        shown = (
            "; ".join(
                " / ".join(f"{row['contents'][key]:.0%}" for row in found) for key in ("right", "grounded", "points")
            )
            if "contents" in found[0]
            else ""
        )
        numbers = " / ".join(str(row["shown"]) for row in found) if shown else "-"
        cells = []
        for suffix in KINDS.values():
            stages = [row["stages"][f"after_sft{suffix}"] for row in found]
            cells.append(f"{pooled(stages)}: {by_seed(stages)}; {groundings(stages)}")
        lines.append(f"| {variant} | {numbers} ({shown}) | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
