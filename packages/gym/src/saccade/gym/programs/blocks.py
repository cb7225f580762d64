"""Programs on towers of cubes: cubes counted, heights compared, the view from above."""

from saccade.gym.grammars.blocks import BlockState
from saccade.gym.program import Asking, ProgramQuestion, program
from saccade.gym.programs.answers import Words, choice_of, count_of
from saccade.gym.programs.choosing import by_name, chosen, named_once, values
from saccade.gym.programs.readings import value_of
from saccade.gym.state import SceneState, as_state


def _heights(state: SceneState) -> list[int]:
    return [height for row in as_state(state, BlockState).heights for height in row]


@program(
    "How many cubes are there in all? Towers have no gaps.",
    "All towers are solid. Of how many cubes are they made together?",
    solve=lambda state, words: str(sum(_heights(state))),
    experts=("boxes", "points", "crop"),
    spread=6,
)
def _count_cubes(asking: Asking) -> ProgramQuestion:
    towers = asking.state.of_kind("tower")
    total = sum(map(value_of, towers))
    return count_of(total, {}, towers, " ".join(str(value_of(one)) for one in towers), wrong=[len(towers)])


@program(
    "How many cubes high is the {it}?",
    "Count the cubes of the {it}, one above the other.",
    solve=lambda state, words: str(value_of(by_name(state.of_kind("tower"), words["it"]))),
)
def _height_of(asking: Asking) -> ProgramQuestion | None:
    named = named_once(asking.state.of_kind("tower"))
    if not named:
        return None
    one = chosen(asking.rng, named)
    return count_of(value_of(one), {"it": one.name}, [one], str(value_of(one)))


@program(
    "What colour is the highest tower?",
    "One tower has more cubes than any other. What is its colour?",
    solve=lambda state, words: max(state.of_kind("tower"), key=value_of).get("colour"),
)
def _highest(asking: Asking) -> ProgramQuestion | None:
    ranked = sorted(asking.state.of_kind("tower"), key=value_of, reverse=True)
    if len(ranked) < 2 or value_of(ranked[0]) == value_of(ranked[1]):
        return None
    if values(ranked, "colour")[ranked[0].get("colour")] > 1:
        return None
    colours = [one.get("colour") for one in ranked]
    return choice_of(ranked[0].get("colour"), colours, {}, ranked, ranked[0].name)


@program(
    "How many towers are at least {level} cubes high?",
    "Count the towers that have {level} cubes or more.",
    solve=lambda state, words: str(sum(height >= int(words["level"]) for height in _heights(state))),
    experts=("boxes", "points"),
    spread=6,
)
def _count_at_level(asking: Asking) -> ProgramQuestion | None:
    level = int(asking.rng.integers(2, 4))
    towers = asking.state.of_kind("tower")
    meant = [one for one in towers if value_of(one) >= level]
    if not meant and level > 2:
        return None
    return count_of(len(meant), {"level": str(level)}, meant or towers, wrong=[len(towers)])


@program(
    "How many squares of the floor are empty?",
    "How many squares of the floor have no tower on them?",
    solve=lambda state, words: str(len(_heights(state)) - len(state.of_kind("tower"))),
    experts=("boxes", "points"),
)
def _count_empty(asking: Asking) -> ProgramQuestion | None:
    heights = _heights(asking.state)
    if heights.count(0) != asking.wanted(range(len(heights) * 2 // 3 + 1)):
        return None
    return count_of(heights.count(0), {}, asking.state.of_kind("tower"), wrong=[len(heights) - heights.count(0)])


def _solve_missing(state: SceneState, words: Words) -> str:
    heights = _heights(state)
    return str(sum(max(heights) - height for height in heights))


@program(
    "How many cubes must be added so that every square of the floor bears as many as the highest tower has?",
    "To make one solid block as high as the highest tower over the whole floor, how many cubes are missing?",
    solve=_solve_missing,
    experts=("boxes", "points"),
    spread=6,
)
def _missing_to_full(asking: Asking) -> ProgramQuestion | None:
    heights = _heights(asking.state)
    missing = max(heights) * len(heights) - sum(heights)
    if missing != asking.wanted(range(1 + max(heights) * len(heights) // 3)):
        return None
    return count_of(missing, {}, asking.state.of_kind("tower"), f"{max(heights)} high", wrong=[sum(heights)])


BLOCK_PROGRAMS = (
    _count_cubes,
    _height_of,
    _highest,
    _count_at_level,
    _count_empty,
    _missing_to_full,
)
