"""Cleaning: a teacher's reply made into a reasoning with points in tags, that knows nothing of overlays (section 4.3).

===============================================  ==================================================================
what the teacher wrote                           what becomes of it
===============================================  ==================================================================
``<|begin_of_box|>A<|end_of_box|>`` in its       the answer is ``A``; the words around it belong to the reasoning
answer, as GLM writes
"the jeep at (408, 179)", where the overlay has  the same point in a tag, with the mark's label
a mark there
other pairs of numbers in brackets, unless the   refused: coordinates of nothing
question has them too
``[F17 @ t=19.21s]``, ``[F1-F4 @ t=0-3.3s]``     "frame 17 at 19.21 seconds", "frames 1 to 4"
"in the overlaid image", "(as marked)", "the     left out; a sentence that still speaks of overlays is left out, and
original image"                                  where it points the trace is refused
several answers, none, points in the answer,     refused
tags out of order, over 64 points, loops
===============================================  ==================================================================

Every pattern is bounded, so that time is linear in the reply, and nothing raises.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from saccade.curation.argos.marks import Mark
from saccade.curation.argos.traces import imitable_turn
from saccade.curation.codedance.prompts import question_of
from saccade.media.resize import ViewRule
from saccade.protocols.markup import is_unicode
from saccade.protocols.pointed import pointed_protocol
from saccade.protocols.points import find_points, has_point_tag, points_to_original, with_points, written_point
from saccade.protocols.tagged import STOP, parse
from saccade.rewards.repetition import repetition
from saccade.turn_ends import up_to_stop
from saccade.types import Answer, ExpertTurn, Malformed, Task, Turn

MAX_REPLY_CHARS = 1 << 16

CleaningReason = Literal[
    "empty", "too_long", "unreadable", "points_in_answer", "coordinates", "tells_of_overlay", "repeats", "ill_formed"
]
"""Why a reply is no trace: nothing in it; over ``MAX_REPLY_CHARS``; no single reasoning with an answer; a point in the
answer; coordinates that no mark has; it speaks of the copies it was shown; it goes round in loops; points out of order
or too many."""

_BOXED = re.compile(r"<\|begin_of_box\|>([^<>]{1,2000})<\|end_of_box\|>")
_BLOCK = re.compile(r"</?(?:think|answer)>")
_TAG = re.compile(r"<points?\b[^<>]{0,4000}>(?:[^<>]{0,400}</points?>)?")
_S = r"\s{0,3}"
_NUMBER = rf"{_S}([0-9]{{1,5}}(?:\.[0-9]{{1,6}})?){_S}"
_PAIR = re.compile(rf"\({_NUMBER},{_NUMBER}\)|\[{_NUMBER},{_NUMBER}\]")
_IS_AT = (
    rf"{_S}(?:,?{_S}(?:which\s)?(?:is\s|are\s)?(?:located\s|seen\s|visible\s)?(?:at|near|around)"
    rf"(?:\scoordinates?)?{_S})?"
)
"""Between a thing's name and its coordinates."""

_F = r"F([0-9]{1,6})"
_AT = rf"{_S}@[^\[\]F]{{0,40}}"
_SPAN = re.compile(rf"\[{_F}{_S}-{_S}F?([0-9]{{1,6}}){_AT}\]")
_LIST = re.compile(rf"\[{_F}{_AT}(?:,{_S}F[0-9]{{1,6}}{_AT}){{0,31}},{_S}{_F}{_AT}\]")
_SINGLE = re.compile(rf"\[{_F}{_S}@{_S}t\s?=\s?([0-9]{{1,6}}(?:\.[0-9]{{1,6}})?)\s?s\]")

