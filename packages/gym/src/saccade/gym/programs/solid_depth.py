"""Programs on the depth of solids: what is near, what is far, what hides what."""

import numpy as np

from saccade.gym.grammars.solids import SolidsState
from saccade.gym.looks.raycast import bodies_shown
from saccade.gym.looks.solids import body_of
from saccade.gym.program import Asking, ProgramQuestion, program
from saccade.gym.programs.answers import told_of
from saccade.gym.programs.solids import (
    APART,
    ahead,
    all_seen,
    extreme_of,
    pair_by,
    pick_solids,
    smaller_of,
    smallest,
    solid_named,
    solids_of,
    visible,
)
from saccade.gym.state import as_state

LEAST_HIDDEN, MOSTLY = 0.12, 0.9
"""A solid hides another where so much of it is covered, and so much of that by one."""


@program(
    "Which object is nearest to the camera?",
    "What stands closest to the viewer?",
    solve=lambda state, words: smallest(state, lambda element: element.depth),
)
def _nearest(asking: Asking) -> ProgramQuestion | None:
    return extreme_of(asking, lambda element: ahead(asking.state, element))


@program(
    "Which object is farthest from the camera?",
    "What stands at the greatest distance from the viewer?",
    solve=lambda state, words: smallest(state, lambda element: -element.depth),
)
def _farthest(asking: Asking) -> ProgramQuestion | None:
    return extreme_of(asking, lambda element: -ahead(asking.state, element))


@program(
    "Which is nearer to the camera, the {first} or the {second}?",
    "The {first} or the {second}: which is closer to the viewer?",
    solve=lambda state, words: smaller_of(state, words, lambda element: element.depth),
)
def _nearer_of_two(asking: Asking) -> ProgramQuestion | None:
    return pair_by(asking, lambda element: ahead(asking.state, element))


@program(
    "How many objects are farther from the camera than the {name}?",
    "Count what stands behind the {name}, seen from the camera.",
    solve=lambda state, words: str(
        sum(element.depth > solid_named(state, words["name"]).depth for element in solids_of(state))
    ),
)
def _count_behind(asking: Asking) -> ProgramQuestion | None:
    some = pick_solids(asking, 1)
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


@program("What hides a part of the {name}?", "Which object stands in front of the {name} and covers some of it?")
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


DEPTH_PROGRAMS = (
    _nearest,
    _farthest,
    _nearer_of_two,
    _count_behind,
    _hides,
)
"""Depth and occlusion."""
