"""The right answer of a row without its wrapping, and the kind that it has by its looks."""

import json
import math
import re

from saccade.characters import SPACELESS, half_width, without_inline_dollars
from saccade.quantities import FRACTION, parse_quantity
from saccade.types import AnswerKind

MAX_LAYERS = 8
MAX_EXACT_WORDS = 3

_THOUGHT = re.compile(r"^.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_IN_TAGS = re.compile(r"<answer>(.*?)</answer>", re.DOTALL | re.IGNORECASE)
_AFTER_HASHES = re.compile(r"(?:^|\s)####\s+(\S[^\n]*)\s*$")
_WHOLE_COMMAND = re.compile(r"\\(?:boxed|fbox|text|textbf|mathrm|mathbf)\s*(\{.*\})", re.DOTALL)
_BOXED = re.compile(r"\\boxed\s*\{")
_AROUND = (("**", "**"), ("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"))

_WHOLE = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,14}|[1-9][0-9]{0,2}(?:,[0-9]{3}){1,4})")
_CODE = re.compile(r"0[0-9]+|[0-9]{16,}")
_LETTER = re.compile(r"[(\[]?([A-Za-z])[)\].:]?")
_OPTION_MARK = re.compile(r"(?:^|[\s(（\[：？。；，])([A-H])[.):\]．、：）]|(?:^|(?<=\s))\(([a-h])\)")
_LATEX = re.compile(
    r"\\(?:[dtc]?frac|sqrt|pi|cdot|times|div|circ|degree|left|leq?|geq?|lt|gt|neq?|in|notin|cup|cap|emptyset"
    r"|varnothing|infty|pm|sin|cos|tan|log|ln|theta|alpha|beta"
    r"|angle|triangle|parallel|perp)(?![A-Za-z])|[√π∞²³∠△∥⊥±∈∉∪∩∅]|[A-Za-z0-9)}]\^"
    # Spaces, signs and units as LaTeX has them beside numbers: 1{,}250, 25\%, \$5, 12\,\text{cm}.
    r"|\{,\}|\\[$%,;:!]|[0-9})]\s*\\(?:text|mathrm|rm)(?![A-Za-z])"
)
_EQUATION = re.compile(r"(?:[A-Za-z]|[-+*/^().,0-9|\s]|[=<>≤≥≠])*")
_TERM = re.compile(r"[0-9)]\s*[A-Za-z]\b|\b[A-Za-z]\s*[=<>≤≥≠]|[=<>≤≥≠]\s*[A-Za-z]\b|[A-Za-z)|]\s*[=<>≤≥≠]\s*[-+(.0-9]")
_FUNCTIONS = frozenset(["sin", "cos", "tan", "log", "exp", "sqrt"])
_SIGN = re.compile(f"[{SPACELESS}]")
_TUPLE = r"(?:[(\[{]|\\\{)\s*[-+0-9./]+(?:\s*,\s*[-+0-9./]+)+\s*(?:[)\]}]|\\\})"
_PAIR = re.compile(rf"{_TUPLE}(?:\s*,\s*{_TUPLE})*")


def unwrapped(gold: str) -> str:
    """The gold as a bare reply would say it.

    ``<think>…</think>`` before it, ``<answer>``, ``#### 7``, ``\\boxed{}``, ``$…$``, ``\\text{}`` and bold are taken
    off, and so are the signs of ``$12$ cm``; of a text with one ``\\boxed{}``, or several with the same content, that
    content counts.
    """
    text = gold.strip()
    for _ in range(MAX_LAYERS):
        inner = _without_a_layer(text).strip()
        if inner in (text, ""):
            break
        text = inner
    return without_inline_dollars(text)


def _without_a_layer(text: str) -> str:
    after = _THOUGHT.sub("", text)
    if after.strip() and after != text:
        return after
    if len(set(found := [one.strip() for one in _IN_TAGS.findall(text)])) == 1:
        return str(found[0])
    if text.endswith(("$.", "$。")):
        return text[:-1]
    if marked := _AFTER_HASHES.search(text):
        return marked[1]
    whole = _WHOLE_COMMAND.fullmatch(text)
    if whole and _group_at(whole[1], 0) == whole[1]:
        return whole[1][1:-1]
    for opening, closing in _AROUND:
        inner = text[len(opening) : -len(closing)]
        if text.startswith(opening) and text.endswith(closing) and inner and opening not in inner:
            return inner
    boxed = {_group_at(text, match.end() - 1) for match in _BOXED.finditer(text)}
    return boxed.pop()[1:-1] if len(boxed) == 1 else text


def _group_at(text: str, start: int) -> str:
    """The braces that open at ``start``, with what is in them; all the rest where they never close."""
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] == "{") - (text[place] == "}")
        if depth == 0:
            return text[start : place + 1]
    return text[start:] + "}"


def infer_kind(answer: str, choices: tuple[str, ...], question: str) -> AnswerKind:
    """How to compare an answer that comes without a kind; the first rule that fits.

    1. Choices are given, or the answer is a letter that the question marks as an option (``A. ... B. ...``) or that has
       a mark itself (``(A)``): choice.
    2. A whole number: integer. But digits with a leading zero or more than 15 of them are a code: exact.
    3. A number with decimals, percent sign, currency or unit: number.
    4. A fraction, LaTeX, roots, powers, pi, a tuple, an equation: math.
    5. A JSON object, one word, or two or three without digits: exact.
    6. Two or three words with digits: text. Anything longer: sentence.

    Two signs of a script without spaces, such as Chinese, are a word.
    """
    answer = half_width(answer)
    if choices:
        return "choice"
    letter = _LETTER.fullmatch(answer)
    if letter and (len(answer) > 1 or {"A", "B", letter[1].upper()} <= _marked_letters(question)):
        return "choice"
    if _WHOLE.fullmatch(answer):
        return "integer"
    if _CODE.fullmatch(answer):
        return "exact"
    if parse_quantity(answer) is not None:
        return "number"
    if is_mathematical(answer):
        return "math"
    words = len(_SIGN.sub(" ", answer).split()) + math.ceil(len(_SIGN.findall(answer)) / 2)
    if words > MAX_EXACT_WORDS and not is_json_object(answer):
        return "sentence"
    has_digits = any(character.isdigit() for character in answer)
    return "text" if 1 < words <= MAX_EXACT_WORDS and has_digits else "exact"


def _marked_letters(question: str) -> set[str]:
    """Letters that the question marks as options, in capitals."""
    return {(large or small).upper() for large, small in _OPTION_MARK.findall(question)}


def is_json_object(answer: str) -> bool:
    try:
        return answer.startswith("{") and isinstance(json.loads(answer), dict)
    except (ValueError, RecursionError):
        return False


def is_mathematical(answer: str) -> bool:
    """Whether an answer is written as mathematics: by its signs, not by whether it has a value."""
    if _LATEX.search(answer) or FRACTION.fullmatch(answer) or _PAIR.fullmatch(answer):
        return True
    return _EQUATION.fullmatch(answer) is not None and _TERM.search(answer) is not None and _has_short_words(answer)


def _has_short_words(answer: str) -> bool:
    return all(len(word) <= 2 or word in _FUNCTIONS for word in re.findall(r"[A-Za-z]+", answer))
