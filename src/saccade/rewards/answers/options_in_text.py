"""Options that stand inside a question's own text: ``What is it? (A) cat (B) dog``."""

import re
from functools import lru_cache

_MARKS = (
    re.compile(r"(?:^|(?<=[\s,;:?]))\(([A-Z])\)\s*"),
    re.compile(r"(?:^|(?<=[\s,;:?]))([A-Z])\.\s+"),
    re.compile(r"(?:^|(?<=[\s,;:?]))([A-Z])[:)]\s*"),
)
MAX_OPTION_CHARACTERS = 500


@lru_cache(maxsize=4096)
def options_in(question: str) -> tuple[str, ...]:
    """The texts of the options A, B, C, … in their order; empty where the question marks fewer than two.

    All marks have one form, letters come in order and once each; the last series of them counts.
    """
    for mark in _MARKS:
        found = list(mark.finditer(question))
        starts = [place for place, match in enumerate(found) if match[1] == "A"]
        if not starts:
            continue
        series = found[starts[-1] :]
        if len(series) < 2 or [match[1] for match in series] != [chr(ord("A") + place) for place in range(len(series))]:
            continue
        ends = [*(match.start() for match in series[1:]), len(question)]
        # What follows the last option, such as a request for the form of the answer, is none of it.
        texts = [question[match.end() : end].split("\n")[0].strip(" \t,;") for match, end in zip(series, ends)]
        if all(0 < len(text) <= MAX_OPTION_CHARACTERS for text in texts):
            return tuple(texts)
    return ()
