"""Opening a benchmark: its file found, told by hash, and its rows made into tasks, or what file to put where."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from saccade.errors import UserError
from saccade.evaluation.benchmarks.benchmark import Benchmark, BenchmarkRow, FileLayout, OpenedBenchmark
from saccade.evaluation.benchmarks.release_files import NamedRow
from saccade.evaluation.benchmarks.row_pictures import FrameReader, Shown, holds_pictures, pictures_in, pictures_inside
from saccade.evaluation.benchmarks.rows import row_of
from saccade.evaluation.benchmarks.table import benchmark_named
from saccade.evaluation.benchmarks.tsv import FileSpan, TsvFile, TsvRow
from saccade.media.store import MediaStore
from saccade.plain_files import open_plain
from saccade.tasks.datasets.reading import read_data_set
from saccade.tasks.rows.fields import Row, RowError
from saccade.tasks.rows.images import ImageReader
from saccade.tasks.rows.tables import parquet_rows
from saccade.tasks.sources import is_from_hub

NO_IMAGE = "no image"
NOT_ASKED = "of another split"


@dataclass(frozen=True, kw_only=True, slots=True)
class Readiness:
    """Whether a benchmark's file is there, and if not which file to put where."""

    benchmark: Benchmark
    file: Path | None
    wanted: str

    @property
    def is_ready(self) -> bool:
        return self.file is not None


@dataclass(frozen=True, slots=True)
class _FileRow:
    """A row of any layout in the TSV's columns."""

    place: str
    fields: Mapping[str, str]
    pictures: Callable[[], Shown] | None
    """Reads them, with ``RowError``, and the times of a video's frames; None where the row has none."""


def find_benchmark(benchmark: Benchmark, where: Path) -> Readiness:
    """Looks for the benchmark in a file or a folder: a TSV by its name, or a folder of parquet files by its own."""
    layout = benchmark.layout
    if layout.data_set:
        found = [place for place in ([where / layout.data_set] if where.is_dir() else [where]) if place.exists()]
        wanted = f"the release of {benchmark.title} in {where / layout.data_set}/ (docs/datasets.md lists its files)"
        return Readiness(benchmark=benchmark, file=next(iter(found), None), wanted=wanted)
    files = [where / release.file for release in layout.releases]
    own = [f"the release of {benchmark.title} in {where / layout.folder}/ (docs/benchmarks.md lists its files)"]
    hub = [f"the parquet files of {layout.hub} in {where}/"]
    wanted = " or ".join([*map(str, files[:1]), *hub * bool(layout.hub), *own * bool(layout.folder)])
    wanted += f", from {layout.origin}" * bool(layout.origin)
    names = dict.fromkeys((layout.hub.rpartition("/")[2], layout.hub, benchmark.name))
    folders = [where / name for name in names if name and _split_files(layout, where / name)]
    own_folders = [where / layout.folder, *[where] * (where.name == layout.folder)] if layout.folder else []
    releases = [place for place in own_folders if _has_release(benchmark, place)]
    there = [where] if where.is_file() else [*filter(Path.is_file, files), *folders, *releases]
    return Readiness(benchmark=benchmark, file=next(iter(there), None), wanted=wanted)


def benchmark_file(benchmark: Benchmark, where: Path) -> Path:
    """The file or folder that holds the benchmark; ``UserError`` says what to put where when there is none."""
    found = find_benchmark(benchmark, where)
    if found.file is None:
        raise UserError(f"{benchmark.title} is not there; put {found.wanted}")
    return found.file


def open_benchmark(
    name: str | Benchmark,
    where: Path,
    *,
    media: MediaStore,
    take: int | None = None,
    frames: int | None = None,
    known_files_only: bool = False,
) -> OpenedBenchmark:
    """The rows of a benchmark in their order, from its file, or from a folder that holds it; ``take`` the first ones.

    Of a video so many ``frames`` are taken, as many as the release takes where nothing is said.

    Pictures are decoded once, for their size and hash, and read again from the file when they are shown.
    ``UserError`` says which file is missing, or names line and column of what is wrong in it; with
    ``known_files_only`` also where the file is not one whose hash is published.
    """
    benchmark = benchmark_named(name) if isinstance(name, str) else name
    file = benchmark_file(benchmark, where)
    if benchmark.layout.data_set:
        return _from_data_set(benchmark, file, media, take)
    if file.is_file() and file.suffix != ".parquet":
        tsv = TsvFile(file)
        opened = _open_rows(benchmark, file, _tsv_rows(benchmark, tsv, media), take, lambda: tsv.md5)
        if known_files_only and opened.release is None:
            raise UserError(f"{file}: {opened.describe()}")
        return opened
    is_hubs = bool(benchmark.layout.hub) and (file.is_file() or bool(_split_files(benchmark.layout, file)))
    if benchmark.layout.release_rows and not is_hubs:
        return _open_rows(benchmark, file, _release_rows(benchmark, file, media, frames), take)
    files = _split_files(benchmark.layout, file) if file.is_dir() else [file]
    rows = _parquet_rows(benchmark, files, _images(file, media))
    return _open_rows(benchmark, file, rows, take, lambda: _md5(files[0]) if len(files) == 1 else "")


def _open_rows(
    benchmark: Benchmark,
    file: Path,
    found: Iterable[_FileRow],
    take: int | None,
    md5: Callable[[], str] = str,
) -> OpenedBenchmark:
    """The rows that are asked, the first ``take`` of them; ``md5`` is that of the file once they were read."""
    rows: list[BenchmarkRow] = []
    left_out: Counter[str] = Counter()
    for one in found:
        keep = benchmark.layout.keep
        if keep and not keep(one.fields):
            left_out[NOT_ASKED] += 1
        elif one.pictures is None:
            left_out[NO_IMAGE] += 1
        else:
            try:
                rows.append(row_of(benchmark, one.fields, *one.pictures()))
            except RowError as error:
                raise UserError(f"{one.place}, column {error.key!r}: {error.why}") from error
            if len(rows) == take:
                break
    return _with_rows(benchmark, file, rows, left_out, md5())


