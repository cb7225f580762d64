"""Parquet files whose columns Hugging Face's ``datasets`` reads with their features, pictures as ``Image``."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from saccade.atomic import disk_errors
from saccade.types import Json

ROWS_IN_GROUP = 64
"""Rows of a row group: pictures are large, and readers take a group at a time."""

IMAGES = "images"
_IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def write_table(
    columns: Mapping[str, Sequence[object] | pa.Array], pictures: Sequence[Sequence[bytes]], path: Path
) -> None:
    """Writes the columns and, last, ``images``: for each row its pictures as PNG.

    The list is called ``Sequence`` in the features, which every version of ``datasets`` reads.
    """
    stored = [[{"bytes": picture, "path": None} for picture in row] for row in pictures]
    arrays = {name: values if isinstance(values, pa.Array) else pa.array(values) for name, values in columns.items()}
    table = pa.table({**arrays, IMAGES: pa.array(stored, pa.list_(_IMAGE))})
    features = {field.name: _feature(field.type) for field in table.schema if field.name != IMAGES}
    features[IMAGES] = {"feature": {"_type": "Image"}, "length": -1, "_type": "Sequence"}
    described = json.dumps({"info": {"features": features}})
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table.replace_schema_metadata({"huggingface": described}), path, row_group_size=ROWS_IN_GROUP)


def _feature(kind: pa.DataType) -> Json:
    """The feature of ``datasets`` for a type of Arrow."""
    if pa.types.is_struct(kind):
        return {field.name: _feature(field.type) for field in kind}
    if pa.types.is_list(kind):
        # A list of structs as the list of one feature: ``Sequence`` would turn it into a struct of lists.
        inner = _feature(kind.value_type)
        return [inner] if pa.types.is_struct(kind.value_type) else {"feature": inner, "length": -1, "_type": "Sequence"}
    return {"dtype": {"double": "float64"}.get(str(kind), str(kind)), "_type": "Value"}
