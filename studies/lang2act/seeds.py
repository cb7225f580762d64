"""Lang2Act in miniature, for several seeds: the rows of the paper's Table 2, habits, errors, attention, toolbox sizes.

For each seed "both stages" imitates once and reinforces twice. "plain DAPO" (as many steps as both reinforcements),
"without the first" and "guessing in the box" start from its imitation, other sizes of the toolbox from its first
reinforcement, on a third of the questions and for half as long; "without the second" is read off it: the same weights,
asked in words (after_action) and in chains (before_tools). Each measurement is made on three pages, on pages of another
kind ("_other", the paper's Table 11), and on gold pages alone ("_oracle", Table 13). Results are appended to
results.jsonl in --out; what is there is not run again, and an interrupted run goes on where it was. ``--set
encoder=DIR`` retrieves pages (studies/retrieval/page_encoder.py --out).

python -m studies.lang2act.seeds --seeds 0 1 2 --at-once 2 --json studies/lang2act/seeds.json
"""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from studies.seed_runs import (
    Row,
    Variants,
    arguments_of,
    by_seed,
    directory_of,
    pooled,
    read,
    run_all,
    train,
    write_results,
)

from saccade.codec.codecs import plain_json
from saccade.config import RecipeContext
from saccade.curation.linguistic_tools import CuratedTools
from saccade.evaluation.perception import measured_perception
from saccade.media import MediaStore
from saccade.miniature.lang2act import TinyLang2ActSettings, tiny
from saccade.miniature.pages import PageQuestions
from saccade.miniature.reading import sentence_calls
from saccade.models import LoadSettings, load_model
from saccade.protocols.described import described_parts
from saccade.protocols.tool_tags import find_calls
from saccade.recipes.lang2act_settings import SUCCESSES
from saccade.runs import read_records
from saccade.seeding import seed_for
from saccade.tasks.scene import place_of

BASE = "both stages"
TABLE_2: Variants = {
    BASE: (),
    "plain DAPO": ("curates=false", "action_rl.steps=60"),
    "without the first": ("action_rl.steps=0",),
}
GUESSES: Variants = {"guessing in the box": ("action_rl.steps=0", "curation.k=6")}
"""From the cold start as "without the first", with all six tools that the rules know: what the rewards are to break is
valid. In Table 2's rows guessing does not reach a box of three."""
SHORT = ("action_rl.steps=0", "rl_questions=320", "tool_rl.steps=16")
SIZES: Variants = {f"{k} tools": (*SHORT, f"curation.k={k}") for k in (1, 2, 6)}
"""The box has three otherwise."""
OTHERS: Variants = {"tools paid when right": (*SHORT, "reward.pays_tools=right")}
VARIANTS = {**TABLE_2, **GUESSES, **SIZES, **OTHERS}
FROM_THE_COLD_START = {**TABLE_2, **GUESSES}
WITHOUT_SECOND = "without the second"
STAGES = {"after_sft": "sft", "after_action": "action_rl", "before_tools": "action_rl", "after_tools": "tool_rl"}
"""Measurements, and the stage whose weights each is of."""

DOCUMENTS = TinyLang2ActSettings().rl_documents
KINDS = {"": "three pages", "_other": "other pages", "_oracle": "gold pages"}
KEPT = ("accuracy", "ci95", "n", "format_rate", "chains")
CURVES = ("step", "reward/answer", "reward/tool", "noted/tools_used")
HABITS = {"look": ("locate_plate", "read_mark"), "idle": ("note_ground", "repeat_question"), "guess": ("guess_mark",)}


def main() -> None:
    arguments = arguments_of(__doc__, VARIANTS, shown=[*TABLE_2, *GUESSES, *SIZES], out=Path("runs/lang2act_seeds"))
    rows = run_all(run, arguments, VARIANTS, base=BASE)
    rows += [without_second(row) for row in rows if row["variant"] == BASE]
    print("\n\n".join([*(table(rows, kind) for kind in KINDS), habit_table(rows), chain_table(rows), look_table(rows)]))
    if arguments.json:
        write_results(arguments.json, rows)


