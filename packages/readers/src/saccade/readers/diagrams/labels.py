"""Printed labels of a diagram: letters of points, lengths, angles."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from PIL import Image

from saccade.errors import ToolError
from saccade.geometry import Box
from saccade.readers.diagrams.ink import Character, Glyph, Ink, as_number, character_of, is_dot
from saccade.readers.geometry.language import parse_expression
from saccade.readers.text.lines import TextReader

SURE = 0.8
"""A label with a character that is less sure is read by the text reader, if there is one."""

LEAST_SURE = 0.55
"""Below this a label counts as not read."""

BETWEEN_GLYPHS = 0.62
"""The widest gap inside a label, in heights of its characters."""

TOUCHING, COVERED = 0.35, 0.35
"""A value is cut off where, so near beside it in heights of its characters, that share of rows has the figure's ink."""

MARGIN_PX, ENLARGED = 6, 4
"""Around a label that is cut out for the text reader, and how much it is enlarged."""

_POINT = re.compile(r"[A-Z]'?")
_DEGREES = re.compile(r"\(?(.+?)\)?\s*[°º]")
_UNIT = re.compile(r"(?<=[0-9)]) ?(?:cm|mm|km|ft)$")
_UNIT_ALONE = re.compile(r"(?:[c0Cm]m|km|ft)")
_VALUE = re.compile(r"[0-9a-z.+\-*/()√ ]{1,24}")

