"""Programs on solids in one view: depth, sides, distances on the floor, what hides what, what stands on what."""

import math
from collections.abc import Callable, Mapping

import numpy as np

from saccade.gym.grammars.solids import SolidsState, Viewpoint, seen_from
from saccade.gym.looks.raycast import bodies_shown
from saccade.gym.looks.solids import body_of
from saccade.gym.program import Asking, Program, ProgramQuestion
from saccade.gym.programs.answers import told_of
from saccade.gym.rendering import SeenRegion
from saccade.gym.state import Element, SceneState, as_state

APART = 0.7
"""Depths, sides and distances are compared where they differ by so much."""

LEAST_HIDDEN, MOSTLY = 0.12, 0.9
"""A solid hides another where so much of it is covered, and so much of that by one."""

LEAST_SEEN_PX = 60
"""Only solids of which so much is seen are spoken of."""


def solids_of(state: SceneState) -> tuple[Element, ...]:
    """All solids."""
    return state.of_kind("solid")


def visible(asking: Asking, view: int = 0) -> list[Element]:
    """The solids that can be made out in a view."""
    found = []
    for element in solids_of(asking.state):
        region = region_in(asking, element, view)
        if region is not None and _area(region) >= LEAST_SEEN_PX:
            found.append(element)
    return found


def all_seen(asking: Asking) -> bool:
    """Whether every solid can be made out in every view, so that counts and extremes have one meaning."""
    return all(len(visible(asking, view)) == len(solids_of(asking.state)) for view in range(asking.state.views))


def region_in(asking: Asking, element: Element, view: int) -> SeenRegion | None:
    """Where a solid is seen in a view."""
    return next((one for one in asking.rendering.of(element.id) if one.image_index == view), None)


def _area(region: SeenRegion) -> float:
    return float(region.cover.sum()) if region.cover is not None else region.box.area


def ahead(state: SceneState, element: Element, view: int = 0) -> float:
    """Distance ahead of the camera."""
    return seen_from(element, _viewpoint(state, view))[1]


def across(state: SceneState, element: Element, view: int = 0) -> float:
    """How far to the right it is seen, as a slope: what the picture shows."""
    right, far = seen_from(element, _viewpoint(state, view))
    return right / far * 11


def _viewpoint(state: SceneState, view: int) -> Viewpoint:
    return as_state(state, SolidsState).viewpoints[view]


def floor_distance(first: Element, second: Element) -> float:
    """Distance of two solids on the floor."""
    return math.hypot(first.numbers["x"] - second.numbers["x"], first.numbers["y"] - second.numbers["y"])


def named(state: SceneState, name: str) -> Element:
    """The solid of this name; no two share one."""
    return next(element for element in solids_of(state) if element.name == name)


def picked(asking: Asking, count: int, view: int = 0) -> list[Element] | None:
    """So many different solids that can be made out; None where there are too few."""
    pool = visible(asking, view)
    if len(pool) < count:
        return None
    return [pool[int(i)] for i in asking.rng.permutation(len(pool))[:count]]


Key = Callable[[Element], float]


def extreme_of(asking: Asking, key: Key, view: int = 0) -> ProgramQuestion | None:
    """The solid with the smallest key, where the next one is clearly larger."""
    order = sorted(visible(asking, view), key=key)
    if not all_seen(asking) or len(order) < 3 or key(order[1]) - key(order[0]) < APART:
        return None
    return told_of(order[0].name, order[:2], near=[order[1].name])


def _nearest(asking: Asking) -> ProgramQuestion | None:
    return extreme_of(asking, lambda element: ahead(asking.state, element))


def _farthest(asking: Asking) -> ProgramQuestion | None:
    return extreme_of(asking, lambda element: -ahead(asking.state, element))


def _leftmost(asking: Asking) -> ProgramQuestion | None:
    return extreme_of(asking, lambda element: across(asking.state, element))


def _rightmost(asking: Asking) -> ProgramQuestion | None:
    return extreme_of(asking, lambda element: -across(asking.state, element))


def pair_by(asking: Asking, key: Key, view: int = 0) -> ProgramQuestion | None:
    """Which of two solids has the smaller key."""
    pair = picked(asking, 2, view)
    if pair is None or abs(key(pair[0]) - key(pair[1])) < APART:
        return None
    winner = min(pair, key=key)
    names = [element.name for element in pair]
    words = {"first": names[0], "second": names[1]}
    return told_of(winner.name, pair, kind="choice", words=words, choices=names)


def _nearer(asking: Asking) -> ProgramQuestion | None:
    return pair_by(asking, lambda element: ahead(asking.state, element))


def _opposite(asking: Asking) -> ProgramQuestion | None:
    """Left and right change sides for who looks from behind."""
    state = as_state(asking.state, SolidsState)
    here = state.viewpoints[0]
    there = Viewpoint(azimuth=(here.azimuth + 180) % 360)

    def key(element: Element) -> float:
        right, far = seen_from(element, there)
        return right / far * 11

    return pair_by(asking, key)


