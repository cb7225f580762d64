"""What happened in a run, in two sentences with the numbers."""

from collections.abc import Sequence

from saccade import metric_names as metric
from saccade.runs.position import duration
from saccade.viewer.comparisons import Comparison
from saccade.viewer.evidence import Evaluation, Evidence
from saccade.viewer.novelty import are_held_out
from saccade.viewer.words import number_text, percent_text, readable


def story(evidence: Evidence) -> str:
    """Two sentences or so, for a reader who knows nothing of the run yet."""
    return f"{_result(evidence)} {_work(evidence)}"


def comparison_text(comparison: Comparison) -> str:
    """``+39.1 points since after sft (+33 to +45.2), on the same 256 tasks``."""
    low, high = (_points(end) for end in comparison.difference.ci95)
    before, tasks = readable(comparison.before), f"on the same {comparison.difference.n:,} tasks"
    if comparison.what == "asking":
        tasks = f"by the same weights, {tasks}"
    if low == high == "0":
        return f"no difference from {before}, {tasks}"
    how = "since" if comparison.what == "training" else "against"
    return f"{_points(comparison.difference.mean)} points {how} {before} ({low} to {high}), {tasks}"


def _result(evidence: Evidence) -> str:
    scored = [one for one in evidence.evaluations if one.summary.overall.n and one.second_pass is None]
    if not scored:
        return _training_only(evidence)
    numbers = [
        f"in {percent_text(evaluation.summary.overall.accuracy)} {readable(evaluation.name)}"
        + _beside(evaluation, has_calls=evidence.has_calls)
        for evaluation in scored
    ]
    counts = sorted({evaluation.summary.overall.n for evaluation in scored})
    questions = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    kind = "held-out questions" if are_held_out(evidence.evaluations) else "questions"
    return f"On {questions} {kind} the model was right {_listed(numbers)}."


def _beside(evaluation: Evaluation, *, has_calls: bool) -> str:
    """`` (tool used in 98 %, 2 of 6 failed and are left out)``; nothing where there is nothing to say."""
    tools = f"tool used in {percent_text(evaluation.summary.tool_rate)}" if has_calls else ""
    said = ", ".join(part for part in (tools, evaluation.summary.unfinished.describe()) if part)
    return f" ({said})" if said else ""


def _training_only(evidence: Evidence) -> str:
    for stage, curves in reversed(list(evidence.curves.items())):
        for key, words in ((metric.REWARD_MEAN, "the mean reward"), (metric.NLL, "the loss")):
            if series := curves.get(key):
                (first_step, first), (last_step, last) = series[0], series[-1]
                return (
                    f"Nothing has been evaluated yet; in stage {readable(stage)} {words} went from "
                    f"{number_text(first)} at step {first_step} to {number_text(last)} at step {last_step}."
                )
    return "Nothing has been measured yet."


def _work(evidence: Evidence) -> str:
    stages = [
        f"{readable(stage)} ({steps:,} step{'s' if steps != 1 else ''})"
        for stage, curves in evidence.curves.items()
        if stage not in {evaluation.name for evaluation in evidence.evaluations}
        and (steps := max((series[-1][0] for series in curves.values()), default=0))
    ]
    worked = f" It has worked for {duration(evidence.wall_s)}." if evidence.wall_s else ""
    did = {
        "finished": f"The run is finished after {duration(evidence.wall_s)} of work",
        "failed": f"The run stopped early ({evidence.info.error or 'no reason was written down'})",
        "running": "The run was still going, or was killed, when this page was written",
    }[evidence.info.status]
    ending = "" if evidence.info.status == "finished" else worked
    return f"{did}; it trained in {_listed(stages)}.{ending}" if stages else f"{did}.{ending}"


def _points(share: float) -> str:
    text = f"{100 * share:+.1f}".removesuffix(".0").replace("-", "−")
    return "0" if text in ("+0", "−0") else text


def _listed(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
