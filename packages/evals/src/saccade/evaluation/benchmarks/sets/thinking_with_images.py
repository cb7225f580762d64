"""Benchmarks of models that look again with tools: VisualProbe, TIR-Bench, O3-Bench, Agentic-MME, from their files."""

from functools import partial
from pathlib import Path

from saccade.evaluation.benchmarks.aggregates import accuracy
from saccade.evaluation.benchmarks.benchmark import LETTERS, Benchmark, FileLayout
from saccade.evaluation.benchmarks.clusters import same_pictures
from saccade.evaluation.benchmarks.hub_rows import lettered_row
from saccade.evaluation.benchmarks.prompts import lettered_prompt, question_prompt
from saccade.evaluation.benchmarks.release_files import release_rows, shipped_picture
from saccade.evaluation.benchmarks.rules.free_text import AGENTIC_MME as AGENTIC_RULE
from saccade.evaluation.benchmarks.rules.judged_answers import O3_BENCH as O3_RULE
from saccade.evaluation.benchmarks.rules.judged_answers import VISUAL_PROBE
from saccade.evaluation.benchmarks.rules.strict import STRICT
from saccade.evaluation.benchmarks.rules.tir_bench import TIR_BENCH as TIR_RULE
from saccade.tasks.rows.fields import Row, RowValue, listed, mapping, required_text


def _visual_probe_row(row: Row, path: Path, number: int, *, source: str) -> dict[str, RowValue] | None:
    """Mini-o3's ``val.json``; picture paths begin with the name of the release's folder."""
    if row.get("data_source", source) != source:
        return None
    folder = path.parent.name
    return {
        "index": row["doc_id"],
        "question": str(row["problem"]).replace("<image>", "").strip(),
        "answer": row["solution"],
        "image_path": [str(one).removeprefix(f"{folder}/") for one in listed(row["images"], "images")],
    }


def _tir_row(row: Row, path: Path, number: int) -> dict[str, RowValue]:
    pictures = [row.get(name) for name in ("image_1", "image_2")]
    meta = row.get("meta_data") or row.get("metadata")
    return {
        "index": row["id"],
        "question": row["prompt"],
        "answer": row["answer"],
        "category": row["task"],
        "image_1": row["image_1"],
        "image_path": [one for one in pictures if one],
        "difficulty": meta.get("difficulty") if isinstance(meta, dict) else None,
    }


def _o3_row(row: Row, path: Path, number: int) -> dict[str, RowValue]:
    """``target_layouts`` are the numbers of the regions of ``layout_infos`` that the answer depends on."""
    regions = mapping(row.get("layout_infos") or {}, "layout_infos")
    wanted = [mapping(regions[str(one)], "layout_infos") for one in listed(row.get("target_layouts"), "target_layouts")]
    columns = lettered_row(
        f"{required_text(row, 'question')}\n{required_text(row, 'options')}",
        {"answer": row["answer"]},
        index=str(number),
        category=row["subset"],
        image_path=f"test/{required_text(row, 'file_name')}",
        targets=[one["bbox"] for one in wanted],
    )
    lines = required_text(row, "options").splitlines()
    if row["answer"] in columns and sum(letter in columns for letter in LETTERS) == len(lines):
        return columns
    # Options that are not marked alike, one a line, stay words of the question.
    return {**columns, **dict.fromkeys(LETTERS), "question": f"{row['question']!s}\n{row['options']!s}"}


def _agentic_row(row: Row, path: Path, number: int) -> dict[str, RowValue]:
    asked, gold = mapping(row["input"], "input"), mapping(row["golden_answer"], "golden_answer")
    meta = mapping(row.get("meta") or {}, "meta")
    return {
        "index": row["task_id"],
        "question": asked["prompt"],
        "answer": gold["value"],
        "image_path": [shipped_picture(path.parents[1], str(one)) for one in listed(asked["image"], "image")],
        "category": meta.get("level"),
        "l2-category": meta.get("domain"),
        "match_type": gold.get("match_type"),
        "tolerance": gold.get("tolerance"),
        "recording": row["task_id"],
    }


def _visual_probe(level: str, size: int) -> Benchmark:
    name = f"VisualProbe_{level}"
    return Benchmark(
        name=f"visualprobe-{level.lower()}",
        title=f"VisualProbe {level.lower()}",
        layout=FileLayout(
            folder=name,
            release_rows=release_rows("val.json", partial(_visual_probe_row, source=f"visual_probe_{level.lower()}")),
            origin=f"huggingface.co/datasets/Mini-o3/{name} (its page names no licence)",
        ),
        size=size,
        prompt=question_prompt,
        cluster=same_pictures,
        readings=(VISUAL_PROBE, STRICT),
        aggregate=accuracy(),
        headline="official",
        published_as=(f"VisualProbe {level.lower()}",),
        trap="GPT-4o grades every answer, and published figures are the mean of 32 samples: use --samples 32",
    )


VISUAL_PROBE_EASY = _visual_probe("Easy", 141)
VISUAL_PROBE_MEDIUM = _visual_probe("Medium", 268)
VISUAL_PROBE_HARD = _visual_probe("Hard", 106)

TIR_BENCH = Benchmark(
    name="tir-bench",
    title="TIR-Bench",
    layout=FileLayout(
        folder="TIR-Bench",
        release_rows=release_rows("TIR-Bench.json", _tir_row),
        origin="huggingface.co/datasets/Agents-X/TIR-Bench (Apache-2.0)",
    ),
    size=1215,
    prompt=question_prompt,
    cluster=same_pictures,
    readings=(TIR_RULE, STRICT),
    aggregate=accuracy("category"),
    headline="official",
    published_as=("TIR-Bench",),
    trap="GPT-4.1 takes the answer out of the reply; an empty one is A",
)

O3_BENCH = Benchmark(
    name="o3-bench",
    title="O3-Bench",
    layout=FileLayout(
        folder="O3-Bench",
        release_rows=release_rows("test/metadata.jsonl", _o3_row),
        origin="huggingface.co/datasets/m-Just/O3-Bench (see its card for the licence)",
    ),
    size=0,
    prompt=lettered_prompt,
    cluster=same_pictures,
    readings=(O3_RULE, STRICT),
    aggregate=accuracy("category"),
    headline="official",
    published_as=("O3-Bench",),
    trap="servers show its pictures, 6,000 pixels wide and more, in different sizes: GPT at 1280 x 1280",
)

AGENTIC_MME = Benchmark(
    name="agentic-mme",
    title="Agentic-MME",
    layout=FileLayout(
        folder="Agentic-MME",
        release_rows=release_rows("json/*.json", _agentic_row),
        origin="huggingface.co/datasets/Crystal1047/Agentic-MME (see its card for the licence)",
    ),
    size=418,
    prompt=question_prompt,
    cluster=same_pictures,
    readings=(AGENTIC_RULE, STRICT),
    aggregate=accuracy("category", "l2-category"),
    headline="official",
    published_as=("Agentic-MME",),
    trap="final answers alone: 29 % of the questions need a web search, and its checkpoints are not judged",
)
