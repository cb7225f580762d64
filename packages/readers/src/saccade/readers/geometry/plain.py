"""Quantities and expressions as people write them."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from saccade.readers.geometry.terms import Call, Name, Node, Number, Operation, call
from saccade.readers.geometry.values import names_of
from saccade.readers.geometry.vocabulary import unwrapped


def polygon(quantity: str, names: Sequence[str]) -> Node:
    """A quantity of a polygon, from its first corner on towards the lesser neighbour."""
    start = names.index(min(names))
    forward = (*names[start:], *names[:start])
    backward = (forward[0], *forward[:0:-1])
    return call(quantity, call("Polygon", *min(forward, backward)))


def is_quantity(node: Node) -> bool:
    """An unknown or something that can be measured."""
    if isinstance(node, Name):
        return node.text != "pi"
    return isinstance(node, Call) and node.name not in ("SinOf", "CosOf", "TanOf")


def quantities(node: Node) -> Iterator[Node]:
    """The quantities in an expression."""
    if is_quantity(node):
        yield node
    elif isinstance(node, Call | Operation):
        for arg in node.args:
            yield from quantities(arg)


def plain(node: Node) -> str:
    """The expression as people write it."""
    match node:
        case Call("LengthOf", (Call("Line") as line,)):
            return "".join(names_of(line))
        case Call("MeasureOf", (Call("Angle") as corner,)):
            return f"∠{''.join(names_of(corner))}"
        case Call("MeasureOf", (Call("Arc") as arc,)):
            return f"arc {''.join(names_of(arc))}"
        case Call("LengthOf", (Call("Arc") as arc,)):
            return f"length of arc {''.join(names_of(arc))}"
        case Call("RadiusOf" | "DiameterOf" | "CircumferenceOf" | "AreaOf" | "PerimeterOf" | "HeightOf", (shape,)):
            word = {"Circle": "circle ", "Sector": "sector "}.get(kind_of(shape), "")
            return f"{node.name.removesuffix('Of').lower()} of {word}{''.join(names_of(shape))}"
        case Call("SinOf" | "CosOf" | "TanOf", (inner,)):
            return f"{node.name[:3].lower()}({plain(inner)})"
        case Name("pi"):
            return "π"
        case Number(value):
            return f"{value.numerator}/{value.denominator}" if value.denominator > 1 else str(value)
        case Operation("^", (base, Number(value))) if value == Fraction(1, 2):
            return f"√({plain(base)})"
        case Operation():
            return _plain_operation(node)
        case Call(name, args):
            return f"{name}({', '.join(map(plain, args))})"
        case _:
            return str(node.text)


def _plain_operation(node: Operation) -> str:
    parts = [plain(arg) for arg in node.args]
    ranks = {"+": 1, "-": 2, "*": 3, "/": 3, "^": 4}
    for i, arg in enumerate(node.args):
        is_loose = isinstance(arg, Operation) and ranks[arg.sign] < ranks[node.sign] + (node.sign in "/^" and i > 0)
        is_many_words = isinstance(arg, Call) and " " in parts[i] and node.sign in "/^"
        if is_loose or is_many_words:
            parts[i] = f"({parts[i]})"
    match node.sign:
        case "-":
            return f"-{parts[0]}"
        case "+":
            tail = [f" - {part[1:]}" if part.startswith("-") else f" + {part}" for part in parts[1:]]
            return parts[0] + "".join(tail)
        case "*":
            return "·".join(parts)
        case _:
            return node.sign.join(parts)


def kind_of(shape: Node) -> str:
    """The word for a shape without its adjectives."""
    inner = unwrapped(shape)
    return inner.name if isinstance(inner, Call) else ""
