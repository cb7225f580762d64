"""Where a turn's first complete action ends, for models that write actions as fenced blocks.

A protocol that reads leniently takes this action and nothing after it, and an engine stops there: both by the same
rule, so that what is run is what was complete when sampling stopped. A block is complete

- outside of tags, by its closing line (``FencedActions.languages`` alone);
- between the rule's own tags, where anything but the closing tag follows its closing line, or nothing at all: a turn in
  the paper's form is never cut before its closing tag.

Any closed ``<code>``, ``<tool_call>`` or ``<answer>`` is complete as well. No block counts that stands in a thought or
in a block of another language, nor anything after a tag that a block holds or that nothing has opened, after a role
token or after a tag of the environment: from there on nothing is beyond doubt.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})([^`]*)")
"""A whole line that opens or closes a block: its indentation, its marks, its text."""

MAX_OBJECT_CHARS = 1 << 14

_THINK = re.compile(r"<(/?)think>")
_CLOSING = re.compile(r"</([^<>/\s]+)>")


@dataclass(frozen=True, kw_only=True, slots=True)
class FencedActions:
    """Fenced blocks that are a protocol's actions."""

    languages: tuple[str, ...]
    """First words after the marks, in lower case."""
    tags: tuple[str, ...]
    """Tags whose closing ends a turn."""
    tag: str = ""
    """The tag that such a block should stand in, where a language need not be named; "" for none."""
    words: tuple[str, ...] = ()
    """A block outside of the tag is an action if it holds one of these, or if there are none."""
    server_stops: tuple[str, ...] = ("\n```\n",)
    """Strings at which a server that knows no such rule should stop, so that it need not write what is cut off. Where
    none was a turn's end the turn goes on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FirstAction:
    """The first complete action of a turn: ``text[start:end]``."""

    start: int
    end: int
    closing: str = ""
    """The closing tag that the model has left out."""
    block: str | None = None
    """The content of a block outside of tags."""


@dataclass(kw_only=True, slots=True)
class _Fence:
    opened: re.Match[str]
    start: int
    is_action: bool
    lines: list[str] = field(default_factory=list)

    def closes(self, piece: str) -> bool:
        return closes_fence(FENCE.fullmatch(piece), self.opened)


@dataclass(kw_only=True, slots=True)
class _Reader:
    """Takes a turn line by line, in time that is linear in its length."""

    rule: FencedActions
    inside: str = ""
    """The tag that is open."""
    opened_at: int = 0
    fence: _Fence | None = None
    closed_at: int = -1
    """The end of a complete block between the rule's tags, whose closing tag has not come; -1 without one."""
    is_lost: bool = False
    has_tags: bool = False
    length: int = 0
    lines: list[str] = field(default_factory=list)

    @property
    def closing(self) -> str:
        return f"</{self.rule.tag}>"

    def take(self, line: str) -> FirstAction | None:
        """The first action, if it is complete with this line, which ends here."""
        start, place = self.length, 0
        self.lines.append(line)
        self.length += len(line) + 1
        for tag in _tags(self.rule.tags).finditer(line) if "<" in line else ():
            found = self._take_piece(line[place : tag.start()], start + place) or self._take_tag(tag, start)
            if found or self.is_lost:
                return found
            place = tag.end()
        return self._take_piece(line[place:], start + place)

    def at_end(self) -> FirstAction | None:
        """The action that the end of the turn completes."""
        if self.is_lost:
            return None
        if self.closed_at >= 0:
            return FirstAction(start=self.opened_at, end=self.closed_at, closing=self.closing)
        end = self.length - 1
        return self._unclosed_call(end) if self.inside == "tool_call" and self.fence is None else None

    def deviates(self, partial: bytes) -> bool:
        """Whether what has come of a line shows that a complete block's closing tag will not come."""
        said = partial.lstrip()
        wanted = self.closing.encode()
        return self.closed_at >= 0 and bool(said) and said[: len(wanted)] != wanted[: len(said)]

    def _take_piece(self, piece: str, start: int) -> FirstAction | None:
        """Takes what stands between two tags of a line, or all of it."""
        if self.is_lost:
            return None
        if self.closed_at >= 0:
            is_over = bool(piece.strip())
            return FirstAction(start=self.opened_at, end=self.closed_at, closing=self.closing) if is_over else None
        if self.fence is None:
            self._open_fence(piece, start)
        elif self.fence.closes(piece):
            return self._close_fence(start + len(piece))
        else:
            self.fence.lines.append(piece)
        return None

    def _open_fence(self, piece: str, start: int) -> None:
        opened = FENCE.fullmatch(piece) if self.inside in ("", self.rule.tag) else None
        if opened is not None:
            language = (opened.group(3).split() or [""])[0].lower()
            is_action = language in self.rule.languages or (self.inside != "" and language == "")
            self.fence = _Fence(opened=opened, start=start, is_action=is_action)

    def _close_fence(self, end: int) -> FirstAction | None:
        fence, self.fence = self.fence, None
        assert fence is not None
        if self.inside:
            self.closed_at = end if fence.is_action else -1
            return None
        block = "\n".join(fence.lines)
        words = self.rule.words
        is_action = fence.is_action and (not words or any(word in block for word in words))
        return FirstAction(start=fence.start, end=end, block=block) if is_action else None

    def _take_tag(self, tag: re.Match[str], start: int) -> FirstAction | None:
        closes, name = bool(tag.group(1)), tag.group(2)
        if self.closed_at >= 0:
            if tag.group() == self.closing:
                return FirstAction(start=self.opened_at, end=start + tag.end())
            return FirstAction(start=self.opened_at, end=self.closed_at, closing=self.closing)
        if self.inside == "think" and name not in ("think", None):
            return None
        # A tag that cuts an action's block short; any other block ends with the piece that it stands in.
        self.is_lost = name is None or (self.fence is not None and self.fence.is_action)
        self.fence = None
        if self.is_lost:
            return None
        if self.inside == "":
            # A thought that the template has opened may end first.
            self.is_lost = closes and (name != "think" or self.has_tags)
            self.inside, self.opened_at = ("" if closes else name), start + tag.start()
            self.has_tags = True
            return None
        if closes and name == self.inside:
            self.inside = ""
            return None if name == "think" else FirstAction(start=self.opened_at, end=start + tag.end())
        self.is_lost = True
        return self._unclosed_call(start + tag.start()) if self.inside == "tool_call" else None

    def _unclosed_call(self, end: int) -> FirstAction | None:
        """A call whose closing tag is missing, if its JSON is complete."""
        content = "\n".join(self.lines)[self.opened_at + len("<tool_call>") : end]
        is_whole = whole_object(content) is not None
        return FirstAction(start=self.opened_at, end=end, closing="</tool_call>") if is_whole else None


