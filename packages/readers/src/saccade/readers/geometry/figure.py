"""A problem made of statements: givens and goals with names resolved, points, circles and unknowns.

Shapes written in short (``$``, ``Angle(B)``, ``Angle(1)``) are replaced by the shapes that they stand for.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from saccade.readers.geometry.terms import Call, LanguageError, Name, Node, Number, Operation, call, walk
from saccade.readers.geometry.values import Dimension, dimension_of, names_of
from saccade.readers.geometry.vocabulary import ADJECTIVES, CORNERS, FUNCTIONS, STATEMENTS, check_statement, unwrapped

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


MAX_POINTS = 26
MAX_GIVEN = 200
_ROUND = ("PointLiesOnCircle", "IsRadiusOf", "IsDiameterOf", "IsChordOf", "InscribedIn", "CircumscribedTo")


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """A problem: its figure, givens and goals."""

    given: tuple[Call, ...]
    """Statements in which lengths, angles and points are written in one way only; no ``Find``."""
    goals: tuple[Node, ...]
    points: tuple[str, ...]
    members: Mapping[str, tuple[str, ...]]
    """Points said to lie on every circle, by its centre."""
    symbols: Mapping[str, Dimension | None]
    """The unknowns, with what they measure as far as the statements tell."""
    size: float
    """A typical length of the problem."""


def figure_of(statements: Sequence[Call], what: str = "the text") -> Figure:
    """The problem; ``LanguageError`` when a statement is wrong or a name stands for nothing that is known."""
    for statement in statements:
        check_statement(statement, what)
    plain = [_plain(statement) for statement in statements]
    resolved = named_in_full(plain, what)
    members = _members(resolved)
    on_circles = [call("PointLiesOnCircle", name, call("Circle", o)) for o, names in members.items() for name in names]
    given = list(dict.fromkeys([*(shape for node in resolved for shape in _statements_in(node)), *on_circles]))
    goals = tuple(node.args[0] for node in resolved if node.name == "Find")
    points = _points(resolved)
    if len(points) > MAX_POINTS:
        raise LanguageError(f"{what} names {len(points)} points; at most {MAX_POINTS} can be solved")
    if len(given) > MAX_GIVEN:
        raise LanguageError(f"{what} says {len(given)} things about the figure; at most {MAX_GIVEN} can be solved")
    _check_arcs(resolved, members, what)
    symbols = _symbols(resolved)
    return Figure(
        given=tuple(given), goals=goals, points=points, members=members, symbols=symbols, size=_size(given, symbols)
    )


def _plain(node: Node) -> Node:
    """The node in one spelling: without ``Point(...)``, labels of radii and variants of the public texts."""
    if not isinstance(node, Call | Operation):
        return node
    if isinstance(node, Operation):
        return Operation(node.sign, tuple(_value(_plain(arg)) for arg in node.args), node.at)
    if node.name == "Point" and len(node.args) == 1:
        return node.args[0]
    name = FUNCTIONS.get(node.name, node.name)
    args = tuple(_plain(arg) for arg in node.args)
    if name == "Circle":
        args = args[:1]
    elif name == "Line" and len(args) == 1 and isinstance(args[0], Name) and args[0].text != "$":
        args = (Name(f"{args[0].text}_1", node.at), Name(f"{args[0].text}_2", node.at))
    elif (name not in ("LengthOf", "MeasureOf") and name not in STATEMENTS) or name in ("Equals", "Find"):
        args = tuple(map(_value, args)) if name not in CORNERS else args
    return Call(name, args, node.at)


def _value(node: Node) -> Node:
    if isinstance(node, Call) and node.name == "Line":
        return Call("LengthOf", (node,), node.at)
    if isinstance(node, Call) and node.name in ("Angle", "Arc"):
        return Call("MeasureOf", (node,), node.at)
    return node


def _statements_in(node: Call) -> Iterator[Call]:
    """The statement, and that the shapes in it are what they are called."""
    for below in walk(node):
        if isinstance(below, Call) and (below.name in CORNERS or below.name in ADJECTIVES):
            yield below
    if node.name != "Find" and node.name not in CORNERS and node.name not in ADJECTIVES:
        yield node


def _points(statements: Sequence[Call]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for node in (below for statement in statements for below in walk(statement)):
        if isinstance(node, Call):
            is_shape = node.name in CORNERS or node.name in ("Line", "Angle", "Circle", "Arc", "Sector", "Point")
            if is_shape or (node.name in STATEMENTS and node.name not in ("Equals", "Find")):
                found.update(dict.fromkeys(arg.text for arg in node.args if isinstance(arg, Name)))
    return tuple(found)


def _members(statements: Sequence[Call]) -> dict[str, tuple[str, ...]]:
    members: dict[str, dict[str, None]] = {}
    for node in (below for statement in statements for below in walk(statement)):
        if isinstance(node, Call) and node.name == "Circle":
            members.setdefault(names_of(node)[0], {})
        if isinstance(node, Call) and node.name == "Sector":
            centre, *ends = names_of(node)
            members.setdefault(centre, {}).update(dict.fromkeys(ends))
        if isinstance(node, Call) and node.name == "Arc" and isinstance(node.args[0], Call):
            members.setdefault(names_of(node.args[0])[0], {}).update(dict.fromkeys(names_of(node)))
        if isinstance(node, Call) and node.name in _ROUND:
            on, circle = node.args
            is_turned = node.name == "CircumscribedTo"
            if is_turned:
                on, circle = circle, on
            # A circle inside a polygon touches its sides and passes through no corner.
            if (
                not isinstance(circle, Call)
                or circle.name != "Circle"
                or (isinstance(on, Call) and on.name == "Circle")
            ):
                continue
            centre = names_of(circle)[0]
            names = (on.text,) if isinstance(on, Name) else names_of(on)
            members.setdefault(centre, {}).update(dict.fromkeys(name for name in names if name != centre))
    return {centre: tuple(names) for centre, names in members.items()}


def _check_arcs(statements: Sequence[Call], members: Mapping[str, tuple[str, ...]], what: str) -> None:
    for node in (below for statement in statements for below in walk(statement)):
        if isinstance(node, Call) and node.name == "Arc" and not isinstance(node.args[0], Call):
            names = set(names_of(node))
            if not any(names <= set(points) for points in members.values()):
                raise LanguageError(
                    f"{what}, character {node.at + 1}: the arc {''.join(names_of(node))} is on no circle; say "
                    "PointLiesOnCircle(A,Circle(O)) of its points"
                )


def _symbols(statements: Sequence[Call]) -> dict[str, Dimension | None]:
    names: dict[str, Dimension | None] = {}
    for statement in statements:
        if statement.name in ("Equals", "Find"):
            names.update({name: "angle" if name.startswith("angle_") else None for name in _unknowns(statement.args)})
    equations = [statement.args for statement in statements if statement.name == "Equals"]
    # Twice, because one equation may tell what the unknown of another one measures.
    for left, right in [*equations, *equations]:
        dimension = dimension_of(left, names) or dimension_of(right, names)
        for name in _unknowns((left, right)):
            names[name] = names[name] or dimension
    return names


def _unknowns(nodes: Sequence[Node]) -> Iterator[str]:
    """Names that stand for numbers: those inside shapes are points."""
    for node in nodes:
        if isinstance(node, Name) and node.text != "pi":
            yield node.text
        elif isinstance(node, Operation) or (
            isinstance(node, Call) and not any(isinstance(unwrapped(arg), Call) and _is_shape(arg) for arg in node.args)
        ):
            yield from _unknowns(node.args)


def _is_shape(node: Node) -> bool:
    inner = unwrapped(node)
    named = ("Line", "Angle", "Circle", "Arc", "Sector")
    return isinstance(inner, Call) and (inner.name in CORNERS or inner.name in named)


def _size(given: Sequence[Call], symbols: Mapping[str, Dimension | None]) -> float:
    lengths = []
    for statement in given:
        if statement.name == "Equals":
            left, right = statement.args
            dimension = dimension_of(left, symbols) or dimension_of(right, symbols)
            numbers = [abs(float(side.value)) for side in (left, right) if isinstance(side, Number) and side.value]
            if numbers and dimension in ("length", "area"):
                lengths.append(numbers[0] if dimension == "length" else numbers[0] ** 0.5)
    return sorted(lengths)[len(lengths) // 2] if lengths else 10.0
