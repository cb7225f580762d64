"""Answers of several values: solutions, sets, tuples, intervals and ratios, compared value by value."""

import re
from collections.abc import Callable, Sequence

from saccade.rewards.answers.expressions import normal_form

MAX_IN_ANY_ORDER = 12
"""More values than that are compared in their order: each may be compared with each."""

_NAME = re.compile(r"([A-Za-z]+)(?:_\{?[0-9]+\}?)?\s*[=∈]")
_BETWEEN = re.compile(r"\band\b|\bor\b|和|或|及")

_CHAIN = re.compile(r"(?P<low>[^<>=≤≥]+)(?P<over>[<≤])[A-Za-z](?P<under>[<≤])(?P<high>[^<>=≤≥]+)")
_HALF = re.compile(r"[A-Za-z](?:(?P<under>[<≤])|(?P<over>[>≥]))(?P<end>[^<>=≤≥]+)")

SameValue = Callable[[str, str], bool]
"""Whether a given text has the value of a wanted one."""


def same_values(said: str, gold: str, same: SameValue) -> bool | None:
    """Whether both have the same values; None where the gold is a single one, or an inequality beside no interval.

    Of a tuple or an interval, such as ``(3, \\frac12)``, each part in its place and the same brackets; of a ratio each
    part. The values of a set, or of ``x = 1, x = 2``, count in any order, and ``1 \\pm \\sqrt{2}`` are two. In ``x = 2,
    y = 3`` each value belongs to its name, or to its place where the answer names none. ``-2 < x \\le 7`` is
    ``(-2, 7]``.
    """
    wanted = _compact(gold)
    interval, other_interval = _interval(wanted), _interval(_compact(said))
    if bool(interval) != bool(other_interval):
        return same_values(other_interval or said, interval or gold, same) or None
    if ":" in wanted:
        ratio, other = wanted.split(":"), _compact(said).split(":")
        return len(ratio) == len(other) and all(map(same, other, ratio))
    brackets, parts = _named_parts(gold)
    if len(parts) == 1:
        return None
    other_brackets, others = _named_parts(said)
    if len(others) != len(parts):
        return False
    if brackets not in ("", "{}"):
        return brackets == other_brackets and all(map(same, others, parts))
    return other_brackets in ("", "{}") and _same_in_any_order(others, parts, same)


def _same_in_any_order(given: Sequence[str], wanted: Sequence[str], same: SameValue) -> bool:
    names, others = _names(wanted), _names(given)
    if (len(set(names)) > 1 and not any(others)) or len(wanted) > MAX_IN_ANY_ORDER:
        return all(map(same, given, wanted))
    left = list(zip(others, given))
    for name, part in zip(names, wanted):
        fits = (one for one in left if (not name or one[0] in ("", name)) and same(one[1], part))
        found = next(fits, None)
        if found is None:
            return False
        left.remove(found)
    return True


def name_of(value: str) -> str:
    """The letter before ``=``, without its index; empty where there is none."""
    match = _NAME.match(value.lstrip("$ "))
    return match[1] if match else ""


def _names(parts: Sequence[str]) -> list[str]:
    """Of each part its letter, or that of the part before: ``x = 1, 2``; or nothing."""
    names: list[str] = []
    for part in parts:
        names.append(name_of(part) or (names[-1] if names else ""))
    return names


def _compact(text: str, *, has_left_side: bool = False) -> str:
    return "".join(normal_form(text, has_left_side=has_left_side).split())


def _named_parts(text: str) -> tuple[str, list[str]]:
    """``_parts_of`` with each part's left side; of a single part, such as ``(p, q) = (3, 2)``, without it."""
    text = _BETWEEN.sub(",", text)
    named = _parts_of(_compact(text, has_left_side=True))
    return named if len(named[1]) > 1 else _parts_of(_compact(text))


def _parts_of(text: str) -> tuple[str, list[str]]:
    """The outer brackets of a tuple, a set or an interval, and its parts at the top level."""
    brackets = text[:1] + text[-1:] if _is_bracketed(text) else ""
    depth, parts = 0, [""]
    for sign in text[1:-1] if brackets else text:
        depth += (sign in "([{") - (sign in ")]}")
        if sign in ",;" and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    if depth != 0:
        return brackets, [text]
    parts = [part.removeprefix("+") for part in parts]
    return brackets, [one for part in parts for one in _of_both_signs(part)] if brackets in ("", "{}") else parts


def _interval(compact: str) -> str:
    """The interval of an inequality for one letter, such as ``-2<x≤7``; empty for any other text."""
    if chain := _CHAIN.fullmatch(compact):
        opening, closing = "(["[chain["over"] == "≤"], ")]"[chain["under"] == "≤"]
        return f"{opening}{chain['low']},{chain['high']}{closing}"
    half = _HALF.fullmatch(compact)
    if half is None:
        return ""
    if half["under"]:
        return f"(-∞,{half['end']}{')]'[half['under'] == '≤']}"
    return f"{'(['[half['over'] == '≥']}{half['end']},∞)"


def _is_bracketed(text: str) -> bool:
    """Whether the bracket at the start closes at the end: not so in ``(1, 2), (2, 1)``."""
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign in "([{") - (sign in ")]}")
        if depth == 0:
            return place == len(text) - 1 and sign in ")]}"
    return False


def _of_both_signs(part: str) -> tuple[str, ...]:
    if part.count("±") != 1:
        return (part,)
    before, after = part.split("±")
    return (f"{before}+{after}" if before else after, f"{before}-{after}")
