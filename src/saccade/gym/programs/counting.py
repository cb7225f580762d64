"""Programs that count things: all, by what they are, by two descriptions, even or odd, at least so many."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from string import Template

from saccade.gym.program import Asking, Program, ProgramQuestion
from saccade.gym.programs.answers import Words, choice_of, count_of, whether, yes_or_no
from saccade.gym.programs.choosing import Population, chosen, plural
from saccade.gym.state import Element, SceneState
from saccade.tasks.code_experts import PRELUDE


@dataclass(frozen=True, kw_only=True, slots=True)
class Description:
    """A way to say which things are meant."""

    name: str
    phrase: str
    """With slots ``{tint}, {other_tint}, {sort}, {sorts}, {many}``."""
    fits: Callable[[str, str, Words], bool]
    """Whether a thing of this tint and this sort is meant by the words."""
    code: str = ""
    """Python that leaves how many there are in ``count``."""


_COLOUR_CODE = PRELUDE + "\ncount = cv2.connectedComponents(mask_of('$tint'))[0] - 1\n"
_EITHER_CODE = PRELUDE + (
    "\ncount = sum(cv2.connectedComponents(mask_of(name))[0] - 1 for name in ('$tint', '$other_tint'))\n"
)

DESCRIPTIONS = (
    Description(name="all", phrase="{many}", fits=lambda tint, sort, words: True),
    Description(
        name="by_colour",
        phrase="{tint} {many}",
        fits=lambda tint, sort, words: tint == words["tint"],
        code=_COLOUR_CODE,
    ),
    Description(name="by_shape", phrase="{sorts}", fits=lambda tint, sort, words: sort == words["sort"]),
    Description(
        name="by_both",
        phrase="{tint} {sorts}",
        fits=lambda tint, sort, words: tint == words["tint"] and sort == words["sort"],
    ),
    Description(
        name="of_two_colours",
        phrase="{many} that are {tint} or {other_tint}",
        fits=lambda tint, sort, words: tint in (words["tint"], words["other_tint"]),
        code=_EITHER_CODE,
    ),
    Description(
        name="not_of_colour",
        phrase="{many} that are not {tint}",
        fits=lambda tint, sort, words: tint != words["tint"],
    ),
    Description(
        name="of_shape_not_colour",
        phrase="{sorts} that are not {tint}",
        fits=lambda tint, sort, words: sort == words["sort"] and tint != words["tint"],
    ),
    Description(
        name="colour_or_shape",
        phrase="{many} that are {tint} or have the form {sort}, or both,",
        fits=lambda tint, sort, words: tint == words["tint"] or sort == words["sort"],
    ),
)


def counting_programs(population: Population) -> tuple[Program, ...]:
    """All programs of this module for a population."""
    counts = tuple(_count(population, one) for one in DESCRIPTIONS)
    return (*counts, _parity(population, DESCRIPTIONS[1]), _at_least(population))


def _meant(population: Population, elements: Sequence[Element], one: Description, words: Words) -> list[Element]:
    return [e for e in elements if one.fits(e.get(population.tint), e.get(population.sort), words)]


def _some_words(asking: Asking, population: Population, elements: Sequence[Element]) -> dict[str, str]:
    """Words of a thing that is there; one time in eight of any colour, so that 0 is an answer too."""
    rng, one = asking.rng, chosen(asking.rng, elements)
    tint, sort = one.get(population.tint), one.get(population.sort)
    if rng.integers(8) == 0:
        tint = chosen(rng, population.tints)
    other = chosen(rng, [name for name in population.tints if name != tint])
    return {"tint": tint, "other_tint": other, "sort": sort, "sorts": plural(sort), "many": population.many}


def _count(population: Population, one: Description) -> Program:
    def ask(asking: Asking) -> ProgramQuestion:
        elements = population.seen(asking)
        words = _some_words(asking, population, elements)
        meant = _meant(population, elements, one, words)
        like = sum(e.get(population.tint) == words["tint"] for e in elements)
        code = f"{Template(one.code).substitute(words)}print(count)" if one.code else ""
        said = {**words, "phrase": one.phrase.format(**words)}
        return count_of(len(meant), said, meant, wrong=(like, len(elements)), code=code)

    def solve(state: SceneState, words: Words) -> str:
        return str(len(_meant(population, population.of(state), one, words)))

    return Program(
        name=f"count_{one.name}",
        wordings=(
            "How many {phrase} are there?",
            "Count the {phrase} in the picture. How many are there?",
            "What is the number of {phrase} in the picture?",
        ),
        ask=ask,
        solve=solve,
        experts=("points", "boxes", "code") if one.code else ("points", "boxes", "crop"),
    )


def _parity(population: Population, one: Description) -> Program:
    def ask(asking: Asking) -> ProgramQuestion | None:
        elements = population.seen(asking)
        words = _some_words(asking, population, elements)
        meant = _meant(population, elements, one, words)
        wanted = int(asking.rng.integers(2))
        if not meant or len(meant) % 2 != wanted:
            return None
        said = {**words, "phrase": one.phrase.format(**words)}
        return choice_of(("even", "odd")[wanted], ("even", "odd"), said, meant, f"count them {len(meant)}")

    def solve(state: SceneState, words: Words) -> str:
        return ("even", "odd")[len(_meant(population, population.of(state), one, words)) % 2]

    return Program(
        name="parity",
        wordings=("Is the number of {phrase} even or odd?", "Count the {phrase}: is the result odd or even?"),
        ask=ask,
        solve=solve,
        experts=("points", "boxes"),
    )


def _at_least(population: Population) -> Program:
    def ask(asking: Asking) -> ProgramQuestion | None:
        elements = population.seen(asking)
        words = _some_words(asking, population, elements)
        meant = [one for one in elements if one.get(population.tint) == words["tint"]]
        holds = bool(asking.rng.integers(2))
        bound = len(meant) if holds else len(meant) + 1
        if bound < 2:
            return None
        return yes_or_no(holds, {**words, "bound": str(bound)}, meant, f"count them {len(meant)}")

    def solve(state: SceneState, words: Words) -> str:
        count = sum(one.get(population.tint) == words["tint"] for one in population.of(state))
        return whether(count >= int(words["bound"]))

    return Program(
        name="at_least",
        wordings=(
            "Are there at least {bound} {tint} {many}?",
            "Does the picture show {bound} or more {tint} {many}?",
        ),
        ask=ask,
        solve=solve,
        experts=("points", "boxes"),
    )
