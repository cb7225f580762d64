"""Tasks of a data set by its name, from the folder of its release, from one file, or from the Hugging Face hub."""

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.seeding import seed_for
from saccade.tasks.datasets.dataset import DataSet, LeftOut, Problem
from saccade.tasks.datasets.table import DATA_SETS
from saccade.tasks.files import check_bad_rows
from saccade.tasks.rows.answers import answer_kind
from saccade.tasks.rows.fields import Row, RowError, is_encodable, listed
from saccade.tasks.rows.images import ImageReader, read_targets
from saccade.tasks.rows.tables import dataset_rows, parquet_rows
from saccade.tasks.rows.tasks import BadRow, content_id
from saccade.tasks.sources import HUB_PREFIX, FileSource
from saccade.types import Task

ASKED_TWICE = "asked twice of the same image"


@dataclass(frozen=True, kw_only=True, slots=True)
class DataSetTasks:
    """The tasks of a split in their order, and the rows and questions that became none."""

    tasks: tuple[Task, ...]
    skipped: tuple[BadRow, ...] = ()
    """Rows that are broken."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Questions in good order that cannot be used, by why."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A question that may become a task."""

    source: FileSource
    row: int
    problem: Problem


@dataclass(slots=True)
class _Report:
    """Rows and questions that become no tasks."""

    bad: list[BadRow] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def refuse(self, source: FileSource, row: int, error: RowError) -> None:
        self.bad.append(BadRow(file=source.name, row=row, key=error.key, why=error.why))


def read_data_set(
    name: str,
    where: Path | str,
    *,
    split: str,
    media: MediaStore,
    take: int | None = None,
    seed: int = 0,
    skip_bad_rows: bool = False,
    image_root: Path | None = None,
    published_rules: bool = False,
) -> DataSetTasks:
    """The tasks of a split (``train``, ``validation``, ``test``, or a name of the release's own).

    ``where`` is the folder of the release, one file of it, ``hf:`` for the set's place on the hub, or
    ``hf:name[:config]`` for another with the same columns. A folder of parquet files named by their split is read
    like the hub. ``take`` draws so many questions by ``seed``, the same ones on every machine, and opens no other
    images; fewer where there are fewer, or where some turn out to be broken. A task's id is ``name/split/`` and the
    row's own id, else a hash of what is asked. With ``published_rules`` answers count as the set's own script counts
    them where ours is stricter (years of charts within 5 %), so that figures compare with published ones.

    ``UserError`` names an unknown set or a missing file, and lists broken rows unless they are to be skipped.
    """
    data_set = data_set_named(name)
    if take is not None and take < 1:
        raise UserError(f"take={take} asks for no question; use 1 or more, or leave it out")
    report = _Report()
    if not published_rules:
        data_set = replace(data_set, as_published=None)
    candidates = _candidates(data_set, _sources(data_set, where, split, image_root), split, report)
    chosen = _smallest_draws(candidates, take, seed, f"{name}/{split}") if take is not None else candidates
    tasks = _tasks(data_set.name, split, chosen, media, report)
    check_bad_rows(where, report.bad, len(tasks), skip_bad_rows=skip_bad_rows)
    return DataSetTasks(tasks=tuple(tasks), skipped=tuple(report.bad), left_out=dict(sorted(report.left_out.items())))


def data_set_named(name: str) -> DataSet:
    """The set of this name; ``UserError`` that lists the names where there is none."""
    if name not in DATA_SETS:
        raise UserError(f"there is no data set {name!r}; choose one of {', '.join(DATA_SETS)}")
    return DATA_SETS[name]


def _sources(data_set: DataSet, where: Path | str, split: str, image_root: Path | None) -> Iterator[FileSource]:
    text, name = str(where), data_set.name
    own_split = data_set.splits.get(split, split)
    if text.startswith(HUB_PREFIX):
        yield _on_hub(data_set, text.removeprefix(HUB_PREFIX), split)
        return
    path = Path(where)
    if path.is_file():
        rows = parquet_rows(path) if path.suffix.lower() == ".parquet" else data_set.rows(path)
        yield FileSource(text, name, rows, image_root or path.parent)
    elif path.is_dir():
        hub_splits = data_set.hub.splits if data_set.hub else {}
        parquet = sorted(path.rglob(f"{hub_splits.get(split, split)}-*.parquet"))
        for file in parquet:
            yield FileSource(str(file), name, parquet_rows(file), image_root or file.parent)
        if not parquet:
            for file, folder in data_set.files(path, own_split):
                yield FileSource(str(file), name, data_set.rows(file), image_root or folder)
    else:
        raise UserError(f"{path}: there is no such file or folder; give the release of {data_set.title}, or hf:")


