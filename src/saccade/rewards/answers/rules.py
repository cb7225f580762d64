"""Answer metrics, the standard ones of the field; none of them ever looks for a substring.

Each compares the answer as it was given and as ``replies`` strips it: ``**B**`` and ``The answer is B`` are ``B``.
"""

import re
import unicodedata
from collections.abc import Sequence
from itertools import combinations

from rapidfuzz.distance import Levenshtein

from saccade.quantities import NUMBER_WORDS, Quantity, number_in_words, parse_integer, parse_quantity, quantities_agree
from saccade.rewards.answers.doubts import doubts_of
from saccade.rewards.answers.expressions import evaluate, normal_form
from saccade.rewards.answers.replies import bare, stated_quantity, yes_or_no
from saccade.types import Task

__all__ = [
    "anls",
    "exact_match",
    "is_nearly",
    "math_equal",
    "multiple_choice",
    "relative_numeric",
    "relaxed_accuracy",
    "right_by_kind",
    "vqa_soft_accuracy",
]

MAX_ANSWER_CHARACTERS = 1000

TEXT_SIMILARITY = 0.8
"""From here on free text counts as right; at ANLS's own 0.5 "male" would pass for "female"."""

_YEAR = re.compile(r"(?:19[0-9]{2}|20[0-9]{2}|2100)")
_LETTER = re.compile(
    r"(?:(?:the |my )?(?:final |correct |best )?(?:answer|option|choice)(?: is)?\s*:?\s*(?:option )?)?"
    r"[(\[]?(?P<letter>[a-z])[)\]]?[.:]?",
    re.IGNORECASE,
)
_LETTER_AND_TEXT = re.compile(r"[(\[]?(?P<letter>[a-zA-Z])(?:[)\].:,]+\s*|\s+[-–—=]?\s*)(?P<text>\S.*)", re.DOTALL)
_DIGITS = re.compile(r"[0-9]+")


def right_by_kind(task: Task, answer: str | None) -> bool:
    """Whether the answer is right by the rule of ``task.answer_kind`` alone; no answer is wrong.

    ``metrics_by_set.answer_is_right`` is what to ask: it knows the metrics of published sets besides.
    ``text`` must reach ANLS 0.8 and hold the same digits in the same order.
    """
    if answer is None:
        return False
    match task.answer_kind:
        case "exact":
            return exact_match(answer, task.answer)
        case "choice":
            return multiple_choice(answer, task.answer, task.choices)
        case "integer":
            return _same_integer(answer, task.answer)
        case "number":
            return relative_numeric(answer, task.answer, task.tolerance)
        case "text":
            return any(is_nearly(said, task.answer) for said in said_forms(answer))


def exact_match(prediction: str, gold: str) -> bool:
    """Equal up to markup, case, white space, surrounding quotes and one final full stop; empty is never right.

    A sentence that says yes or no, such as ``No, it is not``, is that word.
    """
    if len(prediction) > max(MAX_ANSWER_CHARACTERS, 2 * len(gold)):
        return False
    wanted = _plain(gold)
    said = (_plain(prediction), _plain(bare(prediction)), yes_or_no(prediction))
    return wanted != "" and wanted in said


def multiple_choice(prediction: str, gold: str, choices: Sequence[str] = ()) -> bool:
    """Whether the prediction names the option that gold names, both by letter or by the option's whole text.

    ``B``, ``(b)``, ``**B.**``, ``Option B is correct``, ``B. a dog`` and ``a dog`` name an option; ``A or B``, ``B, not
    A`` and ``B. a cat`` with the text of another option do not. A lone letter is a letter even where an option's text
    is one. Without choices, letters are compared.
    """
    if len(prediction) > MAX_ANSWER_CHARACTERS:
        return False
    if not choices:
        given, wanted = _letter(bare(prediction)), _letter(gold)
        return given == wanted if given and wanted else exact_match(prediction, gold)
    return bool(options_named(prediction, choices) & options_named(gold, choices))


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
    """Both are numbers, and differ by at most ``tolerance`` times the gold; ``ValueError`` when gold is none."""
    wanted = parse_quantity(gold)
    if wanted is None:
        raise ValueError(f"the correct answer {gold[:80]!r} is not a number; give the task another answer kind")
    given = stated_quantity(prediction, of=wanted)
    return given is not None and quantities_agree(given, wanted, tolerance)


def math_equal(prediction: str, gold: str, tolerance: float = 1e-4) -> bool:
    """The same value within a relative tolerance; where gold has no value, the same characters without spaces."""
    if len(prediction) > MAX_ANSWER_CHARACTERS:
        return False
    wanted = evaluate(gold)
    if wanted is None:
        wanted_text = "".join(normal_form(gold).split())
        return wanted_text != "" and wanted_text in (
            "".join(normal_form(said).split()) for said in said_forms(prediction)
        )
    given = value_of(prediction, wanted)
    return given is not None and quantities_agree(given, wanted, tolerance)


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
    return 1.0 - Levenshtein.distance(given, wanted) / longer


