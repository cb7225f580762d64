"""Messages as other programs write them: roles, texts, pictures and calls in OpenAI's, Anthropic's, ShareGPT's form."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from saccade.types import ImageRef, Json, ToolCall
from saccade.viewer.store.shelf import Shelf

MAX_TURNS, MAX_TEXT = 200, 400_000
NO_PICTURE = "[a picture that this file does not hold]"
_MAX_DEPTH = 8
CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
"""A call that is written into the text."""
_SHOWN = re.compile(r"<tool_response>(.*?)</tool_response>", re.DOTALL)
_BEFORE = re.compile(r"(?:<\|im_end\|>|</s>)?\s*(?:<\|im_start\|>)?(?:user|tool)?\s*\Z")
_AFTER = re.compile(r"\s*(?:<\|im_end\|>\s*)?(?:<\|im_start\|>)?(?:assistant)?")
_AROUND = 80
"""Characters before an answer of a tool in which the template's words are looked for."""
_ROLES: Mapping[str, str] = {
    "human": "user",
    "gpt": "assistant",
    "model": "assistant",
    "function": "tool",
    "tool_response": "tool",
    "tool_call": "assistant",
    "developer": "system",
}
_PLACEHOLDER = re.compile(r"<image>|<\|image_pad\|>|<\|image\|>")


@dataclass(frozen=True, kw_only=True, slots=True)
class ForeignMessage:
    """One message: its text, its pictures, its calls."""

    role: str
    text: str
    images: tuple[ImageRef, ...] = ()
    calls: tuple[ToolCall, ...] = ()


def messages_from(value: Json, shelf: Shelf, listed: Iterable[object] = ()) -> list[ForeignMessage]:
    """Messages of OpenAI's form (chat or responses), Anthropic's, ShareGPT's, or a text, which is one of the user.

    ``listed`` are pictures that stand beside the messages: each mark of a picture takes the next one, and what is left
    belongs to the first message of the user.
    """
    if isinstance(value, str):
        value = [{"role": "user", "content": value}]
    tray = iter(list(listed))
    found: list[ForeignMessage] = []
    for item in value if isinstance(value, list | tuple) else ():
        if isinstance(item, Mapping):
            found.append(_message(item, shelf, tray))
        if len(found) > 4 * MAX_TURNS:
            break
    left = tuple(image for one in tray if (image := shelf.keep(one)) is not None)
    first = next((place for place, one in enumerate(found) if one.role == "user"), None)
    if left and first is not None:
        one = found[first]
        found[first] = ForeignMessage(role=one.role, text=one.text, images=one.images + left, calls=one.calls)
    return found


def _message(item: Mapping[str, Json], shelf: Shelf, tray: Iterator[object]) -> ForeignMessage:
    kind = item.get("type")
    if kind == "function_call":
        return ForeignMessage(role="assistant", text="", calls=(call_from(item),))
    if kind == "function_call_output":
        item = {"role": "tool", "content": item.get("output")}
    role = str(item.get("role", item.get("from", "user")))
    content = _Content(shelf=shelf, tray=tray)
    content.add(item.get("content", item.get("value")), 0)
    reasoning = item.get("reasoning_content") or item.get("reasoning")
    thought = f"<think>{reasoning}</think>\n" if isinstance(reasoning, str) and reasoning else ""
    calls = [call_from(call) for call in list_or_empty(item.get("tool_calls")) if isinstance(call, Mapping)]
    text = "\n".join(content.texts)[:MAX_TEXT]
    if role == "tool_call":
        # ms-swift's form of a call: JSON as the text of a message of its own.
        calls += list(written_calls(f"<tool_call>{text}</tool_call>"))
    role = "tool" if content.is_result else _ROLES.get(role, role)
    return ForeignMessage(
        role=role, text=thought + text, images=tuple(content.images), calls=(*content.calls, *calls)[:MAX_TURNS]
    )


class _Content:
    """The parts of a message's content as they are read."""

    def __init__(self, *, shelf: Shelf, tray: Iterator[object]) -> None:
        self.texts: list[str] = []
        self.images: list[ImageRef] = []
        self.calls: list[ToolCall] = []
        self.is_result = False
        self._shelf, self._tray = shelf, tray

    def add(self, value: Json, depth: int) -> None:
        """A text, a part, or a list of parts."""
        if isinstance(value, str):
            self.texts.append(value[:MAX_TEXT])
            for _ in _PLACEHOLDER.findall(value[:MAX_TEXT]):
                self._picture(next(self._tray, None), is_marked=True)
        elif isinstance(value, Mapping):
            self._part(value, depth)
        elif depth < _MAX_DEPTH:
            for part in list_or_empty(value):
                self.add(part, depth + 1)

    def _part(self, part: Mapping[str, Json], depth: int) -> None:
        kind = str(part.get("type") or part.get("_type") or "")
        thought = part.get("thinking") or part.get("reasoning")
        if isinstance(thought, str):
            self.texts.append(f"<think>{thought}</think>")
        elif kind == "tool_use":
            self.calls.append(ToolCall(name=str(part.get("name", "")), arguments=_arguments(part.get("input"))))
        elif kind == "tool_result":
            self.is_result = True
            self.add(part.get("content"), depth + 1)
        elif kind.startswith(("image", "input_image", "trackio.image")) or (not kind and "image" in part):
            names = ("image_url", "image", "source", "bytes", "path", "file_path")
            where = next((part[name] for name in names if part.get(name)), None)
            self._picture(where if where is not None else next(self._tray, None))
        elif isinstance(text := part.get("text"), str):
            self.add(text, depth + 1)

    def _picture(self, where: object, *, is_marked: bool = False) -> None:
        image = None if where is None else self._shelf.keep(where)
        if image is not None:
            self.images.append(image)
        elif not is_marked:
            self.texts.append(NO_PICTURE)


def completion_from(value: Json, shelf: Shelf) -> list[ForeignMessage]:
    """A completion: messages, or one text in which the answers of tools stand between tags."""
    if not isinstance(value, str):
        return messages_from(value, shelf)
    found: list[ForeignMessage] = []
    end = 0
    for shown in _SHOWN.finditer(value):
        said, tail = value[end : shown.start()], value[max(end, shown.start() - _AROUND) : shown.start()]
        words = _BEFORE.search(tail)
        said = said if words is None else said[: len(said) - len(tail) + words.start()]
        found.append(ForeignMessage(role="assistant", text=said.strip()))
        found.append(ForeignMessage(role="tool", text=shown[1].strip()))
        after = _AFTER.match(value, shown.end())
        end = shown.end() if after is None else after.end()
    if (rest := value[end:].strip()) or not found:
        found.append(ForeignMessage(role="assistant", text=rest))
    return found


def written_calls(text: str) -> Iterator[ToolCall]:
    """Calls that stand in the text as ``<tool_call>{"name": …, "arguments": {…}}</tool_call>``."""
    for found in CALL.finditer(text):
        try:
            value = json.loads(found[1])
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and isinstance(value.get("name"), str):
            yield ToolCall(name=value["name"], arguments=_arguments(value.get("arguments")))


def call_from(value: Mapping[str, Json]) -> ToolCall:
    """An entry of ``tool_calls``."""
    function = value.get("function", value)
    if isinstance(function, Mapping):
        return ToolCall(name=str(function.get("name", "")), arguments=_arguments(function.get("arguments")))
    return ToolCall(name=str(function), arguments=_arguments(value.get("arguments")))


def _arguments(value: Json) -> Mapping[str, Json]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {"arguments": value}
    return value if isinstance(value, Mapping) else {}


def list_or_empty(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list | tuple) else ()
