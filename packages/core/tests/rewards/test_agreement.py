"""Agreement of thought and answer: what a thought says last, by rules."""

import pytest

from saccade.rewards.answers.agreement import agrees
from saccade.types import Task


def task(answer: str, *choices: str) -> Task:
    return Task(id="t", family="f", question="?", answer=answer, answer_kind="exact", images=(), choices=choices)


@pytest.mark.parametrize(
    ("thought", "answer", "gold", "expected"),
    [
        ("red upper left white", "white", "white", True),
        ("red upper left white", "black", "white", False),
        ("red upper left white", "white", "black", True),
        ("It may be black, but I see white.", "White.", "black", True),
        ("I see white, so black", "white", "black", False),
        ("red white blue black", "white and black", "white and black", True),
        ("red white blue black", "black and white", "white and black", False),
        ("red white blue black", "white and pink", "white and black", False),
        ("red lower left", "white", "white", None),
        ("Is there one? Yes.", "no", "no", False),
        ("There is no doubt: yes.", "yes", "no", True),
        ("nothing whitewashed", "white", "white", None),
        ("3 red and 4 blue, 7 in all", "7", "8", True),
        ("3 red and 4 blue, 1,007 in all", "1007", "8", True),
        ("3 red and 4 blue, 7 in all", "8", "8", False),
        ("some", "7", "7", None),
        ("a dark red car", "red", "dark red", False),
        ("", "white", "white", None),
        ("white", "", "white", None),
        ("white (or c++)", "c++", "white", True),
    ],
)
def test_what_a_thought_says_last(thought: str, answer: str, gold: str, expected: bool | None) -> None:
    assert agrees(task(gold), thought, answer) is expected


def test_choices_are_candidates() -> None:
    assert agrees(task("red", "red", "green", "blue"), "It is green.", "blue") is False
    assert agrees(task("red", "red", "green", "blue"), "It is green, no, blue.", "blue") is True


def test_a_long_thought_takes_no_long_time() -> None:
    assert agrees(task("a and b"), "a b " * 100_000, "b and a") is False


def test_an_answer_of_thousands_of_parts_is_no_candidate() -> None:
    """Each part is looked for: 10,000 of them in a long thought would take minutes."""
    assert agrees(task("a"), "a " * 100_000, "a and " * 10_000 + "a") is None
