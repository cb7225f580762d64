"""We-Math's four dimensions: what a model knows when a problem of several steps, or one of its steps, fails."""

from collections.abc import Sequence
from dataclasses import dataclass

from saccade.evaluation.benchmarks.aggregates import column, grouped, mean
from saccade.evaluation.benchmarks.benchmark import BenchmarkFigure, ScoredRow
from saccade.evaluation.benchmarks.wemath_concepts import CONCEPTS

PROBLEMS = 525
"""The harness divides by the release's number of problems, however many are there."""


@dataclass(frozen=True, slots=True)
class _Problem:
    steps: tuple[bool, ...]
    whole: bool


def four_dimensions(scored: Sequence[ScoredRow]) -> list[BenchmarkFigure]:
    """Score strict and loose, then the dimensions, as shares of 525 problems.

    Insufficient knowledge (IK): the problem and one of its steps are wrong. Inadequate generalisation (IG): all steps
    right, the problem wrong. Complete mastery (CM): the problem and, strictly, all steps right, loosely, one of them.
    Rote memorisation (RM): the problem right although, strictly, one step or, loosely, all steps are wrong, as a share
    of problems that are right. Score: 1 - IG / 2 - RM - IK. Then accuracies of single steps and of problems, and those
    of the knowledge tree. Problems are joined by ``ID``, rows by ``key``
    (``2steps_1``, ``2steps_multi``).
    """
    problems = list(_problems(scored))
    ik = sum(not one.whole and not all(one.steps) for one in problems)
    ig = sum(not one.whole and all(one.steps) for one in problems)
    right = [one for one in problems if one.whole]
    strict = sum(not all(one.steps) for one in right)
    loose = sum(not any(one.steps) for one in right)
    by_key = {key: [one for one in scored if one.row.fields.get("key") == key] for key in _ONE_STEP}
    steps = [one for rows in by_key.values() for one in rows]
    return [
        BenchmarkFigure("score (strict)", (PROBLEMS - 0.5 * ig - strict - ik) / PROBLEMS, len(problems)),
        BenchmarkFigure("score (loose)", (PROBLEMS - 0.5 * ig - loose - ik) / PROBLEMS, len(problems)),
        BenchmarkFigure("IK", ik / PROBLEMS, len(problems)),
        BenchmarkFigure("IG", ig / PROBLEMS, len(problems)),
        BenchmarkFigure("CM (strict)", (len(right) - strict) / PROBLEMS, len(problems)),
        BenchmarkFigure("CM (loose)", (len(right) - loose) / PROBLEMS, len(problems)),
        BenchmarkFigure("RM (strict)", strict / len(right) if right else 0.0, len(right)),
        BenchmarkFigure("RM (loose)", loose / len(right) if right else 0.0, len(right)),
        BenchmarkFigure("accuracy", mean(scored), len(scored)),
        *_mean("one-step (S1)", steps),
        *_mean("two-step (S2)", [one for one in scored if one.row.fields.get("key") == "2steps_multi"]),
        *_mean("three-step (S3)", [one for one in scored if one.row.fields.get("key") == "3steps_multi"]),
        *_knowledge(steps),
    ]


def _mean(name: str, rows: Sequence[ScoredRow]) -> list[BenchmarkFigure]:
    return [BenchmarkFigure(name, mean(rows), len(rows))] if rows else []


def _knowledge(steps: Sequence[ScoredRow]) -> list[BenchmarkFigure]:
    """For each part of the knowledge tree the mean over its concepts, each the mean over the steps that ask for it."""
    by_concept = grouped(steps, column("knowledge concept"))
    found = []
    for part, concepts in CONCEPTS.items():
        asked = [by_concept[concept] for concept in concepts if concept in by_concept]
        if asked:
            value = sum(map(mean, asked)) / len(asked)
            found.append(BenchmarkFigure(f"knowledge: {part}", value, sum(map(len, asked))))
    return found


_ONE_STEP = ("2steps_1", "2steps_2", "3steps_1", "3steps_2", "3steps_3")


def _problems(scored: Sequence[ScoredRow]) -> list[_Problem]:
    rows = {(one.row.fields.get("ID", ""), one.row.fields.get("key", "")): one.credit >= 1.0 for one in scored}
    found: list[_Problem] = []
    for count in (2, 3):
        for problem in sorted({name for name, key in rows if key == f"{count}steps_1"}):
            keys = [f"{count}steps_{place}" for place in (*range(1, count + 1), "multi")]
            if all((problem, key) in rows for key in keys):
                *steps, whole = (rows[problem, key] for key in keys)
                found.append(_Problem(tuple(steps), whole))
    return found
