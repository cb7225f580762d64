"""Does a habit that rewards mend in some families carry over to families that were never rewarded?

OMP_NUM_THREADS=1 python -m studies.gym.carry_over --out runs/carry_over --json studies/gym/carry_over.json

Of eight families, in a circle, seed n is rewarded on the four from n on, and measured on the four others. Its base
checkpoint first imitates careless experts of all eight (``look_closer``: three of four crop the middle of the picture
and guess). Then, from this one imitation and with as many steps: rewards on one family, on four, and on four whose
difficulty and shares follow the policy. So each family is held out in four of eight seeds, and rewarded alone in one.

Named before the first run: right answers on the held-out families' own pictures, four less one, paired by seed
(Student's interval over the eight). Beside it: whether a crop holds the evidence, the same on another task's picture
and on a blank one, and sets that nobody drew for this: the other families of the benchmark of looking, charts and
tables drawn by Matplotlib, Vega-Lite, pygal and Typst, and questions about photographs.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from studies.claims.paired import imitations_needed, paired_change
from studies.seed_runs import Row, imitation_of, rounded, train, write_results

from saccade.evaluation.look import LOOK
from saccade.evaluation.probes import probe
from saccade.media import MediaStore
from saccade.models import instruction_style, load_model
from saccade.models.loading import LoadSettings
from saccade.protocols import tagged_protocol
from saccade.rewards import OutcomeReward
from saccade.rewards.evidence import SHOWN, look_of
from saccade.rewards.reward import told_right
from saccade.rollout import EpisodeSpec, RolloutSettings
from saccade.tasks import generate
from saccade.tasks.files import read_tasks
from saccade.tools import IMAGE_TOOLS
from saccade.train import Evaluate, Plan, run_plan
from saccade.types import Attempt, Task

FAMILIES = (
    "visual_search",
    "clocks/hour",
    "shape_places/corner",
    "dials/read",
    "attributes",
    "shape_order/is_more_across",
    "video_event",
    "shape_sizes/which_of_two_size",
)
"""In this circle; experts of all begin with a crop."""
REWARDED = 4
DRAWN_BY_OTHERS = ("chart_bar", "chart_line", "chart_donut", "chart_scatter", "table_goods", "table_results")
PHOTOGRAPHS = Path("examples/photos/questions.jsonl")
MAX_TURNS = 5
LOAD = LoadSettings(device="cpu")
SHARED = ("evaluation_tasks=8", "rl.evaluate_every=0", "rl.checkpoint_every=1000")
VARIANTS: Mapping[str, tuple[int, tuple[str, ...]]] = {
    "one": (1, ()),
    "four": (REWARDED, ()),
    "four, adaptive": (REWARDED, ("curriculum.holds_difficulty=true", "curriculum.by_learnability=true")),
}
"""How many families are rewarded, and further settings."""
HABIT = "habit"
COMPARED = (("one", HABIT), ("four", HABIT), ("four", "one"), ("four, adaptive", "four"))


def rewarded_families(seed: int, count: int) -> tuple[str, ...]:
    """The families from a seed's place in the circle on."""
    return tuple(FAMILIES[(seed + place) % len(FAMILIES)] for place in range(count))


def held_out_families(seed: int) -> tuple[str, ...]:
    return tuple(name for name in FAMILIES if name not in rewarded_families(seed, REWARDED))


