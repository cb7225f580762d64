"""What the code of a trajectory does, read from its syntax tree without running it."""

import ast
from collections.abc import Iterable, Iterator

from saccade.curation.codedance.settings import Kind

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
