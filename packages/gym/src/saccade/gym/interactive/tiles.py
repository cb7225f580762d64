"""``slide_tiles``: a sliding puzzle whose numbers are brought in rising order. Any way there counts.

Every board has numbers of its own, and tiles are moved by them: no list of moves solves two boards unseen.

Axes: ``clutter`` (how many tiles the board has), ``moves`` (how many moves away from order it begins).
"""

from collections import deque
from dataclasses import dataclass

from numpy.random import Generator, default_rng
from PIL import Image

from saccade.gym.grammars.boards import SIDE_PX, board_cell, board_state
from saccade.gym.interactive.interactive_family import InteractiveFamily, read_command, unknown_action
from saccade.gym.levels import Levels
from saccade.gym.looks.boards import BOARD, WOODEN
from saccade.gym.programs.choosing import chosen
from saccade.gym.rendering import Renderer
from saccade.tasks.interaction import Move, Outcome

AXES = ("clutter", "moves")
BOARDS = ((3, 3), (3, 4), (4, 4))
GAP = 0
MOST = 99
Order = tuple[int, ...]
"""Ranks of the tiles' numbers row by row, from 1; ``GAP`` for the empty place."""


@dataclass(slots=True)
class TilesInteraction:
    """A board that is being put in order."""

    order: Order
    numbers: tuple[int, ...]
    """The tiles' numbers, rising."""
    columns: int
    look: Renderer
    seed: int
    """Of what the look leaves to chance, so that the board looks alike after each move."""

    @property
    def goal(self) -> str:
        return "Slide the tiles until their numbers rise row by row, with the gap in the last place."

    @property
    def actions(self) -> str:
        return (
            "The action is 'slide N': the tile with the number N, which must share a side with the gap, moves into it."
        )

    @property
    def split_key(self) -> bytes:
        return bytes((*self.order, *self.numbers))

    def picture(self) -> Image.Image:
        cells = [
            board_cell(*divmod(place, self.columns), digit=self._said(rank))
            if rank != GAP
            else board_cell(*divmod(place, self.columns), kind="empty")
            for place, rank in enumerate(self.order)
        ]
        state = board_state(cells, len(self.order) // self.columns, self.columns, SIDE_PX)
        [image] = self.look.render(state, default_rng(self.seed), Levels()).images
        return image

    def caption(self) -> str:
        rows = range(0, len(self.order), self.columns)
        return "\n".join(
            " ".join(self._said(rank) for rank in self.order[start : start + self.columns]) for start in rows
        )

    def act(self, action: str) -> Outcome:
        command = read_command(action, ("slide",))
        if command is None or not command.rest.isdecimal():
            return unknown_action(action, self.actions)
        number = int(command.rest[:4])
        movable = {self.numbers[rank - 1]: after for rank, after in _movable(self.order, self.columns).items()}
        if number not in movable:
            return Outcome(said=f"No tile with the number {number} shares a side with the gap. Nothing has moved.")
        self.order = movable[number]
        is_solved = self.order == _solved(len(self.order))
        return Outcome(is_over=is_solved, is_success=is_solved)

    def progress(self) -> float:
        tiles = len(self.order) - 1
        return sum(number == place + 1 for place, number in enumerate(self.order[:tiles])) / tiles

    def next_move(self) -> Move:
        number = self._said(first_slide(self.order, self.columns))
        return Move(thought=f"{number} slides into the gap", action=f"slide {number}")

    def _said(self, rank: int) -> str:
        return str(self.numbers[rank - 1]) if rank != GAP else "gap"


def _solved(places: int) -> Order:
    return (*range(1, places), GAP)


def _movable(order: Order, columns: int) -> dict[int, Order]:
    """The board after each possible move, by the rank of the tile that moves."""
    gap = order.index(GAP)
    row, column = divmod(gap, columns)
    found = {}
    for down, across in ((-1, 0), (1, 0), (0, -1), (0, 1)):
        if 0 <= column + across < columns and 0 <= row + down < len(order) // columns:
            place = gap + down * columns + across
            moved = list(order)
            moved[gap], moved[place] = moved[place], GAP
            found[order[place]] = tuple(moved)
    return found


def first_slide(order: Order, columns: int) -> int:
    """The rank that moves first on a shortest way to order; ValueError for a board in order already.

    The way is searched from both ends.
    """
    goal = _solved(len(order))
    if order == goal:
        raise ValueError("the tiles are in order already")
    from_here: dict[Order, int] = {order: 0}
    """Boards that were reached, with the first move on the way."""
    from_goal = {goal}
    ahead, behind = deque([order]), deque([goal])
    while True:
        for _ in range(len(ahead)):
            at = ahead.popleft()
            for number, after in _movable(at, columns).items():
                first = from_here[at] or number
                if after in from_goal:
                    return first
                if after not in from_here:
                    from_here[after] = first
                    ahead.append(after)
        for _ in range(len(behind)):
            for after in _movable(behind.popleft(), columns).values():
                if after in from_here and after != order:
                    return from_here[after]
                if after not in from_goal:
                    from_goal.add(after)
                    behind.append(after)


def draw_tiles(rng: Generator, levels: Levels) -> TilesInteraction:
    """Three by three to four by four tiles, led away from order by 4 to 14 moves that never go straight back."""
    rows, columns = BOARDS[round(2 * levels["clutter"])]
    order, before = _solved(rows * columns), None
    for _ in range(levels.whole("moves", 4, 8, 14)):
        after = [board for board in _movable(order, columns).values() if board != before]
        order, before = chosen(rng, after), order
    if order == _solved(rows * columns):
        order = next(iter(_movable(order, columns).values()))
    numbers = sorted(int(number) + 1 for number in rng.permutation(MOST)[: rows * columns - 1])
    return TilesInteraction(
        order=order,
        numbers=tuple(numbers),
        columns=columns,
        look=chosen(rng, (BOARD, WOODEN)),
        seed=int(rng.integers(1 << 31)),
    )


SLIDE_TILES = InteractiveFamily(
    name="slide_tiles",
    about="a sliding puzzle of eight to fifteen tiles that is brought in order",
    axes=AXES,
    draw=draw_tiles,
)
