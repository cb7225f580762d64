"""What benchmarks of variants over several seeds share: runs that are kept, resumed and written down as JSON lines."""

import argparse
import json
import shlex
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import date
from pathlib import Path
from threading import Event, Lock
from typing import Any

from saccade.evaluation.statistics import wilson_interval

Row = dict[str, Any]
Variants = dict[str, tuple[str, ...]]
"""Settings of each variant, by its name."""


def read(path: Path) -> list[Row]:
    """The lines of a JSON-lines file; none where there is no file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []


def directory_of(variant: str, seed: int, out: Path) -> Path:
    return out / f"{variant.replace(', ', '-').replace(' ', '_')}-{seed}"


def train(
    recipe: str,
    seed: int,
    directory: Path,
    settings: Sequence[str],
    *,
    threads: int,
    start: Path | None,
    options: Sequence[str] = (),
) -> Row:
    """One run, resumed if it was interrupted, as the content of its ``report.json``."""
    command = [sys.executable, "-m", "saccade", "train", recipe, "--seed", str(seed), *options]
    command += [] if start is None else ["--model", str(start)]
    command += ["--out", str(directory), "--threads", str(threads), "--quiet", "--resume"]
    command += [word for setting in settings for word in ("--set", setting)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    report: Row = json.loads((directory / "report.json").read_text(encoding="utf-8"))
    return report


def imitation_of(directory: Path) -> Path:
    """The last checkpoint of a run's imitation."""
    found = sorted((directory / "checkpoints").glob("sft-*"))
    if not found:
        sys.exit(f"{directory} has no checkpoint of an imitation; run the benchmark that makes it, or give --starts")
    return found[-1]


def arguments_of(
    doc: str | None,
    variants: Variants,
    *,
    shown: Sequence[str],
    out: Path,
    starts: Path | None = None,
    needed: Mapping[str, str] = {},
) -> argparse.Namespace:
    """The command line of a benchmark; ``shown`` are the variants that it runs without ``--variants``.

    ``starts`` is where the runs of another benchmark lie whose imitations it starts from; ``needed`` are further
    options, each a path that must be given, and what they say.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, meaning in needed.items():
        parser.add_argument(name, type=Path, required=True, help=meaning)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--variants", nargs="+", default=list(shown), choices=list(variants), metavar="NAME")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=1, help="Runs at the same time.")
    parser.add_argument("--out", type=Path, default=out)
    parser.add_argument("--json", type=Path, help="Write all results here too.")
    if starts is not None:
        parser.add_argument("--starts", type=Path, default=starts, help="Runs whose imitations these start from.")
    parser.add_argument("--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE")
    return parser.parse_args()


def run_all(
    run: Callable[[str, int, Path, int, list[str]], Row],
    arguments: argparse.Namespace,
    variants: Variants,
    *,
    base: str,
    variants_first: bool = False,
    needs: Mapping[str, str] | None = None,
) -> list[Row]:
    """A row for each variant and seed: from ``results.jsonl`` where it was made with the same settings, else made now.

    A seed's ``base`` comes before its other variants, since they start from its imitation; with ``variants_first`` all
    bases come first, then all seeds of a variant after another. ``run`` is given the variant, the seed, the directory
    of all runs, the threads and the settings. ``needs`` names the variant that another one starts from, which is
    waited for where it runs as well.
    """
    results = arguments.out / "results.jsonl"
    results.parent.mkdir(parents=True, exist_ok=True)
    lock = Lock()
    needs = needs or {}
    ended = {(variant, seed): Event() for variant in (base, *arguments.variants) for seed in arguments.seeds}

    def made(variant: str, seed: int) -> Row:
        first = (needs.get(variant, ""), seed)
        if first in ended:
            ended[first].wait()
        try:
            return made_alone(variant, seed)
        finally:
            ended[variant, seed].set()

    def made_alone(variant: str, seed: int) -> Row:
        # A variant is what it is whatever else is set.
        settings = [*arguments.overrides, *variants[variant]]
        with lock:
            found = [row for row in read(results) if (row["variant"], row["seed"]) == (variant, seed)]
        if found and found[-1]["settings"] == settings:
            return found[-1]
        row = {"variant": variant, "seed": seed, "settings": settings}
        row |= run(variant, seed, arguments.out, arguments.threads, settings)
        with lock, results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print(f"{variant}, seed {seed}: {row['wall_s']:.0f} s", flush=True)
        return row

    # What waits comes last, so that nothing it waits for is behind it.
    variants_asked = sorted((one for one in arguments.variants if one != base), key=lambda one: one in needs)
    with ThreadPoolExecutor(arguments.at_once) as pool:
        bases = {pool.submit(made, base, seed): seed for seed in arguments.seeds}
        if variants_first:
            rows = [done.result() for done in bases]
            others = [(variant, seed) for variant in variants_asked for seed in arguments.seeds]
            return rows + list(pool.map(lambda pair: made(*pair), others))
        waiting = {}
        for done in as_completed(bases):
            done.result()
            waiting[bases[done]] = [pool.submit(made, variant, bases[done]) for variant in variants_asked]
        rest = [one.result() for seed in arguments.seeds for one in waiting[seed]]
        return [done.result() for done in bases] + rest


def write_results(path: Path, rows: Sequence[Row], **more: Any) -> None:
    """All rows in one file, with the command and the date."""
    command = shlex.join(["python", "-m", sys.modules["__main__"].__spec__.name, *sys.argv[1:]])
    head = json.dumps({"command": command, "date": date.today().isoformat(), **rounded(more)})
    lines = ",\n".join(json.dumps(rounded(row)) for row in rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'{head[:-1]}, "runs": [\n{lines}\n]}}\n', encoding="utf-8")


def rounded(value: Any) -> Any:
    """The same with four digits behind the point."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return round(value, 4) if isinstance(value, float) else value


def pooled(stages: Sequence[Row]) -> str:
    """The share of right answers over all seeds with its Wilson 95 % interval, which leaves out how seeds differ."""
    count = sum(stage["n"] for stage in stages)
    right = sum(round(stage["accuracy"] * stage["n"]) for stage in stages)
    low, high = wilson_interval(right, count)
    return f"{right / count:.1%} ({low:.0%} to {high:.0%})"


def by_seed(stages: Sequence[Row]) -> str:
    return ", ".join(f"{stage['accuracy']:.0%}" for stage in stages)


def at_step(curves: Sequence[Sequence[Row]], step: int, key: str, width: int = 2) -> float | None:
    """The mean over seeds, and over the steps around this one, of a number of the curves."""
    values = [
        point[key]
        for curve in curves
        for point in curve
        if abs(point["step"] - step) <= width and point.get(key) is not None
    ]
    return statistics.mean(values) if values else None
