"""docs/claims.md: a row for each claim of the five papers, its figures read from the stored results.

Rows are in rows.toml. A claim with a design of its own takes result and verdict from NAME.json in this folder, once it
is there; older evidence stands beside it, with the commit that stored it.

python -m studies.claims.page
"""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from studies.claims.__main__ import CLAIMS
from studies.claims.design import DRAWS, IMITATIONS, changes_of
from studies.claims.paired import PairedChange, paired_change
from studies.seed_runs import Row

from saccade.evaluation.statistics import Difference, paired_difference

ROOT = Path(__file__).resolve().parents[2]
STUDIES, PAGE = ROOT / "studies", ROOT / "docs" / "claims.md"
BEGIN, END = "<!-- rows: made by studies.claims.page -->", "<!-- end of rows -->"
KINDS = ("shown in part", "shown", "the opposite", "excluded", "open", "not run")
NOT_YET, STALE = "open: not run yet", "open: older than the code"
PARTIAL = "open: imitations run:"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A line of a row's result; without a verdict nothing is judged by it."""

    text: str
    source: str = ""
    verdict: str = ""
    minutes: float = 0.0


def of_design(row: Row, planned: Mapping[str, float], folder: Path) -> list[Finding]:
    """The named comparisons of a design, from its results where they are there.

    Runs with other settings than the design has today, shortened or older ones, are none of its results.
    """
    claim, path = CLAIMS[row["design"]], folder / f"{row['design']}.json"
    runs = json.loads(path.read_text(encoding="utf-8"))["runs"] if path.is_file() else []
    runs = [run for run in runs if run["settings"] == claim.settings_of(run["variant"])]
    whole = len({run["imitation"] for run in runs}) >= IMITATIONS
    minutes = sum(run["wall_s"] for run in runs) / 60 if whole else planned[claim.name]
    found = []
    comparisons = {one.label: one for one in claim.comparisons}
    for one in (comparisons[label] for label in row["compares"]):
        changes = changes_of(claim, one, runs)
        if len(changes) < 2:
            found.append(Finding(text="", verdict=NOT_YET, minutes=minutes))
            continue
        change = paired_change(changes)
        draws = 1 + max(run["draw"] for run in runs)
        text = f"{one.label}: {_interval(change)}" + (f", {draws} draw each" if draws < DRAWS else "")
        # A verdict on the way would be one of several chances to be shown.
        verdict = change.verdict(one.expected) if change.n >= IMITATIONS else f"{PARTIAL} {change.n} of {IMITATIONS}"
        found.append(Finding(text=text, verdict=verdict, minutes=minutes))
    return found


def of_study(seen: Row, source: Mapping[str, str], *, judged: bool) -> Finding:
    """What an older study stored: a sentence of its page, one number, or two sides of each seed."""
    path = STUDIES / seen["source"]
    link = f"[{path.parent.name}](../studies/{seen['source']}), {seen.get('code', source['code'])}"
    link += f", {source['stale']}" if "stale" in source else ""
    if "quote" in seen:
        return Finding(text=seen["quote"], source=link, verdict=seen.get("verdict", "") if judged else "")
    stored = json.loads(path.read_text(encoding="utf-8"))
    if "value" in seen:
        return Finding(text=f"{seen['what']}: {_at(stored, seen['value']):.2f}", source=link)
    text, verdict = _change(stored["runs"], seen)
    verdict = STALE if "stale" in source else verdict
    sides = (seen["variant"], seen.get("base", ""))
    minutes = sum(run["wall_s"] for run in stored["runs"] if run["variant"] in sides) / 60
    return Finding(text=f"{seen['what']}: {text}", source=link, verdict=verdict if judged else "", minutes=minutes)


def _change(runs: Sequence[Row], seen: Row) -> tuple[str, str]:
    """Interval and verdict of one side less the other, paired by seed, or for each seed by question."""
    variant: str = seen["variant"]
    read: str = seen["read"]
    after = _values(runs, variant, read)
    before = _values(runs, seen.get("base", variant), seen.get("base_read", read))
    seeds = sorted(after.keys() & before.keys())
    if isinstance(after[seeds[0]], str):
        each = [_by_question(before[seed], after[seed]) for seed in seeds]
        return ", ".join(map(_interval, each)), verdict_by_question(each)
    change = paired_change([100 * (after[seed] - before[seed]) / seen.get("of", 1) for seed in seeds])
    return _interval(change), f"{change.verdict(seen['size'])} on {change.n} seeds"


