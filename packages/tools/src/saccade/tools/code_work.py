"""Work of a run of code, judged from outside by its output: on its own pictures, and on others.

A process cannot be asked what it did, for code that it ran may answer. So the runs of a session are made again in
sessions of their own, and this process compares what they show:

1. A run that shows nothing, only pictures that were shown before, or once more the output of a run before it, is
   ``idle``.
2. On a blank picture, then on the negative, of the same size: a run that shows something else there depends on the
   picture's content. It ``looks``, if the same pictures and another seed show the same again; else it shows the clock
   or chance and is ``idle``.
3. A run that shows the same on any picture ``computes`` if it prints a number that comes from a calculation on three
   numbers or more: the runs since the last that did work name so many different ones (0 and 1 aside), and the output is
   neither one of them nor put together from their digits or from characters of their codes. Two numbers are added in
   words; the paper asks its teachers to leave simple calculations there. Everything else is ``idle``: answers printed
   as text or by way of characters, joining, formats or encodings, the size of a picture, a drawing of constants.

``idle`` is no fault. Definitions, imports and values for a later turn are idle, and that turn works.

It cannot see whether the work helped: one pixel printed looks, and an answer taken apart into three summands
computes. Both are code that runs on the task, and only the outcome's reward tells them from better code. A single bit
of chance looks in up to 38 % of its runs, since one repetition is all that is held against it: a pixel pays more.
"""

import io
import re
import tokenize
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from PIL import Image, ImageChops

from saccade.seeding import seed_for
from saccade.types import Work

SUMMANDS = 3
"""Different numbers from which on a calculation is worth a run."""

BLANK = (93, 160, 41)
_MOST = 1 << 20
"""No code of a character is larger."""
_NUMBER = re.compile(r"(?<![\w.])(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?(?!\w)", re.ASCII)
_FORMATTED = re.compile(r"[rR]?[fF]")
_BRACES = re.compile(r"\{([^{}:!]++)")
_THOUSANDS = re.compile(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """The part of a run that the model sees: its text, and its pictures by hash."""

    text: str
    pictures: tuple[str, ...] = ()


Pictures = Mapping[str, Image.Image]

Again = Callable[[Sequence[str], Pictures, int], Shown | None]
"""Runs these codes in a session of these pictures and this seed: what the last shows; None where how they end depends
on how busy the machine is. MachineError of the session."""


class WorkChecks:
    """The work of the runs of one episode, one after the other."""

    def __init__(self, again: Again, *, pictures: Pictures, seen: Iterable[str], seed: int) -> None:
        """``seen``: hashes of the pictures that the model has, as a run would show them."""
        self._again = again
        self._pictures = pictures
        self._seen = set(seen)
        self._seed = seed
        self._codes: list[str] = []
        self._shown: list[Shown] = []
        self._idle = 0
        """So many of the last runs did no work; what they prepared belongs to the next."""

    def work(self, code: str, shown: Shown, *, is_checked: bool = True) -> Work:
        """The work of the next run that succeeded; with ``is_checked=False`` it counts as idle.

        After a MachineError the run may be given once more.
        """
        codes = [*self._codes, code]
        found = self._work(codes, shown) if is_checked else "idle"
        self._codes = codes
        self._shown.append(shown)
        self._seen.update(shown.pictures)
        self._idle = self._idle + 1 if found == "idle" else 0
        return found

    def _work(self, codes: Sequence[str], shown: Shown) -> Work:
        shows_new = any(picture not in self._seen for picture in shown.pictures)
        if not (shown.text.strip() or shows_new) or shown in self._shown:
            return "idle"
        for blind in (_blank, ImageChops.invert) if self._pictures else ():
            others = {name: blind(picture) for name, picture in self._pictures.items()}
            other = self._again(codes, others, self._seed)
            if other is not None and self._differs(shown, other):
                control = self._again(codes, self._pictures, seed_for(self._seed, "control"))
                return "looks" if control == shown else "idle"
        return "computes" if computes(codes[-1 - self._idle :], shown.text) else "idle"

    def _differs(self, shown: Shown, other: Shown) -> bool:
        """Whether the other run shows another text, or another picture where this one shows a new picture."""
        if other.text != shown.text or len(other.pictures) != len(shown.pictures):
            return True
        # Pictures that the model has are other pictures there.
        return any(one not in self._seen and one != there for one, there in zip(shown.pictures, other.pictures))


def computes(codes: Sequence[str], text: str) -> bool:
    """Whether a text that depends on no picture has a number that was worked out of ``SUMMANDS`` or more others."""
    written = {value for code in codes for value in _literal_numbers(code)}
    if len(written - {0.0, 1.0}) < SUMMANDS:
        return False
    # Those of texts too: they were written by the model, wherever they stand.
    known = written | {abs(float(found)) for code in codes for found in _NUMBER.findall(code)}
    pieces = _pieces(known)
    return any(
        float(found) not in known and not _is_put_together(found, pieces)
        for found in _NUMBER.findall(_THOUSANDS.sub("", text))
    )


def _blank(picture: Image.Image) -> Image.Image:
    return Image.new("RGB", picture.size, BLANK)


def _literal_numbers(code: str) -> list[float]:
    """The numbers of the code, not those of its comments and texts."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(code).readline))
    except (tokenize.TokenError, SyntaxError):
        return []
    numbers = [
        value for token in tokens if token.type == tokenize.NUMBER and (value := _value(token.string)) is not None
    ]
    # Python 3.11 has one token for a formatted text; what stands in its braces is code.
    formats = [token.string for token in tokens if token.type == tokenize.STRING and _FORMATTED.match(token.string)]
    return numbers + [number for text in formats for part in _BRACES.findall(text) for number in _literal_numbers(part)]


def _value(literal: str) -> float | None:
    try:
        # 0: as Python reads it, hexadecimal too.
        return float(int(literal, 0))
    except OverflowError:
        return None
    except ValueError:
        pass
    try:
        return float(literal)
    except ValueError:
        return None


def _pieces(known: Iterable[float]) -> frozenset[str]:
    """The parts from which a number can be put together without a calculation: digits of others, forward and backward,
    and characters of their codes."""
    whole = [int(value) for value in known if value.is_integer() and abs(value) < _MOST]
    digits = {str(value) for value in whole}
    characters = {chr(value) for value in whole if chr(value) in "0123456789."} if whole else set()
    return frozenset(digits | {piece[::-1] for piece in digits} | characters)


def _is_put_together(number: str, pieces: frozenset[str]) -> bool:
    lengths = {len(piece) for piece in pieces}
    reached = {0}
    for start in range(len(number)):
        if start in reached:
            reached |= {start + length for length in lengths if number[start : start + length] in pieces}
    return len(number) in reached
