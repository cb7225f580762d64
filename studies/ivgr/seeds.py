"""The tables of iVGR in miniature, for several seeds: components (the paper's Table 5), threshold (6), second looks (4)
and training (Figure 4), attention on images (Table 10), and accuracy by how well boxes fit (Figure 2).

For each seed the tiny recipe imitates once and reinforces with both streams, the agreement and the archive; each other
variant starts from that imitation. Results are appended to results.jsonl in --out; what is there is not run again, and
an interrupted run goes on where it was.

python -m studies.ivgr.seeds --seeds 0 1 2 --at-once 2 --json studies/ivgr/seeds.json
"""

import asyncio
import statistics
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from studies.seed_runs import (
    Row,
    Variants,
    arguments_of,
    at_step,
    by_seed,
    directory_of,
    imitation_of,
    pooled,
    read,
    run_all,
    train,
    write_results,
)

from saccade.codec.codecs import plain_json

BASE = "both, agreement, archive"
COMPONENTS: Variants = {
    "textual alone": ("streams=textual",),
    "grounded alone": ("streams=grounded",),
    "both": ("consistency=false",),
    "both, agreement": ("reward.use_archive=false",),
    BASE: (),
}
"""Rows 3 to 7 of the paper's Table 5."""

TAUS: Variants = {f"tau {tau}": (f"reward.tau={tau}",) for tau in (0.0, 0.1, 0.2, 0.4)}
"""The base's own is 0.3."""

VARIANTS = {**COMPONENTS, **TAUS}

LOOKS = {"words alone": "textual", "crops": "crops", "union": "union", "crops and union": "crops_union"}
KEPT = ("accuracy", "ci95", "n", "families", "format_rate", "grounding")
"""What is written down of an evaluation."""
LAST_STEPS = 10
"""Written down of the training of the variants that are not drawn as curves."""
RUBRIC = ("1.0", "0.7", "0.3", "0.0")


def main() -> None:
    arguments = arguments_of(__doc__, VARIANTS, shown=list(VARIANTS), out=Path("runs/ivgr_seeds"))
    rows = run_all(run, arguments, VARIANTS, base=BASE)
    for table in (components_table, threshold_table, looks_table, training_table, fit_table, attention_table):
        print(f"{table(rows)}\n")
    if arguments.json:
        write_results(arguments.json, rows)


def run(variant: str, seed: int, out: Path, threads: int, settings: list[str]) -> Row:
    """One run of the tiny recipe as a row of the results."""
    directory = directory_of(variant, seed, out)
    start = None if variant == BASE else imitation_of(directory_of(BASE, seed, out))
    report = train("ivgr:tiny", seed, directory, settings, threads=threads, start=start)
    stages = {stage["name"]: stage for stage in report["stages"]}
    row: Row = {
        "wall_s": report["wall_s"],
        "stages": {name: {key: stage.get(key) for key in KEPT} for name, stage in stages.items()},
        "by_iou": report["by_iou"] if variant == BASE else [],
        "training": report["two_streams"][0]["steps"][0 if variant == BASE else -LAST_STEPS :],
        "held_out": [
            {"step": metric["step"], "accuracy": metric["held_out/reward/accuracy"]}
            for metric in read(directory / "metrics.jsonl")
            if "held_out/reward/accuracy" in metric
        ],
    }
    said = {"after": "after_rl_textual", **({"before": "after_sft_textual"} if variant == BASE else {})}
    row["said"] = {when: scores_of_words(directory, evaluation) for when, evaluation in said.items()}
    if variant in COMPONENTS:
        last = sorted((directory / "checkpoints").glob("rl-*"))[-1]
        row["attention"] = {"after": attention(last, directory, "after_rl_textual")}
        if variant == BASE:
            imitation = imitation_of(directory)
            row["attention"]["before"] = attention(imitation, directory, "after_sft_textual")
    return row


