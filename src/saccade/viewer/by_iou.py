"""Answers by how well boxes fit, those with boxes beside those in plain words (iVGR, figure 2)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from saccade.evaluation.grounding import IouInterval, accuracy_by_iou, answers_with_iou, question_ious
from saccade.types import Json
from saccade.viewer.bars import Bar, bar_of
from saccade.viewer.evidence import Evaluation
from saccade.viewer.two_streams import TwoStreamStage
from saccade.viewer.words import readable, visible


@dataclass(frozen=True, kw_only=True, slots=True)
class ByIou:
    """Answers to the same questions by the IoU of the boxes that ``boxes_of`` wrote; intervals are the same in both."""

    boxes_of: str
    boxes: tuple[IouInterval, ...]
    words_of: str = ""
    words: tuple[IouInterval, ...] = ()
    """Empty where nobody answered these questions in plain words."""
    is_aside: bool = False
    """Not to be shown at once: the boxes are there for the views cut out by them."""

    def as_json(self) -> dict[str, Json]:
        return {
            "boxes_of": self.boxes_of,
            "boxes": [interval.as_json() for interval in self.boxes],
            "words_of": self.words_of,
            "words": [interval.as_json() for interval in self.words],
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class IouTable:
    """A comparison as it is shown; a row is the interval, then a bar for each of ``columns``."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Bar, ...]], ...]
    is_aside: bool


def evaluations_by_iou(evaluations: Sequence[Evaluation]) -> list[ByIou]:
    """Each evaluation with boxes beside the nearest one without boxes that shares a question, and beside each that saw
    the views which these boxes cut out."""
    found = []
    for place, evaluation in enumerate(evaluations):
        grounding = evaluation.summary.grounding
        if grounding is None or not grounding.intervals:
            continue
        ious = question_ious(evaluation.attempts)
        seconds = [other for other in evaluations if _sees_boxes_of(other, evaluation)]
        nearest = None if evaluation.second_pass else _nearest_in_words(evaluations, place, ious.keys())
        beside = [None] if nearest is None and not seconds else [nearest] if nearest else []
        for other in (*beside, *seconds):
            found.append(
                ByIou(
                    boxes_of=evaluation.name,
                    boxes=grounding.intervals,
                    words_of=other.name if other else "",
                    words=accuracy_by_iou(answers_with_iou(other.attempts, ious)) if other else (),
                    is_aside=other in seconds,
                )
            )
    return found


def _sees_boxes_of(evaluation: Evaluation, boxes: Evaluation) -> bool:
    if evaluation.asked is not None:
        return evaluation.asked.first_pass == boxes.name
    return evaluation.name == boxes.second_pass


def training_by_iou(stage: TwoStreamStage) -> ByIou | None:
    """The two streams of the last steps; None without boxes."""
    if not stage.grounded_by_iou:
        return None
    steps = f"steps {stage.iou_from_step} to {stage.steps[-1].step}"
    return ByIou(
        boxes_of=f"{stage.stage}, {steps}, grounded",
        boxes=stage.grounded_by_iou,
        words_of=f"{stage.stage}, {steps}, textual" if stage.textual_by_iou else "",
        words=stage.textual_by_iou,
    )


def iou_table(by_iou: ByIou) -> IouTable:
    """Every interval, also one without an answer."""
    streams = [by_iou.boxes, by_iou.words] if by_iou.words else [by_iou.boxes]
    return IouTable(
        title=visible(readable(_title(by_iou)), 120),
        columns=("with boxes", f"in words: {visible(readable(by_iou.words_of), 120)}")[: len(streams)],
        rows=tuple(
            (f"{same[0].low:g} to {same[0].high:g}", tuple(bar_of(interval.answers) for interval in same))
            for same in zip(*streams)
        ),
        is_aside=by_iou.is_aside,
    )


def _title(by_iou: ByIou) -> str:
    return f"{by_iou.boxes_of}, beside {by_iou.words_of}" if by_iou.is_aside and by_iou.words_of else by_iou.boxes_of


def _nearest_in_words(evaluations: Sequence[Evaluation], place: int, tasks: Collection[str]) -> Evaluation | None:
    others = [
        (abs(index - place), index)
        for index, other in enumerate(evaluations)
        if other.summary.grounding is None
        and not (other.asked and other.asked.views)
        and any(attempt.task.id in tasks for attempt in other.attempts)
    ]
    return evaluations[min(others)[1]] if others else None
