"""Questionnaires that somebody filled in by hand: a statement in each row, one answer marked, some changed or left out.

Axes: ``fields`` (how many questions), ``changes`` (how many answers were changed), ``print`` (how small letters are).
"""

from dataclasses import dataclass

from numpy.random import Generator

from saccade.gym.family import Grammar
from saccade.gym.levels import Levels
from saccade.gym.programs.choosing import chosen, shuffled
from saccade.gym.state import Element, SceneState

TITLES = ("Guest survey", "Course feedback", "Patient questionnaire", "Member survey", "Visitor feedback")
SCALES = (
    ("never", "rarely", "sometimes", "often", "always"),
    ("very poor", "poor", "fair", "good", "very good"),
    ("not at all", "a little", "partly", "mostly", "fully"),
)
STATEMENTS = (
    "The rooms are clean", "The staff is friendly", "Calls are answered soon", "Signs are easy to follow",
    "The food is warm", "Prices are clear", "The house is quiet at night", "Waiting times are short",
    "The website works well", "Parking is easy to find", "The light is bright enough", "Forms are simple",
    "Questions are answered", "Tools are in good order", "The schedule is kept", "The seats are comfortable",
    "Invoices are correct", "Children are welcome", "The air is fresh", "Help is near by",
    "Doors are easy to open", "The music is pleasant",
)  # fmt: skip
HANDS = ("tick", "cross", "ring")


@dataclass(frozen=True, kw_only=True, slots=True)
class HandAnswer:
    """What stands in a row: the option that is marked and the one that was blacked out, -1 for none."""

    statement: str
    marked: int
    changed: int


@dataclass(frozen=True, kw_only=True, slots=True)
class QuestionnaireState(SceneState):
    """Elements ``row:I`` for statements, ``mark:I`` for what is marked, ``old:I`` for what was blacked out,
    ``empty:I`` for rows without a mark, ``option:J`` for heads of columns."""

    title: str
    scale: tuple[str, ...]
    rows: tuple[HandAnswer, ...]
    hand: str
    """How this hand marks: one of ``HANDS``."""


def draw_questionnaire(rng: Generator, levels: Levels) -> QuestionnaireState:
    """Six to eighteen questions; one or two without an answer, some changed."""
    count = int(rng.integers(levels.whole("fields", 6, 10, 15), levels.whole("fields", 8, 13, 19)))
    scale = SCALES[int(rng.integers(len(SCALES)))]
    order = [int(row) for row in rng.permutation(count)]
    empty = set(order[: int(rng.integers(1, 3))])
    changes = int(rng.integers(1, 2 + levels.whole("changes", 1, 3, 5)))
    changed = set(order[len(empty) : len(empty) + changes])
    rows = []
    for index, statement in enumerate(shuffled(rng, STATEMENTS)[:count]):
        marked, old = (int(option) for option in rng.permutation(len(scale))[:2])
        rows.append(
            HandAnswer(
                statement=statement,
                marked=-1 if index in empty else marked,
                changed=old if index in changed else -1,
            )
        )
    elements = [Element(id=f"option:{index}", kind="option", name=option) for index, option in enumerate(scale)]
    for index, row in enumerate(rows):
        elements.append(Element(id=f"row:{index}", kind="row", name=f"question {index + 1}"))
        kind = "mark" if row.marked >= 0 else "empty"
        attributes = {"answer": scale[row.marked]} if row.marked >= 0 else {}
        elements.append(Element(id=f"{kind}:{index}", kind=kind, name=f"answer {index + 1}", attributes=attributes))
        if row.changed >= 0:
            elements.append(Element(id=f"old:{index}", kind="old", name=f"changed answer {index + 1}"))
    return QuestionnaireState(
        elements=tuple(elements),
        width=860,
        height=150 + 40 * count,
        title=chosen(rng, TITLES),
        scale=scale,
        rows=tuple(rows),
        hand=chosen(rng, HANDS),
    )


QUESTIONNAIRE = Grammar(name="questionnaires", draw=draw_questionnaire, axes=("fields", "changes"))
