"""Answer metrics, the standard ones of the field; none of them ever looks for a substring.

Each compares the answer as it was given and as ``replies`` strips it: ``**B**`` and ``The answer is B`` are ``B``.
"""

import json
import re
import unicodedata
from collections.abc import Sequence

from saccade.characters import half_width
from saccade.quantities import FRACTION, Quantity, number_in_words, parse_integer, parse_quantity, quantities_agree
from saccade.rewards.answers.expressions import (
    MAX_EXPRESSION_CHARACTERS,
    evaluate,
    is_worked_out,
    normal_form,
    same_expression,
)
from saccade.rewards.answers.replies import bare, doubts_of, stated_quantity, yes_or_no

__all__ = ["anls", "exact_match", "is_nearly", "math_equal", "multiple_choice", "relative_numeric", "relaxed_accuracy"]

MAX_ANSWER_CHARACTERS = 1000

TEXT_SIMILARITY = 0.8
"""From here on free text counts as right; at ANLS's own 0.5 "male" would pass for "female"."""

_YEAR = re.compile(r"(?:19[0-9]{2}|20[0-9]{2}|2100)")
_LETTER = re.compile(
    r"(?:(?:the |my )?(?:final |correct |best )?(?:answer|option|choice)(?: is)?\s*:?\s*(?:option )?)?"
    r"[(\[]?(?P<letter>[a-z])[)\]]?[.:]?",
    re.IGNORECASE,
)
_LETTER_AND_TEXT = re.compile(
    r"(?:(?i:option|choice)\s+)?[(\[]?(?P<letter>[a-zA-Z])(?:[)\].:,．、：）]+\s*|\s+[-–—=]?\s*)(?P<text>\S.*)",
    re.DOTALL,
)
_LATEX_FRACTION = re.compile(r"[+-]?[0-9]{0,9}\\[dtc]?frac(?:\{-?[0-9]{1,9}\}|[0-9]){2}")
_DIGITS = re.compile(r"[0-9]+")
_SIGNS = str.maketrans({**dict(zip("₀₁₂₃₄₅₆₇₈₉", "0123456789")), "♭": " flat", "♯": " sharp"})
_RANGE = re.compile(r"(?<=[0-9])\s*(?:[-‐-―−]|\bto\b)\s*(?=[0-9])")
"""What stands between two numbers of a range."""
_INDEX = re.compile(r"(?<=[a-z])_(?:\{([0-9]+)\}|([0-9]+))")
"""LaTeX's lower index, as in a formula of atoms."""
_AROUND_SIGNS = re.compile(r"\s*([,:;=])\s*")
_ARTICLE = re.compile(r"^(?:the|an?) (?=[a-z]{2})")


def exact_match(prediction: str, gold: str, *, takes_article: bool = False) -> bool:
    """Equal up to markup, case, white space, surrounding quotes and one final full stop; empty is never right.

    Any dash between two numbers or "to" is one (``80-90``), and lower indices and signs of music may be written out
    (``C5H12``, ``E flat``). ``takes_article`` lets "the pink cube" pass for "pink cube".
    """
    if len(prediction) > max(MAX_ANSWER_CHARACTERS, 2 * len(gold)):
        return False
    wanted = {_plain(gold), _plain(bare(gold))} - {""}
    said = {_plain(prediction), _plain(bare(prediction)), yes_or_no(prediction)}
    if takes_article:
        said |= {_ARTICLE.sub("", text) for text in said if text}
    return not wanted.isdisjoint(said) or (gold.startswith("{") and _same_json(bare(prediction), gold))


def _same_json(given: str, gold: str) -> bool:
    try:
        wanted = json.loads(gold)
        return isinstance(wanted, dict) and json.loads(given) == wanted
    except (ValueError, RecursionError):
        return False


