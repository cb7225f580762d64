"""Answers of several values, and golds as published mathematics has them: what is the same, and what only looks so."""

import pytest

from saccade.rewards.answers.kinds import right_by_kind
from saccade.rewards.answers.rules import math_equal
from saccade.tasks.rows.golds import infer_kind, unwrapped
from saccade.types import Task


def asked(gold: str) -> Task:
    """A question with this gold, wrapped as a row has it."""
    bare = unwrapped(gold)
    kind = infer_kind(bare, (), "?")
    return Task(id="t", family="f", question="?", answer=bare, answer_kind=kind, images=())


@pytest.mark.parametrize(
    ("gold", "said"),
    [
        ("x=2,y=3", "y=3, x=2"),
        ("x=2,y=3", "2, 3"),
        ("x = 1, x = 2", "x=2 or x=1"),
        ("x=1, 2", "2, 1"),
        ("x_1=1,x_2=2", "x_1=2, x_2=1"),
        ("1/5, 1/3", "1/3, 0.2"),
        (r"\{1,2,3\}", "3, 2, 1"),
        ("(2,1),(1,2)", "(1, 2) and (2, 1)"),
        ("(p,q)=(3,2)", "(3,2)"),
        (r"1 \pm \sqrt{19}", "1-√19, 1+√19"),
        (r"\pm 5", "5, -5"),
        (r"-2 \le x < 7", "[-2, 7)"),
        (r"x \in [-2,7]", "-2≤x≤7"),
        (r"x \geq 3", r"[3,+\infty)"),
        ("(3,∞)", "x>3"),
        (r"x \leq 5", r"5 \geq x"),
        ("2:3", "2 : 3"),
    ],
)
def test_the_same_values(gold: str, said: str) -> None:
    assert math_equal(said, gold)


@pytest.mark.parametrize(
    ("gold", "said"),
    [
        ("x=2,y=3", "x=3,y=2"),
        ("x=2,y=3", "3, 2"),
        ("x=2,y=3", "x=2, x=3"),
        ("x=2,y=3", "x=2"),
        ("x=2,y=3", "x=2, y=3, y=4"),
        ("x=1,x=2", "x=1, y=2"),
        ("1, 2", "1, 1"),
        ("1, 2", "1, 2, 2"),
        ("(1,2)", "(2,1)"),
        ("(2,1),(1,2)", "(1,2),(1,2)"),
        ("[-2,7]", "(-2,7)"),
        ("[-2,7]", "-2, 7"),
        ("(-2,7]", "-2≤x≤7"),
        ("x<3", r"(-\infty,3]"),
        ("x<3", "x<4"),
        ("-2<x<7", "-2<y<7"),
        (r"1 \pm \sqrt{19}", r"1+\sqrt{19}"),
    ],
)
def test_other_values(gold: str, said: str) -> None:
    assert not math_equal(said, gold)


@pytest.mark.parametrize(
    ("gold", "said"),
    [
        ("$12$ cm", "12 cm"),
        ("$12$ cm", "12"),
        ("12 cm", "$12$ cm"),
        ("$125$ miles", "125 miles"),
        (r"12$\pi$", "12π"),
        (r"$30^\circ$ and $60^\circ$", "60°, 30°"),
        ("AB=5", "5"),
        ("f(x)=1", "f(x) = 1"),
        ("|AB|=1", "1"),
        (r"x \neq 3", "x ≠ 3"),
        (r"\emptyset", r"\varnothing"),
        ("10^{-3}", "1e-3"),
        ("-2,1", "-2, 1"),
    ],
)
def test_a_gold_of_a_row_is_met_in_the_usual_ways(gold: str, said: str) -> None:
    assert right_by_kind(asked(gold), said)


@pytest.mark.parametrize("gold", ["$5 and $6", "cost: $5 and $6", "$5-$10", "from $3 to $4", "$5"])
def test_prices_keep_their_signs(gold: str) -> None:
    assert unwrapped(gold) == gold
    assert not right_by_kind(asked("12 cm"), gold)
