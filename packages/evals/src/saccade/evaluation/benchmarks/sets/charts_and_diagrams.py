"""Benchmarks of charts and diagrams."""

from saccade.evaluation.benchmarks.aggregates import accuracy
from saccade.evaluation.benchmarks.benchmark import Benchmark, FileLayout, Release
from saccade.evaluation.benchmarks.clusters import same_pictures
from saccade.evaluation.benchmarks.hub_rows import column_text, with_choices
from saccade.evaluation.benchmarks.prompts import options_prompt, question_prompt, short_answer_prompt
from saccade.evaluation.benchmarks.rules.free_text import LMMS_RELAXED, VLMEVALKIT_RELAXED
from saccade.evaluation.benchmarks.rules.judged_verdicts import LMMS_CHART, VLMEVALKIT_CHART
from saccade.evaluation.benchmarks.rules.lmms_options import LMMS_AI2D
from saccade.evaluation.benchmarks.rules.strict import STRICT
from saccade.evaluation.benchmarks.rules.vlmevalkit_options import OPTIONS
from saccade.evaluation.benchmarks.sets.fine_details import TWO_OPTIONS
from saccade.tasks.datasets.dataset import letter_of
from saccade.tasks.rows.fields import Row, listed


def _chartqa_from_hub(row: Row) -> Row:
    return {**row, "split": "test_human" if row.get("type") == "human_test" else "test_augmented"}


def _ai2d_from_hub(row: Row) -> Row:
    """``answer`` is the option's number, counted from 0."""
    options, number = listed(row["options"], "options"), row.get("answer")
    return with_choices(row, options, answer=column_text(number) and letter_of(number, options, "answer"))


def _charxiv_from_hub(row: Row) -> Row:
    return {
        **row,
        "index": row.get("figure_path"),
        "question": row["reasoning_q"],
        "answer": row["reasoning_a"],
        "inst_category": row.get("reasoning_q_source"),
    }


CHARTQA = Benchmark(
    name="chartqa-test",
    title="ChartQA test",
    layout=FileLayout(
        releases=(Release(file="ChartQA_TEST.tsv", md5="c902e0aa9be5582a7aad6dcf52734b42"),),
        hub="lmms-lab-encoder/ChartQA",
        from_hub=_chartqa_from_hub,
    ),
    size=2500,
    prompt=short_answer_prompt,
    cluster=same_pictures,
    readings=(VLMEVALKIT_RELAXED, LMMS_RELAXED, STRICT),
    aggregate=accuracy("split"),
    source="chartqa",
    published_as=("ChartQA_TEST",),
    trap="the whole reply is compared: a sentence with the number is wrong; 1990 is within 5 % of 2010",
)


def _ai2d(name: str, title: str, file: str, md5: str, hub: str) -> Benchmark:
    return Benchmark(
        name=name,
        title=title,
        layout=FileLayout(
            releases=(Release(file=file, md5=md5),), hub=hub, columns=TWO_OPTIONS, from_hub=_ai2d_from_hub
        ),
        size=3088,
        prompt=options_prompt,
        cluster=same_pictures,
        readings=(*OPTIONS, LMMS_AI2D, STRICT),
        aggregate=accuracy("category"),
        source="ai2d",
        published_as=("AI2D_TEST",) if name == "ai2d-test" else (),
        trap="with labels in the picture masked or not, 10 points apart; lmms-eval reads B. and not (B)",
    )


AI2D = _ai2d(
    "ai2d-test", "AI2D test, masked", "AI2D_TEST.tsv", "0f593e0d1c7df9a3d69bf1f947e71975", "lmms-lab-encoder/ai2d"
)
AI2D_NO_MASK = _ai2d(
    "ai2d-test-no-mask",
    "AI2D test, not masked",
    "AI2D_TEST_NO_MASK.tsv",
    "fd8f463634d4fe9fbd23b876e8eea5be",
    "Efficient-Large-Model/ai2d-no-mask",
)

CHARXIV = Benchmark(
    name="charxiv-reasoning",
    title="CharXiv reasoning, validation",
    layout=FileLayout(
        releases=(
            Release(file="CharXiv_reasoning_val.tsv", md5="6fc1a522ad32c2e3d72a89857b8cf10b", date="2026-08-18"),
            Release(file="CharXiv_reasoning_val.tsv", md5="98eeff269b40726982627b19338ccd45"),
        ),
        hub="princeton-nlp/CharXiv",
        columns=("index", "question", "answer"),
        from_hub=_charxiv_from_hub,
        split="val",
    ),
    size=1000,
    prompt=question_prompt,
    cluster=same_pictures,
    readings=(VLMEVALKIT_CHART, LMMS_CHART, STRICT),
    aggregate=accuracy("inst_category"),
    published_as=("CharXiv_reasoning_val",),
    trap="a judge decides; harnesses count a verdict that is no plain JSON as wrong, here it is no verdict",
)