def scores_of_words(directory: Path, evaluation: str) -> dict[str, int]:
    """What the exact judge says of an evaluation's answers in words, held against an expert's reasoning with boxes.

    1.0 is: names every object that was asked for, and says rightly where it is and what it bears.
    """
    from saccade.miniature.ivgr import EXACT
    from saccade.rewards.judges.consistency import Reference, thoughts_of
    from saccade.runs.records import read_records
    from saccade.runs.runinfo import RunPaths
    from saccade.tasks.two_streams import grounded
    from saccade.types import Example

    async def verdicts() -> Counter[str]:
        counts: Counter[str] = Counter()
        for attempt in read_records(RunPaths(root=directory).evaluation(evaluation)):
            [turn] = grounded(Example(task=attempt.task, turns=())).turns
            boxes = tuple(target.box for target in attempt.task.targets)
            reference = Reference(text=turn.thought, boxes=boxes, box_reward=1.0)
            verdict = await EXACT(attempt.task, reference, thoughts_of(attempt.trajectory))
            counts[f"{verdict.value:.1f}"] += 1
        return counts

    return dict(asyncio.run(verdicts()))


def attention(checkpoint: Path, directory: Path, evaluation: str) -> Row:
    """How much the tokens of an evaluation's answers look at the image, and how much of it at what was asked for."""
    from saccade.media.store import MediaStore
    from saccade.models.attention_share import attention_shares, mean_attention
    from saccade.models.loading import LoadSettings, load_model
    from saccade.runs.records import read_records
    from saccade.runs.runinfo import RunPaths

    paths, media = RunPaths(root=directory), MediaStore()
    attempts = list(read_records(paths.evaluation(evaluation)))
    for image in {image for attempt in attempts for image in attempt.trajectory.images}:
        media.add_file(paths.media / f"{image.hash}.png")
    mean = mean_attention(attention_shares(load_model(checkpoint, media, LoadSettings(device="cpu")), attempts))
    assert mean is not None
    return plain_json(mean)


def of(rows: Sequence[Row], variant: str) -> list[Row]:
    return [row for row in rows if row["variant"] == variant]


def cells(rows: Sequence[Row], stage: str) -> str:
    """All questions with their interval, seed by seed, and each family's mean over seeds."""
    stages = [row["stages"][stage] for row in rows]
    families = [
        f"{statistics.mean(one['families'][name]['accuracy'] for one in stages):.1%}" for name in stages[0]["families"]
    ]
    return " | ".join([pooled(stages), by_seed(stages), *families])


def components_table(rows: Sequence[Row]) -> str:
    """Table 5: each variant in words (T) and with boxes (G), and how well it says or shows where things are."""
    base = of(rows, BASE)
    families = list(base[0]["stages"]["after_rl_textual"]["families"])
    lines = [f"| | | right | by seed | {' | '.join(families)} | where |", "|---" * (5 + len(families)) + "|"]
    lines.append(f"| made from nothing | T | {cells(base, 'before_textual')} | |")
    lines.append(f"| cold start | T | {cells(base, 'after_sft_textual')} | {true_words(base, 'before')} |")
    lines.append(f"| cold start | G | {cells(base, 'after_sft_grounded')} | {miou(base, 'after_sft_grounded')} |")
    for name in COMPONENTS:
        if found := of(rows, name):
            lines.append(f"| {name} | T | {cells(found, 'after_rl_textual')} | {true_words(found, 'after')} |")
            lines.append(f"| {name} | G | {cells(found, 'after_rl_grounded')} | {miou(found, 'after_rl_grounded')} |")
    return "\n".join(lines)


def true_words(rows: Sequence[Row], when: str) -> str:
    """The share of answers in words that say rightly and wholly what was asked for is, and where."""
    shares = [row["said"][when].get("1.0", 0) / sum(row["said"][when].values()) for row in rows]
    return f"{statistics.mean(shares):.0%} ({', '.join(f'{share:.0%}' for share in shares)})"


def miou(rows: Sequence[Row], stage: str) -> str:
    found = [row["stages"][stage]["grounding"]["iou"] for row in rows]
    return f"mIoU {statistics.mean(found):.2f} ({', '.join(f'{one:.2f}' for one in found)})"


def threshold_table(rows: Sequence[Row]) -> str:
    """Table 6."""
    lines = ["| tau | right in words | by seed | questions with a reference |", "|---|---|---|---|"]
    for name, tau in sorted(
        [*((name, name.removeprefix("tau ")) for name in TAUS), (BASE, "0.3")], key=lambda one: one[1]
    ):
        if found := of(rows, name):
            stages = [row["stages"]["after_rl_textual"] for row in found]
            referred = [
                step["with_reference"] / step["questions"] for row in found for step in row["training"][-LAST_STEPS:]
            ]
            lines.append(f"| {tau} | {pooled(stages)} | {by_seed(stages)} | {statistics.mean(referred):.0%} |")
    return "\n".join(lines)


