"""Documents: one field of a receipt, a form or a letter.

Difficulty: fields 3 at 0, 5 at 0.5, 8 at 1; text 18, 13 and 9 px high.
"""

from collections.abc import Callable
from dataclasses import dataclass

from numpy.random import Generator

from saccade.geometry import Box, Point
from saccade.tasks.drawing import INK, ITEMS, MONTHS, PEOPLE, PLACES, Canvas
from saccade.tasks.scene import (
    SIZE_PX,
    Scene,
    SceneQuestion,
    crop_turn,
    look_box,
    pick,
    pick_several,
    rectangle_target,
    whole_knob,
)
from saccade.types import AnswerKind

CODE_LETTERS = tuple("ACEFHKLPRTX")
CODE_DIGITS = tuple("2345679")
"""No letter or digit that looks like another one."""

MOST_FIELDS = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class _Field:
    """One line: what it is called, what it says, and the question on it."""

    name: str
    value: str
    question: str
    answer_kind: AnswerKind


def draw_document_text(rng: Generator, difficulty: float) -> Scene:
    """A page with a title and lines of a name and a value."""
    title, fields = _DOCUMENTS[int(rng.integers(len(_DOCUMENTS)))](rng, whole_knob(difficulty, 3, 5, MOST_FIELDS))
    canvas = Canvas()
    boxes = _draw_page(rng, canvas, title, fields, whole_knob(difficulty, 18, 13, 9))
    chosen = int(rng.integers(len(fields)))
    field, box = fields[chosen], boxes[chosen]
    asked = SceneQuestion(
        question=field.question,
        answer=field.value,
        answer_kind=field.answer_kind,
        targets=(rectangle_target(field.name, box),),
        looks=(crop_turn(look_box(box), field.name),),
    )
    return Scene(images=(canvas.image,), asked=asked)


def _draw_page(rng: Generator, canvas: Canvas, title: str, fields: tuple[_Field, ...], text_px: int) -> list[Box]:
    """Write the lines; the boxes of the values."""
    line_px = text_px + 10
    width, height = text_px * 11, line_px * (len(fields) + 1) + 20
    left = int(rng.integers(8, SIZE_PX - 8 - width))
    top = int(rng.integers(8, SIZE_PX - 8 - height))
    for edge in (top, top + height - 1):
        canvas.rectangle(Box(left, edge, left + width, edge + 1), INK)
    for edge in (left, left + width - 1):
        canvas.rectangle(Box(edge, top, edge + 1, top + height), INK)
    y = top + 10 + line_px // 2
    canvas.text(title, Point(left + width // 2, y), text_px + 2)
    boxes = []
    for field in fields:
        y += line_px
        canvas.text(field.name, Point(left + 8, y), text_px, anchor="lm")
        boxes.append(canvas.text(field.value, Point(left + width - 8, y), text_px, anchor="rm"))
    return boxes


def _receipt(rng: Generator, count: int) -> tuple[str, tuple[_Field, ...]]:
    """Goods with prices that add up to the total in the last line."""
    items = pick_several(rng, ITEMS, count - 1)
    cents = [int(price) for price in rng.integers(20, 200, size=count - 1) * 5]
    prices = [f"{price // 100}.{price % 100:02d}" for price in cents]
    fields = [
        _Field(name=item, value=price, question=f"What is the price of {item}?", answer_kind="number")
        for item, price in zip(items, prices)
    ]
    total = f"{sum(cents) // 100}.{sum(cents) % 100:02d}"
    fields.append(_Field(name="total", value=total, question="What is the total?", answer_kind="number"))
    return "RECEIPT", tuple(fields)


def _form(rng: Generator, count: int) -> tuple[str, tuple[_Field, ...]]:
    """Facts about a person, the name always first."""
    facts = [
        _Field(name="city", value=pick(rng, PLACES), question="Which city is given?", answer_kind="text"),
        _Field(name="code", value=_code(rng), question="What is the code?", answer_kind="exact"),
        _Field(name="born", value=_date(rng), question="What is the date of birth?", answer_kind="text"),
        _Field(name="age", value=_number(rng, 18, 90), question="What is the age?", answer_kind="integer"),
        _Field(name="room", value=_number(rng, 1, 100), question="Which room is given?", answer_kind="integer"),
        _Field(name="desk", value=_number(rng, 1, 100), question="Which desk is given?", answer_kind="integer"),
        _Field(name="boss", value=pick(rng, PEOPLE), question="Who is the boss?", answer_kind="text"),
    ]
    name = _Field(name="name", value=pick(rng, PEOPLE), question="What is the name?", answer_kind="text")
    return "FORM", (name, *_some(rng, facts, count - 1))


def _letter(rng: Generator, count: int) -> tuple[str, tuple[_Field, ...]]:
    """The head of a letter, its sender and receiver always first."""
    sender, receiver = pick_several(rng, PEOPLE, 2)
    heads = [
        _Field(name="from", value=sender, question="Who wrote the letter?", answer_kind="text"),
        _Field(name="to", value=receiver, question="Who gets the letter?", answer_kind="text"),
    ]
    facts = [
        _Field(name="date", value=_date(rng), question="What is the date?", answer_kind="text"),
        _Field(name="code", value=_code(rng), question="What is the code?", answer_kind="exact"),
        _Field(name="city", value=pick(rng, PLACES), question="Which city is given?", answer_kind="text"),
        _Field(name="desk", value=_number(rng, 1, 100), question="Which desk is given?", answer_kind="integer"),
        _Field(name="pages", value=_number(rng, 1, 20), question="How many pages?", answer_kind="integer"),
        _Field(name="room", value=_number(rng, 1, 100), question="Which room is given?", answer_kind="integer"),
    ]
    return "LETTER", (*heads, *_some(rng, facts, count - 2))


def _some(rng: Generator, fields: list[_Field], count: int) -> tuple[_Field, ...]:
    return tuple(fields[int(i)] for i in rng.permutation(len(fields))[:count])


def _number(rng: Generator, least: int, below: int) -> str:
    return str(int(rng.integers(least, below)))


def _date(rng: Generator) -> str:
    return f"{int(rng.integers(1, 29))} {pick(rng, MONTHS)}"


def _code(rng: Generator) -> str:
    return "".join(pick(rng, CODE_LETTERS if i % 2 == 0 else CODE_DIGITS) for i in range(4))


_DOCUMENTS: tuple[Callable[[Generator, int], tuple[str, tuple[_Field, ...]]], ...] = (_receipt, _form, _letter)
