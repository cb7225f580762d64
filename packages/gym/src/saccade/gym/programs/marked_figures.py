"""Programs on marked figures: what marks say of sides and angles, and what follows from printed numbers."""

from collections.abc import Mapping, Sequence

from saccade.gym.grammars.marked_figures import SORTS, Groups, MarkedFigure, MarkedState
from saccade.gym.program import Asking, ProgramQuestion, program, with_article
from saccade.gym.programs.answers import choice_of, count_of
from saccade.gym.programs.choosing import chosen, shuffled
from saccade.gym.state import Element, SceneState, as_state

Words = Mapping[str, str]
BOTH_PAIRS, NO_PAIR = "both pairs", "none"
ASKED_SORTS = tuple(name for name in SORTS if "triangle" not in name)
TRIANGLES = tuple(name for name in SORTS if "triangle" in name)


def _figures(state: SceneState) -> tuple[MarkedFigure, ...]:
    return as_state(state, MarkedState).figures


def _figure_of(state: SceneState, letters: str) -> MarkedFigure:
    """The figure that has these corners."""
    return next(figure for figure in _figures(state) if set(letters) <= set(figure.letters))


def _side_number(figure: MarkedFigure, side: str) -> int:
    return next(index for index in range(len(figure.letters)) if figure.side(index) == side)


def _group_of(groups: Groups, index: int) -> tuple[int, ...]:
    return next((group for group in groups if index in group), (index,))


def _elements(state: SceneState, identities: Sequence[str]) -> list[Element]:
    return [state.element(identity) for identity in identities]


def _number(value: int, words: Words, seen: Sequence[Element], *wrong: int) -> ProgramQuestion:
    return count_of(value, words, seen, str(value), wrong=[one for one in wrong if one != value])


def _whole(figure: MarkedFigure) -> list[str]:
    return [f"side:{figure.side(index)}" for index in range(len(figure.letters))]


def _length_by_mark(state: SceneState, words: Words) -> str:
    figure = _figure_of(state, words["side"])
    group = _group_of(figure.marks.sides, _side_number(figure, words["side"]))
    return str(next(figure.lengths[one] for one in group if one in figure.printed_sides))


@program(
    "How long is {side}?",
    "Going by the marks, what is the length of {side}?",
    "Find the length of the side {side}.",
    solve=_length_by_mark,
)
def _length(asking: Asking) -> ProgramQuestion | None:
    figure = chosen(asking.rng, _figures(asking.state))
    hidden = [(one, group) for group in figure.marks.sides for one in group if one not in figure.printed_sides]
    if not hidden:
        return None
    index, group = chosen(asking.rng, hidden)
    known = next(one for one in group if one in figure.printed_sides)
    sides = [figure.side(index), figure.side(known)]
    seen = _elements(asking.state, [*(f"side:{side}" for side in sides), f"number:{sides[1]}"])
    wrong = [figure.lengths[one] for one in figure.printed_sides]
    return _number(figure.lengths[index], {"side": sides[0]}, seen, *wrong)


def _angle_by_mark(state: SceneState, words: Words) -> str:
    figure = _figure_of(state, words["corner"])
    group = _group_of(figure.marks.angles, figure.letters.index(words["corner"]))
    return str(next(figure.degrees[one] for one in group if one in figure.printed_angles))


@program(
    "How large is the angle at {corner}, in degrees?",
    "Going by the marks, how many degrees has the angle at {corner}?",
    solve=_angle_by_mark,
)
def _angle(asking: Asking) -> ProgramQuestion | None:
    figure = chosen(asking.rng, _figures(asking.state))
    printed = set(figure.printed_angles)
    hidden = [(i, group) for group in figure.marks.angles if set(group) & printed for i in group if i not in printed]
    if not hidden:
        return None
    index, group = chosen(asking.rng, hidden)
    known = next(one for one in group if one in printed)
    letters = figure.letters[index], figure.letters[known]
    seen = _elements(asking.state, [f"corner:{letters[0]}", f"corner:{letters[1]}", f"degrees:{letters[1]}"])
    return _number(figure.degrees[index], {"corner": letters[0]}, seen, 180 - figure.degrees[index])


def _partner(figure: MarkedFigure, index: int) -> int:
    """The other side of a pair of equal ones."""
    return next(one for one in _group_of(figure.marks.sides, index) if one != index)


@program(
    "Which side of the same figure is marked as being as long as {side}?",
    "The marks say that one other side of this figure has the length of {side}. Which?",
    solve=lambda state, words: (lambda figure: figure.side(_partner(figure, _side_number(figure, words["side"]))))(
        _figure_of(state, words["side"])
    ),
)
def _equal_side(asking: Asking) -> ProgramQuestion | None:
    """The options are sides of one figure, for marks of another may look the same. Each is as often right."""
    figure = chosen(asking.rng, _figures(asking.state))
    pairs = [group for group in figure.marks.sides if len(group) == 2]
    if not pairs:
        return None
    index, other = shuffled(asking.rng, chosen(asking.rng, pairs))
    size = len(figure.letters)
    if size == 4 and (other - index) % 4 != asking.wanted((1, 2, 3)):
        return None
    answer, side = figure.side(other), figure.side(index)
    own = [figure.side(one) for one in range(size) if one not in (index, other)]
    seen = _elements(asking.state, [f"side:{side}", f"side:{answer}"])
    return choice_of(answer, [answer, *own], {"side": side}, seen, answer)