def _count_behind(asking: Asking) -> ProgramQuestion | None:
    some = picked(asking, 1)
    if some is None or not all_seen(asking):
        return None
    far = {element.id: ahead(asking.state, element) for element in solids_of(asking.state)}
    others = [element for element in solids_of(asking.state) if element is not some[0]]
    if any(abs(far[other.id] - far[some[0].id]) < APART / 2 for other in others):
        return None
    behind = [other for other in others if far[other.id] > far[some[0].id]]
    count = str(len(behind))
    near = [str(len(others) - len(behind)), str(len(behind) + 1)]
    return told_of(count, [*some, *behind], kind="integer", words={"name": some[0].name}, near=near)


def _closer_on_floor(asking: Asking) -> ProgramQuestion | None:
    three = picked(asking, 3)
    if three is None:
        return None
    anchor, one, two = three
    if abs(floor_distance(anchor, one) - floor_distance(anchor, two)) < APART:
        return None
    winner = min((one, two), key=lambda element: floor_distance(anchor, element))
    words = {"name": anchor.name, "first": one.name, "second": two.name}
    return told_of(winner.name, three, kind="choice", words=words, choices=[one.name, two.name])


def _nearest_neighbour(asking: Asking) -> ProgramQuestion | None:
    some = picked(asking, 1)
    if some is None or not all_seen(asking):
        return None
    others = sorted(
        (element for element in solids_of(asking.state) if element is not some[0]),
        key=lambda element: floor_distance(some[0], element),
    )
    if floor_distance(some[0], others[1]) - floor_distance(some[0], others[0]) < APART / 2:
        return None
    return told_of(others[0].name, [some[0], others[0]], words={"name": some[0].name}, near=[others[1].name])


def _hides(asking: Asking) -> ProgramQuestion | None:
    """The one solid that hides a clear part of another."""
    state = as_state(asking.state, SolidsState)
    solids, pool = solids_of(state), visible(asking)
    bodies = [body_of(element) for element in solids]
    side = state.width // 2
    shown = bodies_shown(bodies, state.viewpoints[0], side)
    for at in asking.rng.permutation(len(pool)):
        back = pool[int(at)]
        whole = bodies_shown([body_of(back)], state.viewpoints[0], side) == 1
        hidden = shown[whole & (shown != solids.index(back) + 1)]
        if len(hidden) < LEAST_HIDDEN * whole.sum():
            continue
        counts = np.bincount(hidden, minlength=len(solids) + 1)
        front = solids[int(counts.argmax()) - 1]
        if counts.max() > MOSTLY * len(hidden) and front in pool:
            others = [element.name for element in pool if element not in (front, back)]
            return told_of(front.name, [back, front], words={"name": back.name}, near=others[:2])
    return None


def _attribute(kind: str) -> Callable[[Asking], ProgramQuestion | None]:
    def ask(asking: Asking) -> ProgramQuestion | None:
        some = picked(asking, 1)
        if some is None:
            return None
        name = some[0].name
        answer = some[0].attributes[kind]
        other = {"shiny": "dull", "dull": "shiny", "large": "small", "small": "large"}[answer]
        return told_of(answer, some, kind="choice", words={"name": name}, choices=sorted((answer, other)))

    return ask


def _count_finish(asking: Asking) -> ProgramQuestion | None:
    if not all_seen(asking):
        return None
    finish = ("shiny", "dull")[int(asking.rng.integers(2))]
    found = [element for element in solids_of(asking.state) if element.attributes["finish"] == finish]
    count = len(found)
    return told_of(str(count), found, kind="integer", words={"finish": finish}, near=[str(count + 1)])


def _on_top(asking: Asking) -> ProgramQuestion | None:
    pairs = _stacks(asking)
    if not pairs:
        return None
    top, base = pairs[int(asking.rng.integers(len(pairs)))]
    others = [element.name for element in visible(asking) if element not in (top, base)]
    return told_of(top.name, [base, top], words={"name": base.name}, near=others[:2])


def _under(asking: Asking) -> ProgramQuestion | None:
    pairs = _stacks(asking)
    if not pairs:
        return None
    top, base = pairs[int(asking.rng.integers(len(pairs)))]
    others = [element.name for element in visible(asking) if element not in (top, base)]
    return told_of(base.name, [top, base], words={"name": top.name}, near=others[:2])


def _stacks(asking: Asking) -> list[tuple[Element, Element]]:
    """Solids that stand on others, with what they stand on, where both can be made out."""
    pool = visible(asking)
    tops = [element for element in pool if element.get("on")]
    pairs = [(top, named(asking.state, top.attributes["on"])) for top in tops]
    return [(top, base) for top, base in pairs if base in pool]


