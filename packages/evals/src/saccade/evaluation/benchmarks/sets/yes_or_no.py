"""Benchmarks of yes and no: hallucinations."""

from collections.abc import Mapping

from saccade.evaluation.benchmarks.aggregates import accuracy, hallusion_accuracies, yes_no_f1
from saccade.evaluation.benchmarks.benchmark import Benchmark, BenchmarkRow, FileLayout, Release
from saccade.evaluation.benchmarks.clusters import same_pictures
from saccade.evaluation.benchmarks.hub_rows import column_text
from saccade.evaluation.benchmarks.prompts import question_prompt
from saccade.evaluation.benchmarks.rules.judged_verdicts import LMMS_HALLUSION
from saccade.evaluation.benchmarks.rules.strict import STRICT
from saccade.evaluation.benchmarks.rules.yes_no import LMMS_WHOLE, VLMEVALKIT_WORD
from saccade.tasks.rows.fields import Row


def _pope_from_hub(row: Row) -> Row:
    return {
        **row,
        "index": row.get("id", row.get("question_id")),
        "answer": column_text(row.get("answer")).capitalize(),
    }


def _hallusion_from_hub(row: Row) -> Row:
    """The parts of VLMEvalKit's index: set, figure and question are its fourth, fifth and sixth."""
    names = ("category", "subcategory", "set_id", "figure_id", "question_id")
    index = "_".join(["hub", *(str(row[name]) for name in names)])
    answer = {"1": "Yes", "0": "No"}.get(column_text(row.get("gt_answer")), "")
    return {**row, "index": index, "answer": answer, "l2-category": row["subcategory"]}


def _has_figure(fields: Mapping[str, str]) -> bool:
    """The hub's rows without a picture (``visual_input`` 0) are not asked."""
    return fields.get("visual_input", "1") != "0"


def _same_set(row: BenchmarkRow) -> str:
    """Questions of one set share their figures."""
    parts = row.index.split("_")
    return f"{row.fields.get('l2-category', '')}_{parts[3]}" if len(parts) > 3 else same_pictures(row)


POPE = Benchmark(
    name="pope",
    title="POPE",
    layout=FileLayout(
        releases=(Release(file="POPE.tsv", md5="c12f5acb142f2ef1f85a26ba2fbe41d5"),),
        hub="lmms-lab-encoder/POPE",
        columns=("index", "question", "answer", "category"),
        from_hub=_pope_from_hub,
    ),
    size=5127,
    prompt=question_prompt,
    cluster=same_pictures,
    readings=(VLMEVALKIT_WORD, LMMS_WHOLE.with_aggregate(accuracy("category")), STRICT),
    aggregate=yes_no_f1,
    source="figureqa",
    published_as=("POPE",),
    trap="VLMEvalKit reports F1 of 5,127 questions, lmms-eval accuracy of 9,000, and Yes. is wrong there",
)

HALLUSIONBENCH = Benchmark(
    name="hallusionbench",
    title="HallusionBench",
    layout=FileLayout(
        releases=(Release(file="HallusionBench.tsv", md5="0c23ac0dc9ef46832d7a24504f2a0c7c"),),
        hub="lmms-lab-encoder/HallusionBench",
        columns=("index", "question", "answer", "category"),
        from_hub=_hallusion_from_hub,
        keep=_has_figure,
        split="image",
    ),
    size=951,
    prompt=question_prompt,
    cluster=_same_set,
    readings=(VLMEVALKIT_WORD, LMMS_HALLUSION, STRICT),
    aggregate=hallusion_accuracies,
    source="figureqa",
    published_as=("HallusionBench",),
    trap="aAcc, fAcc and qAcc lie 20 points apart; lmms-eval asks GPT-4 whether an answer conflicts",
)
