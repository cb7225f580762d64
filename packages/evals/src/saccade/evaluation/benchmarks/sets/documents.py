"""Benchmarks of documents of many pages."""

from collections.abc import Mapping

from saccade.evaluation.benchmarks.aggregates import document_scores, word_scores
from saccade.evaluation.benchmarks.benchmark import Benchmark, FileLayout, Release
from saccade.evaluation.benchmarks.clusters import same_document
from saccade.evaluation.benchmarks.prompts import question_prompt
from saccade.evaluation.benchmarks.rules.documents import (
    DOCUMENT_JUDGED,
    DOCUMENT_WHOLE,
    NOT_ANSWERABLE,
    SLIDES_JUDGED,
    SLIDES_WHOLE,
)
from saccade.evaluation.benchmarks.rules.strict import STRICT
from saccade.tasks.datasets.documents import slides_of
from saccade.tasks.rows.fields import Row


def _unanswerable(fields: Mapping[str, str]) -> Mapping[str, str]:
    """In VLMEvalKit's file a question that cannot be answered has an empty answer."""
    return {**fields, "answer": fields.get("answer", NOT_ANSWERABLE)}


def _slides_from_hub(row: Row) -> Row:
    rest = {name: value for name, value in row.items() if not name.startswith("page_")}
    return {**rest, "index": row.get("qa_id"), "images": list(slides_of(row).values())}


SLIDEVQA = Benchmark(
    name="slidevqa-test",
    title="SlideVQA test",
    layout=FileLayout(
        releases=(
            Release(file="SLIDEVQA.tsv", md5="5e822c2f800e94c1e23badfd478326b6"),
            Release(file="SLIDEVQA_MINI.tsv", md5="6d9a8d8814fa5b7669deb2af3a3208eb"),
        ),
        hub="NTT-hil-insight/SlideVQA",
        from_hub=_slides_from_hub,
        prepare=_unanswerable,
    ),
    size=2215,
    prompt=question_prompt,
    cluster=same_document,
    readings=(SLIDES_JUDGED, SLIDES_WHOLE, STRICT),
    aggregate=word_scores,
    source="slidevqa",
    published_as=("SLIDEVQA",),
    trap="Lang2Act shows the 3 pages that retrieval finds and asks Qwen2.5-72B; VLMEvalKit shows all of them, in grids",
)

MMLONGBENCH_DOC = Benchmark(
    name="mmlongbench-doc-all",
    title="MMLongBench-Doc",
    layout=FileLayout(
        releases=(Release(file="MMLongBench_DOC.tsv", md5="75f5d29965d0db68254993f6170da7c2"),),
        columns=("index", "question", "answer", "answer_format"),
    ),
    size=1082,
    prompt=question_prompt,
    cluster=same_document,
    readings=(DOCUMENT_JUDGED, DOCUMENT_WHOLE, STRICT),
    aggregate=document_scores,
    source="mmlongbench-doc",
    published_as=("MMLongBench_DOC",),
    trap="VLMEvalKit shows up to 120 pages; Lang2Act asks 859 of the 1,082 questions, of 3 retrieved pages",
)