def first_action(text: str, rule: FencedActions) -> FirstAction | None:
    """The first complete action of a whole turn; None where there is none, or none beyond doubt."""
    think = _THINK.search(text)
    reader = _Reader(rule=rule)
    if think is not None and think.group(1):
        reader.inside, reader.has_tags = "think", True
    for line in text.split("\n"):
        found = reader.take(line)
        if found is not None or reader.is_lost:
            return found
    return reader.at_end()


class ActionFinder:
    """Reads one turn's bytes and says when its first action is complete."""

    def __init__(self, rule: FencedActions, opening: str = "") -> None:
        """``opening`` is what the template has written of the turn."""
        self._reader = _Reader(rule=rule)
        self._line = b""
        self.completes(opening.encode())

    def completes(self, token: bytes) -> bool:
        """True when this token completes the action or shows that its closing tag will not come, whatever it holds
        besides: a token is never cut."""
        reader = self._reader
        self._line += token
        if b"\n" in token:
            *lines, self._line = self._line.split(b"\n")
            for line in lines:
                if not reader.is_lost and reader.take(line.decode(errors="replace")) is not None:
                    return True
        return reader.closed_at >= 0 and reader.deviates(self._line)


class StopStrings:
    """Reads one turn's bytes and says when one of its stop strings ends it.

    A closing tag of an action (any ``</name>`` but ``</think>``) that a thought names is its word, as for the parsers:
    the turn goes on. Outside of a thought it ends the turn even where it closes nothing, since no text after it could
    make an action of that turn; so does any other string wherever it stands.
    """

    def __init__(self, stops: Sequence[str], opening: str = "") -> None:
        """``opening`` is what the template has written of the turn, as a ``<think>``."""
        names = {stop: tag[1] for stop in stops if (tag := _CLOSING.fullmatch(stop)) and tag[1] != "think"}
        self._stops = tuple(stop.encode() for stop in stops if stop not in names)
        self._tail_length = max(map(len, self._stops), default=1) - 1
        self._tail = b""
        self._tags = _stop_tags(tuple(names.values())) if names else None
        self._tag_length = max(map(len, [*names, "</think>"]))
        self._begun = b""
        """The beginning of a tag, perhaps."""
        self._inside = b""
        """The tag that is open."""
        self.completes(opening.encode())

    def completes(self, token: bytes) -> bool:
        """True when this token completes a string that ends the turn, whatever it holds after it."""
        # Most tokens hold nothing of a tag; this is asked for each.
        if not self._stops and not self._begun and b"<" not in token:
            return False
        return self.end_in(token) is not None

    def end_in(self, token: bytes) -> int | None:
        """How many bytes of the token belong to the turn that it ends; None where it does not end it."""
        tail, self._tail = self._tail, (self._tail + token)[-self._tail_length :] if self._tail_length else b""
        seen = tail + token
        ends = [seen.index(stop) + len(stop) - len(tail) for stop in self._stops if stop in seen]
        if (tag_end := self._tag_end(token)) is not None:
            ends.append(tag_end)
        return min(ends, default=None)

    def _tag_end(self, token: bytes) -> int | None:
        if self._tags is None or (b"<" not in token and not self._begun):
            return None
        seen = self._begun + token
        place = 0
        for tag in self._tags.finditer(seen):
            if self._is_end(*tag.groups()):
                return tag.end() - len(self._begun)
            place = tag.end()
        last = seen.rfind(b"<", place)
        self._begun = seen[last:] if last >= 0 and len(seen) - last < self._tag_length else b""
        return None

    def _is_end(self, slash: bytes, name: bytes) -> bool:
        if slash and name != b"think":
            return self._inside != b"think"
        if slash:
            self._inside = b"" if self._inside == b"think" else self._inside
        else:
            # Of tags inside another block, a parser reads none but that block's own.
            self._inside = self._inside or name
        return False


