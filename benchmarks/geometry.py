"""The geometry solver on problems with answers that were worked out by hand.

    python benchmarks/geometry.py [--problems examples/geometry_problems.jsonl] [--only NAME] [--steps] [--json FILE]

A problem counts as right when the answer is within a hundred-thousandth, or, where the text leaves it open, when the
solver says "not determined". Times are processor seconds of one problem. Ends with status 1 when a problem is wrong.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from saccade.readers.geometry.cdl import statements_of
from saccade.readers.geometry.language import parse_statements
from saccade.readers.geometry.solver import SolverAnswer, solve

_TOLERANCE = 1e-5


def main() -> int:
    """Prints a line for each problem and the score."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--problems", type=Path, default=Path("examples/geometry_problems.jsonl"))
    options.add_argument("--only", default="", help="problems whose name contains this")
    options.add_argument("--steps", action="store_true", help="print the derivations")
    options.add_argument("--json", type=Path, help="where to write the results")
    chosen = options.parse_args()
    problems = [json.loads(line) for line in chosen.problems.read_text().splitlines()]
    results = [_result(one, shows=chosen.steps) for one in problems if chosen.only in one["id"]]
    right = sum(bool(result["is_right"]) for result in results)
    answered = [result for result in results if result["verdict"] == "determined"]
    derived = sum(bool(result["is_derived"]) for result in answered)
    times = [float(str(result["cpu_s"])) for result in results]
    print(
        f"{right} of {len(results)} right; {derived} of {len(answered)} determined values derived by theorems; "
        f"median {statistics.median(times):.3f} s, longest {max(times):.2f} s, together {sum(times):.1f} s"
    )
    if chosen.json:
        chosen.json.write_text(json.dumps(results, indent=1) + "\n")
    return 0 if right == len(results) else 1


def _result(problem: Mapping[str, object], *, shows: bool) -> dict[str, object]:
    started = time.process_time()
    (answer,) = solve(_statements(problem))
    cpu_s = time.process_time() - started
    is_right = _is_right(problem["answer"], answer)
    found = f"{answer.value:.6g}" if answer.value is not None else answer.verdict
    how = "derived" if answer.steps else "numeric" if answer.value is not None else ""
    print(f"{'ok   ' if is_right else 'WRONG'} {problem['id']:36} {found:16} {how:8} {cpu_s:6.2f} s")
    if shows or not is_right:
        print(answer.text)
    return {
        "id": problem["id"],
        "verdict": answer.verdict,
        "value": answer.value,
        "is_right": is_right,
        "is_derived": bool(answer.steps),
        "cpu_s": round(cpu_s, 3),
    }


def _statements(problem: Mapping[str, object]):
    text = str(problem["text"])
    return statements_of(text, "the problem") if problem["language"] == "cdl" else parse_statements(text)


def _is_right(expected: object, answer: SolverAnswer) -> bool:
    if expected is None:
        return answer.verdict == "not determined"
    wanted = float(str(expected))
    return answer.value is not None and abs(answer.value - wanted) <= _TOLERANCE * max(1.0, abs(wanted))


if __name__ == "__main__":
    sys.exit(main())