Kind = Literal["point", "length", "angle", "unread"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Label:
    """A printed label."""

    kind: Kind
    text: str
    """The letter, or the value without its sign of degrees."""
    box: Box
    """In pixels of the ink."""
    sureness: float

    @property
    def at(self) -> complex:
        """Its middle."""
        return complex(self.box.center.x, self.box.center.y)


@dataclass(frozen=True, kw_only=True, slots=True)
class Print:
    """All labels of a diagram, and the dots that stand on their own."""

    labels: tuple[Label, ...]
    dots: tuple[complex, ...]


def print_of(ink: Ink, reader: TextReader | None = None, sure: float = SURE) -> Print:
    """The labels of a picture; with a ``reader`` also in type that is not known here, where less than ``sure``."""
    dots = [glyph for glyph in ink.glyphs if is_dot(glyph) and not _is_in_label(glyph, ink.glyphs)]
    glyphs = [glyph for glyph in ink.glyphs if glyph not in dots and max(glyph.width, glyph.height) >= 2]
    labels = [_label(group, _usual_height(glyphs), ink, reader, sure) for group in _glyph_lines(glyphs)]
    middles = tuple(complex((dot.left + dot.right) / 2, (dot.top + dot.bottom) / 2) for dot in dots)
    # A unit that stands apart from its number says nothing of its own.
    said = [label for label in labels if label is not None and not _UNIT_ALONE.fullmatch(label.text)]
    return Print(labels=tuple(said), dots=middles)


def label_from(text: str, box: Box, sureness: float) -> Label:
    """The label of a text, by what the text looks like."""
    plain = text.strip().replace("−", "-").replace("º", "°")
    if sureness < LEAST_SURE:
        return Label(kind="unread", text=plain, box=box, sureness=sureness)
    if _POINT.fullmatch(plain):
        return Label(kind="point", text=plain, box=box, sureness=sureness)
    plain = _UNIT.sub("", plain)
    degrees = _DEGREES.fullmatch(plain)
    value = degrees.group(1) if degrees else plain
    kind: Kind = "angle" if degrees else "length"
    return Label(kind=kind if _is_value(value) else "unread", text=value, box=box, sureness=sureness)


def _is_value(text: str) -> bool:
    if not _VALUE.fullmatch(text):
        return False
    try:
        parse_expression(text)
    except ToolError:
        return False
    return True


def _usual_height(glyphs: Sequence[Glyph]) -> float:
    """Usual height of capitals and digits."""
    heights = sorted(glyph.height for glyph in glyphs if glyph.height >= 6)
    return float(heights[len(heights) // 2]) if heights else 10.0


def _is_in_label(dot: Glyph, glyphs: Sequence[Glyph]) -> bool:
    """Whether the dot is a degree sign or a decimal point: right behind a character that is no letter of a centre."""
    usual = _usual_height([glyph for glyph in glyphs if glyph is not dot])
    for before in glyphs:
        is_beside = -2 <= dot.left - before.right <= 3 and dot.bottom > before.top - 3 and dot.top < before.bottom
        if before is not dot and before.height > 1.4 * dot.height and is_beside:
            is_round = character_of(before, usual, before.top).text in "O0DQ"
            has_more = any(
                other is not before and _belong(other, before, usual) for other in glyphs if other is not dot
            )
            if not is_round or has_more:
                return True
    return False


def _glyph_lines(glyphs: Sequence[Glyph]) -> list[list[Glyph]]:
    """Glyphs that stand in one line close to each other, from left to right."""
    usual = _usual_height(glyphs)
    groups: list[list[Glyph]] = []
    for glyph in sorted(glyphs, key=lambda one: (one.left, one.top)):
        fitting = [group for group in groups if any(_belong(one, glyph, usual) for one in group)]
        merged = [one for group in fitting for one in group] + [glyph]
        groups = [group for group in groups if group not in fitting] + [merged]
    return [sorted(group, key=lambda one: one.left) for group in groups]


def _belong(left: Glyph, right: Glyph, usual: float) -> bool:
    gap = right.left - left.right
    # A degree sign behind a small x stands above it, but in the same line.
    tops = [one.top if one.height < 0.6 * usual else min(one.top, one.bottom - usual) for one in (left, right)]
    shared = min(left.bottom, right.bottom) - max(tops)
    return gap <= BETWEEN_GLYPHS * usual and shared >= 0.3 * min(left.height, right.height)


def _label(group: Sequence[Glyph], usual: float, ink: Ink, reader: TextReader | None, sure: float) -> Label | None:
    top, bottom = min(one.top for one in group), max(one.bottom for one in group)
    left, right = min(one.left for one in group), max(one.right for one in group)
    if bottom - top < 0.6 * usual and len(group) == 1:
        # Specks, and the remains of dashes.
        return None
    box = Box(left, top, right, bottom)
    # Brackets reach below the line and degree signs may reach above it: what is as high as most tells the line.
    full = [one for one in group if abs(one.height - usual) <= 0.2 * usual] or list(group)
    line_top = float(np.median([one.top for one in full]))
    characters = [character_of(one, usual, line_top) for one in group]
    sureness = min(one.sureness for one in characters)
    is_wide = any(one.width > 1.6 * usual for one in group)
    if reader is not None and (sureness < sure or is_wide):
        read = _by_reader(box, ink, reader, characters, is_small=box.height < 0.87 * usual)
        if read is not None:
            return read
    text = _text(characters)
    is_cut = text[:1].isdigit() and _touches_figure(box, ink, usual)
    return label_from(text, box, 0.0 if is_wide or is_cut else sureness)


def _touches_figure(box: Box, ink: Ink, usual: float) -> bool:
    """Whether the figure goes on right beside a label: a digit that runs into an arc is part of it, and missing."""
    gap = max(2, round(TOUCHING * usual))
    top, bottom = int(box.y1), int(box.y2)
    for columns in (slice(max(0, int(box.x1) - gap), int(box.x1)), slice(int(box.x2), int(box.x2) + gap)):
        beside = ink.figure[top:bottom, columns]
        # A line that passes by goes on above or below.
        beyond = (ink.figure[max(0, top - 2) : top, columns], ink.figure[bottom : bottom + 2, columns])
        if beside.size and beside.any(axis=1).mean() >= COVERED and not any(part.any() for part in beyond):
            return True
    return False


def _text(characters: Sequence[Character]) -> str:
    raw = "".join(one.text for one in characters)
    if len(characters) == 1:
        return raw.replace("0", "O")
    return as_number(characters) if any(mark in raw for mark in "0123456789°+-.()") else raw


def _by_reader(
    box: Box, ink: Ink, reader: TextReader, characters: Sequence[Character], *, is_small: bool
) -> Label | None:
    """The label cut out, enlarged and black on white, as the text reader sees it; None when it sees nothing."""
    height, width = ink.strength.shape
    left, top = max(0, int(box.x1) - MARGIN_PX), max(0, int(box.y1) - MARGIN_PX)
    right, bottom = min(width, int(box.x2) + MARGIN_PX), min(height, int(box.y2) + MARGIN_PX)
    cut = Image.fromarray((255 * (1 - ink.strength[top:bottom, left:right])).astype(np.uint8))
    enlarged = cut.resize((cut.width * ENLARGED, cut.height * ENLARGED), Image.Resampling.BICUBIC).convert("RGB")
    lines = reader.read(enlarged)
    text = "".join(line.text for line in lines).replace(" ", "").rstrip("°º")
    if not text:
        return None
    if characters[-1].text == "°":
        # Text readers leave the sign out or take it for a letter.
        text = f"{text[: len(characters) - 1]}°"
    elif len(characters) == 1 and not is_small:
        text = text.upper().replace("0", "O")
    label = label_from(text, box, min(line.confidence for line in lines))
    return label if label.kind != "unread" else None
