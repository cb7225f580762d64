"""Programs on two pictures of the same things: what has changed from the first to the second."""

from saccade.gym.grammars.pairs import PairState, ThingChange
from saccade.gym.program import Asking, Program, ProgramQuestion, program
from saccade.gym.programs.answers import Words, choice_of, count_of, whether, yes_or_no
from saccade.gym.programs.choosing import at, shuffled
from saccade.gym.state import Element, SceneState, as_state
from saccade.tasks.drawing import COLOUR_NAMES, SHAPES

KINDS = {
    "colour": "its colour",
    "shape": "its shape",
    "place": "its place",
    "gone": "it is missing in the second picture",
    "new": "it is only in the second picture",
}
WAYS = ("to the left", "to the right", "up", "down")


def _pair(state: SceneState) -> PairState:
    return as_state(state, PairState)


def _things_by_root(state: SceneState) -> dict[str, tuple[Element | None, Element | None]]:
    """Things of the two pictures by the root of their ids; a second solver goes by these, not by the changes."""
    found: dict[str, tuple[Element | None, Element | None]] = {}
    for one in state.elements:
        if one.view == 0:
            found[one.id] = (one, found.get(one.id, (None, None))[1])
        elif one.id.endswith("b"):
            root = one.id.removesuffix("b")
            found[root] = (found.get(root, (None, None))[0], one)
        else:
            found[one.id] = (None, one)
    return found


def _differences(state: SceneState) -> list[tuple[Element | None, Element | None]]:
    return [
        (one, other)
        for one, other in _things_by_root(state).values()
        if one is None or other is None or (one.attributes, one.center) != (other.attributes, other.center)
    ]


def _elements_of(state: SceneState, *changes: ThingChange) -> list[Element]:
    """Things that a change speaks of, in the first picture, then in the second."""
    return [state.element(name) for change in changes for name in (change.first, change.second) if name]


def _single(asking: Asking, *kinds: str) -> ThingChange | None:
    """The one change of a pair that has no other, where it is of such a kind."""
    changes = _pair(asking.state).changes
    return changes[0] if len(changes) == 1 and changes[0].kind in kinds else None


def _the_difference(state: SceneState) -> tuple[Element | None, Element | None]:
    (found,) = _differences(state)
    return found


def _ask_same(asking: Asking) -> ProgramQuestion | None:
    changes = _pair(asking.state).changes
    if (not changes) != asking.is_wanted:
        return None
    shown = _elements_of(asking.state, *changes) or asking.state.elements
    return yes_or_no(not changes, {}, shown, f"{len(changes)} differences")


def _ask_count(asking: Asking) -> ProgramQuestion | None:
    changes = _pair(asking.state).changes
    return count_of(len(changes), {}, _elements_of(asking.state, *changes) or asking.state.elements)


IS_SAME = Program(
    name="is_same",
    wordings=(
        "Do the two pictures show the same?",
        "Compare the two pictures: is everything in them the same?",
        "Is the second picture the same as the first?",
    ),
    ask=_ask_same,
    solve=lambda state, words: whether(not _differences(state)),
)
COUNT_DIFFERENCES = Program(
    name="count_differences",
    spread=10,
    wordings=(
        "In how many things do the two pictures differ?",
        "How many things were changed, moved, added or taken away from the first picture to the second?",
    ),
    ask=_ask_count,
    solve=lambda state, words: str(len(_differences(state))),
)


def _ask_kind(asking: Asking) -> ProgramQuestion | None:
    change = _single(asking, asking.wanted(tuple(KINDS)))
    if change is None:
        return None
    return choice_of(KINDS[change.kind], tuple(KINDS.values()), {}, _elements_of(asking.state, change))


def _solve_kind(state: SceneState, words: Words) -> str:
    one, other = _the_difference(state)
    if one is None or other is None:
        return KINDS["new" if one is None else "gone"]
    if one.center != other.center:
        return KINDS["place"]
    return KINDS[next(name for name in one.attributes if one.attributes[name] != other.attributes[name])]


WHAT_CHANGED = Program(
    name="what_changed",
    wordings=(
        "The pictures differ in one thing. What about it is different?",
        "One thing is not the same in both pictures. In which way?",
    ),
    ask=_ask_kind,
    solve=_solve_kind,
)


def _which(name: str, kinds: tuple[str, ...], wordings: tuple[str, ...], *, in_second: bool = False) -> Program:
    """Which thing it is: by its name in the first picture, or in the second."""

    def ask(asking: Asking) -> ProgramQuestion | None:
        change = _single(asking, *kinds)
        if change is None:
            return None
        view = 1 if in_second else 0
        there = [one for one in asking.state.elements if one.view == view]
        answer = asking.state.element(change.second if in_second else change.first)
        wrong = shuffled(asking.rng, [one.name for one in there if one.id != answer.id])[:3]
        return choice_of(answer.name, [answer.name, *wrong], {}, _elements_of(asking.state, change), answer.name)

    def solve(state: SceneState, words: Words) -> str:
        found = _the_difference(state)[1 if in_second else 0]
        assert found is not None
        return found.name

    return Program(name=name, wordings=wordings, ask=ask, solve=solve)


