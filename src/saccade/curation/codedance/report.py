"""Kinds of solutions, and the report of a curation."""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from saccade.curation.codedance.outcomes import QuestionOutcome
from saccade.curation.codedance.settings import Kind
from saccade.types import Json

Counts = Mapping[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class CurationReport:
    """Counts over the questions; ``failed`` ones have no outcome yet, by the machine's fault, and can be resumed."""

    questions: int
    kept: int
    failed: int
    levels: Counts
    kept_levels: Counts
    kept_ways: Counts
    kept_kinds: Counts
    other_kind: int
    """Kept although the code does another kind of thing than the teacher was asked for."""
    rejected: Counts
    """Questions without an example, by reason; where several tries were made, by that of the last."""
    tries: Counts
    """Tries that gave no example, by way and reason."""
    verdicts: Counts
    """By step and value."""
    asked: Mapping[str, Counts]
    """What was asked of each role by all processes: requests, replies from the cache, retries, tokens."""

    def as_json(self) -> dict[str, Json]:
        return {
            "questions": self.questions,
            "kept": self.kept,
            "failed": self.failed,
            "levels": dict(self.levels),
            "kept_levels": dict(self.kept_levels),
            "kept_ways": dict(self.kept_ways),
            "kept_kinds": dict(self.kept_kinds),
            "other_kind": self.other_kind,
            "rejected": dict(self.rejected),
            "tries": dict(self.tries),
            "verdicts": dict(self.verdicts),
            "asked": {role: dict(counts) for role, counts in self.asked.items()},
        }

    def describe(self) -> str:
        """The counts as lines of text."""
        lines = [f"{self.kept} examples of {self.questions} questions"]
        if self.failed:
            lines.append(f"{self.failed} questions failed by no fault of theirs; resume to try them again")
        if self.other_kind:
            lines.append(f"{self.other_kind} examples do another kind of thing than was asked for")
        for title, counts in (
            ("questions by level", self.levels),
            ("examples by level", self.kept_levels),
            ("examples by way", self.kept_ways),
            ("examples by kind", self.kept_kinds),
            ("questions left out", self.rejected),
            ("tries that failed", self.tries),
            ("verdicts", self.verdicts),
            *((f"asked of the {role}", counts) for role, counts in self.asked.items()),
        ):
            if any(counts.values()):
                lines.append(f"{title}: " + ", ".join(f"{name} {count}" for name, count in counts.items() if count))
        return "\n".join(lines) + "\n"


def curation_report(
    outcomes: Sequence[QuestionOutcome], *, questions: int, asked: Mapping[str, Counts] | None = None
) -> CurationReport:
    """Counts over the outcomes of a set of questions."""
    kept = [outcome for outcome in outcomes if outcome.row is not None]
    return CurationReport(
        questions=questions,
        kept=len(kept),
        failed=questions - len(outcomes),
        levels=_counted(outcome.level for outcome in outcomes),
        kept_levels=_counted(outcome.level for outcome in kept),
        kept_ways=_counted(outcome.way for outcome in kept if outcome.way is not None),
        kept_kinds=_counted(outcome.kind or "no code" for outcome in kept),
        other_kind=sum(outcome.asked_kind not in (None, outcome.kind) for outcome in kept),
        rejected=_counted(outcome.reason for outcome in outcomes if outcome.reason is not None),
        tries=_counted(f"{one.way}/{one.reason}" for outcome in outcomes for one in outcome.tries),
        verdicts=_counted(f"{one.step}/{one.value}" for outcome in outcomes for one in outcome.verdicts),
        asked=asked or {},
    )


def _counted(names: Iterable[str]) -> dict[str, int]:
    """From the most frequent, ties in alphabetical order."""
    return dict(sorted(Counter(names).items(), key=lambda item: (-item[1], item[0])))


DRAWING = frozenset(
    [
        "Draw",
        "Annotator",
        "rectangle",
        "rounded_rectangle",
        "ellipse",
        "polygon",
        "line",
        "multiline_text",
        "arc",
        "chord",
        "pieslice",
        "regular_polygon",
        "circle",
        "polylines",
        "putText",
        "drawContours",
        "drawMarker",
        "arrowedLine",
        "fillPoly",
        "fillConvexPoly",
        "add_patch",
        "annotate",
        "plot",
        "scatter",
        "bar",
        "barh",
        "hist",
        "pie",
        "axhline",
        "axvline",
        "vlines",
        "hlines",
        "errorbar",
        "fill_between",
        "stem",
        "contour",
        "contourf",
        "quiver",
        "draw_boxes",
        "mark_boundaries",
    ]
)
TRANSFORMS = frozenset(
    [
        "crop",
        "resize",
        "rotate",
        "transpose",
        "thumbnail",
        "flip",
        "mirror",
        "fliplr",
        "flipud",
        "rot90",
        "warpAffine",
        "warpPerspective",
        "getRotationMatrix2D",
        "autocontrast",
        "equalize",
        "equalizeHist",
        "enhance",
        "Contrast",
        "Brightness",
        "Sharpness",
        "Color",
        "invert",
        "posterize",
        "solarize",
        "filter2D",
        "GaussianBlur",
        "medianBlur",
        "bilateralFilter",
        "createCLAHE",
        "copyMakeBorder",
        "pyrUp",
        "pyrDown",
        "rescale",
        "zoom",
        "unsharp_mask",
    ]
)

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
