"""Statements in CDL that cannot both hold, found without a figure, and the words in which to say so."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from saccade.readers.geometry.cdl import statements_of
from saccade.readers.geometry.language import parse_statements
from saccade.readers.geometry.terms import Call, Node, Number
from saccade.readers.geometry.values import names_of
from saccade.readers.geometry.writing import written


def told_contradiction(parts: Mapping[str, str], broken: Sequence[str]) -> str:
    """Why a problem in CDL has no figure, in its own words; ``broken`` are logic forms that the nearest one breaks."""
    said = _said(parts)
    for (one, first), (other, second) in combinations(said, 2):
        if why := _why_not_both(first, second):
            return f"the problem contradicts itself: {one} and {other} cannot both hold, because {why}"
    origins = {written(statement): text for text, statement in reversed(said)}
    named = list(dict.fromkeys(origins.get(form, form) for form in broken))
    if not named:
        return (
            "the problem contradicts itself: in all figures that fulfil its statements, points fall together or shapes "
            "have no area; check the order of corners and which points lie between which"
        )
    return (
        f"the problem contradicts itself: no figure fulfils all of it, and the nearest one breaks {', '.join(named)}; "
        "check their numbers, the order of corners, and which point lies between which"
    )


def _said(parts: Mapping[str, str]) -> list[tuple[str, Call]]:
    """Every logic form with the statement in CDL that says it."""
    return [
        (written(node), statement)
        for what, text in parts.items()
        for node in parse_statements(text, what)
        for statement in statements_of(written(node), what)
    ]


def _why_not_both(first: Call, second: Call) -> str:
    values, others = dict(_values(first)), dict(_values(second))
    for quantity in values.keys() & others.keys():
        if values[quantity] != others[quantity]:
            return f"they give {quantity} two values"
    if first.name == second.name == "Counterclockwise":
        one, other = names_of(first), names_of(second)
        if len(one) == len(other) and _from_least(one) == _from_least(other[::-1]):
            return f"angles and shapes go round counterclockwise, and {''.join(one)} does so or {''.join(other)}"
    if first.name == second.name == "PointLiesOnLine":
        point, line = names_of(first)[0], set(names_of(first.args[1]))
        other_point, other_line = names_of(second)[0], set(names_of(second.args[1]))
        if point != other_point and line | {point} == other_line | {other_point}:
            return f"either {point} or {other_point} is the middle one of three points"
    return ""


def _values(said: Call) -> Iterator[tuple[str, Node]]:
    """The quantity that a statement gives a number."""
    if said.name != "Equals":
        return
    for quantity, value in (said.args, said.args[::-1]):
        if isinstance(value, Number) and isinstance(quantity, Call):
            inner = quantity.args[0] if quantity.args else quantity
            is_line = isinstance(inner, Call) and inner.name == "Line"
            yield (f"the length of {''.join(sorted(names_of(inner)))}" if is_line else written(quantity)), value


def _from_least(names: tuple[str, ...]) -> tuple[str, ...]:
    start = names.index(min(names))
    return names[start:] + names[:start]