def _value(name: str, kind: str, options: tuple[str, ...], wordings: tuple[str, ...], *, in_second: bool) -> Program:
    """What an attribute was before the change, or is after it."""

    def ask(asking: Asking) -> ProgramQuestion | None:
        change = _single(asking, kind)
        if change is None:
            return None
        before, after = _elements_of(asking.state, change)
        answer, wrong = (after, before) if in_second else (before, after)
        shown = [before, after]
        said = f"{before.get(kind)} {after.get(kind)}"
        return choice_of(answer.get(kind), options, {}, shown, said, wrong=[wrong.get(kind)])

    def solve(state: SceneState, words: Words) -> str:
        found = _the_difference(state)[1 if in_second else 0]
        assert found is not None
        return found.get(kind)

    return Program(name=name, wordings=wordings, ask=ask, solve=solve)


def _way(one: Element, other: Element) -> str:
    across, down = at(other).x - at(one).x, at(other).y - at(one).y
    if abs(across) > abs(down):
        return WAYS[1] if across > 0 else WAYS[0]
    return WAYS[3] if down > 0 else WAYS[2]


def _solve_way(state: SceneState, words: Words) -> str:
    one, other = _the_difference(state)
    assert one is not None
    assert other is not None
    return _way(one, other)


@program(
    "One thing was moved. In which main direction?",
    "A thing lies elsewhere in the second picture. In which direction did it mainly go?",
    solve=_solve_way,
)
def _moved_which_way(asking: Asking) -> ProgramQuestion | None:
    change = _single(asking, "place")
    if change is None:
        return None
    before, after = _elements_of(asking.state, change)
    across, down = abs(at(before).x - at(after).x), abs(at(before).y - at(after).y)
    if max(across, down) < 2 * min(across, down):
        return None
    return choice_of(_way(before, after), WAYS, {}, [before, after], before.name)


THING_PROGRAMS = (
    IS_SAME,
    COUNT_DIFFERENCES,
    WHAT_CHANGED,
    _which(
        "which_changed",
        ("colour", "shape"),
        (
            "One thing looks different in the second picture. What was it in the first?",
            "Which thing of the first picture looks different in the second?",
        ),
    ),
    _which(
        "which_is_gone",
        ("gone",),
        (
            "Which thing of the first picture is missing in the second?",
            "One thing was taken away after the first picture. Which?",
        ),
    ),
    _which(
        "which_is_new",
        ("new",),
        ("Which thing of the second picture is not in the first?", "One thing was added in the second picture. Which?"),
        in_second=True,
    ),
    _which(
        "which_moved",
        ("place",),
        (
            "Which thing lies elsewhere in the second picture?",
            "One thing was moved from the first picture to the second. Which?",
        ),
    ),
    _value(
        "new_colour",
        "colour",
        COLOUR_NAMES,
        (
            "One thing has another colour in the second picture. Which colour does it have there?",
            "A thing was repainted after the first picture. What is its colour now?",
        ),
        in_second=True,
    ),
    _value(
        "old_colour",
        "colour",
        COLOUR_NAMES,
        (
            "One thing has another colour in the second picture. Which colour did it have in the first?",
            "A thing was repainted after the first picture. What was its colour before?",
        ),
        in_second=False,
    ),
    _value(
        "new_shape",
        "shape",
        SHAPES,
        (
            "One thing has another shape in the second picture. Which shape does it have there?",
            "A thing took another shape after the first picture. Which shape is it now?",
        ),
        in_second=True,
    ),
    _moved_which_way,
)


def plate_pair_programs(letters: tuple[str, ...]) -> tuple[Program, ...]:
    """On two pictures of plates whose letters change."""
    return (
        IS_SAME,
        COUNT_DIFFERENCES,
        _which(
            "which_changed",
            ("letter",),
            (
                "One plate bears another letter in the second picture. Which plate?",
                "On which plate is the letter not the same in both pictures?",
            ),
        ),
        _value(
            "new_letter",
            "letter",
            letters,
            (
                "One plate bears another letter in the second picture. Which letter is it there?",
                "A letter was changed after the first picture. What is it now?",
            ),
            in_second=True,
        ),
        _value(
            "old_letter",
            "letter",
            letters,
            (
                "One plate bears another letter in the second picture. Which letter was it in the first?",
                "A letter was changed after the first picture. What was it before?",
            ),
            in_second=False,
        ),
    )
