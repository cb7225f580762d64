"""Examples of a report: which trajectories it shows, with pictures, turns, scores and boxes that thoughts name."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from saccade.types import Attempt, ImageRef, Task, Term, ToolCall, Trajectory, Turn
from saccade.viewer.named_boxes import NamedBox, box_words, named_boxes, named_overlays
from saccade.viewer.named_points import NamedPoint, named_points, point_overlays, point_words
from saccade.viewer.outcomes import code_of, note_pairs, page_words, turn_outcome, verdict, went_well
from saccade.viewer.pictures import Album, Overlay, overlays_of
from saccade.viewer.section import turn_parts
from saccade.viewer.why import WhyView, why_views
from saccade.viewer.why_record import WhyRecord
from saccade.viewer.words import number_text, readable, visible

if TYPE_CHECKING:
    # A page of one trajectory must not load what an evaluation is played with.
    from saccade.viewer.evidence import Evaluation


EXAMPLES_PER_OUTCOME = 3
MAX_IMAGES = 8
"""Shown of one question or one observation: a video has many frames."""
_MAX_TURNS = 12


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnView:
    """A turn as it is shown; texts are made visible but not escaped, figures are safe markup."""

    number: int
    text: str
    outcome: str
    """Outcome in a few words: ``called crop``, ``answered``, ``malformed: ...``."""
    arguments: str
    is_fine: bool
    looked_at: str
    """Figure of an image that is not the question's, with what was asked for; or empty."""
    observation: str
    figures: tuple[str, ...]
    code: str = ""
    """Code that the turn's own text does not show line by line."""
    is_run: bool = False
    """The observation is the output of code."""
    boxes: tuple[str, ...] = ()
    """Each box and point that its reasoning names, with what it is around or on."""
    parts: tuple[str, ...] = ()
    """What sections of methods show below it; safe markup."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExampleView:
    """A trajectory as it is shown."""

    verdict: str
    """``right``, ``wrong`` or ``failed``."""
    task_id: str
    family: str
    question: str
    choices: tuple[str, ...]
    expected: str
    answered: str | None
    status: str
    reward: str
    terms: tuple[tuple[str, str], ...]
    """Name, and value times weight."""
    notes: tuple[tuple[str, str], ...]
    figures: tuple[str, ...]
    captions: tuple[str, ...]
    """One for each figure; none where the question has a single image."""
    images_left_out: int
    turns: tuple[TurnView, ...]
    turns_left_out: int
    why: tuple[WhyView, ...] = ()
    """Why its pages were found, where an encoder was asked."""
    address: str = ""
    """Where the file shows it as a whole."""

    @property
    def has_pictures(self) -> bool:
        return bool(self.figures) or any(turn.figures for turn in self.turns)


def chosen_attempts(evaluation: "Evaluation", other: "Evaluation | None" = None) -> list[Attempt]:
    """Some right and some wrong attempts, the families taken in turn; the same ones whenever they are asked for.

    Tasks whose outcome differs from that in ``other`` come first: they show what was learned.
    """
    before = {attempt.task.id: verdict(attempt) for attempt in other.attempts} if other else {}

    def differs(attempt: Attempt) -> bool:
        return before.get(attempt.task.id, verdict(attempt)) != verdict(attempt)

    return examples_of(sorted(evaluation.attempts, key=lambda attempt: not differs(attempt)))


def examples_of(attempts: Sequence[Attempt]) -> list[Attempt]:
    """A few of each verdict, in order, the families taken in turn."""
    picked = []
    for wanted in ("right", "wrong", "failed"):
        of_verdict = [attempt for attempt in attempts if verdict(attempt) == wanted]
        picked += _by_family_in_turn(of_verdict)[: 1 if wanted == "failed" else EXAMPLES_PER_OUTCOME]
    return picked


def example_view(attempt: Attempt, album: Album, why: WhyRecord | None = None, address: str = "") -> ExampleView:
    """Everything that is shown of a trajectory, its images put into the album."""
    task, trajectory = attempt.task, attempt.trajectory
    score = trajectory.score
    shown_turns = trajectory.turns[:_MAX_TURNS]
    boxes, points = named_boxes(attempt), named_points(attempt)
    return ExampleView(
        verdict=verdict(attempt),
        task_id=visible(task.id, 80),
        family=visible(task.family, 80),
        question=visible(task.question, 1200),
        choices=tuple(visible(choice, 120) for choice in task.choices),
        expected=visible(task.answer, 300),
        answered=None if trajectory.answer is None else visible(trajectory.answer, 300),
        status=visible(trajectory.failure, 300) if trajectory.status == "failed" else trajectory.status,
        reward="–" if score is None else number_text(score.total),
        terms=tuple(_shown_term(term) for term in (score.terms if score else ())),
        notes=tuple(note_pairs(score.notes)) if score else (),
        figures=_question_figures(attempt, boxes, points, album),
        captions=_captions(task),
        images_left_out=max(0, len(task.images) - MAX_IMAGES),
        turns=tuple(_turn_view(turn, attempt, boxes, points, album) for turn in shown_turns),
        turns_left_out=len(trajectory.turns) - len(shown_turns),
        why=why_views(attempt, why, album),
        address=address,
    )


def _shown_term(term: Term) -> tuple[str, str]:
    """``accuracy`` and ``1 × 0.8``; the weight is said where it is not 1."""
    weighed = number_text(term.value) if term.weight == 1 else f"{number_text(term.value)} × {number_text(term.weight)}"
    return visible(readable(term.name), 40), f"{weighed} (filled in)" if term.filled_from else weighed


def _question_figures(
    attempt: Attempt, boxes: Sequence[NamedBox], points: Sequence[NamedPoint], album: Album
) -> tuple[str, ...]:
    """The question's images, with its targets and with what the model named and asked for on them."""
    task = attempt.task
    figures = []
    for index, image in enumerate(task.images[:MAX_IMAGES]):
        targets = [target for target in task.targets if target.image_index == index]
        overlays = [Overlay(kind="target", shape=target.box, label=f"target: {target.label}") for target in targets]
        overlays += named_overlays(boxes) if index == 0 else []
        overlays += point_overlays(points, index)
        for turn in attempt.trajectory.turns:
            if isinstance(turn.action, ToolCall) and _image_number(turn.action) == index + 1:
                overlays += overlays_of(turn.action.arguments)
        time = f", at {task.frame_times_s[index]:g} s" if index < len(task.frame_times_s) else ""
        figures.append(album.figure(image, f"{page_words(task, index)} of the question{time}", overlays))
    return tuple(figures)


