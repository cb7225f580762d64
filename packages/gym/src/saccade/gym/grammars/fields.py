"""Labelled fields in sections: what forms and screens hold. Texts, numbers, dates, boxes that are ticked or not.

Axes: ``fields`` (how many), ``sections`` (how many).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from numpy.random import Generator

from saccade.gym.family import Grammar
from saccade.gym.grammars.words import FIRMS, MONTHS, PEOPLE, SURNAMES, TOWNS
from saccade.gym.levels import Levels
from saccade.gym.state import Element, SceneState
from saccade.tasks.scene import pick, pick_several

AXES = ("fields", "sections")

FieldKind = Literal["text", "number", "date", "tick"]
ON, OFF = "on", "off"


@dataclass(frozen=True, kw_only=True, slots=True)
class FormField:
    """A field: its label, what stands in it ("" where it was left empty), and the section that it is in."""

    label: str
    value: str
    kind: FieldKind
    section: str


@dataclass(frozen=True, kw_only=True, slots=True)
class FieldsState(SceneState):
    """Elements ``label:I`` and ``value:I`` for each field, ``section:S`` for each section, ``title``."""

    title: str
    fields: tuple[FormField, ...]

    @property
    def sections(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one.section for one in self.fields))


TEXTS = ("Name", "Contact", "Doctor", "Town", "Birthplace", "Employer", "Street", "Manager", "Driver", "Guide")
NUMBERS = ("Age", "Guests", "Nights", "Amount", "Room", "Weight", "Height", "Extension", "Floor", "Copies")
DATES = ("Arrival", "Departure", "Birthday", "Start", "End", "Renewal", "Payment", "Review")
TICKS = (
    "Newsletter", "Parking", "Breakfast", "Insurance", "Smoker", "Allergies", "Late checkout", "Dark mode", "Sound",
    "Location", "Backup", "Updates", "Bluetooth", "Sync", "Reminders", "Sharing",
)  # fmt: skip
SECTIONS = ("Personal", "Travel", "Payment", "Options", "Contact details", "Office", "Privacy", "Display", "Storage")
TITLES = ("Registration", "Hotel booking", "Visa request", "Staff record", "Account settings", "Preferences", "Profile")


def fields_grammar(name: str, *, ticks: float, size: tuple[int, int]) -> Grammar:
    """Forms with this share of ticks."""
    return Grammar(name=name, draw=fields_drawn(ticks, size), axes=AXES)


def fields_drawn(ticks: float, size: tuple[int, int]) -> Callable[[Generator, Levels], FieldsState]:
    """Draws forms whose labels and filled values differ from each other; some fields are empty."""

    def draw(rng: Generator, levels: Levels) -> FieldsState:
        most = levels.whole("fields", 6, 11, 18)
        count = int(rng.integers(max(6, round(0.75 * most)), most + 1))
        sections = pick_several(rng, SECTIONS, levels.whole("sections", 2, 3, 4))
        tick_count = min(len(TICKS), max(3, round(count * ticks)))
        kinds = ["tick"] * tick_count + [
            ("text", "number", "date")[int(rng.integers(3))] for _ in range(count - tick_count)
        ]
        labels = {
            "tick": list(pick_several(rng, TICKS, len(TICKS))),
            "text": list(pick_several(rng, TEXTS, len(TEXTS))),
            "number": list(pick_several(rng, NUMBERS, len(NUMBERS))),
            "date": list(pick_several(rng, DATES, len(DATES))),
        }
        cuts = sorted(int(cut) + 1 for cut in rng.permutation(len(kinds) - 1)[: len(sections) - 1])
        found: list[FormField] = []
        for index, at in enumerate(rng.permutation(len(kinds))):
            kind = kinds[int(at)]
            if not labels[kind]:
                kind = next(other for other, left in labels.items() if left)
            section = sections[sum(index >= cut for cut in cuts)]
            value = _value(rng, kind, {one.value for one in found})
            found.append(FormField(label=labels[kind].pop(), value=value, kind=_kind(kind), section=section))
        return _with_elements(pick(rng, TITLES), tuple(found), size)

    return draw


def _kind(kind: str) -> FieldKind:
    kinds: tuple[FieldKind, ...] = ("text", "number", "date", "tick")
    return next(known for known in kinds if known == kind)


def _value(rng: Generator, kind: str, taken: set[str]) -> str:
    if kind == "tick":
        return ON if rng.integers(2) else OFF
    if rng.random() < 0.25:
        return ""
    while True:
        if kind == "text":
            value = (
                f"{pick(rng, PEOPLE)} {pick(rng, SURNAMES)}"
                if rng.integers(2)
                else f"{pick(rng, TOWNS)} {pick(rng, FIRMS)}"
            )
        elif kind == "number":
            value = str(int(rng.integers(10, 980)))
        else:
            value = f"{int(rng.integers(1, 29))} {pick(rng, MONTHS)} {int(rng.integers(2019, 2029))}"
        if value not in taken:
            return value


def _with_elements(title: str, fields: tuple[FormField, ...], size: tuple[int, int]) -> FieldsState:
    elements = [Element(id="title", kind="title", name=title)]
    for index, field in enumerate(fields):
        elements.append(Element(id=f"label:{index}", kind="label", name=field.label))
        attributes = {"value": field.value} if field.value else {}
        elements.append(Element(id=f"value:{index}", kind="value", name=f"field {field.label}", attributes=attributes))
    for index, section in enumerate(dict.fromkeys(field.section for field in fields)):
        elements.append(Element(id=f"section:{index}", kind="section", name=section))
    return FieldsState(elements=tuple(elements), title=title, fields=fields, width=size[0], height=size[1])
