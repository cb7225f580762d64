"""FormalGeo's condition language (CDL): translation to logic forms and back.

CDL names points by single capitals run together: ``Shape(AB,BC,CA)``, ``Equal(LengthOfLine(AB),5)``. Its shapes and
angles go round counterclockwise, which logic forms cannot say; ``Counterclockwise(Polygon(A,B,C))`` keeps it, and
``Arc(Circle(O),A,B)`` the direction of arcs. An angle that is asked for is one of 0 to 180 degrees. Circles are named
by their centres.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from saccade.errors import nearest
from saccade.readers.geometry.cdl_patterns import (
    ARITHMETIC,
    PAIRS,
    PATTERNS,
    POINTS,
    Binding,
    binding_of,
    matches,
    with_points,
)
from saccade.readers.geometry.language import parse_statements
from saccade.readers.geometry.terms import (
    Call,
    LanguageError,
    Name,
    Node,
    Number,
    Operation,
    call,
    number,
    walk,
    written,
)
from saccade.readers.geometry.values import names_of
from saccade.readers.geometry.vocabulary import CORNERS, FUNCTIONS, check_statement

_CONSTRUCTIONS = ("Shape", "Collinear", "Cocircular")
_WORDS = tuple(dict.fromkeys([*(pair[0].partition("(")[0] for pair in PAIRS), *ARITHMETIC, *_CONSTRUCTIONS]))


def statements_of(text: str, what: str) -> tuple[Call, ...]:
    """The logic forms that CDL says; ``LanguageError`` names ``what`` and the place."""
    found: list[Call] = []
    for node in parse_statements(text, what):
        for statement in _statements(node, what):
            check_statement(statement, what)
            found.append(statement)
    return tuple(dict.fromkeys(found))


def _statements(node: Call, what: str) -> Iterator[Call]:
    if node.name in ("Equal", "Value"):
        said = Call(ARITHMETIC[node.name], tuple(_expression(arg, what) for arg in node.args), node.at)
        turned = _less_than_half(said)
        yield turned
        yield from _directions(turned)
    elif node.name == "Equation":
        if len(node.args) != 1:
            raise LanguageError(f"{what}, character {node.at + 1}: Equation needs one expression, which is 0")
        yield Call("Equals", (_expression(node.args[0], what), number(0)), node.at)
    elif node.name == "Free":
        return
    elif node.name in _CONSTRUCTIONS:
        yield from _construction(node, what)
    else:
        yield from (Call(said.name, said.args, node.at) for said in _translations(node, what))
        if node.name == "ParallelBetweenLine":
            yield from _same_direction(node)


def _less_than_half(said: Call) -> Call:
    """An angle of more than 180 degrees is the rest of one of less, the other way round."""
    match said:
        case Call("Equals", (Call("MeasureOf", (Call("Angle", names),)), Number(degrees))) if 180 < degrees < 360:
            corner = Call("Angle", names[::-1], said.at)
            return Call("Equals", (Call("MeasureOf", (corner,), said.at), number(360 - degrees)), said.at)
    return said


def _directions(said: Call) -> Iterator[Call]:
    """CDL's angles are swept counterclockwise, so that their three points go round."""
    if said.name == "Equals" and any(isinstance(side, Number) and side.value in (0, 180) for side in said.args):
        return
    for node in walk(said):
        if isinstance(node, Call) and node.name == "Angle":
            yield Call("Counterclockwise", (Call("Polygon", node.args, said.at),), said.at)


def _same_direction(node: Call) -> Iterator[Call]:
    """CDL's parallels point the same way: their four points make a trapezoid, whose sides do not cross."""
    letters = "".join(arg.text for arg in node.args if isinstance(arg, Name))
    if len(letters) == len(set(letters)) == 4:
        a, b, c, d = tuple(letters)
        yield Call("Quadrilateral", tuple(map(Name, (a, b, d, c))), node.at)


def _expression(node: Node, what: str) -> Node:
    match node:
        case Operation(sign, args):
            return Operation(sign, tuple(_expression(arg, what) for arg in args), node.at)
        case Call(name, args) if name in ARITHMETIC or name in FUNCTIONS:
            return Call(ARITHMETIC.get(name, name), tuple(_expression(arg, what) for arg in args), node.at)
        case Call():
            (found, *_) = _translations(node, what)
            return Call(found.name, found.args, node.at)
        case _:
            return node