def _on_floor(asking: Asking) -> ProgramQuestion | None:
    if not all_seen(asking):
        return None
    found = [element for element in solids_of(asking.state) if element.numbers["z"] == 0]
    near = [str(len(solids_of(asking.state))), str(len(found) + 1)]
    return told_of(str(len(found)), found, kind="integer", near=near)


def _solve_key(state: SceneState, key: Key) -> str:
    return min(solids_of(state), key=key).name


def _solve_pair(state: SceneState, words: Mapping[str, str], key: Key) -> str:
    return min((words["first"], words["second"]), key=lambda name: key(named(state, name)))


DEPTH_PROGRAMS = (
    Program(
        name="nearest",
        wordings=("Which object is nearest to the camera?", "What stands closest to the viewer?"),
        ask=_nearest,
        solve=lambda state, words: _solve_key(state, lambda element: element.depth),
    ),
    Program(
        name="farthest",
        wordings=("Which object is farthest from the camera?", "What stands at the greatest distance from the viewer?"),
        ask=_farthest,
        solve=lambda state, words: _solve_key(state, lambda element: -element.depth),
    ),
    Program(
        name="nearer_of_two",
        wordings=(
            "Which is nearer to the camera, the {first} or the {second}?",
            "The {first} or the {second}: which is closer to the viewer?",
        ),
        ask=_nearer,
        solve=lambda state, words: _solve_pair(state, words, lambda element: element.depth),
    ),
    Program(
        name="count_behind",
        wordings=(
            "How many objects are farther from the camera than the {name}?",
            "Count what stands behind the {name}, seen from the camera.",
        ),
        ask=_count_behind,
        solve=lambda state, words: str(
            sum(element.depth > named(state, words["name"]).depth for element in solids_of(state))
        ),
    ),
    Program(
        name="hides",
        wordings=(
            "What hides a part of the {name}?",
            "Which object stands in front of the {name} and covers some of it?",
        ),
        ask=_hides,
    ),
)
"""Depth and occlusion."""

PLACE_PROGRAMS = (
    Program(
        name="leftmost",
        wordings=("Which object is farthest to the left?", "What is the leftmost object?"),
        ask=_leftmost,
        solve=lambda state, words: _solve_key(state, lambda element: across(state, element)),
    ),
    Program(
        name="rightmost",
        wordings=("Which object is farthest to the right?", "What is the rightmost object?"),
        ask=_rightmost,
        solve=lambda state, words: _solve_key(state, lambda element: -across(state, element)),
    ),
    Program(
        name="from_behind",
        wordings=(
            "Seen from the opposite side, which is farther to the left, the {first} or the {second}?",
            "If the camera looked from the other side, which would be more to the left: the {first} or the {second}?",
        ),
        ask=_opposite,
    ),
    Program(
        name="closer_on_floor",
        wordings=(
            "Which stands closer to the {name}, the {first} or the {second}?",
            "Measured on the floor, is the {first} or the {second} nearer to the {name}?",
        ),
        ask=_closer_on_floor,
        solve=lambda state, words: min(
            (words["first"], words["second"]),
            key=lambda name: floor_distance(named(state, name), named(state, words["name"])),
        ),
    ),
    Program(
        name="neighbour",
        wordings=(
            "Which object stands closest to the {name} on the floor?",
            "What is the nearest neighbour of the {name}?",
        ),
        ask=_nearest_neighbour,
    ),
)
"""Sides and distances."""

LOOK_PROGRAMS = (
    Program(
        name="finish",
        wordings=("Is the {name} shiny or dull?", "What finish has the {name}: shiny or dull?"),
        ask=_attribute("finish"),
        solve=lambda state, words: named(state, words["name"]).attributes["finish"],
    ),
    Program(
        name="count_finish",
        wordings=("How many objects are {finish}?", "Count the {finish} objects."),
        ask=_count_finish,
        solve=lambda state, words: str(
            sum(element.attributes["finish"] == words["finish"] for element in solids_of(state))
        ),
    ),
)
"""Shine."""

STACK_PROGRAMS = (
    Program(
        name="on_top",
        wordings=("What stands on the {name}?", "Which object is on top of the {name}?"),
        ask=_on_top,
        solve=lambda state, words: next(e.name for e in solids_of(state) if e.get("on") == words["name"]),
    ),
    Program(
        name="under",
        wordings=("What is under the {name}?", "On what does the {name} stand?"),
        ask=_under,
        solve=lambda state, words: named(state, words["name"]).attributes["on"],
    ),
    Program(
        name="on_floor",
        wordings=("How many objects stand on the floor itself?", "Count the objects that stand on no other."),
        ask=_on_floor,
        solve=lambda state, words: str(sum(not element.get("on") for element in solids_of(state))),
    ),
)
"""Stacks."""
