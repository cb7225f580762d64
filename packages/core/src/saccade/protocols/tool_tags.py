"""Tags of linguistic tools, ``<tool name="read_cell" args="Image 2: row 'France'">7.2 %</tool>``, and page numbers.

===============================================  ==================================================================
what the model wrote                             what becomes of it
===============================================  ==================================================================
attributes in any order and any case; quotes     read
single, double or curly; quotes of either sort
inside a value
words beside the tags                            free
nothing said between the tags, ``<tool …/>``     read, with a problem: a call without its finding
no ``name`` or no ``args``, one of them twice,   a problem, and reading stops
another attribute, no quotes, a tag inside a tag
or inside a value, one never closed or opened
more than ``MAX_CALLS``                          a problem, and reading stops
===============================================  ==================================================================

A page is named by its number among the images that the prompt shows, as in "Image 2". A call names its pages where its
arguments begin ("Image 2: …", "Images 1 and 3: …"); what follows is what the tool is asked, and names none. A thought
names pages anywhere but in quotes; there "page 14" counts only where there are so many images, since documents print
page numbers of their own. A number may be a word ("Image nine") or have digits of any script.
"""

import re
from dataclasses import dataclass

from saccade.quantities import NUMBER_WORDS

MAX_CALLS = 100
MAX_PAGES_NAMED = 64

_TAG = re.compile(r"<(/?)tool(?![\w-])", re.IGNORECASE)
_ENDS = re.compile(r"\s*+(/?)>")
# A quote ends a value only where the tag ends or another attribute begins: "row "France"" is one value. Possessive, and
# reading stops at the first value that does not end, so that the whole is linear.
_AFTER = r"\s*+/?>|\s++[A-Za-z_]{1,20}\s*+="
_QUOTES = (('"', '"'), ("'", "'"), ("\u201c\u201d\u201e", "\u201c\u201d"), ("\u2018\u2019\u201a", "\u2018\u2019"))
_VALUES = "|".join(
    rf"[{opens}]((?:[^{closes}]|[{closes}](?!{_AFTER}))*+)[{closes}](?={_AFTER})" for opens, closes in _QUOTES
)
_ATTRIBUTE = re.compile(rf"\s++([A-Za-z_]{{1,20}})\s*+=\s*+(?:{_VALUES})")

