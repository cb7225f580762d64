"""The viewer on a million rollouts as verl writes them: until the list is whole, and how long filters take.

python -m studies.viewer.foreign --records 1000000 --out runs/foreign
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

ROWS = Path(__file__).parents[2] / "packages/view/tests/viewer/foreign/verl/20.jsonl"
FILTERS = {
    "all, newest first": "",
    "right": "right=1",
    "right, reward over 0.5, steps 20 to 60": "right=1&reward_min=0.5&step_min=20&step_max=60",
    "by reward": "sort=-reward",
    "wrong by reward, far page": "right=0&sort=reward&offset=300000",
    "two turns, failed calls": "turns_min=2&reason=calls_failed",
}
PORT = 8131


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, default=Path("runs/foreign"))
    arguments = parser.parse_args()
    write_rollouts(arguments.out, arguments.records)
    began = time.monotonic()
    command = [sys.executable, "-m", "saccade", "view", str(arguments.out), "--no-open", "--port", str(PORT)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            run = first_run()
            while asked(f"/api/runs/{run}/trajectories?limit=0")[1]["total"] < arguments.records:
                time.sleep(1)
            print(f"the list is whole after {time.monotonic() - began:.0f} s")
            for name, query in FILTERS.items():
                answers = [asked(f"/api/runs/{run}/trajectories?limit=200&{query}") for _ in range(7)]
                times = [1000 * seconds for seconds, _ in answers]
                found = answers[0][1]["matched"]
                print(f"{name}: {found:,} found, first {times[0]:.0f} ms, median {statistics.median(times[1:]):.0f} ms")
        finally:
            server.terminate()


def write_rollouts(folder: Path, records: int) -> None:
    """A file of each of 100 steps, with verl's own rows and other scores."""
    rows = [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]
    chance = random.Random(0)
    folder.mkdir(parents=True, exist_ok=True)
    for step in range(1, 101):
        with (folder / f"{step}.jsonl").open("w", encoding="utf-8") as file:
            for _ in range(records // 100):
                row = {**chance.choice(rows), "step": step, "score": round(chance.random(), 3)}
                file.write(json.dumps(row | {"acc": chance.random() < 0.5}) + "\n")


def first_run() -> str:
    """Its id, once the server answers."""
    while True:
        try:
            return str(asked("/api/runs")[1]["runs"][0]["id"])
        except OSError:
            time.sleep(0.2)


def asked(path: str) -> tuple[float, dict[str, Any]]:
    """Seconds, and the answer."""
    began = time.monotonic()
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}{path}", timeout=300) as answer:
        content = answer.read()
    return time.monotonic() - began, json.loads(content)


if __name__ == "__main__":
    main()
