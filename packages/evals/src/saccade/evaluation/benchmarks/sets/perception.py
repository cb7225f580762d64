"""Benchmarks of plain seeing and of puzzles: VLMsAreBlind, ZeroBench, VisuLogic, BabyVision, ERQA."""

from collections.abc import Mapping
from pathlib import Path

from saccade.evaluation.benchmarks.aggregates import accuracy, mean_of_groups
from saccade.evaluation.benchmarks.benchmark import Benchmark, FileLayout, Release
from saccade.evaluation.benchmarks.clusters import same_pictures
from saccade.evaluation.benchmarks.hub_rows import column_text, with_choices
from saccade.evaluation.benchmarks.prompts import (
    boxed_prompt,
    braces_prompt,
    options_prompt,
    question_prompt,
    reasoning_prompt,
)
from saccade.evaluation.benchmarks.release_files import release_rows
from saccade.evaluation.benchmarks.rules.blind_test import LMMS_BLIND, LMMS_ZERO, VLMEVALKIT_BLIND, VLMEVALKIT_ZERO
from saccade.evaluation.benchmarks.rules.free_text import WHOLE_REPLY
from saccade.evaluation.benchmarks.rules.judged_answers import BABY_VISION as BABY_RULE
from saccade.evaluation.benchmarks.rules.lmms_options import MCQ
from saccade.evaluation.benchmarks.rules.strict import STRICT
from saccade.evaluation.benchmarks.rules.visulogic import VISULOGIC as VISULOGIC_RULES
from saccade.tasks.rows.fields import Row, RowError, RowValue, as_number


def _blind_task(task: str) -> dict[str, str]:
    """The task, and the one of eight that papers report: both kinds of grids are one."""
    return {"category": task, "l2-category": task.partition(" - ")[0] if task.startswith("Counting Grid") else task}


def _with_answer(fields: Mapping[str, str]) -> Mapping[str, str]:
    """The answer of VLMEvalKit's column ``answers``."""
    answer = {"answer": fields["answers"]} if "answers" in fields else {}
    return {**fields, **answer, **(_blind_task(fields["task"]) if "task" in fields else {})}


def _blind_from_hub(row: Row) -> Row:
    groups = _blind_task(str(row["task"]))
    return {"image": row["image"], "question": row["prompt"], "answer": row["groundtruth"], **groups}


def _zero_from_hub(row: Row) -> Row:
    return {
        "index": row["question_id"],
        "question": row["question_text"],
        "answer": row.get("question_answer"),
        "images": row["question_images_decoded"],
    }


def _visulogic_row(row: Row, path: Path, number: int) -> dict[str, RowValue]:
    return {**row, "index": row["id"], "answer": row["label"], "category": row["tag"], "question": row["question"]}


def _baby_columns(row: Row) -> dict[str, RowValue]:
    answer, options = row.get("blankAns"), None
    if row["ansType"] == "choice":
        options, place = row["options"], as_number(row["choiceAns"])
        if place is None:
            raise RowError("choiceAns", "must be the number of an option")
        answer = chr(ord("A") + int(place))
    groups = {"category": row["type"], "l2-category": row["subtype"]}
    columns = {"index": row["taskId"], "question": row["question"], "image": row["image"], **groups}
    return with_choices(columns, options, answer=column_text(answer))


def _baby_row(row: Row, path: Path, number: int) -> dict[str, RowValue]:
    columns = _baby_columns(row)
    return {**columns, "image_path": columns.pop("image")}


def _erqa_from_hub(row: Row) -> Row:
    return {**row, "index": row["question_id"], "category": row["question_type"]}


VLMS_ARE_BLIND = Benchmark(
    name="vlmsareblind",
    title="VLMs are blind (BlindTest)",
    layout=FileLayout(
        releases=(Release(file="VLMBlind.tsv", md5="e0f960236afe08f9fa48e8ccc908b2a9"),),
        hub="XAI/vlmsareblind",
        columns=("index", "question"),
        from_hub=_blind_from_hub,
        prepare=_with_answer,
        split="valid",
        origin="huggingface.co/datasets/XAI/vlmsareblind (see its card for the licence)",
    ),
    size=8016,
    prompt=options_prompt,
    cluster=same_pictures,
    readings=(VLMEVALKIT_BLIND, LMMS_BLIND, STRICT),
    aggregate=mean_of_groups("l2-category", "category"),
    published_as=("VLMsAreBlind",),
    trap="the figure is the mean over eight tasks, both kinds of grids as one; VLMEvalKit finds digits anywhere",
)


