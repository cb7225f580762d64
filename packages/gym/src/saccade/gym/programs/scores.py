"""Programs on scores: signatures, names and values of notes, rests, how the melody moves."""

from collections.abc import Mapping

from saccade.gym.grammars.scores import KEYS, METERS, STEPS, ScoreState, values_at
from saccade.gym.program import Asking, ProgramQuestion, program
from saccade.gym.programs.answers import choice_of, count_of, told_of
from saccade.gym.programs.choosing import chosen
from saccade.gym.state import Element, SceneState, as_state

Words = Mapping[str, str]
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
VALUES = ("whole", "half", "dotted quarter", "quarter", "eighth")
MOVES = ("rises", "falls", "stays")
CLEARLY = 3
"""Steps between two notes that accidentals do not make up for."""


def _score(state: SceneState) -> ScoreState:
    return as_state(state, ScoreState)


def _notes(asking: Asking) -> list[Element]:
    """All notes, in random order."""
    notes = asking.state.of_kind("note")
    return [notes[int(at)] for at in asking.rng.permutation(len(notes))]


def _counts(asking: Asking, axis: str, most: int) -> range:
    """Counts that melodies have often enough to be asked for equally often: up to two more than at level 0."""
    return range(1, most + 1 + round(2 * asking.levels[axis]))


def _words(note: Element) -> Words:
    return {"nth": ORDINALS[int(note.numbers["note"]) - 1], "measure": f"{note.numbers['measure']:g}"}


def _note_of(state: SceneState, words: Words) -> Element:
    return _score(state).notes(float(words["measure"]))[ORDINALS.index(words["nth"])]


@program(
    "What letter names the {nth} note of measure {measure}, ignoring sharps and flats?",
    "Without sharps and flats, what is the {nth} note of measure {measure} called?",
    solve=lambda state, words: STEPS[int(_note_of(state, words).numbers["height"]) % 7],
)
def _letter(asking: Asking) -> ProgramQuestion | None:
    wanted = asking.wanted(STEPS)
    for note in _notes(asking):
        if note.attributes["letter"] == wanted:
            place = STEPS.index(wanted)
            wrong = [STEPS[(place + step) % 7] for step in (1, -1, 2)]
            # No options: their own letters would be read for those of notes.
            return told_of(wanted, [asking.state.element("clef"), note], words=_words(note), near=wrong)
    return None


@program(
    "What is the note value of the {nth} note of measure {measure}?",
    "How long does the {nth} note of measure {measure} last, by its note value?",
    solve=lambda state, words: _note_of(state, words).attributes["value"],
)
def _value(asking: Asking) -> ProgramQuestion | None:
    wanted = asking.wanted(values_at(asking.levels))
    for note in _notes(asking):
        if note.attributes["value"] == wanted:
            return choice_of(wanted, VALUES, _words(note), [note])
    return None


@program(
    "How many notes does measure {measure} have, rests aside?",
    "Count the notes of measure {measure}.",
    solve=lambda state, words: str(len(_score(state).notes(float(words["measure"])))),
)
def _count_notes(asking: Asking) -> ProgramQuestion | None:
    state = _score(asking.state)
    measure = int(asking.rng.integers(1, state.measures + 1))
    found, wanted = state.notes(measure), asking.wanted((1, 2, 3, 4))
    beside = [one for one in state.of_kind("rest") if one.numbers["measure"] == measure]
    if len(found) != wanted:
        return None
    return count_of(len(found), {"measure": str(measure)}, found, wrong=[len(found) + len(beside)])


@program("How many rests are there in all?", "Count the rests of the melody.")
def _count_rests(asking: Asking) -> ProgramQuestion | None:
    found = asking.state.of_kind("rest")
    return count_of(len(found), {}, found) if len(found) == asking.wanted(_counts(asking, "measures", 3)) else None


@program(
    "How many {value} notes are there, rests aside?",
    "Count the {value} notes of the melody.",
    solve=lambda state, words: str(sum(one.name.startswith(f"{words['value']} note") for one in state.elements)),
)
def _count_value(asking: Asking) -> ProgramQuestion | None:
    notes, count = asking.state.of_kind("note"), asking.wanted(_counts(asking, "measures", 3))
    values = [value for value in VALUES if sum(note.attributes["value"] == value for note in notes) == count]
    if not values:
        return None
    value = chosen(asking.rng, values)
    found = [note for note in notes if note.attributes["value"] == value]
    rests = [rest for rest in asking.state.of_kind("rest") if rest.attributes["value"] == value]
    return count_of(count, {"value": value}, found, wrong=[count + len(rests)])


@program(
    "Which clef does the score have?", "Is the clef treble or bass?", solve=lambda state, words: _score(state).clef
)
def _clef(asking: Asking) -> ProgramQuestion | None:
    state, wanted = _score(asking.state), asking.wanted(("treble", "bass"))
    return choice_of(wanted, ("treble", "bass"), {}, [state.element("clef")]) if state.clef == wanted else None


@program(
    "What is the time signature?",
    "In which meter is the melody written?",
    solve=lambda state, words: _score(state).meter,
)
def _meter(asking: Asking) -> ProgramQuestion | None:
    state, wanted = _score(asking.state), asking.wanted(METERS)
    return choice_of(wanted, METERS, {}, [state.element("meter")]) if state.meter == wanted else None


