"""Boxes in a model's reasoning, ``<box>[x1,y1,x2,y2]</box>`` right after the object that it names, and as its answer.

=================================================  ================================================================
between the tags                                   what becomes of it
=================================================  ================================================================
four numbers in one pair of brackets               a box; spaces, decimals and signs are allowed
inverted, empty, negative, outside of the image    a box as written; the reward finds nothing in what is not ordered
the same box again                                 mentioned again; for the reward it is nothing new
other than four numbers, no brackets, nested       unreadable: ``BoxMention.box`` is None, the turn is not
brackets, words, exponents, ``NaN``, ``1.``,       well-formed
``.5``, digits other than 0 to 9, more than
twelve of them in a row, a number over
``MAX_COORDINATE``
``<box>`` never closed, ``</box>`` that closes     ignored; the turn is not well-formed
nothing, ``<box>`` inside ``<box>``
more than ``MAX_BOXES`` boxes                      the first ``MAX_BOXES`` count; the turn is not well-formed
=================================================  ================================================================

The ``strict`` form reads what the public code of iVGR and TreeVGR reads: after white space, four whole numbers in
brackets without signs and spaces; what follows them is ignored.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from saccade.answer_boxes import boxes_in, point_in, written_boxes, written_point
from saccade.geometry import Box, CoordinateConvention, Point
from saccade.media.resize import ViewRule
from saccade.protocols.coordinates import MAX_COORDINATE
from saccade.types import Answer, BoxMention, ImageRef, Task

BoxForm = Literal["lenient", "strict"]

MAX_BOXES = 64
MAX_BOX_CHARS = 256
COORDINATES: dict[CoordinateConvention, str] = {
    "absolute": "in pixels of the image as you see it",
    "relative_1000": "from 0 to 1000 in each direction, whatever the image's size",
}

_TAG = re.compile(r"<(/?)box>")
_PAIR = re.compile(r"<box>[^<]*</box>")
_CLOSES_UP = ("", *" ,.;:!?)")
# Possessive: tags in a row are taken once and never given back.
_TRACE = re.compile(r"(?: ?(?:<box>[^<]*</box>|</?box>))++")
# Not \d, which takes the digits of every script.
_NUMBER = r"([+-]?[0-9]{1,12}(?:\.[0-9]{1,12})?)"
# Bounded repetitions of single characters: the match is linear in its bounded text.
_LENIENT = re.compile(r"\s*\[\s*" + r"\s*,\s*".join([_NUMBER] * 4) + r"\s*\]\s*")
_STRICT = re.compile(r"\s*\[" + ",".join(["([0-9]{1,12})"] * 4) + r"\]")


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundBoxes:
    """The boxes of a text, and whether all of it was in order."""

    mentions: tuple[BoxMention, ...]
    is_well_formed: bool


def find_boxes(text: str, form: BoxForm = "lenient") -> FoundBoxes:
    """All boxes in their order, by the table above; linear in the text, never raises."""
    mentions: list[BoxMention] = []
    is_well_formed = True
    opened: int | None = None
    for tag in _TAG.finditer(text):
        if not tag.group(1):
            is_well_formed &= opened is None
            opened = tag.end()
        elif opened is None:
            is_well_formed = False
        else:
            content, opened = text[opened : tag.start()], None
            if len(mentions) == MAX_BOXES:
                return FoundBoxes(mentions=tuple(mentions), is_well_formed=False)
            mentions.append(BoxMention(text=content[:MAX_BOX_CHARS], box=read_box(content, form)))
            is_well_formed &= mentions[-1].box is not None
    return FoundBoxes(mentions=tuple(mentions), is_well_formed=is_well_formed and opened is None)


def has_box_tag(text: str) -> bool:
    """Whether a tag of a box stands anywhere in the text."""
    return _TAG.search(text) is not None


def count_box_tags(text: str) -> int:
    """Opening and closing tags of boxes, in pairs or not."""
    return text.count("<box>") + text.count("</box>")


def read_box(text: str, form: BoxForm = "lenient") -> Box | None:
    """The text between the tags as a box, in whatever frame it was written; None when it is none."""
    if len(text) > MAX_BOX_CHARS:
        return None
    match = _STRICT.match(text) if form == "strict" else _LENIENT.fullmatch(text)
    if match is None:
        return None
    numbers = [float(number) for number in match.groups()]
    return Box(*numbers) if all(abs(number) <= MAX_COORDINATE for number in numbers) else None


def written_box(box: Box) -> str:
    """The box with its tags, in whole numbers."""
    numbers = ",".join(f"{round(side)}" for side in box.as_tuple())
    return f"<box>[{numbers}]</box>"


def thought_to_model(thought: str, images: Sequence[ImageRef], view: ViewRule) -> str:
    """An expert's thought with its boxes, which are in pixels of the first image's original, as the model writes them.

    What is no box stays as it is.
    """
    if not images or not has_box_tag(thought):
        return thought
    frame = view.frame_for(images[0])
    return _each_box(thought, lambda box: written_box(frame.box_to_model(box)))


def without_boxes(text: str) -> str:
    """The text without its boxes and without lone tags of boxes; spaces are closed up, also before a comma or stop."""
    closed = " ".join(text.split())

    def gap(trace: re.Match[str]) -> str:
        return "" if closed[trace.end() : trace.end() + 1] in _CLOSES_UP else " "

    return _TRACE.sub(gap, closed).strip()


def _each_box(text: str, rewrite: Callable[[Box], str]) -> str:
    def rewritten_pair(pair: re.Match[str]) -> str:
        box = read_box(pair.group()[len("<box>") : -len("</box>")])
        return pair.group() if box is None else rewrite(box)

    return _PAIR.sub(rewritten_pair, text)


def answer_to_original(answer: Answer, task: Task, view: ViewRule) -> Answer:
    """The answer as the model meant it: of a task whose answers are boxes or points, in pixels of the original."""
    if (point := _clicked(answer, task)) is not None:
        return Answer(text=written_point(view.frame_for(task.images[0]).point_to_original(point)))
    boxes = boxes_in(answer.text) if task.answer_kind == "boxes" and task.images else None
    if boxes is None:
        return answer
    frame = view.frame_for(task.images[0])
    return Answer(text=written_boxes([frame.box_to_original(box) for box in boxes]))


def answer_to_model(answer: Answer, task: Task, view: ViewRule) -> Answer:
    """The answer as the model would write it, in whole numbers of its frame."""
    if (point := _clicked(answer, task)) is not None:
        return Answer(text=written_point(view.frame_for(task.images[0]).point_to_model(point)))
    boxes = boxes_in(answer.text) if task.answer_kind == "boxes" and task.images else None
    if boxes is None:
        return answer
    frame = view.frame_for(task.images[0])
    return Answer(text=written_boxes([frame.box_to_model(box) for box in boxes]))


def _clicked(answer: Answer, task: Task) -> Point | None:
    """The point of an answer to a task that asks for a click on a picture."""
    return point_in(answer.text) if task.answer_kind == "click" and task.images else None


def form_of_boxes(view: ViewRule | None, *, images: int, is_brief: bool) -> str:
    """What a question about boxes asks the model to write, and in which frame; without a view in pixels."""
    if is_brief:
        return "[x1, y1, x2, y2]"
    where = " of image 1" if images > 1 else ""
    frame = COORDINATES["absolute" if view is None else view.convention]
    return (
        f"The answer is a box{where}, [x1, y1, x2, y2] (left, top, right, bottom), {frame}; where several things are "
        "asked for, a list with one box for each. Write the numbers alone, without words."
    )


def form_of_click(view: ViewRule | None, *, images: int, is_brief: bool) -> str:
    """What a question about a click asks the model to write, and in which frame; without a view in pixels."""
    if is_brief:
        return "[x, y]"
    where = " of image 1" if images > 1 else ""
    frame = COORDINATES["absolute" if view is None else view.convention]
    return f"The answer is the point to click{where}, [x, y], {frame}. Write the numbers alone, without words."
