"""The problems of ``examples/geometry_problems.jsonl``; ``benchmarks/geometry.py`` prints their score and times."""

import json
from collections.abc import Mapping

import pytest

from places import ROOT
from saccade.readers.geometry.cdl import statements_of
from saccade.readers.geometry.language import parse_statements
from saccade.readers.geometry.solver import SolverAnswer, solve

PROBLEMS: list[dict[str, str]] = [
    json.loads(line) for line in (ROOT / "examples/geometry_problems.jsonl").read_text().splitlines()
]
EVERY = 4
"""Of the problems with an answer, one in so many is solved here; of the open ones, all."""

ANSWERED = [problem for problem in PROBLEMS if problem["answer"] is not None]
OPEN = [problem for problem in PROBLEMS if problem["answer"] is None]


def solution(problem: Mapping[str, str]) -> SolverAnswer:
    read = statements_of if problem["language"] == "cdl" else parse_statements
    (answer,) = solve(read(problem["text"], "the problem"))
    return answer


def test_there_are_enough_problems_of_each_sort() -> None:
    assert len({problem["id"] for problem in PROBLEMS}) == len(PROBLEMS) >= 60
    assert len(OPEN) >= 8
    topics = {problem["topic"] for problem in PROBLEMS}
    assert topics >= {
        "triangle",
        "parallels",
        "circle",
        "quadrilateral",
        "similarity",
        "area",
        "trigonometry",
        "algebra",
    }


@pytest.mark.parametrize("problem", ANSWERED[::EVERY], ids=lambda problem: problem["id"])
def test_a_problem_is_solved_and_its_answer_derived(problem: Mapping[str, str]) -> None:
    answer = solution(problem)
    assert answer.verdict == "determined"
    assert answer.value == pytest.approx(problem["answer"], rel=1e-5)
    assert answer.steps


@pytest.mark.parametrize("problem", OPEN, ids=lambda problem: problem["id"])
def test_what_the_text_leaves_open_is_not_determined(problem: Mapping[str, str]) -> None:
    answer = solution(problem)
    assert (answer.verdict, answer.value) == ("not determined", None)
    assert len(answer.values) >= 2