def _with_rows(
    benchmark: Benchmark, file: Path, rows: Sequence[BenchmarkRow], left_out: Mapping[str, int], md5: str = ""
) -> OpenedBenchmark:
    if not rows:
        raise UserError(f"{file.name}: holds no question of {benchmark.title} that can be asked ({dict(left_out)})")
    release = next((one for one in benchmark.layout.releases if one.md5 and md5.startswith(one.md5)), None)
    return OpenedBenchmark(
        benchmark=benchmark, rows=tuple(rows), file=file.name, md5=md5, release=release, left_out=dict(left_out)
    )


def _from_data_set(benchmark: Benchmark, where: Path, media: MediaStore, take: int | None) -> OpenedBenchmark:
    read = read_data_set(benchmark.layout.data_set, where, split=benchmark.layout.split, media=media)
    rows = [
        BenchmarkRow(task=task, fields={"index": task.id, "question": task.question, "answer": task.answer})
        for task in read.tasks[:take]
    ]
    return _with_rows(benchmark, where, rows, read.left_out)


def _tsv_rows(benchmark: Benchmark, file: TsvFile, media: MediaStore) -> Iterator[_FileRow]:
    read: list[TsvRow] = []
    spans: dict[str, tuple[FileSpan, ...]] = {}
    for one in file.rows():
        if not read:
            _check_columns(benchmark, file.header, file.path)
        index = one.fields.get("index", "")
        if not index or index in spans:
            raise UserError(
                f"{file.path}, line {one.line}, column 'index': {index!r} is empty or the index of another row"
            )
        spans[index] = one.spans
        read.append(one)
    images = _images(file.path, media)
    for one in read:
        place = f"{file.path}, line {one.line}"
        fields = benchmark.layout.prepare(one.fields) if benchmark.layout.prepare else one.fields
        pictures = None
        if one.spans or one.same_as:
            pictures = partial(pictures_inside, file.path, one, spans, media)
        elif "image_path" in one.fields:
            pictures = partial(pictures_in, {"image_path": one.fields["image_path"]}, images, place)
        yield _FileRow(place, fields, pictures)


def _images(where: Path, media: MediaStore) -> ImageReader:
    return ImageReader(where if where.is_dir() else where.parent, media, from_hub=is_from_hub(where))


def _parquet_rows(benchmark: Benchmark, files: Sequence[Path], images: ImageReader) -> Iterator[_FileRow]:
    rows = ((file, numbered) for file in files for numbered in parquet_rows(file))
    for index, (file, numbered) in enumerate(rows):
        place = f"{file}, row {numbered.number}"
        try:
            columns = _columns_of(benchmark, numbered.row)
        except RowError as error:
            raise UserError(f"{place}, column {error.key!r}: {error.why}") from error
        if not index:
            _check_columns(benchmark, (*columns, "index"), file)
        said = {name: value for name, value in columns.items() if value is not None and not holds_pictures(name)}
        fields = {name: str(value) for name, value in said.items() if value != "" and not isinstance(value, bytes)}
        fields.setdefault("index", str(index))
        yield _FileRow(place, fields, partial(pictures_in, columns, images, place))


def _columns_of(benchmark: Benchmark, row: Row | RowError) -> Row:
    """The row of a parquet file in the TSV's columns; ``RowError`` names one that is missing."""
    if isinstance(row, RowError):
        raise row
    return benchmark.layout.from_hub(NamedRow(row)) if benchmark.layout.from_hub else row


def _release_rows(benchmark: Benchmark, folder: Path, media: MediaStore, frames: int | None) -> Iterator[_FileRow]:
    images = _images(folder, media)
    videos = FrameReader(images, media, frames or benchmark.layout.frames)
    for fields in benchmark.layout.release_rows(folder) if benchmark.layout.release_rows else ():
        place = f"{folder}, question {fields['index']}"
        if "video_path" in fields:
            yield _FileRow(place, fields, partial(videos.read, fields["video_path"]))
        else:
            yield _FileRow(place, fields, partial(pictures_in, {"image_path": fields["image_path"]}, images, place))


def _has_release(benchmark: Benchmark, folder: Path) -> bool:
    """Whether the folder holds a question of the release, or something wrong, which opening it tells."""
    rows = benchmark.layout.release_rows
    try:
        return rows is not None and folder.is_dir() and next(rows(folder), None) is not None
    except UserError:
        return True


def _check_columns(benchmark: Benchmark, header: tuple[str, ...], path: Path) -> None:
    missing = [name for name in benchmark.layout.columns if name not in header]
    # A test split has questions alone.
    if missing and missing != ["answer"]:
        raise UserError(
            f"{path}: is no file of {benchmark.title}: the columns {', '.join(missing)} are missing; it has "
            f"{', '.join(header)[:300]}"
        )


def _split_files(layout: FileLayout, folder: Path) -> list[Path]:
    """The split's parquet files; all of them where none is named by a split, unless they must be."""
    files = sorted(folder.rglob("*.parquet")) if folder.is_dir() else []
    # The split ``test`` lies beside ``testmini``.
    starts = ((f"{layout.split}-", f"{layout.split}."), (layout.split,), *[("",)] * (not layout.is_named_by_split))
    for start in starts:
        if named := [file for file in files if file.name.startswith(start)]:
            return named
    return []


def _md5(path: Path) -> str:
    with open_plain(path) as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
