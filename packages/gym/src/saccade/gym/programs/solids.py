"""What is seen of solids, and the comparisons that their programs share."""

import math
from collections.abc import Callable, Mapping

from saccade.gym.grammars.solids import SolidsState, Viewpoint, seen_from
from saccade.gym.looks.raycast import pixels_shown
from saccade.gym.looks.solids import body_of
from saccade.gym.program import Asking, ProgramQuestion
from saccade.gym.programs.answers import told_of
from saccade.gym.state import Element, SceneState, as_state

APART = 0.7
"""Depths, sides and distances are compared where they differ by so much."""

LEAST_SEEN_PX, LEAST_SEEN_SHARE = 60, 0.2
"""Only solids of which so much is seen are spoken of: pixels, and the share of what they would show alone."""


def solids_of(state: SceneState) -> tuple[Element, ...]:
    """All solids."""
    return state.of_kind("solid")


def visible(asking: Asking, view: int = 0) -> list[Element]:
    """The solids that can be made out in a view. No picture is drawn for it, since many states are then refused."""
    state = as_state(asking.state, SolidsState)
    solids = solids_of(state)
    bodies, viewpoint = tuple(map(body_of, solids)), state.viewpoints[view]
    found = []
    for element, body, count in zip(solids, bodies, pixels_shown(bodies, viewpoint, state.width)):
        alone = pixels_shown((body,), viewpoint, state.width)[0]
        if count >= max(LEAST_SEEN_PX, LEAST_SEEN_SHARE * alone):
            found.append(element)
    return found


def all_seen(asking: Asking) -> bool:
    """Whether every solid can be made out in every view, so that counts and extremes have one meaning."""
    return all(len(visible(asking, view)) == len(solids_of(asking.state)) for view in range(asking.state.views))


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


def solid_named(state: SceneState, name: str) -> Element:
    """The solid of this name; no two share one."""
    return next(element for element in solids_of(state) if element.name == name)


def pick_solids(asking: Asking, count: int, view: int = 0) -> list[Element] | None:
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


def pair_by(asking: Asking, key: Key, view: int = 0) -> ProgramQuestion | None:
    """Which of two solids has the smaller key."""
    pair = pick_solids(asking, 2, view)
    if pair is None or abs(key(pair[0]) - key(pair[1])) < APART:
        return None
    winner = min(pair, key=key)
    names = [element.name for element in pair]
    words = {"first": names[0], "second": names[1]}
    return told_of(winner.name, pair, kind="choice", words=words, choices=names)


def smallest(state: SceneState, key: Key) -> str:
    """The name of the solid with the smallest key, from the state alone."""
    return min(solids_of(state), key=key).name


def smaller_of(state: SceneState, words: Mapping[str, str], key: Key) -> str:
    """The one of the first and the second solid of a question that has the smaller key."""
    return min((words["first"], words["second"]), key=lambda name: key(solid_named(state, name)))