def _translations(node: Call, what: str) -> list[Call]:
    for word, *said in PATTERNS:
        if word.name == node.name:
            binding = binding_of(word, node)
            if binding is not None:
                return [with_points(pattern, binding) for pattern in said]
    spelling = next((pair[0] for pair in PAIRS if pair[0].startswith(f"{node.name}(")), None)
    if spelling:
        raise LanguageError(f"{what}, character {node.at + 1}: found {_cut(written(node))}, expected {spelling}")
    suggestion = nearest(node.name, [word.lower() for word in _WORDS])
    meant = next((word for word in _WORDS if word.lower() == suggestion), None)
    hint = f"did you mean {meant}?" if meant else "its words are for example Shape, Collinear, Equal and Value"
    raise LanguageError(f"{what}, character {node.at + 1}: CDL has no word {_cut(node.name)}; {hint}")


def _construction(node: Call, what: str) -> Iterator[Call]:
    words = [_letters(arg, what) for arg in node.args]
    if node.name == "Collinear":
        (names,) = words if len(words) == 1 else ((),)
        if len(names) < 3:
            raise LanguageError(
                f"{what}, character {node.at + 1}: Collinear needs three points or more: Collinear(AMB)"
            )
        for before, here, after in zip(names, names[1:], names[2:]):
            yield call("PointLiesOnLine", here, call("Line", before, after))
    elif node.name == "Cocircular":
        if len(words) not in (1, 2) or len(words[0]) != 1:
            raise LanguageError(f"{what}, character {node.at + 1}: write the centre and the points: Cocircular(O,ABC)")
        circle = call("Circle", words[0][0])
        points = words[1] if len(words) == 2 else ()
        yield from (call("PointLiesOnCircle", point, circle) for point in points)
        if not points:
            yield circle
        elif len(points) > 2:
            yield call("Counterclockwise", call("Polygon", *points))
    elif not words or not all(2 <= len(word) <= 3 for word in words):
        raise LanguageError(f"{what}, character {node.at + 1}: write the sides in order: Shape(AB,BC,CA)")
    else:
        yield from _shape(words)


def _shape(words: list[tuple[str, ...]]) -> Iterator[Call]:
    """A closed way of lines and arcs; a corner between two lines is an angle and no polygon."""
    for word in words:
        if len(word) == 3:
            yield call("PointLiesOnCircle", word[1], call("Circle", word[0]))
            yield call("PointLiesOnCircle", word[2], call("Circle", word[0]))
    edges = [word for word in words if len(word) == 2]
    is_closed = all(one[-1] == other[0] for one, other in pairwise([*words, words[0]]))
    if len(edges) == len(words) >= 3 and is_closed:
        yield call("Counterclockwise", call("Polygon", *(edge[0] for edge in edges)))
    elif len(edges) == len(words) == 2 and edges[0][1] == edges[1][0] and edges[0][0] != edges[1][1]:
        yield call("Counterclockwise", call("Polygon", *edges[0], edges[1][1]))
    else:
        yield from (call("Line", *edge) for edge in edges)


def _letters(node: Node, what: str) -> tuple[str, ...]:
    if isinstance(node, Name) and POINTS.fullmatch(node.text):
        return tuple(node.text)
    raise LanguageError(f"{what}, character {node.at + 1}: found {_cut(written(node))}, expected points such as AB")


def _cut(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}…"


_NAMED = ("Line", "Angle", "Circle", "Arc", "Sector")
_BACK_ARITHMETIC = {word: name for name, word in ARITHMETIC.items()}


@dataclass(frozen=True, kw_only=True, slots=True)
class Cdl:
    """A problem in CDL."""

    construction: tuple[str, ...]
    text: tuple[str, ...]
    goal: str
    """Empty when nothing is asked, or more than one thing."""
    left_out: tuple[str, ...]
    """Logic forms that have no counterpart."""


