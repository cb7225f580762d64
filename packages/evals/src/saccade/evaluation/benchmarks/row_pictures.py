"""The pictures of a benchmark's row: inside a TSV, in columns of any layout, or frames of a video."""

from collections.abc import Mapping
from pathlib import Path

from saccade.evaluation.benchmarks.tsv import FileSpan, TsvRow
from saccade.media.decode import MediaError
from saccade.media.store import MediaStore
from saccade.tasks.rows.fields import Row, RowError, listed, literal, texts
from saccade.tasks.rows.images import ImageReader
from saccade.tasks.rows.videos import RowVideo, VideoReader
from saccade.types import ImageRef

Shown = tuple[tuple[ImageRef, ...], tuple[float, ...]]
"""Pictures, and the times of a video's frames in seconds."""


def pictures_inside(path: Path, row: TsvRow, spans: Mapping[str, tuple[FileSpan, ...]], media: MediaStore) -> Shown:
    shown = spans.get(row.same_as, ()) if row.same_as else row.spans
    if not shown:
        raise RowError("image", f"{row.same_as!r} is neither a picture nor the index of a row that has one")
    try:
        return tuple(media.add_base64_in(path, span.start, span.length) for span in shown), ()
    except MediaError as error:
        raise RowError("image", str(error)) from error


def pictures_in(columns: Row, images: ImageReader, place: str) -> Shown:
    """Under ``image``, ``images``, ``image_1``, ...: bytes, objects with them, base64, paths, or a list as text."""
    found: list[ImageRef] = []
    for name in filter(holds_pictures, columns):
        value = columns[name]
        is_text_of_list = isinstance(value, str) and value.startswith("[")
        held = texts(literal(value, name), name) if is_text_of_list else listed(value, name)
        found += [images.read(one, name, place) for one in held if isinstance(one, bytes | str | dict)]
    return tuple(found), ()


def frames_of(video: RowVideo, videos: VideoReader, place: str) -> Shown:
    read = videos.read(video, place)
    return read.images, read.times_s


def holds_pictures(name: str) -> bool:
    return name in ("image", "images") or name.startswith("image_")
