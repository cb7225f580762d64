"""Values of mathematical answers: fractions, roots, pi, powers, functions, letters, in plain text or LaTeX.

Hostile input costs at most a few hundred tokens.
"""

import re

from saccade.quantities import UNITS, Quantity, parse_quantity
from saccade.rewards.answers.calculator import NAMES, NotAnExpressionError, calculate, letters_in, tokens_of

MAX_EXPRESSION_CHARACTERS = 256
MAX_LETTERS = 6

_SPELLINGS = (
    (r"\dfrac", r"\frac"),
    (r"\tfrac", r"\frac"),
    (r"\cfrac", r"\frac"),
    (r"\left", ""),
    (r"\right", ""),
    (r"\(", ""),
    (r"\)", ""),
    (r"\[", ""),
    (r"\]", ""),
    (r"\,", ""),
    (r"\;", ""),
    (r"\:", ""),
    (r"\!", ""),
    (r"\ ", " "),
    (r"\qquad", " "),
    (r"\quad", " "),
    ("{,}", ","),
    ("~", " "),
    (r"\$", ""),
    ("$", ""),
    (r"\times", "*"),
    (r"\cdot", "*"),
    ("×", "*"),
    ("·", "*"),
    (r"\div", "/"),
    ("÷", "/"),
    ("−", "-"),
    ("**", "^"),
    (r"^{\circ}", "°"),
    (r"^\circ", "°"),
    (r"\circ", "°"),
    (r"\degree", "°"),
    ("^°", "°"),
    ("^{°}", "°"),
    (r"\%", "%"),
    (r"\pi", " pi "),
    ("π", " pi "),
    (r"\sqrt", " sqrt "),
    ("√", " sqrt "),
    ("∛", " sqrt[3]"),
    ("²", "^2"),
    ("³", "^3"),
    (r"\frac", " frac "),
    (r"\leqslant", "≤"),
    (r"\geqslant", "≥"),
    (r"\leq", "≤"),
    (r"\geq", "≥"),
    (r"\le", "≤"),
    (r"\ge", "≥"),
    (r"\lt", "<"),
    (r"\gt", ">"),
    (r"\neq", "≠"),
    (r"\ne", "≠"),
    ("<=", "≤"),
    (">=", "≥"),
    ("!=", "≠"),
    (r"\infty", "∞"),
    (r"\pm", "±"),
    (r"\angle", "∠"),
    (r"\triangle", "△"),
    (r"\parallel", "∥"),
    (r"\perp", "⊥"),
    (r"\{", "{"),
    (r"\}", "}"),
)
"""LaTeX and Unicode to the calculator's own signs, in this order."""

_SETS = {"in": "∈", "notin": "∉", "cup": "∪", "cap": "∩", "emptyset": "∅", "varnothing": "∅"}
_OF_SETS = re.compile(r"\\(" + "|".join(_SETS) + r")(?![A-Za-z])")
_SCIENTIFIC = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?[eE][+-]?[0-9]{1,3}")
_FUNCTION = re.compile(r"\\(" + "|".join(sorted(NAMES - {"sqrt", "frac", "pi", "e"})) + r")(?![A-Za-z])")
_TEXT_COMMAND = re.compile(r"\\(?:text|mathrm|mathbf|textbf|operatorname|boxed)\s*\{([^{}]*)\}")
_BOXED = re.compile(r"\\boxed\s*\{(.*)\}")
_LEFT_SIDE = re.compile(
    r"(?:[A-Za-z]{1,3}(?:_\{?[0-9]+\}?)?|[A-Za-z]\([A-Za-z]\)|\|[A-Za-z]{1,2}\||\([A-Za-z](?:\s*,\s*[A-Za-z])+\))"
    r"\s*(?:=(?!=)|∈)"
)
_ANGLE_SIDE = re.compile(r"(?:m\s*)?(?:\\angle|∠)\s*[A-Z]{0,3}\s*=")
_WITH_UNIT = re.compile(r"(.*(?:[0-9)}\]]|pi))\s*(°|%|[A-Za-z]+(?:\^(?:[23]|\{[23]\}))?)")
_THOUSANDS = re.compile(r"(?<![0-9.,])[0-9]{1,3}(?:,[0-9]{3})+(?![0-9,])")
_POWER = re.compile(r"\s+\^")
_MIXED = re.compile(r"(-?)([0-9]+)\s+([0-9]+)/([0-9]+)")
_RELATION = re.compile(r"[=<>≤≥≠]")
_MIRRORED = {"<": ">", ">": "<", "≤": "≥", "≥": "≤"}
_STEPS = (
    re.compile(r"(?<=[0-9)}i°])\s*[+]"),
    re.compile(r"(?<=[0-9)}i°])\s*-"),
    re.compile(r"[0-9)}]\s*\*\s*[0-9(]+(?!\s*\^)(?![0-9(])"),
    re.compile(r"/[^/]*/"),
    re.compile(r"\b(?:" + "|".join(sorted(NAMES - {"sqrt", "frac", "pi", "e"})) + r")\b"),
)
"""Signs of a calculation that is still to be done."""
_POINTS = (0.7320, 1.9137, -1.3719, 3.1051)
"""Values of letters at which two expressions must agree; no answer can choose them."""
_TOLERANCE = 1e-9
_WORD = re.compile(r"[A-Za-z]{3,}")


