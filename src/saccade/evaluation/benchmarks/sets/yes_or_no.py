"""Benchmarks of yes and no: hallucinations."""

from collections.abc import Mapping

from saccade.evaluation.benchmarks.aggregates import yes_no_f1
from saccade.evaluation.benchmarks.benchmark import Benchmark, Layout, Release
from saccade.evaluation.benchmarks.clusters import same_pictures
from saccade.evaluation.benchmarks.prompts import question_prompt
from saccade.evaluation.benchmarks.rules.strict import STRICT
from saccade.evaluation.benchmarks.rules.yes_no import LMMS_WHOLE, VLMEVALKIT_WORD


def _pope_from_hub(row: Mapping[str, object]) -> Mapping[str, object]:
    return {**row, "index": row.get("id", row.get("question_id")), "answer": str(row["answer"]).capitalize()}


POPE = Benchmark(
    name="pope",
    title="POPE",
    layout=Layout(
        releases=(Release(file="POPE.tsv", md5="c12f5acb142f2ef1f85a26ba2fbe41d5"),),
        hub="lmms-lab/POPE",
        columns=("index", "question", "answer", "category"),
        from_hub=_pope_from_hub,
    ),
    size=5127,
    prompt=question_prompt,
    cluster=same_pictures,
    readings=(VLMEVALKIT_WORD, LMMS_WHOLE, STRICT),
    aggregate=yes_no_f1,
    published_as=("POPE",),
    trap="VLMEvalKit reports F1 of 5,127 questions, lmms-eval accuracy of 9,000",
)
