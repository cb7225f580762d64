"""Programs on transit maps: stops counted along lines, changes, rides."""

from collections.abc import Mapping

from saccade.gym.grammars.transit import TransitLine, TransitState
from saccade.gym.program import Asking, ProgramQuestion, program
from saccade.gym.programs.answers import choice_of, count_of, told_of, yes_or_no
from saccade.gym.programs.choosing import chosen, shuffled
from saccade.gym.state import Element, SceneState, as_state

Words = Mapping[str, str]
OPTIONS = 4


def _map(state: SceneState) -> TransitState:
    return as_state(state, TransitState)


def _line(asking: Asking) -> TransitLine:
    return chosen(asking.rng, _map(asking.state).lines)


def _stops(state: SceneState, *identities: str) -> list[Element]:
    return [state.element(identity) for identity in identities]


def _between(line: TransitLine, first: str, second: str) -> list[str]:
    """The stops of a line from one to the other, both with it."""
    start, end = line.stops.index(first), line.stops.index(second)
    return [*line.stops[start : end + 1]] if start <= end else [*line.stops[end : start + 1]][::-1]


def _places(state: SceneState, words: Words, *keys: str) -> list[str]:
    return [_map(state).stop(words[key]).id for key in keys]


def crossing_of(first: TransitLine, second: TransitLine) -> str:
    """The stop that two lines share; "" where they share none."""
    return next((stop for stop in first.stops if stop in second.stops), "")


def _changes(state: TransitState, first: str, second: str) -> int:
    """The fewest changes between two stops: at most two, since each line across crosses each line down."""
    starts, ends = state.lines_at(first), state.lines_at(second)
    if any(line in ends for line in starts):
        return 0
    return 1 if any(crossing_of(one, other) for one in starts for other in ends) else 2


@program(
    "How many stops is it from {first} to {second} on the {line} line?",
    "You get on at {first} and off at {second}, all on the {line} line. How many stops do you ride?",
    solve=lambda state, words: str(
        len(_between(_map(state).line(words["line"]), *_places(state, words, "first", "second"))) - 1
    ),
    spread=6,
)
def _stops_between(asking: Asking) -> ProgramQuestion:
    line = _line(asking)
    first, second = shuffled(asking.rng, line.stops)[:2]
    way = _between(line, first, second)
    names = [asking.state.element(stop).name for stop in (first, second)]
    words = {"first": names[0], "second": names[1], "line": line.colour}
    return count_of(len(way) - 1, words, _stops(asking.state, *way), wrong=[len(way)])


def _ridden(state: SceneState, words: Words) -> str:
    line = _map(state).line(words["line"])
    (start,) = _places(state, words, "first")
    at, step = line.stops.index(start), 1 if state.element(line.stops[-1]).name == words["end"] else -1
    return state.element(line.stops[at + step * int(words["count"])]).name


@program(
    "From {first} you ride {count} stops on the {line} line towards {end}. Where do you get off?",
    "Take the {line} line at {first} in the direction of {end} for {count} stops. Which stop do you reach?",
    solve=_ridden,
)
def _after_ride(asking: Asking) -> ProgramQuestion | None:
    line = _line(asking)
    stops = line.stops if asking.rng.integers(2) else line.stops[::-1]
    start, count = int(asking.rng.integers(len(stops))), int(asking.rng.integers(2, 6))
    if start + count >= len(stops) - 1:
        return None
    names = [asking.state.element(stop).name for stop in stops]
    words = {"first": names[start], "count": str(count), "line": line.colour, "end": names[-1]}
    near = [names[start + count + 1], names[start + count - 1]]
    way = _stops(asking.state, *stops[start : start + count + 1])
    return told_of(names[start + count], way, words=words, near=near)


@program(
    "Where do you change from the {first} line to the {second} line?",
    "At which stop do the {first} line and the {second} line meet?",
    solve=lambda state, words: (
        state.element(crossing_of(*(_map(state).line(words[key]) for key in ("first", "second")))).name
    ),
)
def _change_at(asking: Asking) -> ProgramQuestion | None:
    first, second = shuffled(asking.rng, _map(asking.state).lines)[:2]
    stop = crossing_of(first, second)
    if not stop:
        return None
    other = next((one for one in first.stops if one != stop), stop)
    words = {"first": first.colour, "second": second.colour}
    near = [asking.state.element(other).name]
    seen = _stops(asking.state, f"line {first.colour}", f"line {second.colour}", stop)
    return told_of(asking.state.element(stop).name, seen, words=words, near=near)


