"""Calls as a model might write them, drawn from the tools' schemas: right, nearly right, and plainly wrong.

The same generator gives the same calls, so that a failure can be looked at again.
"""

import copy
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from numpy.random import Generator

from saccade.tools.schema import MAX_ITEMS, Parameter
from saccade.types import Json

Arguments = dict[str, Json]
Item = TypeVar("Item")

SIZE = 256
"""Coordinates of right calls are inside a picture of this size, or a little outside of a smaller one."""

_ODD_TEXTS = (
    "",
    " ",
    "\x00",
    "\ud800",
    "red \udfff square",
    "e\u0301\u202e\u200b",
    "漢字 и кириллица",
    "😀" * 50,
    "'; DROP TABLE tools; --",
    "../../etc/passwd",
    "<tool_call>{}</tool_call>",
    "<|image_pad|><|im_end|>",
    "((((((((((((((((((((",
    ")" * 200,
    "1e400 / 0",
    "9" * 300,
    "x = " + "9**" * 40 + "9",
    "Find(" * 300,
    "Equals(LengthOf(Line(A,B)),LengthOf(Line(A,B)))",
    "{}[]|\\^%$#@!~`",
    "a\tb\r\nc",
)
_ODD_NUMBERS: tuple[Json, ...] = (
    0,
    -1,
    1,
    0.5,
    2.0,
    -0.0,
    1e-300,
    1e308,
    -1e308,
    10**400,
    2**63,
    float("nan"),
    float("inf"),
    float("-inf"),
)
_WORDS = ("red", "square", "AB", "length", "solve", "x", "10", "Triangle(A,B,C)", "highest", "value", "2x + 1 = 5")


@dataclass(frozen=True, kw_only=True, slots=True)
class FuzzedCall:
    """A call and how it was made."""

    kind: str
    arguments: Arguments


def fuzzed_call(parameters: Sequence[Parameter], example: Mapping[str, Json], rng: Generator) -> FuzzedCall:
    """One call of a tool with these parameters; ``example`` is a call that the tool takes."""
    # Half of the calls come near to the tool itself; the others end at the checks of their arguments.
    kind = _pick(("right", "nearly right", "odd text") if rng.random() < 0.5 else tuple(_KINDS), rng)
    return FuzzedCall(kind=kind, arguments=_KINDS[kind](parameters, dict(copy.deepcopy(example)), rng))


def _right(parameters: Sequence[Parameter], example: Arguments, rng: Generator) -> Arguments:
    return {one.name: _value(one, example, rng) for one in parameters if one.is_required or rng.random() < 0.5}


def _wrong_type(parameters: Sequence[Parameter], example: Arguments, rng: Generator) -> Arguments:
    if parameters:
        example[_pick(parameters, rng).name] = random_json(rng)
    return example


def _missing(parameters: Sequence[Parameter], example: Arguments, rng: Generator) -> Arguments:
    for name in list(example):
        if rng.random() < 0.6:
            del example[name]
    return example


def _extra(parameters: Sequence[Parameter], example: Arguments, rng: Generator) -> Arguments:
    name = "".join(_pick(string.ascii_lowercase, rng) for _ in range(int(rng.integers(0, 9))))
    return {**example, name: random_json(rng)}


def _misspelt(parameters: Sequence[Parameter], example: Arguments, rng: Generator) -> Arguments:
    if not example:
        return {"Image": 1}
    name = _pick(list(example), rng)
    wrong = _pick([name.upper(), name[:-1], name + "s", name.replace("_", ""), f" {name}", f"{name}\ud800"], rng)
    return {wrong if key == name else key: value for key, value in example.items()}