def _parallels(figure: MarkedFigure) -> str:
    """The pairs of sides with heads of arrows, in words."""
    pairs = [" and ".join(figure.side(side) for side in sorted(group)) for group in sorted(figure.marks.parallel)]
    return BOTH_PAIRS if len(pairs) == 2 else pairs[0] if pairs else NO_PAIR


@program(
    "Which sides of {figure} are marked as parallel?",
    "By its arrow heads, which sides of {figure} run parallel to each other?",
    solve=lambda state, words: _parallels(_figure_of(state, words["figure"])),
)
def _parallel_sides(asking: Asking) -> ProgramQuestion | None:
    figure = chosen(asking.rng, _figures(asking.state))
    if len(figure.letters) != 4:
        return None
    pairs = [f"{figure.side(one)} and {figure.side(one + 2)}" for one in (0, 1)]
    options, answer = [*pairs, BOTH_PAIRS, NO_PAIR], _parallels(figure)
    if answer != asking.wanted(options):
        return None
    return choice_of(answer, options, {"figure": figure.letters}, _elements(asking.state, _whole(figure)), answer)


def _right_angles(state: SceneState) -> list[str]:
    return [figure.letters[corner] for figure in _figures(state) for corner in figure.marks.right]


@program(
    "How many right angles are marked in the drawing?",
    "Count the corners with a small square in them.",
    solve=lambda state, words: str(len(_right_angles(state))),
)
def _count_right(asking: Asking) -> ProgramQuestion | None:
    corners = _right_angles(asking.state)
    if len(corners) != asking.wanted((0, 1, 4) if len(_figures(asking.state)) == 1 else (0, 1, 2, 4, 5, 8)):
        return None
    return count_of(len(corners), {}, _elements(asking.state, [f"corner:{letter}" for letter in corners]))


@program(
    "What is the perimeter of {figure}?",
    "Add up all sides of {figure}; sides with the same marks are equally long.",
    solve=lambda state, words: str(sum(_figure_of(state, words["figure"]).lengths)),
)
def _perimeter(asking: Asking) -> ProgramQuestion:
    figure = chosen(asking.rng, _figures(asking.state))
    total = sum(figure.lengths)
    printed = sum(figure.lengths[one] for one in figure.printed_sides)
    numbers = [f"number:{figure.side(one)}" for one in figure.printed_sides]
    seen = _elements(asking.state, [*_whole(figure), *numbers])
    return _number(total, {"figure": figure.letters}, seen, printed)


def _third_angle(state: SceneState, words: Words) -> str:
    figure = _figure_of(state, words["corner"])
    index = figure.letters.index(words["corner"])
    return str(180 - sum(_known_angles(figure)[one] for one in range(3) if one != index))


def _known_angles(figure: MarkedFigure) -> dict[int, int]:
    """Angles that are printed, or that marks give."""
    known = dict.fromkeys(figure.marks.right, 90)
    for corner in figure.printed_angles:
        known |= dict.fromkeys(_group_of(figure.marks.angles, corner), figure.degrees[corner])
    return known


@program(
    "Calculate the angle at {corner} in degrees.",
    "The angles of a triangle add up to 180°. How large is the one at {corner}, in degrees?",
    solve=_third_angle,
)
def _angle_sum(asking: Asking) -> ProgramQuestion | None:
    figure = chosen(asking.rng, _figures(asking.state))
    known = _known_angles(figure)
    missing = [corner for corner in range(len(figure.letters)) if corner not in known]
    if len(figure.letters) != 3 or len(missing) != 1:
        return None
    (corner,) = missing
    others = [one for one in range(3) if one != corner]
    seen = [f"corner:{figure.letters[one]}" for one in (*others, corner)]
    seen += [f"degrees:{figure.letters[one]}" for one in figure.printed_angles]
    answer = 180 - sum(known[one] for one in others)
    wrong = 180 - known[others[0]]
    return _number(answer, {"corner": figure.letters[corner]}, _elements(asking.state, seen), wrong)


@program(
    "Going by its marks, what is {figure}?",
    "Which name fits {figure} best, by what is marked?",
    solve=lambda state, words: with_article(_figure_of(state, words["figure"]).marks.name),
)
def _sort(asking: Asking) -> ProgramQuestion | None:
    figures = _figures(asking.state)
    wanted = asking.wanted(tuple(SORTS))
    found = [figure for figure in figures if figure.marks.name == wanted]
    if not found:
        return None
    figure = chosen(asking.rng, found)
    pool = TRIANGLES if figure.marks.name in TRIANGLES else ASKED_SORTS
    wrong = [with_article(name) for name in shuffled(asking.rng, pool) if name != figure.marks.name][:3]
    answer = with_article(figure.marks.name)
    return choice_of(
        answer, [answer, *wrong], {"figure": figure.letters}, _elements(asking.state, _whole(figure)), answer
    )


MARKED_PROGRAMS = (
    _length,
    _angle,
    _equal_side,
    _parallel_sides,
    _count_right,
    _perimeter,
    _angle_sum,
    _sort,
)
