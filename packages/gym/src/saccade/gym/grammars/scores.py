"""Scores: a melody on one staff, with clef, signature of key and of time, notes, rests and accidentals.

Axes: ``measures`` (how many), ``rhythm`` (how short notes are), ``signs`` (accidentals before notes).
"""

from dataclasses import dataclass

from numpy.random import Generator

from saccade.gym.family import Grammar
from saccade.gym.levels import Levels
from saccade.gym.state import Element, SceneState

AXES = ("measures", "rhythm", "signs")
STEPS = "CDEFGAB"
LENGTHS = {"whole": 8, "half": 4, "dotted quarter": 3, "quarter": 2, "eighth": 1}
"""Note values in eighths."""
CLEFS = {"treble": (4, 0, 12), "bass": (2, 2, 12)}
"""The octave and the step of the lowest note, and how many steps there are up to the highest."""
KEYS = ("C", "G", "D", "A", "E", "F", "B flat", "E flat", "A flat")
"""Major keys by their signature: ``SIGNS``."""
SIGNS = (0, 1, 2, 3, 4, -1, -2, -3, -4)
"""Sharps of each key; flats below zero."""
METERS = ("2/4", "3/4", "4/4")


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreState(SceneState):
    """Elements of the kinds "note" and "rest" (``value``; numbers ``measure`` and ``place``, from 1), and "sign".

    A note has its ``letter``, the number ``height`` (steps above C0), ``sign`` where an accidental stands before it,
    and the number ``note`` among the notes of its measure. The signs are "clef", "key" and "meter".
    """

    measures: int = 0
    clef: str = ""
    key: str = ""
    meter: str = ""

    def notes(self, measure: float) -> list[Element]:
        """The notes of a measure in order."""
        return [one for one in self.of_kind("note") if one.numbers["measure"] == measure]

    @property
    def signature(self) -> int:
        """Sharps of the key; flats below zero."""
        return SIGNS[KEYS.index(self.key)]


def values_at(levels: Levels) -> tuple[str, ...]:
    """The note values of scores at these levels."""
    are_long = levels.whole("rhythm", 2, 1, 1) == 2
    return tuple(name for name in LENGTHS if not are_long or name in ("whole", "half", "quarter"))


def draw_score(rng: Generator, levels: Levels) -> ScoreState:
    """2 to 10 measures that are full; every other melody has many accidentals."""
    count = int(rng.integers(2, levels.whole("measures", 3, 6, 10) + 1))
    possible = values_at(levels)
    signs, rests = levels.knob("signs", 0.06, 0.14, 0.3) * (1, 3)[int(rng.integers(2))], 0.16
    clef = tuple(CLEFS)[int(rng.integers(len(CLEFS)))]
    meter = METERS[int(rng.integers(len(METERS)))]
    key = KEYS[int(rng.integers(len(KEYS)))]
    octave, step, reach = CLEFS[clef]
    lowest = 7 * octave + step
    height = lowest + int(rng.integers(3, reach - 3))
    elements = [Element(id=name, kind="sign", name=name) for name in ("clef", "key", "meter")]
    for measure in range(1, count + 1):
        left, place, sounded = 2 * int(meter[0]), 0, 0
        while left:
            fit = [name for name in possible if LENGTHS[name] <= left]
            value = fit[int(rng.integers(len(fit)))]
            left -= LENGTHS[value]
            place += 1
            at = {"measure": float(measure), "place": float(place)}
            identity = f"n{measure}x{place}"
            if float(rng.random()) < rests and (sounded or left):
                elements.append(
                    Element(id=identity, kind="rest", name=f"{value} rest", attributes={"value": value}, numbers=at)
                )
                continue
            sounded += 1
            height = min(max(height + int(rng.integers(-4, 5)), lowest), lowest + reach)
            attributes = {"value": value, "letter": STEPS[height % 7]}
            if float(rng.random()) < signs:
                attributes["sign"] = "sharp" if rng.integers(2) else "flat"
            elements.append(
                Element(
                    id=identity,
                    kind="note",
                    name=f"{value} note {attributes['letter']}",
                    attributes=attributes,
                    numbers={**at, "height": float(height), "note": float(sounded)},
                )
            )
    return ScoreState(elements=tuple(elements), measures=count, clef=clef, key=key, meter=meter, width=720, height=420)


SCORE = Grammar(name="score", draw=draw_score, axes=AXES)
