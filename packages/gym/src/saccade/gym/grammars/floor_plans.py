"""Floor plans: rooms with names and measures, doors between them, windows, and the entrance.

Axes: ``rooms`` (how many), ``doors`` (how few ways there are), ``print`` (how small letters are).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from numpy.random import Generator

from saccade.geometry import Box, Point
from saccade.gym.family import Grammar
from saccade.gym.levels import Levels
from saccade.gym.programs.choosing import shuffled
from saccade.gym.state import Element, SceneState

ROOMS = (
    "kitchen", "living room", "bedroom", "bathroom", "study", "dining room", "pantry", "laundry", "nursery",
    "guest room", "workshop", "library", "store room", "music room",
)  # fmt: skip
HALF_PX, EDGE_PX = 32, 60
"""Of half a metre, which all measures are multiples of, and around the plan."""
LEAST, DOOR, WINDOW = 4, 2, 2
"""In half metres: the sides of rooms, the walls that doors and windows take."""

Cells = tuple[int, int, int, int]
"""Left, top, right and bottom in half metres."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Opening:
    """A door or a window in a wall: its middle in pixels, and the rooms at its sides (one at an outer wall)."""

    rooms: tuple[int, ...]
    at: Point
    is_upright: bool
    """Whether the wall runs from top to bottom."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FloorPlanState(SceneState):
    """Elements ``room:I``, ``door:J`` (the first is the entrance), ``window:K``."""

    names: tuple[str, ...]
    cells: tuple[Cells, ...]
    doors: tuple[Opening, ...]
    windows: tuple[Opening, ...]

    def box(self, room: int) -> Box:
        """A room in pixels."""
        x1, y1, x2, y2 = (EDGE_PX + HALF_PX * side for side in self.cells[room])
        return Box(x1, y1, x2, y2)

    def measures(self, room: int) -> tuple[float, float]:
        """Width and depth of a room in metres."""
        x1, y1, x2, y2 = self.cells[room]
        return (x2 - x1) / 2, (y2 - y1) / 2

    def area(self, room: int) -> float:
        """In square metres."""
        wide, deep = self.measures(room)
        return wide * deep


def draw_floor_plan(rng: Generator, levels: Levels) -> FloorPlanState:
    """Five to eleven rooms, all of which can be reached; a few ways more than needed where it is easy."""
    count = int(rng.integers(levels.whole("rooms", 5, 6, 8), levels.whole("rooms", 7, 9, 12)))
    wide, deep = int(rng.integers(20, 25)) + count // 4, int(rng.integers(13, 17)) + count // 3
    cells = _rooms(rng, (0, 0, wide, deep), count)
    order = shuffled(
        rng, [pair for pair in combinations(range(len(cells)), 2) if _wall(cells[pair[0]], cells[pair[1]])]
    )
    linked, spare = _tree(order, len(cells))
    extra = levels.whole("doors", 3, 2, 1)
    entrance = _outer(rng, cells, 1, (wide, deep), [])
    doors = [*entrance, *(_between(rng, cells, pair) for pair in (*linked, *spare[:extra]))]
    windows = _outer(rng, cells, int(rng.integers(count, 2 * count)), (wide, deep), entrance)
    names = tuple(shuffled(rng, ROOMS)[: len(cells)])
    elements = [Element(id=f"room:{index}", kind="room", name=name) for index, name in enumerate(names)]
    elements += [
        Element(id=f"door:{index}", kind="door", name="door" if index else "entrance") for index in range(len(doors))
    ]
    elements += [Element(id=f"window:{index}", kind="window", name="window") for index in range(len(windows))]
    return FloorPlanState(
        elements=tuple(elements),
        width=2 * EDGE_PX + HALF_PX * wide,
        height=2 * EDGE_PX + HALF_PX * deep,
        names=names,
        cells=tuple(cells),
        doors=tuple(doors),
        windows=tuple(windows),
    )


def _rooms(rng: Generator, whole: Cells, count: int) -> list[Cells]:
    """The whole cut into rooms: the largest that can be is cut next, across its longer side."""
    found = [whole]
    while len(found) < count:
        found.sort(key=lambda one: (one[2] - one[0]) * (one[3] - one[1]))
        x1, y1, x2, y2 = found.pop()
        if x2 - x1 >= y2 - y1:
            cut = int(rng.integers(x1 + LEAST, x2 - LEAST + 1)) if x2 - x1 >= 2 * LEAST else (x1 + x2) // 2
            found += [(x1, y1, cut, y2), (cut, y1, x2, y2)]
        else:
            cut = int(rng.integers(y1 + LEAST, y2 - LEAST + 1)) if y2 - y1 >= 2 * LEAST else (y1 + y2) // 2
            found += [(x1, y1, x2, cut), (x1, cut, x2, y2)]
    return found


def _wall(one: Cells, other: Cells) -> tuple[bool, int, int, int] | None:
    """The wall between two rooms, where a door fits: upright or not, its place, its start and end."""
    for is_upright, near, far in ((True, 0, 2), (False, 1, 3)):
        across = 1 - near
        start, end = max(one[across], other[across]), min(one[across + 2], other[across + 2])
        if (one[far] == other[near] or other[far] == one[near]) and end - start >= DOOR + 1:
            return is_upright, one[far] if one[far] == other[near] else one[near], start, end
    return None


def _between(rng: Generator, cells: Sequence[Cells], pair: tuple[int, int]) -> Opening:
    wall = _wall(cells[pair[0]], cells[pair[1]])
    assert wall is not None
    is_upright, place, start, end = wall
    return _opening(rng, pair, place, start, end, is_upright=is_upright)


def _opening(rng: Generator, rooms: tuple[int, ...], place: int, start: int, end: int, *, is_upright: bool) -> Opening:
    along = start + 1 + float(rng.integers(2 * (end - start - 2) + 1)) / 2
    x, y = (place, along) if is_upright else (along, place)
    return Opening(rooms=rooms, at=Point(EDGE_PX + HALF_PX * x, EDGE_PX + HALF_PX * y), is_upright=is_upright)


def _tree(order: Sequence[tuple[int, int]], count: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Pairs that join all rooms without a circle, and the others."""
    group = list(range(count))
    linked, spare = [], []
    for first, second in order:
        if group[first] == group[second]:
            spare.append((first, second))
            continue
        old = group[second]
        group = [group[first] if one == old else one for one in group]
        linked.append((first, second))
    return linked, spare


def _outer(
    rng: Generator, cells: Sequence[Cells], count: int, size: tuple[int, int], taken: Sequence[Opening]
) -> list[Opening]:
    """Openings in outer walls, one to a room's wall at most, none on another."""
    walls = []
    for room, (x1, y1, x2, y2) in enumerate(cells):
        sides = ((True, x1, y1, y2), (True, x2, y1, y2), (False, y1, x1, x2), (False, y2, x1, x2))
        walls += [(room, *side) for side in sides if side[1] in (0, size[0] if side[0] else size[1])]
    found: list[Opening] = []
    for room, is_upright, place, start, end in shuffled(rng, walls):
        if len(found) == count:
            break
        one = _opening(rng, (room,), place, start, end, is_upright=is_upright)
        if all(abs(one.at.x - other.at.x) + abs(one.at.y - other.at.y) > 3 * HALF_PX for other in (*found, *taken)):
            found.append(one)
    return found


FLOOR_PLAN = Grammar(name="floor plans", draw=draw_floor_plan, axes=("rooms", "doors"))
