"""A tool's JSON schema as another server wrote it: taken over, and arguments held against it before they are sent.

Checked is all that the schema says but regular expressions, which are the server's own to run: one of another's making
can take for ever. References lead nowhere but into the schema itself.
"""

import json
import math
from collections.abc import Mapping, Sequence

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError, best_match
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from referencing import Registry

from saccade.errors import ToolError, UserError, nearest
from saccade.tools.arguments import json_excerpt
from saccade.tools.schema import Parameter, ParameterKind
from saccade.types import Json, ToolSpec

MAX_ARGUMENTS_CHARS = 1 << 16
"""Limit of all arguments of a call, as JSON."""

MAX_DESCRIPTION_CHARS = 2048
"""Limit of a server's description of a tool: it is part of every prompt."""

_IMAGE: Mapping[str, Json] = {
    "type": "integer",
    "minimum": 1,
    "description": "number of the image, counted from 1 in order of appearance",
    "default": 1,
}

_KINDS: Mapping[str, ParameterKind] = {"integer": "integer", "number": "number", "boolean": "boolean"}

_WORDS = {
    "string": "a text",
    "integer": "a whole number, without quotes",
    "number": "a number, without quotes",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}

_Checker = extend(Draft202012Validator, {"pattern": None, "patternProperties": None})


def taken_spec(name: str, description: str, schema: Mapping[str, Json], image_argument: str | None) -> ToolSpec:
    """Specification of the tool for a model; the argument that takes a picture becomes the number of one, ``image``."""
    properties = schema.get("properties", {})
    required = schema.get("required", [])
    if not isinstance(properties, Mapping) or not isinstance(required, Sequence) or isinstance(required, str):
        raise UserError(f"the tool {name} has no valid JSON schema: {json.dumps(schema)[:200]}")
    if image_argument is not None:
        if image_argument not in properties:
            known = ", ".join(properties) or "none"
            raise UserError(f"the tool {name} has no argument {image_argument!r} to take a picture; it has {known}")
        others = {key: value for key, value in properties.items() if key not in (image_argument, "image")}
        properties = {"image": _IMAGE, **others}
        required = [key for key in required if key not in (image_argument, "image")]
    text = " ".join(description.split())[:MAX_DESCRIPTION_CHARS]
    return ToolSpec(
        name=name,
        description=text or name,
        parameters={**schema, "type": "object", "properties": properties, "required": list(required)},
    )


def parameters_of_spec(spec: ToolSpec) -> tuple[Parameter, ...]:
    """The arguments in our own words, as near as they come; ``image`` is a picture's number where it is our own."""
    properties, required = spec.parameters["properties"], spec.parameters["required"]
    assert isinstance(properties, Mapping)
    assert isinstance(required, Sequence)
    parameters = []
    for name, schema in properties.items():
        if schema == _IMAGE:
            parameters.append(Parameter(name=name, kind="image", is_required=False, default=1))
            continue
        kind: ParameterKind = "text"
        if isinstance(schema, Mapping) and isinstance(schema.get("type"), str):
            kind = _KINDS.get(str(schema["type"]), "text")
        parameters.append(Parameter(name=name, kind=kind, is_required=name in required))
    return tuple(parameters)


class ArgumentChecks:
    """Holds arguments against a schema; the errors teach, as those of our own tools do."""

    def __init__(self, spec: ToolSpec) -> None:
        try:
            _Checker.check_schema(spec.parameters)
        except SchemaError as error:
            raise UserError(f"the tool {spec.name} has no valid JSON schema: {error.message[:200]}") from error
        self._validator: Validator = _Checker(spec.parameters, registry=Registry())

    def check(self, arguments: Mapping[str, Json]) -> None:
        """``ToolError`` at what is most wrong."""
        for name, value in arguments.items():
            if not _is_finite(value):
                raise ToolError(f"the argument {shown_name(name)} holds a number that is not finite")
        if len(json.dumps(arguments)) > MAX_ARGUMENTS_CHARS:
            raise ToolError(f"the arguments have more than {MAX_ARGUMENTS_CHARS} characters; write less")
        errors = list(self._validator.iter_errors(arguments))
        # A name that there is not says more than the one that is missing for it.
        error = best_match([one for one in errors if one.validator == "additionalProperties"] or errors)
        if error is not None:
            raise ToolError(_refusal(error))


def shown_name(name: str) -> str:
    """The name as it stands, or cut and quoted where it is no identifier or too long."""
    return name if name.isidentifier() and len(name) <= 60 else json_excerpt(name)


def _refusal(error: ValidationError) -> str:
    where = _where(error)
    value = error.validator_value
    match error.validator:
        case "required" if isinstance(error.instance, Mapping):
            missing = next((name for name in value if name not in error.instance), "?")
            return f"the argument {where}{'.' if where else ''}{missing} is missing"
        case "additionalProperties":
            known = list(error.schema.get("properties", {}))
            unknown = next((name for name in error.instance if name not in known), "?")
            guess = nearest(unknown, known)
            names = f"the arguments are {', '.join(known)}" if known else "there are none"
            return f"there is no argument {json_excerpt(unknown)}; {names}" + (
                f"; did you mean {guess}?" if guess else ""
            )
        case "type":
            kinds = [value] if isinstance(value, str) else value
            wanted = " or ".join(_WORDS.get(kind, str(kind)) for kind in kinds)
        case "anyOf" if all(isinstance(one, Mapping) and one.get("type") in _WORDS for one in value):
            wanted = " or ".join(_WORDS[one["type"]] for one in value)
        case "enum":
            wanted = "one of " + ", ".join(json.dumps(choice) for choice in value)[:500]
        case "const":
            wanted = json.dumps(value)[:200]
        case _:
            wanted = f"such that {error.validator} is {json.dumps(value)[:200]}"
    return f"the argument {where or 'object'} is {json_excerpt(error.instance)}, but it must be {wanted}"


def _where(error: ValidationError) -> str:
    """``filter.sizes[2]``"""
    parts = [f"[{part}]" if isinstance(part, int) else f".{shown_name(part)}" for part in error.absolute_path]
    return "".join(parts).removeprefix(".")


def _is_finite(value: Json) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, Mapping):
        return all(_is_finite(item) for item in value.values())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return all(_is_finite(item) for item in value)
    # Beyond this no server's number goes, and Python refuses to write out the longest.
    return not isinstance(value, int) or abs(value) < 1 << 64