def _captions(task: Task) -> tuple[str, ...]:
    if len(task.images) < 2:
        return ()
    return tuple(page_words(task, index) for index in range(len(task.images[:MAX_IMAGES])))


def _turn_view(
    turn: Turn, attempt: Attempt, boxes: Sequence[NamedBox], points: Sequence[NamedPoint], album: Album
) -> TurnView:
    outcome, arguments = turn_outcome(turn)
    observation = turn.observation
    images = observation.images if observation else ()
    code = code_of(turn)
    return TurnView(
        number=turn.index + 1,
        text=visible(turn.text),
        outcome=visible(outcome, 400),
        arguments=visible(arguments, 600),
        is_fine=went_well(turn),
        looked_at=_looked_at(turn, attempt, album),
        observation=visible(observation.text, 1500) if observation else "",
        figures=tuple(album.figure(image, "what the tool gave back") for image in images[:MAX_IMAGES]),
        code="" if code is None or code in turn.text else visible(code),
        is_run=code is not None and turn.result is not None,
        boxes=(
            *(box_words(box) for box in boxes if box.turn == turn.index),
            *(point_words(point) for point in points if point.turn == turn.index),
        ),
        parts=turn_parts(turn, attempt, [*attempt.task.images, *images_before(turn, attempt.trajectory)], album),
    )


def _looked_at(turn: Turn, attempt: Attempt, album: Album) -> str:
    """The image that a call was about, when an earlier tool call made it."""
    if not isinstance(turn.action, ToolCall):
        return ""
    number = _image_number(turn.action)
    made = images_before(turn, attempt.trajectory)
    index = number - 1 - len(attempt.task.images)
    if not 0 <= index < len(made):
        return ""
    return album.figure(made[index], f"image {number}, made by a tool", overlays_of(turn.action.arguments))


def images_before(turn: Turn, trajectory: Trajectory) -> list[ImageRef]:
    """Images that observations showed before this turn, in order."""
    earlier = [other.observation for other in trajectory.turns if other.index < turn.index]
    return [image for observation in earlier if observation for image in observation.images]


def _image_number(call: ToolCall) -> int:
    """The 1-based number of the image that a call is about; the first when it does not say."""
    number = call.arguments.get("image", 1)
    return number if isinstance(number, int) else 1


def _by_family_in_turn(attempts: Iterable[Attempt]) -> list[Attempt]:
    families: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        families.setdefault(attempt.task.family, []).append(attempt)
    ranked = [(rank, attempt) for of_family in families.values() for rank, attempt in enumerate(of_family)]
    return [attempt for _, attempt in sorted(ranked, key=lambda pair: pair[0])]
