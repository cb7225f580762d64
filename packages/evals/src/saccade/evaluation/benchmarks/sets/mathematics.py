"""Benchmarks of mathematics and of subjects taught at school and college."""

from collections.abc import Mapping

from saccade.evaluation.benchmarks.aggregates import accuracy
from saccade.evaluation.benchmarks.benchmark import LETTERS, Benchmark, FileLayout, Release
from saccade.evaluation.benchmarks.clusters import same_column, same_pictures
from saccade.evaluation.benchmarks.hub_rows import column_text, list_of, with_choices
from saccade.evaluation.benchmarks.prompts import options_prompt, question_prompt
from saccade.evaluation.benchmarks.rules.judged_verdicts import LMMS_MATHVERSE
from saccade.evaluation.benchmarks.rules.lmms_math import LMMS_MATHVISION, LMMS_MATHVISTA
from saccade.evaluation.benchmarks.rules.lmms_mmmu import LMMS_MMMU
from saccade.evaluation.benchmarks.rules.strict import STRICT
from saccade.evaluation.benchmarks.rules.vlmevalkit_math import MATHVERSE as MATHVERSE_JUDGED
from saccade.evaluation.benchmarks.rules.vlmevalkit_math import MATHVISION as MATHVISION_JUDGED
from saccade.evaluation.benchmarks.rules.vlmevalkit_math import MATHVISTA as MATHVISTA_JUDGED
from saccade.evaluation.benchmarks.rules.vlmevalkit_options import MMMU_OPTIONS, WEMATH_OPTIONS
from saccade.evaluation.benchmarks.sets.fine_details import TWO_OPTIONS
from saccade.evaluation.benchmarks.wemath import four_dimensions
from saccade.tasks.datasets.mathematics import picture_key
from saccade.tasks.rows.fields import Row


def _mmmu_from_hub(row: Row) -> Row:
    """``options`` is the text of a list, empty for an open question."""
    return with_choices(row, list_of(str(row["options"])), index=row["id"], split="validation")


def _is_validation(fields: Mapping[str, str]) -> bool:
    return fields.get("split", "validation") == "validation"


VISTA_GROUPS = ("task", "category", "context", "grade", "source", "language", "question_type", "answer_type")
"""MathVista's groups beside its skills; VLMEvalKit reports tasks and skills, lmms-eval all of them."""


def _with_letter(row: Row) -> Row:
    """MathVista's hub has the option's text; its letter stands in ``answer_option`` of VLMEvalKit's file."""
    choices = row.get("choices")
    listed = [str(one) for one in choices] if isinstance(choices, list) else []
    answer = column_text(row.get("answer"))
    letter = LETTERS[listed.index(answer)] if answer in listed else ""
    question = row.get("query") or row["question"]
    data = row.get("metadata")
    groups = {name: data[name] for name in (*VISTA_GROUPS, "skills") if name in data} if isinstance(data, dict) else {}
    return {
        **row,
        **groups,
        "image": row.get(picture_key(row)),
        "index": row["pid"],
        "question": question,
        "choices": listed,
        "answer_option": letter,
    }


def _vision_from_hub(row: Row) -> Row:
    image, choices = row.get(picture_key(row)), row.get("options")
    return {**row, "image": image, "index": row["id"], "choices": choices, "category": row.get("subject")}


WEMATH = Benchmark(
    name="wemath-testmini",
    title="We-Math testmini",
    layout=FileLayout(
        releases=(Release(file="WeMath.tsv", md5="b5e969a075f01290a542411fb7766388"),),
        columns=(*TWO_OPTIONS, "ID", "key"),
    ),
    size=1740,
    prompt=options_prompt,
    cluster=same_column("ID"),
    readings=(WEMATH_OPTIONS, STRICT),
    aggregate=four_dimensions,
    source="wemath",
    published_as=("WeMath",),
    trap="strict, loose and average are quoted without saying which; shares are of 525 problems whatever was asked",
)

