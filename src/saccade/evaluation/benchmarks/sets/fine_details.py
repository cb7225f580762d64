"""Benchmarks of small things in large pictures."""

from collections.abc import Mapping

from saccade.evaluation.benchmarks.aggregates import accuracy
from saccade.evaluation.benchmarks.benchmark import Benchmark, Layout, Release
from saccade.evaluation.benchmarks.clusters import same_pictures
from saccade.evaluation.benchmarks.hub_rows import lettered
from saccade.evaluation.benchmarks.prompts import options_prompt
from saccade.evaluation.benchmarks.rules.lmms_options import VSTAR
from saccade.evaluation.benchmarks.rules.strict import STRICT
from saccade.evaluation.benchmarks.rules.vlmevalkit_options import OPTIONS

_OPTIONS = ("index", "question", "answer", "A", "B")


def _vstar_from_hub(row: Mapping[str, object]) -> Mapping[str, object]:
    """``text`` holds question and options, ``label`` the letter."""
    return lettered(str(row["text"]), row, index=row.get("question_id"), answer=row["label"])


V_STAR = Benchmark(
    name="vstar",
    title="V* Bench",
    layout=Layout(
        releases=(Release(file="VStarBench.tsv", md5="b18854d7075574be06b631cd5f7d2d6a"),),
        hub="lmms-lab-encoder/vstar-bench",
        columns=_OPTIONS,
        from_hub=_vstar_from_hub,
    ),
    size=191,
    prompt=options_prompt,
    cluster=same_pictures,
    readings=(OPTIONS, VSTAR, STRICT),
    aggregate=accuracy("category"),
    published_as=("VStarBench", "V*"),
    trap="in the original file the right option is always the first: figures of unshuffled options are 5 points higher",
)
