"""Every benchmark by name."""

from collections.abc import Mapping
from types import MappingProxyType

from saccade.errors import UserError
from saccade.evaluation.benchmarks.benchmark import Benchmark
from saccade.evaluation.benchmarks.sets.charts_and_diagrams import AI2D, AI2D_NO_MASK, CHARTQA, CHARXIV
from saccade.evaluation.benchmarks.sets.data_sets import DATA_SET_BENCHMARKS
from saccade.evaluation.benchmarks.sets.documents import MMLONGBENCH_DOC, SLIDEVQA
from saccade.evaluation.benchmarks.sets.fine_details import (
    CV_BENCH_2D,
    CV_BENCH_3D,
    HRBENCH_4K,
    HRBENCH_8K,
    MME_REALWORLD,
    MME_REALWORLD_CN,
    MME_REALWORLD_LITE,
    MMSTAR,
    REALWORLDQA,
    TREEBENCH,
)
from saccade.evaluation.benchmarks.sets.mathematics import MATHVERSE, MATHVISION, MATHVISTA, MMK12, MMMU, WEMATH
from saccade.evaluation.benchmarks.sets.pairs import COUNTERCURATE, SUGARCREPE
from saccade.evaluation.benchmarks.sets.perception import (
    BABY_VISION,
    ERQA,
    VISULOGIC,
    VLMS_ARE_BLIND,
    ZERO_BENCH,
    ZERO_BENCH_SUB,
)
from saccade.evaluation.benchmarks.sets.screens import SCREENSPOT_PRO, SCREENSPOT_V2
from saccade.evaluation.benchmarks.sets.searching import MMSEARCH, MMSEARCH_STEPS
from saccade.evaluation.benchmarks.sets.several_pictures import BLINK, COUNTBENCH, MINDCUBE_TINY, PIXMO_COUNT
from saccade.evaluation.benchmarks.sets.thinking_with_images import (
    AGENTIC_MME,
    O3_BENCH,
    TIR_BENCH,
    VISUAL_PROBE_EASY,
    VISUAL_PROBE_HARD,
    VISUAL_PROBE_MEDIUM,
)
from saccade.evaluation.benchmarks.sets.v_star import V_STAR
from saccade.evaluation.benchmarks.sets.videos import VIDEO_MME_V2, VIDEO_MME_V2_SUBTITLES
from saccade.evaluation.benchmarks.sets.yes_or_no import HALLUSIONBENCH, POPE

BENCHMARKS: Mapping[str, Benchmark] = MappingProxyType(
    {
        one.name: one
        for one in (
            V_STAR,
            HRBENCH_4K,
            HRBENCH_8K,
            MME_REALWORLD_LITE,
            MME_REALWORLD,
            MME_REALWORLD_CN,
            POPE,
            REALWORLDQA,
            CV_BENCH_2D,
            CV_BENCH_3D,
            CHARTQA,
            AI2D,
            AI2D_NO_MASK,
            WEMATH,
            MMSTAR,
            MMMU,
            MMK12,
            TREEBENCH,
            COUNTBENCH,
            PIXMO_COUNT,
            MATHVISION,
            MATHVISTA,
            *MATHVERSE,
            CHARXIV,
            BLINK,
            MINDCUBE_TINY,
            HALLUSIONBENCH,
            SUGARCREPE,
            COUNTERCURATE,
            SLIDEVQA,
            MMLONGBENCH_DOC,
            VISUAL_PROBE_HARD,
            VISUAL_PROBE_MEDIUM,
            VISUAL_PROBE_EASY,
            TIR_BENCH,
            O3_BENCH,
            AGENTIC_MME,
            VLMS_ARE_BLIND,
            ZERO_BENCH,
            ZERO_BENCH_SUB,
            VISULOGIC,
            BABY_VISION,
            ERQA,
            SCREENSPOT_V2,
            SCREENSPOT_PRO,
            MMSEARCH,
            *MMSEARCH_STEPS,
            VIDEO_MME_V2,
            VIDEO_MME_V2_SUBTITLES,
            *DATA_SET_BENCHMARKS,
        )
    }
)


def benchmark_named(name: str) -> Benchmark:
    """The benchmark of this name; ``UserError`` that lists the names where there is none."""
    if name not in BENCHMARKS:
        raise UserError(f"there is no benchmark {name!r}; choose one of {', '.join(BENCHMARKS)}")
    return BENCHMARKS[name]