MMMU = Benchmark(
    name="mmmu-val",
    title="MMMU validation",
    layout=FileLayout(
        releases=(Release(file="MMMU_DEV_VAL.tsv", md5="585e8ad75e73f75dcad265dfd0417d64"),),
        hub="lmms-lab-encoder/MMMU",
        columns=("index", "question", "answer", "A"),
        from_hub=_mmmu_from_hub,
        keep=_is_validation,
        split="validation",
    ),
    size=900,
    prompt=options_prompt,
    interleaves="numbered",
    takes_any=True,
    cluster=same_pictures,
    readings=(*MMMU_OPTIONS, *LMMS_MMMU, STRICT),
    aggregate=accuracy("category", "l2-category"),
    published_as=("MMMU_DEV_VAL",),
    trap="lmms-eval draws a letter where it reads none; VLMEvalKit gives open questions two options",
)

MMK12 = Benchmark(
    name="mmk12",
    title="MMK12 test",
    layout=FileLayout(hub="FanqingM/MMK12"),
    size=2000,
    prompt=question_prompt,
    cluster=same_pictures,
    readings=(STRICT,),
    aggregate=accuracy("subject"),
    headline="strict",
    published_as=("MMK12",),
    trap="neither harness has it, although iVGR's table says VLMEvalKit",
)

MATHVISION = Benchmark(
    name="mathvision-test",
    title="MATH-Vision",
    layout=FileLayout(
        releases=(Release(file="MathVision.tsv", md5="93f6de14f7916e598aa1b7165589831e"),),
        hub="MathLLMs/MathVision",
        from_hub=_vision_from_hub,
    ),
    size=3040,
    prompt=question_prompt,
    cluster=same_pictures,
    readings=(*MATHVISION_JUDGED, LMMS_MATHVISION, STRICT),
    aggregate=accuracy("category"),
    source="mathvision",
    published_as=("MathVision",),
    trap="VISTA trains on it; a judge extracts",
)

MATHVISTA = Benchmark(
    name="mathvista-testmini",
    title="MathVista testmini",
    layout=FileLayout(
        releases=(Release(file="MathVista_MINI.tsv", md5="f199b98e178e5a2a20e7048f5dcb0464"),),
        hub="AI4Math/MathVista",
        from_hub=_with_letter,
        split="testmini",
    ),
    size=1000,
    prompt=question_prompt,
    cluster=same_pictures,
    readings=(*MATHVISTA_JUDGED, LMMS_MATHVISTA, STRICT),
    aggregate=accuracy(*VISTA_GROUPS, listed="skills"),
    source="mathvista",
    published_as=("MathVista_MINI",),
    trap="the judge alone moves one model from 60.7 to 68; VLMEvalKit counts every answer that is a list as wrong",
)


def _mathverse(version: str, file: str, md5: str) -> Benchmark:
    return Benchmark(
        name=f"mathverse-{version.lower().replace(' ', '-')}",
        title=f"MathVerse mini, {version}",
        layout=FileLayout(releases=(Release(file=f"MathVerse_MINI{file}.tsv", md5=md5),)),
        size=788,
        prompt=question_prompt,
        cluster=same_column("problem_index"),
        readings=(MATHVERSE_JUDGED, LMMS_MATHVERSE, STRICT),
        aggregate=accuracy("problem_version"),
        published_as=("MathVerse_MINI",) if version == "Vision Only" else (),
        trap="five versions of each problem; which of them a table means is seldom stated",
    )


MATHVERSE = (
    _mathverse("Vision Only", "_Vision_Only", "68a11d4680014ac881fa37adeadea3a4"),
    _mathverse("Vision Dominant", "_Vision_Dominant", "b8fb63852d261ab2aaefba29cc2414d3"),
    _mathverse("Vision Intensive", "_Vision_Intensive", "01cbd35be202bb0c4873a4186a63bc19"),
    _mathverse("Text Lite", "_Text_Lite", "19e4b13bdd30b89a03b2e358bcfefa04"),
    _mathverse("Text Dominant", "_Text_Dominant", "4f5cd2fa6630ea00bb11d6fde1f6fe6a"),
)
