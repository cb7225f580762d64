"""The answer that a reply commits to, without emphasis, a box, "The answer is", "is correct" or a noun.

``**B**``, ``$\\boxed{B}$``, ``Option B is correct`` and ``There are 3 cats`` say what ``B`` and ``3`` say. A reply is
stripped from the outside, layer by layer, and whatever is left counts whole: nothing is ever searched for inside it.
What it commits to does not depend on the right answer, so that a reply which offers several commits to none of them.
"""

import re
import unicodedata
from functools import lru_cache

from saccade.characters import half_width, without_inline_dollars
from saccade.quantities import NUMBER_WORDS, Quantity, number_in_words, parse_quantity

MAX_REPLY_CHARACTERS = 1000
MAX_LAYERS = 12
MAX_NOUN_WORDS = 10

# Words and signs by which a text denies, doubts or offers a choice. Beside a right answer they say something else than
# the answer does, however few letters they add to it.
_DENIALS = """
not no nor never neither none without cannot except but unless instead rather wrong incorrect false untrue mistaken
denied unlikely impossible doubtful hardly isnt arent wasnt werent dont doesnt didnt cant couldnt wouldnt
"""
_DOUBTS = """
or either maybe perhaps possibly probably presumably guess unsure uncertain could might would seem seems if whether
about approximately around roughly almost nearly least alternatively otherwise else
"""
DOUBTS = frozenset(_DENIALS.split()) | frozenset(_DOUBTS.split())

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_SIGN = re.compile(r"[?|~<>±≠¬≈≤≥+]|[^\W\d_]\s*/\s*(?=[^\W\d_])")

_EMPHASIS = (
    re.compile(r"(?<![\w*])(\*{2,3})(?=\S)([^*]+)(?<=\S)\1(?![\w*])"),
    re.compile(r"(?<!\w)(__)(?=\S)([^_]+)(?<=\S)__(?!\w)"),
    re.compile(r"(`)([^`]+)`"),
)
_GLM_BOX = ("<|begin_of_box|>", "<|end_of_box|>")
_AROUND = (("**", "**"), ("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"), ("*", "*"), ("_", "_"), _GLM_BOX)
_COMMAND = re.compile(r"\\(?:boxed|fbox|text|textbf|mathrm|mathbf|mathit)\s*(\{.*\})", re.DOTALL)
_HEADING = re.compile(r"#{1,6}\s+")
_CALLED_OUT = re.compile(r"(?<=[^\W\d_])!+$")
_LEAD = re.compile(
    r"(?:(?:so|thus|hence|therefore)\b,?\s*)?"
    r"(?:(?:(?:the|my)\s+)?(?:(?:final|correct|right|best)\s+)*(?:answer|option|choice|result)"
    r"(?:\s+to\s+(?:the|this)\s+question)?(?:\s+(?:is|must\s+be|should\s+be|would\s+be)\b\s*:?|\s*[:=])"
    r"|i\s+(?:choose|select|pick|(?:think|believe|say)(?:\s+that)?(?:\s+(?:it\s+is|it['’]s)\b)?)\b"
    r"|(?:it|this|that)\s+is\b|it['’]s\b|(?:they|these)\s+are\b"
    # Chinese, Japanese, Korean
    r"|(?:(?:因此|所以|故),?)?(?:(?:最终|正确|正確)?答案(?:应该是|應該是|应为|應為|应是|應是|是|为|為)?:?|(?:应|應)?(?:选|選)(?:择|擇)?(?:项|項)?:?)"
    r"|(?:答え|正解)は|(?:정답|답)은)\s*",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"\s+is\s+(?:(?:the\s+)?(?:correct|right|best)(?:\s+(?:answer|option|choice|one))?|the\s+answer)|です|입니다",
    re.IGNORECASE,
)
_AFFIRMED = re.compile(
    r"(?:yes,?\s+(?:it|they|this|that|there|he|she)\s+(?:is|are|was|were|do|does|did|has|have|can)"
    r"|no,?\s+(?:it|they|this|that|there|he|she)\s+"
    r"(?:(?:is|are|was|were|do|does|did|has|have|can)(?:\s+not|n['’]t)|cannot|can['’]t))",
    re.IGNORECASE,
)
_COUNTING = re.compile(
    r"(?:there\s+(?:is|are|was|were)|(?:i|we|you)\s+(?:can\s+)?(?:see|count)|"
    r"(?:the|this)\s+(?:image|picture|photo|scene)\s+(?:shows|contains|has)|"
    r"the\s+(?:total|count|number|total\s+number)(?:\s+of(?:\s+[a-z'-]+){1,6})?\s+is)\s+"
    r"(?:(?:exactly|a\s+total\s+of)\s+)?",
    re.IGNORECASE,
)
_NOUN_WORD = re.compile(r"[^\W\d_][^\W\d_'’-]*(?:['’-][^\W\d_]+)*,?")
_OTHER_AMOUNTS = """
and plus minus times more fewer less than most to through out both per each every half quarter other others versus
vs dozen dozens hundred hundreds thousand thousands million millions billion billions trillion
thirty forty fifty sixty seventy eighty ninety
"""
_SECOND_THOUGHTS = frozenset(_OTHER_AMOUNTS.split()) | frozenset(NUMBER_WORDS)
"""A number before one of these is not all that is said of how many there are."""
_JUDGING = ("is", "was", "has", "seems", "looks", "sounds")


