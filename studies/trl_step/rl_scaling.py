"""How one reinforcement step grows with group size, prompt length, turns and image size.

    python -m studies.trl_step.rl_scaling [--vary group prompt turns image] [--trl] [--steps 3] [--json FILE]

Each row changes one number of the ``multi`` workload (of ``single`` for the prompt's length) and leaves the others as
they are. Times are the best of the timed steps; work is counted at the model's own doors. With ``--trl`` TRL's
GRPOTrainer takes the same steps in turn, on the same tokens.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from saccade.bench.checkpoint import SIZES
from saccade.bench.race import race
from saccade.bench.results import BenchResult, write_figures
from saccade.bench.workload import WORKLOADS, Workload, with_image
from saccade.cli import prepare_machine


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """One workload of a scaling, and the number that it was made with."""

    varied: str
    value: int
    workload: Workload


def points(varied: list[str]) -> Iterator[Point]:
    """What is measured, in order."""
    single, multi = WORKLOADS["single"], WORKLOADS["multi"]
    if "group" in varied:
        for size in (2, 4, 8, 16):
            yield Point(varied="group size", value=size, workload=replace(multi, group_size=size))
    if "prompt" in varied:
        for tokens in (101, 256, 512, 1024):
            yield Point(varied="prompt tokens", value=tokens, workload=replace(single, prompt_tokens=tokens))
    if "turns" in varied:
        for turns in (1, 2, 3, 5):
            yield Point(varied="turns", value=turns, workload=replace(multi, turns=turns))
    if "image" in varied:
        for side in (112, 224, 448):
            yield Point(varied="image px", value=side, workload=with_image(multi, side))


def table(measured: list[tuple[Point, BenchResult]]) -> Table:
    shown = Table(title="one reinforcement step")
    for column in (
        "varied",
        "value",
        "processor (s)",
        "prefilled",
        "decoded",
        "trained",
        "images",
        "peak MiB",
        "TRL (s)",
    ):
        shown.add_column(column, justify="left" if column == "varied" else "right")
    for point, result in measured:
        ours, theirs = result.frameworks["saccade"], result.frameworks.get("trl")
        shown.add_row(
            point.varied,
            str(point.value),
            f"{ours.cpu_s_min:.2f}",
            f"{ours.work.tokens_prefilled:,}",
            f"{ours.work.tokens_decoded:,}",
            f"{ours.work.tokens_trained:,}",
            f"{ours.work.images_encoded_training:,}",
            f"{ours.peak_mb:,.0f}",
            f"{theirs.cpu_s_min:.2f}" if theirs else "",
        )
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    choices = ["group", "prompt", "turns", "image"]
    parser.add_argument("--vary", nargs="+", choices=choices, default=choices)
    parser.add_argument("--trl", action="store_true", help="beside TRL")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    threads = prepare_machine(options.threads)
    measured: list[tuple[Point, BenchResult]] = []
    for point in points(options.vary):
        result = race(
            point.workload,
            ("saccade", "trl") if options.trl else ("saccade",),
            model=SIZES["tiny"],
            steps=options.steps,
            threads=threads,
        )
        measured.append((point, result))
        print(json.dumps({"varied": point.varied, "value": point.value}), flush=True)
    Console().print(table(measured))
    if options.json is not None:
        rows = [{"varied": point.varied, "value": point.value, **result.as_json()} for point, result in measured]
        write_figures(rows, options.json)


if __name__ == "__main__":
    main()
