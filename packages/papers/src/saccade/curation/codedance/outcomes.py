"""Outcomes of CodeDance's curation: the example of a question, with the kind of its code, or why there is none."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, get_args

from saccade.codec.bounds import Bounds
from saccade.codec.codecs import plain_json
from saccade.codec.forms import Form
from saccade.curation.codedance.settings import Kind, Level, Way
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

    FORM: ClassVar = Form(keys={"task_id": "id"}, last=("row",))

    task_id: Annotated[str, Bounds(least=1)]
    level: Level
    weak: Annotated[float, Bounds(least=0, most=1)] | None = None
    """Pass rates; None where the model was not asked."""
    strong: Annotated[float, Bounds(least=0, most=1)] | None = None
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
        return plain_json(self)


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
