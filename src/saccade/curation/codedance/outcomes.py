"""Replies of a checker, read strictly: what is not clearly a verdict is none."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar, cast, get_args

from saccade.curation.codedance.settings import KINDS, Kind, Level, Way
from saccade.geometry import Box
from saccade.tasks.rows.fields import (
    Row,
    RowError,
    RowValue,
    as_number,
    listed,
    mapping,
    optional_number,
    required_text,
)
from saccade.types import ImageRef, Json, Target

MAX_BOXES = 64
MAX_LABEL_CHARS = 200
EDGE_SLACK_PX = 1.0

_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_FENCED = re.compile(r"\A```(?:json)?\s*\n(.*)\n```\Z", re.DOTALL)
_MARKS = " \t\r\n*_`\"'“”.!"


def spoken(reply: str) -> str:
    """A reply without its thinking in ``<think>`` tags, which some servers leave in the text."""
    return _THOUGHTS.sub("", reply, count=1).strip()


def read_verdict(reply: str, *, good: str, bad: str) -> bool | None:
    """True for the word ``good`` alone, False for ``bad`` alone, in any case and marks; None for anything else."""
    word = spoken(reply).strip(_MARKS).casefold()
    return {good.casefold(): True, bad.casefold(): False}.get(word)


def read_boxes(reply: str, image: ImageRef) -> tuple[Target, ...] | None:
    """The objects of a JSON list of ``{"label": …, "bbox_2d": [x1, y1, x2, y2]}`` in pixels; None when it is no such.

    The list may stand in a fence. One box that is empty, inverted or outside of the image spoils the list, for then the
    model counts in another frame.
    """
    text = spoken(reply)
    fenced = _FENCED.match(text)
    try:
        value: Json = json.loads(fenced.group(1) if fenced else text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, list) or not 0 < len(value) <= MAX_BOXES:
        return None
    targets = [_target(item, image) for item in value]
    known = tuple(target for target in targets if target is not None)
    return known if len(known) == len(targets) else None


def _target(item: Json, image: ImageRef) -> Target | None:
    if not isinstance(item, dict) or set(item) != {"label", "bbox_2d"}:
        return None
    label, corners = item["label"], item["bbox_2d"]
    if not isinstance(label, str) or not 0 < len(label) <= MAX_LABEL_CHARS or not isinstance(corners, list):
        return None
    numbers = [
        number for corner in corners if isinstance(corner, int | float) and (number := as_number(corner)) is not None
    ]
    if len(corners) != 4 or len(numbers) != 4:
        return None
    box = Box(*numbers)
    clipped = box.clipped(image.width, image.height)
    reach = max(abs(a - b) for a, b in zip(box.as_tuple(), clipped.as_tuple()))
    if not (box.is_ordered and clipped.is_ordered) or reach > EDGE_SLACK_PX:
        return None
    return Target(label=label, box=clipped, point=clipped.center)


Reason = Literal[
    "unsuitable_image",
    "bad_question",
    "no_verdict",
    "unsolved",
    "no_way",
    "ill_formed",
    "failed_run",
    "no_answer",
    "wrong_answer",
    "no_code",
    "not_repeatable",
    "idle_code",
    "wrong_chain",
    "unreadable_rewriting",
    "output_mismatch",
    "contradiction",
    "disagreed",
]
"""Why a question, or one try at it, gave no example:

``unsuitable_image``, ``bad_question``, ``disagreed``: the checker says so. ``no_verdict``: the checker says nothing
that can be read. ``unsolved``: both models fail. ``no_way``: no way is set for its level. ``ill_formed``: a turn breaks
the protocol. ``failed_run``: some code failed. ``no_answer``: out of turns. ``no_code``: answered without any code.
``not_repeatable``: run again, the code shows something else. ``idle_code``: no run shows anything of the picture or
works anything out, such as code that prints the answer. ``wrong_chain``: the chain of thought to rewrite has a wrong
answer or none. ``unreadable_rewriting``: its form is broken. ``output_mismatch``: the code prints something else than
the text claims. ``contradiction``: the text goes on with a claimed number that was never printed.
"""

Step = Literal["image", "question", "solution", "boxes"]
Value = Literal["good", "bad", "none"]
"""``none``: the reply was no verdict, or no list of boxes."""

REASONS: tuple[Reason, ...] = get_args(Reason)
_STEPS: tuple[Step, ...] = get_args(Step)
_VALUES: tuple[Value, ...] = get_args(Value)
_LEVELS: tuple[Level, ...] = get_args(Level)
_WAYS: tuple[Way, ...] = get_args(Way)

Name = TypeVar("Name", bound=str)


@dataclass(frozen=True, kw_only=True, slots=True)
class StepVerdict:
    """Verdict of a checker at one step."""

    step: Step
    value: Value


@dataclass(frozen=True, kw_only=True, slots=True)
class Rejected:
    """One try that gave no example."""

    way: Way
    reason: Reason
    detail: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class QuestionOutcome:
    """What became of a question."""

    task_id: str
    level: Level
    weak: float | None = None
    """Pass rates; None where the model was not asked."""
    strong: float | None = None
    reason: Reason | None = None
    """None when there is an example."""
    way: Way | None = None
    asked_kind: Kind | None = None
    """What the teacher of the example was asked for."""
    kind: Kind | None = None
    """What its code does; None for a bare answer."""
    row: Mapping[str, Json] | None = None
    """The example, as it stands in the file of examples."""
    tries: tuple[Rejected, ...] = ()
    verdicts: tuple[StepVerdict, ...] = ()

    def as_json(self) -> dict[str, Json]:
        return {
            "id": self.task_id,
            "level": self.level,
            "weak": self.weak,
            "strong": self.strong,
            "reason": self.reason,
            "way": self.way,
            "asked_kind": self.asked_kind,
            "kind": self.kind,
            "tries": [{"way": one.way, "reason": one.reason, "detail": one.detail} for one in self.tries],
            "verdicts": [{"step": one.step, "value": one.value} for one in self.verdicts],
            "row": self.row,
        }


def outcome_from(row: Row) -> QuestionOutcome:
    """Raises RowError."""
    example = row.get("row")
    return QuestionOutcome(
        task_id=required_text(row, "id"),
        level=_one_of(row, "level", _LEVELS),
        weak=optional_number(row, "weak", low=0.0, high=1.0),
        strong=optional_number(row, "strong", low=0.0, high=1.0),
        reason=_one_of(row, "reason", REASONS) if row.get("reason") is not None else None,
        way=_one_of(row, "way", _WAYS) if row.get("way") is not None else None,
        asked_kind=_one_of(row, "asked_kind", KINDS) if row.get("asked_kind") is not None else None,
        kind=_one_of(row, "kind", KINDS) if row.get("kind") is not None else None,
        row=None if example is None else _json(mapping(example, "row")),
        tries=tuple(_rejected(item) for item in listed(row.get("tries"), "tries")),
        verdicts=tuple(_verdict(item) for item in listed(row.get("verdicts"), "verdicts")),
    )


def _json(row: Row) -> Mapping[str, Json]:
    """Rows of JSON hold no bytes."""
    return cast(dict[str, Json], dict(row))


def _rejected(item: RowValue) -> Rejected:
    fields = mapping(item, "tries")
    detail = fields.get("detail")
    return Rejected(
        way=_one_of(fields, "way", _WAYS),
        reason=_one_of(fields, "reason", REASONS),
        detail=detail if isinstance(detail, str) else "",
    )


def _verdict(item: RowValue) -> StepVerdict:
    fields = mapping(item, "verdicts")
    return StepVerdict(step=_one_of(fields, "step", _STEPS), value=_one_of(fields, "value", _VALUES))


def _one_of(row: Row, key: str, names: tuple[Name, ...]) -> Name:
    value = row.get(key)
    for name in names:
        if value == name:
            return name
    raise RowError(key, f"must be one of {', '.join(names)}, not {value!r}")
