"""Story of a run: how evaluations compare, whether their questions were held out, and all of it in two sentences."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from saccade import metric_names as metric
from saccade.codec.forms import Form
from saccade.evaluation.statistics import Difference, paired_difference
from saccade.rewards.reward import counts_as_right
from saccade.runs.position import duration
from saccade.runs.trained_on import Novelty
from saccade.viewer.drawn import count_text
from saccade.viewer.evidence import Evaluation, Evidence
from saccade.viewer.words import number_text, percent_text, readable, visible

What = Literal["training", "asking", "unknown"]
"""The difference: the weights, how they were asked, or unknown in a run that did not record it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """Right answers of one evaluation minus those of another, on the tasks that both have."""

    FORM: ClassVar = Form(flat=("difference",))

    what: What
    before: str
    after: str
    difference: Difference


def comparisons_of(evaluations: Sequence[Evaluation]) -> tuple[Comparison, ...]:
    """Each evaluation beside what it is to be compared with, as far as they share questions.

    Beside the last and the first before it that asked alike, with other weights; and beside the first that asked the
    same weights otherwise, for a second look the one that saw no views. In a run that did not record how it asked,
    beside the first.
    """
    compared = []
    for place, evaluation in enumerate(evaluations):
        right, beside = _right_by_question(evaluation), set[str]()
        for what, other in _others(evaluation, evaluations[:place]):
            before = _right_by_question(other)
            shared = [question for question in before if question in right]
            if shared and other.name not in beside:
                beside.add(other.name)
                difference = paired_difference(
                    [before[question] for question in shared],
                    [right[question] for question in shared],
                    seed=0,
                    labels=(evaluation.name,),
                )
                compared.append(Comparison(what=what, before=other.name, after=evaluation.name, difference=difference))
            if what == "unknown" and beside:
                break
    return tuple(compared)


def _others(evaluation: Evaluation, earlier: Sequence[Evaluation]) -> Iterator[tuple[What, Evaluation]]:
    asked = evaluation.asked
    if asked is None:
        yield from (("unknown", other) for other in earlier)
        return
    known = [(other, other.asked) for other in earlier if other.asked is not None]
    alike = [
        other
        for other, how in known
        if (how.way, how.views) == (asked.way, asked.views) and other.policy_version != evaluation.policy_version
    ]
    if alike:
        yield "training", alike[-1]
        yield "training", alike[0]
    same_weights = [(other, how) for other, how in known if other.policy_version == evaluation.policy_version]
    plain = [other for other, how in same_weights if asked.views and not how.views and how.way == asked.way]
    yield from (("asking", other) for other in (plain or [other for other, _ in same_weights])[:1])


def _right_by_question(evaluation: Evaluation) -> dict[str, float]:
    """Share of right answers for each question that was scored at least once, in whatever order of its options."""
    right: dict[str, list[bool]] = {}
    for attempt in evaluation.attempts:
        if attempt.trajectory.status != "failed":
            task = attempt.task
            question = task.id if evaluation.belonging is None else evaluation.belonging(task)[0]
            right.setdefault(question, []).append(counts_as_right(task, attempt.trajectory))
    return {question: sum(answers) / len(answers) for question, answers in right.items()}


def are_held_out(evaluations: Sequence[Evaluation]) -> bool:
    """All of them are known to ask questions that were not trained on, on pictures that were not either."""
    return bool(evaluations) and all(
        one.asked is not None and one.asked.novelty.is_held_out and one.asked.novelty.is_history_known
        for one in evaluations
    )


def questions_text(novelty: Novelty | None) -> str:
    """``held-out questions``, or what else they are."""
    if novelty is None:
        return "questions"
    if not novelty.is_held_out:
        return f"questions, {novelty.seen_text()}"
    return "held-out questions" if novelty.is_history_known else "questions that this run did not train on"


def novelty_sentences(evaluations: Sequence[Evaluation]) -> list[str]:
    """Sentences on how new the questions are, one for all evaluations that share it."""
    by_sentence: dict[str, list[str]] = {}
    for one in evaluations:
        if one.asked is None:
            sentence = "this run did not record whether the model was trained on the questions"
        elif not one.asked.novelty.is_held_out:
            sentence = f"not held out: of the questions {one.asked.novelty.seen_text()}"
        elif not one.asked.novelty.is_history_known:
            sentence = "what the first checkpoint was trained on is not known; none of it in this run"
        else:
            sentence = "held out: neither the questions nor their pictures were trained on"
        by_sentence.setdefault(sentence, []).append(visible(readable(one.name), 80))
    if len(by_sentence) == 1:
        return [f"{sentence[0].upper()}{sentence[1:]}." for sentence in by_sentence]
    return [f"{', '.join(names)}: {sentence}." for sentence, names in by_sentence.items()]


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
    names = {one.name for one in scored}
    # Measurements on other sets have the name of the main one before theirs, and a table below.
    scored = [one for one in scored if not any(one.name.startswith(f"{name}_") for name in names)]
    # Of many measurements the first and the last: a sentence of nine shares tells nobody anything.
    told = scored if len(scored) <= 4 else [scored[0], scored[-1]]
    numbers = [
        f"in {percent_text(evaluation.summary.overall.accuracy)} {readable(evaluation.name)}"
        + _beside(evaluation, has_calls=evidence.has_calls)
        for evaluation in told
    ]
    counts = sorted({evaluation.summary.overall.n for evaluation in told})
    questions = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    noun = "question" if counts == [1] else "questions"
    kind = f"held-out {noun}" if are_held_out(evidence.evaluations) else noun
    others = len(names) - len(told)
    beside = (
        f" {count_text(others, 'other evaluation')} of this run {'is' if others == 1 else 'are'} below."
        if others
        else ""
    )
    return f"On {questions} {kind} the model was right {_enumeration(numbers)}.{beside}"


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
    return f"{did}; it trained in {_enumeration(stages)}.{ending}" if stages else f"{did}.{ending}"


def _points(share: float) -> str:
    text = f"{100 * share:+.1f}".removesuffix(".0").replace("-", "−")
    return "0" if text in ("+0", "−0") else text


def _enumeration(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
