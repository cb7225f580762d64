"""True files of other programs below ``foreign/``, and what the viewer makes of a path."""

import json
import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from saccade.types import Attempt
from saccade.viewer.store.collection import Collection
from saccade.viewer.store.run import Run

TRUE = Path(__file__).parent / "foreign"


def opened(path: Path, cache: Path) -> tuple[Run, list[Attempt]]:
    """The run that the path is, and its trajectories in the file's order."""
    collection = Collection(paths=(path,), cache=cache)
    collection.load()
    [run] = collection.runs.values()
    columns = run.table.view().columns
    places = zip(columns["file"].tolist(), columns["ordinal"].tolist())
    return run, [run.open(run.id_of(file, row)).attempt for file, row in places]


def copied(name: str, folder: Path) -> Path:
    return Path(shutil.copytree(TRUE / name, folder / name))


def trackio_folder(folder: Path) -> Path:
    """The data base that the statements make, beside its media."""
    place = copied("trackio", folder)
    with closing(sqlite3.connect(place / "plates.db")) as base:
        base.executescript((place / "plates.sql").read_text())
    return place


def written(path: Path, *rows: Mapping[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def terms(attempt: Attempt) -> dict[str, float]:
    """The parts of the reward by name, as recorded."""
    score = attempt.trajectory.score
    return {} if score is None else {term.name: term.value for term in score.terms}
