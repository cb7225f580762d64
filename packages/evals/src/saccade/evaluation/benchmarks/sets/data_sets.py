"""The data sets that ``saccade.tasks.datasets`` reads, as benchmarks: a strict metric, and a harness's where known."""

from saccade.evaluation.benchmarks.aggregates import accuracy, vqa_accuracy
from saccade.evaluation.benchmarks.benchmark import Benchmark, FileLayout, Reading
from saccade.evaluation.benchmarks.clusters import same_document
from saccade.evaluation.benchmarks.prompts import question_prompt
from saccade.evaluation.benchmarks.rules.free_text import (
    LMMS_ANLS,
    LMMS_RELAXED,
    VLMEVALKIT_ANLS,
    VLMEVALKIT_RELAXED,
)
from saccade.evaluation.benchmarks.rules.lmms_math import LMMS_GEOMETRY3K
from saccade.evaluation.benchmarks.rules.soft_accuracy import LMMS_SOFT, SOFT, SOFT_OF_ALL, VLMEVALKIT_SOFT
from saccade.evaluation.benchmarks.rules.strict import STRICT
from saccade.tasks.datasets.table import DATA_SETS

_HARNESS_READINGS: dict[str, tuple[Reading, ...]] = {
    "chartqa": (VLMEVALKIT_RELAXED, LMMS_RELAXED),
    "plotqa": (VLMEVALKIT_RELAXED,),
    "docvqa": (VLMEVALKIT_ANLS, LMMS_ANLS),
    "infographicvqa": (VLMEVALKIT_ANLS, LMMS_ANLS),
    "stvqa": (LMMS_ANLS,),
    "iconqa": (LMMS_ANLS,),
    "geometry3k": (LMMS_GEOMETRY3K,),
    "textvqa": (VLMEVALKIT_SOFT, LMMS_SOFT),
    "vizwiz": (VLMEVALKIT_SOFT, LMMS_SOFT),
    "okvqa": (LMMS_SOFT,),
}
_STRICT = {"textvqa": SOFT, "vizwiz": SOFT, "okvqa": SOFT, "aokvqa-direct": SOFT_OF_ALL}
_ANY_OF_SEVERAL = (*_STRICT, "docvqa", "infographicvqa", "stvqa")
_TRAPS = dict.fromkeys(_STRICT, "the figure is VQA accuracy: what one of ten people says is worth 0.3, not 0 or 1") | {
    "aokvqa-direct": "as the set's own script counts no annotator is left out: what one of ten says is worth 0.33"
}
_PUBLISHED_AS = {"vidoseek": ("ViDoSeek",), "slidevqa": ("SLIDEVQA",), "mmlongbench-doc": ("MMLongBench_DOC",)}
_EVALUATED_ON = {
    "validation": ("docvqa", "infographicvqa", "vizwiz", "textvqa", "dvqa", "aokvqa", "aokvqa-direct", "okvqa")
}
_TRAIN_ALONE = ("figureqa", "mathv360k", "thinkvl", "arxivqa", "stvqa", "clevr")


def _split(name: str) -> str:
    if name in _TRAIN_ALONE:
        return "validation" if name in ("figureqa", "clevr") else "train"
    return next((split for split, names in _EVALUATED_ON.items() if name in names), "test")


def _benchmark(name: str) -> Benchmark:
    data_set = DATA_SETS[name]
    return Benchmark(
        name=name,
        title=data_set.title,
        layout=FileLayout(data_set=name, split=_split(name)),
        size=0,
        prompt=question_prompt,
        cluster=same_document,
        readings=(*_HARNESS_READINGS.get(name, ()), _STRICT.get(name, STRICT)),
        aggregate=vqa_accuracy if name in _STRICT else accuracy(),
        headline="strict",
        source=name,
        takes_any=name in _ANY_OF_SEVERAL,
        trap=_TRAPS.get(name, ""),
        published_as=_PUBLISHED_AS.get(name, ()),
    )


DATA_SET_BENCHMARKS = tuple(_benchmark(name) for name in DATA_SETS)
"""One for each set, on the split that it is measured on, or on its only one."""
