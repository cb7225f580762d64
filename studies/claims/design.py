"""One design for every claim: several imitations, several draws of reinforcement from each, one end point named before.

A claim compares variants that start from the same imitations. The end point is averaged over the draws of an imitation,
subtracted from the base's, and judged over imitations (``paired.py``). Runs are resumed; what is in results.jsonl, or
among the stored rows, with the same settings is not run again.
"""

import json
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
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
    """One variant beside another, or beside the imitation, and by how many points of the end point the paper says."""

    variant: str
    base: str
    """Empty where the end point is a difference already, of two evaluations of one run."""
    expected: float
    says: str = ""
    """The paper's sentence, where it is not that of the whole claim."""
    end_point: Figure | None = None
    """Another end point than the claim's, named before the first run too."""

    @property
    def label(self) -> str:
        figure = f", {self.end_point.label}" if self.end_point is not None else ""
        return f"{self.variant}{f' over {self.base}' if self.base else ''}{figure}"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What a paper says, and the runs that could show it or exclude it."""

    name: str
    paper: str
    """The sentence in our words, with table or figure."""
    recipe: str
    run_as: str = ""
    """A recipe of the same training with fewer evaluations, in the place of ``recipe``."""
    end_point: Figure
    """Named before the first run."""
    comparisons: tuple[Comparison, ...]
    variants: Variants
    imitation: tuple[str, ...] = ()
    """Settings of the imitation's run; its reinforcement is left out."""
    no_rl: tuple[str, ...] = ("rl.steps=0",)
    """Settings that leave the reinforcement out."""
    other_imitations: Variants = field(default_factory=dict)
    """Further imitations by name, in the place of ``imitation``, for variants that ``starts`` names."""
    starts: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Variants that start elsewhere: the run, an imitation or an earlier variant of the same draw, and its stage."""
    shared: tuple[str, ...] = ()
    """Settings of every run."""
    others: tuple[Figure, ...] = ()
    """Told beside the end point, not judged."""
    start: Callable[[Path], Path] = field(default=imitation_of)
    """From the imitation's directory to the checkpoint that variants start from."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        own = (one.end_point for one in self.comparisons if one.end_point is not None)
        return tuple({one.label: one for one in (self.end_point, *self.others, *own)}.values())

    @property
    def imitations(self) -> Variants:
        """Settings of every imitation, by name."""
        return {IMITATION: self.imitation, **self.other_imitations}

    def settings_of(self, variant: str, smaller: Iterable[str] = ()) -> list[str]:
        """All settings of an imitation or a variant. Whatever is smaller: an imitation has no reinforcement."""
        if variant in self.imitations:
            return [*self.shared, *self.imitations[variant], *smaller, *self.no_rl]
        return [*self.shared, *self.variants[variant], *smaller]

    def needed(self, asked: Iterable[str]) -> list[str]:
        """The imitations and variants that must run for these variants, each behind what it starts from."""
        found = set(asked)
        found |= {self.starts[name][0] for name in found if name in self.starts}
        return [name for name in (*self.imitations, *self.variants) if name in found or name == IMITATION]


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
    stored: Sequence[Row] = (),
) -> list[Row]:
    """All rows of a claim, run where they are not there yet; ``smaller`` are further settings of every run.

    The first imitation with all of its variants comes first, so that an interrupted study has whole pairs. ``stored``
    are rows of other machines: of an imitation that is whole there nothing is run, since its checkpoints lie elsewhere.
    """
    out = out / claim.name
    out.mkdir(parents=True, exist_ok=True)
    needed = claim.needed(variants or claim.variants)
    settings_of = {name: claim.settings_of(name, smaller) for name in needed}
    whole = whole_imitations(stored, settings_of, claim.imitations, draws)
    lock = Lock()

    def directory_of(variant: str, imitation: int, draw: int) -> Path:
        return out / f"{variant.replace(' ', '_').replace(',', '')}-{imitation}-{draw}"

    def start_of(variant: str, imitation: int, draw: int) -> Path:
        if variant not in claim.starts:
            return claim.start(directory_of(IMITATION, imitation, 0))
        run, stage = claim.starts[variant]
        directory = directory_of(run, imitation, 0 if run in claim.imitations else draw)
        return sorted((directory / "checkpoints").glob(f"{stage}-*"))[-1]

    def made(variant: str, imitation: int, draw: int) -> Row:
        imitates = variant in claim.imitations
        settings = settings_of[variant]
        key = {"variant": variant, "imitation": imitation, "draw": draw, "settings": settings}
        with lock:
            kept = [row for row in [*whole, *read(out / "results.jsonl")] if key.items() <= row.items()]
        if kept:
            return kept[-1]
        directory = directory_of(variant, imitation, draw)
        start = None if imitates else start_of(variant, imitation, draw)
        began = time.monotonic()
        seed = seed_of(imitation, draw + (not imitates))
        report = train(claim.run_as or claim.recipe, seed, directory, settings, threads=threads, start=start)
        values = {figure.label: figure.read(directory, report) for figure in claim.figures}
        row: Row = rounded(key | {"figures": values, "wall_s": time.monotonic() - began})
        with lock, (out / "results.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print(f"{claim.name}: {variant}, imitation {imitation}, draw {draw}: {row['wall_s']:.0f} s", flush=True)
        return row

    def pairs(imitation: int) -> list[Row]:
        first = [made(name, imitation, 0) for name in needed if name in claim.imitations]
        others = [name for name in needed if name not in claim.imitations]
        return [*first, *(made(variant, imitation, draw) for draw in range(draws) for variant in others)]

    with ThreadPoolExecutor(at_once) as pool:
        rows = [row for rows in pool.map(pairs, range(imitations)) for row in rows]
    return [*rows, *(row for row in whole if row["imitation"] >= imitations)]


def rows_of_others(
    claim: Claim, rows: Iterable[Row], *, variants: Sequence[str], smaller: Sequence[str], draws: int
) -> list[Row]:
    """The rows that are none of a run with these options, for example of the whole design beside a shorter one."""
    own = {name: claim.settings_of(name, smaller) for name in claim.needed(variants or claim.variants)}
    return [row for row in rows if row["settings"] != own.get(row["variant"]) or row["draw"] >= draws]


def whole_imitations(
    rows: Iterable[Row], settings_of: Mapping[str, list[str]], imitating: Iterable[str], draws: int
) -> list[Row]:
    """The rows of the imitations of which each variant with these settings, and each draw of it, is there."""
    once = set(imitating)
    needed = {(name, draw) for name in settings_of for draw in range(1 if name in once else draws)}
    found: dict[int, dict[tuple[str, int], Row]] = {}
    for row in rows:
        if row["settings"] == settings_of.get(row["variant"]) and row["draw"] < draws:
            found.setdefault(row["imitation"], {})[row["variant"], row["draw"]] = row
    return [row for of in found.values() if of.keys() == needed for row in of.values()]


def by_imitation(rows: Iterable[Row], variant: str, label: str) -> dict[int, float]:
    """The mean over draws of a figure, by imitation."""
    found: dict[int, list[float]] = {}
    for row in rows:
        if row["variant"] == variant and row["figures"].get(label) is not None:
            found.setdefault(row["imitation"], []).append(row["figures"][label])
    return {imitation: statistics.mean(values) for imitation, values in sorted(found.items())}


def changes_of(claim: Claim, one: Comparison, rows: Sequence[Row]) -> list[float]:
    """The change of each imitation that has both sides, in its order."""
    label = (one.end_point or claim.end_point).label
    after = by_imitation(rows, one.variant, label)
    before = by_imitation(rows, one.base, label) if one.base else dict.fromkeys(after, 0.0)
    return [after[imitation] - before[imitation] for imitation in sorted(before.keys() & after.keys())]


def report(claim: Claim, rows: Sequence[Row]) -> str:
    """Markdown: what each variant reached in every figure, then each comparison with interval and verdict."""
    names = [one for one in (*claim.imitations, *claim.variants) if any(row["variant"] == one for row in rows)]
    labels = [figure.label for figure in claim.figures]
    lines = [f"**{claim.paper}**", "", f"| | {' | '.join(labels)} |", "|---" * (len(labels) + 1) + "|"]
    for name in names:
        cells = [by_imitation(rows, name, label) for label in labels]
        lines.append(f"| {name} | {' | '.join(_mean_and_each(cell) for cell in cells)} |")
    lines += ["", "| compared | change (95 %) | spread | verdict | power | imitations for 80 % |", "|---" * 6 + "|"]
    for one in claim.comparisons:
        changes = changes_of(claim, one, rows)
        if len(changes) > 1:
            found = paired_change(changes)
            needed = imitations_needed(one.expected, found.sd)
            lines.append(
                f"| {one.label} (claimed: {one.expected:+g}) "
                f"| {found.mean:+.1f} ({found.low:+.1f} to {found.high:+.1f}) | {found.sd:.1f} "
                f"| {found.verdict(one.expected)} | {power_of(one.expected, found.sd, found.n):.0%} "
                f"| {'more than 200' if needed is None else needed} |"
            )
    said = [f"- {one.label}: {one.says}" for one in claim.comparisons if one.says]
    return "\n".join([*lines, *([""] if said else []), *said])


def _mean_and_each(values: dict[int, float]) -> str:
    each = ", ".join(f"{value:.0f}" for value in values.values())
    return f"{statistics.mean(values.values()):.1f} ({each})" if values else "-"
