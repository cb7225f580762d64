"""Programs on graphs of functions: values, zeros, slopes, turning points, crossings, formulas."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import permutations

from saccade.gym.grammars.function_plots import MEETINGS, REACH, Curve, FunctionsState, meet_once
from saccade.gym.program import Asking, ProgramQuestion, program
from saccade.gym.programs.answers import choice_of, count_of
from saccade.gym.programs.choosing import chosen, shuffled
from saccade.gym.state import Element, SceneState, as_state

Words = Mapping[str, str]


def _plot(state: SceneState) -> FunctionsState:
    return as_state(state, FunctionsState)


def _curve(asking: Asking, *kinds: str) -> Curve | None:
    """A curve of these kinds, of any without them."""
    found = [one for one in _plot(asking.state).curves if not kinds or one.kind in kinds]
    return chosen(asking.rng, found) if found else None


def _of(state: SceneState, words: Words) -> Curve:
    return _plot(state).curve(words["name"])


def _seen(state: SceneState, curve: Curve, *xs: float) -> list[Element]:
    """The legend, and the places that are read; the whole graph where one of them is no corner."""
    there = curve.places()
    parts = (
        [f"place:{curve.name}:{int(x)}" for x in xs] if xs and all(x in there for x in xs) else [f"curve:{curve.name}"]
    )
    return [state.element(identity) for identity in (f"name:{curve.name}", *parts)]


def _telling(curve: Curve) -> list[int]:
    """Whole x whose y is another number, so that no question says its answer."""
    return [x for x in curve.places() if curve.at(x) != x]


def _number(value: float, words: Words, seen: Sequence[Element], *wrong: float) -> ProgramQuestion:
    """A number that is read without a tolerance."""
    return ProgramQuestion(
        answer=f"{value:g}",
        kind="number",
        words=words,
        near=tuple(dict.fromkeys(f"{one:g}" for one in wrong if one != value)),
        evidence=tuple(one.id for one in seen),
        conclusion=f"{value:g}",
    )


@program(
    "What is {name}({x})?",
    "Read the value of {name} at x = {x}.",
    "Which y belongs to x = {x} on the graph of {name}?",
    solve=lambda state, words: f"{_of(state, words).at(int(words['x'])):g}",
    spread=4,
)
def _value_at(asking: Asking) -> ProgramQuestion | None:
    curve = _curve(asking)
    if curve is None or not (places := _telling(curve)):
        return None
    x = chosen(asking.rng, places)
    words = {"name": curve.name, "x": str(x)}
    return _number(curve.at(x), words, _seen(asking.state, curve, x), -curve.at(x), curve.at(x) + 1)


def _where(curve: Curve, y: float) -> list[int]:
    return [x for x in curve.places() if curve.at(x) == y]


@program(
    "For which x is {name}(x) = {y}?",
    "At which x does the graph of {name} reach the height y = {y}?",
    solve=lambda state, words: str(_where(_of(state, words), int(words["y"]))[0]),
    spread=4,
)
def _x_of_value(asking: Asking) -> ProgramQuestion | None:
    curve = _curve(asking, "line")
    if curve is None or not (places := _telling(curve)):
        return None
    x = chosen(asking.rng, places)
    y = round(curve.at(x))
    return _number(x, {"name": curve.name, "y": str(y)}, _seen(asking.state, curve, x), -x, x + 1)


@program(
    "How often does the graph of {name} touch or cross the x axis in the plot?",
    "How many points has the graph of {name} in common with the x axis, as far as the plot shows it?",
    solve=lambda state, words: str(_shown_zeros(_of(state, words))),
)
def _count_zeros(asking: Asking) -> ProgramQuestion | None:
    curve, wanted = _curve(asking, "parabola", "bend"), asking.wanted((0, 1, 2))
    if curve is None or _shown_zeros(curve) != wanted or wanted != curve.zeros():
        return None
    return count_of(wanted, {"name": curve.name}, _seen(asking.state, curve), wrong=[2 - wanted])


def _shown_zeros(curve: Curve) -> int:
    """Zeros inside the plot."""
    if curve.kind == "line":
        return int(abs(curve.up / curve.slope) <= REACH)
    gap = -curve.up / curve.slope
    if gap < 0:
        return 0
    half = gap**0.5 if curve.kind == "parabola" else gap
    return len({x for x in (curve.right - half, curve.right + half) if abs(x) <= REACH})


@program(
    "What is the slope of the line {name}?",
    "By how much does {name} change when x grows by 1?",
    solve=lambda state, words: f"{_of(state, words).slope:g}",
    spread=4,
)
def _slope(asking: Asking) -> ProgramQuestion | None:
    curve = _curve(asking, "line")
    if curve is None:
        return None
    places = curve.places()
    seen = _seen(asking.state, curve, places[0], places[-1])
    return _number(curve.slope, {"name": curve.name}, seen, -curve.slope, 1 / curve.slope)


@program(
    "At which x has the graph of {name} its {end} point?",
    "The {end} point of the graph of {name}: what is its x coordinate?",
    solve=lambda state, words: str(_of(state, words).right),
    spread=4,
)
def _turning_point(asking: Asking) -> ProgramQuestion | None:
    curve = _curve(asking, "parabola", "bend")
    if curve is None:
        return None
    words = {"name": curve.name, "end": "lowest" if curve.slope > 0 else "highest"}
    return _number(curve.right, words, _seen(asking.state, curve, curve.right), curve.up, -curve.right)


def _rises(curve: Curve, start: int, end: int) -> bool:
    return curve.at(end) > curve.at(start)


@program(
    "Is {name} rising or falling between x = {start} and x = {end}?",
    "From x = {start} to x = {end}, does the graph of {name} go on rising or falling?",
    solve=lambda state, words: (
        "rising" if _rises(_of(state, words), int(words["start"]), int(words["end"])) else "falling"
    ),
)
def _rising(asking: Asking) -> ProgramQuestion | None:
    curve = _curve(asking)
    assert curve is not None
    spans = [(a, b) for a in curve.places() for b in curve.places() if 1 <= b - a <= 3]
    if curve.kind != "line":
        spans = [(a, b) for a, b in spans if not a < curve.right < b]
    spans = [(a, b) for a, b in spans if _rises(curve, a, b) == asking.is_wanted]
    if not spans:
        return None
    start, end = chosen(asking.rng, spans)
    words = {"name": curve.name, "start": str(start), "end": str(end)}
    answer = "rising" if _rises(curve, start, end) else "falling"
    return choice_of(answer, ("rising", "falling"), words, _seen(asking.state, curve, start, end), answer)


def _like(asking: Asking, curve: Curve) -> list[str]:
    """Four formulas: two values of one number with two of another, so that none is nearer to the rest than another."""
    other_slopes = (-curve.slope, 1 / curve.slope) if curve.kind == "line" else (-curve.slope, 2 * curve.slope)
    slope, up = chosen(asking.rng, other_slopes), chosen(asking.rng, (-curve.up, curve.up + 2))
    changes: list[Callable[[Curve], Curve]] = [lambda one: replace(one, slope=slope), lambda one: replace(one, up=up)]
    if curve.kind != "line":
        changes.append(lambda one: replace(one, right=-one.right))
    first, second = shuffled(asking.rng, changes)[:2]
    made = [curve, first(curve), second(curve), second(first(curve))]
    return list(dict.fromkeys(one.formula() for one in made))


@program(
    "Which formula belongs to the graph of {name}?",
    "Which equation describes {name}?",
    solve=lambda state, words: _of(state, words).formula(),
)
def _formula(asking: Asking) -> ProgramQuestion | None:
    curve = _curve(asking)
    assert curve is not None
    options = _like(asking, curve)
    if len(options) < 4:
        return None
    right = curve.formula()
    return choice_of(right, options, {"name": curve.name}, _seen(asking.state, curve), right)


def _meetings(first: Curve, second: Curve) -> list[int]:
    return [x for x in first.places() if first.at(x) == second.at(x)]


@program(
    "At which x do the graphs of {first} and {second} meet?",
    "What is the x coordinate of the point where {first} and {second} cross?",
    solve=lambda state, words: str(_meetings(*(_plot(state).curve(words[key]) for key in ("first", "second")))[0]),
)
def _meeting(asking: Asking) -> ProgramQuestion | None:
    curves = _plot(asking.state).curves
    places = [(_meetings(*pair), pair) for pair in permutations(curves, 2)]
    pair = asking.with_wanted(MEETINGS, ((found[0], pair) for found, pair in places if len(found) == 1))
    if pair is None or not meet_once(*pair):
        return None
    (first, second), (x,) = pair, _meetings(*pair)
    words = {"first": first.name, "second": second.name}
    seen = [*_seen(asking.state, first, x), *_seen(asking.state, second, x)]
    return _number(x, words, seen, first.at(x), -x)


@program(
    "Which graph is higher at x = {x}, {first} or {second}?",
    "At x = {x}, which is larger: {first} or {second}?",
    solve=lambda state, words: max(
        (words["first"], words["second"]), key=lambda name: _plot(state).curve(name).at(int(words["x"]))
    ),
)
def _higher_at(asking: Asking) -> ProgramQuestion | None:
    curves = _plot(asking.state).curves
    if len(curves) < 2:
        return None
    first, second = shuffled(asking.rng, curves)[:2]
    there = [x for x in first.places() if x in second.places() and abs(first.at(x) - second.at(x)) >= 1]
    if not there:
        return None
    x = chosen(asking.rng, there)
    winner = max((first, second), key=lambda curve: curve.at(x)).name
    words = {"first": first.name, "second": second.name, "x": str(x)}
    seen = [*_seen(asking.state, first, x), *_seen(asking.state, second, x)]
    return choice_of(winner, (first.name, second.name), words, seen, winner)


FUNCTION_PROGRAMS = (
    _value_at,
    _x_of_value,
    _count_zeros,
    _slope,
    _turning_point,
    _rising,
    _formula,
    _meeting,
    _higher_at,
)
