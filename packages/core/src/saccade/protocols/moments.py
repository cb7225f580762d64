"""Moments that a reasoning names: single frames and times of a video, ranges of them, pictures by number.

=====================================================  ============================================================
what the model wrote                                   what becomes of it
=====================================================  ============================================================
"frame 24", "frame five", "third frame",               a moment; frames count from 1
"[F24 @ t=18.71s]", "18.71 seconds", "at second 4",
"at 1:05", "<18.71 seconds>", as prompts write a
frame's time
"frames 1, 2 and 5"                                    a moment each
"frames 1-6", "frame 7 through frame 20",              a range; "onwards" and "to the end" leave its end open,
"4.47 to 16.11 seconds", "seconds 4 to 6",             "until" leaves its start open; frames listed in one pair
"0:04 to 0:06", "frame 25 onwards", "until frame 6",   of brackets with their times are one range
"[F1 @ 0s, F2 @ 0.8s, F3 @ 1.6s]"
a frame and a time of one sentence, one of each        one moment that has both
"for 1.5 seconds", "lasts 1.5 seconds"                 no moment
=====================================================  ============================================================

The description is the sentence, without the numbers' markers where they open it.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from saccade.quantities import NUMBER_WORDS

MAX_MOMENTS = 64
POINT_SIGN = "\0"
"""Stands where a text had a point; its sentence's single moments belong to that point."""
MAX_DESCRIPTION_CHARS = 400

