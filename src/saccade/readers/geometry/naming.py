"""What shapes are written in short stand for: ``$``, ``Angle(B)``, ``Angle(1)``."""

from collections.abc import Sequence

from saccade.readers.geometry.terms import Call, LanguageError, Name, Node, Number, Operation, walk
from saccade.readers.geometry.values import names_of
from saccade.readers.geometry.vocabulary import CORNERS, STATEMENTS

_POINTED = (
    *(word for word in STATEMENTS if word not in ("Equals", "Find")),
    *CORNERS,
    "Line",
    "Angle",
    "Arc",
    "Sector",
)
"""Words whose names are points; those of equations are unknowns."""


def named_in_full(statements: Sequence[Node], what: str) -> list[Call]:
    """The statements with all points named; ``LanguageError`` where that could be several shapes, or none."""
    namer = _Namer(statements, what)
    return [node for node in map(namer.resolved, statements) if isinstance(node, Call)]


class _Namer:
    """Finds what ``$``, ``Angle(B)`` and ``Angle(1)`` stand for."""

    def __init__(self, statements: Sequence[Node], what: str) -> None:
        self._what = what
        self._shapes: dict[str, Call] = {}
        self._sides: dict[str, set[str]] = {}
        self._corner: dict[str, set[frozenset[str]]] = {}
        self._corners: set[str] = set()
        self._centres: set[str] = set()
        self._between: list[tuple[str, set[str]]] = []
        straight: list[set[str]] = []
        for node in (below for statement in statements for below in walk(statement)):
            if not isinstance(node, Call) or any(arg == Name("$") for arg in node.args):
                continue
            if node.name in CORNERS or node.name == "Circle":
                self._shapes.setdefault(f"{node.name}{names_of(node)}", node)
            if node.name == "Circle":
                self._centres.update(names_of(node)[:1])
            else:
                self._corners.update(arg.text for arg in node.args if isinstance(arg, Name) and node.name in _POINTED)
            if node.name in CORNERS and len(node.args) >= 3:
                names = names_of(node)
                for before, here, after in zip((names[-1], *names), names, (*names[1:], names[0])):
                    self._corner.setdefault(here, set()).add(frozenset((before, after)))
            elif node.name == "Line":
                for here, there in (names_of(node), names_of(node)[::-1]):
                    self._sides.setdefault(here, set()).add(there)
            elif node.name == "PointLiesOnLine":
                straight.append({*names_of(node)[:1], *names_of(node.args[1])})
                self._between.append((names_of(node)[0], set(names_of(node.args[1]))))
        self._straight = straight

    def resolved(self, node: Node) -> Node:
        """The node with every name a name of a point or an unknown."""
        if not isinstance(node, Call | Operation):
            return node
        if isinstance(node, Operation):
            return Operation(node.sign, tuple(map(self.resolved, node.args)), node.at)
        if node.args == (Name("$"),):
            return self._only(node)
        if node.name == "MeasureOf" and isinstance(shape := node.args[0], Call) and len(shape.args) == 1:
            if isinstance(shape.args[0], Number):
                return Name(f"angle_{shape.args[0].value}", node.at)
            return Call("MeasureOf", (self._angle(shape),), node.at)
        if node.name == "Angle" and len(node.args) == 1:
            return self._angle(node)
        return Call(node.name, tuple(map(self.resolved, node.args)), node.at)

    def _only(self, node: Call) -> Call:
        fitting = [shape for shape in self._shapes.values() if shape.name == node.name]
        if len(fitting) == 1:
            return fitting[0]
        raise LanguageError(
            f"{self._what}, character {node.at + 1}: {node.name}($) could be {len(fitting)} shapes; name its points"
        )

    def _angle(self, node: Call) -> Call:
        vertex = node.args[0]
        if not isinstance(vertex, Name):
            raise LanguageError(f"{self._what}, character {node.at + 1}: write this angle with three points")
        arms = self._corner.get(vertex.text, set())
        if not arms:
            others = self._rays(vertex.text)
            arms = {frozenset(others)} if len(others) == 2 and not self._on_one_line(vertex.text, others) else set()
        if not arms and len(rest := self._corners - self._centres - {vertex.text}) == 2:
            # Where three points and centres of circles are all there is, they are the corners of one triangle.
            arms = {frozenset(rest)}
        if len(arms) != 1:
            raise LanguageError(
                f"{self._what}, character {node.at + 1}: Angle({vertex.text}) could be {len(arms) or 'no'} angles; "
                f"write it with three points, as Angle(A,{vertex.text},C)"
            )
        first, second = sorted(next(iter(arms)))
        return Call("Angle", (Name(first), vertex, Name(second)), node.at)

    def _rays(self, vertex: str) -> list[str]:
        """The far ends of the lines that leave a point."""
        nearer = {
            point for point, ends in self._between if vertex in ends and ends <= {vertex, *self._sides.get(vertex, ())}
        }
        return sorted(self._sides.get(vertex, set()) - nearer)

    def _on_one_line(self, vertex: str, others: Sequence[str]) -> bool:
        return any({vertex, *others} <= line for line in self._straight)
