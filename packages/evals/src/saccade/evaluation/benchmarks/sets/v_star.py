"""V*: small things in large pictures, with the regions that its original files name."""

from pathlib import Path

from saccade.evaluation.benchmarks.aggregates import accuracy
from saccade.evaluation.benchmarks.benchmark import Benchmark, FileLayout, Release
from saccade.evaluation.benchmarks.clusters import same_pictures
from saccade.evaluation.benchmarks.hub_rows import lettered_row, with_choices
from saccade.evaluation.benchmarks.prompts import options_prompt
from saccade.evaluation.benchmarks.release_files import release_rows, shipped_picture
from saccade.evaluation.benchmarks.rules.lmms_options import VSTAR
from saccade.evaluation.benchmarks.rules.strict import STRICT
from saccade.evaluation.benchmarks.rules.vlmevalkit_options import OPTIONS
from saccade.evaluation.benchmarks.sets.fine_details import TWO_OPTIONS
from saccade.tasks.rows.fields import Row, RowError, RowValue, as_number, listed


def _vstar_from_hub(row: Row) -> Row:
    """``text`` holds question and options, ``label`` the letter."""
    return lettered_row(str(row["text"]), row, index=row.get("question_id"), answer=row["label"])


def _vstar_row(row: Row, path: Path, number: int) -> dict[str, RowValue]:
    """Of the original release, a file beside each picture: the first option is right, boxes are x, y, width, height."""
    name = f"{path.parent.name}/{path.stem}"
    boxes = [[as_number(side) or 0.0 for side in listed(box, "bbox")] for box in listed(row["bbox"], "bbox")]
    if any(len(box) != 4 for box in boxes):
        raise RowError("bbox", "must be a list of boxes of four numbers")
    columns = with_choices({}, row["options"], index=name, question=row["question"], answer="A")
    targets: RowValue = [[x, y, x + width, y + height] for x, y, width, height in boxes]
    picture = shipped_picture(path.parents[1], f"{name}.jpg")
    return {**columns, "category": path.parent.name, "targets": targets, "image_path": picture}


V_STAR = Benchmark(
    name="vstar",
    title="V* Bench",
    layout=FileLayout(
        releases=(Release(file="VStarBench.tsv", md5="b18854d7075574be06b631cd5f7d2d6a"),),
        hub="lmms-lab-encoder/vstar-bench",
        columns=TWO_OPTIONS,
        from_hub=_vstar_from_hub,
        folder="vstar_bench",
        release_rows=release_rows("*/*.json", _vstar_row),
        origin="huggingface.co/datasets/craigwu/vstar_bench (see its card for the licence)",
    ),
    size=191,
    prompt=options_prompt,
    cluster=same_pictures,
    readings=(*OPTIONS, VSTAR, STRICT),
    aggregate=accuracy("category"),
    published_as=("VStarBench", "V*"),
    trap="in the original file the right option is always the first: figures of unshuffled options are 5 points higher",
)