_COPY = r"(?:over-?lai[dn]|over-?lay(?:s|ed|ing)?|annotat(?:ed|ions?))"
_PLACE = (
    rf"(?:the\s|this\s|its\s)?(?:second\s|provided\s|marked\s)?(?:{_COPY}|copy)"
    r"(?:\s(?:image|picture|frames?|copy|coordinates?|points?|version)){0,2}"
)
_TELLS = re.compile(
    rf"\b(?:{_COPY}|cross-?marks?|the (?:provided|given|marked) (?:coordinates?|points?|copy)|(?:the|a) copy"
    r"|coordinates? (?:provided|given|shown|drawn)|second (?:image|picture)|original (?:image|picture|frames?)"
    r"|as (?:instructed|I was told))\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(rf"{_S}\([^()]{{0,200}}\b(?:{_COPY}|copy)\b[^()]{{0,200}}\)", re.IGNORECASE)
_OPENING = re.compile(
    r"(^|[.!?]\s{1,3}|\n)(?:looking at|in|on|from|by|based on|according to|using|with|per"
    rf"|as (?:shown|seen|marked|given) (?:in|on|by))\s{_PLACE},{_S}(\w)",
    re.IGNORECASE,
)
_PHRASE = re.compile(
    rf",?{_S}(?:(?:which|that)\s(?:is|are)\s)?(?:as\s)?"
    rf"(?:(?:shown|marked|given|seen|visible|provided|label+ed|indicated|drawn)\s)?(?:in|on|by|from|with)\s{_PLACE}\b",
    re.IGNORECASE,
)
_ORIGINAL = re.compile(r"\b(the|this) original (image|picture|frames?)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


@dataclass(frozen=True, kw_only=True, slots=True)
class RefusedReply:
    """A reply that is no trace."""

    reason: CleaningReason
    detail: str = ""


def clean_reply(reply: str, task: Task, marks: Sequence[Mark]) -> ExpertTurn | RefusedReply:
    """The reply as an expert's turn, its points as the teacher wrote them; or why it is none."""
    if not reply.strip():
        return RefusedReply(reason="empty")
    if len(reply) > MAX_REPLY_CHARS:
        return RefusedReply(reason="too_long", detail=f"over {MAX_REPLY_CHARS} characters")
    if not is_unicode(reply):
        return RefusedReply(reason="unreadable", detail="not valid Unicode")
    parsed = parse(_unboxed(reply), offers_tools=False)
    if not isinstance(parsed.action, Answer):
        why = parsed.action.why if isinstance(parsed.action, Malformed) else "a call"
        return RefusedReply(reason="unreadable", detail=why)
    if has_point_tag(parsed.action.text):
        return RefusedReply(reason="points_in_answer", detail=parsed.action.text[:80])
    plain = without_overlays(_in_words(parsed.thought), task)
    thought = plain if isinstance(plain, RefusedReply) else with_tags(plain, task, marks)
    if isinstance(thought, RefusedReply):
        return thought
    found = find_points(thought)
    if not found.is_well_formed:
        return RefusedReply(reason="ill_formed", detail=f"{len(found)} points, tags out of order or too many")
    return _not_looping(ExpertTurn(thought=with_points(thought, found, in_one_form=True).strip(), action=parsed.action))


def cleaned_as_pointed(reply: str, task: Task, view: ViewRule) -> ExpertTurn | RefusedReply:
    """The reply of a teacher that was asked to point by itself, its points from its view to the originals."""
    if not reply.strip():
        return RefusedReply(reason="empty")
    if len(reply) > MAX_REPLY_CHARS:
        return RefusedReply(reason="too_long", detail=f"over {MAX_REPLY_CHARS} characters")
    protocol = pointed_protocol()
    text = up_to_stop(reply, protocol.stop)
    parsed = protocol.parse(text)
    if not isinstance(parsed.action, Answer):
        why = parsed.action.why if isinstance(parsed.action, Malformed) else "a call"
        return RefusedReply(reason="unreadable", detail=why)
    if has_point_tag(parsed.action.text):
        return RefusedReply(reason="points_in_answer", detail=parsed.action.text[:80])
    points = points_to_original(parsed.points, task.images, view)
    turn = imitable_turn(
        Turn(
            index=0,
            text=text,
            thought=parsed.thought,
            action=parsed.action,
            is_well_formed=parsed.is_well_formed,
            points=points,
        )
    )
    if turn is None:
        return RefusedReply(reason="ill_formed", detail=f"{len(points)} points, tags out of order or too many")
    return _not_looping(turn)


def _not_looping(turn: ExpertTurn) -> ExpertTurn | RefusedReply:
    if not turn.thought:
        return RefusedReply(reason="unreadable", detail="there is no reasoning")
    return RefusedReply(reason="repeats") if repetition(turn.thought).level != "none" else turn


def _unboxed(reply: str) -> str:
    """A reply whose answer stands in GLM's box, in the tagged form: what is around the box is reasoning."""
    boxes = {found.strip() for found in _BOXED.findall(reply)}
    if len(boxes) != 1:
        return up_to_stop(reply, STOP)
    reasoning = "\n".join(part.strip() for part in _BLOCK.split(_BOXED.sub(r"\1", reply)) if part.strip())
    return f"<think>{reasoning}</think><answer>{boxes.pop()}</answer>"


def _in_words(thought: str) -> str:
    """Templates of frames and times as phrases that are read as moments."""
    thought = _LIST.sub(r"frames \1 to \2", thought)
    thought = _SPAN.sub(r"frames \1 to \2", thought)
    return _SINGLE.sub(r"frame \1 at \2 seconds", thought)


def without_overlays(thought: str, task: Task) -> str | RefusedReply:
    """The thought without its words on overlays; those that the question itself uses may stay."""
    allowed = _tells_in(f"{question_of(task)} {task.answer}")
    if len(task.images) > 1:
        # One of several pictures is the second, and frames of a video are original.
        allowed |= {"second image", "second picture", "original image", "original picture", "original frames"}
    if not any(re.search(_COPY, word) for word in allowed):
        thought = _ASIDE.sub("", thought)
        thought = _OPENING.sub(lambda found: f"{found[1]}{found[2].upper()}", thought)
        thought = _PHRASE.sub("", thought)
    if len(task.images) <= 1:
        thought = _ORIGINAL.sub(r"\1 \2", thought)
    if _tells_in(thought) <= allowed:
        return thought
    kept = []
    for line in thought.split("\n"):
        sentences = _SENTENCE.split(line)
        telling = [one for one in sentences if not _tells_in(one) <= allowed]
        if pointing := [one for one in telling if has_point_tag(one) or _PAIR.search(one)]:
            return RefusedReply(reason="tells_of_overlay", detail=pointing[0][:120])
        kept.append(" ".join(one for one in sentences if one not in telling))
    return "\n".join(line for line in kept if line.strip())


def _tells_in(text: str) -> set[str]:
    """What a text says of overlays, outside of tags."""
    return {found.group().lower() for found in _TELLS.finditer(_TAG.sub(" ", text))}


def with_tags(thought: str, task: Task, marks: Sequence[Mark]) -> str | RefusedReply:
    """The thought with bare coordinates of marks in tags; other pairs are refused unless the question has them."""
    known = {pair for text in (question_of(task), task.answer) for pair in map(_values, _PAIR.finditer(text))}
    pieces: list[str] = []
    end = 0
    tags = [(tag.start(), tag.end()) for tag in _TAG.finditer(thought)]
    inside = iter(tags)
    tag = next(inside, None)
    for pair in _PAIR.finditer(thought):
        while tag is not None and tag[1] <= pair.start():
            tag = next(inside, None)
        x, y = _values(pair)
        if (tag is not None and tag[0] < pair.start()) or (x, y) in known:
            continue
        near = [one for one in marks if abs(one.point.x - x) <= 1 and abs(one.point.y - y) <= 1]
        before = thought[end : pair.start()]
        mark = next((one for one in near if _label_before(one.label, before)), near[0] if near else None)
        if mark is None:
            return RefusedReply(reason="coordinates", detail=pair.group())
        said = _label_before(mark.label, before)
        pieces += [before[: said.start()] if said else before, written_point(mark.label, [mark.point])]
        end = pair.end()
    return "".join([*pieces, thought[end:]])


def _values(pair: re.Match[str]) -> tuple[float, float]:
    x, y = (one for one in pair.groups() if one is not None)
    return float(x), float(y)


def _label_before(label: str, before: str) -> re.Match[str] | None:
    """The label at the end of the words before a pair."""
    recent = re.compile(rf"(?<!\w){re.escape(label)}{_IS_AT}\Z", re.IGNORECASE)
    return recent.search(before, max(0, len(before) - len(label) - 80))