def _zero_bench(name: str, title: str, file: str, md5: str, split: str, size: int) -> Benchmark:
    return Benchmark(
        name=name,
        title=title,
        layout=FileLayout(
            releases=(Release(file=file, md5=md5),),
            hub="jonathan-roberts1/zerobench",
            columns=("index", "question"),
            from_hub=_zero_from_hub,
            prepare=_with_answer,
            split=split,
            origin="huggingface.co/datasets/jonathan-roberts1/zerobench (see its card for the licence)",
        ),
        size=size,
        prompt=braces_prompt,
        cluster=same_pictures,
        readings=(VLMEVALKIT_ZERO, LMMS_ZERO, STRICT),
        aggregate=accuracy(),
        headline="lmms-eval",
        published_as=(title,),
        trap="VLMEvalKit counts what the last braces hold, in which only --prompt vlmevalkit asks for the answer",
    )


ZERO_BENCH = _zero_bench(
    "zerobench", "ZeroBench", "zerobench.tsv", "600d5e89325f1dab5ad3fa2ea200cea6", "zerobench", 100
)
ZERO_BENCH_SUB = _zero_bench(
    "zerobench-subquestions",
    "ZeroBench subquestions",
    "zerobench_sub.tsv",
    "2d2131bffb7f09ca099fdd0f3ad0392b",
    "zerobench_subquestions",
    334,
)

VISULOGIC = Benchmark(
    name="visulogic",
    title="VisuLogic",
    layout=FileLayout(
        releases=(Release(file="VisuLogic.tsv", md5="b0820b5ec1e01dfe3951927f0def73b6"),),
        columns=("index", "question", "answer", "category"),
        folder="VisuLogic",
        release_rows=release_rows("data.jsonl", _visulogic_row),
        origin="huggingface.co/datasets/VisuLogic/VisuLogic (see its card for the licence)",
    ),
    size=1000,
    prompt=reasoning_prompt,
    cluster=same_pictures,
    readings=(*VISULOGIC_RULES, STRICT),
    aggregate=accuracy("category"),
    headline="official",
    published_as=("VisuLogic",),
    trap="its own script asks a judge about a reply without a letter, VLMEvalKit counts it as wrong",
)

BABY_VISION = Benchmark(
    name="babyvision",
    title="BabyVision",
    layout=FileLayout(
        hub="UnipatAI/BabyVision",
        columns=("index", "question", "answer", "category"),
        from_hub=_baby_columns,
        split="train",
        folder="babyvision_data",
        release_rows=release_rows("meta_data.jsonl", _baby_row),
        origin="github.com/UniPat-AI/BabyVision (data/babyvision_data.zip; for research)",
    ),
    size=388,
    prompt=boxed_prompt,
    cluster=same_pictures,
    readings=(BABY_RULE, STRICT),
    aggregate=accuracy("category", "l2-category"),
    headline="official",
    published_as=("BabyVision",),
    trap="a judge grades the last box, in which only --prompt vlmevalkit asks for the answer; else the word None",
)

ERQA = Benchmark(
    name="erqa",
    title="ERQA",
    layout=FileLayout(
        releases=(Release(file="ERQA.tsv"),),
        hub="FlagEval/ERQA",
        columns=("index", "question", "answer", "category"),
        from_hub=_erqa_from_hub,
        origin="huggingface.co/datasets/RunsenXu/ERQA or FlagEval/ERQA (see their cards for the licence)",
    ),
    size=400,
    prompt=question_prompt,
    interleaves="in order",
    cluster=same_pictures,
    readings=(WHOLE_REPLY, MCQ, STRICT),
    aggregate=accuracy("category"),
    published_as=("ERQA",),
    trap="VLMEvalKit wants the letter and nothing else; the original file is a tfrecord, which is not read here",
)
