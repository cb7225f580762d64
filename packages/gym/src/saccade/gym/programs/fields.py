"""Programs on labelled fields: what stands where, what is ticked, what was left empty."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from saccade.gym.grammars.fields import DATES, NUMBERS, OFF, ON, TEXTS, FieldsState, FormField
from saccade.gym.grammars.words import MONTHS
from saccade.gym.program import Asking, ProgramQuestion, program
from saccade.gym.state import SceneState, as_state
from saccade.types import AnswerKind


def _form(asking: Asking) -> FieldsState:
    return as_state(asking.state, FieldsState)


def _question_with(
    state: FieldsState,
    answer: str,
    seen: Sequence[int],
    *,
    kind: AnswerKind = "exact",
    words: Mapping[str, str] | None = None,
    near: Sequence[str] = (),
    choices: Sequence[str] = (),
    labels_only: bool = False,
) -> ProgramQuestion:
    parts = ("label",) if labels_only else ("label", "value")
    return ProgramQuestion(
        answer=answer,
        kind=kind,
        words=words or {},
        near=tuple(dict.fromkeys(text for text in near if text and text != answer)),
        choices=tuple(choices),
        evidence=tuple(f"{part}:{index}" for index in seen for part in parts),
        conclusion=answer,
    )


def _where(asking: Asking, *kinds: str, is_filled: bool = True) -> list[int]:
    """Fields of these kinds, in random order."""
    fields = _form(asking).fields
    found = [i for i, field in enumerate(fields) if field.kind in kinds and bool(field.value) == is_filled]
    return [found[int(at)] for at in asking.rng.permutation(len(found))]


def _absent(asking: Asking) -> ProgramQuestion | None:
    state = _form(asking)
    missing = [label for label in (*TEXTS, *NUMBERS, *DATES) if all(one.label != label for one in state.fields)]
    label = missing[int(asking.rng.integers(len(missing)))]
    return _question_with(state, "", range(len(state.fields)), words={"label": label}, labels_only=True)


@program(
    "What does the field {label} say?",
    "What was entered for {label}?",
    solve=lambda state, words: _by_label(state, words["label"]).value,
    falsify=_absent,
)
def _field_value(asking: Asking) -> ProgramQuestion | None:
    state, found = _form(asking), _where(asking, "text", "number", "date")
    if len(found) < 2:
        return None
    field = state.fields[found[0]]
    near = [state.fields[found[1]].value]
    return _question_with(state, field.value, found[:1], words={"label": field.label}, near=near)


@program(
    "Which field contains {value}?",
    "Which field holds {value}?",
    solve=lambda state, words: next(
        field.label for field in as_state(state, FieldsState).fields if field.value == words["value"]
    ),
)
def _field_of_value(asking: Asking) -> ProgramQuestion | None:
    state, found = _form(asking), _where(asking, "text", "number", "date")
    if len(found) < 2:
        return None
    field = state.fields[found[0]]
    near = [state.fields[found[1]].label]
    return _question_with(state, field.label, found[:1], words={"value": field.value}, near=near)


@program(
    "Is {label} turned on or ticked?",
    "Has {label} been chosen?",
    solve=lambda state, words: "yes" if _by_label(state, words["label"]).value == ON else "no",
)
def _is_on(asking: Asking) -> ProgramQuestion | None:
    state, found = _form(asking), _where(asking, "tick")
    wanted = ON if asking.rng.integers(2) else OFF
    for index in found:
        if state.fields[index].value == wanted:
            words = {"label": state.fields[index].label}
            answer = "yes" if wanted == ON else "no"
            return _question_with(state, answer, [index], kind="choice", words=words, choices=("yes", "no"))
    return None


@program(
    "How many options are turned on or ticked?",
    "Count the options that have been chosen.",
    solve=lambda state, words: str(sum(field.value == ON for field in as_state(state, FieldsState).fields)),
    spread=8,
)
def _count_on(asking: Asking) -> ProgramQuestion | None:
    state = _form(asking)
    found = [i for i, field in enumerate(state.fields) if field.kind == "tick"]
    on = [i for i in found if state.fields[i].value == ON]
    return _question_with(state, str(len(on)), on, kind="integer", near=[str(len(found) - len(on)), str(len(on) + 1)])


@program(
    "How many fields were left empty?",
    "Count the fields with nothing in them.",
    solve=lambda state, words: str(sum(not field.value for field in as_state(state, FieldsState).fields)),
    spread=8,
)
def _count_empty(asking: Asking) -> ProgramQuestion | None:
    state = _form(asking)
    empty = [i for i, field in enumerate(state.fields) if not field.value]
    return _question_with(state, str(len(empty)), empty, kind="integer", near=[str(len(empty) + 1)])


@program("Which field was left empty?", "Name the field with nothing in it.")
def _empty_field(asking: Asking) -> ProgramQuestion | None:
    state = _form(asking)
    empty = [i for i, field in enumerate(state.fields) if not field.value]
    if len(empty) != 1:
        return None
    other = state.fields[empty[0] - 1].label
    return _question_with(state, state.fields[empty[0]].label, empty, near=[other])


@program(
    "In which section is the field {label}?",
    "Under which heading is {label}?",
    solve=lambda state, words: _by_label(state, words["label"]).section,
)
def _section_of(asking: Asking) -> ProgramQuestion | None:
    state = _form(asking)
    index = int(asking.rng.integers(len(state.fields)))
    field = state.fields[index]
    if field.section.lower() == field.label.lower():
        return None
    which = state.sections.index(field.section)
    others = [section for section in state.sections if section != field.section]
    found = _question_with(
        state, field.section, [index], words={"label": field.label}, near=others[:2], labels_only=True
    )
    return _also(found, f"section:{which}")


@program("How many fields does the section {section} have?", "Count the fields under {section}.")
def _count_in_section(asking: Asking) -> ProgramQuestion | None:
    state = _form(asking)
    most = min(asking.levels.whole("fields", 5, 6, 9), len(state.fields) - len(state.sections) + 1)
    sizes = Counter(one.section for one in state.fields)
    section = asking.with_wanted(range(1, 1 + most), ((size, section) for section, size in sizes.items()))
    if section is None:
        return None
    inside = [i for i, field in enumerate(state.fields) if field.section == section]
    near = [str(len(inside) + 1), str(len(inside) - 1)]
    found = _question_with(
        state, str(len(inside)), inside, kind="integer", words={"section": section}, near=near, labels_only=True
    )
    return _also(found, f"section:{state.sections.index(section)}")


@program("Which field follows right after {label}?", "What is the next field below {label}?")
def _field_after(asking: Asking) -> ProgramQuestion | None:
    state = _form(asking)
    index = int(asking.rng.integers(len(state.fields) - 1))
    first, second = state.fields[index], state.fields[index + 1]
    if first.section != second.section:
        return None
    near = [state.fields[index - 1].label] if index else []
    return _question_with(
        state, second.label, [index, index + 1], words={"label": first.label}, near=near, labels_only=True
    )


@program(
    "Which number is larger, {first} or {second}?",
    "Is the number for {first} or for {second} the larger one?",
    solve=lambda state, words: max(
        (words["first"], words["second"]), key=lambda label: int(_by_label(state, label).value)
    ),
)
def _larger_field(asking: Asking) -> ProgramQuestion | None:
    state, found = _form(asking), _where(asking, "number")
    if len(found) < 2:
        return None
    a, b = (state.fields[index] for index in found[:2])
    winner = a if int(a.value) > int(b.value) else b
    words = {"first": a.label, "second": b.label}
    return _question_with(state, winner.label, found[:2], kind="choice", words=words, choices=(a.label, b.label))


@program(
    "What do {first} and {second} add up to?",
    "What is the sum of {first} and {second}?",
    solve=lambda state, words: str(sum(int(_by_label(state, words[key]).value) for key in ("first", "second"))),
)
def _sum_of_fields(asking: Asking) -> ProgramQuestion | None:
    state, found = _form(asking), _where(asking, "number")
    if len(found) < 2:
        return None
    a, b = (state.fields[index] for index in found[:2])
    words = {"first": a.label, "second": b.label}
    total = int(a.value) + int(b.value)
    return _question_with(state, str(total), found[:2], kind="integer", words=words, near=[a.value, str(total + 10)])


@program("Which date is earlier, {first} or {second}?", "Which date comes first, {first} or {second}?")
def _earlier_date(asking: Asking) -> ProgramQuestion | None:
    state, found = _form(asking), _where(asking, "date")
    if len(found) < 2:
        return None
    a, b = (state.fields[index] for index in found[:2])
    winner = a if _day(a) < _day(b) else b
    words = {"first": a.label, "second": b.label}
    return _question_with(state, winner.label, found[:2], kind="choice", words=words, choices=(a.label, b.label))


def _day(field: FormField) -> tuple[int, int, int]:
    day, month, year = field.value.split()
    return int(year), MONTHS.index(month), int(day)


def _also(found: ProgramQuestion, element: str) -> ProgramQuestion:
    return replace(found, evidence=(element, *found.evidence))


def _by_label(state: SceneState, label: str) -> FormField:
    return next(field for field in as_state(state, FieldsState).fields if field.label == label)


FIELD_PROGRAMS = (
    _field_value,
    _field_of_value,
    _is_on,
    _count_on,
    _count_empty,
    _empty_field,
    _section_of,
    _count_in_section,
    _field_after,
    _larger_field,
    _sum_of_fields,
    _earlier_date,
)
"""For forms and screens."""
