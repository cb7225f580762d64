"""A run's description of itself on disk: where its files are, what ran, with which versions, how it ended."""

import hashlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

from saccade.codec.codecs import FOREIGN_CODEC
from saccade.codec.wrong import BrokenRecordError
from saccade.distribution import source_folders
from saccade.errors import UserError
from saccade.parsing import json_value
from saccade.plain_files import plain_bytes
from saccade.runs.position import Position
from saccade.types import Json

_SOURCES = (".py", ".cpp", ".h")

RunStatus = Literal["running", "finished", "failed"]


@dataclass(frozen=True, kw_only=True, slots=True)
class RunInfo:
    """``run.json``: what ran, with what, and how it ended."""

    title: str = ""
    """Subject of the run, for people."""
    status: RunStatus = "running"
    command: tuple[str, ...] = ()
    started: str = ""
    """UTC, ISO 8601; of the first start when the run was resumed."""
    resumed: tuple[str, ...] = ()
    """UTC, ISO 8601: each later start."""
    changed: tuple[str, ...] = ()
    """Settings that a later start changed: its time, the key, both values."""
    restarts: tuple[str, ...] = ()
    """Processes of a fleet that were lost and replaced: UTC, which, and why."""
    ended: str | None = None
    error: str = ""
    """Why the run failed."""
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunPaths:
    """Where the files of a run are; reading them needs no lock."""

    root: Path

    @property
    def settings(self) -> Path:
        return self.root / "settings.json"

    @property
    def config(self) -> Path:
        """Settings as ``--config`` takes them, to start the run again."""
        return self.root / "config.yaml"

    @property
    def info(self) -> Path:
        return self.root / "run.json"

    @property
    def metrics(self) -> Path:
        return self.root / "metrics.jsonl"

    @property
    def tensorboard(self) -> Path:
        return self.root / "tensorboard"

    @property
    def trackers(self) -> Path:
        """The run's identity in each experiment tracker; there only where one follows it."""
        return self.root / "trackers.json"

    @property
    def checkpoints(self) -> Path:
        return self.root / "checkpoints"

    @property
    def media(self) -> Path:
        return self.root / "media"

    @property
    def evaluations(self) -> Path:
        return self.root / "evaluations"

    @property
    def derived(self) -> Path:
        """What stages have worked out for later ones, as ``NAME.json``."""
        return self.root / "derived"

    @property
    def asked(self) -> Path:
        return self.root / "asked.json"

    @property
    def held_out(self) -> Path:
        """Rows of the user's questions that are never trained on; there only where some were held out."""
        return self.root / "held_out.json"

    @property
    def verdicts(self) -> Path:
        """Verdicts of a judge on wrong trajectories; there only where one was asked."""
        return self.root / "verdicts.json"

    @property
    def stars(self) -> Path:
        """A judge's stars for reasoning; there only where one was asked."""
        return self.root / "stars.json"

    @property
    def judged_evidence(self) -> Path:
        """A judge's verdicts on pictures that calls returned; there only where one was asked."""
        return self.root / "evidence.json"

    @property
    def why(self) -> Path:
        """Why pages were found; there only where an encoder was asked."""
        return self.root / "why.json"

    @property
    def nonfinite(self) -> Path:
        """Batches of skipped steps; there only where a step was skipped."""
        return self.root / "nonfinite"

    @property
    def report_json(self) -> Path:
        return self.root / "report.json"

    @property
    def report_html(self) -> Path:
        return self.root / "report.html"

    @property
    def recipe(self) -> Path:
        """The sources of the recipe, one folder for each version that the run was started or resumed with."""
        return self.root / "recipe"

    @property
    def log(self) -> Path:
        return self.root / "log.txt"

    def beside(self, records: Path, folder: str) -> Path:
        """Where something about a file of records stands, in a folder that mirrors the run."""
        return (self.root / folder / records.relative_to(self.root)).with_suffix(".arrow")

    def trajectories(self, position: Position) -> Path:
        """The file of one step's trajectories."""
        return self.root / "trajectories" / position.stage / f"step-{position.step:06d}.jsonl"

    def evaluation(self, name: str) -> Path:
        return self.evaluations / f"{name}.jsonl"


def read_info(paths: RunPaths) -> RunInfo:
    """The content of ``run.json``. Raises UserError when there is no run or the file is damaged."""
    try:
        return FOREIGN_CODEC.reader(RunInfo).from_json(read_json_object(paths.info), "the file")
    except BrokenRecordError as error:
        raise UserError(f"{paths.info} is damaged: {error}") from error


def read_json_object(path: Path) -> dict[str, Json]:
    """The JSON object of a file of a run. Raises UserError when it is not there or damaged."""
    try:
        values = json_value(plain_bytes(path))
    except FileNotFoundError:
        raise UserError(f"{path.parent} holds no run: there is no {path.name}") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise UserError(f"{path} cannot be read: {error}") from error
    if not isinstance(values, dict):
        raise UserError(f"{path} must hold a JSON object, not {type(values).__name__}")
    return values


def versions() -> dict[str, str]:
    """Versions of what shapes the numbers of a run; nothing is imported to find them.

    ``saccade_source`` begins a hash of the package's own files, which may change under one version.
    """
    from importlib import metadata

    found = {"python": sys.version.split()[0], "saccade_source": _source_hash()}
    packages = {name: name for name in ("torch", "transformers", "numpy", "pillow")}
    for name, distribution in ({"saccade": "saccade-core"} | packages).items():
        try:
            found[name] = metadata.version(distribution)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


@cache
def _source_hash() -> str:
    digest = hashlib.sha256()
    files = {path.relative_to(folder): path for folder in source_folders() for path in folder.rglob("*")}
    for name, path in sorted(files.items()):
        if path.suffix in _SOURCES:
            digest.update(f"{name}\0".encode() + plain_bytes(path))
    return digest.hexdigest()[:12]
