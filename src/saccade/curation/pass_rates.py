"""Pass rates from what other runs have left behind."""

import json
from collections.abc import Iterator
from pathlib import Path

from saccade.curation.rows import pass_rates_of, read_pass_rates
from saccade.errors import UserError
from saccade.runs.records import read_records
from saccade.types import Attempt


def recorded_pass_rates(path: Path) -> dict[str, float]:
    """From a file ``{"id", "pass_rate"}`` a line, a file of trajectories, or all those of a run or a folder."""
    if path.is_dir():
        trajectories = path / "trajectories"
        files = sorted((trajectories if trajectories.is_dir() else path).rglob("*.jsonl"))
        if not files:
            raise UserError(f"{path} holds no trajectories (*.jsonl); give a run, one of its files, or pass rates")
        return pass_rates_of(_attempts(files))
    if not path.is_file():
        raise UserError(f"{path}: there is no such file, run or checkpoint, and an address begins with http://")
    return pass_rates_of(read_records(path)) if _is_of_trajectories(path) else read_pass_rates(path)


def _attempts(files: list[Path]) -> Iterator[Attempt]:
    for file in files:
        yield from read_records(file)


def _is_of_trajectories(path: Path) -> bool:
    """Whether the file begins with the header of records."""
    with path.open("rb") as file:
        first = file.readline(1 << 16)
    try:
        header = json.loads(first)
    except ValueError:
        return False
    return isinstance(header, dict) and header.get("kind") == "header"
