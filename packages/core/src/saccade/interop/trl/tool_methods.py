"""A tool as a typed method with a docstring: how transformers, and so TRL, wants to be told of it."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import or_
from types import GenericAlias
from typing import Literal, TypeVar

from saccade.errors import UserError
from saccade.types import Json, ToolSpec

Owner = TypeVar("Owner")
Returned = TypeVar("Returned")

_PLAIN: Mapping[str, type] = {"string": str, "integer": int, "number": float, "boolean": bool}


def tool_method(spec: ToolSpec, call: Callable[[Owner, str, Mapping[str, Json]], Returned]) -> Callable[..., Returned]:
    """A method that hands its arguments to ``call(self, name, arguments)``.

    Its signature, annotations and docstring are the tool's schema; it takes anything all the same, so that a wrong
    argument is refused by the tool's own words. Of a schema, types, choices and descriptions survive; bounds of
    numbers and lengths do not, for type hints cannot say them: the tool checks them when it is called.
    """

    def method(self: Owner, **arguments: Json) -> Returned:
        return call(self, spec.name, arguments)

    shown = _method_parameters(spec)
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    method.__name__ = method.__qualname__ = spec.name
    method.__doc__ = _docstring(spec)
    method.__annotations__ = {**{one.name: one.annotation for one in shown}, "return": list}
    method.__signature__ = inspect.Signature([itself, *shown], return_annotation=list)  # type: ignore[attr-defined]
    return method


def _method_parameters(spec: ToolSpec) -> list[inspect.Parameter]:
    required = spec.parameters.get("required", ())
    assert isinstance(required, Sequence)
    shown = []
    for name, schema in _properties(spec).items():
        if not name.isidentifier() or name == "self":
            raise UserError(
                f"the argument {name!r} of the tool {spec.name} cannot be one of a method; leave the tool out"
            )
        empty = inspect.Parameter.empty
        default = empty if name in required else schema.get("default")
        kind = inspect.Parameter.KEYWORD_ONLY
        shown.append(inspect.Parameter(name, kind, default=default, annotation=type_of(schema)))
    return shown


def type_of(schema: Mapping[str, Json]) -> object:
    """The nearest type hint to a JSON schema; ``str`` where there is none."""
    choices, several, kind = schema.get("enum"), schema.get("anyOf"), schema.get("type")
    if isinstance(choices, Sequence) and choices:
        return Literal[tuple(choices)]
    if isinstance(several, Sequence) and several:
        return reduce(or_, (type_of(one) for one in several if isinstance(one, Mapping)))
    if kind == "array":
        items = schema.get("items")
        return GenericAlias(list, (type_of(items),)) if isinstance(items, Mapping) else list
    if kind == "object":
        return dict
    if kind == "null":
        return None
    return _PLAIN.get(str(kind), str)


def _docstring(spec: ToolSpec) -> str:
    lines = [_one_line(spec.description)]
    properties = _properties(spec)
    if properties:
        lines += ["", "Args:"]
    for name, schema in properties.items():
        lines.append(f"    {name}: {_one_line(str(schema.get('description') or name))}")
    return "\n".join([*lines, "", "Returns:", "    What the tool found, in words and pictures."])


def _properties(spec: ToolSpec) -> Mapping[str, Mapping[str, Json]]:
    properties = spec.parameters.get("properties", {})
    assert isinstance(properties, Mapping)
    return {name: schema if isinstance(schema, Mapping) else {} for name, schema in properties.items()}


def _one_line(text: str) -> str:
    return " ".join(text.split())