# A stop ends a sentence only before white space, so that decimals do not.
_SENTENCE_END = re.compile(r"[.!?](?=\s)|\n+")
_CLAUSE_END = re.compile(r"[,;:](?=\s)|\s[-\u2013\u2014]\s")
_FRAME = r"frames?\s{0,3}#?\s{0,3}"
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_DIGITS = rf"(?:[0-9]{{1,6}}|(?:{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})\b)"
_CLOCK = r"[0-9]{1,3}:[0-5][0-9](?:\.[0-9]{1,6})?(?![\w:])"
_TIME = r"(?:t\s?=\s?)?(?P<{}>[0-9]{{1,6}}(?:\.[0-9]{{1,6}})?)"
_SECONDS = r"\s{0,3}(?:s|secs?|seconds?)\b>?"
_TO = r"\s{0,3}(?:-|\u2013|\u2014|to|through|until)\s{0,3}"
# A decimal comma is no separator, and "for 1.5 seconds" says how long, not when.
_WHEN = r"(?<![\w.])(?<!\d,)(?<!\bfor )(?<!\blasts )(?<!\blasting )"
_ON = r"\s{1,3}(?:onwards?|on|to the end)\b"
_NO_DECIMAL = r"(?![0-9]|\.[0-9])"
_RANGE = re.compile(
    rf"\b{_FRAME}(?P<f0>{_DIGITS}){_TO}(?:{_FRAME})?(?P<f1>{_DIGITS}){_NO_DECIMAL}"
    rf"|\bF(?P<g0>{_DIGITS}){_TO}F?(?P<g1>{_DIGITS}){_NO_DECIMAL}"
    rf"(?:\s{{0,3}}@\s{{0,3}}{_TIME.format('g2')}(?:{_SECONDS})?{_TO}{_TIME.format('g3')}{_SECONDS})?"
    rf"|\b{_FRAME}(?P<h0>{_DIGITS}){_ON}"
    rf"|\buntil\s{{1,3}}{_FRAME}(?P<i1>{_DIGITS}){_NO_DECIMAL}"
    rf"|{_WHEN}{_TIME.format('t0')}(?:{_SECONDS})?(?:{_TO}|\s{{1,3}}and\s{{1,3}})<?{_TIME.format('t1')}{_SECONDS}"
    rf"|{_WHEN}{_TIME.format('u0')}{_SECONDS}{_ON}"
    rf"|\buntil\s{{1,3}}<?{_TIME.format('v1')}{_SECONDS}"
    rf"|\bseconds\s{{1,3}}{_TIME.format('w0')}{_TO}{_TIME.format('w1')}{_NO_DECIMAL}"
    rf"|(?<![\w:.])(?P<x0>{_CLOCK}){_TO}(?P<x1>{_CLOCK})"
    rf"|\[\s?F(?P<k0>[0-9]{{1,6}})\s?@[^\[\]]{{1,400}},\s?F(?P<k1>[0-9]{{1,6}})\s?@[^\[\],]{{1,20}}\]",
    re.IGNORECASE,
)
_SINGLE_FRAME = re.compile(
    rf"\bframe\s{{0,3}}#?\s{{0,3}}({_DIGITS})\b|\bF([0-9]{{1,6}})\b(?=\s{{0,3}}[@\]])"
    rf"|\b({'|'.join(ORDINALS)}|[0-9]{{1,3}}(?:st|nd|rd|th))\s{{1,3}}frame\b",
    re.IGNORECASE,
)
_FRAMES = re.compile(
    rf"\bframes\s{{1,3}}{_DIGITS}(?:\s{{0,3}}(?:,|&|\band\b|\bor\b)\s{{0,3}}(?:and\s{{1,3}})?{_DIGITS}(?![\w.]\w)){{1,64}}",
    re.IGNORECASE,
)
_LISTED = re.compile(_DIGITS, re.IGNORECASE)
_SINGLE_TIME = re.compile(
    rf"{_WHEN}{_TIME.format('t')}{_SECONDS}"
    rf"|\b(?:at|from|by|around|about|in) seconds? ([0-9]{{1,6}}(?:\.[0-9]{{1,6}})?)"
    rf"|(?:\b(?:at|from|by|around|about|until|till|before|after)\s|[@\[(]\s?)({_CLOCK})",
    re.IGNORECASE,
)
_PICTURE = re.compile(
    rf"\b(?:image|picture|photo|page)\s{{0,3}}#?\s{{0,3}}([0-9]{{1,4}})\b"
    rf"|\b({'|'.join(ORDINALS)})\s{{1,3}}(?:image|picture|photo|page)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedMoment:
    """Where something is that a sentence speaks of: the frame (from 1), the time in seconds, the picture (from 0)."""

    frame: int | None = None
    time_s: float | None = None
    image_index: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class FrameMention:
    """Mention of a single frame or time."""

    description: str
    frame: int | None = None
    """Counted from 1, as written."""
    time_s: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SegmentMention:
    """Mention of a range of frames or times; both ends belong to it, None is an open one."""

    description: str
    start_frame: int | None = None
    end_frame: int | None = None
    start_time: float | None = None
    end_time: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundMoments:
    """Moments of a text in their order."""

    frames: tuple[FrameMention, ...] = ()
    segments: tuple[SegmentMention, ...] = ()


class NamedMoments:
    """Frames, times and pictures that a text names, by where they are named."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends = [match.end() for match in _SENTENCE_END.finditer(text)]
        singles = _without_ranges(text)
        self._frames = [(at, float(number)) for at, number in _single_frames(singles)]
        self._times = _single_times(singles)
        self._pictures = [(one.start(), _picture(one)) for one in _PICTURE.finditer(singles)]

    def of(self, at: int) -> NamedMoment:
        """The mention nearest in the sentence of position ``at``, else in the last clause of the one before."""
        sentence = bisect_right(self._ends, at)
        start = self._ends[sentence - 1] if sentence else 0
        end = self._ends[sentence] if sentence < len(self._ends) else len(self._text)
        before = self._ends[sentence - 2] if sentence > 1 else 0
        clauses = [match.end() for match in _CLAUSE_END.finditer(self._text, before, start)]
        before = clauses[-1] if clauses else before

        def nearest(named: Sequence[tuple[int, float]]) -> float | None:
            found = _nearest(named, at, start, end)
            return _nearest(named, at, before, start) if found is None else found

        frame, time_s, picture = nearest(self._frames), nearest(self._times), nearest(self._pictures)
        return NamedMoment(
            frame=None if frame is None else int(frame),
            time_s=time_s,
            image_index=0 if picture is None else int(picture) - 1,
        )


def find_moments(text: str) -> FoundMoments:
    """The single moments and ranges of a text, at most ``MAX_MOMENTS`` of each; linear in the text, never raises.

    ``text`` has ``POINT_SIGN`` in place of points (``points.without_tags``), which are scored by themselves.
    """
    frames: list[FrameMention] = []
    segments: list[SegmentMention] = []
    start = 0
    for end in [*(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]:
        sentence, start = text[start:end], end
        said = " ".join(sentence.replace(POINT_SIGN, " ").split())[:MAX_DESCRIPTION_CHARS]
        segments += [_segment(match, said) for match in _RANGE.finditer(sentence)]
        if POINT_SIGN in sentence:
            continue
        singles = _without_ranges(sentence)
        numbers = [number for _, number in _single_frames(singles)]
        times = [time_s for _, time_s in _single_times(singles)]
        if len(numbers) == len(times):
            frames += [FrameMention(description=said, frame=f, time_s=t) for f, t in zip(numbers, times)]
        else:
            frames += [FrameMention(description=said, frame=one) for one in numbers]
            frames += [FrameMention(description=said, time_s=one) for one in times]
    return FoundMoments(frames=tuple(frames[:MAX_MOMENTS]), segments=tuple(segments[:MAX_MOMENTS]))


def _segment(match: re.Match[str], said: str) -> SegmentMention:
    def number(*names: str) -> float | None:
        return next((_value(match[name]) for name in names if match[name] is not None), None)

    first, last = number("f0", "g0", "h0", "k0"), number("f1", "g1", "i1", "k1")
    return SegmentMention(
        description=said,
        start_frame=None if first is None else int(first),
        end_frame=None if last is None else int(last),
        start_time=number("g2", "t0", "u0", "w0", "x0"),
        end_time=number("g3", "t1", "v1", "w1", "x1"),
    )


def _single_frames(text: str) -> list[tuple[int, int]]:
    """Where single frames are named, and their numbers."""
    found = [(one.start(), int(_value(next(filter(None, one.groups()))))) for one in _SINGLE_FRAME.finditer(text)]
    for of in _FRAMES.finditer(text):
        found += [(of.start() + one.start(), int(_value(one.group()))) for one in _LISTED.finditer(of.group())]
    return sorted(found)


def _single_times(text: str) -> list[tuple[int, float]]:
    return [(one.start(), _value(next(filter(None, one.groups())))) for one in _SINGLE_TIME.finditer(text)]


def _value(written: str) -> float:
    """The number that digits, a word, an ordinal or minutes and seconds write."""
    word = written.lower()
    if word in NUMBER_WORDS:
        return float(NUMBER_WORDS.index(word))
    if word in ORDINALS:
        return ORDINALS.index(word) + 1.0
    minutes, _, seconds = word.rpartition(":")
    return 60.0 * float(minutes or 0) + float(seconds.rstrip("stndrh"))


def _without_ranges(text: str) -> str:
    """The text with spaces in place of its ranges; of the same length."""
    return _RANGE.sub(lambda match: " " * len(match.group()), text)


def _nearest(named: Sequence[tuple[int, float]], at: int, start: int, end: int) -> float | None:
    """The mention nearest to ``at`` between ``start`` and ``end``, the earlier one of two equally near."""
    first, last = bisect_right(named, (start - 1, float("inf"))), bisect_right(named, (end - 1, float("inf")))
    return min(((abs(place - at), place, value) for place, value in named[first:last]), default=(0, 0, None))[2]


def _picture(match: re.Match[str]) -> float:
    return float(match.group(1)) if match.group(1) else ORDINALS.index(match.group(2).lower()) + 1.0
