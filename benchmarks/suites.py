"""Whether each paper's table runs whole by one command, on small files in the layouts of the releases.

    python benchmarks/suites.py --model CHECKPOINT [--suites ivgr codedance argos] [--judge DIR|URL] [--json FILE]

Writes a few questions of each set as its release has them (those of the tests), runs `saccade eval --suite NAME`, and
says the processor time, the questions that were played and what each row's headline reading said. Then the first file
is taken away, and `saccade benchmarks` must name it. Exit status 1 when a row of a table is not measured, an answer is
lost, or the missing file is not named.
"""

import argparse
import contextlib
import io
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
sys.path += [str(TESTS / "evaluation/benchmarks"), str(TESTS / "tasks/datasets")]

import document_releases  # noqa: E402
import releases  # noqa: E402
from small_releases import write_release  # noqa: E402

from saccade.cli import run_command  # noqa: E402
from saccade.evaluation.benchmarks import BENCHMARKS, SUITES, suite_readiness  # noqa: E402
from saccade.types import Json  # noqa: E402

DATA_SETS: Mapping[str, Callable[[Path], Path]] = {
    **{name: getattr(releases, name) for name in ("chartqa", "geometry3k", "geoqa", "unigeo", "mapqa", "tabmwp")},
    **{name: getattr(releases, name) for name in ("ai2d", "plotqa", "iconqa", "mathvista")},
    "clevr-math": releases.clevr_math,
    "slidevqa": document_releases.slidevqa,
    "vidoseek": document_releases.vidoseek,
    "mmlongbench-doc": document_releases.mmlongbench,
    "fetatab": document_releases.fetatab,
    "papertab": document_releases.papertab,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--suites", nargs="+", default=[*SUITES], choices=[*SUITES])
    parser.add_argument("--judge", help="Of the rules that want one: an address, or a checkpoint directory.")
    parser.add_argument("--judge-model", help="The judge's name there.")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    told: dict[str, Json] = {}
    faults: list[str] = []
    for name in given.suites:
        told[name], wrong = measured(name, given)
        faults += [f"{name}: {one}" for one in wrong]
        print(json.dumps({name: told[name]}, indent=1), flush=True)
    print("\n".join(faults) or "every row of every table was measured, every missing file named")
    if given.json:
        head = {"command": " ".join(sys.argv), "date": date.today().isoformat(), "cpus": os.cpu_count()}
        given.json.write_text(json.dumps({**head, "suites": told}, indent=1) + "\n", encoding="utf-8")
    sys.exit(1 if faults else 0)


def measured(name: str, given: argparse.Namespace) -> tuple[Json, list[str]]:
    """What was measured of a suite, and what is wrong about it."""
    suite = SUITES[name]
    names = [row.name for row in suite.rows]
    with tempfile.TemporaryDirectory() as temporary:
        files, out = Path(temporary) / "files", Path(temporary) / "run"
        files.mkdir()
        for one in names:
            DATA_SETS[one](files / one) if one in DATA_SETS else write_release(one, files)
        before = time.process_time()
        judge = [] if given.judge is None or not wants_judge(names) else ["--judge", given.judge]
        judge += ["--judge-model", given.judge_model] if judge and given.judge_model else []
        status, _, errors = evaluated(name, given.model, files, out, judge)
        spent = time.process_time() - before
        if status:
            return None, [errors[-2000:]]
        found = {kept["benchmark"]: kept for kept in read(out) if "judge" not in kept}
        judged = {kept["benchmark"] for kept in read(out) if "judge" in kept}
        faults = [f"{one} was not measured" for one in names if one not in found]
        rows = {one: row_of(found[one]) for one in names if one in found}
        faults += [f"{one}: {row['failed']} replies failed" for one, row in rows.items() if row["failed"]]
        # The second half of the promise costs no second run: the list of what is ready, after the first file has gone.
        first = suite_readiness(suite, files)[0].file
        assert first is not None
        first.rename(first.with_name("elsewhere"))
        _, listed, _ = command_of("benchmarks", "--dir", str(files), "--suite", name)
        if f"{len(names) - 1} of {len(names)} are ready." not in listed or f"put {files}" not in listed:
            faults.append(f"the missing file of {BENCHMARKS[names[0]].title} is not named")
        return {
            "rows": rows,
            "asked_a_judge": sorted(judged),
            "questions": sum(row["questions"] for row in rows.values()),
            "processor_s": round(spent, 1),
        }, faults


def wants_judge(names: list[str]) -> bool:
    return any(reading.judging is not None for name in names for reading in BENCHMARKS[name].readings)


def evaluated(name: str, model: Path, files: Path, out: Path, more: list[str]) -> tuple[int, str, str]:
    where = ["--benchmarks-dir", str(files), "--out", str(out), "--protocol", "direct", "--threads", "1"]
    return command_of("eval", "--model", str(model), "--suite", name, "--quiet", *more, *where)


def command_of(*words: str) -> tuple[int, str, str]:
    """Status, output and errors of a command, run in this process: three would start three times."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        status = run_command(list(words))
    return status, out.getvalue(), errors.getvalue()


def read(out: Path) -> list[dict]:
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted((out / "benchmarks").glob("*.json"))]


def row_of(kept: dict) -> dict:
    """What the headline reading says of a benchmark, in short."""
    readings = {one["reading"]: one for one in kept["readings"]}
    headline = readings[kept["headline"]]
    return {
        "questions": headline["n"] + headline["no_verdict"] + headline["failed"],
        "headline": kept["headline"],
        "figures": {one["name"]: one["value"] for one in headline["figures"]},
        "no_verdict": headline["no_verdict"],
        "failed": headline["failed"],
        "file": kept["file"],
    }


if __name__ == "__main__":
    main()
