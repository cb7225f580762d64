"""Interleaving: the places of pictures inside the words of a question, ``<image 1>``, ``<image 2>``, ..."""

import re
from collections.abc import Sequence
from dataclasses import replace

from saccade.types import ImageRef, Task

_MARK = re.compile(r"<image ([1-9][0-9]{0,3})>")


def mark(number: int) -> str:
    """The place of the picture of this number, counted from 1."""
    return f"<image {number}>"


def without_marks(text: str) -> str:
    """The text with a space inside whatever reads as a place, so that it names none."""
    return _MARK.sub(r"< image \1>", text)


def is_named(text: str, count: int) -> bool:
    """Whether the text names a picture of the ``count`` there are."""
    return any(int(found[1]) <= count for found in _MARK.finditer(text))


def in_reading_order(
    texts: Sequence[str], pictures: Sequence[ImageRef]
) -> tuple[tuple[str, ...], tuple[ImageRef, ...]]:
    """The texts with their places numbered in reading order, and the pictures as they then stand there.

    A picture that is named twice stands twice, one that is not named is left out; a place without a picture stays text
    that names none.
    """
    shown: list[ImageRef] = []

    def numbered_mark(found: re.Match[str]) -> str:
        number = int(found[1])
        if number > len(pictures):
            return without_marks(found[0])
        shown.append(pictures[number - 1])
        return mark(len(shown))

    # In this order: the numbers count over all texts.
    ordered = tuple([_MARK.sub(numbered_mark, text) for text in texts])
    return ordered, tuple(shown)


def in_order(task: Task) -> Task:
    """An interleaved task whose texts were changed or put in another order, with its places and images in order again.

    Any other task as it is.
    """
    if not task.is_interleaved:
        return task
    (question, *choices), images = in_reading_order((task.question, *task.choices), task.images)
    return replace(task, question=question, choices=tuple(choices), images=images)


def places_of(text: str) -> str:
    """The places that the text has, one after another, without its words."""
    return "".join(found[0] for found in _MARK.finditer(text))


def interleaved_parts(text: str, pictures: Sequence[ImageRef]) -> tuple[str | ImageRef, ...] | None:
    """Words and pictures in reading order; None unless the text has a place for each picture, once and in order."""
    pieces = _MARK.split(text)
    if [int(number) for number in pieces[1::2]] != list(range(1, len(pictures) + 1)):
        return None
    parts: list[str | ImageRef] = [pieces[0]]
    for picture, words in zip(pictures, pieces[2::2], strict=True):
        parts += [picture, words]
    return tuple(part for part in parts if part != "")
