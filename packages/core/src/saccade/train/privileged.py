"""What a teacher alone is shown: the policy's own tokens behind a prompt that holds the hint as well.

The prompt is the protocol's, with the hint after the question; what the policy wrote and saw stays as it was, token
by token, so that the teacher's probabilities are those of the very same actions.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from saccade.errors import UserError
from saccade.geometry import Box
from saccade.learner.sequences import TrainingSequence
from saccade.media.resize import ViewRule
from saccade.media.store import MediaStore
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.instructions import Style
from saccade.protocols.markup import without_role_tokens
from saccade.rollout.episodes import EpisodeSpec
from saccade.types import ImageRef, Message, Task, Tokens

Parts = tuple[str | ImageRef, ...]
Hint = Callable[[Task, MediaStore, ViewRule], Parts]
"""What a task's teacher is shown beside the question, in reading order; nothing where the task has no such hint."""

MOST_REGIONS = 8
"""Of a task with more targets the first are shown."""
MARGIN = 0.25
"""Of a region's sides, shown around it."""
_MIN_SIDE_PX = 8
_MAX_RATIO = 100


def regions(task: Task, media: MediaStore, view: ViewRule) -> Parts:
    """The boxes of what is asked about, each once, with a margin, as the original picture has them."""
    places = dict.fromkeys((one.image_index, one.box) for one in task.targets)
    return tuple(_cut_out(task.images[at], box, media) for at, box in [*places][:MOST_REGIONS])


def quarters(task: Task, media: MediaStore, view: ViewRule) -> Parts:
    """The four quarters of each picture of which the model sees fewer pixels than it has."""
    boxes = [
        (image, Box(x * image.width / 2, y * image.height / 2, (x + 1) * image.width / 2, (y + 1) * image.height / 2))
        for image in _reduced(task, view)
        for y in (0, 1)
        for x in (0, 1)
    ]
    return tuple(_cut_out(image, box, media, margin=0.0) for image, box in boxes)


def right_answer(task: Task, media: MediaStore, view: ViewRule) -> Parts:
    return (f"The right answer is {without_role_tokens(task.answer)}.",) if task.answer else ()


def gold_pages(task: Task, media: MediaStore, view: ViewRule) -> Parts:
    """The pages that hold the answer, among those that the question shows."""
    shown = zip(task.images, task.shown_pages)
    return tuple(image for image, page in shown if page in (task.gold_pages or ()))


def _reduced(task: Task, view: ViewRule) -> list[ImageRef]:
    return [one for one in task.images if view.view_size(one.width, one.height)[0] < one.width]


@dataclass(frozen=True, slots=True)
class NamedView:
    """A privileged view that settings name."""

    hint: Hint
    is_there: Callable[[Task, ViewRule], bool]
    """Whether a task has it; no picture is looked at."""
    lacking: str
    """What a task without it lacks."""
    words: str = ""
    """Before the hint, in the full style."""


VIEWS: Mapping[str, NamedView] = MappingProxyType(
    {
        "region": NamedView(
            regions,
            lambda task, _: bool(task.targets),
            "has no targets; give its row `boxes`",
            "A closer look at what it is about:",
        ),
        "large": NamedView(
            quarters,
            lambda task, view: bool(_reduced(task, view)),
            "has no picture larger than the model sees",
            "The picture's quarters, larger:",
        ),
        "answer": NamedView(right_answer, lambda task, _: bool(task.answer), "has no answer"),
        "page": NamedView(
            gold_pages,
            lambda task, _: not {*task.shown_pages}.isdisjoint(task.gold_pages or ()),
            "shows no page that is known to hold the answer",
            "The page that holds the answer:",
        ),
    }
)


def lack_of(view: str, task: Task, rule: ViewRule) -> str | None:
    """Why a task cannot be shown to a teacher with this view, and what to do; None where it can."""
    if VIEWS[view].is_there(task, rule):
        return None
    advice = "Leave such questions out, or take another view"
    return f"teacher.view={view}: the question {task.id} {VIEWS[view].lacking}. {advice}"


