"""A small file of grounded trajectories as a data set holds them, and a teacher that tells them anew."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from PIL import Image

from saccade.testing.scripted import text_of
from saccade.types import Message

COLOURS = ("red", "green", "blue", "black", "white", "yellow", "brown", "orange")
SIZE = (120, 80)


def thought(colour: str) -> str:
    return f"I see the cat <box>[10,20,60,70]</box> and beside it a {colour} cup <box>[70,30,110,75]</box>."


def plain(colour: str) -> str:
    return f"There is a cat on the left, and a {colour} cup stands to its right."


def trajectories(directory: Path, count: int, *, textual: int = 0) -> Path:
    """``count`` grounded ones, each with a colour of its own, and then textual ones, with their images beside."""
    directory.mkdir(parents=True, exist_ok=True)
    rows = []
    for index in range(count + textual):
        colour = COLOURS[index]
        Image.new("RGB", SIZE, colour).save(directory / f"{colour}.jpg")
        said = thought(colour) if index < count else f"<think>{plain(colour)}"
        rows.append(
            {
                "messages": [
                    {"role": "user", "content": f"<image>Which colour has the cup beside the {colour} cat?"},
                    {"role": "assistant", "content": f"{said}</think><answer>{colour}</answer>"},
                ],
                "images": [f"{colour}.jpg"],
            }
        )
    path = directory / "sft.json"
    path.write_text(json.dumps(rows))
    return path


def colour_asked(messages: Sequence[Message]) -> str:
    text = text_of(messages)
    return next(colour for colour in COLOURS if f"the {colour} cat?" in text)


def telling(reply: Callable[[str], str] | None = None) -> Callable[[Sequence[Message]], str]:
    """A teacher's reply by the colour that is asked about."""

    def usual(colour: str) -> str:
        return f"{plain(colour)}\n<answer>{colour}</answer>"

    return lambda messages: (reply or usual)(colour_asked(messages))
