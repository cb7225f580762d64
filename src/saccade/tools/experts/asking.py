"""How a tool asks a vision-language model, and what it makes of the answer."""

import re

from PIL import Image

from saccade.errors import ToolError
from saccade.vision_models.requests import VisionModel

_ANSWER = re.compile(r"^[^\w\n]{0,8}(?:final )?answer[^\w\n]{0,8}?[:=](.+)$", re.IGNORECASE | re.MULTILINE)
_MARK = re.compile(r"<(?=[|/A-Za-z])")
_FENCE = re.compile(r"```[a-zA-Z]*\n(.*?)```", re.DOTALL)

MAX_ANSWER_CHARS = 12_000


def asked(model: VisionModel, image: Image.Image, prompt: str) -> str:
    """The model's answer, cut to what a result may hold; ``ToolError`` when it says nothing."""
    text = model.answer(image, prompt)
    if not text:
        raise ToolError("the model behind this tool said nothing; ask in other words, or use another tool")
    return text[:MAX_ANSWER_CHARS]


def stated_answer(text: str) -> str | None:
    """What follows ``Answer:`` on the last such line."""
    found = _ANSWER.findall(text)
    return found[-1].strip(" *").rstrip(".")[:200] or None if found else None


def without_fence(text: str) -> str:
    """What stands between the first pair of code fences, or the whole text."""
    fenced = _FENCE.search(text)
    return (fenced.group(1) if fenced else text).strip()


def checked_question(text: str, name: str) -> str:
    """``ToolError`` when a question holds no word."""
    if not any(character.isalnum() for character in text):
        raise ToolError(f"{name} is empty; write what you want to know")
    # A model's own marks, such as that of an image, must not come from a question.
    return " ".join(_MARK.sub("< ", text).split())
