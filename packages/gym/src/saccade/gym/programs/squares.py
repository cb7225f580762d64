"""Programs on squares of things of which one is odd: whether, where, how."""

from collections import Counter

from saccade.gym.grammars.squares import SquareState
from saccade.gym.program import Asking, Program, ProgramQuestion, program
from saccade.gym.programs.answers import Words, choice_of, count_of, whether, yes_or_no
from saccade.gym.programs.marks import LETTERED
from saccade.gym.state import Element, SceneState, as_state
from saccade.tasks.drawing import COLOUR_NAMES, SHAPES

WAYS = {"colour": "its colour", "shape": "its shape", "size": "its size", "turn": "it is turned"}


def _square(state: SceneState) -> SquareState:
    return as_state(state, SquareState)


def _odd(state: SceneState) -> Element | None:
    """The one whose looks no other has, found by comparing all."""

    def looks(one: Element) -> str:
        attributes = {k: v for k, v in one.attributes.items() if one.kind != "plate" or k == "letter"}
        return repr((sorted(attributes.items()), sorted(one.numbers.items())))

    counted = Counter(looks(one) for one in state.elements)
    alone = [one for one in state.elements if counted[looks(one)] == 1]
    return alone[0] if len(counted) == 2 and alone else None


def _place(state: SceneState, one: Element) -> tuple[int, int]:
    row, column = divmod(state.elements.index(one), _square(state).per_row)
    return row + 1, column + 1


def _odd_element(asking: Asking) -> Element | None:
    odd = _square(asking.state).odd
    return asking.state.element(odd) if odd else None


def _ask_is_odd(asking: Asking) -> ProgramQuestion | None:
    one = _odd_element(asking)
    if (one is not None) != asking.is_wanted:
        return None
    return yes_or_no(one is not None, {}, asking.state.elements if one is None else [one])


def _ask_place(asking: Asking, axis: int) -> ProgramQuestion | None:
    one = _odd_element(asking)
    if one is None or _place(asking.state, one)[axis] != asking.wanted(range(1, _square(asking.state).per_row + 1)):
        return None
    return count_of(
        _place(asking.state, one)[axis], {}, [one], "there it is", wrong=(_place(asking.state, one)[1 - axis],)
    )


def _solve_place(state: SceneState, axis: int) -> str:
    one = _odd(state)
    assert one is not None
    return str(_place(state, one)[axis])


def _solve_way(state: SceneState, words: Words) -> str:
    odd = _odd(state)
    assert odd is not None
    usual = next(one for one in state.elements if one is not odd)
    for name, said in WAYS.items():
        if odd.get(name) != usual.get(name):
            return said
    return WAYS["turn" if "turn" in odd.numbers else "size"]


@program(
    "One thing differs from all others. In which respect?",
    "What sets the odd one out apart from the rest?",
    solve=_solve_way,
)
def _odd_way(asking: Asking) -> ProgramQuestion | None:
    one, way = _odd_element(asking), _square(asking.state).way
    if one is None or way != asking.wanted(tuple(WAYS)):
        return None
    return choice_of(WAYS[way], tuple(WAYS.values()), {}, [one])


def _ask_value(asking: Asking, attribute: str, options: tuple[str, ...]) -> ProgramQuestion | None:
    one = _odd_element(asking)
    if one is None or _square(asking.state).way != attribute:
        return None
    usual = next(other for other in asking.state.elements if other is not one)
    return choice_of(one.get(attribute), options, {}, [one], one.name, wrong=[usual.get(attribute)])


def _solve_value(state: SceneState, attribute: str) -> str:
    one = _odd(state)
    assert one is not None
    return one.get(attribute)


IS_ODD = Program(
    name="is_one_odd",
    wordings=("Is one of the things different from all others?", "Is there an odd one out, yes or no?"),
    ask=_ask_is_odd,
    solve=lambda state, words: whether(_odd(state) is not None),
)

SQUARE_PROGRAMS = (
    IS_ODD,
    Program(
        name="odd_row",
        wordings=(
            "In which row, counted from the top, is the odd one out?",
            "Counting rows from the top, which one has the thing that differs?",
        ),
        ask=lambda asking: _ask_place(asking, 0),
        solve=lambda state, words: _solve_place(state, 0),
    ),
    Program(
        name="odd_column",
        wordings=(
            "In which column, counted from the left, is the odd one out?",
            "Counting columns from the left, which one has the thing that differs?",
        ),
        ask=lambda asking: _ask_place(asking, 1),
        solve=lambda state, words: _solve_place(state, 1),
    ),
    _odd_way,
    Program(
        name="odd_colour",
        wordings=("What colour is the one thing that differs?", "What is the colour of the odd one out?"),
        ask=lambda asking: _ask_value(asking, "colour", COLOUR_NAMES),
        solve=lambda state, words: _solve_value(state, "colour"),
    ),
    Program(
        name="odd_shape",
        wordings=("What shape is the one thing that differs?", "What is the shape of the odd one out?"),
        ask=lambda asking: _ask_value(asking, "shape", SHAPES),
        solve=lambda state, words: _solve_value(state, "shape"),
    ),
)


@program(
    "What colour is the plate whose letter differs from all others?",
    "One plate bears another letter than the rest. What is its colour?",
    solve=lambda state, words: _solve_value(state, "colour"),
)
def _odd_plate(asking: Asking) -> ProgramQuestion | None:
    one = _odd_element(asking)
    if one is None:
        return None
    there = [other.get("colour") for other in asking.state.elements]
    said = " ".join(other.get("letter") for other in asking.state.elements)
    return choice_of(one.get("colour"), there, {}, [one, *(e for e in asking.state.elements if e is not one)], said)


def _ask_letter(asking: Asking, *, is_odd: bool) -> ProgramQuestion | None:
    one = _odd_element(asking)
    if one is None:
        return None
    usual = next(other for other in asking.state.elements if other is not one)
    answer, wrong = (one, usual) if is_odd else (usual, one)
    said = " ".join(other.get("letter") for other in asking.state.elements)
    return choice_of(answer.get("letter"), LETTERED.tints, {}, asking.state.elements, said, wrong=[wrong.get("letter")])


def _solve_usual(state: SceneState, words: Words) -> str:
    return Counter(one.get("letter") for one in state.elements).most_common(1)[0][0]


PLATE_SQUARE_PROGRAMS = (
    Program(
        name="is_one_odd",
        wordings=("Do all plates bear the same letter?", "Is the letter on every plate the same?"),
        ask=lambda asking: _ask_all_alike(asking),
        solve=lambda state, words: whether(_odd(state) is None),
    ),
    _odd_plate,
    Program(
        name="odd_letter",
        wordings=(
            "All plates but one bear the same letter. Which letter is on that one?",
            "Which letter occurs on a single plate?",
        ),
        ask=lambda asking: _ask_letter(asking, is_odd=True),
        solve=lambda state, words: _solve_value(state, "letter"),
    ),
    Program(
        name="usual_letter",
        wordings=("Which letter do all plates but one bear?", "One plate differs. Which letter is on the others?"),
        ask=lambda asking: _ask_letter(asking, is_odd=False),
        solve=_solve_usual,
    ),
)


def _ask_all_alike(asking: Asking) -> ProgramQuestion | None:
    one = _odd_element(asking)
    if (one is None) != asking.is_wanted:
        return None
    said = " ".join(other.get("letter") for other in asking.state.elements)
    return yes_or_no(one is None, {}, asking.state.elements, said)