def multiple_choice(prediction: str, gold: str, choices: Sequence[str] = (), *, has_letters: bool = True) -> bool:
    """Whether the prediction names the option that gold names, both by letter or by the option's whole text.

    ``B``, ``(b)``, ``**B.**``, ``Option B is correct``, ``B. a dog`` and ``a dog`` name an option; ``A or B``, ``B, not
    A`` and ``B. a cat`` with the text of another option do not. A lone letter is a letter even where an option's text
    is one. Without choices, letters are compared. ``has_letters`` says whether the question shows the options with
    their letters: where it does not, a letter names none, and an option is named by its text.
    """
    if len(prediction) > MAX_ANSWER_CHARACTERS:
        return False
    if not choices:
        given, wanted = _letter(bare(prediction)), _letter(gold)
        return given == wanted if given and wanted else exact_match(prediction, gold)
    right = options_named(gold, choices, has_letters=has_letters)
    return bool(options_named(prediction, choices, has_letters=has_letters) & right)


def relaxed_accuracy(prediction: str, gold: str, tolerance: float = 0.05, *, years_are_exact: bool = True) -> bool:
    """ChartQA's rule: numbers within 5 %, in digits or words, anything else exactly.

    A gold of 1900 to 2100 written with four digits is a year and must be met exactly unless ``years_are_exact`` is
    off (the public script lets 1990 pass for 2010). A gold of 0 is met by 0 in any spelling.
    """
    in_words = number_in_words(gold)
    wanted = parse_quantity(gold) if in_words is None else Quantity(float(in_words))
    given = stated_quantity(prediction, of=wanted) if wanted is not None else None
    if wanted is None or given is None:
        return exact_match(prediction, gold)
    is_year = years_are_exact and _YEAR.fullmatch(gold.strip()) is not None
    return quantities_agree(given, wanted, 0.0 if is_year else tolerance)


def relative_numeric(prediction: str, gold: str, tolerance: float) -> bool:
    """Both are numbers, and differ by at most ``tolerance`` times the gold; ``ValueError`` when gold is none.

    A fraction is a number too: ``1/2`` and ``\\frac12`` are 0.5.
    """
    wanted = parse_quantity(gold)
    if wanted is None:
        raise ValueError(f"the correct answer {gold[:80]!r} is not a number; give the task another answer kind")
    given = _number_in(prediction, wanted) or _fraction_in(prediction)
    return given is not None and quantities_agree(given, wanted, tolerance)


def math_equal(prediction: str, gold: str, tolerance: float = 1e-4) -> bool:
    """The same value within a relative tolerance.

    Where gold has no value: the same formula wherever its letters are, the same characters without spaces, or the same
    values where it has several (``same_values``).
    """
    if len(prediction) > MAX_ANSWER_CHARACTERS:
        return False
    wanted = evaluate(gold)
    if wanted is None:
        return any(_same_formula(said, gold, tolerance) for said in said_forms(prediction))
    given = value_of(prediction, wanted)
    is_same = given is not None and quantities_agree(given, wanted, tolerance)
    return is_same and any(is_worked_out(said, gold) for said in said_forms(prediction))


def _same_formula(said: str, gold: str, tolerance: float) -> bool:
    wanted = "".join(normal_form(gold).split())
    if wanted == "" or "".join(normal_form(said).split()) == wanted:
        return wanted != ""
    from saccade.rewards.answers.several_values import same_values

    values = same_values(said, gold, lambda given, part: math_equal(given, part, tolerance))
    return same_expression(said, gold) if values is None else values


def value_of(prediction: str, wanted: Quantity) -> Quantity | None:
    """The value of an expression, or the number that a sentence states; None where there is none."""
    return evaluate(prediction) or evaluate(bare(prediction)) or stated_quantity(prediction, of=wanted)


def said_forms(prediction: str) -> tuple[str, str]:
    """The answer as it was given, and stripped."""
    return prediction, bare(prediction)


def anls(prediction: str, golds: Sequence[str], threshold: float = 0.5) -> float:
    """Best normalised Levenshtein similarity to any gold, 0.0 where it is below the threshold.

    Case, runs of white space and dress do not count. Exactly at the threshold the similarity is kept, as in the public
    evaluation script of DocVQA.
    """
    if not golds:
        raise ValueError("no correct answer to compare with; pass at least one")
    best = max(_similarity(said, gold, threshold) for gold in golds for said in said_forms(prediction))
    return best if best >= threshold else 0.0


