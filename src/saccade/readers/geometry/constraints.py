"""What statements demand of a figure, as residuals.

A statement that can be read in several ways (which sides of an isosceles triangle are equal?) has several readings, all
with the same number of residuals.
"""

from saccade.readers.geometry.figure import Figure
from saccade.readers.geometry.polygon_relations import MisfitError
from saccade.readers.geometry.relations import RELATIONS
from saccade.readers.geometry.residuals import Reading, equal
from saccade.readers.geometry.shapes import SHAPES, adjective
from saccade.readers.geometry.terms import Call, LanguageError
from saccade.readers.geometry.values import names_of
from saccade.readers.geometry.vocabulary import unwrapped


def readings_of(statement: Call, figure: Figure) -> list[Reading]:
    """All ways to read a statement; empty where it demands nothing that could be measured."""
    name, args = statement.name, statement.args
    if name == "Equals":
        return [equal(args[0], args[1], figure)]
    if name in SHAPES:
        return SHAPES[name](names_of(statement))
    if name in ("Isosceles", "Equilateral", "Right", "Regular", "Counterclockwise"):
        inner = unwrapped(statement)
        assert isinstance(inner, Call)
        return adjective(name, inner.name, names_of(inner))
    if name in RELATIONS:
        try:
            return RELATIONS[name](args, figure)
        except MisfitError as misfit:
            raise LanguageError(f"character {statement.at + 1}: {name} {misfit}") from None
    return []
