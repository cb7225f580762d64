"""Programs on several views of the same solids: how the camera moved, and what one view shows that another hides."""

from saccade.gym.grammars.solids import SolidsState
from saccade.gym.program import Asking, ProgramQuestion, program
from saccade.gym.programs.answers import told_of
from saccade.gym.programs.solids import (
    APART,
    across,
    ahead,
    extreme_of,
    pair_by,
    pick_solids,
    solid_named,
    solids_of,
    visible,
)
from saccade.gym.state import as_state

SIDES = ("left", "right")


def _camera_turn_degrees(asking: Asking) -> int:
    """By how many degrees the camera went round from the first view to the second, from -180 to 180."""
    first, second = as_state(asking.state, SolidsState).viewpoints[:2]
    return round((second.azimuth - first.azimuth + 180) % 360 - 180)


@program(
    "Between the first and the second picture, did the camera move to its left or to its right?",
    "From the first picture to the second, the camera moved round the scene. To its left or to its right?",
)
def _camera_side(asking: Asking) -> ProgramQuestion | None:
    # The camera goes round clockwise, seen from above, as the azimuth grows: that is to its own left.
    side = SIDES[0] if _camera_turn_degrees(asking) > 0 else SIDES[1]
    return told_of(side, visible(asking)[:3], kind="choice", choices=SIDES)


@program(
    "Which object is nearest to the camera in the second picture?",
    "What stands closest to the viewer in the second picture?",
)
def _nearest_second(asking: Asking) -> ProgramQuestion | None:
    return extreme_of(asking, lambda element: ahead(asking.state, element, 1), view=1)


@program(
    "Which object is farthest to the left in the second picture?", "What is the leftmost object of the second picture?"
)
def _leftmost_second(asking: Asking) -> ProgramQuestion | None:
    return extreme_of(asking, lambda element: across(asking.state, element, 1), view=1)


@program(
    "In the second picture, which is nearer to the camera, the {first} or the {second}?",
    "The {first} or the {second}: which is closer in the second picture?",
)
def _nearer_second(asking: Asking) -> ProgramQuestion | None:
    return pair_by(asking, lambda element: ahead(asking.state, element, 1), view=1)


@program(
    "From the first picture to the second, which of the two came nearer to the camera: the {first} or the {second}?",
    "Which one is closer in the second picture than in the first: the {first} or the {second}?",
)
def _came_nearer(asking: Asking) -> ProgramQuestion | None:
    pair = pick_solids(asking, 2)
    if pair is None or any(one not in visible(asking, 1) for one in pair):
        return None
    gains = [ahead(asking.state, one, 0) - ahead(asking.state, one, 1) for one in pair]
    if abs(gains[0]) < APART / 2 or abs(gains[1]) < APART / 2 or (gains[0] > 0) == (gains[1] > 0):
        return None
    winner = pair[0] if gains[0] > 0 else pair[1]
    names = [element.name for element in pair]
    return told_of(winner.name, pair, kind="choice", words={"first": names[0], "second": names[1]}, choices=names)


@program(
    "Do the {first} and the {second} change their order from left to right between the pictures?",
    "Seen from left to right, do the {first} and the {second} swap places in the second picture?",
    solve=lambda state, words: (
        "yes"
        if (
            across(state, solid_named(state, words["first"]), 0) > across(state, solid_named(state, words["second"]), 0)
        )
        != (
            across(state, solid_named(state, words["first"]), 1) > across(state, solid_named(state, words["second"]), 1)
        )
        else "no"
    ),
)
def _swapped_sides(asking: Asking) -> ProgramQuestion | None:
    """Whether two solids keep their order from left to right."""
    pair = pick_solids(asking, 2)
    if pair is None or any(one not in visible(asking, 1) for one in pair):
        return None
    gaps = [across(asking.state, pair[0], view) - across(asking.state, pair[1], view) for view in (0, 1)]
    if min(abs(gap) for gap in gaps) < APART:
        return None
    answer = "no" if (gaps[0] > 0) == (gaps[1] > 0) else "yes"
    words = {"first": pair[0].name, "second": pair[1].name}
    return told_of(answer, pair, kind="choice", words=words, choices=("yes", "no"))


@program(
    "How many different objects do the pictures show together?",
    "Count the objects of the scene; both pictures show the same one.",
    solve=lambda state, words: str(len(solids_of(state))),
)
def _count_both(asking: Asking) -> ProgramQuestion | None:
    solids = solids_of(asking.state)
    if {element.id for view in (0, 1) for element in visible(asking, view)} != {element.id for element in solids}:
        return None
    return told_of(str(len(solids)), solids, kind="integer", near=[str(len(solids) - 1), str(len(solids) + 1)])


VIEW_PROGRAMS = (
    _camera_side,
    _nearest_second,
    _leftmost_second,
    _nearer_second,
    _came_nearer,
    _swapped_sides,
    _count_both,
)
"""Two views."""
