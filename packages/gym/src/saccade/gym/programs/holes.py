"""Programs on boards with a hole: what belongs there by the rule of the others, and what the rule is."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from saccade.gym.grammars.boards import HOLE, CellBoardState, meets
from saccade.gym.program import Asking, Program, ProgramQuestion, program
from saccade.gym.programs.answers import Words, choice_of, count_of
from saccade.gym.programs.choosing import shuffled
from saccade.gym.state import Element, SceneState, as_state

Solver = Callable[[CellBoardState, str], str]
"""Works out an attribute of the hole from the cells that are seen."""


def board_of(state: SceneState) -> CellBoardState:
    """The state as a board."""
    return as_state(state, CellBoardState)


def the_hole(state: SceneState) -> Element:
    """The board's hole."""
    return state.of_kind(HOLE)[0]


def seen_cells(state: SceneState) -> tuple[Element, ...]:
    """All cells that show something."""
    return state.of_kind("cell")


def place_in_order(board: CellBoardState, one: Element) -> int:
    """The number of a cell in reading order, from 0."""
    return int(one.numbers["row"]) * board.columns + int(one.numbers["column"])


def by_period(board: CellBoardState, attribute: str) -> str:
    """The value that the shortest period of the sequence puts into the hole."""
    hole = place_in_order(board, the_hole(board))
    period = period_of(board, (attribute,))
    values = {place_in_order(board, one) % period: one.get(attribute) for one in seen_cells(board)}
    return values[hole % period]


def period_of(board: CellBoardState, attributes: Iterable[str]) -> int:
    """The shortest period of ``periods_of``; ValueError where there is none."""
    for period in periods_of(board, attributes):
        return period
    raise ValueError("the cells have no period")


def periods_of(board: CellBoardState, attributes: Iterable[str]) -> Iterator[int]:
    """Periods that no cell contradicts and that say what belongs into the hole, the shortest first.

    Two attributes may repeat together only after more cells than the board has: then there is none.
    """
    names, hole = tuple(attributes), place_in_order(board, the_hole(board))
    for period in range(1, board.rows * board.columns):
        found: dict[int, tuple[str, ...]] = {}
        fits = all(
            found.setdefault(place_in_order(board, one) % period, tuple(map(one.get, names)))
            == tuple(map(one.get, names))
            for one in seen_cells(board)
        )
        if fits and hole % period in found:
            yield period


def by_lines(board: CellBoardState, attribute: str) -> str:
    """The value of a square of three: the row's, the column's, or the one that neither has."""
    hole = the_hole(board)
    row, column = (
        {one.get(attribute) for one in seen_cells(board) if one.numbers[line] == hole.numbers[line]}
        for line in ("row", "column")
    )
    if len(row) == 1:
        return next(iter(row))
    if len(column) == 1:
        return next(iter(column))
    every = {one.get(attribute) for one in seen_cells(board)}
    (missing,) = every - row
    return missing


def by_sudoku(board: CellBoardState, attribute: str) -> str:
    """The one value that row, column and quarter of the hole lack."""
    hole = the_hole(board)
    place = (int(hole.numbers["row"]), int(hole.numbers["column"]))
    every = {one.get(attribute) for one in seen_cells(board)}
    met = {
        one.get(attribute)
        for one in seen_cells(board)
        if meets(place, int(one.numbers["row"]), int(one.numbers["column"]))
    }
    (missing,) = every - met
    return missing


def hole_program(attribute: str, options: tuple[str, ...], solver: Solver, wordings: tuple[str, ...]) -> Program:
    """What an attribute of the hole must be."""

    def ask(asking: Asking) -> ProgramQuestion | None:
        board = board_of(asking.state)
        answer = dict(board.hidden)[attribute]
        there = {one.get(attribute) for one in seen_cells(board)}
        if answer not in there:
            return None
        words = {"kind": attribute}
        shown = [the_hole(board), *seen_cells(board)]
        return choice_of(answer, options, words, shown, answer, wrong=sorted(there))

    return Program(
        name=f"hole_{attribute}",
        wordings=wordings,
        ask=ask,
        solve=lambda state, words: solver(board_of(state), attribute),
        experts=("crop", "glance"),
    )


