"""Markup in a model's turn: tags and their blocks, tool calls as JSON, and fenced code."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from saccade.turn_ends import FENCE, closes_fence
from saccade.types import Json, Malformed, ToolCall

MAX_TURN_CHARS = 1 << 18
_THOUGHT = re.compile(r"<think>.*?</think>|<\|channel>.*?<channel\|>", re.DOTALL)
_THINK = re.compile(r"<(/?)think>")

_ROLE_TOKEN = (
    r"<\|(?:im_start|im_end|endoftext|vision_start|vision_end|vision_pad|image_pad|video_pad)\|>"
    r"|<(?:start_of_turn|end_of_turn|\|turn|turn\|)>"
)
# Whatever a family's tokenizer may take for a token of its own: "<|…|>" of any name, the images of InternVL, the turns
# and images of Gemma and Idefics3, and the pairs "<|…>" and "<…|>" of Gemma 4.
_OF_FAMILIES = (
    r"/?(?:img|IMG_CONTEXT)>"
    r"|(?:(?:start|end)_of_(?:turn|image)|image_soft_token|bos|eos|end_of_utterance|fake_token_around_image)>"
    r"|\w{1,32}\|>"
)
_POSING = re.compile(
    rf"<(?=/?(?:think|description|code|tool_call|answer|tool_response|interpreter)>|\||{_OF_FAMILIES})"
)
_ROLE_OPENED = re.compile(rf"<(?=\|(?:im_|endoftext|vision_|image_pad|video_pad|\w+\|?>)|{_OF_FAMILIES})")


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

    A ``</think>`` that comes first closes a block that a template opened. Tags that a thought names are its words.
    """
    blocks: list[Block] = []
    opened: re.Match[str] | None = None
    for match in tags.finditer(text):
        closes, tag = match.group(1), match.group(2)
        if tag is None:
            return (
                blocks,
                "only the environment writes tool responses and marks of turns; end your turn after your action",
            )
        if opened is None and not closes:
            opened = match
        elif opened is None:
            if tag != "think" or blocks:
                return blocks, f"</{tag}> closes nothing; open it with <{tag}> first"
            blocks.append(Block(tag=tag, start=0, end=match.end(), content=text[: match.start()]))
        elif opened.group(2) == "think" and tag != "think":
            continue
        elif closes and tag == opened.group(2):
            content = text[opened.end() : match.start()]
            blocks.append(Block(tag=tag, start=opened.start(), end=match.end(), content=content))
            opened = None
        else:
            outer = opened.group(2)
            return blocks, f"<{closes}{tag}> stands inside <{outer}>; close it with </{outer}> first"
    why = "" if opened is None else "</{0}> is missing: <{0}> is never closed".format(opened.group(2))
    return blocks, why


def outside(text: str, blocks: Sequence[Block]) -> list[str]:
    """The text before, between and after the blocks."""
    ends = [0, *(block.end for block in blocks)]
    starts = [*(block.start for block in blocks), len(text)]
    return [text[end:start] for end, start in zip(ends, starts, strict=True)]


def is_strict(text: str, blocks: Sequence[Block]) -> bool:
    """One think block with its own opening tag and without tags inside, one other, and only whitespace around them."""
    # A think block that a template opened has no opening tag of its own.
    if len(blocks) != 2 or not text.startswith("<think>", blocks[0].start) or names_tags(blocks[0].content):
        return False
    return not any(part.strip() for part in outside(text, blocks))


def names_tags(text: str) -> bool:
    """Whether tags or role tokens stand in a text, as words of a thought may."""
    return _POSING.search(text) is not None


def after_thought(text: str) -> str:
    """What follows the last thought, closed by a ``</think>`` whether a ``<think>`` or the template opened it."""
    return _THOUGHT.sub("", text).rpartition("</think>")[2].strip()


def with_opened_thought(reply: str) -> str:
    """A server's reply with the ``<think>`` that its chat template wrote before it, where only the end has come."""
    first = _THINK.search(reply)
    return f"<think>{reply}" if first is not None and first[1] else reply


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


def without_role_tokens(text: str) -> str:
    """The text with a space put into every role token, so that no question, schema or rule can pose as a turn."""
    return _ROLE_OPENED.sub("< ", text)


def defused(text: str) -> str:
    """The text with a space put into every tag and role token, so that no observation can pose as a turn."""
    return _POSING.sub("< ", text)


MAX_CALL_CHARS = 1 << 14
MAX_CALL_DEPTH = 32
"""Objects and lists inside one another; deeper ones would break whatever walks the arguments later."""


def written_call(call: ToolCall) -> str:
    """The call as a model should write it; whole numbers without decimals."""
    arguments = {key: _whole(value) for key, value in call.arguments.items()}
    return json.dumps({"name": call.name, "arguments": arguments}, ensure_ascii=False, allow_nan=False)


