"""Programs on mosaics: whether left and right are mirror images, and where not."""

from saccade.gym.program import Asking, ProgramQuestion, program
from saccade.gym.programs.answers import choice_of, count_of, whether, yes_or_no
from saccade.gym.programs.holes import board_of, seen_cells
from saccade.gym.state import Element, SceneState
from saccade.tasks.drawing import COLOUR_NAMES


def _unequal_pairs(state: SceneState) -> list[tuple[Element, Element]]:
    """Cells on the left whose mirror image on the right has another colour."""
    board = board_of(state)
    pairs = [
        (board.cell(row, column), board.cell(row, board.columns - 1 - column))
        for row in range(board.rows)
        for column in range(board.columns // 2)
    ]
    return [(one, other) for one, other in pairs if one.get("colour") != other.get("colour")]


@program(
    "Is the left half of the mosaic the mirror image of the right half?",
    "Is the mosaic symmetric about its upright middle line?",
    solve=lambda state, words: whether(not _unequal_pairs(state)),
)
def _is_symmetric(asking: Asking) -> ProgramQuestion | None:
    broken = _unequal_pairs(asking.state)
    if (not broken) != asking.is_wanted:
        return None
    return yes_or_no(not broken, {}, [one for pair in broken for one in pair] or asking.state.elements)


@program(
    "How many cells must be repainted so that left and right mirror each other?",
    "In how many cells of the left half does the mirrored cell on the right have another colour?",
    solve=lambda state, words: str(len(_unequal_pairs(state))),
)
def _count_breaks(asking: Asking) -> ProgramQuestion:
    broken = _unequal_pairs(asking.state)
    return count_of(len(broken), {}, [one for pair in broken for one in pair] or asking.state.elements)


@program(
    "In only one row, left and right are not mirror images. Which row is it, counted from the top?",
    "Counting rows from the top, which one breaks the symmetry of left and right?",
    solve=lambda state, words: str(int(_unequal_pairs(state)[0][0].numbers["row"]) + 1),
)
def _broken_row(asking: Asking) -> ProgramQuestion | None:
    broken = _unequal_pairs(asking.state)
    if len(broken) != 1:
        return None
    row = int(broken[0][0].numbers["row"]) + 1
    return count_of(row, {}, broken[0], "there", wrong=[board_of(asking.state).rows + 1 - row])


@program(
    "Which colour is the most common among the cells?",
    "Which colour covers the largest part of the mosaic?",
    solve=lambda state, words: max(COLOUR_NAMES, key=lambda name: _count(state, name)),
    experts=("glance",),
)
def _commonest_colour(asking: Asking) -> ProgramQuestion | None:
    counts = {name: _count(asking.state, name) for name in COLOUR_NAMES}
    ranked = sorted(COLOUR_NAMES, key=lambda name: -counts[name])
    if counts[ranked[0]] < counts[ranked[1]] + 2:
        return None
    meant = [one for one in seen_cells(asking.state) if one.get("colour") == ranked[0]]
    return choice_of(ranked[0], COLOUR_NAMES, {}, meant, ranked[0], wrong=ranked[1:3])


def _count(state: SceneState, colour: str) -> int:
    return sum(one.get("colour") == colour for one in seen_cells(state))


MOSAIC_PROGRAMS = (
    _is_symmetric,
    _count_breaks,
    _broken_row,
    _commonest_colour,
)
