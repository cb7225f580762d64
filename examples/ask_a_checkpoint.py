"""A checkpoint asked about drawn questions, its accuracy with an interval, and one trajectory in words.

python examples/ask_a_checkpoint.py [CHECKPOINT] [OUT]      # without one: the small base that ships, into runs/asked
"""

import sys
from pathlib import Path

from saccade.cli import run_command
from saccade.models import base_checkpoint
from saccade.runs.records import read_records
from saccade.runs.runinfo import RunPaths


def main(checkpoint: str, out: Path) -> None:
    command = ["eval", "--model", checkpoint, "--family", "counting", "-n", "2", "--out", str(out), "--quiet"]
    status = run_command([*command, "--set", "without_tools=false"])
    if status:
        sys.exit(status)
    for file in sorted(RunPaths(root=out).evaluations.glob("*.jsonl")):
        first = next(iter(read_records(file)))
        print(f"\n{file.stem}: {first.task.question} (gold: {first.task.answer})")
        for turn in first.trajectory.turns:
            print(f"  turn {turn.index + 1}: {turn.text[:200]!r}")


if __name__ == "__main__":
    main(
        sys.argv[1] if len(sys.argv) > 1 else str(base_checkpoint()),
        Path(sys.argv[2] if len(sys.argv) > 2 else "runs/asked"),
    )
