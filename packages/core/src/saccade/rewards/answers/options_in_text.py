"""Options that stand inside a question's own text: ``What is it? (A) cat (B) dog``."""

import re
from functools import lru_cache

_MARKS = (
    re.compile(r"(?:^|(?<=[\s,;:?？，；：。]))[(（]([A-Z]|[a-z])[)）]\s*"),
    re.compile(r"(?:^|(?<=[\s,;:?？，；：。]))([A-Z])(?:\.\s+|[．、]\s*)"),
    re.compile(r"(?:^|(?<=[\s,;:?？，；：。]))([A-Z])[:)：]\s*"),
)
MAX_OPTION_CHARACTERS = 500


@lru_cache(maxsize=4096)
def options_in(question: str) -> tuple[str, ...]:
    """The texts of the options A, B, C, … in their order; empty where the question marks fewer than two."""
    marks = option_marks(question)
    ends = [*(match.start() for match in marks[1:]), len(question)]
    # What follows the last option, such as a request for the form of the answer, is none of it.
    texts = [question[match.end() : end].split("\n")[0].strip(" \t,;") for match, end in zip(marks, ends)]
    return tuple(texts) if all(0 < len(text) <= MAX_OPTION_CHARACTERS for text in texts) else ()


def option_marks(question: str) -> tuple[re.Match[str], ...]:
    """The marks A, B, C, … before the options, the letter as group 1; none where there are fewer than two.

    All marks have one form, letters come in order and once each; the last series of a form counts. Letters in brackets
    go before others, and of these the series that begins first: in ``A: Plan A. It is cheap, B: Plan B.`` the full
    stops mark nothing.
    """
    in_brackets, *others = (_last_series(mark, question) for mark in _MARKS)
    return in_brackets or min(filter(None, others), key=lambda series: series[0].start(), default=())


def _last_series(mark: re.Pattern[str], question: str) -> tuple[re.Match[str], ...]:
    marks = list(mark.finditer(question))
    start = max((place for place, match in enumerate(marks) if match[1].upper() == "A"), default=len(marks))
    series = tuple(marks[start:])
    in_order = [chr(ord("A") + place) for place in range(len(series))]
    return series if len(series) > 1 and [match[1].upper() for match in series] == in_order else ()