@program(
    "Which line stops at {stop}?",
    "On which line is the stop {stop}?",
    solve=lambda state, words: _map(state).lines_at(_map(state).stop(words["stop"]).id)[0].colour,
)
def _line_of(asking: Asking) -> ProgramQuestion:
    state = _map(asking.state)
    line = _line(asking)
    stop = chosen(asking.rng, [one for one in line.stops if len(state.lines_at(one)) == 1] or line.stops)
    colours = [one.colour for one in state.lines]
    wrong = shuffled(asking.rng, [colour for colour in colours if colour != line.colour])[: OPTIONS - 1]
    words = {"stop": state.element(stop).name}
    return choice_of(line.colour, [line.colour, *wrong], words, _stops(state, stop, f"line {line.colour}"))


@program(
    "How many stops does the {line} line have, both ends included?",
    "Count all stops of the {line} line.",
    solve=lambda state, words: str(len(_map(state).line(words["line"]).stops)),
    spread=8,
)
def _count_stops(asking: Asking) -> ProgramQuestion:
    line = _line(asking)
    seen = _stops(asking.state, f"line {line.colour}", *line.stops)
    return count_of(len(line.stops), {"line": line.colour}, seen)


@program(
    "How many times at least do you change lines between {first} and {second}?",
    "What is the smallest number of changes on the way from {first} to {second}?",
    solve=lambda state, words: str(_changes(_map(state), *_places(state, words, "first", "second"))),
)
def _fewest_changes(asking: Asking) -> ProgramQuestion | None:
    state, wanted = _map(asking.state), asking.wanted((0, 1, 2))
    for _ in range(20):
        first, second = shuffled(asking.rng, state.of_kind("stop"))[:2]
        if _changes(state, first.id, second.id) == wanted:
            words = {"first": first.name, "second": second.name}
            return count_of(wanted, words, [first, second], wrong=[2 - wanted, 3])
    return None


@program(
    "Can you ride from {first} to {second} without changing lines?",
    "Is there one line that stops at both {first} and {second}?",
    solve=lambda state, words: "yes" if _changes(_map(state), *_places(state, words, "first", "second")) == 0 else "no",
)
def _without_change(asking: Asking) -> ProgramQuestion | None:
    state = _map(asking.state)
    first, second = shuffled(asking.rng, state.of_kind("stop"))[:2]
    holds = _changes(state, first.id, second.id) == 0
    if holds != asking.is_wanted:
        return None
    return yes_or_no(holds, {"first": first.name, "second": second.name}, [first, second])


def _with_one_change(state: TransitState, first: str, second: str) -> list[str]:
    """The stops of the way between two stops of one line each, whose lines cross."""
    (start,), (end,) = state.lines_at(first), state.lines_at(second)
    stop = crossing_of(start, end)
    return [*_between(start, first, stop), *_between(end, stop, second)[1:]]


@program(
    "You go from {first} to {second} and change once. How many stops do you ride in all?",
    "How many stops is it from {first} to {second} with one change of lines?",
    solve=lambda state, words: str(len(_with_one_change(_map(state), *_places(state, words, "first", "second"))) - 1),
    spread=6,
)
def _stops_with_change(asking: Asking) -> ProgramQuestion | None:
    state = _map(asking.state)
    one, other = shuffled(asking.rng, state.lines)[:2]
    if not crossing_of(one, other):
        return None
    ends = [[stop for stop in line.stops if len(state.lines_at(stop)) == 1] for line in (one, other)]
    if not all(ends):
        return None
    first, second = (chosen(asking.rng, stops) for stops in ends)
    way = _with_one_change(state, first, second)
    words = {"first": state.element(first).name, "second": state.element(second).name}
    return count_of(len(way) - 1, words, _stops(state, *way), wrong=[len(way)])


TRANSIT_PROGRAMS = (
    _stops_between,
    _after_ride,
    _change_at,
    _line_of,
    _count_stops,
    _fewest_changes,
    _without_change,
    _stops_with_change,
)
