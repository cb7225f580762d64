"""Sections of a report on iVGR: training in two streams (figure 4), and answers by how well boxes fit (figure 2)."""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar

from saccade.codec.codecs import plain_json
from saccade.codec.forms import Form
from saccade.evaluation.consistency import RubricCounts, TwoStreamStep, shares_of, sum_of_counts
from saccade.evaluation.grounding import Grounding, IouInterval, accuracy_by_iou, answers_with_iou, question_ious
from saccade.rewards.judges.consistency import RUBRIC
from saccade.viewer.charts import Line, line_chart
from saccade.viewer.curves import CurveChart
from saccade.viewer.evidence import Evaluation, Evidence
from saccade.viewer.section import Section, Tell
from saccade.viewer.templates import page_template
from saccade.viewer.two_streams import TwoStreamStage, has_streams, read_two_streams
from saccade.viewer.words import Bar, bar_of, number_text, percent_text, readable, visible

Value = Callable[[TwoStreamStep], float | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamSection:
    """A training stage as it is shown."""

    stage: str
    charts: tuple[CurveChart, ...]
    verdicts: str
    """The counts of verdicts, in a sentence."""
    scores: tuple[tuple[str, str, str], ...]
    """The rubric's value, and how often it was given to right and to wrong answers."""


def stream_section(stage: TwoStreamStage) -> StreamSection:
    """The figure's four curves, and the counts of verdicts."""
    steps = stage.steps
    right, wrong = (sum_of_counts(counts) for counts in zip(*((step.right, step.wrong) for step in steps)))
    return StreamSection(
        stage=stage.stage,
        charts=tuple(chart for chart in _charts(steps) if chart is not None),
        verdicts=_verdicts(stage),
        scores=tuple(zip(map(str, RUBRIC), _with_shares(right), _with_shares(wrong))) if sum(right + wrong) else (),
    )


def _charts(steps: Sequence[TwoStreamStep]) -> list[CurveChart | None]:
    def verdicts(counts: Callable[[TwoStreamStep], RubricCounts]) -> dict[str, Value]:
        return {str(value): _share(counts, index) for index, value in enumerate(RUBRIC)}

    counted = any(step.no_verdict or step.attacks for step in steps)
    return [
        _chart(
            "Both streams",
            "mean over trajectories",
            steps,
            {
                "grounded: right": lambda step: step.grounded_accuracy,
                "grounded: box reward": lambda step: step.box,
                "textual: right": lambda step: step.textual_accuracy,
                "textual: agreement": lambda step: step.consistency,
            },
        ),
        _chart(
            "Agreement where the answer is right",
            "share of each score among textual trajectories with a verdict",
            steps,
            verdicts(lambda step: step.right),
        ),
        _chart(
            "Agreement where the answer is wrong",
            "share of each score among textual trajectories with a verdict",
            steps,
            verdicts(lambda step: step.wrong),
        ),
        _chart(
            "Archive",
            "questions with a reference, and references that an earlier step found",
            steps,
            {
                "has a reference": lambda step: step.reference_share,
                "of these from the archive": lambda step: step.hit_rate,
            },
        ),
        _chart(
            "Verdicts that were not given",
            "trajectories of a step",
            steps,
            {
                "asked, no verdict": lambda step: float(step.no_verdict),
                "speaks to the judge": lambda step: float(step.attacks),
            },
            is_share=False,
        )
        if counted
        else None,
    ]


def _share(counts: Callable[[TwoStreamStep], RubricCounts], index: int) -> Value:
    def of_step(step: TwoStreamStep) -> float | None:
        shares = shares_of(counts(step))
        return shares[index] if shares else None

    return of_step


def _chart(
    title: str, subtitle: str, steps: Sequence[TwoStreamStep], values: dict[str, Value], *, is_share: bool = True
) -> CurveChart | None:
    """None where no line has a point."""
    lines = []
    for label, value in values.items():
        points = tuple((step.step, number) for step in steps if (number := value(step)) is not None)
        if points:
            lines.append(Line(label=label, points=points))
    if not lines:
        return None
    form = percent_text if is_share else number_text
    svg = line_chart(lines, title=title, format_value=form, is_share=is_share)
    return CurveChart(title=title, subtitle=subtitle, svg=svg, legend=tuple(line.label for line in lines))


def _verdicts(stage: TwoStreamStage) -> str:
    """How often a judge was asked, and what came of it."""
    steps = stage.steps
    asked, without = sum(step.asked for step in steps), sum(step.no_verdict for step in steps)
    attacks = sum(step.attacks for step in steps)
    read = f"{len(steps):,} step{'s' if len(steps) != 1 else ''}"
    if len(steps) < stage.steps_on_disk:
        read += f" (evenly spaced ones of {stage.steps_on_disk:,}, since the records are long)"
    if not asked and not attacks:
        return f"In {read} no judge was asked."
    share = f" ({percent_text(without / asked)})" if without else ""
    return (
        f"In {read} the judge was asked about {asked:,} textual trajectories and gave no verdict on "
        f"{without:,}{share}; {attacks:,} more spoke to the judge and have the score 0 without being asked."
    )


def _with_shares(counts: RubricCounts) -> tuple[str, ...]:
    shares = shares_of(counts)
    return tuple(
        f"{count:,} ({percent_text(share)})" if shares else "–"
        for count, share in zip(counts, shares or (0.0,) * len(counts))
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class ByIou:
    """Answers to the same questions by the IoU of the boxes that ``boxes_of`` wrote; intervals are the same in both."""

    FORM: ClassVar = Form(apart=("is_aside",))

    boxes_of: str
    boxes: tuple[IouInterval, ...]
    words_of: str = ""
    words: tuple[IouInterval, ...] = ()
    """Empty where these questions have no answers in plain words."""
    is_aside: bool = False
    """Not to be shown at once: the boxes are there for the views cut out by them."""


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
        grounding = _grounding(evaluation)
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


def _grounding(evaluation: Evaluation) -> Grounding | None:
    measured = evaluation.summary.figures.get("grounding")
    return measured.value if measured is not None and isinstance(measured.value, Grounding) else None


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
        if _grounding(other) is None
        and not (other.asked and other.asked.views)
        and any(attempt.task.id in tasks for attempt in other.attempts)
    ]
    return evaluations[min(others)[1]] if others else None


@dataclass(frozen=True, kw_only=True, slots=True)
class BoxesAndWords:
    """What a run has of the two streams."""

    stages: tuple[TwoStreamStage, ...]
    by_iou: tuple[ByIou, ...]


def _read(evidence: Evidence, tell: Tell) -> BoxesAndWords:
    read = [
        read_two_streams(evidence.paths.root / "trajectories" / last.stage, tell)
        for last in evidence.rollouts
        if has_streams(last.attempts)
    ]
    stages = tuple(stage for stage in read if stage is not None)
    training = [by_iou for stage in stages if (by_iou := training_by_iou(stage)) is not None]
    return BoxesAndWords(stages=stages, by_iou=(*evaluations_by_iou(evidence.evaluations), *training))


def agreement_line(stages: Sequence[TwoStreamStage]) -> str:
    """How well words agree with boxes in the last quarter of the last stage's steps; empty without a verdict.

    ``rl, last 15 steps: words agree with boxes by 0.42 of 1 (wholly in 48 % of right answers), 99 % of the questions
    had a reference``.
    """
    steps = stages[-1].steps[-math.ceil(len(stages[-1].steps) / 4) :] if stages else ()
    right, wrong = (sum_of_counts([getattr(step, name) for step in steps]) for name in ("right", "wrong"))
    if not sum(right + wrong):
        return ""
    mean = sum(value * (one + other) for value, one, other in zip(RUBRIC, right, wrong)) / sum(right + wrong)
    whole = shares_of(right)
    said = f" (wholly in {percent_text(whole[RUBRIC.index(1.0)])} of right answers)" if whole else ""
    asked = sum(step.questions for step in steps)
    referred = percent_text(sum(step.with_reference for step in steps) / asked)
    name = visible(stages[-1].stage, 64)
    return (
        f"{name}, last {len(steps)} step{'s' if len(steps) != 1 else ''}: words agree with boxes by {mean:.2f} of 1"
        f"{said}, {referred} of the questions had a reference"
    )


SECTION = Section(
    read=_read,
    rows=lambda found: {
        "two_streams": [stage.as_json() for stage in found.stages],
        "by_iou": [plain_json(by_iou) for by_iou in found.by_iou],
    },
    html=lambda found: page_template("streams.html.jinja").render(
        streams=[stream_section(stage) for stage in found.stages],
        by_iou=[iou_table(by_iou) for by_iou in found.by_iou],
    ),
    closing=lambda found: agreement_line(found.stages),
)