def thing_program(solver: Solver, wordings: tuple[str, ...]) -> Program:
    """Which thing, by its colour and its shape, belongs into the hole."""

    def ask(asking: Asking) -> ProgramQuestion | None:
        board = board_of(asking.state)
        hidden = dict(board.hidden)
        answer = f"{hidden['colour']} {hidden['shape']}"
        there = (
            sorted({one.get("colour") for one in seen_cells(board)}),
            sorted({one.get("shape") for one in seen_cells(board)}),
        )
        near = [f"{colour} {shape}" for colour in there[0] for shape in there[1] if f"{colour} {shape}" != answer]
        if len(near) < 3:
            return None
        wrong = shuffled(asking.rng, near)[:3]
        return choice_of(answer, [answer, *wrong], {}, [the_hole(board), *seen_cells(board)], answer)

    def solve(state: SceneState, words: Words) -> str:
        return f"{solver(board_of(state), 'colour')} {solver(board_of(state), 'shape')}"

    return Program(name="hole_thing", wordings=wordings, ask=ask, solve=solve, experts=("glance",))


def period_program(*attributes: str) -> Program:
    """After how many things a sequence repeats."""

    @program(
        "Read row by row, after how many cells does the pattern repeat?",
        "How many cells long is the piece that the pattern repeats, row by row?",
        name="period",
        spread=8,
        solve=lambda state, words: str(period_of(board_of(state), attributes)),
        experts=("boxes", "glance"),
    )
    def ask(asking: Asking) -> ProgramQuestion | None:
        board = board_of(asking.state)
        period = next(periods_of(board, attributes), None)
        if period is None:
            return None
        return count_of(period, {}, seen_cells(board)[: period + 1], f"it repeats after {period}", wrong=[2 * period])

    return ask


def far_program(attribute: str, options: tuple[str, ...]) -> Program:
    """What a sequence shows far beyond its end."""

    @program(
        "Read row by row, the pattern goes on for ever. Which {kind} does cell number {number} have?",
        "If the pattern is continued row by row, what is the {kind} of cell number {number}?",
        name=f"far_{attribute}",
        solve=lambda state, words: _at(board_of(state), attribute, int(words["number"])),
        experts=("glance",),
    )
    def ask(asking: Asking) -> ProgramQuestion:
        board = board_of(asking.state)
        number = board.rows * board.columns + int(asking.rng.integers(2, 12))
        answer = _at(board, attribute, number)
        there = sorted({one.get(attribute) for one in seen_cells(board)})
        words = {"number": str(number), "kind": attribute}
        return choice_of(answer, options, words, seen_cells(board), answer, wrong=there)

    return ask


def _at(board: CellBoardState, attribute: str, number: int) -> str:
    period = period_of(board, (attribute,))
    values = {place_in_order(board, one) % period: one.get(attribute) for one in seen_cells(board)}
    return values[(number - 1) % period]


def count_value_program(attribute: str, counts: Sequence[int] = ()) -> Program:
    """How many cells have a value; ``counts`` are asked for equally often where they are named."""

    def solve(state: SceneState, words: Words) -> str:
        return str(sum(one.get(attribute) == words["value"] for one in seen_cells(state)))

    @program(
        "How many cells show the {kind} {value}?",
        "In how many cells is the {kind} {value}?",
        name=f"count_{attribute}",
        solve=solve,
        spread=1 if counts else 6,
        experts=("points", "boxes"),
    )
    def ask(asking: Asking) -> ProgramQuestion | None:
        board = board_of(asking.state)
        found = Counter(one.get(attribute) for one in seen_cells(board))
        wanted = asking.wanted(counts) if counts else None
        values = sorted(value for value, count in found.items() if wanted in (None, count))
        if not values:
            return None
        value = shuffled(asking.rng, values)[0]
        meant = [one for one in seen_cells(board) if one.get(attribute) == value]
        return count_of(len(meant), {"value": value, "kind": attribute}, meant)

    return ask


def empty_cells_program() -> Program:
    """How many cells of a square are still to be filled."""
    return Program(
        name="count_empty",
        spread=6,
        wordings=(
            "How many cells are still to be filled, the one with the question mark among them?",
            "Count the cells that show no value, with the question mark.",
        ),
        ask=lambda asking: count_of(
            len(_open_places(asking.state)), {}, _open_places(asking.state), wrong=[len(_open_places(asking.state)) - 1]
        ),
        solve=lambda state, words: str(len(state.elements) - len(seen_cells(state))),
        experts=("points", "boxes"),
    )


def _open_places(state: SceneState) -> tuple[Element, ...]:
    return (*state.of_kind(HOLE), *state.of_kind("empty"))
