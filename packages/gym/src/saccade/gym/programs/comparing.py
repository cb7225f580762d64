"""Programs that compare counts: more of two, by how many, the sum, the most common, the only one, how many kinds."""

from collections.abc import Callable

from saccade.gym.program import Asking, Program, ProgramQuestion, program
from saccade.gym.programs.answers import Words, choice_of, count_of
from saccade.gym.programs.choosing import Population, only, shuffled, values
from saccade.gym.state import Element, SceneState

TwoGroups = Callable[[Asking, list[Element], list[Element], dict[str, str]], ProgramQuestion | None]


def comparing_programs(population: Population) -> tuple[Program, ...]:
    """All programs of this module for a population."""
    return (
        _more_of_two(population),
        _difference(population),
        _sum_of_two(population),
        _most_common(population, population.tint, population.tints),
        _most_common(population, population.sort, population.sorts),
        _only_one(population),
        _kinds(population, population.tint),
        _kinds(population, population.sort),
    )


def _about_two(population: Population, about: TwoGroups) -> Callable[[Asking], ProgramQuestion | None]:
    """Asks about the things of two colours that are there."""

    def ask(asking: Asking) -> ProgramQuestion | None:
        elements = population.seen(asking)
        tints = shuffled(asking.rng, sorted(values(elements, population.tint)))
        if len(tints) < 2:
            return None
        first, second = ([e for e in elements if e.get(population.tint) == tint] for tint in tints[:2])
        groups = [population.say(population.phrases.tint, tint) for tint in tints[:2]]
        words = {"tint": tints[0], "other_tint": tints[1], "group": groups[0], "other_group": groups[1]}
        return about(asking, first, second, words)

    return ask


def _tint_count(population: Population, state: SceneState, tint: str) -> int:
    return sum(one.get(population.tint) == tint for one in population.of(state))


def _more_of_two(population: Population) -> Program:
    def about(
        asking: Asking, first: list[Element], second: list[Element], words: dict[str, str]
    ) -> ProgramQuestion | None:
        if len(first) == len(second):
            return None
        tints = (words["tint"], words["other_tint"])
        answer = tints[0] if len(first) > len(second) else tints[1]
        return choice_of(answer, tints, words, [*first, *second], f"{tints[0]} {len(first)} {tints[1]} {len(second)}")

    def solve(state: SceneState, words: Words) -> str:
        return max((words["tint"], words["other_tint"]), key=lambda tint: _tint_count(population, state, tint))

    return Program(
        name="more_of_two",
        wordings=(
            "Are there more {group} or more {other_group}?",
            "Which are more numerous, the {group} or the {other_group}?",
        ),
        ask=_about_two(population, about),
        solve=solve,
        experts=("points", "boxes"),
    )


def _difference(population: Population) -> Program:
    def about(
        asking: Asking, first: list[Element], second: list[Element], words: dict[str, str]
    ) -> ProgramQuestion | None:
        gap = len(first) - len(second)
        if gap != asking.wanted(range(2 + len(asking.state.elements) // 6)):
            return None
        said = f"{len(first)} - {len(second)}"
        return count_of(gap, words, [*first, *second], said, wrong=(len(first), len(first) + len(second)))

    def solve(state: SceneState, words: Words) -> str:
        return str(_tint_count(population, state, words["tint"]) - _tint_count(population, state, words["other_tint"]))

    return Program(
        name="difference",
        wordings=(
            "How many more {group} are there than {other_group}?",
            "By how much does the number of {group} exceed the number of {other_group}?",
        ),
        ask=_about_two(population, about),
        solve=solve,
        experts=("points", "boxes"),
    )


def _sum_of_two(population: Population) -> Program:
    def about(
        asking: Asking, first: list[Element], second: list[Element], words: dict[str, str]
    ) -> ProgramQuestion | None:
        said, total = f"{len(first)} + {len(second)}", len(first) + len(second)
        if total != asking.wanted(range(2, 1 + asking.levels.whole("clutter", 4, 6, 10))):
            return None
        return count_of(total, words, [*first, *second], said, wrong=(len(first), len(second)))

    def solve(state: SceneState, words: Words) -> str:
        return str(sum(_tint_count(population, state, words[slot]) for slot in ("tint", "other_tint")))

    return Program(
        name="sum_of_two",
        wordings=(
            "How many {group} and {other_group} are there, taken together?",
            "Add the number of {group} to the number of {other_group}. What is the sum?",
        ),
        ask=_about_two(population, about),
        solve=solve,
        experts=("points", "boxes"),
    )


def _most_common(population: Population, attribute: str, options: tuple[str, ...]) -> Program:
    def solve(state: SceneState, words: Words) -> str:
        counted = [one.get(attribute) for one in population.of(state)]
        return max(sorted(set(counted)), key=counted.count)

    @program(
        "Which {attribute} is the most common among the {many}?",
        "Counting the {many}, which {attribute} occurs most often?",
        name=f"most_common_{attribute}",
        solve=solve,
        experts=("points", "boxes"),
    )
    def ask(asking: Asking) -> ProgramQuestion | None:
        elements = population.seen(asking)
        ranked = values(elements, attribute).most_common()
        if len(ranked) < 2 or ranked[0][1] == ranked[1][1]:
            return None
        (answer, count), (second, _) = ranked[:2]
        meant = [one for one in elements if one.get(attribute) == answer]
        words = {"many": population.many, "attribute": attribute}
        return choice_of(answer, options, words, meant, f"{answer} {count}", wrong=[second])

    return ask


def _only_one(population: Population) -> Program:
    def solve(state: SceneState, words: Words) -> str:
        counted = [one.get(population.tint) for one in population.of(state)]
        (answer,) = [tint for tint in set(counted) if counted.count(tint) == 1]
        return answer

    @program(
        "Which {tint_word} does only a single {one} have?",
        "One {tint_word} occurs only once in the picture. Which one?",
        solve=solve,
    )
    def only_one(asking: Asking) -> ProgramQuestion | None:
        elements = population.seen(asking)
        alone = only(elements, population.tint)
        if len(alone) != 1:
            return None
        one = alone[0]
        others = sorted(values(elements, population.tint))
        words = {"one": population.one, "tint_word": population.tint}
        return choice_of(one.get(population.tint), population.tints, words, alone, one.name, wrong=others)

    return only_one


def _kinds(population: Population, attribute: str) -> Program:
    options = population.tints if attribute == population.tint else population.sorts

    def solve(state: SceneState, words: Words) -> str:
        return str(len({one.get(attribute) for one in population.of(state)}))

    @program(
        "How many different {kinds} do the {many} have?",
        "Among all the {many}, how many distinct {kinds} occur?",
        name=f"count_{attribute}s",
        solve=solve,
        experts=("points", "boxes"),
    )
    def ask(asking: Asking) -> ProgramQuestion | None:
        wanted = asking.wanted(range(2, 1 + min(len(options), asking.levels.whole("clutter", 4, 5, 5))))
        if len(values(population.of(asking.state), attribute)) != wanted:
            return None
        elements = population.seen(asking)
        firsts = {one.get(attribute): one for one in reversed(elements)}
        shown = [one for one in elements if firsts[one.get(attribute)] is one]
        said = " ".join(one.get(attribute) for one in shown)
        words = {"many": population.many, "kinds": f"{attribute}s"}
        return count_of(len(firsts), words, shown, said, wrong=(len(elements),))

    return ask
