"""Programs on what is not there: whether there is such a thing, which of several is missing, how many of them are."""

from saccade.gym.program import Asking, Program, ProgramQuestion, program, with_article
from saccade.gym.programs.answers import Words, choice_of, count_of, whether, yes_or_no
from saccade.gym.programs.choosing import Population, absent_pair, chosen, others, shuffled, values
from saccade.gym.state import SceneState


def absence_programs(population: Population) -> tuple[Program, ...]:
    """All programs of this module for a population."""
    return (
        _exists(population),
        _is_none(population),
        _missing(population, population.tint, population.tints),
        _missing(population, population.sort, population.sorts),
        _present(population),
        _count_present(population),
    )


def _pairs(population: Population, state: SceneState) -> set[tuple[str, str]]:
    return {(population.tint_of(one), population.sort_of(one)) for one in population.of(state)}


def _exists(population: Population) -> Program:
    """Where there is none, both words are true of something: neither alone tells."""

    def solve(state: SceneState, words: Words) -> str:
        return whether((words["tint"], words["sort"]) in _pairs(population, state))

    @program(
        "Is there {it} in the picture?",
        "Does the picture show {it}?",
        "Can {it} be found here, yes or no?",
        solve=solve,
    )
    def exists(asking: Asking) -> ProgramQuestion | None:
        elements, holds = population.seen(asking), asking.is_wanted
        if holds:
            one = chosen(asking.rng, elements)
            tint, sort = population.tint_of(one), population.sort_of(one)
        else:
            pair = absent_pair(asking, population)
            if pair is None:
                return None
            tint, sort = pair
        near = [e for e in elements if population.tint_of(e) == tint]
        meant = [e for e in near if population.sort_of(e) == sort]
        words = {
            "it": with_article(population.say(population.phrases.one_both, tint, sort)),
            "tint": tint,
            "sort": sort,
        }
        said = " ".join(population.sort_of(e) for e in (meant or near))
        return yes_or_no(holds, words, meant or near, said)

    return exists


def _is_none(population: Population) -> Program:
    def solve(state: SceneState, words: Words) -> str:
        return whether(all(population.tint_of(one) != words["tint"] for one in population.of(state)))

    @program(
        "Is it true that the picture shows no {group} at all?",
        "Is the picture without any {group}?",
        name=f"is_free_of_{population.tint}",
        solve=solve,
    )
    def ask(asking: Asking) -> ProgramQuestion | None:
        elements, holds = population.seen(asking), asking.is_wanted
        there = sorted(values(elements, population.tint))
        options = others(population.tints, *there) if holds else there
        if not options:
            return None
        tint = chosen(asking.rng, options)
        meant = [one for one in elements if population.tint_of(one) == tint]
        words = {"group": population.say(population.phrases.tint, tint), "tint": tint}
        return yes_or_no(holds, words, meant or elements, f"{len(meant)} of them")

    return ask


def _options(asking: Asking, there: list[str], missing: tuple[str, ...], of_each: tuple[int, int]) -> list[str] | None:
    """So many that are there and so many that are missing, in random order."""
    if len(there) < of_each[0] or len(missing) < of_each[1]:
        return None
    rng = asking.rng
    return shuffled(rng, [*shuffled(rng, there)[: of_each[0]], *shuffled(rng, missing)[: of_each[1]]])


def _options_text(options: list[str]) -> str:
    return f"{', '.join(options[:-1])} or {options[-1]}"


def _missing(population: Population, attribute: str, every: tuple[str, ...]) -> Program:
    def solve(state: SceneState, words: Words) -> str:
        there = {one.get(attribute) for one in population.of(state)}
        (answer,) = set(words["options"].replace(" or ", ", ").split(", ")) - there
        return answer

    @program(
        "Which of these is the {kind} of none of the {many}: {options}?",
        "One of these is not the {kind} of any of the {many}: {options}. Which one?",
        name=f"missing_{attribute}",
        solve=solve,
    )
    def ask(asking: Asking) -> ProgramQuestion | None:
        elements = population.seen(asking)
        there = sorted(values(elements, attribute))
        options = _options(asking, there, others(every, *there), (min(3, len(there)), 1))
        if options is None or len(options) < 3:
            return None
        (answer,) = [option for option in options if option not in there]
        shown = [next(e for e in elements if e.get(attribute) == name) for name in options if name != answer]
        words = {"options": _options_text(options), "many": population.many, "kind": attribute}
        return choice_of(answer, options, words, shown, " ".join(one.get(attribute) for one in shown))

    return ask


def _present(population: Population) -> Program:
    def solve(state: SceneState, words: Words) -> str:
        there = {population.tint_of(one) for one in population.of(state)}
        (answer,) = set(words["options"].replace(" or ", ", ").split(", ")) & there
        return answer

    @program(
        "Which of these is the {kind} of at least one {one}: {options}?",
        "Only one of these is the {kind} of something in the picture: {options}. Which one?",
        name=f"present_{population.tint}",
        solve=solve,
    )
    def ask(asking: Asking) -> ProgramQuestion | None:
        elements = population.seen(asking)
        there = sorted(values(elements, population.tint))
        missing = others(population.tints, *there)
        options = _options(asking, there, missing, (1, min(3, len(missing))))
        if options is None or len(options) < 3:
            return None
        (answer,) = [option for option in options if option in there]
        meant = [e for e in elements if population.tint_of(e) == answer]
        words = {"options": _options_text(options), "one": population.one, "kind": population.tint}
        return choice_of(answer, options, words, meant, answer)

    return ask


def _count_present(population: Population) -> Program:
    def solve(state: SceneState, words: Words) -> str:
        named = set(words["options"].replace(" and ", ", ").split(", "))
        return str(len(named & {population.tint_of(one) for one in population.of(state)}))

    @program(
        "How many of these are the {kind} of some of the {many}: {options}?",
        "Look at the {kind}s of the {many}. How many of these occur: {options}?",
        name=f"count_present_{population.tint}s",
        solve=solve,
    )
    def ask(asking: Asking) -> ProgramQuestion | None:
        elements = population.seen(asking)
        there = sorted(values(elements, population.tint))
        missing = others(population.tints, *there)
        wanted = asking.wanted(range(max(0, 4 - len(missing)), min(4, len(there)) + 1))
        options = _options(asking, there, missing, (wanted, 4 - wanted))
        if options is None:
            return None
        shown = [next(e for e in elements if population.tint_of(e) == name) for name in options if name in there]
        words = {
            "options": _options_text(options).replace(" or ", " and "),
            "many": population.many,
            "kind": population.tint,
        }
        said = " ".join(population.tint_of(one) for one in shown) or "none"
        return count_of(wanted, words, shown or elements, said)

    return ask
