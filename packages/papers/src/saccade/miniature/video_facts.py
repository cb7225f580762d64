"""Judges of drawn videos, of which every frame is known: exact, or wrong at rates that settings choose.

``DrawnVideos`` reads statements from what is said of a frame or of a segment, clause by clause: a thing ("red circle",
"star"), and what is said of it. It needs no model and no waiting.

=====================================================  ============================================================
what is said of a thing                                it is true
=====================================================  ============================================================
that it is there; is of a colour, at a place ("upper   in each frame of the segment; the last one may be the first
left"), at the wall                                    without it, since an event ends there
one of these and "not", "no", "gone" ...               in none of them, but for such a last one
that it turns a colour, appears, reaches the wall      the first frame of that lies in the segment, or ``tolerance_s``
                                                       beside it
that it disappears, leaves the wall, stops being blue  the first frame without it lies there
=====================================================  ============================================================

1.0 where all that is stated is true, 0.0 where something is false, and 0.0 where nothing is stated: silence must not be
worth what a failing machine's verdict is, the mean of the siblings.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from saccade.errors import UserError
from saccade.tasks.drawing import COLOUR_NAMES, SHAPES
from saccade.tasks.scene import PLACE_NAMES
from saccade.types import Task

_WORD = re.compile(r"[^\W_]+(?:['’]t\b)?")
_CLAUSE_END = re.compile(r"[.,;:!?\n](?=\s|$)|\b(?:but|while|then|until|whereas)\b")
_DENYING = frozenset(
    ("no", "not", "never", "without", "gone", "absent", "missing", "away", "isn't", "doesn't", "aren't", "cannot")
)
_STARTING = frozenset(
    ("turns", "turn", "becomes", "become", "changes", "appears", "appear", "arrives", "reaches", "starts", "begins")
)
_ENDING = frozenset(("disappears", "disappear", "vanishes", "leaves", "leave", "stops", "stop", "ends"))
_BACKGROUND = frozenset(("wall", "clock"))
_ANY = frozenset(("object", "thing", "shape"))
_PLACES = {tuple(name.split()): name for name in PLACE_NAMES}

Predicate = Callable[[int], bool]
"""Whether something is so in a frame, counted from 0."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnVideos:
    """An exact judge of what is said of drawn videos, by the table of this module."""

    tolerance_s: float = 0.25
    """How far beside a frame or a segment a change may lie that it is said to show."""

    async def __call__(self, task: Task, first: int, last: int, description: str, /) -> float | None:
        """``UserError`` for a task whose frames are not known."""
        return float(self.is_true(task, first, last, description))

    def is_true(self, task: Task, first: int, last: int, description: str) -> bool:
        """Whether all that is stated of frames ``first`` to ``last``, both included, is true, and something is."""
        if not task.frame_times_s or not task.objects:
            raise UserError(
                f"task {task.id} of family {task.family!r} does not tell what its frames show (Task.objects); judge "
                "such videos by a model"
            )
        video = _Video(task, first, last, self.tolerance_s)
        verdicts = [verdict for said in _statements(description) for verdict in video.verdicts(said)]
        return bool(verdicts) and all(verdicts)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Said:
    """A thing, and the words that are said of it."""

    shape: str | None
    """None for any of the things."""
    colour: str | None
    words: tuple[str, ...]


def _statements(text: str) -> list[_Said]:
    """What is said of each thing; a clause without one speaks of the last one."""
    found: list[_Said] = []
    for clause in _CLAUSE_END.split(text.casefold().replace("’", "'")):
        words = _WORD.findall(clause)
        at = [place for place, word in enumerate(words) if _thing(word) or word in _ANY]
        at = at or [place for place, word in enumerate(words) if word in _BACKGROUND and not found]
        if not at and found and _says(words):
            found.append(_Said(shape=found[-1].shape, colour=None, words=tuple(words)))
        start = 0
        for number, place in enumerate(at):
            # What stands right before the next thing is said of that one: "no star".
            end = max(place + 1, at[number + 1] - 2) if number + 1 < len(at) else len(words)
            colour = words[place - 1] if place and words[place - 1] in COLOUR_NAMES else None
            before = words[start : place - (colour is not None)]
            shape = None if words[place] in _ANY else _thing(words[place]) or words[place]
            found.append(_Said(shape=shape, colour=colour, words=(*before, *words[place + 1 : end])))
            start = end
    return found


def _thing(word: str) -> str | None:
    return word if word in SHAPES else word[:-1] if word[:-1] in SHAPES and word.endswith("s") else None


def _says(words: Sequence[str]) -> bool:
    said = {*COLOUR_NAMES, *_BACKGROUND, *_STARTING, *_ENDING, *_DENYING}
    return any(word in said for word in words) or any(pair in _PLACES for pair in pairwise(words))


@dataclass(frozen=True, slots=True)
class _Video:
    """What a span of a task's frames shows."""

    task: Task
    first: int
    last: int
    tolerance_s: float

    def verdicts(self, said: _Said) -> list[bool]:
        """For each thing that is stated whether it is true."""
        starts, ends = (any(word in kind for word in said.words) for kind in (_STARTING, _ENDING))
        is_denied = sum(word in _DENYING for word in said.words) % 2 == 1
        return [self._holds(one, starts, ends, is_denied) for one in self._predicates(said, is_change=starts or ends)]

    def _predicates(self, said: _Said, *, is_change: bool) -> list[Predicate]:
        def shown(kind: str = "", value: str = "", colour: str | None = said.colour) -> Predicate:
            def holds(frame: int) -> bool:
                return any(
                    (not kind or one.attributes.get(kind) == value)
                    and said.shape in (None, one.attributes.get("shape", one.name))
                    and colour in (None, one.attributes.get("colour"))
                    for one in self.task.objects
                    if one.image_index == frame
                )

            return holds

        colours = [word for word in said.words if word in COLOUR_NAMES]
        places = [_PLACES[pair] for pair in pairwise(said.words) if pair in _PLACES]
        # Of "the red circle turns blue" the colour before is that of an earlier frame.
        before = None if is_change else said.colour
        found = [shown("colour", value, before) for value in colours[-1:]]
        found += [shown("place", value) for value in places]
        if "wall" in said.words:
            found.append(shown("touches", "wall"))
        return found or [shown()]

    def _holds(self, is_so: Predicate, starts: bool, ends: bool, is_denied: bool) -> bool:
        if starts or ends:
            times = self.task.frame_times_s
            early, late = times[self.first] - self.tolerance_s, times[self.last] + self.tolerance_s
            changes = [frame for frame in range(1, len(times)) if is_so(frame) != is_so(frame - 1)]
            wanted = [times[frame] for frame in changes if is_so(frame) != ends]
            return any(early <= time_s <= late for time_s in wanted) != is_denied
        seen = [is_so(frame) != is_denied for frame in range(self.first, self.last + 1)]
        return all(seen[:-1] or seen)
