"""Messages between an OpenEnv server and its clients: actions of text, observations of text and pictures."""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from PIL import Image

from saccade.errors import MachineError, UserError, missing_extra
from saccade.media.decode import decode_image
from saccade.media.encode import png_bytes

try:
    from openenv.core.env_server.types import Action, Observation, State
    from pydantic import BaseModel, ConfigDict, Field
except ImportError as error:
    raise missing_extra("interop", "openenv-core", needed_for="OpenEnv") from error

JPEG_QUALITIES = (95, 85, 70, 50)

DEFAULT_MESSAGE_BYTES = 1_000_000
"""OpenEnv's own client takes messages of 1 MiB at most; ours asks for more."""

_OTHER_BYTES = 4096
"""Kept free for the braces and names around texts and pictures."""


class SaccadeAction(Action):  # type: ignore[misc]
    """One assistant turn, verbatim."""

    text: str


class Picture(BaseModel):
    """A picture as the model's view shows it: PNG, or JPEG where PNG would not have fitted into the message."""

    model_config = ConfigDict(extra="forbid")

    format: Literal["png", "jpeg"]
    data: str = Field(description="base64")
    width: int
    height: int

    def image(self) -> Image.Image:
        """The picture, decoded within the limits for pictures from elsewhere; ``MachineError`` for none."""
        try:
            return decode_image(base64.b64decode(self.data), "a picture of the OpenEnv server")
        except ValueError as error:
            raise MachineError(f"the OpenEnv server sent a picture that cannot be read: {error}") from error


class Part(BaseModel):
    """Text, or the picture of ``SaccadeObservation.images`` with this index."""

    model_config = ConfigDict(extra="forbid")

    text: str | None = None
    image: int | None = None


class ChatMessage(BaseModel):
    """A message that is new since the last turn, for the policy's chat template."""

    model_config = ConfigDict(extra="forbid")

    role: Literal["system", "user", "assistant", "tool"]
    parts: list[Part]


class SaccadeObservation(Observation):  # type: ignore[misc]
    """Observation after a turn. OpenEnv does not send ``metadata``, so all that matters is a field."""

    text: str = ""
    images: list[Picture] = Field(default_factory=list)
    messages: list[ChatMessage] = Field(default_factory=list)
    stop: list[str] = Field(default_factory=list, description="strings that end a turn and belong to it")
    status: Literal["ready", "running", "answered", "turn_limit"] = "ready"
    task_id: str = ""
    turns: int = 0


class SaccadeState(State):  # type: ignore[misc]
    """State of the episode; it never tells the answer."""

    task_id: str = ""
    family: str = ""
    status: Literal["ready", "running", "answered", "turn_limit"] = "ready"
    max_turns: int = 0


@dataclass(frozen=True, slots=True)
class _EncodedImage:
    raw: bytes
    format: Literal["png", "jpeg"]


def pictures(images: Sequence[Image.Image], *, text_chars: int, message_bytes: int) -> list[Picture]:
    """The images so that a message with them and so much text has at most ``message_bytes``.

    Lossless where that fits, else all as JPEG of the best quality that does, else smaller.
    """
    if not images:
        return []
    # Four bytes of text become three characters of base64, and a character of text up to six bytes of JSON.
    room = (message_bytes - _OTHER_BYTES - 6 * text_chars) * 3 // 4
    encoded = [_EncodedImage(png_bytes(image), "png") for image in images]
    shown = list(images)
    for quality in JPEG_QUALITIES:
        if sum(len(one.raw) for one in encoded) <= room:
            break
        encoded = [_EncodedImage(_jpeg(image, quality), "jpeg") for image in shown]
    while sum(len(one.raw) for one in encoded) > room:
        if max(max(image.size) for image in shown) < 64:
            raise UserError(f"message_bytes={message_bytes} has no room for {len(images)} pictures; allow more")
        shown = [image.resize((max(1, image.width // 2), max(1, image.height // 2))) for image in shown]
        encoded = [_EncodedImage(_jpeg(image, JPEG_QUALITIES[-1]), "jpeg") for image in shown]
    return [
        Picture(
            format=one.format, data=base64.b64encode(one.raw).decode("ascii"), width=image.width, height=image.height
        )
        for one, image in zip(encoded, shown, strict=True)
    ]


def _jpeg(image: Image.Image, quality: int) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format="JPEG", quality=quality)
    return buffer.getvalue()
