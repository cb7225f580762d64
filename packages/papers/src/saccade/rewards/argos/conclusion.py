"""The conclusion of a reasoning: where it says the answer, which makes the answer probable by itself.

Said forty times, the answer is more probable than after an honest reasoning that says it once. So the teacher reads
each reasoning with one conclusion, the last, or with none.

A mention is the answer as a whole: the answer 2 is none in "2.5", "2,000" or "2nd". The words that stand before a noun
("a", "I", "no") are mentions where none follows: "a car" and "no parking" say neither A nor no.
"""

import re
import unicodedata
from collections import Counter
from functools import lru_cache

from saccade.quantities import NUMBER_WORDS
from saccade.rewards.answers.agreement import parts_of
from saccade.rewards.judges.addressing import folded
from saccade.types import Task

MASK = "…"
"""Stands for a mention that is taken out of a sentence, so that the rest of it stays one."""

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_BEFORE_NOUNS = frozenset({"a", "an", "i", "no", "one", "all", "both", "none"})
# What follows an answer and no article: "A is", "no, because".
_GOES_ON = (
    "is|was|has|says?|shows?|because|since|as|and|or|but|then|so|not|must|fits|matches|it|therefore|again|too|the|option"
    "|answer"
)
_NAMES_AN_OPTION = r"(?:(?<=option )|(?<=answer )|(?<=choice )|(?<=letter ))"


def with_one_conclusion(thoughts: str, answer: str, *spellings: str) -> str:
    """The thoughts with the last mention of the answer alone, and so of each of its ``spellings``.

    Of an answer of several parts ("white and black") each part stays as often as the answer has it. Earlier mentions
    are masked; those that only repeat one another are cut out. A sentence that hides the answer from such a look, by
    letters set apart or look-alikes, is cut out.
    """
    kept = " ".join(one for one in _SENTENCE_END.split(thoughts) if not _hides(one, answer))
    counts = Counter(parts_of(" ".join(answer.split())))
    others = {one: 1 for said in (answer, *spellings) for one in (said.strip(), *_plurals(said)) if one}
    for part, count in (*counts.items(), *((one, 1) for one in others if one not in counts)):
        kept = _with_last(kept, part, count)
    return kept


def without_conclusion(thoughts: str, *spellings: str) -> str:
    """The thoughts without the sentences that say the answer, in any of its spellings, as a whole.

    Letters set apart, look-alikes, emphasis and unseen characters hide no word.
    """
    said = [one.strip() for one in spellings if one.strip()]
    sentences = _SENTENCE_END.split(thoughts)
    return " ".join(one for one in sentences if not any(_says(one, spelling) for spelling in said))


def spellings_of(task: Task, answer: str) -> tuple[str, ...]:
    """The answer; of an option also its text, of a number also its word."""
    options = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", task.choices))
    option = options.get(answer.strip().strip("().").upper())
    number = answer.strip()
    word = NUMBER_WORDS[int(number)] if number.isdecimal() and int(number[:9]) < len(NUMBER_WORDS) else None
    return tuple(one for one in (answer, option, word) if one)


def _with_last(text: str, part: str, count: int) -> str:
    """The text with the last ``count`` mentions of a part; a mention right after another is a repetition."""
    mention = _mention(part)
    found = list(mention.finditer(text))
    pieces, end = [], 0
    for index, one in enumerate(found[: max(0, len(found) - count)]):
        gap = text[one.end() : found[index + 1].start()]
        before = text[found[index - 1].end() : one.start()] if index else "."
        repeats = not any(map(str.isalnum, gap)) or (not any(map(str.isalnum, before)) and index > 0)
        pieces.append(text[end : one.start()])
        end = one.end() + (len(gap) - len(gap.lstrip()) if repeats else 0)
        pieces.append("" if repeats else MASK)
    return "".join([*pieces, text[end:]])


def _says(sentence: str, spelling: str) -> bool:
    if _mention(spelling).search(sentence):
        return True
    if len(spelling) == 1:
        # Folded, the option A is the article.
        plain = unicodedata.normalize("NFKC", sentence)
        return plain != sentence and bool(_mention(spelling).search(plain))
    return bool(_mention(folded(spelling) or spelling).search(folded(sentence)))


def _hides(sentence: str, answer: str) -> bool:
    said = answer.strip()
    return bool(said) and not _mention(said).search(sentence) and _says(sentence, said)


def _plurals(said: str) -> tuple[str, ...]:
    word = said.strip()
    return (f"{word}s", f"{word}es") if len(word) > 2 and word.isalpha() else ()


@lru_cache(1024)
def _mention(text: str) -> re.Pattern[str]:
    """What finds mentions of a text; of an empty one nothing."""
    if not text.strip():
        return re.compile(r"(?!)")
    # An option's letter is not the article.
    case = re.NOFLAG if len(text) == 1 else re.IGNORECASE
    before = r"(?<![\w.,+\-−/])" if text[0].isdigit() else r"(?<!\w)"
    after = r"(?![\w%°]|[.,:/\-−]\d)" if text[-1].isdigit() else r"(?!\w)"
    whole = f"{before}{re.escape(text)}{after}"
    if text.casefold() in _BEFORE_NOUNS:
        alone = rf"{whole}(?!-\w)(?!\s+(?!(?:{_GOES_ON}|{re.escape(text)})\b)\w)"
        return re.compile(rf"{_NAMES_AN_OPTION}{whole}|{alone}", case)
    return re.compile(whole, case)
