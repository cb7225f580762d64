"""Programs on figures turned and mirrored in the plane."""

from saccade.gym.grammars.figures import Cells, FigureState, mirrored, settled, turned
from saccade.gym.program import Asking, Program, ProgramQuestion, program
from saccade.gym.programs.answers import Words, choice_of, count_of, whether, yes_or_no
from saccade.gym.programs.choosing import chosen
from saccade.gym.state import Element, SceneState, as_state

TURNS = ("90 degrees", "180 degrees", "270 degrees")


def _figures(state: SceneState) -> FigureState:
    return as_state(state, FigureState)


def _is_turned(model: Cells, cells: Cells) -> bool:
    """Whether a figure is the model turned: by the distances and turns of its cells, as points of the complex plane."""
    points = {complex(column, row) for row, column in cells}
    for factor in (1, 1j, -1, -1j):
        moved = [complex(column, row) * factor for row, column in model]
        left, top = min(one.real for one in moved), min(one.imag for one in moved)
        if {complex(round(one.real - left), round(one.imag - top)) for one in moved} == points:
            return True
    return False


def _is_mirrored(model: Cells, cells: Cells) -> bool:
    return _is_turned(tuple((row, -column) for row, column in model), cells)


def _of_relation(state: SceneState, *, is_mirror: bool) -> list[Element]:
    found = _figures(state)
    relation = _is_mirrored if is_mirror else _is_turned
    return [state.element(name) for name, cells in found.figures if relation(found.model, cells)]


def _which(name: str, wordings: tuple[str, ...], *, is_mirror: bool) -> Program:
    def ask(asking: Asking) -> ProgramQuestion | None:
        state = _figures(asking.state)
        wanted = {turned(mirrored(state.model) if is_mirror else state.model, quarters) for quarters in range(4)}
        meant = [state.element(key) for key, cells in state.figures if settled(cells) in wanted]
        if len(meant) != 1:
            return None
        colours = [one.get("colour") for one in state.of_kind("figure")]
        shown = [state.element("model"), *state.of_kind("figure")]
        return choice_of(meant[0].get("colour"), colours, {}, shown, meant[0].name)

    def solve(state: SceneState, words: Words) -> str:
        (found,) = _of_relation(state, is_mirror=is_mirror)
        return found.get("colour")

    return Program(name=name, wordings=wordings, ask=ask, solve=solve)


def _solve_turns(state: SceneState, words: Words) -> str:
    figures = _figures(state)
    cells = next(cells for key, cells in figures.figures if state.element(key).name == words["it"])
    return TURNS[next(quarters for quarters in (1, 2, 3) if turned(figures.model, quarters) == cells) - 1]


@program(
    "By how much was the grey figure turned clockwise to give the {it}?",
    "The {it} is the grey one turned clockwise. By how many degrees?",
    solve=_solve_turns,
)
def _by_how_much(asking: Asking) -> ProgramQuestion | None:
    state = _figures(asking.state)
    (one,) = [state.element(key) for key, cells in state.figures if cells == turned(state.model, state.turns)][:1]
    if TURNS[state.turns - 1] != asking.wanted(TURNS):
        return None
    return choice_of(TURNS[state.turns - 1], TURNS, {"it": one.name}, [state.element("model"), one])


def _ask_is_turned(asking: Asking) -> ProgramQuestion | None:
    state = _figures(asking.state)
    key, cells = chosen(asking.rng, state.figures)
    holds = cells in {turned(state.model, quarters) for quarters in range(4)}
    if holds != asking.is_wanted:
        return None
    one = state.element(key)
    return yes_or_no(holds, {"it": one.name}, [state.element("model"), one])


def _solve_is_turned(state: SceneState, words: Words) -> str:
    figures = _figures(state)
    cells = next(cells for key, cells in figures.figures if state.element(key).name == words["it"])
    return whether(_is_turned(figures.model, cells))


@program(
    "How many of the coloured figures are mirror images of the grey one, perhaps turned?",
    "How many coloured figures must be flipped over to look like the grey one?",
    solve=lambda state, words: str(len(_of_relation(state, is_mirror=True))),
)
def _count_mirrored(asking: Asking) -> ProgramQuestion | None:
    state = _figures(asking.state)
    wanted = {turned(mirrored(state.model), quarters) for quarters in range(4)}
    meant = [state.element(key) for key, cells in state.figures if cells in wanted]
    if len(meant) != asking.wanted(range(4)):
        return None
    return count_of(len(meant), {}, [state.element("model"), *state.of_kind("figure")], wrong=[4 - len(meant)])


@program(
    "How many squares make up the grey figure?",
    "How many unit squares does the grey figure have?",
    solve=lambda state, words: str(len(set(_figures(state).model))),
)
def _count_cells(asking: Asking) -> ProgramQuestion:
    state = _figures(asking.state)
    return count_of(len(state.model), {}, [state.element("model")])


FIGURE_PROGRAMS = (
    _which(
        "which_is_turned",
        (
            "Which coloured figure is the grey one, turned but not flipped over? Sizes do not matter.",
            "One coloured figure can be turned in the plane so that it looks like the grey one. Which colour has it?",
        ),
        is_mirror=False,
    ),
    _which(
        "which_is_mirrored",
        (
            "Which coloured figure is the mirror image of the grey one, perhaps turned? Sizes do not matter.",
            "One coloured figure must be flipped over to look like the grey one. Which colour has it?",
        ),
        is_mirror=True,
    ),
    _by_how_much,
    Program(
        name="is_turned",
        wordings=(
            "Can the {it} be turned in the plane to look like the grey figure, without flipping it over?",
            "Is the {it} the grey figure turned, and neither its mirror image nor another figure?",
        ),
        ask=_ask_is_turned,
        solve=_solve_is_turned,
    ),
    _count_mirrored,
    _count_cells,
)
