"""Benchmarks of videos: Video-MME-v2, from its parquet file beside its unpacked archives."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from saccade.errors import UserError
from saccade.evaluation.benchmarks.benchmark import Benchmark, FileLayout, Reading
from saccade.evaluation.benchmarks.clusters import same_column
from saccade.evaluation.benchmarks.hub_rows import lettered_row
from saccade.evaluation.benchmarks.prompts import video_prompt
from saccade.evaluation.benchmarks.release_files import release_rows
from saccade.evaluation.benchmarks.rules.strict import STRICT
from saccade.evaluation.benchmarks.rules.video_options import first_of_eight, lmms_eight
from saccade.evaluation.benchmarks.video_groups import CHAINS, KINDS, video_groups, video_groups_as_published
from saccade.tasks.rows.fields import Row, RowError, RowValue, required_text
from saccade.tasks.rows.text_files import open_text_rows


def _video_mme_rows(folder: Path, *, is_subtitled: bool = False) -> Iterator[Mapping[str, str]]:
    """The archives of videos and subtitles may be unpacked anywhere below the folder."""
    found = {path.name: path for ending in ("mp4", "jsonl") for path in sorted(folder.rglob(f"*.{ending}"))}
    yield from release_rows("test*.parquet", partial(_video_mme_row, found=found, is_subtitled=is_subtitled))(folder)


def _video_mme_row(
    row: Row, path: Path, number: int, *, found: Mapping[str, Path], is_subtitled: bool
) -> dict[str, RowValue]:
    name = required_text(row, "video_id").zfill(3)
    for file in (f"{name}.mp4", *[f"{name}.jsonl"] * is_subtitled):
        if file not in found:
            raise RowError("video_id", f"{file} is nowhere in {path.parent}; unpack the release's archives there")
    kind, structure = required_text(row, "group_type"), str(row.get("group_structure"))
    if kind not in KINDS or (kind == "logic" and structure not in CHAINS):
        raise RowError("group_type", f"{kind!r} of structure {structure!r} is no group that the release's score knows")
    options = row["options"]
    text = "\n".join(map(str, options)) if isinstance(options, list) else required_text(row, "options")
    question = required_text(row, "question")
    subtitles = _words(found[f"{name}.jsonl"]) if is_subtitled else None
    return {
        **lettered_row(text, {"answer": row["answer"]}),
        "index": row["question_id"],
        "question": question if subtitles is None else f"Subtitles: {subtitles}\n\n{question}",
        "asked": question,
        "subtitles": subtitles,
        "video": name,
        "video_path": str(found[f"{name}.mp4"].relative_to(path.parent)),
        "place": number,
        "group_type": kind,
        "group_structure": structure,
        **{key: row.get(key) for key in ("level", "second_head", "third_head")},
    }


def _words(path: Path) -> str:
    """The words of a subtitle file: lines of ``{"text": ..., "start_time": ..., "end_time": ...}``."""
    rows = [one.row for one in open_text_rows(path)]
    if any(isinstance(row, RowError) or "text" not in row for row in rows):
        raise UserError(f"{path}: every line must be an object with the key text")
    return " ".join(str(row["text"]) for row in rows if not isinstance(row, RowError))


VIDEO_MME_V2 = Benchmark(
    name="video-mme-v2",
    title="Video-MME-v2",
    layout=FileLayout(
        folder="Video-MME-v2",
        release_rows=_video_mme_rows,
        frames=64,
        origin="huggingface.co/datasets/MME-Benchmarks/Video-MME-v2 (MIT by its card, academic research alone by its "
        "repository)",
    ),
    size=3200,
    prompt=video_prompt,
    cluster=same_column("video"),
    readings=(
        Reading(name="official", rule=first_of_eight, aggregate=video_groups_as_published),
        Reading(
            name="vlmevalkit",
            rule=first_of_eight,
            differs="its judge, which sees no options, is never asked of a reply without a capital A to H",
        ),
        Reading(name="lmms-eval", rule=lmms_eight),
        STRICT,
    ),
    aggregate=video_groups,
    published_as=("Video-MME-v2",),
    trap="the figure is a score of groups of four questions, far below the accuracy; its own script counts an empty "
    "reply as right in a chain of questions",
)
VIDEO_MME_V2_SUBTITLES = replace(
    VIDEO_MME_V2,
    name="video-mme-v2-subtitles",
    title="Video-MME-v2 with subtitles",
    layout=replace(VIDEO_MME_V2.layout, release_rows=partial(_video_mme_rows, is_subtitled=True)),
    published_as=("Video-MME-v2 with subtitles",),
)
