"""Messages of tool services, each defined once: those of a server and its clients, and those of it and its workers.

The server reads and writes them, the client reads and writes them, and the OpenAPI document is made of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from saccade.codec.bounds import Bounds
from saccade.codec.codecs import Codec
from saccade.codec.forms import Form
from saccade.tools.catalogue.settings import ToolSettings
from saccade.tools.schema import Parameter
from saccade.types import Json

# A dollar sign matches before a newline too.
HASH_PATTERN = r"^[0-9a-f]{64}$(?!\n)"
ImageHash = Annotated[str, Bounds(pattern=HASH_PATTERN, words="64 hexadecimal digits")]
"""SHA-256 over width and height (little-endian, 32 bit each) and the upright RGB pixels."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallBody:
    """A call of a tool."""

    arguments: Mapping[str, Json] = field(default_factory=dict)
    """As the tool's schema says; the answer's text reports what is wrong with them"""
    images: Annotated[tuple[ImageHash, ...], Bounds(most=256)] = ()
    """The images that the argument `image` counts from 1"""
    deadline_s: Annotated[float, Bounds(above=0, most=86_400)] | None = None
    """Seconds until the call is answered with 504"""
    call_id: (
        Annotated[
            str,
            Bounds(pattern=r"^[A-Za-z0-9._:-]{1,64}$(?!\n)", words="1 to 64 letters, digits, dots, colons or hyphens"),
        ]
        | None
    ) = None
    """The same for every try of one call: it is then run once and has one result"""


@dataclass(frozen=True, kw_only=True, slots=True)
class PictureBody:
    """A picture that a tool made; it is in the image store too."""

    hash: str
    width: int
    height: int
    png: str
    """The file, in base64"""


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultBody:
    """What a call gave. A policy's mistake is a result too, with the text that teaches."""

    is_ok: bool
    refused: Literal["arguments", "tool"] | None
    """What refused a call that is not ok: the check of its arguments, or the tool"""
    text: str
    data: Mapping[str, Json]
    images: tuple[PictureBody, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredBody:
    """An image that the server has now."""

    hash: str
    width: int
    height: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ServedTool:
    """A tool that is served."""

    name: str
    description: str
    parameters: Mapping[str, Json]
    """JSON schema of the arguments"""
    arguments: tuple[Parameter, ...]
    """The same, argument by argument"""
    deadline_s: float
    """A worker that takes longer over a call is replaced"""
    batches: bool
    """Whether it does several calls at once"""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolsBody:
    """The tools of this server."""

    tools: tuple[ServedTool, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class HealthBody:
    """The server is up."""

    status: Literal["ok"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadyBody:
    """Whether every tool has a worker."""

    status: Literal["ready", "starting"]
    waiting_for: tuple[str, ...]
    """Tools without a worker"""


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerSetup:
    """What a worker process is started with."""

    builder: str
    folder: str
    shelf: str
    image_mb: int
    tools: tuple[ToolSettings, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerStarted:
    """What a worker says once it has built its tools."""

    tools: tuple[ServedTool, ...] = ()
    mistake: str | None = None
    """Why the tools cannot be built."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallRequest:
    """A call as a worker gets it."""

    arguments: Mapping[str, Json]
    images: tuple[str, ...]
    """Hashes, in the order in which the model counts the images."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerJob:
    """Calls of one tool."""

    tool: str
    calls: tuple[CallRequest, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplyHead:
    """Outcome of a call, without its body and its pictures, which are binary parts of the same frame."""

    status: int
    pictures: tuple[str, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerReplies:
    """Outcomes of a job, in the order of its calls."""

    outcomes: tuple[ReplyHead, ...]


MESSAGES = Codec({CallBody: Form(is_closed=True)}, is_lenient=True)
"""Reads all of them; they are written with all their fields, by ``PLAIN_CODEC`` or as ``asdict`` gives them."""