def normal_form(text: str, *, has_left_side: bool = False) -> str:
    """The answer in the calculator's signs, without a box, and unless ``has_left_side`` without one such as ``x =``."""
    body = text.strip().removesuffix(".").strip("$ ")
    boxed = _BOXED.fullmatch(body)
    body = _FUNCTION.sub(r" \1 ", _TEXT_COMMAND.sub(r" \1 ", boxed[1] if boxed else body))
    for spelling, sign in _SPELLINGS:
        body = body.replace(spelling, sign)
    body = _OF_SETS.sub(lambda match: _SETS[match[1]], body)
    body = _POWER.sub("^", body).strip()
    left = None if has_left_side else _LEFT_SIDE.match(body) or _ANGLE_SIDE.match(body)
    return body[left.end() :].strip() if left else body


def evaluate(text: str) -> Quantity | None:
    """The value of the whole text, or None when it is not an expression or leaves the bounds.

    ``3/4``, ``\\frac{\\sqrt{3}}{2}``, ``\\frac12``, ``2π``, ``2(3+1)``, ``1 1/2``, ``-2^2``, ``x = 5``, ``60^\\circ``,
    ``12 cm^2``, ``\\sqrt[3]{8}``, ``\\sin 30^\\circ``, ``1{,}000``.
    """
    if len(text) > MAX_EXPRESSION_CHARACTERS:
        return None
    body, unit = normal_form(text), ""
    if _SCIENTIFIC.fullmatch(body):
        return parse_quantity(body)
    with_unit = _WITH_UNIT.fullmatch(body)
    if with_unit:
        base, _, power = with_unit[2].partition("^")
        if base.casefold() in UNITS and not _is_of_a_function(with_unit[1]):
            body, unit = with_unit[1], UNITS[base.casefold()] + ("^" + power.strip("{}") if power else "")
    tokens = tokens_of(_plain_numbers(body))
    if tokens is None:
        return None
    try:
        return Quantity(calculate(tokens), unit)
    except NotAnExpressionError:
        return None


def is_worked_out(said: str, gold: str) -> bool:
    """Whether an expression leaves no more to be calculated than the right answer does.

    ``17*23`` and ``\\sin 30^\\circ`` say no more than the question did, whatever their values. Fractions, roots and
    powers are results; sums, differences, products of two numbers and functions are where the right answer has them.
    """
    given, wanted = normal_form(said), normal_form(gold)
    return all(len(step.findall(given)) <= len(step.findall(wanted)) for step in _STEPS)


def same_expression(given: str, wanted: str) -> bool:
    """Whether two texts with letters are equal wherever the letters are: ``3x + 2y = 7`` and ``2y + 3x = 7``.

    Of equations and inequalities both sides must agree, or change places; ``2x + 1`` is ``y = 2x + 1``. ``given`` may
    use no other letters, and a word is no product of its letters.
    """
    if max(len(given), len(wanted)) > MAX_EXPRESSION_CHARACTERS or _WORD.search(_without_names(wanted)):
        return False
    sides, signs = _sides(wanted)
    other_sides, other_signs = _sides(given)
    if signs == ["="] and not other_signs and len(sides[0]) == 1 and sides[0].isalpha() and sides[0] not in sides[1]:
        sides, signs = sides[1:], []
    if len(sides) != len(other_sides) or not all(sides) or not all(other_sides):
        return False
    if signs == other_signs and all(map(_agree, other_sides, sides)):
        return True
    turned = [_MIRRORED.get(sign, sign) for sign in reversed(other_signs)]
    return len(sides) > 1 and signs == turned and all(map(_agree, reversed(other_sides), sides))


def _without_names(text: str) -> str:
    """The text without LaTeX commands and the names of functions."""
    return re.sub(r"\\[A-Za-z]+|\b(?:" + "|".join(sorted(NAMES)) + r")\b", " ", text)


def _sides(text: str) -> tuple[list[str], list[str]]:
    body = _whole_form(text)
    return [side.strip() for side in _RELATION.split(body)], _RELATION.findall(body)


def _whole_form(text: str) -> str:
    """``normal_form`` with the left side kept where letters stand on the right too."""
    body = normal_form(text)
    tokens = tokens_of(body)
    if tokens and letters_in(tokens) and "=" in text:
        # The left side, such as y, is part of an equation.
        return normal_form(text, has_left_side=True)
    return body


def _agree(given: str, wanted: str) -> bool:
    tokens, others = tokens_of(_plain_numbers(wanted)), tokens_of(_plain_numbers(given))
    if tokens is None or others is None:
        return "".join(given.split()) == "".join(wanted.split())
    letters = sorted(letters_in(tokens))
    if not letters_in(others) <= set(letters) or len(letters) > MAX_LETTERS:
        return False
    compared = 0
    for start in range(len(_POINTS)):
        values = {name: _POINTS[(start + 3 * place) % len(_POINTS)] + place for place, name in enumerate(letters)}
        try:
            here = calculate(list(tokens), values)
        except NotAnExpressionError:
            continue
        try:
            there = calculate(list(others), values)
        except NotAnExpressionError:
            return False
        if abs(here - there) > _TOLERANCE * max(1.0, abs(here)):
            return False
        compared += 1
    return compared > 0


def _plain_numbers(body: str) -> str:
    """Mixed numbers as sums, and thousands without their commas."""
    mixed = _MIXED.fullmatch(body.strip())
    if mixed:
        body = f"{mixed[1]}({mixed[2]}+{mixed[3]}/{mixed[4]})"
    return _THOUSANDS.sub(lambda match: match[0].replace(",", ""), body)


def _is_of_a_function(body: str) -> bool:
    """Whether the sign of a degree belongs to the argument of ``sin`` and its like."""
    return re.search(r"\b(?:sin|cos|tan)\s*\(?\{?[^()]*$", body) is not None
