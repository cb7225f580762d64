"""Rules that ask a judge for a verdict: charts, HallusionBench, and lmms-eval's mathematics."""

import json
from collections.abc import Callable, Generator
from dataclasses import replace

from saccade.evaluation.benchmarks.benchmark import BenchmarkRow, Extracted, Reading, ReadingName
from saccade.evaluation.benchmarks.rules.judge_prompts import (
    agreement_prompt,
    chart_prompt,
    correctness_prompt,
    says_correctness,
)
from saccade.evaluation.benchmarks.rules.vlmevalkit_math import always_judged

CHART_ATTEMPTS = 10


def chart_judged(key: str) -> Callable[[BenchmarkRow, str], Generator[str, str, Extracted]]:
    """CharXiv: the score in the judge's JSON, under whose ``key`` the extracted answer stands.

    Harnesses count a judge that never keeps to the form as 0 or -1; here it is no verdict.
    """

    def judging(row: BenchmarkRow, reply: str) -> Generator[str, str, Extracted]:
        for _ in range(CHART_ATTEMPTS):
            said = yield chart_prompt(row, reply, key)
            found = _verdict(said, key)
            if found is not None:
                return found
        return Extracted("", None)

    return judging


def _verdict(said: str, key: str) -> Extracted | None:
    try:
        found = json.loads(said)
        return Extracted(str(found[key]), min(1.0, max(0.0, float(found["score"]))))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def hallusion_judged(row: BenchmarkRow, reply: str) -> Generator[str, str, Extracted]:
    """lmms-eval's HallusionBench: "incorrect" in the judge's text, else "correct", else unclear.

    Unclear is right of a question whose figure is left out (category VS, figure 0).
    """
    said = (yield correctness_prompt(row, reply)).lower()
    found = "incorrect" if "incorrect" in said else "correct" if "correct" in said else "unclear"
    may_be_unclear = row.fields.get("category") == "VS" and row.fields.get("figure_id") == "0"
    return Extracted(found, float(found == "correct" or (found == "unclear" and may_be_unclear)))


def agreement_judged(row: BenchmarkRow, reply: str) -> Generator[str, str, Extracted]:
    """lmms-eval's MathVerse: a judge says 1 or 0 of the whole reply."""
    said = (yield agreement_prompt(row, reply)).strip()
    return Extracted(said, float(said) if said in ("0", "1") else None)


def _reading(name: ReadingName, judging: Callable[[BenchmarkRow, str], Generator[str, str, Extracted]]) -> Reading:
    return Reading(name=name, rule=always_judged, judging=judging, needs_judge=True)


VLMEVALKIT_CHART = _reading("vlmevalkit", chart_judged("extract_answer"))
LMMS_CHART = _reading("lmms-eval", chart_judged("extracted_answer"))
LMMS_HALLUSION = replace(
    _reading("lmms-eval", hallusion_judged),
    in_form=says_correctness,
    differs="a judge's text without any of the three words is unclear to the harness; here it is no verdict",
)
LMMS_MATHVERSE = _reading("lmms-eval", agreement_judged)