def cdl_of(statements: Sequence[Call]) -> Cdl:
    """The problem in CDL; statements are those of ``figure_of`` or of ``parse_statements``."""
    construction, text, goals, left_out = list[str](), list[str](), list[str](), list[str]()
    said = {_canonical(statement) for statement in statements}
    for statement in statements:
        match statement:
            case _ if not _is_spelt_in_capitals(statement):
                left_out.append(written(statement))
            case Call("Counterclockwise", (Call() as shape,)):
                names = names_of(shape)
                construction.append(f"Shape({','.join(a + b for a, b in zip(names, (*names[1:], names[0])))})")
            case Call("PointLiesOnLine", (Name(point), Call("Line", (Name(a), Name(b))))):
                construction.append(f"Collinear({a}{point}{b})")
            case Call("PointLiesOnCircle", (Name(point), Call("Circle", (Name(centre), *_)))):
                construction.append(f"Cocircular({centre},{point})")
            case Call("Find"):
                translated = _cdl(statement, said)
                (goals if translated else left_out).append(written(translated or statement))
            case _:
                translated = _cdl(statement, said)
                (text if translated else left_out).append(written(translated or statement))
    goal = goals[0] if len(goals) == 1 else ""
    left_out.extend(goals if len(goals) > 1 else [])
    return Cdl(construction=tuple(construction), text=tuple(text), goal=goal, left_out=tuple(left_out))


def _cdl(node: Node, said: set[str]) -> Node | None:
    """CDL for a logic form or an expression of one; None where it has none."""
    match node:
        case Number() | Name():
            return node
        case Operation(sign, args):
            parts = _all_cdl(args, said)
            return None if parts is None else Operation(sign, parts)
        case Call(name, args) if name in _BACK_ARITHMETIC:
            parts = _all_cdl(args, said)
            return None if parts is None else Call(_BACK_ARITHMETIC[name], parts)
        case Call():
            return _word(node, said)


def _is_spelt_in_capitals(statement: Call) -> bool:
    """Whether all points of its shapes have names that CDL can run together."""
    shapes = [
        node for node in walk(statement) if isinstance(node, Call) and (node.name in CORNERS or node.name in _NAMED)
    ]
    points = {arg.text for shape in shapes for arg in shape.args if isinstance(arg, Name)}
    return all(len(point) == 1 and POINTS.fullmatch(point) for point in points)


def _all_cdl(nodes: Sequence[Node], said: set[str]) -> tuple[Node, ...] | None:
    parts = [_cdl(node, said) for node in nodes]
    known = tuple(part for part in parts if part is not None)
    return known if len(known) == len(parts) else None


def _word(node: Call, said: set[str]) -> Call | None:
    for word, head, *besides in PATTERNS:
        for turned in _rotations(node):
            binding: Binding = {}
            if matches(head, turned, binding) and all(_canonical(with_points(one, binding)) in said for one in besides):
                return Call(word.name, tuple(Name(_bound_name(arg, binding)) for arg in word.args))
    return None


def _rotations(node: Call) -> Iterator[Call]:
    """The node, and where it is a polygon, the same polygon from other corners on."""
    yield node
    inner = node
    wrappers = []
    while len(inner.args) == 1 and isinstance(inner.args[0], Call):
        wrappers.append(inner.name)
        inner = inner.args[0]
    if len(inner.args) in (3, 4) and all(isinstance(arg, Name) for arg in inner.args) and inner.name != "Angle":
        for shift in range(1, len(inner.args)):
            turned = Call(inner.name, inner.args[shift:] + inner.args[:shift])
            for name in reversed(wrappers):
                turned = Call(name, (turned,))
            yield turned


def _bound_name(arg: Node, binding: Binding) -> str:
    assert isinstance(arg, Name)
    return "".join(binding[letter] for letter in arg.text)


def _canonical(node: Node) -> str:
    """The same text for statements that differ in the order of equal partners only."""
    if not isinstance(node, Call):
        return written(node)
    parts = [_canonical(arg) for arg in node.args]
    if node.name in ("Line", "Equals", "Parallel", "Perpendicular"):
        parts.sort()
    return f"{node.name}({','.join(parts)})"
