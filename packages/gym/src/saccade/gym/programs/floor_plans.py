"""Programs on floor plans: doors, ways through rooms, windows, measures."""

from collections.abc import Mapping

from saccade.gym.grammars.floor_plans import FloorPlanState
from saccade.gym.program import Asking, ProgramQuestion, program
from saccade.gym.programs.answers import choice_of, count_of, told_of, yes_or_no
from saccade.gym.programs.choosing import shuffled
from saccade.gym.state import Element, SceneState, as_state

Words = Mapping[str, str]
LARGER_BY, OPTIONS = 1.1, 4


def _plan(state: SceneState) -> FloorPlanState:
    return as_state(state, FloorPlanState)


def _rooms(asking: Asking, count: int) -> list[int]:
    return shuffled(asking.rng, range(len(_plan(asking.state).names)))[:count]


def _named(state: SceneState, words: Words, *keys: str) -> list[int]:
    return [_plan(state).names.index(words[key]) for key in keys]


def _elements(state: SceneState, *identities: str) -> list[Element]:
    return [state.element(identity) for identity in identities]


def _doors_of(plan: FloorPlanState, room: int) -> list[int]:
    return [index for index, door in enumerate(plan.doors) if room in door.rooms]


def _next_to(plan: FloorPlanState, room: int) -> set[int]:
    """Rooms behind the doors of a room."""
    return {other for index in _doors_of(plan, room) for other in plan.doors[index].rooms} - {room}


def _way(plan: FloorPlanState, first: int, second: int) -> list[int]:
    """The rooms of a shortest way, both ends with it."""
    came: dict[int, int] = {first: first}
    queue = [first]
    for room in queue:
        for other in sorted(_next_to(plan, room) - set(came)):
            came[other] = room
            queue.append(other)
    way = [second]
    while way[-1] != first:
        way.append(came[way[-1]])
    return way[::-1]


@program(
    "How many doors does the {room} have?",
    "Count the doors of the {room}; an entrance from outside counts too.",
    solve=lambda state, words: str(len(_doors_of(_plan(state), *_named(state, words, "room")))),
    spread=8,
)
def _count_doors(asking: Asking) -> ProgramQuestion:
    plan, (room,) = _plan(asking.state), _rooms(asking, 1)
    doors = _doors_of(plan, room)
    seen = _elements(plan, f"room:{room}", *(f"door:{index}" for index in doors))
    return count_of(len(doors), {"room": plan.names[room]}, seen)


@program(
    "Is there a door between the {first} and the {second}?",
    "Can you step directly from the {first} into the {second}?",
    solve=lambda state, words: (
        "yes" if _named(state, words, "second")[0] in _next_to(_plan(state), *_named(state, words, "first")) else "no"
    ),
)
def _door_between(asking: Asking) -> ProgramQuestion | None:
    plan, (first, second) = _plan(asking.state), _rooms(asking, 2)
    if (second in _next_to(plan, first)) != asking.is_wanted:
        return None
    between = [f"door:{index}" for index, door in enumerate(plan.doors) if {first, second} == set(door.rooms)]
    seen = _elements(plan, f"room:{first}", f"room:{second}", *between)
    return yes_or_no(bool(between), {"first": plan.names[first], "second": plan.names[second]}, seen)


@program(
    "How many doors do you go through at least on the way from the {first} to the {second}?",
    "Walking from the {first} to the {second} inside the house, what is the smallest number of doors?",
    solve=lambda state, words: str(len(_way(_plan(state), *_named(state, words, "first", "second"))) - 1),
)
def _doors_on_way(asking: Asking) -> ProgramQuestion | None:
    plan, wanted = _plan(asking.state), asking.wanted((1, 2, 3, 4))
    for _ in range(12):
        first, second = _rooms(asking, 2)
        way = _way(plan, first, second)
        if len(way) - 1 == wanted:
            words = {"first": plan.names[first], "second": plan.names[second]}
            return count_of(wanted, words, _elements(plan, *(f"room:{room}" for room in way)), wrong=[len(way)])
    return None