def _same_integer(prediction: str, gold: str) -> bool:
    wanted = parse_integer(gold)
    if wanted is None:
        raise ValueError(f"the correct answer {gold[:80]!r} is not whole; give the task another answer kind")
    given = stated_quantity(prediction, of=Quantity(float(wanted)))
    return given is not None and given.value == wanted


def is_nearly(said: str, gold: str) -> bool:
    """Whether a text is similar to the gold, from ``TEXT_SIMILARITY`` on, with the same digits in the same order.

    It denies, doubts and offers no more than the gold: ``not Paris``, ``Paris?`` are not nearly ``Paris``.
    """
    has_digits = _DIGITS.findall(said) == _DIGITS.findall(gold)
    return has_digits and anls(said, [gold]) >= TEXT_SIMILARITY and doubts_of(said) == doubts_of(gold)


def _plain(text: str) -> str:
    words = " ".join(unicodedata.normalize("NFC", text).casefold().split())
    return words.removesuffix(".").strip("\"'`“”‘’ ") or words


def _letter(text: str) -> str | None:
    match = _LETTER.fullmatch(text.strip())
    return match["letter"].upper() if match else None


def options_named(text: str, choices: Sequence[str]) -> frozenset[int]:
    """Indices of the options that the text names; several only where options have the same text."""
    letters = [chr(ord("A") + index) for index in range(min(len(choices), 26))]
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


MATCHES_FOR_FULL_CREDIT = 3

_PUNCTUATION = ';/[]"{}()=+\\_-><@`,?!'
_DIGIT_COMMA = re.compile(r"[0-9],[0-9]")
_FULL_STOP = re.compile(r"\.(?![0-9])")
_NUMBER_WORDS = {"none": "0"} | {word: str(number) for number, word in enumerate(NUMBER_WORDS[:11])}
_ARTICLES = frozenset({"a", "an", "the"})
_WITH_APOSTROPHES = """
ain't aren't can't could've couldn't couldn't've didn't doesn't don't hadn't hadn't've hasn't haven't he'd
he'd've he's how'd how'll how's i'd've i'm i've isn't it'd it'd've it'll let's ma'am mightn't mightn't've
might've mustn't must've needn't not've o'clock oughtn't shan't she'd've should've shouldn't shouldn't've
somebody'd've somebody'll somebody's someone'd someone'd've someone'll someone's something'd something'd've
something'll that's there'd there'd've there're there's they'd they'd've they'll they're they've 'twas wasn't
we'd've we've weren't what'll what're what's what've when's where'd where's where've who'd who'd've who'll who's
who've why'll why're why's won't would've wouldn't wouldn't've y'all y'all'll y'all'd've you'd you'd've you'll
you're you've
"""


def _contractions() -> dict[str, str]:
    """Every spelling with an apostrophe left out, to the full spelling."""
    spellings: dict[str, str] = {}
    for word in _WITH_APOSTROPHES.split():
        places = [index for index, letter in enumerate(word) if letter == "'"]
        for count in range(1, len(places) + 1):
            for left_out in combinations(places, count):
                spellings["".join(c for i, c in enumerate(word) if i not in left_out)] = word
    return spellings


_CONTRACTIONS = _contractions()


def normalise_vqa(answer: str) -> str:
    """Lower case, without punctuation and articles, number words as digits, contractions with apostrophes."""
    text = answer.replace("\n", " ").replace("\t", " ").strip()
    has_digit_comma = _DIGIT_COMMA.search(text) is not None
    cleaned = text
    for sign in _PUNCTUATION:
        stands_free = sign + " " in text or " " + sign in text
        cleaned = cleaned.replace(sign, "" if stands_free or has_digit_comma else " ")
    cleaned = _FULL_STOP.sub("", cleaned)
    words = [_NUMBER_WORDS.get(word, word) for word in cleaned.lower().split()]
    return " ".join(_CONTRACTIONS.get(word, word) for word in words if word not in _ARTICLES)


def vqa_soft_accuracy(prediction: str, annotators: Sequence[str]) -> float:
    """Mean over annotators left out in turn of min(1, matches among the others / 3); between 0 and 1.

    With one annotator there is no other, and the answer counts when it is the same. The public script normalises only
    where annotators differ; here it is always done.
    """
    if not annotators:
        raise ValueError("no annotator's answer to compare with; pass at least one")
    if len(prediction) > MAX_ANSWER_CHARACTERS:
        return 0.0
    given = normalise_vqa(prediction)
    matches = [given == normalise_vqa(answer) for answer in annotators]
    if len(matches) == 1:
        return float(matches[0])
    credit = [min(1.0, (sum(matches) - match) / MATCHES_FOR_FULL_CREDIT) for match in matches]
    return sum(credit) / len(credit)
