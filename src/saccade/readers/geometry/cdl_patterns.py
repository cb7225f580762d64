"""Pairs of patterns in CDL and in logic forms: their letters found in one language and put into the other."""

import re

from saccade.readers.geometry.cdl_words import PAIRS
from saccade.readers.geometry.language import parse_statements
from saccade.readers.geometry.terms import Call, Name, Node

POINTS = re.compile(r"[A-Z]+")

Binding = dict[str, str]
"""Letters of a pattern to points."""

_QUADRILATERALS = ("Quadrilateral", "Parallelogram", "Rhombus", "Rectangle", "Square", "Trapezoid", "Kite")
PATTERNS = tuple(tuple(parse_statements(text)[0] for text in pair) for pair in PAIRS)
"""A word of CDL, its counterpart, and what it says besides."""


def bound(pattern: Call, node: Call) -> Binding | None:
    """What the letters of a CDL pattern stand for; None when the words are not of its lengths."""
    if len(pattern.args) != len(node.args):
        return None
    binding: Binding = {}
    for wanted, given in zip(pattern.args, node.args):
        if not (isinstance(wanted, Name) and isinstance(given, Name) and POINTS.fullmatch(given.text)):
            return None
        if len(wanted.text) != len(given.text):
            return None
        for letter, point in zip(wanted.text, given.text):
            if binding.setdefault(letter, point) != point:
                return None
    return binding


def filled(pattern: Call, binding: Binding) -> Call:
    """The pattern with points for its letters."""
    args = [filled(arg, binding) if isinstance(arg, Call) else arg for arg in pattern.args]
    return Call(
        pattern.name, tuple(Name(binding.get(arg.text, arg.text)) if isinstance(arg, Name) else arg for arg in args)
    )


def matches(pattern: Node, node: Node, binding: Binding) -> bool:
    """Whether a logic form is what a pattern describes; adds what its letters stand for to ``binding``."""
    if isinstance(pattern, Name) and isinstance(node, Name):
        return POINTS.fullmatch(node.text) is not None and binding.setdefault(pattern.text, node.text) == node.text
    if isinstance(pattern, Call) and isinstance(node, Call) and len(pattern.args) == len(node.args):
        same = pattern.name == node.name or (pattern.name == "Polygon" and node.name in _QUADRILATERALS)
        return same and all(matches(one, other, binding) for one, other in zip(pattern.args, node.args))
    return False
