"""A judge of consistency for drawn pictures of which everything is known: no model, no waiting, no error.

It reads facts from a text: an object of ``Task.objects`` by its name, and after it, until the next object is named, the
values of its attributes. In the reference the first box after a name says the object's place. Facts are compared, not
sentences: what stands before the first name, words that are neither names nor values, and negations are not understood.

=====================================================  =======
the text                                               verdict
=====================================================  =======
states a value that ground truth denies, whatever the  0.0
reference says
has no fact, while the reference has some              0.3 (see ``consistency.SAYS_NOTHING``)
lacks facts of the reference and states others         0.3
lacks facts, or states others                          0.7
states the same facts                                  1.0
anything, where the reference has no fact              none: nothing can be compared
=====================================================  =======

A judge that knows no ground truth (``knows_truth=False``), as a model that sees the two texts alone, denies what the
reference says otherwise, be it true or not.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from saccade.errors import UserError
from saccade.geometry import Box, Point
from saccade.rewards.archive import Reference
from saccade.rewards.consistency import CONTRADICTION, NO_VERDICT, SAYS_NOTHING, Verdict, graded
from saccade.tasks.scene import SIZE_PX, place_of
from saccade.types import SceneObject, Task

Fact = tuple[str, str, str]
"""Object, kind of attribute, value."""

PLACE = "place"
"""The kind of attribute that a box states."""

_WORD = re.compile(r"[^\W_]+")
# A well-formed box is never longer, and a bound keeps the search linear.
_TOKEN = re.compile(r"<box>.{0,256}?</box>|[^\W_]+", re.DOTALL)
_CELLS = 4

PLACES: tuple[str, ...] = tuple(
    place_of(Point((column + 0.5) * SIZE_PX / _CELLS, (row + 0.5) * SIZE_PX / _CELLS))
    for row in range(_CELLS)
    for column in range(_CELLS)
)
"""All places of a drawn picture, row by row."""


def place_of_box(box: Box) -> str:
    """Where the box's centre is, in the words of drawn pictures."""
    return place_of(box.center)


@dataclass(frozen=True, kw_only=True, slots=True)
class ExactJudge:
    """Compares the facts of two texts, by the table of this module."""

    values: Mapping[str, Sequence[str]] = field(default_factory=lambda: {PLACE: PLACES})
    """By kind: values that texts may state besides those of the task's own objects; a wrong value is found only if it
    is known to be one."""
    place: Callable[[Box], str] = place_of_box
    """The value of ``place`` that a box states, which is in pixels of the original."""
    knows_truth: bool = True
    """Whether ground truth says what is a contradiction; else the reference does."""

    async def __call__(self, task: Task, reference: Reference, target: str, /) -> Verdict:
        """``UserError`` for a task that names no objects."""
        if not task.objects:
            raise UserError(
                f"task {task.id} of family {task.family!r} does not tell what its picture shows (Task.objects); judge "
                "such tasks by a model"
            )
        reader = _Reader(task.objects, self.values)
        wanted = reader.facts(reference.text, [self.place(box) for box in reference.boxes])
        stated = reader.facts(target)
        if reader.is_denied(stated) if self.knows_truth else _contradict(wanted, stated):
            return Verdict(value=CONTRADICTION)
        if not wanted:
            return NO_VERDICT
        if not stated:
            return Verdict(value=SAYS_NOTHING)
        return Verdict(value=graded(is_missing=bool(wanted - stated), is_extra=bool(stated - wanted)))


class _Reader:
    """Reads facts about these objects. Of several phrases at a place the longest counts, and a name before a value."""

    def __init__(self, objects: Sequence[SceneObject], values: Mapping[str, Sequence[str]]) -> None:
        self._truth = {one.name: one.attributes for one in objects}
        self._names = {_words(one.name): one.name for one in objects}
        self._values: dict[tuple[str, ...], dict[str, str]] = {}
        true = [(kind, value) for one in objects for kind, value in one.attributes.items()]
        others = [(kind, value) for kind, several in values.items() for value in several]
        for kind, value in true + others:
            self._values.setdefault(_words(value), {}).setdefault(kind, value)
        self._longest = max(len(phrase) for phrase in (*self._names, *self._values))

    def facts(self, text: str, places: Sequence[str] = ()) -> set[Fact]:
        """``places`` has what each box of the text states; without them boxes state nothing."""
        found: set[Fact] = set()
        tokens, boxes = [_folded(token) for token in _TOKEN.findall(text)], iter(places)
        name: str | None = None
        is_placed = False
        at = 0
        while at < len(tokens):
            phrase = self._phrase(tokens, at)
            at += len(phrase)
            if _is_box(phrase[0]):
                place = next(boxes, None)
                if name is not None and place is not None and not is_placed:
                    found |= self._stated(name, {PLACE: place})
                # One box for each naming: a second one is about something else.
                is_placed = True
            elif phrase in self._names:
                name, is_placed = self._names[phrase], False
            elif name is not None:
                found |= self._stated(name, self._values.get(phrase, {}))
        return found

    def is_denied(self, facts: set[Fact]) -> bool:
        return any(self._truth[name][kind] != value for name, kind, value in facts)

    def _phrase(self, tokens: Sequence[str], at: int) -> tuple[str, ...]:
        """The longest name or value that begins here, or the single token."""
        for length in range(self._longest, 1, -1):
            phrase = tuple(tokens[at : at + length])
            if phrase in self._names or phrase in self._values:
                return phrase
        return (tokens[at],)

    def _stated(self, name: str, by_kind: Mapping[str, str]) -> set[Fact]:
        """The fact of this object; a value of several kinds is meant as the kind where it is true, if there is one."""
        kinds = [kind for kind in by_kind if kind in self._truth[name]]
        if not kinds:
            return set()
        kind = next((kind for kind in kinds if self._truth[name][kind] == by_kind[kind]), kinds[0])
        return {(name, kind, by_kind[kind])}


def _contradict(wanted: set[Fact], stated: set[Fact]) -> bool:
    """Whether a text says something else of what the reference speaks of."""
    spoken_of = {(name, kind) for name, kind, _ in wanted}
    return any(fact[:2] in spoken_of for fact in stated - wanted)


def _is_box(token: str) -> bool:
    return token.startswith("<box>")


def _folded(token: str) -> str:
    return token if _is_box(token) else token.casefold()


def _words(phrase: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(phrase.casefold()))
