"""A problem made plain: names resolved, shapes that are mentioned said to be such, points and circles listed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from saccade.readers.geometry.naming import named_in_full
from saccade.readers.geometry.terms import Call, LanguageError, Name, Node, Number, Operation, call, walk
from saccade.readers.geometry.values import Dimension, dimension_of, names_of
from saccade.readers.geometry.vocabulary import ADJECTIVES, CORNERS, FUNCTIONS, STATEMENTS, check_statement, unwrapped

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
    given = _unique([*(shape for node in resolved for shape in _said(node)), *on_circles])
    goals = tuple(node.args[0] for node in resolved if node.name == "Find")
    points = _points(resolved)
    if len(points) > MAX_POINTS:
        raise LanguageError(f"{what} names {len(points)} points; at most {MAX_POINTS} can be solved")
    if len(given) > MAX_GIVEN:
        raise LanguageError(f"{what} says {len(given)} things about the figure; at most {MAX_GIVEN} can be solved")
    _check_arcs(resolved, members, what)
    symbols = _symbols(resolved, goals)
    return Figure(
        given=tuple(given),
        goals=goals,
        points=points,
        members=members,
        symbols=symbols,
        size=_size(given, symbols),
    )


def _plain(node: Node) -> Node:
    """Without ``Point(...)``, labels of radii and the spellings that the public texts vary."""
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


def _said(node: Call) -> Iterator[Call]:
    """The statement, and that the shapes in it are what they are called."""
    for below in walk(node):
        if isinstance(below, Call) and (below.name in CORNERS or below.name in ADJECTIVES):
            yield below
    if node.name != "Find" and node.name not in CORNERS and node.name not in ADJECTIVES:
        yield node


def _unique(statements: Sequence[Call]) -> list[Call]:
    return list(dict.fromkeys(statements))


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


def _symbols(statements: Sequence[Call], goals: Sequence[Node]) -> dict[str, Dimension | None]:
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