def hint_of(view: str, style: Style) -> Hint:
    """The hint of a view with the words before it; UserError for a task that has none."""
    named = VIEWS[view]

    def hint(task: Task, media: MediaStore, rule: ViewRule) -> Parts:
        if lack := lack_of(view, task, rule):
            raise UserError(lack)
        found = named.hint(task, media, rule)
        return found if style == "brief" or not named.words else (named.words, *found)

    return hint


def with_hint(messages: Sequence[Message], hint: Parts, style: Style) -> tuple[Message, ...]:
    """The messages that open an episode with the hint at the end of the last one of the user's."""
    last = max(place for place, one in enumerate(messages) if one.role == "user")
    gap: Parts = () if style == "brief" and not isinstance(hint[0], str) else ("\n",)
    shown = replace(messages[last], parts=(*messages[last].parts, *gap, *hint))
    return (*messages[:last], shown, *messages[last + 1 :])


class PrivilegedView:
    """Training sequences of a stream's trajectories as its teacher sees them; a prompt is written once for each task.

    UserError for an environment of its own and for contexts that do not begin with the question.
    """

    def __init__(self, model: VisionLanguageModel, episodes: EpisodeSpec, hint: Hint) -> None:
        self._model = model
        self._episodes = episodes
        self._hint = hint

    def prompts(self, task: Task) -> tuple[Tokens, Tokens]:
        """The prompt of the task as the policy has it, and with the hint."""
        model, style = self._model, self._episodes.protocol.style
        messages = self._episodes.opening(task, model.media, model.view)
        shown = self._hint(task, model.media, model.view)
        own = model.chat.conversation(messages)
        return own, model.chat.conversation(with_hint(messages, shown, style)) if shown else own

    def __call__(self, task: Task, sequences: Sequence[TrainingSequence]) -> list[TrainingSequence]:
        """The sequences, all of this task, each with its ``teacher_view``."""
        if not sequences:
            return []
        own, more = self.prompts(task)
        return [replace(one, teacher_view=_behind(one, own, more)) for one in sequences]


def _behind(one: TrainingSequence, own: Tokens, more: Tokens) -> TrainingSequence:
    """The sequence with ``more`` in the place of its beginning, which must be ``own``."""
    begins = len(own.ids)
    if one.ids[:begins] != own.ids or one.images[: len(own.images)] != own.images:
        raise UserError(
            "a context of a trajectory does not begin with its question, so that its teacher cannot be shown more of "
            "it; set teacher.view=same, or play without contexts of their own (a window of observations)"
        )
    added = len(more.ids) - begins
    return replace(
        one,
        ids=(*more.ids, *one.ids[begins:]),
        is_action=(*(False,) * len(more.ids), *one.is_action[begins:]),
        images=(*more.images, *one.images[len(own.images) :]),
        prompt_tokens=one.prompt_tokens + added,
        prompt_images=one.prompt_images + len(more.images) - len(own.images),
        routed_experts=b"",
    )


def _cut_out(image: ImageRef, box: Box, media: MediaStore, *, margin: float = MARGIN) -> ImageRef:
    """A part of a picture that is neither too small nor too narrow to be shown."""
    wide, high = box.x2 - box.x1, box.y2 - box.y1
    least = max(_MIN_SIDE_PX, max(wide, high) * (1 + 2 * margin) / _MAX_RATIO)
    left, right = _side(box.x1, box.x2, max(margin * wide, (least - wide) / 2), image.width)
    top, bottom = _side(box.y1, box.y2, max(margin * high, (least - high) / 2), image.height)
    return media.add(media.get(image).crop((left, top, right, bottom)))


def _side(start: float, end: float, margin: float, limit: int) -> tuple[int, int]:
    """Whole pixels inside of the picture, at least one."""
    first = min(max(0, math.floor(start - margin)), limit - 1)
    return first, max(first + 1, min(limit, math.ceil(end + margin)))
