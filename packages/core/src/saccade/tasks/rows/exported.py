"""Questions that Saccade exported for other programs, read back: their ground truth holds all that they ask."""

from collections.abc import Mapping

from saccade.tasks.rows.fields import Row, RowError, RowValue, mapping
from saccade.tasks.rows.layouts import ground_truth_in
from saccade.tasks.rows.messages import messages_of, with_parts_pictures
from saccade.tasks.rows.parts import RowParts, row_parts, with_pictures


def read_exported(row: Row) -> RowParts:
    """The question as it was exported; its instructions are another trainer's prompt, and left out."""
    gold = ground_truth_in(row)
    if gold is None:
        raise RowError("ground_truth", "is none of an exported question")
    extra = row.get("extra_info")
    asked = {"difficulty": row.get("difficulty"), **(extra if isinstance(extra, Mapping) else {})}
    key, row = with_pictures(row)
    if row.get("prompt") is not None:
        row = with_parts_pictures(row, messages_of(row.get("prompt"), "prompt"), key)
    regions = row.get("regions")
    source = str(row.get("data_source") or row.get("category") or "")
    read = {
        **{name: gold.get(name) for name in ("answer_kind", "tolerance", "choices", "min_iou", "metric")},
        "id": row.get("task", asked.get("task", row.get("id"))),
        "accepted": gold.get("accepted") or None,
        "family": source.removeprefix("saccade/") or None,
        "difficulty": asked["difficulty"],
        key: row.get(key),
        "boxes": [_region(one) for one in regions] if isinstance(regions, list) else None,
        "box_frame": "pixels",
    }
    return row_parts(read, str(gold["question"]), gold["answer"], "ground_truth")


def _region(value: RowValue) -> RowValue:
    fields = mapping(value, "regions")
    return {"label": fields.get("label"), "bbox": fields.get("box"), "image_index": fields.get("image")}
