"""Programs on questionnaires that were filled in by hand: what is marked, changed or left out."""

from collections import Counter
from collections.abc import Mapping, Sequence

from saccade.gym.grammars.questionnaires import HandAnswer, QuestionnaireState
from saccade.gym.program import Asking, Program, ProgramQuestion, program
from saccade.gym.programs.answers import choice_of, count_of, near_counts
from saccade.gym.programs.choosing import chosen, shuffled
from saccade.gym.state import Element, SceneState, as_state

Words = Mapping[str, str]


def _sheet(state: SceneState) -> QuestionnaireState:
    return as_state(state, QuestionnaireState)


def _marked(state: SceneState) -> list[int]:
    return [index for index, row in enumerate(_sheet(state).rows) if row.marked >= 0]


def _seen(state: SceneState, *identities: str) -> list[Element]:
    return [state.element(identity) for identity in identities]


def _row_of(state: SceneState, words: Words) -> HandAnswer:
    rows = _sheet(state).rows
    if "number" in words:
        return rows[int(words["number"]) - 1]
    return next(row for row in rows if row.statement == words["statement"])


def _answer_to(name: str, *wordings: str) -> Program:
    """The option that is marked in a row, which is named by its number or its statement."""

    def solve(state: SceneState, words: Words) -> str:
        return _sheet(state).scale[_row_of(state, words).marked]

    def ask(asking: Asking) -> ProgramQuestion | None:
        sheet = _sheet(asking.state)
        option = asking.wanted(range(len(sheet.scale)))
        there = [index for index in _marked(asking.state) if sheet.rows[index].marked == option]
        if not there:
            return None
        index = chosen(asking.rng, there)
        words = {"number": str(index + 1)} if name == "by_number" else {"statement": sheet.rows[index].statement}
        seen = _seen(asking.state, f"row:{index}", f"mark:{index}", f"option:{option}")
        return choice_of(sheet.scale[option], sheet.scale, words, seen, sheet.scale[option])

    return program(*wordings, name=name, solve=solve)(ask)


def _number_of(asking: Asking, found: Sequence[int], kind: str) -> ProgramQuestion | None:
    """The number of the one row that was found."""
    if len(found) != 1:
        return None
    number = found[0] + 1
    return ProgramQuestion(
        answer=str(number),
        kind="integer",
        near=near_counts(number),
        evidence=(f"{kind}:{found[0]}", f"row:{found[0]}"),
        conclusion=str(number),
    )


def _empty_rows(state: SceneState) -> list[int]:
    return [index for index, row in enumerate(_sheet(state).rows) if row.marked < 0]


def _changed_rows(state: SceneState) -> list[int]:
    return [index for index, row in enumerate(_sheet(state).rows) if row.changed >= 0]


@program(
    "Which question was left without an answer? Give its number.",
    "One question has no mark at all. What is its number?",
    solve=lambda state, words: str(_empty_rows(state)[0] + 1),
)
def _left_out(asking: Asking) -> ProgramQuestion | None:
    return _number_of(asking, _empty_rows(asking.state), "empty")


@program(
    "Somebody changed one answer and blacked out the first mark. What is the number of that question?",
    "At which question was a mark scribbled over? Give its number.",
    solve=lambda state, words: str(_changed_rows(state)[0] + 1),
)
def _changed_where(asking: Asking) -> ProgramQuestion | None:
    return _number_of(asking, _changed_rows(asking.state), "old")


@program(
    "Which answer to question {number} was scribbled over?",
    "At question {number} a mark was blacked out. Which answer had been marked first?",
    solve=lambda state, words: _sheet(state).scale[_row_of(state, words).changed],
)
def _first_answer(asking: Asking) -> ProgramQuestion | None:
    sheet, option = _sheet(asking.state), asking.wanted(range(len(_sheet(asking.state).scale)))
    there = [index for index in _changed_rows(asking.state) if sheet.rows[index].changed == option]
    if not there:
        return None
    index = chosen(asking.rng, there)
    seen = _seen(asking.state, f"row:{index}", f"old:{index}", f"option:{option}")
    return choice_of(sheet.scale[option], sheet.scale, {"number": str(index + 1)}, seen, sheet.scale[option])


@program(
    "How many questions were answered with \u201c{option}\u201d?",
    "How often is \u201c{option}\u201d the answer that counts? Marks that were scribbled over do not.",
    "Count the questions whose answer is \u201c{option}\u201d.",
    solve=lambda state, words: str(
        sum(row.marked == _sheet(state).scale.index(words["option"]) for row in _sheet(state).rows)
    ),
)
def _count_option(asking: Asking) -> ProgramQuestion | None:
    sheet = _sheet(asking.state)
    counts = Counter(row.marked for row in sheet.rows)
    answers = range(1 + asking.levels.whole("fields", 3, 5, 7))
    option = asking.with_wanted(answers, ((counts[option], option) for option in range(len(sheet.scale))))
    if option is None:
        return None
    found = [index for index, row in enumerate(sheet.rows) if row.marked == option]
    old = sum(row.changed == option for row in sheet.rows)
    seen = _seen(asking.state, f"option:{option}", *(f"mark:{index}" for index in found))
    return count_of(len(found), {"option": sheet.scale[option]}, seen, wrong=[len(found) + old])


@program(
    "Which of the questions {first} and {second} has its mark farther to the right?",
    "Question {first} or question {second}: at which is the marked answer farther right?",
    solve=lambda state, words: max(
        (words["first"], words["second"]), key=lambda number: _row_of(state, {"number": number}).marked
    ),
)
def _farther_right(asking: Asking) -> ProgramQuestion | None:
    first, second = shuffled(asking.rng, _marked(asking.state))[:2]
    rows = _sheet(asking.state).rows
    if rows[first].marked == rows[second].marked:
        return None
    winner = str(max((first, second), key=lambda index: rows[index].marked) + 1)
    numbers = [str(index + 1) for index in (first, second)]
    seen = _seen(asking.state, *(f"{part}:{index}" for index in (first, second) for part in ("row", "mark")))
    return choice_of(winner, numbers, {"first": numbers[0], "second": numbers[1]}, seen, winner)


QUESTIONNAIRE_PROGRAMS = (
    _answer_to(
        "by_number",
        "Which answer was given to question {number}?",
        "What did the person mark at question {number}?",
    ),
    _answer_to(
        "by_statement",
        "What was marked for \u201c{statement}\u201d?",
        "Which answer did \u201c{statement}\u201d get?",
    ),
    _left_out,
    _changed_where,
    _first_answer,
    _count_option,
    _farther_right,
)
