"""Programs on what single things are: of which tint, of which sort, whether, the same as another, all of them."""

from collections.abc import Sequence

from saccade.gym.program import Asking, Program, ProgramQuestion, program
from saccade.gym.programs.answers import Words, choice_of, whether, yes_or_no
from saccade.gym.programs.choosing import Population, chosen, only, others, plural, shuffled, values
from saccade.gym.state import Element, SceneState


def attribute_programs(population: Population) -> tuple[Program, ...]:
    """All programs of this module for a population."""
    return (
        _tint_of(population),
        _sort_of(population),
        _is_tint(population),
        _same_tint(population),
        _other_of_tint(population),
        _all_of_sort(population),
        _sorts_of_tint(population),
    )


def _the_one(population: Population, state: SceneState, attribute: str, value: str) -> Element:
    (found,) = [one for one in population.of(state) if one.get(attribute) == value]
    return found


def _absent(asking: Asking, elements: Sequence[Element], attribute: str, options: tuple[str, ...]) -> str | None:
    """A value that no element has; None where all are there."""
    missing = others(options, *values(elements, attribute))
    return chosen(asking.rng, missing) if missing else None


def _tint_of(population: Population) -> Program:
    def _tint_question(asking: Asking, one: Element) -> ProgramQuestion:
        sort, tint = population.sort_of(one), population.tint_of(one)
        words = {"it": population.say(population.phrases.one_sort, sort=sort), "sort": sort, "kind": population.tint}
        there = [population.tint_of(e) for e in population.seen(asking)]
        return choice_of(tint, population.tints, words, [one], f"{sort} {tint}", wrong=there)

    def falsify(asking: Asking) -> ProgramQuestion | None:
        sort = _absent(asking, population.seen(asking), population.sort, population.sorts)
        if sort is None:
            return None
        words = {"it": population.say(population.phrases.one_sort, sort=sort), "sort": sort, "kind": population.tint}
        return choice_of("", population.tints, words, [])

    def solve(state: SceneState, words: Words) -> str:
        return population.tint_of(_the_one(population, state, population.sort, words["sort"]))

    @program(
        "Which {kind} does the {it} have?",
        "What {kind} is the {it}?",
        "Name the {kind} of the {it}.",
        name=f"{population.tint}_of",
        solve=solve,
        falsify=falsify,
    )
    def ask(asking: Asking) -> ProgramQuestion | None:
        elements = population.seen(asking)
        alone = only(elements, population.sort)
        return _tint_question(asking, chosen(asking.rng, alone)) if alone else None

    return ask


def _sort_of(population: Population) -> Program:
    def _words(tint: str) -> Words:
        it = population.say(population.phrases.one_tint, tint)
        return {"it": it, "tint": tint, "kind": population.sort}

    def falsify(asking: Asking) -> ProgramQuestion | None:
        tint = _absent(asking, population.seen(asking), population.tint, population.tints)
        return None if tint is None else choice_of("", population.sorts, _words(tint), [])

    def solve(state: SceneState, words: Words) -> str:
        return population.sort_of(_the_one(population, state, population.tint, words["tint"]))

    @program(
        "Which {kind} does the {it} have?",
        "What is the {kind} of the {it}?",
        "Name the {kind} of the {it}.",
        name=f"{population.sort}_of",
        solve=solve,
        falsify=falsify,
    )
    def ask(asking: Asking) -> ProgramQuestion | None:
        elements = population.seen(asking)
        alone = only(elements, population.tint)
        if not alone:
            return None
        one = chosen(asking.rng, alone)
        there = [population.sort_of(e) for e in elements]
        said = f"{population.tint_of(one)} {population.sort_of(one)}"
        return choice_of(
            population.sort_of(one), population.sorts, _words(population.tint_of(one)), [one], said, wrong=there
        )

    return ask


def _is_tint(population: Population) -> Program:
    def _words(sort: str, tint: str) -> Words:
        return {
            "it": population.say(population.phrases.one_sort, sort=sort),
            "is_so": population.say(population.phrases.has_tint, tint),
            "sort": sort,
            "tint": tint,
        }

    def falsify(asking: Asking) -> ProgramQuestion | None:
        sort = _absent(asking, population.seen(asking), population.sort, population.sorts)
        if sort is None:
            return None
        return yes_or_no(True, _words(sort, chosen(asking.rng, population.tints)), [])

    def solve(state: SceneState, words: Words) -> str:
        one = _the_one(population, state, population.sort, words["sort"])
        return whether(population.tint_of(one) == words["tint"])

    @program(
        "Is the {it} {is_so}?",
        "Yes or no: the {it} is {is_so}.",
        name=f"is_{population.tint}",
        solve=solve,
        falsify=falsify,
    )
    def ask(asking: Asking) -> ProgramQuestion | None:
        elements = population.seen(asking)
        alone = only(elements, population.sort)
        if not alone or len(elements) < 2:
            return None
        one = chosen(asking.rng, alone)
        own, holds = population.tint_of(one), asking.is_wanted
        present = others(sorted(values(elements, population.tint)), own)
        tint = own if holds else chosen(asking.rng, present or others(population.tints, own))
        return yes_or_no(holds, _words(population.sort_of(one), tint), [one], f"{population.sort_of(one)} {own}")

    return ask