def question_sets(media: MediaStore, each: int) -> dict[str, list[Task]]:
    """Held-out questions by set; those of the circle's families are named ``own``."""

    def drawn(families: Sequence[str], count: int) -> list[Task]:
        return [
            generate(name, split="held_out", index=index, seed=0, media=media, difficulty=0.5).task
            for name in families
            for index in range(count)
        ]

    foreign = [name for name in LOOK.families if name not in FAMILIES]
    return {
        "own": drawn(FAMILIES, each),
        "look": drawn(foreign, each // 4),
        "drawn by others": drawn(DRAWN_BY_OTHERS, each // 2),
        "photographs": list(read_tasks(PHOTOGRAPHS, media=media).tasks),
    }


def measured(checkpoint: Path, directory: Path, each: int) -> dict[str, list[Row]]:
    """What of each set was right, and whether a crop held the evidence, question by question."""
    media = MediaStore()
    episodes = EpisodeSpec(
        protocol=tagged_protocol(style=instruction_style(checkpoint), max_turns=MAX_TURNS),
        tools=IMAGE_TOOLS,
        rollout=RolloutSettings(max_turn_tokens=96, max_tokens=2048),
        max_turns=MAX_TURNS,
    )
    sets = question_sets(media, each)
    for name in ("other-image", "blank"):
        by_family = [[task for task in sets["own"] if task.family == family] for family in FAMILIES]
        sets[name] = [one for of in by_family for one in probe(name, of, episodes, media=media, seed=0).tasks]
    found: dict[str, list[Row]] = {}

    def keep(name: str) -> Callable[[Iterable[Attempt]], None]:
        return lambda attempts: found.update({name: [result_of(attempt) for attempt in attempts]})

    stages = [
        Evaluate(name=name.replace(" ", "_"), tasks=partial(list, tasks), episodes=episodes, reward=OutcomeReward(),
                 on_finished=keep(name))
        for name, tasks in sets.items()
    ]  # fmt: skip
    plan = Plan(
        title=f"{checkpoint} on families that it was and was not rewarded on",
        settings=LOAD,
        build_model=lambda: load_model(checkpoint, media, LOAD),
        load=LOAD,
        stages=tuple(stages),
    )
    run_plan(plan, out=directory, seed=0, media=media, threads=1, resume=True)
    return found


def result_of(attempt: Attempt) -> Row:
    score, look = attempt.trajectory.score, look_of(attempt.task, attempt.trajectory)
    hit = None if look is None else look.coverage >= SHOWN
    return {"family": attempt.task.family, "right": score is not None and told_right(score), "hit": hit}


def run(variant: str, seed: int, out: Path, each: int, smaller: Sequence[str]) -> Row:
    """A variant's row of a seed: made, or as it was kept."""
    directory = out / f"{variant.replace(', ', '-')}-{seed}"
    kept = out / f"{directory.name}.json"
    if not kept.is_file():
        began = time.process_time(), time.monotonic()
        if variant == HABIT:
            settings = [*SHARED, f"families={json.dumps(FAMILIES)}", *smaller, "rl.steps=0"]
            train("look_closer", seed, directory, settings, threads=1, start=None)
            checkpoint = imitation_of(directory)
        else:
            count, more = VARIANTS[variant]
            families = rewarded_families(seed, count)
            settings = [*SHARED, "rl.steps=60", f"families={json.dumps(families)}", *more, *smaller, "sft.steps=0"]
            # Another seed than the imitation's draws other pictures.
            train(
                "look_closer", 100 + seed, directory, settings, threads=1, start=imitation_of(out / f"{HABIT}-{seed}")
            )
            checkpoint = sorted((directory / "checkpoints").glob("rl-*"))[-1]
        sets = {
            name: by_family(rows) for name, rows in measured(checkpoint, out / f"{directory.name}-asked", each).items()
        }
        row = {"variant": variant, "seed": seed, "held_out": held_out_families(seed), "sets": sets}
        kept.write_text(json.dumps(rounded(row | {"wall_s": time.monotonic() - began[1]})), encoding="utf-8")
    row: Row = json.loads(kept.read_text(encoding="utf-8"))
    print(f"{variant}, seed {seed}: {row['wall_s']:.0f} s", flush=True)
    return row


def by_family(rows: Sequence[Row]) -> dict[str, Row]:
    """Counts of a set: questions, right answers, questions with regions and crops that hold the evidence."""
    found: dict[str, Row] = {}
    for row in rows:
        counts = found.setdefault(row["family"], {"n": 0, "right": 0, "regions": 0, "hit": 0})
        counts["n"] += 1
        counts["right"] += row["right"]
        counts["regions"] += row["hit"] is not None
        counts["hit"] += bool(row["hit"])
    return found


def share(row: Row, of: str, key: str = "right", which: Sequence[str] | None = None) -> float:
    """Percent of a set's questions, of some families or all."""
    counts = [one for family, one in row["sets"][of].items() if which is None or family in which]
    asked = sum(one["regions" if key == "hit" else "n"] for one in counts)
    return 100 * sum(one[key] for one in counts) / asked if asked else float("nan")


FIGURES: Mapping[str, Callable[[Row], float]] = {
    "held out: right": lambda row: share(row, "own", "right", row["held_out"]),
    "held out: evidence in a crop": lambda row: share(row, "own", "hit", row["held_out"]),
    "held out, another picture: right": lambda row: share(row, "other-image", "right", row["held_out"]),
    "held out, blank picture: right": lambda row: share(row, "blank", "right", row["held_out"]),
    "the four rewarded: right": lambda row: share(row, "own", "right", set(FAMILIES) - set(row["held_out"])),
    "the benchmark of looking, other families": lambda row: share(row, "look"),
    "drawn by other libraries": lambda row: share(row, "drawn by others"),
    "the same: evidence in a crop": lambda row: share(row, "drawn by others", "hit"),
    "photographs": lambda row: share(row, "photographs"),
}


def table(rows: Sequence[Row]) -> str:
    """Markdown: means over seeds of every figure, then the changes paired by seed."""
    of = {(row["variant"], row["seed"]): row for row in rows}
    seeds = sorted({row["seed"] for row in rows})
    names = [name for name in (HABIT, *VARIANTS) if (name, seeds[0]) in of]
    lines = [f"| | {' | '.join(names)} | {' | '.join(f'{one} less {other}' for one, other in COMPARED)} |"]
    lines.append("|---" * (1 + len(names) + len(COMPARED)) + "|")
    for label, figure in FIGURES.items():
        cells = [f"{statistics.mean(figure(of[name, seed]) for seed in seeds):.1f}" for name in names]
        for one, other in COMPARED:
            changes = [figure(of[one, seed]) - figure(of[other, seed]) for seed in seeds if (one, seed) in of]
            if len(changes) < 2:
                cells.append("-")
                continue
            change = paired_change(changes)
            cells.append(f"{change.mean:+.1f} ({change.low:+.1f} to {change.high:+.1f})")
            if label == next(iter(FIGURES)) and (one, other) == ("four", "one"):
                cells[-1] += f", spread {change.sd:.1f}, {imitations_needed(5.0, change.sd)} seeds would find 5"
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(len(FAMILIES))))
    parser.add_argument("--each", type=int, default=60, help="Questions of each family of the circle.")
    parser.add_argument("--out", type=Path, default=Path("runs/carry_over"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--set", dest="smaller", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows = [
        run(variant, seed, options.out, options.each, options.smaller)
        for seed in options.seeds
        for variant in (HABIT, *VARIANTS)
    ]
    print(table(rows))
    if options.json:
        write_results(options.json, rows)


if __name__ == "__main__":
    main()
