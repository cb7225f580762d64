"""Programs on where solids stand: sides, also from behind, and distances on the floor."""

from saccade.gym.grammars.solids import SolidsState, Viewpoint, seen_from
from saccade.gym.program import Asking, ProgramQuestion, program
from saccade.gym.programs.answers import told_of
from saccade.gym.programs.solids import (
    APART,
    across,
    all_seen,
    extreme_of,
    floor_distance,
    pair_by,
    pick_solids,
    smallest,
    solid_named,
    solids_of,
)
from saccade.gym.state import Element, as_state


@program(
    "Which object is farthest to the left?",
    "What is the leftmost object?",
    solve=lambda state, words: smallest(state, lambda element: across(state, element)),
)
def _leftmost(asking: Asking) -> ProgramQuestion | None:
    return extreme_of(asking, lambda element: across(asking.state, element))


@program(
    "Which object is farthest to the right?",
    "What is the rightmost object?",
    solve=lambda state, words: smallest(state, lambda element: -across(state, element)),
)
def _rightmost(asking: Asking) -> ProgramQuestion | None:
    return extreme_of(asking, lambda element: -across(asking.state, element))


@program(
    "Seen from the opposite side, which is farther to the left, the {first} or the {second}?",
    "If the camera looked from the other side, which would be more to the left: the {first} or the {second}?",
)
def _from_behind(asking: Asking) -> ProgramQuestion | None:
    """Left and right change sides for who looks from behind."""
    state = as_state(asking.state, SolidsState)
    here = state.viewpoints[0]
    there = Viewpoint(azimuth=(here.azimuth + 180) % 360)

    def key(element: Element) -> float:
        right, far = seen_from(element, there)
        return right / far * 11

    return pair_by(asking, key)


@program(
    "Which stands closer to the {name}, the {first} or the {second}?",
    "Measured on the floor, is the {first} or the {second} nearer to the {name}?",
    solve=lambda state, words: min(
        (words["first"], words["second"]),
        key=lambda name: floor_distance(solid_named(state, name), solid_named(state, words["name"])),
    ),
)
def _closer_on_floor(asking: Asking) -> ProgramQuestion | None:
    three = pick_solids(asking, 3)
    if three is None:
        return None
    anchor, one, two = three
    if abs(floor_distance(anchor, one) - floor_distance(anchor, two)) < APART:
        return None
    winner = min((one, two), key=lambda element: floor_distance(anchor, element))
    words = {"name": anchor.name, "first": one.name, "second": two.name}
    return told_of(winner.name, three, kind="choice", words=words, choices=[one.name, two.name])


@program("Which object stands closest to the {name} on the floor?", "What is the nearest neighbour of the {name}?")
def _neighbour(asking: Asking) -> ProgramQuestion | None:
    some = pick_solids(asking, 1)
    if some is None or not all_seen(asking):
        return None
    others = sorted(
        (element for element in solids_of(asking.state) if element is not some[0]),
        key=lambda element: floor_distance(some[0], element),
    )
    if floor_distance(some[0], others[1]) - floor_distance(some[0], others[0]) < APART / 2:
        return None
    return told_of(others[0].name, [some[0], others[0]], words={"name": some[0].name}, near=[others[1].name])


PLACE_PROGRAMS = (
    _leftmost,
    _rightmost,
    _from_behind,
    _closer_on_floor,
    _neighbour,
)
"""Sides and distances."""
