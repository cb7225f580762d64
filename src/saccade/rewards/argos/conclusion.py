"""The conclusion of a reasoning: where it says the answer, which makes the answer probable by itself.

Said forty times, the answer is more probable than after an honest reasoning that says it once. So the teacher reads
each reasoning with one conclusion, the last, or with none.
"""

import re
from collections import Counter

from saccade.quantities import NUMBER_WORDS
from saccade.rewards.answers.agreement import parts_of
from saccade.rewards.judges.addressing import folded
from saccade.types import Task

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


def with_one_conclusion(thoughts: str, answer: str) -> str:
    """The thoughts with the last mention of the answer alone.

    Of an answer of several parts ("white and black") each part stays as often as the answer has it. A sentence that
    hides the answer from such a look, by letters set apart or look-alikes, is cut out.
    """
    kept = " ".join(one for one in _SENTENCE_END.split(thoughts) if not _hides(one, answer))
    for part, count in Counter(parts_of(" ".join(answer.split()))).items():
        word = _as_word(part)
        extra = len(word.findall(kept)) - count
        kept = re.compile(f"{word.pattern} ?", word.flags).sub("", kept, count=extra) if extra > 0 else kept
    return kept


def without_conclusion(thoughts: str, *spellings: str) -> str:
    """The thoughts without the sentences that say the answer, in any of its spellings, as a word.

    Letters set apart, look-alikes, emphasis and unseen characters hide no word.
    """
    words = [re.escape(plain) for one in spellings if (plain := folded(one) or one.strip())]
    said = re.compile(rf"(?<!\w)(?:{'|'.join(words)})(?!\w)")
    sentences = _SENTENCE_END.split(thoughts)
    return " ".join(one for one in sentences if not words or not said.search(folded(one)))


def spellings_of(task: Task, answer: str) -> tuple[str, ...]:
    """The answer; of an option also its text, of a number also its word."""
    options = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", task.choices))
    option = options.get(answer.strip().strip("().").upper())
    number = answer.strip()
    word = NUMBER_WORDS[int(number)] if number.isdecimal() and int(number[:9]) < len(NUMBER_WORDS) else None
    return tuple(one for one in (answer, option, word) if one)


def _hides(sentence: str, answer: str) -> bool:
    return not _as_word(answer.strip()).search(sentence) and bool(_as_word(folded(answer)).search(folded(sentence)))


def _as_word(text: str) -> re.Pattern[str]:
    # An option's letter is not the article.
    case = re.NOFLAG if len(text) == 1 else re.IGNORECASE
    return re.compile(rf"(?<!\w){re.escape(text)}(?!\w)" if text.strip() else r"(?!)", case)
