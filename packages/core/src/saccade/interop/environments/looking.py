"""Any drawn family as an environment of several turns: its picture is seen through a window that zooms and moves."""

import re
from dataclasses import dataclass

from PIL import Image

from saccade.errors import UserError
from saccade.geometry import Box
from saccade.media.store import MediaStore
from saccade.rewards.answers import answer_is_right
from saccade.tasks.interaction import SCALE, Move, Outcome, no_place, place_in
from saccade.tasks.procedural import generate
from saccade.types import Task

WINDOW_PX = 256
"""The longer side of what is shown, whatever part of the picture it is."""
LEAST_PX = 16
"""A window is never narrower than so many pixels of the picture."""
NEAR = 3
"""The expert zooms in until the window is at most so many times as wide as what it looks for."""
_PLACES = frozenset(("click", "boxes"))
_WAYS = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}
_ACTION = re.compile(r"(?P<verb>zoom in|zoom out|move|picture|answer)\b[\s:,]*(?P<rest>.*)", re.IGNORECASE | re.DOTALL)


@dataclass(slots=True)
class LookInteraction:
    """A question on pictures of which one window is seen at a time, in ``WINDOW_PX`` pixels."""

    task: Task
    pictures: tuple[Image.Image, ...]
    window: Box
    which: int = 0
    looked: int = 0
    """How many of the task's targets the expert has looked at."""

    @property
    def goal(self) -> str:
        options = "".join(f" {chr(65 + index)}. {option}" for index, option in enumerate(self.task.choices))
        return f"{self.task.question}{options}"

    @property
    def actions(self) -> str:
        several = f"; 'picture N' shows picture N of {len(self.pictures)}" if len(self.pictures) > 1 else ""
        return (
            "The actions are: 'zoom in X Y' halves what is seen, around a place in thousandths of its width and "
            f"height; 'zoom out' doubles it; 'move left', 'right', 'up' or 'down'{several}; 'answer WORDS' ends the "
            "episode."
        )

    @property
    def split_key(self) -> bytes:
        """The question's own: ``generate`` has chosen its split already."""
        return self.task.id.encode()

    def picture(self) -> Image.Image:
        left, top, right, bottom = (round(side) for side in self.window.as_tuple())
        seen = self.pictures[self.which].crop((left, top, right, bottom))
        share = WINDOW_PX / max(seen.size)
        size = max(1, round(seen.width * share)), max(1, round(seen.height * share))
        return seen.resize(size, Image.Resampling.BOX if share < 1 else Image.Resampling.BICUBIC)

    def caption(self) -> str:
        """Where the window is: what is in it would be the answer."""
        left, top, right, bottom = (round(side) for side in self.window.as_tuple())
        wide, high = self.pictures[self.which].size
        return f"picture {self.which + 1}, x {left} to {right} of {wide} pixels, y {top} to {bottom} of {high}"

    def act(self, action: str) -> Outcome:
        said = _ACTION.fullmatch(action.strip())
        if said is None:
            return Outcome(invalid=f"{action.strip()[:40]!r} is no action; {self.actions}")
        verb, rest = said["verb"].lower(), said["rest"].strip()
        if verb == "answer":
            is_right = answer_is_right(self.task, rest)
            return Outcome(is_over=True, is_success=is_right)
        if verb == "picture":
            return self._show(rest)
        if verb == "zoom out":
            return self._look(self.window.center.x, self.window.center.y, 2.0)
        if verb == "move":
            if rest.lower() not in _WAYS:
                return Outcome(invalid=f"the window moves {', '.join(_WAYS)}")
            across, down = _WAYS[rest.lower()]
            x, y = self.window.center.x + across * self.window.width / 2, self.window.center.y
            return self._look(x, y + down * self.window.height / 2, 1.0)
        place = place_in(rest)
        if place is None:
            return no_place("zoom in")
        x = self.window.x1 + place[0] / SCALE * self.window.width
        return self._look(x, self.window.y1 + place[1] / SCALE * self.window.height, 0.5)

    def progress(self) -> None:
        """What was looked at pays nothing: the answer alone counts."""

    def next_move(self) -> Move:
        """To each target in turn, near enough to see it, then the answer."""
        while self.looked < len(self.task.targets):
            target = self.task.targets[self.looked]
            if target.image_index != self.which:
                return Move(thought=f"{target.label} is in another picture", action=f"picture {target.image_index + 1}")
            box, seen = target.box, self.window
            if not _holds(seen, box) and seen.width < self.pictures[self.which].width:
                return Move(thought=f"{target.label} is not whole in sight", action="zoom out")
            is_near = seen.width <= NEAR * max(box.width, LEAST_PX) or seen.height <= NEAR * max(box.height, LEAST_PX)
            after = _window(self.pictures[self.which].size, box.center.x, box.center.y, seen.width / 2, seen.height / 2)
            if is_near or not _holds(after, box):
                self.looked += 1
                continue
            x, y = (box.center.x - seen.x1) / seen.width, (box.center.y - seen.y1) / seen.height
            return Move(thought=f"look at {target.label}", action=f"zoom in {round(x * SCALE)} {round(y * SCALE)}")
        return Move(thought="clear now", action=f"answer {self.task.answer}")

    def _show(self, rest: str) -> Outcome:
        number = int(rest) if rest.isdecimal() and len(rest) < 4 else 0
        if not 1 <= number <= len(self.pictures):
            return Outcome(invalid=f"the pictures are numbered from 1 to {len(self.pictures)}")
        self.which = number - 1
        self.window = Box(0, 0, *self.pictures[self.which].size)
        return Outcome()

    def _look(self, x: float, y: float, times: float) -> Outcome:
        width, height = self.window.width * times, self.window.height * times
        if min(width, height) < LEAST_PX:
            return Outcome(said="The window is as narrow as it can be.")
        self.window = _window(self.pictures[self.which].size, x, y, width, height)
        return Outcome()


def _holds(window: Box, box: Box) -> bool:
    return window.x1 <= box.x1 and window.y1 <= box.y1 and box.x2 <= window.x2 and box.y2 <= window.y2


def _window(size: tuple[int, int], x: float, y: float, width: float, height: float) -> Box:
    """The window of this size around a place, moved and cut so that it lies in the picture."""
    width, height = min(width, size[0]), min(height, size[1])
    left = min(max(0.0, x - width / 2), size[0] - width)
    top = min(max(0.0, y - height / 2), size[1] - height)
    return Box(left, top, left + width, top + height)


def look_interaction(family: str, split: str, number: int, difficulty: float) -> LookInteraction:
    """Question ``number`` of a family in a split. UserError for families without a picture, with a video, or whose
    answers are places, which would be in the frame of a picture that is never seen whole."""
    media = MediaStore()
    task = generate(family, split=split, index=number, seed=0, media=media, difficulty=difficulty).task
    if not task.images or task.frame_times_s or task.answer_kind in _PLACES:
        raise UserError(f"{family} cannot be looked at through a window: it needs pictures and an answer in words")
    pictures = tuple(media.get(image) for image in task.images)
    return LookInteraction(task=task, pictures=pictures, window=Box(0, 0, *pictures[0].size))
