"""Answers of the viewer's server: JSON that every browser reads, errors as words for people."""

import json
import math
from collections.abc import Mapping

from starlette.responses import Response

from saccade.types import Json

MEDIA_TYPE = "application/json"


def reply(value: Mapping[str, Json], status: int = 200) -> Response:
    return Response(json_text(value).encode("ascii"), status, media_type=MEDIA_TYPE)


def json_text(value: Mapping[str, Json]) -> str:
    """ASCII, finite numbers: NaN becomes null, and what came from a model stays escaped."""
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(finite(value), allow_nan=False)


def refusal(status: int, kind: str, message: str) -> Response:
    return reply({"error": {"kind": kind, "message": message[:2000]}}, status)


def finite(value: Json) -> Json:
    """The value with null where a number is not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value


def number(value: float) -> float | None:
    """A number of a column as JSON: six significant digits say all that a float32 knows."""
    return float(f"{value:.7g}") if math.isfinite(value) else None
