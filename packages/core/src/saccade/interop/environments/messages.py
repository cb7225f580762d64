"""Chat messages in the form of OpenAI's API, as what an environment shows."""

import base64
import binascii
from collections.abc import Mapping, Sequence

from PIL import Image

from saccade.interop.environments.world import WorldObservation
from saccade.media.decode import MediaError, decode_image

MAX_BASE64_CHARS = 48 << 20


def shown_of_messages(messages: Sequence[Mapping[str, object]]) -> WorldObservation:
    """Texts and pictures of the messages, in order; what is neither says so in its place."""
    texts: list[str] = []
    pictures: list[Image.Image] = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, str):
            texts.append(content)
        elif isinstance(content, Sequence):
            for part in content:
                _add_part(part, texts, pictures)
    return WorldObservation(text="\n".join(text for text in texts if text), pictures=tuple(pictures))


def _add_part(part: object, texts: list[str], pictures: list[Image.Image]) -> None:
    if not isinstance(part, Mapping):
        return
    if part.get("type") == "text":
        texts.append(str(part.get("text", "")))
        return
    url = part.get("image_url")
    at = url.get("url") if isinstance(url, Mapping) else url
    drawn = picture_of_url(at) if isinstance(at, str) else None
    if drawn is None:
        texts.append(f"[{part.get('type')} that cannot be shown]")
    else:
        pictures.append(drawn)


def picture_of_url(url: str) -> Image.Image | None:
    """The picture of a data URL; None for anything else."""
    head, comma, data = url.partition(",")
    if not head.startswith("data:image/") or not comma:
        return None
    return picture_of_base64(data)


def picture_of_base64(data: str) -> Image.Image | None:
    """The picture of base64 bytes; None where they are none, or over the limits for pictures from elsewhere."""
    if len(data) > MAX_BASE64_CHARS:
        return None
    try:
        return decode_image(base64.b64decode(data, validate=True), "an observation")
    except (binascii.Error, MediaError):
        return None