def _nearly(parameters: Sequence[Parameter], example: Arguments, rng: Generator) -> Arguments:
    """One value as models get it wrong: in quotes, in a list, null, beyond the edge, turned round."""
    if not parameters:
        return example
    one = _pick(parameters, rng)
    value = example.get(one.name, _value(one, example, rng))
    changed: list[Json] = [str(value), [value], {"value": value}, None, -1, True]
    if isinstance(value, list):
        changed += [value[::-1], value[:-1], [*value, *value], [str(item) for item in value]]
        changed += [[-item if isinstance(item, int | float) else item for item in value], [value] * 70]
        changed += [[item * 1000 if isinstance(item, int | float) else item for item in value]]
    if isinstance(value, str):
        changed += [value.upper(), value[: len(value) // 2], value + value, value.replace("(", "[")]
        changed += ["".join(_pick(value, rng) for _ in value) if value else "x"]
    return {**example, one.name: _pick(changed, rng)}


def _huge(parameters: Sequence[Parameter], example: Arguments, rng: Generator) -> Arguments:
    huge: list[Json] = ["x" * 5000, "(" * 4000, "A " * 2000, [0] * 5000, [[1, 2]] * 1000, 10**400, _nested(400)]
    huge += [{str(index): index for index in range(500)}, "2*" * 1500 + "2", "x+" * 1500 + "x"]
    return {**example, _pick([*(one.name for one in parameters), "other"], rng): _pick(huge, rng)}


def _odd_text(parameters: Sequence[Parameter], example: Arguments, rng: Generator) -> Arguments:
    texts = [one for one in parameters if one.kind in ("text", "choice")] or list(parameters)
    return {**example, **({_pick(texts, rng).name: _pick(_ODD_TEXTS, rng)} if texts else {})}


def _odd_number(parameters: Sequence[Parameter], example: Arguments, rng: Generator) -> Arguments:
    if not parameters:
        return example
    one = _pick(parameters, rng)
    length = {"box": 4, "point": 2}.get(one.kind)
    if one.kind in ("boxes", "points"):
        return {**example, one.name: [[_pick(_ODD_NUMBERS, rng) for _ in range(4 if one.kind == "boxes" else 2)]]}
    odd: Json = _pick(_ODD_NUMBERS, rng) if length is None else [_pick(_ODD_NUMBERS, rng) for _ in range(length)]
    return {**example, one.name: odd}


def _anything(parameters: Sequence[Parameter], example: Arguments, rng: Generator) -> Arguments:
    return {_pick([*(one.name for one in parameters), "x", ""], rng): random_json(rng) for _ in range(rng.integers(4))}


_KINDS: Mapping[str, Callable[[Sequence[Parameter], Arguments, Generator], Arguments]] = {
    "right": _right,
    "wrong type": _wrong_type,
    "missing": _missing,
    "extra": _extra,
    "misspelt": _misspelt,
    "nearly right": _nearly,
    "huge": _huge,
    "odd text": _odd_text,
    "odd number": _odd_number,
    "anything": _anything,
}


def random_json(rng: Generator, depth: int = 3) -> Json:
    """Any JSON value, NaN and infinity among them, as Python's parser takes them."""
    kind = int(rng.integers(8 if depth else 6))
    if kind == 0:
        return _pick((None, True, False), rng)
    if kind in (1, 2):
        return _pick(_ODD_NUMBERS, rng) if rng.random() < 0.5 else round(float(rng.normal(0, 300)), 2)
    if kind in (3, 4):
        return _pick((*_ODD_TEXTS, *_WORDS), rng)
    if kind == 5:
        return [round(float(side), 1) for side in rng.uniform(-10, SIZE, int(rng.integers(6)))]
    items = [random_json(rng, depth - 1) for _ in range(int(rng.integers(5)))]
    return items if kind == 6 else {_pick(_WORDS, rng): item for item in items}


def _value(one: Parameter, example: Arguments, rng: Generator) -> Json:
    match one.kind:
        case "image" | "images":
            return int(rng.integers(1, 3))
        case "text":
            return example.get(one.name, " ".join(_pick(_WORDS, rng) for _ in range(int(rng.integers(1, 6)))))
        case "choice":
            return _pick(one.choices, rng)
        case "boolean":
            return bool(rng.integers(2))
        case "integer":
            return int(rng.integers(-2, 100))
        case "number":
            return round(float(rng.uniform(-1, 3)), 3)
        case "box":
            return _box(rng)
        case "point":
            return _point(rng)
        case "boxes":
            return [_box(rng) for _ in range(int(rng.integers(1, 5)))]
        case "points":
            return [_point(rng) for _ in range(int(rng.integers(1, min(8, MAX_ITEMS))))]


def _box(rng: Generator) -> Json:
    x1, y1 = (float(side) for side in rng.uniform(0, SIZE - 20, 2))
    width, height = (float(side) for side in rng.uniform(1, SIZE, 2))
    return [round(x1), round(y1), round(x1 + width, 1), round(y1 + height, 1)]


def _point(rng: Generator) -> Json:
    return [round(float(side), 1) for side in rng.uniform(0, SIZE, 2)]


def _nested(depth: int) -> Json:
    value: Json = 1
    for _ in range(depth):
        value = [value]
    return value


def _pick(items: Sequence[Item], rng: Generator) -> Item:
    return items[int(rng.integers(len(items)))]
