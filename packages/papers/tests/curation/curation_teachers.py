"""Teachers for tests: what they say at each step of the pipeline."""

from collections.abc import Callable, Mapping, Sequence

from saccade.curation.codedance import prompts
from saccade.protocols.code import code_protocol
from saccade.testing.scripted import text_of
from saccade.types import Example, ImageRef, Message, ToolCall


def code_turn(code: str, thought: str = "I let Python do it.") -> str:
    return f"<think>{thought}</think><code>\n```python\n{code}\n```\n</code>"


def answer_turn(text: str) -> str:
    return f"<think>That is it.</think><answer>{text}</answer>"


def is_about(messages: Sequence[Message], step: str) -> bool:
    """Which of the pipeline's prompts this is."""
    words = {
        "image": "You select images",
        "boxes": "Find everything in the image",
        "question": "You check questions",
        "chain": "Think it through in small steps",
        "rewriting": "Now a Python interpreter is at hand",
        "solution": "You check solutions",
        "play": "You show how it is done",
    }
    return words[step] in text_of(messages)


def turns_so_far(messages: Sequence[Message]) -> int:
    return sum(message.role == "assistant" for message in messages)


def image_of(messages: Sequence[Message]) -> ImageRef:
    return next(part for message in messages for part in message.parts if isinstance(part, ImageRef))


class Knowing:
    """A teacher's replies by step; whoever plays solves with the expert's code, and what is not said has a usual reply.

    A reply is a text or a function of the question's example and the messages.
    """

    def __init__(self, examples: Sequence[Example], **said: str | Callable[[Example, Sequence[Message]], str]) -> None:
        self._by_image = {example.task.images[0].hash: example for example in examples}
        self._said: Mapping[str, str | Callable[[Example, Sequence[Message]], str]] = {
            "image": prompts.SUITABLE,
            "question": prompts.GOOD,
            "solution": prompts.AGREES,
            "boxes": "nowhere",
            "chain": lambda example, _: f"I count them.\n<answer>{example.task.answer}</answer>",
            "rewriting": lambda example, _: (
                f"I count them.\n<code>\n```python\n{expert_code(example)}\n```\n</code>"
                f"<interpreter>{example.task.answer}</interpreter>\n<answer>{example.task.answer}</answer>"
            ),
            "play": expert_turn,
            **said,
        }

    def __call__(self, messages: Sequence[Message]) -> str:
        example = self._by_image[image_of(messages).hash]
        for step in ("image", "boxes", "question", "chain", "rewriting", "solution"):
            if is_about(messages, step):
                break
        else:
            step = "play"
        said = self._said[step]
        return said if isinstance(said, str) else said(example, messages)


def expert_code(example: Example) -> str:
    """The first code of the example's own expert."""
    action = example.turns[0].action
    assert isinstance(action, ToolCall)
    return str(action.arguments["code"])


def expert_turn(example: Example, messages: Sequence[Message]) -> str:
    """What the example's own expert does next."""
    turn = example.turns[turns_so_far(messages)]
    return code_protocol().write(turn)