def run(variant: str, seed: int, out: Path, threads: int, settings: list[str]) -> Row:
    """One run of the tiny recipe as a row of the results."""
    directory, base = directory_of(variant, seed, out), directory_of(BASE, seed, out)
    first = "sft" if variant in FROM_THE_COLD_START else "action_rl"
    start = None if variant == BASE else last_of(base, first)
    report = train("lang2act:tiny", seed, directory, settings, threads=threads, start=start)
    stages = {stage["name"]: {key: stage.get(key) for key in KEPT} for stage in report["stages"]}
    row: Row = {"wall_s": report["wall_s"], "stages": stages}
    if variant in TABLE_2:
        row["perception"] = perceived(directory, seed)
    names = (*STAGES, *(f"{name}_oracle" for name in STAGES), SUCCESSES)
    records = {name: directory / "evaluations" / f"{name}.jsonl" for name in names}
    row["habits"] = {name: habits(path) for name, path in records.items() if path.exists()}
    row["curve"] = curve_of(directory)
    row["places"] = {name: share for name, path in records.items() if path.exists() and (share := places(path))}
    derived = directory / "derived" / "tools.json"
    if derived.exists():
        curated = CuratedTools.from_json(json.loads(derived.read_text(encoding="utf-8")))
        row["toolbox"] = list(curated.toolbox.names)
        row["coverage"] = curated.coverage
        row["frequencies"] = {one.tool.name: one.trajectories for one in curated.pool}
        row["rests_on"] = curated.rests_on
    return row


def curve_of(directory: Path) -> Row:
    """What was sampled in each step of the second reinforcement."""
    lines = [line for line in read(directory / "metrics.jsonl") if line["stage"] == "tool_rl"]
    return {name: [line.get(name) for line in lines] for name in CURVES}


def without_second(base: Row) -> Row:
    """The row of a run that ends before its second reinforcement."""
    kept = {name: stage for name, stage in base["stages"].items() if not name.startswith("after_tools")}
    return {"variant": WITHOUT_SECOND, "seed": base["seed"], "settings": base["settings"], "stages": kept}


def last_of(directory: Path, stage: str) -> Path:
    """The last checkpoint of a run's stage."""
    return sorted((directory / "checkpoints").glob(f"{stage}-*"))[-1]


def perceived(directory: Path, seed: int) -> Row:
    """V-precision and V-recall (the paper's Figure 3) after each stage whose last weights are kept, and, of the first
    of them, under random weights."""
    media = MediaStore()
    found: Row = {}
    for name, stage in STAGES.items():
        records = directory / "evaluations" / f"{name}.jsonl"
        kept = sorted((directory / "checkpoints").glob(f"{stage}-*"))
        if not records.exists() or not kept:
            continue
        # Records keep hashes of pictures: they are drawn again.
        questions = PageQuestions(seed=seed_for(seed, "pages"), media=media, documents=DOCUMENTS)
        attempts = list(read_records(records))
        for number in range(len(attempts)):
            questions.asked_pages("held_out", number)
        models = {name: load_model(kept[-1], media, LoadSettings(device="cpu"))}
        if not found:
            models["random weights"] = tiny(RecipeContext(seed=seed, media=media)).build_model()
        for whose, model in models.items():
            measured = measured_perception(model, attempts)
            found[whose] = None if measured is None else plain_json(measured)
    return found


def habits(records: Path) -> Row:
    """What the policy does when it answers questions: shares of habits, and how often each is right."""
    tried: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for attempt in read_records(records):
        turns = attempt.trajectory.turns
        description = described_parts(turns[-1].thought)[1] if turns else ""
        used = {call.name for call in [*sentence_calls(description), *find_calls(description).calls]}
        habit = next((name for name, of in HABITS.items() if used & set(of)), "none")
        tried[habit] += 1
        right[habit] += attempt.trajectory.score is not None and bool(attempt.trajectory.score.is_right)
    total = sum(tried.values())
    return {name: {"share": count / total, "right": right[name] / count} for name, count in tried.items()}


