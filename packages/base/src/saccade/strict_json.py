"""JSON that other programs read: null stands where a number is not finite, which only Python's dialect can write."""

import json
import math
from collections.abc import Mapping
from typing import cast

from saccade.types import Json


def strict_json(value: object, *, indent: int | None = None, ensure_ascii: bool = True) -> str:
    """The text of the value; of finite numbers the same as ``json.dumps`` gives."""
    try:
        return json.dumps(value, indent=indent, ensure_ascii=ensure_ascii, allow_nan=False)
    except ValueError:
        return json.dumps(finite(cast(Json, value)), indent=indent, ensure_ascii=ensure_ascii, allow_nan=False)


def finite(value: Json) -> Json:
    """The value with null where a number is not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return finite_object(value)
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value


def finite_object(values: Mapping[str, Json]) -> dict[str, Json]:
    """As ``finite``, of an object."""
    return {key: finite(item) for key, item in values.items()}
