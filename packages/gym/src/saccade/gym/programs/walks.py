"""Programs on walks from cell to cell as arrows point."""

from saccade.gym.fine import ARROWS, MEANINGS
from saccade.gym.grammars.boards import CellBoardState
from saccade.gym.program import Asking, ProgramQuestion, program
from saccade.gym.programs.answers import Words, choice_of, count_of, whether, yes_or_no
from saccade.gym.programs.choosing import chosen
from saccade.gym.programs.holes import board_of, seen_cells
from saccade.gym.state import Element, SceneState
from saccade.tasks.drawing import COLOUR_NAMES

SIDES = ("top", "right", "bottom", "left")
MOST_STEPS = 60
_GO = "Start in row {row}, column {column} and go from cell to cell as the arrows point."
_FOLLOW = "Follow the arrows from the cell in row {row}, column {column}."


def _path(board: CellBoardState, start: Element) -> tuple[list[Element], str]:
    """The cells of a walk, and the side at which it leaves the board; "" where it goes in circles."""
    path, one = [start], start
    for _ in range(MOST_STEPS):
        across, down = MEANINGS[one.get("arrow")]
        row, column = int(one.numbers["row"]) + down, int(one.numbers["column"]) + across
        if not (0 <= row < board.rows and 0 <= column < board.columns):
            return path, SIDES[ARROWS.index(one.get("arrow"))]
        one = board.cell(row, column)
        if one in path:
            return path, ""
        path.append(one)
    return path, ""


def _start(asking: Asking) -> tuple[Element, list[Element], str]:
    start = chosen(asking.rng, seen_cells(asking.state))
    return (start, *_path(board_of(asking.state), start))


def _from(state: SceneState, words: Words) -> tuple[list[Element], str]:
    board = board_of(state)
    return _path(board, board.cell(int(words["row"]) - 1, int(words["column"]) - 1))


def _where(start: Element) -> dict[str, str]:
    return {"row": str(int(start.numbers["row"]) + 1), "column": str(int(start.numbers["column"]) + 1)}


@program(
    f"{_GO} At which side do you leave the board?",
    f"{_FOLLOW} Which side of the board do they lead out of?",
    solve=lambda state, words: _from(state, words)[1],
)
def _exit(asking: Asking) -> ProgramQuestion | None:
    start, path, side = _start(asking)
    if side != asking.wanted(SIDES) or len(path) < 2:
        return None
    return choice_of(side, SIDES, _where(start), path, " ".join(one.get("arrow") for one in path))


@program(
    f"{_GO} How many cells do you visit before you leave the board, counting the first?",
    f"{_FOLLOW} How many cells are on the way out, counting the first?",
    solve=lambda state, words: str(len(_from(state, words)[0])),
)
def _length(asking: Asking) -> ProgramQuestion | None:
    board, wanted = board_of(asking.state), asking.wanted(range(1, 7))
    walks = [(start, *_path(board, start)) for start in seen_cells(board)]
    walks = [walk for walk in walks if walk[2] and len(walk[1]) == wanted]
    if not walks:
        return None
    start, path, _ = chosen(asking.rng, walks)
    return count_of(len(path), _where(start), path, " ".join(one.get("arrow") for one in path))


@program(
    f"{_GO} What colour is the frame of the last cell before you leave the board?",
    f"{_FOLLOW} What colour is the last frame before they lead off the board?",
    solve=lambda state, words: _from(state, words)[0][-1].get("colour"),
)
def _last_colour(asking: Asking) -> ProgramQuestion | None:
    start, path, side = _start(asking)
    if not side or len(path) < 2:
        return None
    said = " ".join(one.get("arrow") for one in path)
    wrong = [one.get("colour") for one in path]
    return choice_of(path[-1].get("colour"), COLOUR_NAMES, _where(start), path, said, wrong=wrong)


@program(
    f"{_GO} What colour is the frame of the cell that you are in after {{steps}} steps?",
    f"{_FOLLOW} What colour is the frame that you reach with step {{steps}}?",
    solve=lambda state, words: _from(state, words)[0][int(words["steps"])].get("colour"),
)
def _after_steps(asking: Asking) -> ProgramQuestion | None:
    start, path, _ = _start(asking)
    if len(path) < 3:
        return None
    steps = int(asking.rng.integers(2, len(path)))
    words = {**_where(start), "steps": str(steps)}
    said = " ".join(one.get("arrow") for one in path[:steps])
    wrong = [path[steps - 1].get("colour")]
    return choice_of(path[steps].get("colour"), COLOUR_NAMES, words, path[: steps + 1], said, wrong=wrong)


@program(
    f"{_GO} Do you come back to a cell where you were before?",
    f"{_FOLLOW} Do they lead to a cell for the second time?",
    solve=lambda state, words: whether(_from(state, words)[1] == ""),
)
def _goes_in_circles(asking: Asking) -> ProgramQuestion | None:
    start, path, side = _start(asking)
    if (side == "") != asking.is_wanted or len(path) < 2:
        return None
    return yes_or_no(side == "", _where(start), path, " ".join(one.get("arrow") for one in path))


WALK_PROGRAMS = (
    _exit,
    _length,
    _last_colour,
    _after_steps,
    _goes_in_circles,
)