def places(records: Path) -> Row | None:
    """Of the plates that are asked for: on how many a place is said, on the right page, and how many of these are
    right."""
    plates = said = right = 0
    for attempt in read_records(records):
        asked = {
            f"Image {one.image_index + 1}: {one.label.removesuffix(' plate')}": one for one in attempt.task.targets
        }
        turns = attempt.trajectory.turns
        description = described_parts(turns[-1].thought)[1] if turns else ""
        calls = [*sentence_calls(description), *find_calls(description).calls]
        found = {call.args: call.finding for call in calls if call.name == "locate_plate" and call.args in asked}
        plates, said = plates + len(asked), said + len(found)
        right += sum(place == place_of(asked[args].box.center) for args, place in found.items())
    return {"on_the_page": said / plates, "right": right / said} if said else None


def table(rows: Sequence[Row], kind: str) -> str:
    """Accuracy after each stage, all seeds with Wilson's interval and each."""
    lines = [f"| {KINDS[kind]} | {' | '.join(STAGES)} |", "|---" * (len(STAGES) + 1) + "|"]
    for variant in dict.fromkeys(row["variant"] for row in rows):
        found = [row for row in rows if row["variant"] == variant]
        cells = []
        for name in STAGES:
            stages = [row["stages"][f"{name}{kind}"] for row in found if f"{name}{kind}" in row["stages"]]
            cells.append(f"{pooled(stages)}: {by_seed(stages)}" if stages else "")
        lines.append(f"| {variant} | {' | '.join(cells)} |")
    return "\n".join(lines)


def habit_table(rows: Sequence[Row]) -> str:
    """Habits before and after, by seed; tools by trajectories and those that reach the box (the paper's Table 9)."""
    lines = ["| run | seed | measured | habits: share (right) |", "|---|---|---|---|"]
    for row in rows:
        for name, done in row.get("habits", {}).items():
            shares = ", ".join(f"{habit} {one['share']:.0%} ({one['right']:.0%})" for habit, one in done.items())
            lines.append(f"| {row['variant']} | {row['seed']} | {name} | {shares} |")
    lines += ["", "| run | seed | tools by trajectories | box | coverage |", "|---|---|---|---|---|"]
    for row in rows:
        if "frequencies" in row:
            counts = ", ".join(f"{name} {count}" for name, count in row["frequencies"].items())
            box = ", ".join(row["toolbox"])
            lines.append(f"| {row['variant']} | {row['seed']} | {counts} | {box} | {row['coverage']:.0%} |")
    return "\n".join(lines)


def chain_table(rows: Sequence[Row]) -> str:
    """Errors of chains before and after the second reinforcement (the paper's Table 10), and calls per chain."""
    lines = ["| run | seed | measured | valid | errors | calls | tools |", "|---" * 7 + "|"]
    for row in rows:
        for name, stage in row["stages"].items():
            if (chains := stage.get("chains")) and name in STAGES and row["variant"] != WITHOUT_SECOND:
                errors, used = (", ".join(f"{k} {n}" for k, n in chains[key].items()) for key in ("errors", "tools"))
                lines.append(
                    f"| {row['variant']} | {row['seed']} | {name} | {chains['valid']:.1%} | {errors} "
                    f"| {chains['calls_mean']:.1f} | {used} |"
                )
    return "\n".join(lines)


def look_table(rows: Sequence[Row]) -> str:
    """Attention on the gold plates (the paper's Figure 3), by seed."""
    names = ("rate", "v_precision", "right_when_missed", "v_recall")
    lines = [f"| run | seed | weights | {' | '.join(names)} |", "|---" * (len(names) + 3) + "|"]
    for row in rows:
        for name, seen in row.get("perception", {}).items():
            if seen is not None:
                cells = [share_text(seen[measure]) for measure in names]
                lines.append(f"| {row['variant']} | {row['seed']} | {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def share_text(share: Row) -> str:
    return "none" if share["accuracy"] is None else f"{share['accuracy']:.0%}"


if __name__ == "__main__":
    main()