_WORDS = "|".join(NUMBER_WORDS)
# \d: digits of other scripts name a page too. A minus sign names one that does not exist.
_NUMBER = rf"(?:#?(?:(?<=\s)[-−])?\d{{1,18}}|(?:{_WORDS})\b)"
_AND = r"\s{0,3}(?:,|;|&|\band\b|\bor\b|\bto\b|-|–)\s{0,3}(?:and\s{1,3})?"
# Several numbers only after a plural: "Image 1, 2019" is one image and a year.
_NAMED = re.compile(
    rf"\b(image|picture|page)(?:s\s{{0,3}}({_NUMBER}(?:{_AND}{_NUMBER})*+)|\s{{0,3}}({_NUMBER}))(?!\w|\.\d)",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(_AND, re.IGNORECASE)
_NUMBER_OR_RANGE = re.compile(rf"\d+|\b(?:{_WORDS})\b|\bto\b|[-−–]", re.IGNORECASE)
_QUOTED = re.compile(r"\"[^\"\n]{0,400}\"|[\u201c\u201d\u201e][^\u201c\u201d\n]{0,400}[\u201c\u201d]")


@dataclass(frozen=True, kw_only=True, slots=True)
class ChainCall:
    """A call of a linguistic tool in a chain."""

    name: str
    args: str
    finding: str
    """The finding that the policy states: the text between the tags."""

    @property
    def pages(self) -> tuple[int, ...]:
        """Pages that the call looks at, counted from 1; empty where it names none."""
        found: list[int] = []
        named = _NAMED.match(self.args)
        while named is not None:
            found += _page_numbers(named)
            between = _SEPARATOR.match(self.args, named.end())
            named = None if between is None else _NAMED.match(self.args, between.end())
        return _distinct_pages(found)


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundCalls:
    """Calls of a text in their order."""

    calls: tuple[ChainCall, ...]
    problem: str = ""
    """The first thing that is wrong with the tags; empty where nothing is."""
    unread: str = ""
    """Why reading stopped before the end of the text; empty where it did not."""


def find_calls(text: str) -> FoundCalls:
    """All calls that can be read, by the table above; linear in the text, never raises."""
    calls: list[ChainCall] = []
    empty = unread = ""
    tag = _TAG.search(text)
    while tag is not None:
        found = _call(text, tag) if len(calls) < MAX_CALLS else f"there are more than {MAX_CALLS} tools"
        if isinstance(found, str):
            unread = found
            break
        call, end = found
        calls.append(call)
        if not any(letter.isalnum() for letter in call.finding):
            empty = "a tool says nothing of what it found"
        tag = _TAG.search(text, end)
    return FoundCalls(calls=tuple(calls), problem=empty or unread, unread=unread)


def has_tool_tag(text: str) -> bool:
    """Whether a tag of a linguistic tool, whole or not, stands anywhere in the text."""
    return _TAG.search(text) is not None


def written_tool(call: ChainCall) -> str:
    """The call with its tags; double quotes of its arguments become single ones."""
    args = call.args.replace('"', "'").strip()
    return f'<tool name="{call.name}" args="{args}">{call.finding.strip()}</tool>'


def thought_pages(thought: str, pages: int | None) -> tuple[int, ...]:
    """The pages that a thought names, each once, in order; with what it calls images also such as do not exist."""
    found: list[int] = []
    for named in _NAMED.finditer(_QUOTED.sub(" ", thought)):
        is_shown = named.group(1).casefold() == "image"
        found += [one for one in _page_numbers(named) if is_shown or pages is None or 1 <= one <= pages]
    return _distinct_pages(found)


def _call(text: str, tag: re.Match[str]) -> tuple[ChainCall, int] | str:
    """The call that begins with a tag and where it ends; or what is wrong with it."""
    if tag.group(1):
        return "</tool> closes nothing"
    opened = _tag_attributes(text, tag.end())
    if isinstance(opened, str):
        return opened
    values, end, is_alone = opened
    finding = ""
    if not is_alone:
        closing = _TAG.search(text, end)
        closed = None if closing is None or not closing.group(1) else _ENDS.match(text, closing.end())
        if closing is None or closed is None:
            return "a <tool> is not closed by its own </tool>"
        finding, end = text[end : closing.start()].strip(), closed.end()
    return ChainCall(name=values["name"].strip(), args=values["args"].strip(), finding=finding), end


def _tag_attributes(text: str, end: int) -> tuple[dict[str, str], int, bool] | str:
    """Attributes of a tag, where it ends, and whether it has no closing tag; or what is wrong with it."""
    values: dict[str, str] = {}
    while (attribute := _ATTRIBUTE.match(text, end)) is not None:
        key = attribute.group(1).casefold()
        value = next((one for one in attribute.groups()[1:] if one is not None), "")
        if key in values or has_tool_tag(value):
            return f"the tag of a <tool> has {key} twice, or a tag inside it"
        values[key], end = value, attribute.end()
    ends = _ENDS.match(text, end)
    if ends is None or values.keys() != {"name", "args"}:
        return 'a tool is written <tool name="…" args="…">…</tool>'
    return values, ends.end(), bool(ends.group(1))


def _page_numbers(named: re.Match[str]) -> list[int]:
    """The numbers of "1, 3 and 5 to 7"; of a long range its ends alone."""
    found: list[int] = []
    is_range = False
    for part in _NUMBER_OR_RANGE.findall(named.group(2) or named.group(3)):
        word = part.casefold()
        if not part.isdigit() and word not in NUMBER_WORDS:
            # A sign before the first number: no page has a number below 1.
            found += [] if found or word == "to" else [0]
            is_range = True
            continue
        number = NUMBER_WORDS.index(word) if word in NUMBER_WORDS else int(part)
        if is_range and found and 0 < number - found[-1] <= MAX_PAGES_NAMED:
            found += range(found[-1] + 1, number)
        found.append(number)
        is_range = False
    return found


def _distinct_pages(numbers: list[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(numbers))[:MAX_PAGES_NAMED]
