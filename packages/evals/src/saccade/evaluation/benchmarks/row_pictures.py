"""The pictures of a benchmark's row: inside a TSV, in columns of any layout, or frames of a video."""

import io
from collections.abc import Mapping
from pathlib import Path

from PIL import Image

from saccade.evaluation.benchmarks.tsv import FileSpan, TsvRow
from saccade.media.decode import MediaError
from saccade.media.store import MediaStore
from saccade.media.video import FrameSampling, video_frames
from saccade.tasks.rows.fields import Row, RowError, listed, literal, texts
from saccade.tasks.rows.images import ImageReader
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


class FrameReader:
    """Takes ``count`` frames of each video, once for all questions about it.

    They are kept as JPEG, as Video-MME-v2's own script keeps them: as PNG those of a whole release would not fit into
    memory.
    """

    def __init__(self, images: ImageReader, media: MediaStore, count: int) -> None:
        self._images = images
        self._media = media
        self._sampling = FrameSampling(max_frames=count, leaves_ends=True)
        self._known: dict[Path, Shown] = {}

    def read(self, text: str) -> Shown:
        """The frames of the video at this path of a row; ``RowError`` where it cannot be read."""
        path = self._images.path_of(text, "video_path")
        if path not in self._known:
            try:
                taken = [(self._kept(one.image), one.time_s) for one in video_frames(path, str(path), self._sampling)]
            except MediaError as error:
                raise RowError("video_path", str(error)) from error
            self._known[path] = tuple(image for image, _ in taken), tuple(time_s for _, time_s in taken)
        return self._known[path]

    def _kept(self, frame: Image.Image) -> ImageRef:
        file = io.BytesIO()
        frame.save(file, "JPEG")
        return self._media.add_encoded(file.getvalue(), "a frame of a video")


def holds_pictures(name: str) -> bool:
    return name in ("image", "images") or name.startswith("image_")
