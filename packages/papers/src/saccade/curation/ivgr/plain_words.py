"""Reasoning with boxes rephrased in plain words: the prompt of a teacher, and the checks of its reply."""

import re
from collections.abc import Sequence

from saccade.curation.codedance.prompts import question_of
from saccade.geometry import Box
from saccade.protocols.box_text import find_boxes
from saccade.types import Message, Task

MAX_REPLY_CHARS = 1 << 16

_WORD = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"\d{1,9}(?:\.\d{1,9})?")
_SENTENCE_END = re.compile(r"[.!?;\n]")
_BEFORE_A_BOX_CHARS = 200

_COORDINATES = (
    re.compile(r"</?box>|\bbbox|\bbounding[ -]box", re.IGNORECASE),
    re.compile(r"\bcoordinates?\b|\bpixels?\b|\d ?px\b", re.IGNORECASE),
    re.compile(r"\b[xy][12]?\s?[=:≈]\s?\d", re.IGNORECASE),
    re.compile(r"[\[(]\s?[+-]?\d{1,9}(?:\.\d{1,9})?(?:\s?[,;]\s?[+-]?\d{1,9}(?:\.\d{1,9})?){1,5}\s?[\])]"),
)
"""Patterns that give coordinates away, the last of them numbers in brackets."""
_THOUSANDS = re.compile(r"\(\d{1,3}(?:,\d{3})+\)")

_PASSED_OVER = """
a an the this that these those it its one ones there here and or but with as which who at in on of to from by near
around is are was were be been has have located found seen shown visible positioned placed situated
left right top bottom upper lower middle center centre side corner edge part area region position location
box boxes bounding coordinates foreground background image picture
"""
_NO_NAMES = frozenset(_PASSED_OVER.split())
"""Words before a box that name no object."""


def in_plain_words(task: Task, thought: str) -> tuple[Message, ...]:
    """Prompt for the reasoning without boxes, and after it the answer; ``plain_reply`` reads the reply."""
    image = task.images[0]
    words = (
        "Somebody solved a question about the image, and noted after each thing where it is: "
        "<box>[left,top,right,bottom]</box>, in pixels of the first image, which is "
        f"{image.width} pixels wide and {image.height} pixels high. Tell the same reasoning anew in plain words.\n"
        f"Question: {question_of(task)}\n\n"
        f"Reasoning with boxes:\n<reasoning>\n{thought}\n</reasoning>\n\n"
        "How to tell it:\n"
        "- Keep the course of the reasoning, with its detours and corrections, and call each thing by the same name.\n"
        "- Where it matters where something is, say it in words: at the upper left, behind the table, next to the "
        "door. Look at the image to find such words.\n"
        "- Write no boxes, no coordinates and no sizes in pixels, and do not mention that there were any.\n"
        "- Say only what the reasoning says or the image shows.\n"
        "- After the reasoning write the bare answer that follows from it (a word, a number or an option's letter) "
        "between <answer> and </answer>, and nothing after it."
    )
    return (Message(role="user", parts=(*task.images, words)),)


def plain_reply(reply: str) -> tuple[str, str] | str:
    """(reasoning, answer) of a reply, or why it has none.

    Reasoning may stand in ``<think>`` tags. What a reasoning model thought before it spoke is left out.
    """
    if len(reply) > MAX_REPLY_CHARS:
        return f"it is longer than {MAX_REPLY_CHARS} characters"
    said, opened, rest = reply.rpartition("<answer>")
    answer, closed, after = rest.partition("</answer>")
    if not opened or not closed or after.strip():
        return "it does not end with an <answer>"
    thought, _, spoken = said.rpartition("</think>")
    reasoning = spoken.strip() or thought.strip().removeprefix("<think>").strip()
    if not reasoning or not answer.strip():
        return "its reasoning or its answer is empty"
    return reasoning, answer.strip()


def coordinates_in(text: str, *, known: str, boxes: Sequence[Box] = ()) -> str:
    """The first piece of text that gives a place in numbers; empty when there is none.

    What ``known``, the question, says may be said again. Four numbers in a row that are one of the ``boxes`` count
    however they are written.
    """
    allowed = _normal(known)
    for pattern in _COORDINATES:
        for match in pattern.finditer(text):
            piece = match.group()
            if _normal(piece) not in allowed and not _THOUSANDS.fullmatch(piece):
                return piece
    numbers = [round(float(number)) for number in _NUMBER.findall(text)]
    sides = {tuple(round(side) for side in box.as_tuple()) for box in boxes}
    for run in zip(numbers, numbers[1:], numbers[2:], numbers[3:]):
        if run in sides:
            return ", ".join(map(str, run))
    return ""


def boxes_of_thought(thought: str) -> list[Box]:
    """The boxes that can be read."""
    return [mention.box for mention in find_boxes(thought).mentions if mention.box is not None]


def named_objects(thought: str) -> list[str]:
    """The word by which the reasoning names what it puts a box on, once each; boxes without one are passed over."""
    names: dict[str, None] = {}
    for before in thought.split("<box>")[:-1]:
        clause = _SENTENCE_END.split(before.rpartition("</box>")[2][-_BEFORE_A_BOX_CHARS:])[-1]
        words = [word.casefold() for word in _WORD.findall(clause)]
        name = next((word for word in reversed(words) if len(word) > 1 and word not in _NO_NAMES), None)
        if name is not None:
            names[name] = None
    return list(names)


def lost_objects(thought: str, text: str) -> list[str]:
    """The named objects of the reasoning that the text does not name; singular and plural are one."""
    said = {form for word in _WORD.findall(text) for form in _forms(word.casefold())}
    return [name for name in named_objects(thought) if not said & _forms(name)]


def _forms(word: str) -> set[str]:
    """The word, and the singulars that it may be the plural of."""
    forms = {word}
    for ending, singular in (("s", ""), ("es", ""), ("ies", "y")):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            forms.add(word.removesuffix(ending) + singular)
    return forms


def _normal(text: str) -> str:
    return "".join(text.casefold().split())