def _same_tint(population: Population) -> Program:
    def solve(state: SceneState, words: Words) -> str:
        found = [_the_one(population, state, population.sort, words[slot]) for slot in ("sort", "other_sort")]
        return whether(len({population.tint_of(one) for one in found}) == 1)

    @program(
        "Do the {it} and the {other} have the same {kind}?",
        "Is the {kind} of the {it} also that of the {other}?",
        name=f"same_{population.tint}",
        solve=solve,
    )
    def ask(asking: Asking) -> ProgramQuestion | None:
        alone = shuffled(asking.rng, only(population.seen(asking), population.sort))
        holds = asking.is_wanted
        pairs = [
            (one, other)
            for place, one in enumerate(alone)
            for other in alone[place + 1 :]
            if (population.tint_of(one) == population.tint_of(other)) == holds
        ]
        if not pairs:
            return None
        pair = pairs[0]
        sorts = [population.sort_of(one) for one in pair]
        its = [population.say(population.phrases.one_sort, sort=sort) for sort in sorts]
        words = {"it": its[0], "other": its[1], "sort": sorts[0], "other_sort": sorts[1], "kind": population.tint}
        said = " ".join(f"{population.sort_of(one)} {population.tint_of(one)}" for one in pair)
        return yes_or_no(holds, words, pair, said)

    return ask


def _other_of_tint(population: Population) -> Program:
    def solve(state: SceneState, words: Words) -> str:
        one = _the_one(population, state, population.sort, words["sort"])
        (other,) = [
            e for e in population.of(state) if population.tint_of(e) == population.tint_of(one) and e.id != one.id
        ]
        return population.sort_of(other)

    @program(
        "One other {one} has the {kind} of the {it}. What is its {sort_kind}?",
        "What is the {sort_kind} of the only other {one} whose {kind} is that of the {it}?",
        name=f"other_of_same_{population.tint}",
        solve=solve,
    )
    def ask(asking: Asking) -> ProgramQuestion | None:
        elements = population.seen(asking)
        counted = values(elements, population.tint)
        alone = [one for one in only(elements, population.sort) if counted[population.tint_of(one)] == 2]
        if not alone:
            return None
        one = chosen(asking.rng, alone)
        (other,) = [e for e in elements if population.tint_of(e) == population.tint_of(one) and e is not one]
        sort = population.sort_of(one)
        words = {"it": population.say(population.phrases.one_sort, sort=sort), "sort": sort}
        words |= {"one": population.one, "kind": population.tint, "sort_kind": population.sort}
        said = f"{sort} {population.tint_of(one)} {population.sort_of(other)}"
        options = others(population.sorts, sort)
        return choice_of(population.sort_of(other), options, words, [one, other], said)

    return ask


def _all_of_sort(population: Population) -> Program:
    def solve(state: SceneState, words: Words) -> str:
        meant = [one for one in population.of(state) if population.sort_of(one) == words["sort"]]
        return whether(all(population.tint_of(one) == words["tint"] for one in meant))

    @program(
        "Are all {group} {is_so}?",
        "Is each of the {group} in the picture {is_so}?",
        name=f"all_of_one_{population.tint}",
        solve=solve,
    )
    def ask(asking: Asking) -> ProgramQuestion | None:
        elements, holds = population.seen(asking), asking.is_wanted
        for sort in shuffled(asking.rng, sorted(values(elements, population.sort))):
            meant = [one for one in elements if population.sort_of(one) == sort]
            tints = values(meant, population.tint)
            if len(meant) >= 2 and (len(tints) == 1) == holds:
                tint = max(sorted(tints), key=lambda name: tints[name])
                is_so = population.say(population.phrases.has_tint, tint)
                group = population.say(population.phrases.sort, sort=sort)
                words = {"group": group, "is_so": is_so, "sort": sort, "tint": tint}
                return yes_or_no(holds, words, meant, " ".join(population.tint_of(one) for one in meant))
        return None

    return ask


def _sorts_of_tint(population: Population) -> Program:
    def solve(state: SceneState, words: Words) -> str:
        elements = population.of(state)
        found = {population.sort_of(one) for one in elements if population.tint_of(one) == words["tint"]}
        (answer,) = {population.sort_of(one) for one in elements} - found
        return answer

    @program(
        "Of all {kinds} in the picture, which does not occur among the {group}?",
        "Look at the {group}: which {kind} does none of them have, though something else does?",
        name=f"{population.sort}_missing_from_{population.tint}",
        solve=solve,
    )
    def ask(asking: Asking) -> ProgramQuestion | None:
        elements = population.seen(asking)
        for tint in shuffled(asking.rng, sorted(values(elements, population.tint))):
            meant = [one for one in elements if population.tint_of(one) == tint]
            sorts = sorted(values(meant, population.sort))
            missing = [sort for sort in sorted(values(elements, population.sort)) if sort not in sorts]
            if len(missing) == 1 and len(sorts) >= 2:
                group = population.say(population.phrases.tint, tint)
                words = {"group": group, "tint": tint, "kinds": plural(population.sort), "kind": population.sort}
                said = f"{' '.join(population.sort_of(one) for one in meant)} no {missing[0]}"
                return choice_of(missing[0], [*sorts, *missing], words, meant, said)
        return None

    return ask
