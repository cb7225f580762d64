"""Fenced blocks of code in a text, as Markdown has them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})([^`]*)")
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
    """What stands after the marks: the language, if anything."""
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
        match = _FENCE.fullmatch(line)
        if opened is None:
            if match is None:
                rest.append(line)
            else:
                opened, inside = match, []
        elif match is not None and _closes(match, opened):
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
    runs = [len(match.group(2)) for line in code.split("\n") if (match := _FENCE.match(line))]
    runs += map(len, _MARKS.findall(_COMMENT_OR_TEXT.sub("", code)))
    marks = "`" * max([3, *(run + 1 for run in runs)])
    return f"{marks}python\n{code}\n{marks}"


def outdented(lines: Sequence[str], indent: int) -> str:
    """The lines without up to ``indent`` spaces or tabs at the start of each."""
    return "\n".join(line[min(indent, _indent(line)) :] for line in lines) if indent else "\n".join(lines)


def _closes(match: re.Match[str], opened: re.Match[str]) -> bool:
    return match.group(2).startswith(opened.group(2)) and not match.group(3).strip()


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
