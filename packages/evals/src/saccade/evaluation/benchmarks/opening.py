"""Opening a benchmark: its file found, told by hash, and its rows made into tasks, or what file to put where."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from saccade.errors import UserError
from saccade.evaluation.benchmarks.benchmark import Benchmark, BenchmarkRow, OpenedBenchmark
from saccade.evaluation.benchmarks.rows import row_of
from saccade.evaluation.benchmarks.table import benchmark_named
from saccade.evaluation.benchmarks.tsv import FileSpan, TsvFile, TsvRow, listed_paths
from saccade.media.decode import MediaError
from saccade.media.store import MediaStore
from saccade.plain_files import open_plain
from saccade.tasks.datasets.reading import read_data_set
from saccade.tasks.rows.fields import RowError, RowValue
from saccade.tasks.rows.images import ImageReader
from saccade.tasks.rows.tables import parquet_rows
from saccade.types import ImageRef

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


def find_benchmark(benchmark: Benchmark, where: Path) -> Readiness:
    """Looks for the benchmark in a file or a folder: a TSV by its name, or a folder of parquet files by its own."""
    layout = benchmark.layout
    if layout.data_set:
        release_folder = where / layout.data_set if where.is_dir() else where
        wanted = f"the release of {benchmark.title} in {where / layout.data_set}/ (docs/datasets.md lists its files)"
        there = release_folder if release_folder.exists() else None
        return Readiness(benchmark=benchmark, file=there, wanted=wanted)
    if layout.folder:
        found = next((place for place in (where / layout.folder, where) if _has_release(benchmark, place)), None)
        wanted = f"the release of {benchmark.title} in {where / layout.folder}/ (docs/benchmarks.md lists its files)"
        return Readiness(benchmark=benchmark, file=found, wanted=wanted)
    files = [str(where / release.file) for release in layout.releases[:1]]
    wanted = " or ".join(files + [f"the parquet files of {layout.hub} in {where}/"] * bool(layout.hub))
    if where.is_file():
        return Readiness(benchmark=benchmark, file=where, wanted=wanted)
    for release in layout.releases:
        if (where / release.file).is_file():
            return Readiness(benchmark=benchmark, file=where / release.file, wanted=wanted)
    for folder in dict.fromkeys((layout.hub.rpartition("/")[2], layout.hub, benchmark.name)):
        if folder and _parquet_files(where / folder, layout.split):
            return Readiness(benchmark=benchmark, file=where / folder, wanted=wanted)
    return Readiness(benchmark=benchmark, file=None, wanted=wanted)


def benchmark_file(benchmark: Benchmark, where: Path) -> Path:
    """The file or folder that holds the benchmark; ``UserError`` says what to put where when there is none."""
    found = find_benchmark(benchmark, where)
    if found.file is None:
        raise UserError(f"{benchmark.title} is not there; put {found.wanted}")
    return found.file


def open_benchmark(
    name: str | Benchmark, where: Path, *, media: MediaStore, take: int | None = None, known_files_only: bool = False
) -> OpenedBenchmark:
    """The rows of a benchmark in their order, from its file, or from a folder that holds it; ``take`` the first ones.

    Pictures are decoded once, for their size and hash, and read again from the file when they are shown.
    ``UserError`` says which file is missing, or names line and column of what is wrong in it; with
    ``known_files_only`` also where the file is not one whose hash is published.
    """
    benchmark = benchmark_named(name) if isinstance(name, str) else name
    file = benchmark_file(benchmark, where)
    if benchmark.layout.data_set:
        return _from_data_set(benchmark, file, media, take)
    if benchmark.layout.release_rows:
        return _from_release(benchmark, file, benchmark.layout.release_rows, media, take)
    if file.is_dir() or file.suffix == ".parquet":
        return _from_parquet(benchmark, file, media, take)
    opened = _from_tsv(benchmark, file, media, take)
    if known_files_only and opened.release is None:
        raise UserError(f"{file}: {opened.describe()}")
    return opened


def _from_tsv(benchmark: Benchmark, path: Path, media: MediaStore, take: int | None) -> OpenedBenchmark:
    file = TsvFile(path)
    read: list[TsvRow] = []
    spans: dict[str, tuple[FileSpan, ...]] = {}
    for one in file.rows():
        if not read:
            _check_columns(benchmark, file.header, path)
        index = one.fields.get("index", "")
        if not index or (read and index in spans):
            raise UserError(f"{path}, line {one.line}, column 'index': {index!r} is empty or the index of another row")
        spans[index] = one.spans
        read.append(one)
    left_out: Counter[str] = Counter()
    rows: list[BenchmarkRow] = []
    images = ImageReader(path.parent, media)
    for one in read:
        fields = benchmark.layout.prepare(one.fields) if benchmark.layout.prepare else one.fields
        if not _is_asked(benchmark, fields):
            left_out[NOT_ASKED] += 1
        elif not (shown := _pictures(one, spans, path)) and "image_path" not in one.fields:
            left_out[NO_IMAGE] += 1
        elif take is None or len(rows) < take:
            refs = _refs(one, shown, path, media, images)
            rows.append(_row(benchmark, fields, refs, f"{path}, line {one.line}"))
    return _opened(benchmark, rows, path.name, file.md5, left_out)


def _pictures(row: TsvRow, spans: Mapping[str, tuple[FileSpan, ...]], path: Path) -> tuple[FileSpan, ...]:
    if not row.same_as:
        return row.spans
    shared = spans.get(row.same_as, ())
    if not shared:
        raise UserError(
            f"{path}, line {row.line}, column 'image': {row.same_as!r} is neither a picture nor the index of a row "
            "that has one"
        )
    return shared


def _refs(
    row: TsvRow, spans: tuple[FileSpan, ...], path: Path, media: MediaStore, images: ImageReader
) -> tuple[ImageRef, ...]:
    try:
        if spans:
            return tuple(media.add_base64_in(path, span.start, span.length) for span in spans)
        named = listed_paths(row.fields["image_path"])
        return tuple(images.read(one, "image_path", f"{path}, line {row.line}") for one in named)
    except MediaError as error:
        raise UserError(f"{path}, line {row.line}, column 'image': {error}") from error
    except (RowError, ValueError, SyntaxError) as error:
        raise UserError(f"{path}, line {row.line}, column 'image_path': {error}") from error


def _from_parquet(benchmark: Benchmark, where: Path, media: MediaStore, take: int | None) -> OpenedBenchmark:
    layout = benchmark.layout
    files = [where] if where.is_file() else _parquet_files(where, layout.split)
    images = ImageReader(where if where.is_dir() else where.parent, media)
    left_out: Counter[str] = Counter()
    rows: list[BenchmarkRow] = []
    for file in files:
        for numbered in parquet_rows(file):
            if take is not None and len(rows) >= take:
                break
            place = f"{file}, row {numbered.number}"
            if isinstance(numbered.row, RowError):
                raise UserError(f"{place}, column {numbered.row.key!r}: {numbered.row.why}")
            columns = layout.from_hub(numbered.row) if layout.from_hub else numbered.row
            fields = {name: text for name, value in columns.items() if (text := _as_text(value, name))}
            fields.setdefault("index", str(sum(left_out.values()) + len(rows)))
            if not rows:
                _check_columns(benchmark, (*columns, "index"), file)
            if not _is_asked(benchmark, fields):
                left_out[NOT_ASKED] += 1
                continue
            rows.append(_row(benchmark, fields, _hub_images(columns, images, place), place))
    return _opened(benchmark, rows, where.name, _md5(files[0]) if len(files) == 1 else "", left_out)


def _hub_images(columns: Mapping[str, object], images: ImageReader, place: str) -> tuple[ImageRef, ...]:
    found: list[ImageRef] = []
    for value in _pictures_of(columns):
        try:
            found.append(images.read(value, "image", place))
        except RowError as error:
            raise UserError(f"{place}, column {error.key!r}: {error.why}") from error
    return tuple(found)


def _pictures_of(columns: Mapping[str, object]) -> Iterator[RowValue]:
    """Pictures under ``image``, ``images`` or ``image_1``, ...: bytes, objects with bytes, or base64 text."""
    held = [columns[name] for name in columns if name in ("image", "images") or name.startswith("image_")]
    for value in held:
        for one in value if isinstance(value, list | tuple) else [value]:
            if isinstance(one, str) and one.startswith(_BASE64_PICTURES):
                yield f"data:image/png;base64,{one}"
            elif isinstance(one, bytes | str | dict):
                yield one


_BASE64_PICTURES = ("iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR")
"""How base64 of PNG, JPEG, GIF and WebP begins; anything else is a path."""


def _from_data_set(benchmark: Benchmark, where: Path, media: MediaStore, take: int | None) -> OpenedBenchmark:
    read = read_data_set(benchmark.layout.data_set, where, split=benchmark.layout.split, media=media)
    rows = [
        BenchmarkRow(task=task, fields={"index": task.id, "question": task.question, "answer": task.answer})
        for task in read.tasks[:take]
    ]
    return _opened(benchmark, rows, where.name, "", Counter(read.left_out))


def _from_release(
    benchmark: Benchmark,
    where: Path,
    rows: Callable[[Path], Iterator[Mapping[str, str]]],
    media: MediaStore,
    take: int | None,
) -> OpenedBenchmark:
    images = ImageReader(where, media)
    read: list[BenchmarkRow] = []
    for fields in islice(rows(where), take):
        place = f"{where}, question {fields['index']}"
        try:
            picture = images.read(fields["image_path"], "image_path", place)
        except RowError as error:
            raise UserError(f"{place}, column 'image_path': {error.why}") from error
        read.append(_row(benchmark, fields, (picture,), place))
    return _opened(benchmark, read, where.name, "", Counter())


def _has_release(benchmark: Benchmark, folder: Path) -> bool:
    """Whether the folder holds a question of the release."""
    rows = benchmark.layout.release_rows
    return rows is not None and folder.is_dir() and next(rows(folder), None) is not None


def _row(benchmark: Benchmark, fields: Mapping[str, str], images: tuple[ImageRef, ...], place: str) -> BenchmarkRow:
    try:
        return row_of(benchmark, fields, images)
    except RowError as error:
        raise UserError(f"{place}, column {error.key!r}: {error.why}") from error


def _opened(
    benchmark: Benchmark, rows: list[BenchmarkRow], file: str, md5: str, left_out: Counter[str]
) -> OpenedBenchmark:
    if not rows:
        raise UserError(f"{file}: holds no question of {benchmark.title} that can be asked ({dict(left_out)})")
    release = next((one for one in benchmark.layout.releases if one.md5 and md5.startswith(one.md5)), None)
    return OpenedBenchmark(
        benchmark=benchmark, rows=tuple(rows), file=file, md5=md5, release=release, left_out=dict(left_out)
    )


def _check_columns(benchmark: Benchmark, header: tuple[str, ...], path: Path) -> None:
    missing = [name for name in benchmark.layout.columns if name not in header]
    # A test split has questions alone.
    if missing and missing != ["answer"]:
        raise UserError(
            f"{path}: is no file of {benchmark.title}: the columns {', '.join(missing)} are missing; it has "
            f"{', '.join(header)[:300]}"
        )


def _is_asked(benchmark: Benchmark, fields: Mapping[str, str]) -> bool:
    return benchmark.layout.keep is None or benchmark.layout.keep(fields)


def _parquet_files(folder: Path, split: str) -> list[Path]:
    """The split's files; all of them where none is named by a split."""
    files = sorted(folder.rglob("*.parquet")) if folder.is_dir() else []
    return [file for file in files if file.name.startswith(split)] or files


def _md5(path: Path) -> str:
    with open_plain(path) as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _as_text(value: object, name: str) -> str:
    """Text of a column that holds no picture."""
    if value is None or isinstance(value, bytes) or name in ("image", "images") or name.startswith("image_"):
        return ""
    return value if isinstance(value, str) else str(value)
