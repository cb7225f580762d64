"""The section of a report about training in two streams: rewards, agreement and references (iVGR, figure 4)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from saccade.evaluation.consistency import RubricCounts, TwoStreamStep, added, shares_of
from saccade.rewards.judges.consistency import RUBRIC
from saccade.viewer.charts import Line, line_chart
from saccade.viewer.curves import CurveChart
from saccade.viewer.two_streams import TwoStreamStage
from saccade.viewer.words import number_text, percent_text

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
    right, wrong = (added(counts) for counts in zip(*((step.right, step.wrong) for step in steps)))
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
