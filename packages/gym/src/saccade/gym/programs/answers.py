"""Questions by the kind of their answer: a count, one of a closed set, yes or no, a name."""

from collections.abc import Iterable, Mapping, Sequence

from saccade.gym.program import ProgramQuestion
from saccade.gym.state import Element
from saccade.types import AnswerKind

Words = Mapping[str, str]


def ids(elements: Iterable[Element]) -> tuple[str, ...]:
    return tuple(one.id for one in elements)


def count_of(
    count: int,
    words: Words,
    evidence: Iterable[Element],
    said: str = "count them",
    *,
    wrong: Sequence[int] = (),
    code: str = "",
) -> ProgramQuestion:
    """A whole number; ``wrong`` are counts that a mistake would give."""
    return ProgramQuestion(
        answer=str(count),
        kind="integer",
        words=words,
        near=near_counts(count, *wrong),
        evidence=ids(evidence),
        conclusion=said,
        code=code,
    )


def choice_of(
    answer: str,
    choices: Sequence[str],
    words: Words,
    evidence: Iterable[Element],
    said: str = "clear now",
    *,
    wrong: Iterable[str] | None = None,
    code: str = "",
) -> ProgramQuestion:
    """One of a closed set; the hard negatives are ``wrong``, or all others."""
    options = tuple(dict.fromkeys(choices))
    near = options if wrong is None else tuple(dict.fromkeys(wrong))
    return ProgramQuestion(
        answer=answer,
        kind="choice",
        choices=options,
        words=words,
        near=tuple(text for text in near if text != answer),
        evidence=ids(evidence),
        conclusion=said,
        code=code,
    )


def yes_or_no(holds: bool, words: Words, evidence: Iterable[Element], said: str = "clear now") -> ProgramQuestion:
    """Whether something is so."""
    return choice_of(whether(holds), ("yes", "no"), words, evidence, said)


def whether(holds: bool) -> str:
    return "yes" if holds else "no"


def near_counts(count: int, *counts: int) -> tuple[str, ...]:
    """Counts that are wrong by a little or by mistake, each once."""
    wrong = dict.fromkeys([*counts, count + 1, count - 1])
    return tuple(str(one) for one in wrong if one >= 0 and one != count)


def told_of(
    answer: str,
    seen: Sequence[Element],
    *,
    kind: AnswerKind = "exact",
    words: Mapping[str, str] | None = None,
    near: Sequence[str] = (),
    choices: Sequence[str] = (),
) -> ProgramQuestion:
    """A question on the elements that it depends on, in order; the right answer is none of its near misses."""
    return ProgramQuestion(
        answer=answer,
        kind=kind,
        words=words or {},
        near=tuple(dict.fromkeys(text for text in near if text != answer)),
        choices=tuple(choices),
        evidence=tuple(dict.fromkeys(element.id for element in seen)),
        conclusion=answer,
    )