@lru_cache(maxsize=256)
def bare(reply: str) -> str:
    """The reply without emphasis, box, lead and tail; a reply of more than ``MAX_REPLY_CHARACTERS`` as it is.

    Wide letters and digits are those of ASCII.
    """
    text = half_width(reply).strip()
    if len(text) > MAX_REPLY_CHARACTERS:
        return text
    for _ in range(MAX_LAYERS):
        inner = _without_a_layer(text).strip()
        if inner in (text, ""):
            break
        text = inner
    return without_inline_dollars(text)


def yes_or_no(reply: str) -> str | None:
    """``yes`` or ``no`` where the reply is that word, alone or in a sentence that agrees with it: ``No, it is not``."""
    text = bare(reply).casefold()
    if text in ("yes", "no"):
        return text
    return text.partition(" ")[0].rstrip(",") if _AFFIRMED.fullmatch(text) else None


def stated_quantity(reply: str, *, of: Quantity) -> Quantity | None:
    """The number that the reply states, in digits or words, alone or as a count: ``There are three cats``.

    A noun is passed over only where ``of``, the right answer, has no unit that it could contradict.
    """
    text = bare(reply)
    if len(text) > MAX_REPLY_CHARACTERS:
        return None
    words = _COUNTING.sub("", text, count=1).split() if _COUNTING.match(text) else text.split()
    # The longest beginning that is a number, for "3 million people" are not 3.
    for end in range(min(len(words), 8), 0, -1):
        number = _number(" ".join(words[:end]))
        if number is not None:
            noun = words[end:]
            fits = not noun or number.unit != "" or of.unit == ""
            return number if fits and _is_noun(noun) else None
    return None


def _number(text: str) -> Quantity | None:
    in_words = number_in_words(text)
    return parse_quantity(text) if in_words is None else Quantity(float(in_words))


def _is_noun(words: list[str]) -> bool:
    if len(words) > MAX_NOUN_WORDS or (words and len(words[0]) < 2):
        return False
    plain = [word.removesuffix(",").casefold() for word in words]
    named = all(_NOUN_WORD.fullmatch(word) for word in words)
    # "14 is wrong", in whatever words, judges the number and counts nothing.
    if plain and plain[0] in _JUDGING:
        return False
    parts = [part for word in plain for part in (word, *word.split("-"))]
    return named and not any(part in _SECOND_THOUGHTS or is_doubt(part) for part in parts)


def _without_a_layer(text: str) -> str:
    for emphasis in _EMPHASIS:
        text = emphasis.sub(r"\2", text)
    heading = _HEADING.match(text)
    text = _CALLED_OUT.sub("", text[heading.end() :] if heading else text)
    if len(text) > 1 and text.endswith((".", "。")) and not text.endswith("..."):
        text = text[:-1].rstrip()
    command = _COMMAND.fullmatch(text)
    if command and _is_one_group(command[1]):
        return command[1][1:-1]
    for opening, closing in _AROUND:
        inner = text[len(opening) : -len(closing)]
        if text.startswith(opening) and text.endswith(closing) and inner and opening not in inner:
            return inner
    lead = _LEAD.match(text)
    if lead and lead.end() < len(text):
        return text[lead.end() :]
    tail = next((match for match in _TAIL.finditer(text) if match.end() == len(text)), None)
    return text[: tail.start()] if tail else text


def _is_one_group(braced: str) -> bool:
    """Whether the brace at the start closes at the end."""
    depth = 0
    for place, sign in enumerate(braced):
        depth += (sign == "{") - (sign == "}")
        if depth == 0:
            return place == len(braced) - 1
    return False


def is_doubt(word: str) -> bool:
    """Whether a word in small letters denies, doubts or offers a choice; ``isn't`` does."""
    return word in DOUBTS or word.endswith(("n't", "n’t"))


def doubts_of(text: str) -> tuple[str, ...]:
    """All words of doubt and denial in a text, its signs of them, and its lone letters but for ``a`` and ``i``, sorted.

    A lone letter is a name: ``Section A`` is not ``Section B``.
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    words = _WORD.findall(plain)
    found = [word for word in words if is_doubt(word) or (len(word) == 1 and word not in "ai")]
    return tuple(sorted([*found, *(sign[-1] if len(sign) == 1 else "/" for sign in _SIGN.findall(plain))]))