def looks_table(rows: Sequence[Row]) -> str:
    """Table 4: the second look of the cold start and of the trained model."""
    base = of(rows, BASE)
    lines = ["| second look | cold start | by seed | trained | by seed |", "|---|---|---|---|---|"]
    for label, name in LOOKS.items():
        both = [[row["stages"][f"after_{when}_{name}"] for row in base] for when in ("sft", "rl")]
        lines.append(f"| {label} | " + " | ".join(f"{pooled(stages)} | {by_seed(stages)}" for stages in both) + " |")
    return "\n".join(lines)


def training_table(rows: Sequence[Row]) -> str:
    """Figure 4: rewards, the share of each score among right and wrong answers, and hits of the archive."""
    curves = [[figures(step) for step in row["training"]] for row in of(rows, BASE)]
    last = max(point["step"] for curve in curves for point in curve)
    steps = sorted({1, *range(last // 6, last + 1, max(1, last // 6)), last})
    lines = ["| | " + " | ".join(f"step {step}" for step in steps) + " |", "|---|" + "---|" * len(steps)]
    for key in curves[0][0].keys() - {"step"} and [key for key in curves[0][0] if key != "step"]:
        values = [at_step(curves, step, key, width=3) for step in steps]
        lines.append(f"| {key} | " + " | ".join("-" if value is None else f"{value:.2f}" for value in values) + " |")
    return "\n".join(lines)


def figures(step: Row) -> Row:
    """The numbers of Figure 4 of one step."""
    shares = {
        f"{kind} answers scored {value}": step[kind][value] / sum(step[kind].values())
        if sum(step[kind].values())
        else None
        for kind in ("right", "wrong")
        for value in RUBRIC
    }
    return {
        "step": step["step"],
        "right with boxes": step["grounded_accuracy"],
        "right in words": step["textual_accuracy"],
        "reward of boxes": step["box"],
        "reward of agreement": step["consistency"],
        "questions with a reference": step["with_reference"] / step["questions"] if step["questions"] else None,
        "references from the archive": step["from_archive"] / step["with_reference"]
        if step["with_reference"]
        else None,
        **shares,
    }


def fit_table(rows: Sequence[Row]) -> str:
    """Figure 2: accuracy in words and with boxes by how well the question's boxes fit, after training."""
    asked = {"boxes_of": "after_rl_grounded", "words_of": "after_rl_textual"}
    found = [one for row in of(rows, BASE) for one in row["by_iou"] if asked.items() <= one.items()]
    lines = ["| IoU | questions | right with boxes | right in words |", "|---|---|---|---|"]
    for index, interval in enumerate(found[0]["boxes"]):
        count = sum(one["boxes"][index]["n"] for one in found)
        shares = [share(found, kind, index) for kind in ("boxes", "words")]
        lines.append(f"| {interval['low']:g} to {interval['high']:g} | {count} | " + " | ".join(shares) + " |")
    return "\n".join(lines)


def share(found: Sequence[Row], kind: str, index: int) -> str:
    counted = [one[kind][index] for one in found if one[kind][index]["n"]]
    return pooled(counted) if counted else "-"


def attention_table(rows: Sequence[Row]) -> str:
    """Table 10, of answers in words: attention on image tokens in the last layer, and on what was asked for."""
    found = {name: [row["attention"]["after"] for row in of(rows, name)] for name in COMPONENTS}
    found = {"cold start": [row["attention"]["before"] for row in of(rows, BASE)], **found}
    lines = ["| | on image tokens | by seed | times blind attention on what is asked for |", "|---|---|---|---|"]
    for name, several in found.items():
        if several:
            images, seeds = [one["image"] for one in several], ", ".join(f"{one['image']:.3f}" for one in several)
            focus = statistics.mean(one["focus"] for one in several)
            lines.append(f"| {name} | {statistics.mean(images):.3f} | {seeds} | {focus:.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
