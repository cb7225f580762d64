"""One design for every claim: several imitations, several draws of reinforcement from each, one end point named before.

A claim compares variants that start from the same imitations. The end point is averaged over the draws of an imitation,
subtracted from the base's, and judged over imitations (``paired.py``). Runs are resumed; what is in results.jsonl with
the same settings is not run again.
"""

import json
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from studies.claims.paired import imitations_needed, paired_change, power_of
from studies.seed_runs import Row, Variants, imitation_of, read, rounded, train

IMITATIONS, DRAWS = 6, 2
IMITATION = "imitation"


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A number of a finished run, in points of 100 where it is a share."""

    label: str
    read: Callable[[Path, Row], float | None]
    """From the run's directory and its ``report.json``; None where the run has no such number."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One variant beside another that the paper says is worse, and by how many points of the end point."""

    variant: str
    base: str
    expected: float


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What a paper says, and the runs that could show it or exclude it."""

    name: str
    paper: str
    """The sentence in our words, with table or figure."""
    recipe: str
    end_point: Figure
    """Named before the first run."""
    comparisons: tuple[Comparison, ...]
    variants: Variants
    imitation: tuple[str, ...] = ()
    """Settings of the imitation's run; its reinforcement is left out."""
    shared: tuple[str, ...] = ()
    """Settings of every run."""
    others: tuple[Figure, ...] = ()
    """Told beside the end point, not judged."""
    start: Callable[[Path], Path] = field(default=imitation_of)
    """From the imitation's directory to the checkpoint that variants start from."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (self.end_point, *self.others)


def share_of(label: str, stage: str, key: str = "accuracy") -> Figure:
    """A share of an evaluation in points; ``key`` may lead into parts, such as ``pointing.accuracy``."""

    def value(_: Path, report: Row) -> float | None:
        found = next((one for one in report["stages"] if one["name"] == stage), {})
        for part in key.split("."):
            found = (found or {}).get(part)
        return None if found is None else 100 * found

    return Figure(label=label, read=value)


def seed_of(imitation: int, draw: int = 0) -> int:
    """The seed of a run: draws of one imitation ask other questions and sample otherwise."""
    return 100 * imitation + draw


def run_claim(
    claim: Claim,
    out: Path,
    *,
    imitations: int = IMITATIONS,
    draws: int = DRAWS,
    threads: int = 1,
    at_once: int = 1,
    variants: Sequence[str] = (),
    smaller: Sequence[str] = (),
) -> list[Row]:
    """All rows of a claim, run where they are not there yet; ``smaller`` are further settings of every run.

    The first imitation with all of its variants comes first, so that an interrupted study has whole pairs.
    """
    out = out / claim.name
    out.mkdir(parents=True, exist_ok=True)
    asked = [name for name in claim.variants if not variants or name in variants]
    lock = Lock()

    def made(variant: str, imitation: int, draw: int) -> Row:
        own = (*claim.imitation, "rl.steps=0") if variant == IMITATION else claim.variants[variant]
        settings = [*claim.shared, *own, *smaller]
        key = {"variant": variant, "imitation": imitation, "draw": draw, "settings": settings}
        with lock:
            kept = [row for row in read(out / "results.jsonl") if key.items() <= row.items()]
        if kept:
            return kept[-1]
        directory = out / f"{variant.replace(' ', '_').replace(',', '')}-{imitation}-{draw}"
        start = None if variant == IMITATION else claim.start(out / f"{IMITATION}-{imitation}-0")
        began = time.monotonic()
        seed = seed_of(imitation, draw + (variant != IMITATION))
        report = train(claim.recipe, seed, directory, settings, threads=threads, start=start)
        values = {figure.label: figure.read(directory, report) for figure in claim.figures}
        row: Row = rounded(key | {"figures": values, "wall_s": time.monotonic() - began})
        with lock, (out / "results.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print(f"{claim.name}: {variant}, imitation {imitation}, draw {draw}: {row['wall_s']:.0f} s", flush=True)
        return row

    def pairs(imitation: int) -> list[Row]:
        first = made(IMITATION, imitation, 0)
        return [first, *(made(variant, imitation, draw) for draw in range(draws) for variant in asked)]

    with ThreadPoolExecutor(at_once) as pool:
        return [row for rows in pool.map(pairs, range(imitations)) for row in rows]


def by_imitation(rows: Iterable[Row], variant: str, label: str) -> dict[int, float]:
    """The mean over draws of a figure, by imitation."""
    found: dict[int, list[float]] = {}
    for row in rows:
        if row["variant"] == variant and row["figures"].get(label) is not None:
            found.setdefault(row["imitation"], []).append(row["figures"][label])
    return {imitation: statistics.mean(values) for imitation, values in sorted(found.items())}


def report(claim: Claim, rows: Sequence[Row]) -> str:
    """Markdown: what each variant reached in every figure, then each comparison with interval and verdict."""
    names = [one for one in (IMITATION, *claim.variants) if any(row["variant"] == one for row in rows)]
    labels = [figure.label for figure in claim.figures]
    lines = [f"**{claim.paper}**", "", f"| | {' | '.join(labels)} |", "|---" * (len(labels) + 1) + "|"]
    for name in names:
        cells = [by_imitation(rows, name, label) for label in labels]
        lines.append(f"| {name} | {' | '.join(_mean_and_each(cell) for cell in cells)} |")
    lines += ["", "| compared | change (95 %) | spread | verdict | power | imitations for 80 % |", "|---" * 6 + "|"]
    for one in claim.comparisons:
        before, after = (by_imitation(rows, name, claim.end_point.label) for name in (one.base, one.variant))
        changes = [after[imitation] - before[imitation] for imitation in before.keys() & after.keys()]
        if len(changes) > 1:
            found = paired_change(changes)
            needed = imitations_needed(one.expected, found.sd)
            lines.append(
                f"| {one.variant} over {one.base} (claimed: {one.expected:+g}) "
                f"| {found.mean:+.1f} ({found.low:+.1f} to {found.high:+.1f}) | {found.sd:.1f} "
                f"| {found.verdict(one.expected)} | {power_of(one.expected, found.sd, found.n):.0%} "
                f"| {'more than 200' if needed is None else needed} |"
            )
    return "\n".join(lines)


def _mean_and_each(values: dict[int, float]) -> str:
    each = ", ".join(f"{value:.0f}" for value in values.values())
    return f"{statistics.mean(values.values()):.1f} ({each})" if values else "-"
