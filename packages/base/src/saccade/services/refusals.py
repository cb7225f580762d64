"""Answers of servers that are no result."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from saccade.codec.bounds import Bounds
from saccade.codec.codecs import PLAIN_CODEC


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorAbout:
    """What went wrong."""

    kind: str = ""
    """Kind of error, for programs"""
    message: str = ""
    missing: tuple[str, ...] = ()
    """Hashes of the images that must be sent first"""
    retry_after_s: Annotated[float, Bounds(least=0, most=86_400)] | None = None
    """As Retry-After, but not in whole seconds"""


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorBody:
    """An answer that is no result."""

    error: ErrorAbout


def error_bytes(kind: str, message: str, missing: Sequence[str] = (), *, retry_after_s: float | None = None) -> bytes:
    """The body of an answer that is no result."""
    error = ErrorAbout(kind=kind, message=message, missing=tuple(missing), retry_after_s=retry_after_s)
    return PLAIN_CODEC.text(ErrorBody(error=error)).encode("ascii")