@program(
    "How many {signs} does the key signature have?",
    "Count the {signs} of the key signature.",
    solve=lambda state, words: str(abs(_score(state).signature)),
)
def _key_signature(asking: Asking) -> ProgramQuestion | None:
    state = _score(asking.state)
    if state.signature != asking.wanted((1, 2, 3, 4, -1, -2, -3, -4)):
        return None
    words = {"signs": "sharps" if state.signature > 0 else "flats"}
    return count_of(abs(state.signature), words, [state.element("key")])


@program("Which major key does the key signature belong to?", "Which major key has this signature?")
def _major_key(asking: Asking) -> ProgramQuestion | None:
    """Of a key with a signature, among the keys with such."""
    state, named = _score(asking.state), KEYS[1:]
    if state.key != asking.wanted(named):
        return None
    place, options = named.index(state.key), [f"{key} major" for key in named]
    wrong = [options[(place + step) % len(options)] for step in (1, -1)]
    return choice_of(options[place], options, {}, [state.element("key")], wrong=wrong)


def _solve_highest(state: SceneState, words: Words) -> str:
    return f"{max(state.of_kind('note'), key=lambda note: note.numbers['height']).numbers['measure']:g}"


@program(
    "In which measure is the highest note? The first measure is number 1.",
    "Counting measures from 1, which one holds the highest note?",
    solve=_solve_highest,
    spread=8,
)
def _highest(asking: Asking) -> ProgramQuestion | None:
    """The measure with the highest note, by so much that no accidental changes it."""
    notes = sorted(asking.state.of_kind("note"), key=lambda note: -note.numbers["height"])
    rest = [note for note in notes if note.numbers["measure"] != notes[0].numbers["measure"]]
    if not rest or notes[0].numbers["height"] - rest[0].numbers["height"] < CLEARLY:
        return None
    near = [f"{rest[0].numbers['measure']:g}"]
    return told_of(f"{notes[0].numbers['measure']:g}", [notes[0], rest[0]], kind="integer", near=near)


def _solve_moves(state: SceneState, words: Words) -> str:
    first = _note_of(state, words)
    place = state.elements.index(first)
    return _direction(first, next(one for one in state.elements[place + 1 :] if one.kind == "note"))


@program(
    "From the {nth} note of measure {measure} to the next, does the melody rise, fall or stay?",
    "What does the melody do after the {nth} note of measure {measure}, up to the next note?",
    solve=_solve_moves,
)
def _moves(asking: Asking) -> ProgramQuestion | None:
    """From a note to the next one of its measure."""
    wanted = asking.wanted(MOVES)
    for note in _notes(asking):
        row = _score(asking.state).notes(note.numbers["measure"])
        after = row[row.index(note) + 1 :][:1]
        if after and _direction(note, after[0]) == wanted and _is_plain(note, after[0]):
            return choice_of(wanted, MOVES, _words(note), [note, *after])
    return None


def _is_plain(one: Element, after: Element) -> bool:
    """Whether no accidental could make another move of it: E sharp is F."""
    return not (one.get("sign") or after.get("sign")) or abs(one.numbers["height"] - after.numbers["height"]) >= CLEARLY


def _direction(one: Element, after: Element) -> str:
    step = after.numbers["height"] - one.numbers["height"]
    return "rises" if step > 0 else "falls" if step < 0 else "stays"


@program(
    "Before how many notes does a {sign} stand? The key signature does not count.",
    "Apart from the key signature, how many times is a {sign} written?",
    solve=lambda state, words: str(sum(one.get("sign") == words["sign"] for one in state.elements)),
)
def _count_signs(asking: Asking) -> ProgramQuestion | None:
    sign, count = asking.wanted([(sign, count) for sign in ("sharp", "flat") for count in _counts(asking, "signs", 2)])
    found = [note for note in asking.state.of_kind("note") if note.get("sign") == sign]
    others = [note for note in asking.state.of_kind("note") if note.get("sign")]
    return count_of(count, {"sign": sign}, found, wrong=[len(others)]) if len(found) == count else None


@program("How many measures does the melody have?", "Count the measures.")
def _count_measures(asking: Asking) -> ProgramQuestion | None:
    state = _score(asking.state)
    firsts = [state.notes(measure)[0] for measure in range(1, state.measures + 1)]
    return count_of(state.measures, {}, firsts)


@program(
    "Which measure has the most notes? The first one is number 1, rests do not count.",
    "Counting measures from 1, which one holds more notes than any other?",
    spread=16,
)
def _most_notes(asking: Asking) -> ProgramQuestion | None:
    state = _score(asking.state)
    order = sorted(range(1, state.measures + 1), key=lambda measure: -len(state.notes(measure)))
    if len(state.notes(order[0])) == len(state.notes(order[1])):
        return None
    return told_of(str(order[0]), state.notes(order[0]), kind="integer", near=[str(order[1])])


SIGNATURE_PROGRAMS = (
    _clef,
    _meter,
    _key_signature,
    _major_key,
)
"""What stands at the start."""

NOTE_PROGRAMS = (
    _letter,
    _value,
    _moves,
)
"""Single notes."""

COUNT_PROGRAMS = (
    _count_notes,
    _count_rests,
    _count_value,
    _count_signs,
    _count_measures,
    _highest,
    _most_notes,
)
"""Counts and measures."""
