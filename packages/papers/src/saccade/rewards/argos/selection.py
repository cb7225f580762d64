"""Selection of scorers for a task: by rules, or by a model that is asked once for each task.

The task alone decides. A selection by what the response holds, as one reading of the paper's Figure 2 has it, would
drop the grounding part of a response without points, which then earns more than one with honest points.
"""

import json
import re
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

from saccade.chat.chat_model import ChatModel
from saccade.errors import MachineError, UserError
from saccade.seeding import seed_for
from saccade.types import Json, Message, Task

Scorer = Literal["detector", "pointer", "video", "teacher"]
"""Scorers beside the answer's: regions by a detector or a pointing model, moments of a video, and the teacher's
probability of the answer."""

SCORERS: tuple[Scorer, ...] = get_args(Scorer)

DRAWN_KINDS = ("chart", "map", "table", "document", "geometry", "diagram", "figure", "plot")
"""Words of a task's family or published set whose pictures are drawings, on which open-vocabulary detectors fail."""

_WORD = re.compile(r"[a-z]+")


@dataclass(frozen=True, slots=True)
class Selection:
    """The scorers of a task; of detector, pointer and video at most one. UserError for an unknown name or for two."""

    scorers: tuple[Scorer, ...]

    def __post_init__(self) -> None:
        if unknown := [name for name in self.scorers if name not in SCORERS]:
            raise UserError(f"there is no scorer {unknown[0]!r}; there are {', '.join(SCORERS)}")
        if len(self.grounding) > 1:
            raise UserError(f"scorers {' and '.join(self.grounding)} both measure grounding; choose one")

    @property
    def grounding(self) -> tuple[Scorer, ...]:
        return tuple(name for name in self.scorers if name != "teacher")

    @property
    def wants_points(self) -> bool:
        return bool(self.grounding)


class Selector(Protocol):
    """Chooses the scorers of a task."""

    async def __call__(self, task: Task, remembered: Json, /) -> Selection:
        """``remembered`` is what ``selection_to_json`` gave the last time, None for a new task."""
        ...


@dataclass(frozen=True)
class RuleSelector:
    """By media and kind of picture: a video's moments, points by a pointing model on drawings, else by a detector.

    The teacher is asked of every task.
    """

    async def __call__(self, task: Task, remembered: Json = None, /) -> Selection:
        return by_rules(task)


def by_rules(task: Task) -> Selection:
    if not task.images:
        return Selection(("teacher",))
    if task.frame_times_s:
        return Selection(("video", "teacher"))
    return Selection(("pointer" if is_drawn(task) else "detector", "teacher"))


def is_drawn(task: Task) -> bool:
    """Whether a word of the task's family, or of the set whose metric it has, names a kind of drawing.

    The name of a user's file, which stands for a family that rows do not give, chooses nothing.
    """
    family = "" if task.family == task.source else task.family
    words = _WORD.findall(f"{family} {task.metric}".casefold())
    return any(word in (kind, f"{kind}s") or word.startswith(f"{kind}qa") for word in words for kind in DRAWN_KINDS)


@dataclass(frozen=True, kw_only=True)
class ModelSelector:
    """By a model as the agent, asked once for each task: its choice is remembered with the checkpoint.

    A reply that names no scorer, an unknown one, or two for grounding is asked for again; then the rules decide.
    """

    model: ChatModel
    tries: int = 3
    seed: int = 0

    async def __call__(self, task: Task, remembered: Json = None, /) -> Selection:
        """A machine that fails leaves the choice to the rules, for this time."""
        if remembered is not None:
            return selection_from_json(remembered, task.id)
        message = Message(role="user", parts=(*task.images, _ASKED.format(question=task.question)))
        for attempt in range(self.tries):
            seed = seed_for(self.seed, "selection", task.id, attempt)
            try:
                [reply] = await self.model([message], temperature=0.0 if attempt == 0 else 0.6, samples=1, seed=seed)
            except MachineError:
                break
            if (found := read_selection(reply)) is not None:
                return found
        return by_rules(task)


_ASKED = """A model answered a question about the images above (frames of a video, if there are times). It pointed at \
the things that it spoke of. Choose how its reasoning is to be checked:
- "detector": things are found by an object detector; for photographs
- "pointer": things are found by a model that points; for charts, maps, documents and drawings
- "video": points in frames, and what is said of frames and of spans of time; for videos
- "teacher": how probable the answer is after the reasoning; together with one of the others, or alone
The question: {question}
Reply with a JSON list of names alone, such as ["detector", "teacher"]."""


def read_selection(reply: str) -> Selection | None:
    """The selection that a reply is; None for any other text."""
    text = reply.strip().removeprefix("```json").removeprefix("```").removesuffix("```")
    try:
        names = json.loads(text)
        is_list = isinstance(names, list) and bool(names) and all(isinstance(name, str) for name in names)
        return Selection(tuple(dict.fromkeys(names))) if is_list else None
    except (ValueError, RecursionError, UserError):
        return None


def selection_to_json(selection: Selection) -> Json:
    return list(selection.scorers)


def selection_from_json(value: Json, task_id: str) -> Selection:
    found = read_selection(json.dumps(value))
    if found is None:
        raise UserError(
            f"the memory of task {task_id} is no list of scorers: {repr(value)[:120]}; the checkpoint is "
            "damaged or belongs to another reward; go on from an earlier one"
        )
    return found
