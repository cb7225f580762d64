"""Benchmarks of clicks on screens: ScreenSpot-v2 and ScreenSpot-Pro, from their own files."""

from collections.abc import Sequence
from pathlib import Path

from saccade.evaluation.benchmarks.aggregates import accuracy
from saccade.evaluation.benchmarks.benchmark import Benchmark, FileLayout, Reading
from saccade.evaluation.benchmarks.clusters import same_pictures
from saccade.evaluation.benchmarks.prompts import click_prompt
from saccade.evaluation.benchmarks.release_files import ReleaseRow, release_rows
from saccade.evaluation.benchmarks.rules.clicks import SCREENSPOT_PRO as PRO_RULES
from saccade.evaluation.benchmarks.rules.clicks import SCREENSPOT_V2 as V2_RULES
from saccade.tasks.rows.fields import Row, RowError, RowValue, as_number, listed, required_text


def _click_columns(row: Row, corners: Sequence[float]) -> dict[str, RowValue]:
    """A question for the place of a click; its answer is the centre of the element, in pixels."""
    x1, y1, x2, y2 = corners
    instruction = required_text(row, "instruction")
    return {
        "instruction": instruction,
        "question": f"Where must one click to do this: {instruction}? Answer with one point [x, y], each from 0 "
        "to 1: shares of the picture's width and height.",
        "answer": f"x={(x1 + x2) / 2:g}, y={(y1 + y2) / 2:g}",
        "bbox": list(corners),
        "targets": [list(corners)],
    }


def _corners(row: Row) -> list[float]:
    numbers = [as_number(one) for one in listed(row["bbox"], "bbox")]
    known = [one for one in numbers if one is not None]
    if len(numbers) != 4 or len(known) != 4:
        raise RowError("bbox", "must be four numbers")
    return known


def _v2_row(row: Row, path: Path, number: int) -> dict[str, RowValue]:
    """``screenspot_{desktop,mobile,web}_v2.json``: left, top, width and height."""
    x, y, width, height = _corners(row)
    platform = path.stem.split("_")[1]
    return {
        **_click_columns(row, (x, y, x + width, y + height)),
        "index": f"{platform}-{number}",
        "category": f"{platform}, {required_text(row, 'data_type')}",
        "image_path": f"screenspotv2_image/{required_text(row, 'img_filename')}",
    }


def _pro_row(row: Row, path: Path, number: int) -> dict[str, RowValue]:
    """``annotations/*.json``: left, top, right and bottom."""
    return {
        **_click_columns(row, _corners(row)),
        "index": row["id"],
        "category": row["ui_type"],
        "l2-category": row["group"],
        "image_path": f"images/{required_text(row, 'img_filename')}",
    }


def _screenspot(
    version: str, title: str, origin: str, rows: tuple[str, ReleaseRow], size: int, readings: tuple[Reading, ...]
) -> Benchmark:
    return Benchmark(
        name=f"screenspot-{version}",
        title=title,
        layout=FileLayout(folder=title, release_rows=release_rows(*rows), origin=origin),
        size=size,
        prompt=click_prompt,
        cluster=same_pictures,
        readings=readings,
        aggregate=accuracy("category", "l2-category"),
        headline="lmms-eval",
        published_as=(title,),
        trap="numbers above 1 are pixels of the published picture: pixels of a smaller view are wrong",
    )


SCREENSPOT_V2 = _screenspot(
    "v2",
    "ScreenSpot-v2",
    "huggingface.co/datasets/OS-Copilot/ScreenSpot-v2 (its card is empty)",
    ("screenspot_*_v2.json", _v2_row),
    1272,
    V2_RULES,
)
SCREENSPOT_PRO = _screenspot(
    "pro",
    "ScreenSpot-Pro",
    "huggingface.co/datasets/likaixin/ScreenSpot-Pro (see its card for the licence)",
    ("annotations/*.json", _pro_row),
    1581,
    PRO_RULES,
)
