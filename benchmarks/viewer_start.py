"""How long `saccade view` takes from its launch to its first rows, and other commands to their words, by turns.

    python benchmarks/viewer_start.py --run FOLDER/run-100000 --cache FOLDER/cache --json docs/results/viewer_start.json
    ... --python before=OLD/bin/python --python now=NEW/bin/python    # two installations, one after the other

``FOLDER`` is what ``benchmarks/viewer_scale.py`` leaves, index included. Of each start are told seconds by the clock
and the processor seconds of the process, which a busy machine changes less, until the list of runs was answered, and
until the first hundred rows were.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
import urllib.request
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

COMMANDS = {"version": ("--version",), "help of train": ("train", "--help"), "help": ("--help",)}

Told = dict[str, float]


def viewed(python: str, run: Path, cache: Path) -> Told:
    """One start of the viewer."""
    started_s = time.monotonic()
    command = [python, "-m", "saccade", "view", str(run), "--port", "0", "--no-open"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        [one] = asked(f"{address}api/runs")["runs"]
        told = {"answers_s": time.monotonic() - started_s, "answers_cpu_s": cpu_s(process.pid)}
        while not asked(f"{address}api/runs/{one['id']}/trajectories?limit=100&facets=0")["rows"]:
            time.sleep(0.01)
        told |= {"first_rows_s": time.monotonic() - started_s, "first_rows_cpu_s": cpu_s(process.pid)}
        process.terminate()
    return told


def asked(address: str) -> dict[str, list[dict[str, str]]]:
    with urllib.request.urlopen(address, timeout=120) as answer:
        found: dict[str, list[dict[str, str]]] = json.load(answer)
        return found


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def said(python: str, words: Sequence[str]) -> float:
    """Processor seconds of a command that only says something."""
    before = os.times()
    subprocess.run([python, "-m", "saccade", *words], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True, help="where its index is, or is put by a start beforehand")
    parser.add_argument("--python", action="append", default=[], metavar="NAME=PYTHON", help="by default this one")
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    pythons = dict(pair.split("=", 1) for pair in options.python) or {"now": sys.executable}
    found: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in pythons}
    for number in range(options.times + 1):
        for name, python in pythons.items():
            told = viewed(python, options.run, options.cache)
            told |= {f"{what}_cpu_s": said(python, words) for what, words in COMMANDS.items()}
            # The first round fills the caches of the disk.
            for what, value in told.items() if number else ():
                found[name][what].append(value)
    write_spreads({"run": options.run.name, "times": options.times}, found, options.json)


def write_spreads(
    asked: dict[str, object], found: Mapping[str, Mapping[str, Sequence[float]]], out: Path | None
) -> None:
    """Prints the median, least and most of each column with the machine and its load, and writes them to a file."""
    answer = {
        **asked,
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
        "load": os.getloadavg()[0],
        **{
            name: {
                what: {
                    "median": round(statistics.median(values), 3),
                    "least": round(min(values), 3),
                    "most": round(max(values), 3),
                }
                for what, values in columns.items()
            }
            for name, columns in found.items()
        },
    }
    text = json.dumps(answer, indent=1)
    print(text)
    if out:
        out.write_text(text + "\n")


if __name__ == "__main__":
    main()