def stop_end(text: str, stops: Sequence[str], opening: str = "") -> int | None:
    """Where the first stop string that ends a whole turn ends; None where none does."""
    written = text.encode(errors="surrogatepass")
    end = StopStrings(stops, opening).end_in(written)
    return None if end is None else len(written[:end].decode(errors="surrogatepass"))


def up_to_stop(text: str, stops: Sequence[str]) -> str:
    """A whole turn up to the end of its first stop string, as an engine that knows them would have ended it."""
    return text[: stop_end(text, stops)]


@cache
def _stop_tags(names: tuple[str, ...]) -> re.Pattern[bytes]:
    return re.compile(rf"<(/?)({'|'.join(('think', *map(re.escape, names)))})>".encode())


@cache
def _tags(names: tuple[str, ...]) -> re.Pattern[str]:
    """Tags that a model writes (its slash in group 1, its name in group 2), those that it must not, and role tokens."""
    return re.compile(rf"<(/?)({'|'.join(('think', *names))})>|</?(?:tool_response|interpreter)>|<\|\w{{1,40}}\|>")


def closes_fence(line: re.Match[str] | None, opened: re.Match[str]) -> bool:
    """Whether a line, matched by ``FENCE``, closes the block that another has opened."""
    return line is not None and line.group(2).startswith(opened.group(2)) and not line.group(3).strip()


def whole_object(text: str) -> str | None:
    """The text of one JSON object, without a brace too many at its end; None for anything else."""
    said = text.strip()
    if not said.startswith("{") or len(said) > MAX_OBJECT_CHARS:
        return None
    try:
        _, end = json.JSONDecoder().raw_decode(said)
    except (ValueError, RecursionError):
        return None
    return said[:end] if said[end:].strip() in ("", "}") else None
