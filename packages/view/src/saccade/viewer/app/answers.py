"""Answers of the viewer's server: JSON that every browser reads, errors as words for people."""

import math
from collections.abc import Mapping

from starlette.responses import Response

from saccade.strict_json import strict_json
from saccade.types import Json

MEDIA_TYPE = "application/json"


def reply(value: Mapping[str, Json], status: int = 200) -> Response:
    return Response(strict_json(value).encode("ascii"), status, media_type=MEDIA_TYPE)


def refusal(status: int, kind: str, message: str) -> Response:
    return reply({"error": {"kind": kind, "message": message[:2000]}}, status)


def number(value: float) -> float | None:
    """A number of a column as JSON: six significant digits say all that a float32 knows."""
    return float(f"{value:.7g}") if math.isfinite(value) else None
