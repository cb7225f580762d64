"""Logic forms written in CDL, as far as CDL has words for them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from saccade.readers.geometry.cdl_patterns import PATTERNS, POINTS, Binding, filled, matches
from saccade.readers.geometry.cdl_words import ARITHMETIC
from saccade.readers.geometry.terms import Call, Name, Node, Number, Operation, walk
from saccade.readers.geometry.values import names_of
from saccade.readers.geometry.vocabulary import CORNERS
from saccade.readers.geometry.writing import written

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
            if matches(head, turned, binding) and all(_canonical(filled(one, binding)) in said for one in besides):
                return Call(word.name, tuple(Name(_spelt(arg, binding)) for arg in word.args))
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


def _spelt(arg: Node, binding: Binding) -> str:
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