def read_call(content: str) -> ToolCall | Malformed:
    """The call, or what is wrong with it; the text is the model's."""
    if len(content) > MAX_CALL_CHARS:
        return Malformed(why=f"the call is longer than {MAX_CALL_CHARS} characters")
    try:
        value = call_value(content)
    except RecursionError:
        return Malformed(why="the call is nested too deeply")
    except ValueError as error:
        # What Python says of long numbers is advice on settings of Python.
        reason = "a number has too many digits" if "int_max_str_digits" in str(error) else defused(str(error))[:200]
        return Malformed(why=f"the call is not valid JSON: {reason}")
    if _depth(value) > MAX_CALL_DEPTH:
        return Malformed(why=f"the call is nested deeper than {MAX_CALL_DEPTH} levels")
    shape = 'a call is one object with the keys "name", a text, and "arguments", an object'
    if not isinstance(value, dict):
        return Malformed(why=f"the call is not a JSON object; {shape}")
    if set(value) != {"name", "arguments"}:
        return Malformed(why=f"the call must have exactly the keys name and arguments; {shape}")
    name, arguments = value["name"], value["arguments"]
    if not isinstance(name, str) or not name:
        return Malformed(why=f"the call's name is not a text; {shape}")
    if not isinstance(arguments, dict):
        return Malformed(why=f"the call's arguments are not an object; {shape}")
    # An escape such as \ud800 passes JSON, but no UTF-8 file could hold it.
    if not is_unicode(json.dumps(value, ensure_ascii=False)):
        return Malformed(why="the call is not valid Unicode")
    return ToolCall(name=name, arguments=arguments)


def call_value(text: str) -> Json:
    """The JSON of a call; ValueError, also for a key that stands twice, or RecursionError."""
    value: Json = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant)
    return value


def _depth(value: Json) -> int:
    """Levels of objects and lists, counted one level at a time, without recursion."""
    depth, level = 0, [value]
    while level := [
        item
        for outer in level
        if isinstance(outer, dict | list)
        for item in (outer.values() if isinstance(outer, dict) else outer)
    ]:
        depth += 1
    return depth


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise ValueError("a key stands twice in one object")
    return dict(pairs)


def _refuse_constant(constant: str) -> Json:
    raise ValueError(f"{constant} is not a JSON number")


def _whole(value: Json) -> Json:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(item) for item in value]
    return value


_MARKS = re.compile(r"`++")
# Where Python may hold marks: comments and texts. Possessive throughout, hence linear.
_COMMENT_OR_TEXT = re.compile(
    r"""\#[^\n]*+
      | \"{3}(?:[^\\\"]|\\[\s\S]|\"(?!\"\"))*+\"{3} | '{3}(?:[^\\']|\\[\s\S]|'(?!''))*+'{3}
      | \"(?:[^\\\"\n]|\\[\s\S])*+\" | '(?:[^\\'\n]|\\[\s\S])*+'""",
    re.VERBOSE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Fence:
    """A block between two lines of three or more backticks or tildes."""

    indent: int
    """Spaces or tabs before its first line; up to as many are taken off each line of the code."""
    marks: str
    info: str
    """Text after the marks: the language, if anything."""
    code: str
    is_closed: bool

    @property
    def language(self) -> str:
        """In lower case; empty where none is named."""
        return self.info.split()[0].lower() if self.info else ""


def find_fences(text: str) -> tuple[list[Fence], str]:
    """The blocks in order, and the lines outside them. Line ends are ``\\n`` alone.

    A block ends at a line of at least as many of the same marks and nothing else, or at the end of the text.
    """
    fences: list[Fence] = []
    rest: list[str] = []
    opened: re.Match[str] | None = None
    inside: list[str] = []
    # Not splitlines, which also splits at characters that may stand in a Python string.
    for line in text.split("\n"):
        match = FENCE.fullmatch(line)
        if opened is None:
            if match is None:
                rest.append(line)
            else:
                opened, inside = match, []
        elif closes_fence(match, opened):
            fences.append(_fence(opened, inside, is_closed=True))
            opened = None
        else:
            inside.append(line)
    if opened is not None:
        fences.append(_fence(opened, inside, is_closed=False))
    return fences, "\n".join(rest)


def one_line_fence(text: str) -> Fence | None:
    """The block that a text of one line is, with its marks at both ends and ``python`` or the like after the first."""
    line = text.strip()
    marks = next((mark * (len(line) - len(line.lstrip(mark))) for mark in "`~" if line.startswith(3 * mark)), "")
    inside = line[len(marks) : -len(marks)] if marks else ""
    words = inside.split(maxsplit=1)
    if "\n" in line or len(words) < 2 or not line.endswith(marks) or marks[:3] in inside:
        return None
    return Fence(indent=0, marks=marks, info=words[0], code=words[1].rstrip(), is_closed=True)


def holds_marks(code: str, marks: str) -> bool:
    """Whether Python code has backticks in a row, as many as ``marks`` or more, outside its comments and texts."""
    if not marks.startswith("`") or marks not in code:
        return False
    return any(len(run) >= len(marks) for run in _MARKS.findall(_COMMENT_OR_TEXT.sub("", code)))


def fenced(code: str) -> str:
    """The code in a Python block whose marks are longer than any in the code."""
    runs = [len(match.group(2)) for line in code.split("\n") if (match := FENCE.match(line))]
    runs += map(len, _MARKS.findall(_COMMENT_OR_TEXT.sub("", code)))
    marks = "`" * max([3, *(run + 1 for run in runs)])
    return f"{marks}python\n{code}\n{marks}"


def outdented(lines: Sequence[str], indent: int) -> str:
    """The lines without up to ``indent`` spaces or tabs at the start of each."""
    return "\n".join(line[min(indent, _indent(line)) :] for line in lines) if indent else "\n".join(lines)


def _fence(opened: re.Match[str], inside: Sequence[str], *, is_closed: bool) -> Fence:
    indent = len(opened.group(1))
    return Fence(
        indent=indent,
        marks=opened.group(2),
        info=opened.group(3).strip(),
        code=outdented(inside, indent),
        is_closed=is_closed,
    )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))