def _similarity(prediction: str, gold: str, threshold: float) -> float:
    given, wanted = " ".join(prediction.lower().split()), " ".join(gold.lower().split())
    longer = max(len(given), len(wanted))
    # Bounds the work too: an answer of very different length cannot reach the threshold.
    if longer == 0 or min(len(given), len(wanted)) < threshold * longer:
        return 0.0
    return 1.0 - edit_distance(given, wanted) / longer


def edit_distance(first: str, second: str) -> int:
    """Levenshtein's distance in characters.

    Myers' bit vectors (J. ACM 46, 1999), a column of the table at once: bits of ``up`` and ``down`` say where it rises
    and falls by one from row to row.
    """
    places: dict[str, int] = {}
    for place, character in enumerate(first):
        places[character] = places.get(character, 0) | 1 << place
    every, last, distance = (1 << len(first)) - 1, 1 << len(first) >> 1, len(first)
    if not first:
        return len(second)
    up, down = every, 0
    for character in second:
        same = places.get(character, 0)
        crossed = (((same & up) + up) ^ up) | same
        rises, falls = (down | ~(crossed | up)) & every, up & crossed
        distance += bool(rises & last) - bool(falls & last)
        rises, falls = (rises << 1 | 1) & every, falls << 1 & every
        up, down = falls | (~(same | down | rises) & every), rises & (same | down)
    return distance


def same_integer(prediction: str, gold: str) -> bool:
    """Both are the same whole number, in digits or words; ``ValueError`` when gold is none."""
    wanted = parse_integer(gold)
    if wanted is None:
        raise ValueError(f"the correct answer {gold[:80]!r} is not whole; give the task another answer kind")
    given = _number_in(prediction, Quantity(float(wanted)))
    return given is not None and given.value == wanted


def _number_in(prediction: str, wanted: Quantity) -> Quantity | None:
    """The number that a reply states, perhaps as ``x = 5`` or in LaTeX."""
    given = stated_quantity(prediction, of=wanted)
    if given is None and len(prediction) <= MAX_EXPRESSION_CHARACTERS:
        return stated_quantity(normal_form(bare(prediction)), of=wanted)
    return given


def _fraction_in(prediction: str) -> Quantity | None:
    plain = bare(prediction)
    is_fraction = FRACTION.fullmatch(plain) or _LATEX_FRACTION.fullmatch("".join(plain.split()))
    return evaluate(plain) if is_fraction else None


def is_nearly(said: str, gold: str) -> bool:
    """Whether a text is similar to the gold, from ``TEXT_SIMILARITY`` on, with the same digits in the same order.

    It denies, doubts and offers no more than the gold: ``not Paris``, ``Paris?`` are not nearly ``Paris``.
    """
    has_digits = _DIGITS.findall(said) == _DIGITS.findall(gold)
    return has_digits and anls(said, [gold]) >= TEXT_SIMILARITY and doubts_of(said) == doubts_of(gold)


def _plain(text: str) -> str:
    words = " ".join(unicodedata.normalize("NFC", half_width(text)).translate(_SIGNS).casefold().split())
    words = _AROUND_SIGNS.sub(r"\1", _INDEX.sub(r"\1\2", _RANGE.sub("-", words)))
    return words.removesuffix(".").removesuffix("。").strip("\"'`“”‘’「」『』 ") or words


def _letter(text: str) -> str | None:
    match = _LETTER.fullmatch(text.strip())
    return match["letter"].upper() if match else None


def options_named(text: str, choices: Sequence[str], *, has_letters: bool = True) -> frozenset[int]:
    """Indices of the options that the text names, by letter too where they have any; several where texts are equal."""
    letters = [chr(ord("A") + index) for index in range(min(len(choices), 26))] if has_letters else []
    forms = said_forms(text)
    letter = next((named for said in forms if (named := _letter(said)) in letters), None)
    if letter is not None:
        return frozenset({letters.index(letter)})
    same_text = frozenset(index for index, choice in enumerate(choices) if exact_match(text, choice))
    if same_text:
        return same_text
    for both in filter(None, map(_LETTER_AND_TEXT.fullmatch, forms)):
        if both["letter"].upper() in letters:
            index = letters.index(both["letter"].upper())
            return frozenset({index}) if exact_match(both["text"], choices[index]) else frozenset()
    return frozenset()
