"""Benchmarks of small things in large pictures, and of where things are."""

from collections.abc import Callable, Mapping

from saccade.evaluation.benchmarks.aggregates import accuracy, mean_of_cycles, mean_of_groups, with_box_recall
from saccade.evaluation.benchmarks.benchmark import (
    LETTERS,
    Aggregate,
    Benchmark,
    BenchmarkRow,
    FileLayout,
    Release,
)
from saccade.evaluation.benchmarks.clusters import same_pictures
from saccade.evaluation.benchmarks.hub_rows import column_text, lettered_row, list_of, with_choices
from saccade.evaluation.benchmarks.prompts import (
    letter_prompt,
    options_prompt,
    own_prompt,
    real_world_cn_prompt,
    real_world_prompt,
)
from saccade.evaluation.benchmarks.rules.lmms_options import CV_BENCH, LMMS_HRBENCH, MCQ, REAL_WORLD_QA
from saccade.evaluation.benchmarks.rules.strict import STRICT
from saccade.evaluation.benchmarks.rules.vlmevalkit_options import FIRST_OF_FIVE, OPTIONS, REAL_WORLD_OFFICIAL
from saccade.tasks.rows.fields import Row, listed

TWO_OPTIONS = ("index", "question", "answer", "A", "B")


def _question_with_options(row: Row) -> Row:
    return lettered_row(str(row["question"]), row)


def _real_world_options(fields: Mapping[str, str]) -> Mapping[str, str]:
    """The column ``multi-choice options`` is the text of a list of ``(A) ...``."""
    texts = [text[4:] for text in list_of(fields.get("multi-choice options", ""))]
    return {**fields, **dict(zip(LETTERS, texts))}


def _cv_bench_from_hub(row: Row) -> Row:
    answer, groups = column_text(row.get("answer")).strip("()"), {"split": row.get("type"), "category": row["task"]}
    return with_choices(row, row["choices"], index=row.get("idx"), answer=answer, **groups)


def _hrbench(size: str, md5: str) -> Benchmark:
    return Benchmark(
        name=f"hrbench-{size.lower()}",
        title=f"HR-Bench {size}",
        layout=FileLayout(
            releases=(
                Release(file=f"HRBench{size}.tsv", md5=md5),
                Release(file=f"hr_bench_{size.lower()}.tsv", md5=md5),
            ),
            hub="DreamMr/HR-Bench",
            columns=(*TWO_OPTIONS, "category", "cycle_category"),
            split=f"hr_bench_{size.lower()}",
        ),
        size=800,
        prompt=options_prompt,
        cluster=same_pictures,
        readings=(*OPTIONS, LMMS_HRBENCH, STRICT),
        aggregate=mean_of_cycles,
        published_as=(f"HRBench{size}",),
        trap="rows are 200 questions in 4 cycles of their options; lmms-eval needs a judge where its rule fails",
    )


HRBENCH_4K = _hrbench("4K", "f6b041b03d49543494b8a56d2e35be65")
HRBENCH_8K = _hrbench("8K", "274c9c7f89329b804a4723178a00219c")


def _real_world_from_hub(row: Row) -> Row:
    """``bytes`` is the picture's base64."""
    columns = {**row, "image": row["bytes"]}
    del columns["bytes"]
    return with_choices(columns, [str(one)[4:] for one in listed(row["multi-choice options"], "multi-choice options")])


def _mme_realworld(
    part: str, releases: tuple[Release, ...], hub: str, size: int, prompt: Callable[[BenchmarkRow], str]
) -> Benchmark:
    title = f"MME-RealWorld{part}"
    return Benchmark(
        name=title.lower(),
        title=title,
        layout=FileLayout(
            releases=releases,
            hub=hub,
            columns=("index", "question", "answer", "multi-choice options", "category"),
            from_hub=_real_world_from_hub,
            prepare=_real_world_options,
            split="train",
            origin="huggingface.co/yifanzhang114 (for academic research alone, by its README)",
        ),
        size=size,
        prompt=prompt,
        cluster=same_pictures,
        readings=(REAL_WORLD_OFFICIAL, *FIRST_OF_FIVE, STRICT),
        aggregate=accuracy("l2-category", "category"),
        published_as=(title,),
        trap="the rule takes the first capital A to E anywhere: an empty reply is A, THE CORRECT is E",
    )


