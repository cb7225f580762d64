"""Tags in a turn: where its blocks begin and end, and what in a text could pose as one."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from saccade.types import Malformed

MAX_TURN_CHARS = 1 << 18

_ROLE_TOKEN = r"<\|(?:im_start|im_end|endoftext|vision_start|vision_end|vision_pad|image_pad|video_pad)\|>"
# Whatever a family's tokenizer may take for a token of its own: "<|…|>" of any name, the images of InternVL.
_POSING = re.compile(r"<(?=/?(?:think|code|tool_call|answer|tool_response|interpreter|img|IMG_CONTEXT)>|\|)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """A complete pair of tags: ``text[start:end]`` with the tags, ``content`` without."""

    tag: str
    start: int
    end: int
    content: str


def tag_pattern(*, own: Sequence[str], environment: Sequence[str]) -> re.Pattern[str]:
    """Finds the tags that a model writes (its slash in group 1, its name in group 2), those that it must not write,
    and role tokens (no group)."""
    # Fixed alternatives without repetition: the scan is linear in the text.
    return re.compile(rf"<(/?)({'|'.join(own)})>|</?(?:{'|'.join(environment)})>|{_ROLE_TOKEN}")


def find_blocks(text: str, tags: re.Pattern[str]) -> tuple[list[Block], str]:
    """The complete blocks in order, and what is wrong ("" when nothing is) where reading had to stop.

    A ``</think>`` that comes first closes a block that a template opened.
    """
    blocks: list[Block] = []
    opened: re.Match[str] | None = None
    for match in tags.finditer(text):
        closes, tag = match.group(1), match.group(2)
        if tag is None:
            return blocks, "only the environment writes tool responses and role tokens"
        if opened is None and not closes:
            opened = match
        elif opened is None:
            if tag != "think" or blocks:
                return blocks, f"</{tag}> closes nothing; open it with <{tag}> first"
            blocks.append(Block(tag=tag, start=0, end=match.end(), content=text[: match.start()]))
        elif closes and tag == opened.group(2):
            content = text[opened.end() : match.start()]
            blocks.append(Block(tag=tag, start=opened.start(), end=match.end(), content=content))
            opened = None
        else:
            outer = opened.group(2)
            return blocks, f"<{closes}{tag}> stands inside <{outer}>; close it with </{outer}> first"
    return blocks, "" if opened is None else f"<{opened.group(2)}> is never closed"


def outside(text: str, blocks: Sequence[Block]) -> list[str]:
    """The text before, between and after the blocks."""
    ends = [0, *(block.end for block in blocks)]
    starts = [*(block.start for block in blocks), len(text)]
    return [text[end:start] for end, start in zip(ends, starts, strict=True)]


def is_strict(text: str, blocks: Sequence[Block]) -> bool:
    """One think block with its own opening tag, one other block, and only whitespace around them."""
    # A think block that a template opened has no opening tag of its own.
    if len(blocks) != 2 or not text.startswith("<think>", blocks[0].start):
        return False
    return not any(part.strip() for part in outside(text, blocks))


def unreadable(text: str) -> Malformed | None:
    """Why a turn is not even looked at: too long, or half a surrogate pair."""
    if len(text) > MAX_TURN_CHARS:
        return Malformed(why="the turn is too long; think in fewer words, then act")
    if not is_unicode(text):
        return Malformed(why="the turn is not valid Unicode")
    return None


def is_unicode(text: str) -> bool:
    """Whether UTF-8 can hold the text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def defused(text: str) -> str:
    """The text with a space put into every tag and role token, so that no observation can pose as a turn."""
    return _POSING.sub("< ", text)
