"""Programs on mazes: what can be reached, how far it is, which way to go."""

from saccade.gym.grammars.mazes import Cell, MazeState, neighbours
from saccade.gym.program import Asking, ProgramQuestion, program
from saccade.gym.programs.answers import Words, choice_of, count_of, whether, yes_or_no
from saccade.gym.programs.choosing import by_name, chosen, shuffled
from saccade.gym.state import Element, SceneState, as_state

WAYS = ("up", "right", "down", "left")
STEPS = {"up": (-1, 0), "right": (0, 1), "down": (1, 0), "left": (0, -1)}


def _maze(state: SceneState) -> MazeState:
    return as_state(state, MazeState)


def _cell(one: Element) -> Cell:
    return int(one.numbers["row"]), int(one.numbers["column"])


def _start(state: SceneState) -> Element:
    return state.element("start")


def steps_to(maze: MazeState) -> dict[Cell, int]:
    """Steps from the start to each cell that can be reached, by widening circles."""
    open_sides = {frozenset(passage) for passage in maze.passages}
    found = {_cell(_start(maze)): 0}
    front = list(found)
    while front:
        reached = []
        for cell in front:
            for other in neighbours(cell, maze.size):
                if other not in found and frozenset({cell, other}) in open_sides:
                    found[other] = found[cell] + 1
                    reached.append(other)
        front = reached
    return found


def _is_reached(state: SceneState, name: str) -> bool:
    return _cell(by_name(state.of_kind("spot"), name)) in steps_to(_maze(state))


@program(
    "Can you walk from the star to the {it} without crossing a wall?",
    "Is there an open way through the maze from the star to the {it}?",
    solve=lambda state, words: whether(_is_reached(state, words["it"])),
    experts=("points", "boxes", "glance"),
)
def _is_reachable(asking: Asking) -> ProgramQuestion | None:
    one = chosen(asking.rng, asking.state.of_kind("spot"))
    holds = _cell(one) in steps_to(_maze(asking.state))
    if holds != asking.is_wanted:
        return None
    return yes_or_no(holds, {"it": one.name}, [_start(asking.state), one])


@program(
    "How many coloured spots can be reached from the star without crossing a wall?",
    "Count the coloured spots to which an open way leads from the star.",
    solve=lambda state, words: str(sum(_is_reached(state, one.name) for one in state.of_kind("spot"))),
    experts=("points", "boxes"),
)
def _count_reachable(asking: Asking) -> ProgramQuestion:
    found, spots = steps_to(_maze(asking.state)), asking.state.of_kind("spot")
    meant = [one for one in spots if _cell(one) in found]
    return count_of(len(meant), {}, [_start(asking.state), *spots], wrong=[len(spots) - len(meant), len(spots)])


def _solve_steps(state: SceneState, words: Words) -> str:
    return str(steps_to(_maze(state))[_cell(by_name(state.of_kind("spot"), words["it"]))])


@program(
    "How many steps from cell to cell does it take to get from the star to the {it}?",
    "You start at the star. After how many steps from cell to cell are you at the {it}?",
    solve=_solve_steps,
    experts=("points", "boxes"),
)
def _steps(asking: Asking) -> ProgramQuestion | None:
    found = steps_to(_maze(asking.state))
    reached = [one for one in asking.state.of_kind("spot") if _cell(one) in found]
    if not reached:
        return None
    one = chosen(asking.rng, reached)
    here = _cell(_start(asking.state))
    straight = abs(here[0] - _cell(one)[0]) + abs(here[1] - _cell(one)[1])
    return count_of(found[_cell(one)], {"it": one.name}, [_start(asking.state), one], wrong=[straight])


def _solve_nearer(state: SceneState, words: Words) -> str:
    found = steps_to(_maze(state))
    pair = [by_name(state.of_kind("spot"), words[slot]) for slot in ("first", "second")]
    return min(pair, key=lambda one: found[_cell(one)]).name


@program(
    "Walking through the maze from the star, which takes fewer steps to reach: the {first} or the {second}?",
    "Is the way from the star shorter to the {first} or to the {second}?",
    solve=_solve_nearer,
    experts=("points", "boxes"),
)
def _nearer_of_two(asking: Asking) -> ProgramQuestion | None:
    found = steps_to(_maze(asking.state))
    reached = shuffled(asking.rng, [one for one in asking.state.of_kind("spot") if _cell(one) in found])
    if len(reached) < 2 or found[_cell(reached[0])] == found[_cell(reached[1])]:
        return None
    pair = reached[:2]
    words = {"first": pair[0].name, "second": pair[1].name}
    answer = min(pair, key=lambda one: found[_cell(one)])
    return choice_of(answer.name, [one.name for one in pair], words, [_start(asking.state), *pair])


def _first_way(maze: MazeState, goal: Element) -> str:
    """The first step of the way to the goal, found by walking back from it."""
    found = steps_to(maze)
    open_sides = {frozenset(passage) for passage in maze.passages}
    cell = _cell(goal)
    while found[cell] > 1:
        cell = next(
            other
            for other in neighbours(cell, maze.size)
            if frozenset({cell, other}) in open_sides and found.get(other, -1) == found[cell] - 1
        )
    row, column = _cell(_start(maze))
    return next(way for way, (down, across) in STEPS.items() if (row + down, column + across) == cell)


@program(
    "In which direction must you leave the star to reach the {it}?",
    "You walk from the star to the {it}. In which direction is the first step?",
    solve=lambda state, words: _first_way(_maze(state), by_name(state.of_kind("spot"), words["it"])),
    experts=("points", "boxes"),
)
def _first_step(asking: Asking) -> ProgramQuestion | None:
    maze = _maze(asking.state)
    found = steps_to(maze)
    reached = [one for one in maze.of_kind("spot") if _cell(one) in found]
    if not reached:
        return None
    one = chosen(asking.rng, reached)
    if _first_way(maze, one) != asking.wanted(WAYS):
        return None
    return choice_of(_first_way(maze, one), WAYS, {"it": one.name}, [_start(maze), one])


MAZE_PROGRAMS = (
    _is_reachable,
    _count_reachable,
    _steps,
    _nearer_of_two,
    _first_step,
)
