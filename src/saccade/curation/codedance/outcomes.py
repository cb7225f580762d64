"""Outcomes of CodeDance's curation: the example of a question, with the kind of its code, or why there is none."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar, cast, get_args

from saccade.curation.codedance.settings import KINDS, Kind, Level, Way
from saccade.tasks.rows.fields import (
    Row,
    RowError,
    RowValue,
    listed,
    mapping,
    optional_number,
    required_text,
)
from saccade.types import Json

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
    """Outcome of a question."""

    task_id: str
    level: Level
    weak: float | None = None
    """Pass rates; None where the model was not asked."""
    strong: float | None = None
    reason: Reason | None = None
    """None when there is an example."""
    way: Way | None = None
    asked_kind: Kind | None = None
    """The kind that the teacher of the example was asked for."""
    kind: Kind | None = None
    """The kind of its code; None for a bare answer."""
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
    """The outcome from its JSON. Raises RowError."""
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


_DRAWING = """
Draw Annotator rectangle rounded_rectangle ellipse polygon line multiline_text arc chord pieslice regular_polygon
circle polylines putText drawContours drawMarker arrowedLine fillPoly fillConvexPoly add_patch annotate plot scatter
bar barh hist pie axhline axvline vlines hlines errorbar fill_between stem contour contourf quiver draw_boxes
mark_boundaries
"""
_TRANSFORMS = """
crop resize rotate transpose thumbnail flip mirror fliplr flipud rot90 warpAffine warpPerspective getRotationMatrix2D
autocontrast equalize equalizeHist enhance Contrast Brightness Sharpness Color invert posterize solarize filter2D
GaussianBlur medianBlur bilateralFilter createCLAHE copyMakeBorder pyrUp pyrDown rescale zoom unsharp_mask
"""

DRAWING = frozenset(_DRAWING.split())
"""Names of calls that draw."""
TRANSFORMS = frozenset(_TRANSFORMS.split())
"""Names of calls that change an image to see more."""

CLIPPING_AXES = 2
"""An array cut along so many axes at once is a crop of an image."""


def kind_of(codes: Iterable[str]) -> Kind:
    """The kind of a trajectory: drawing if any of its code draws, else a transform if any changes the image.

    Code that is no Python has the kind of the rest; nothing but numbers, and nothing at all, is a computation.
    """
    names = {name for code in codes for name in _names(code)}
    if names & DRAWING:
        return "draw"
    return "transform" if names & TRANSFORMS else "compute"


def _names(code: str) -> Iterator[str]:
    """Names of what is called, and ``crop`` for an array that is cut like an image."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                yield node.func.attr
            elif isinstance(node.func, ast.Name):
                yield node.func.id
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
            cuts = [part for part in node.slice.elts if isinstance(part, ast.Slice) and (part.lower or part.upper)]
            if len(cuts) >= CLIPPING_AXES:
                yield "crop"