def _on_hub(data_set: DataSet, place: str, split: str) -> FileSource:
    hub = data_set.hub
    name, _, config = place.partition(":")
    if not name and hub is None:
        raise UserError(
            f"no place on the hub is known to hold the images of {data_set.title}; give the folder of its "
            "release, or hf:name[:config]"
        )
    if not name and hub is not None:
        name, config = hub.name, hub.config or ""
    hub_split = hub.splits.get(split, split) if hub else split
    rows = dataset_rows(name, hub_split, config or None)
    return FileSource(f"{HUB_PREFIX}{name}:{hub_split}", data_set.name, rows, Path.cwd())


def _candidates(data_set: DataSet, sources: Iterator[FileSource], split: str, report: _Report) -> Iterator[_Candidate]:
    own_split = data_set.splits.get(split, split)
    for source in sources:
        for numbered in source.rows:
            row = numbered.row
            if isinstance(row, RowError):
                report.refuse(source, numbered.number, row)
                continue
            if data_set.split_key is not None:
                within = listed(row.get(data_set.split_key, own_split), data_set.split_key)
                if own_split not in within and split not in within:
                    continue
            for asked in _read(data_set, row, source, numbered.number, report):
                yield _Candidate(source, numbered.number, asked)


def _read(data_set: DataSet, row: Row, source: FileSource, number: int, report: _Report) -> list[Problem]:
    try:
        asked = data_set.read(row)
    except RowError as error:
        report.refuse(source, number, error)
        return []
    report.left_out.update(one.why for one in asked if isinstance(one, LeftOut))
    published = data_set.as_published or (lambda problem: problem)
    return [published(one) for one in asked if isinstance(one, Problem)]


def _smallest_draws(candidates: Iterator[_Candidate], take: int, seed: int, label: str) -> list[_Candidate]:
    """The ``take`` candidates with the smallest draws, in their order; no more than these are held."""
    heap: list[tuple[int, int, _Candidate]] = []
    for place, candidate in enumerate(candidates):
        draw = seed_for(seed, "data set", label, Path(candidate.source.name).name, candidate.row, place)
        entry = (-draw, place, candidate)
        if len(heap) < take:
            heapq.heappush(heap, entry)
        elif entry[0] > heap[0][0]:
            heapq.heapreplace(heap, entry)
    return [candidate for _, _, candidate in sorted(heap, key=lambda entry: entry[1])]


def _tasks(
    name: str, split: str, candidates: Iterator[_Candidate] | Sequence[_Candidate], media: MediaStore, report: _Report
) -> list[Task]:
    readers: dict[Path, ImageReader] = {}
    tasks: dict[str, Task] = {}
    for candidate in candidates:
        source, row, root = candidate.source, candidate.row, candidate.source.image_root
        images = readers.setdefault(root, ImageReader(root, media, from_hub=source.is_from_hub))
        try:
            task = _task(name, split, candidate, images)
        except RowError as error:
            report.refuse(source, row, error)
            continue
        if task.id not in tasks:
            tasks[task.id] = task
        elif candidate.problem.id is None:
            report.left_out[ASKED_TWICE] += 1
        else:
            report.refuse(source, row, RowError("id", f"{candidate.problem.id!r} is also the id of another row"))
    return list(tasks.values())


def _task(name: str, split: str, candidate: _Candidate, images: ImageReader) -> Task:
    problem = candidate.problem
    if not problem.question or not is_encodable(problem.question):
        raise RowError("question", "is empty, or no text that can be written")
    kind = answer_kind(problem.kind, problem.answer, problem.choices, problem.question, problem.answer_key)
    scope = problem.scope
    if not problem.images and not scope.content:
        raise RowError(problem.images_key, "there is no image")
    refs = tuple(
        images.read(value, problem.images_key, f"{candidate.source.name}, row {candidate.row}, image {place}")
        for place, value in enumerate(problem.images, start=1)
    )
    scope.check_shown(refs)
    own_id = problem.id or content_id(problem.question, problem.answer, problem.choices, refs, scope)
    return Task(
        id=f"{name}/{split}/{own_id}",
        family=name,
        question=problem.question,
        answer=problem.answer,
        answer_kind=kind,
        images=refs,
        choices=problem.choices,
        tolerance=problem.tolerance,
        targets=read_targets(problem.boxes, problem.boxes_key, refs),
        source=name,
        metric=name,
        accepted=problem.accepted,
        buckets=problem.buckets,
        corpus=scope.corpus,
        document=scope.document,
        gold_pages=scope.gold_pages,
        shown_pages=scope.shown_pages,
    )
