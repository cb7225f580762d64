"""Whether a command that is killed again and again ends with the bytes of one left alone.

    python benchmarks/kills.py --kills 20 [--json FILE] -- train argos:tiny --set rl.steps=10
    python benchmarks/kills.py --kills 20 -- train argos --data … --model … --set back_ends.regions_dir={out}/../regions

Runs ``saccade COMMAND --out DIRECTORY`` once undisturbed, then again with kill -9 of the whole process group at random
moments and ``--resume`` after each; a command that ends before it was killed so often is begun again elsewhere.
``{out}`` in the command is the directory; what lies beside it is compared too. Metrics and journals are compared
without their seconds; logs, clocks, reports' dates and the record of the processes are left out. Exit status 1 when any
byte differs, or when the command was not killed so often.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

from saccade.runs.metrics import without_times

TOLD_ANEW = ("log.txt", "run.json", "report.html", "report.json", ".lock", "requests.jsonl", "saccade_checksums.jsonl")
"""Files that hold times, dates, the number of processes, or checksums of these."""

MOST_RUNS = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0, help="Chooses the moments.")
    parser.add_argument("--json", type=Path)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    words = [word for word in arguments.command if word != "--"]
    with tempfile.TemporaryDirectory() as temporary:
        calm, chance = Path(temporary) / "calm", random.Random(arguments.seed)
        start = time.monotonic()
        if started(words, calm / "run").wait() != 0:
            sys.exit("the command fails by itself")
        wall_s = time.monotonic() - start
        ours, different, killed, runs = contents(calm), set[str](), 0, 0
        while runs == 0 or (killed < arguments.kills and runs < MOST_RUNS):
            disturbed = Path(temporary) / f"killed{runs}"
            start = time.monotonic()
            times = killed_again_and_again(words, disturbed / "run", wall_s, arguments.kills - killed, chance)
            if times == 0:
                # The machine was slower at first; moments are chosen by what the command really takes.
                wall_s = min(wall_s, time.monotonic() - start)
            killed, runs = killed + times, runs + 1
            theirs = contents(disturbed)
            different |= {name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)}
            shutil.rmtree(disturbed)
    told = {
        "undisturbed_s": round(wall_s, 1),
        "kills": killed,
        "runs": runs,
        "files": len(ours),
        "different": sorted(different),
    }
    print(json.dumps(told, indent=1))
    if arguments.json:
        head = {"command": f"python benchmarks/kills.py {' '.join(sys.argv[1:])}", "date": date.today().isoformat()}
        arguments.json.write_text(json.dumps({**head, **told}, indent=1) + "\n", encoding="utf-8")
    if killed < arguments.kills:
        sys.exit(
            f"the command was killed {killed} times and not {arguments.kills}: it ends too soon, so give it more work"
        )
    sys.exit(1 if different else 0)


def started(words: list[str], out: Path, *more: str) -> "subprocess.Popen[bytes]":
    out.parent.mkdir(parents=True, exist_ok=True)
    named = [word.replace("{out}", str(out)) for word in words]
    command = [sys.executable, "-m", "saccade", *named, "--out", str(out), "--quiet", *more]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)


def killed_again_and_again(words: list[str], out: Path, wall_s: float, kills: int, chance: random.Random) -> int:
    """Kills the command so often, as far as it lives so long, and lets it end; how often it was killed."""
    for number in range(kills + 1):
        # A directory that holds nothing yet is not resumed.
        more = ["--resume"] if (out / "run.json").is_file() else []
        process = started(words, out, *more)
        try:
            # Each is given time for starting, and for its share of the work.
            code = process.wait(None if number == kills else chance.uniform(0.5, min(wall_s, 3 * wall_s / kills + 6.0)))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            continue
        if code != 0:
            sys.exit(f"the command fails with {code} after {number} kills")
        return number
    return kills


def contents(folder: Path) -> dict[str, str]:
    """Every file's hash by its path."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        is_timing = path.name.endswith(".times.jsonl") or {"clocks", "line_sums"} & {*path.parts}
        if not path.is_file() or is_timing or path.name in TOLD_ANEW or "tensorboard" in path.parts:
            continue
        raw = untimed(path)
        found[name] = hashlib.sha256(raw.replace(str(folder).encode(), b"FOLDER")).hexdigest()
    return found


def untimed(path: Path) -> bytes:
    """The file without its seconds: metrics, and journals of evaluations, in which samples stand as they ended."""
    if path.name == "metrics.jsonl":
        return repr(without_times(path)).encode()
    if path.parent.name == "journal" and path.suffix == ".jsonl":
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return repr(sorted(json.dumps({**line, "wall_s": 0, "tool_s": 0}) for line in lines)).encode()
    return path.read_bytes()


if __name__ == "__main__":
    main()
