"""Programs that count things: all, by what they are, by two descriptions, even or odd, at least so many."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from string import Template

from saccade.gym.code_experts import PRELUDE
from saccade.gym.program import Asking, Program, ProgramQuestion, program
from saccade.gym.programs.answers import Words, choice_of, count_of, whether, yes_or_no
from saccade.gym.programs.choosing import Population, chosen, others, values
from saccade.gym.state import Element, SceneState


@dataclass(frozen=True, kw_only=True, slots=True)
class Description:
    """A way to say which things are meant."""

    name: str
    phrase: Callable[[Population], str]
    fits: Callable[[str, str, Words], bool]
    """Whether a thing of this tint and this sort is meant by the words."""
    least: tuple[int, int, int] = (0, 0, 0)
    most: tuple[int, int, int] = (0, 0, 0)
    """Counts at the levels 0, 0.5 and 1 between which all are asked for equally often; 0 where any is asked for."""
    code: str = ""
    """Python that leaves how many there are in ``count``."""


_COLOUR_CODE = PRELUDE + "\ncount = cv2.connectedComponents(mask_of('$tint'))[0] - 1\n"
_EITHER_CODE = PRELUDE + (
    "\ncount = sum(cv2.connectedComponents(mask_of(name))[0] - 1 for name in ('$tint', '$other_tint'))\n"
)

DESCRIPTIONS = (
    Description(name="all", phrase=lambda of: "{many}", fits=lambda tint, sort, words: True),
    Description(
        name="by_{tint}",
        most=(2, 3, 7),
        phrase=lambda of: of.phrases.tint,
        fits=lambda tint, sort, words: tint == words["tint"],
        code=_COLOUR_CODE,
    ),
    Description(
        name="by_{sort}",
        least=(1, 1, 1),
        most=(2, 4, 7),
        phrase=lambda of: of.phrases.sort,
        fits=lambda tint, sort, words: sort == words["sort"],
    ),
    Description(
        name="by_both",
        most=(2, 2, 4),
        phrase=lambda of: of.phrases.both,
        fits=lambda tint, sort, words: (tint, sort) == (words["tint"], words["sort"]),
    ),
    Description(
        name="of_two_{tint}s",
        most=(2, 5, 9),
        phrase=lambda of: of.phrases.either,
        fits=lambda tint, sort, words: tint in (words["tint"], words["other_tint"]),
        code=_EITHER_CODE,
    ),
    Description(
        name="not_of_{tint}",
        least=(1, 3, 6),
        most=(3, 7, 14),
        phrase=lambda of: of.phrases.not_tint,
        fits=lambda tint, sort, words: tint != words["tint"],
    ),
    Description(
        name="of_{sort}_not_{tint}",
        most=(2, 4, 7),
        phrase=lambda of: of.phrases.sort_not_tint,
        fits=lambda tint, sort, words: sort == words["sort"] and tint != words["tint"],
    ),
    Description(
        name="{tint}_or_{sort}",
        least=(1, 1, 2),
        most=(3, 6, 11),
        phrase=lambda of: of.phrases.tint_or_sort,
        fits=lambda tint, sort, words: tint == words["tint"] or sort == words["sort"],
    ),
)
BY_TINT = DESCRIPTIONS[1]


def counting_programs(population: Population) -> tuple[Program, ...]:
    """All programs of this module for a population."""
    counts = tuple(_count(population, one) for one in DESCRIPTIONS)
    return (*counts, _parity(population, BY_TINT), _at_least(population, BY_TINT))


def _elements_fitting(
    population: Population, elements: Sequence[Element], one: Description, words: Words
) -> list[Element]:
    return [e for e in elements if one.fits(population.tint_of(e), population.sort_of(e), words)]


def _some_words(
    asking: Asking, population: Population, one: Description, elements: Sequence[Element], wanted: int | None = None
) -> Words | None:
    """Words that mean the wanted number of things, if any do, or some number: each that there is as likely."""
    by_count: dict[int, list[Words]] = {}
    sorts = sorted(values(elements, population.sort))
    for tint in population.tints:
        other = chosen(asking.rng, others(population.tints, tint))
        for sort in sorts:
            words = {"tint": tint, "other_tint": other, "sort": sort}
            by_count.setdefault(len(_elements_fitting(population, elements, one, words)), []).append(words)
    if wanted is not None and wanted not in by_count:
        return None
    words = dict(chosen(asking.rng, by_count[chosen(asking.rng, sorted(by_count)) if wanted is None else wanted]))
    words["group"] = population.say(one.phrase(population), words["tint"], words["sort"], words["other_tint"])
    return words


def _count(population: Population, one: Description) -> Program:
    def solve(state: SceneState, words: Words) -> str:
        return str(len(_elements_fitting(population, population.of(state), one, words)))

    has_code = bool(one.code) and population.tint == "colour"

    @program(
        "How many {group} are there?",
        "Count the {group} in the picture. What number do you get?",
        "What is the number of {group} in the picture?",
        name=f"count_{one.name.format(tint=population.tint, sort=population.sort)}",
        solve=solve,
        experts=("points", "boxes", "code") if has_code else ("points", "boxes", "crop"),
    )
    def ask(asking: Asking) -> ProgramQuestion | None:
        least, most = (asking.levels.whole("clutter", *counts) for counts in (one.least, one.most))
        wanted = asking.wanted(range(least, most + 1)) if most else None
        words = _some_words(asking, population, one, population.of(asking.state), wanted)
        if words is None:
            return None
        elements = population.seen(asking)
        meant = _elements_fitting(population, elements, one, words)
        like = sum(population.tint_of(e) == words["tint"] for e in elements)
        code = f"{Template(one.code).substitute(words)}print(count)" if has_code else ""
        return count_of(len(meant), words, meant, wrong=(like, len(elements)), code=code)

    return ask


def _parity(population: Population, one: Description) -> Program:
    def solve(state: SceneState, words: Words) -> str:
        return ("even", "odd")[len(_elements_fitting(population, population.of(state), one, words)) % 2]

    @program(
        "Is the number of {group} even or odd?",
        "Count the {group}: is the result odd or even?",
        solve=solve,
        experts=("points", "boxes"),
    )
    def parity(asking: Asking) -> ProgramQuestion | None:
        elements = population.seen(asking)
        words = _some_words(asking, population, one, elements)
        assert words is not None
        meant = _elements_fitting(population, elements, one, words)
        wanted = asking.wanted((0, 1))
        if not meant or len(meant) % 2 != wanted:
            return None
        return choice_of(("even", "odd")[wanted], ("even", "odd"), words, meant, f"count them {len(meant)}")

    return parity


def _at_least(population: Population, one: Description) -> Program:
    def solve(state: SceneState, words: Words) -> str:
        return whether(len(_elements_fitting(population, population.of(state), one, words)) >= int(words["bound"]))

    @program(
        "Are there at least {bound} {group}?",
        "Does the picture show {bound} or more {group}?",
        solve=solve,
        experts=("points", "boxes"),
    )
    def at_least(asking: Asking) -> ProgramQuestion | None:
        elements = population.seen(asking)
        words = _some_words(asking, population, one, elements)
        assert words is not None
        meant = _elements_fitting(population, elements, one, words)
        holds = asking.is_wanted
        bound = len(meant) if holds else len(meant) + 1
        if bound < 2:
            return None
        return yes_or_no(holds, {**words, "bound": str(bound)}, meant, f"count them {len(meant)}")

    return at_least