def _values(runs: Iterable[Row], variant: str, path: str) -> dict[int, Any]:
    """By seed what lies at this path of a variant's runs."""
    found = {run["seed"]: _at(run, path) for run in runs if run["variant"] == variant}
    return {seed: value for seed, value in found.items() if value is not None}


def _at(stored: Any, path: str) -> Any:
    for part in path.split("/"):
        stored = (stored or {}).get(part)
    return stored


def _by_question(before: str, after: str) -> Difference:
    """The difference in points of two strings of 1 and 0, paired by question."""
    sides = ([100.0 * (one == "1") for one in answers] for answers in (before, after))
    return paired_difference(*sides, seed=0)


def verdict_by_question(each: Sequence[Difference]) -> str:
    """Of seeds on real weights, each judged by its own questions."""
    n, shown = len(each), sum(one.ci95[0] > 0 for one in each)
    against = sum(one.is_clear for one in each) - shown
    if 0 < shown < n:
        return f"shown in part: {shown} of {n} seeds, real weights"
    if against:
        return f"the opposite on {against} of {n} seeds, real weights"
    return f"{'shown' if shown else 'open'} on {n} seeds, real weights"


def _interval(change: PairedChange | Difference) -> str:
    low, high = change.ci95 if isinstance(change, Difference) else (change.low, change.high)
    return f"{change.mean:+.1f} ({low:+.1f} to {high:+.1f})"


def kind_of(verdicts: Sequence[str]) -> str:
    """What a row counts as: shown only if all of it is, and not in part if its first comparison says the opposite."""
    kinds = [next(kind for kind in KINDS if verdict.startswith(kind)) for verdict in verdicts]
    mixed = len(set(kinds)) > 1 and any(kind.startswith("shown") for kind in kinds)
    return KINDS[0] if mixed and kinds[0] != "the opposite" else kinds[0]


def table(data: Mapping[str, Any], folder: Path = STUDIES / "claims") -> str:
    """All rows, by paper, behind a line that counts them."""
    kinds: Counter[str] = Counter()
    waiting = 0
    parts: list[str] = []
    for paper in data["paper"]:
        parts += [f"## {paper['title']}", "", f"[Its page]({paper['page']}), [the paper]({paper['url']}).", ""]
        parts += ["| the paper says | here | result | verdict | minutes | command |", "|---" * 6 + "|"]
        for row in (row for row in data["claim"] if row["paper"] == paper["title"]):
            found = of_design(row, data["minutes"], folder) if "design" in row else []
            for seen in row.get("seen", []):
                judged = "design" not in row or "real" in seen
                found.append(of_study(seen, data["source"][seen["source"]], judged=judged))
            verdicts = list(dict.fromkeys(one.verdict for one in found if one.verdict)) or [row["verdict"]]
            kinds[kind_of(verdicts)] += 1
            waiting += any(verdict.startswith((NOT_YET, PARTIAL)) for verdict in verdicts)
            parts.append(_line(row, found, verdicts))
        parts.append("")
    told = ", ".join(f"{kinds[kind]} {kind}" for kind in KINDS if kinds[kind])
    told += f". Runs of {waiting} are still to come" if waiting else ""
    return "\n".join([f"**{kinds.total()} claims: {told}.**", "", *parts])


def _line(row: Row, found: Sequence[Finding], verdicts: Sequence[str]) -> str:
    lines = [one for one in found if one.text]
    # A source stands once, behind the last line that is of it.
    ends = [one.source != after.source for one, after in pairwise([*lines, Finding(text="")])]
    told = [f"{one.text}: {one.verdict}" if one.verdict and len(verdicts) > 1 else one.text for one in lines]
    result = [f"{text} ({one.source})" if end and one.source else text for text, one, end in zip(told, lines, ends)]
    command = f"python -m studies.claims {row['design']}" if "design" in row else row.get("command", "")
    costs = [one.minutes for one in found]
    minutes = costs[0] if "design" in row else max(costs, default=0) or row.get("minutes", 0)
    cells = (f"{row['says']} ({row['where']})", row.get("here", ""), "<br>".join(result), "; ".join(verdicts))
    return f"| {' | '.join(cells)} | {f'{minutes:.0f}' if minutes else ''} | {f'`{command}`' if command else ''} |"


def read_rows() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("rows.toml").read_text(encoding="utf-8"))


def with_table(page: str, rows: str) -> str:
    """A page with these rows between its two marks."""
    return re.sub(f"{re.escape(BEGIN)}.*{re.escape(END)}", lambda _: f"{BEGIN}\n{rows}\n{END}", page, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), table(read_rows())), encoding="utf-8")