MME_REALWORLD = _mme_realworld(
    "",
    (Release(file="MME-RealWorld.tsv", md5="fd341132362fc41e707cb37ee6e4dcda"),),
    "yifanzhang114/MME-RealWorld-Lmms-eval",
    0,
    real_world_prompt,
)
MME_REALWORLD_CN = _mme_realworld(
    "-CN",
    (Release(file="MME-RealWorld-CN.tsv", md5="daaa763d52a760a38606d5dedb3fe444"),),
    "yifanzhang114/MME-RealWorld-CN-Lmms-eval",
    0,
    real_world_cn_prompt,
)
MME_REALWORLD_LITE = _mme_realworld(
    "-Lite",
    tuple(
        Release(file=file, md5="4c17057d7d3b6c4a0d4397c3dae0881c")
        for file in ("MME-RealWorld-Lite.tsv", "mme_realworld_lite.tsv")
    ),
    "yifanzhang114/MME-RealWorld-lite-lmms-eval",
    1919,
    real_world_prompt,
)

REALWORLDQA = Benchmark(
    name="realworldqa",
    title="RealWorldQA",
    layout=FileLayout(
        releases=(
            Release(file="RealWorldQA.tsv", md5="4de008f55dc4fd008ca9e15321dc44b7", date="2024-12-30"),
            Release(file="RealWorldQA.tsv", md5="92321028"),
        ),
        hub="lmms-lab-encoder/RealWorldQA",
        columns=TWO_OPTIONS,
        from_hub=_question_with_options,
    ),
    size=765,
    prompt=options_prompt,
    cluster=same_pictures,
    readings=(*OPTIONS, REAL_WORLD_QA, STRICT),
    aggregate=accuracy("category"),
    published_as=("RealWorldQA",),
    trap="the file changed on 30 December 2024 under the same name",
)


def _cv_bench(dimensions: str, md5: str, size: int, aggregate: Aggregate, trap: str) -> Benchmark:
    return Benchmark(
        name=f"cv-bench-{dimensions.lower()}",
        title=f"CV-Bench {dimensions}",
        layout=FileLayout(
            releases=(Release(file=f"CV-Bench-{dimensions}.tsv", md5=md5),),
            hub="nyu-visionx/CV-Bench",
            columns=(*TWO_OPTIONS, "prompt", "source"),
            from_hub=_cv_bench_from_hub,
            # The hub has both in one file.
            keep=lambda fields: fields.get("split", dimensions) == dimensions,
        ),
        size=size,
        prompt=own_prompt,
        cluster=same_pictures,
        readings=(*OPTIONS, CV_BENCH, STRICT),
        aggregate=aggregate,
        published_as=(f"CV-Bench-{dimensions}",),
        trap=trap,
    )


CV_BENCH_2D = _cv_bench(
    "2D",
    "a7cff4cc2857cc237ee2b89e62bccb2d",
    1438,
    mean_of_groups("source", "category"),
    "the mean of ADE20K's and COCO's accuracies; Argos' CV-Bench may be 2D and 3D together",
)
CV_BENCH_3D = _cv_bench(
    "3D",
    "bb94c0d568d652d15b60e001ac40a170",
    1200,
    accuracy("category"),
    "lmms-eval takes the first letter of the reply: The answer is (B) reads as T",
)

TREEBENCH = Benchmark(
    name="treebench",
    title="TreeBench",
    layout=FileLayout(
        releases=(Release(file="TreeBench.tsv"),),
        columns=(*TWO_OPTIONS, "category", "target_instances"),
        prepare=lambda fields: {**fields, "targets": fields.get("target_instances", "")},
    ),
    size=405,
    prompt=letter_prompt,
    cluster=same_pictures,
    readings=(*FIRST_OF_FIVE, STRICT),
    aggregate=with_box_recall,
    published_as=("TreeBench",),
    trap="boxes count in pixels of the published picture and only as <box>[x1,y1,x2,y2]</box> without spaces",
)

MMSTAR = Benchmark(
    name="mmstar",
    title="MMStar",
    layout=FileLayout(
        releases=(Release(file="MMStar.tsv", md5="e1ecd2140806c1b1bbf54b43372efb9e"),),
        hub="Lin-Chen/MMStar",
        columns=(*TWO_OPTIONS, "category"),
        from_hub=_question_with_options,
    ),
    size=1500,
    prompt=options_prompt,
    cluster=same_pictures,
    readings=(*OPTIONS, MCQ.with_aggregate(mean_of_groups("l2-category")), STRICT),
    aggregate=accuracy("category"),
    published_as=("MMStar",),
    trap="lmms-eval reports the mean over finer categories, VLMEvalKit the mean over questions",
)