@program(
    "Which room do you have to pass on the way from the {first} to the {second}?",
    "Between the {first} and the {second} lies one room that you walk through. Which?",
    solve=lambda state, words: _plan(state).names[_way(_plan(state), *_named(state, words, "first", "second"))[1]],
)
def _must_pass(asking: Asking) -> ProgramQuestion | None:
    plan = _plan(asking.state)
    first, second = _rooms(asking, 2)
    between = _next_to(plan, first) & _next_to(plan, second)
    if second in _next_to(plan, first) or len(between) != 1:
        return None
    (room,) = between
    wrong = [plan.names[one] for one in _rooms(asking, len(plan.names)) if one not in (first, second, room)]
    words = {"first": plan.names[first], "second": plan.names[second]}
    seen = _elements(plan, f"room:{first}", f"room:{room}", f"room:{second}")
    return choice_of(plan.names[room], [plan.names[room], *wrong[: OPTIONS - 1]], words, seen, plan.names[room])


@program(
    "How many windows does the {room} have?",
    "Count the windows of the {room}.",
    solve=lambda state, words: str(
        sum(window.rooms == tuple(_named(state, words, "room")) for window in _plan(state).windows)
    ),
    spread=8,
)
def _count_windows(asking: Asking) -> ProgramQuestion:
    plan, (room,) = _plan(asking.state), _rooms(asking, 1)
    windows = [f"window:{index}" for index, window in enumerate(plan.windows) if window.rooms == (room,)]
    seen = _elements(plan, f"room:{room}", *windows)
    return count_of(len(windows), {"room": plan.names[room]}, seen)


@program(
    "What is the floor area of the {room} in square metres?",
    "How many square metres does the {room} have?",
    solve=lambda state, words: f"{_plan(state).area(*_named(state, words, 'room')):g}",
)
def _area(asking: Asking) -> ProgramQuestion:
    plan, (room,) = _plan(asking.state), _rooms(asking, 1)
    wide, deep = plan.measures(room)
    near = [f"{wide + deep:g}", f"{2 * (wide + deep):g}"]
    return told_of(
        f"{wide * deep:g}", _elements(plan, f"room:{room}"), kind="number", words={"room": plan.names[room]}, near=near
    )


@program(
    "Which room is larger, the {first} or the {second}?",
    "Going by their measures, does the {first} or the {second} have the larger floor?",
    solve=lambda state, words: max(
        (words["first"], words["second"]), key=lambda name: _plan(state).area(_plan(state).names.index(name))
    ),
)
def _larger_room(asking: Asking) -> ProgramQuestion | None:
    plan, pair = _plan(asking.state), _rooms(asking, 2)
    small, large = sorted(pair, key=plan.area)
    if plan.area(large) < LARGER_BY * plan.area(small):
        return None
    names = [plan.names[room] for room in pair]
    seen = _elements(plan, *(f"room:{room}" for room in pair))
    return choice_of(plan.names[large], names, {"first": names[0], "second": names[1]}, seen)


@program(
    "How many rooms have only one door?",
    "Count the rooms that you can enter and leave by one door alone.",
    solve=lambda state, words: str(
        sum(len(_doors_of(_plan(state), room)) == 1 for room in range(len(_plan(state).names)))
    ),
    spread=8,
)
def _dead_ends(asking: Asking) -> ProgramQuestion:
    plan = _plan(asking.state)
    ends = [room for room in range(len(plan.names)) if len(_doors_of(plan, room)) == 1]
    return count_of(len(ends), {}, _elements(plan, *(f"room:{room}" for room in ends)))


@program(
    "Which room do you enter first when you come in from outside?",
    "Into which room does the entrance lead?",
    solve=lambda state, words: _plan(state).names[_plan(state).doors[0].rooms[0]],
)
def _first_room(asking: Asking) -> ProgramQuestion:
    plan = _plan(asking.state)
    room = plan.doors[0].rooms[0]
    wrong = [plan.names[one] for one in _rooms(asking, len(plan.names)) if one != room][: OPTIONS - 1]
    seen = _elements(plan, "door:0", f"room:{room}")
    return choice_of(plan.names[room], [plan.names[room], *wrong], {}, seen, plan.names[room])


FLOOR_PLAN_PROGRAMS = (
    _count_doors,
    _door_between,
    _doors_on_way,
    _must_pass,
    _count_windows,
    _area,
    _larger_room,
    _dead_ends,
    _first_room,
)
