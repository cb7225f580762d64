"""Benchmarks of several pictures, of counting, and of pairs of captions."""

from collections.abc import Mapping

from saccade.evaluation.benchmarks.aggregates import accuracy
from saccade.evaluation.benchmarks.benchmark import Benchmark, FileLayout, Release
from saccade.evaluation.benchmarks.clusters import same_pictures
from saccade.evaluation.benchmarks.hub_rows import column_text, with_choices
from saccade.evaluation.benchmarks.prompts import count_prompt, options_prompt, own_input_prompt, question_prompt
from saccade.evaluation.benchmarks.rules.free_text import ANSWER_INSIDE, FIRST_NUMBER, WHOLE_COUNT
from saccade.evaluation.benchmarks.rules.lmms_options import BLINK as LMMS_BLINK
from saccade.evaluation.benchmarks.rules.mindcube import MINDCUBE_OFFICIAL, MINDCUBE_TAIL
from saccade.evaluation.benchmarks.rules.strict import STRICT
from saccade.evaluation.benchmarks.rules.vlmevalkit_options import OPTIONS
from saccade.evaluation.benchmarks.sets.fine_details import TWO_OPTIONS
from saccade.tasks.rows.fields import Row


def _blink_from_hub(row: Row) -> Row:
    answer = column_text(row.get("answer")).strip("()")
    return with_choices(row, row["choices"], index=row.get("idx"), answer=answer, category=row.get("sub_task"))


def _mindcube_from_hub(row: Row) -> Row:
    kind = str(row["id"]).partition("_")[0]
    category = "around" if kind in ("around", "aroundnew") else kind
    question = row.get("question") or row["input_prompt"]
    return {**row, "index": row["id"], "answer": row["gt_answer"], "category": category, "question": question}


def _with_question(fields: Mapping[str, str]) -> Mapping[str, str]:
    """The question of a row that has a prompt alone."""
    return {**fields, "question": fields.get("question") or fields.get("input_prompt", "")}


def _count_row(row: Row) -> Row:
    return {**row, "answer": row.get("number", row.get("answer"))}


BLINK = Benchmark(
    name="blink",
    title="BLINK",
    layout=FileLayout(
        releases=(
            Release(file="BLINK.tsv", md5="d5e8af148b10ac69f535ff7b23f3f989", date="2026-05-11"),
            Release(file="BLINK.tsv", md5="3b6649b6a662184ea046908e5506260e"),
        ),
        hub="BLINK-Benchmark/BLINK",
        columns=(*TWO_OPTIONS, "category"),
        from_hub=_blink_from_hub,
        split="val",
    ),
    size=1901,
    prompt=options_prompt,
    cluster=same_pictures,
    readings=(*OPTIONS, *LMMS_BLINK, STRICT),
    aggregate=accuracy("category"),
    published_as=("BLINK",),
    trap="14 tasks of one to four pictures; the file of May 2026 has other answers for relative reflectance",
)

MINDCUBE_TINY = Benchmark(
    name="mindcube-tiny",
    title="MindCube-tiny",
    layout=FileLayout(
        releases=(Release(file="MindCubeBench_tiny_raw_qa.tsv", md5="35f69fc30d7c2d2880417ce0769f5347"),),
        hub="oscarqjh/MindCube_lmmseval",
        columns=("index", "answer", "input_prompt"),
        from_hub=_mindcube_from_hub,
        prepare=_with_question,
    ),
    size=1050,
    prompt=own_input_prompt,
    interleaves="in order",
    cluster=same_pictures,
    readings=(MINDCUBE_TAIL, MINDCUBE_OFFICIAL, STRICT),
    aggregate=accuracy("category"),
    published_as=("MindCube_tiny",),
    trap="the two harnesses read half of ordinary replies differently",
)

COUNTBENCH = Benchmark(
    name="countbench",
    title="CountBench",
    layout=FileLayout(
        releases=(Release(file="CountBenchQA.tsv", md5="fc73c8d4ffa665431448753f094d56ff"),),
        hub="vikhyatk/CountBenchQA",
        from_hub=_count_row,
    ),
    size=491,
    prompt=count_prompt,
    cluster=same_pictures,
    readings=(ANSWER_INSIDE, WHOLE_COUNT, STRICT),
    aggregate=accuracy(),
    source="clevr",
    published_as=("CountBenchQA",),
    trap="VLMEvalKit looks for the digits anywhere in the reply: 12 is right for 2",
)

PIXMO_COUNT = Benchmark(
    name="pixmo-count",
    title="PixMo-Count",
    layout=FileLayout(hub="kcz358/pixmo-count", from_hub=_count_row),
    size=540,
    prompt=question_prompt,
    cluster=same_pictures,
    readings=(FIRST_NUMBER, STRICT),
    aggregate=accuracy("label"),
    headline="lmms-eval",
    source="clevr",
    published_as=("PixMo-Count",),
    trap="allenai/pixmo-count has addresses of pictures and no pictures; only its validation and test were checked",
)
