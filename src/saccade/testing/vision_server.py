"""What a server answers that stands for a vision-language model behind tools: always the same, in the right form."""

from saccade.testing.chat_server import Received, Served, chat_reply
from saccade.types import Json

MARKDOWN_TABLE = "| Year | Apples | Pears |\n|---|---|---|\n| 2020 | 3 | 5 |\n| 2021 | 4 | 2.5 |"
CDL_LINES = (
    "construction_cdl: Shape(AB,BC,CA)\n"
    "image_cdl: Equal(LengthOfLine(AB),3), PerpendicularBetweenLine(AB,CB)\n"
    "text_cdl: Equal(LengthOfLine(BC),4)\n"
    "goal_cdl: Value(LengthOfLine(AC))"
)
SOLUTION = "The angle at B is right, so AC is the square root of 9 + 16.\nAnswer: 5"
CAPTION = "A bar chart of two fruits in two years; apples rise and pears fall."


def expert_reply(received: Received) -> Served:
    """A table, CDL, a caption or a solution, by what the prompt asks for."""
    prompt = _words(received.body.get("messages"))
    if "Markdown" in prompt:
        return chat_reply(MARKDOWN_TABLE)
    if "formal language" in prompt:
        return chat_reply(CDL_LINES)
    return chat_reply(CAPTION if "Describe this chart" in prompt else SOLUTION)


def _words(messages: Json) -> str:
    if isinstance(messages, str):
        return messages
    if isinstance(messages, list):
        return " ".join(map(_words, messages))
    if isinstance(messages, dict):
        return " ".join(_words(messages.get(key)) for key in ("content", "text"))
    return ""
