"""Lang2Act in miniature, for several seeds: the rows of the paper's Table 2, the size of the toolbox, oracle pages.

For each seed "both stages" imitates once; each other variant starts from that imitation. Plain DAPO has as many steps
as both reinforcements. Results are appended to results.jsonl in --out; what is there is not run again, and an
interrupted run goes on where it was. ``--set encoder=DIR`` retrieves pages (benchmarks/page_encoder.py --out).

python benchmarks/lang2act_seeds.py --seeds 0 1 2 --at-once 2 --json docs/results/lang2act_seeds.json
"""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from seed_runs import (
    Row,
    Variants,
    arguments_of,
    by_seed,
    directory_of,
    imitation_of,
    pooled,
    run_all,
    train,
    write_results,
)

from saccade.curation.linguistic_tools import CuratedTools
from saccade.evaluation.perception import measured_perception
from saccade.media import MediaStore
from saccade.miniature.lang2act import TinyLang2ActSettings
from saccade.miniature.pages import PageQuestions
from saccade.miniature.reading import sentence_calls
from saccade.models import LoadSettings, load_model
from saccade.protocols.described import described_parts
from saccade.runs import read_records
from saccade.seeding import seed_for

BASE = "both stages"
TABLE_2: Variants = {
    BASE: (),
    "plain DAPO": ("curates=false", "action_rl.steps=80"),
    "without the first": ("action_rl.steps=0",),
    "without the second": ("tool_rl.steps=0",),
}
SIZES: Variants = {f"{k} tools": (f"curation.k={k}",) for k in (1, 2, 6)}
OTHERS: Variants = {"oracle pages": ("oracle=true",), "tools paid when right": ("reward.pays_tools=right",)}
VARIANTS = {**TABLE_2, **SIZES, **OTHERS}
STAGES = {"after_sft": "sft", "after_action": "action_rl", "after_tool_sft": "tool_sft", "after_tools": "tool_rl"}
"""Measurements, and the stage that comes before each."""

DOCUMENTS = TinyLang2ActSettings().rl_documents
OTHER = "_other"
"""Behind a stage's name: measured on pages of another kind (the paper's Table 11)."""
KEPT = ("accuracy", "ci95", "n", "format_rate", "chains")
HABITS = {"look": ("locate_plate", "read_mark"), "idle": ("note_ground", "repeat_question"), "guess": ("guess_mark",)}


def main() -> None:
    arguments = arguments_of(__doc__, VARIANTS, shown=list(VARIANTS), out=Path("runs/lang2act_seeds"))
    rows = run_all(run, arguments, VARIANTS, base=BASE)
    print(f"{table(rows)}\n\n{tools(rows)}\n")
    if arguments.json:
        write_results(arguments.json, "lang2act_seeds.py", rows)


def run(variant: str, seed: int, out: Path, threads: int, settings: list[str]) -> Row:
    """One run of the tiny recipe as a row of the results."""
    directory = directory_of(variant, seed, out)
    start = None if variant == BASE else imitation_of(directory_of(BASE, seed, out))
    report = train("lang2act:tiny", seed, directory, settings, threads=threads, start=start)
    stages = {stage["name"]: {key: stage.get(key) for key in KEPT} for stage in report["stages"]}
    row: Row = {"wall_s": report["wall_s"], "stages": stages}
    row["perception"] = perceived(directory, seed)
    successes = directory / "evaluations" / "successes.jsonl"
    if successes.exists():
        row["habits"] = habits(successes)
    derived = directory / "derived" / "tools.json"
    if derived.exists():
        curated = CuratedTools.from_json(json.loads(derived.read_text(encoding="utf-8")))
        row["toolbox"] = list(curated.toolbox.names)
        row["coverage"] = curated.coverage
        row["frequencies"] = {one.tool.name: one.trajectories for one in curated.pool}
        row["rests_on"] = curated.rests_on
    return row


def perceived(directory: Path, seed: int) -> Row:
    """V-precision and V-recall (the paper's Figure 3) after each stage whose last weights are kept."""
    media = MediaStore()
    found: Row = {}
    for name, stage in STAGES.items():
        records = directory / "evaluations" / f"{name}.jsonl"
        kept = sorted((directory / "checkpoints").glob(f"{stage}-*"))
        if records.exists() and kept:
            # Records keep hashes of pictures: they are drawn again.
            questions = PageQuestions(seed=seed_for(seed, "pages"), media=media, documents=DOCUMENTS)
            attempts = list(read_records(records))
            for number in range(len(attempts)):
                questions.asked("held_out", number)
            measured = measured_perception(load_model(kept[-1], media, LoadSettings(device="cpu")), attempts)
            found[name] = None if measured is None else measured.as_json()
    return found


def habits(successes: Path) -> Row:
    """What the policy does when it answers training questions: shares of habits, and how often each is right."""
    tried: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for attempt in read_records(successes):
        turns = attempt.trajectory.turns
        used = {call.name for call in sentence_calls(described_parts(turns[-1].thought)[1])} if turns else set()
        habit = next((name for name, of in HABITS.items() if used & set(of)), "none")
        tried[habit] += 1
        right[habit] += attempt.trajectory.score is not None and bool(attempt.trajectory.score.is_right)
    total = sum(tried.values())
    return {name: {"share": count / total, "right": right[name] / count} for name, count in tried.items()}


def table(rows: Sequence[Row]) -> str:
    """Accuracy after each stage, all seeds with Wilson's interval and each."""
    names = [f"{stage}{kind}" for kind in ("", OTHER) for stage in STAGES]
    lines = [f"| variant | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for variant in dict.fromkeys(row["variant"] for row in rows):
        found = [row for row in rows if row["variant"] == variant]
        cells = []
        for name in names:
            stages = [row["stages"][name] for row in found if name in row["stages"]]
            cells.append(f"{pooled(stages)}: {by_seed(stages)}" if stages else "")
        lines.append(f"| {variant} | {' | '.join(cells)} |")
    return "\n".join(lines)


def tools(rows: Sequence[Row]) -> str:
    """Tools by trajectories (the paper's Table 9), and what the policy did before they were curated, by seed."""
    lines = []
    for row in rows:
        if "frequencies" in row:
            done = ", ".join(
                f"{name} {one['share']:.0%} (right {one['right']:.0%})" for name, one in row["habits"].items()
            )
            counts = ", ".join(f"{name} {count}" for name, count in row["frequencies"].items())
            lines.append(f"{row['variant']}, seed {row['seed']}: {done}; {counts}; box of {len(row['toolbox'])}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
