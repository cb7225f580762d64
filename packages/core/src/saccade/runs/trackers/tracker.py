"""What a run asks of an experiment tracker."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from PIL import Image

from saccade.types import Json

RECORD = "record"
"""Metric that every tracker keeps with each record: its number, from 1."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrackedRun:
    """What a tracker is opened with."""

    project: str
    name: str
    id: str
    """Identity of the run, written down before a tracker is opened: a tracker that has it continues that run."""
    settings: Mapping[str, Json] = field(default_factory=dict)
    """Settings by their dotted keys."""
    folder: Path
    """The run's directory."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrackedPicture:
    """A trajectory as a picture: what it saw, side by side."""

    name: str
    image: Image.Image
    caption: str


Part = str | Image.Image
"""A text or a picture of a message."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrackedTrace:
    """A trajectory as a conversation."""

    name: str
    messages: tuple[tuple[str, tuple[Part, ...]], ...]
    """Role (``user``, ``assistant`` or ``tool``) and parts of each."""
    values: Mapping[str, Json]
    """Gold answer, verdict, rewards by name and what else is known of the whole."""


class Tracker(Protocol):
    """An experiment tracker with one run open. ``number`` counts the records of ``metrics.jsonl`` from 1."""

    def records(self) -> Set[int]:
        """Numbers of the records that the tracker has of this run."""

    def pictures(self) -> Set[tuple[int, str]]:
        """Record and name of each picture and trace that the tracker has of this run."""

    def log(self, number: int, values: Mapping[str, float]) -> None:
        """Add a record."""

    def show(self, number: int, pictures: Sequence[TrackedPicture]) -> None:
        """Add pictures to a record that is there."""

    def trace(self, number: int, traces: Sequence[TrackedTrace]) -> None:
        """Add traces to a record that is there; nothing where the tracker has no form for them."""

    def summarise(self, values: Mapping[str, float]) -> None:
        """Set what holds of the whole run; setting it again changes nothing."""

    def save(self, path: Path) -> None:
        """Keep a file with the run."""

    def close(self, *, is_finished: bool) -> None:
        """Send what is not sent; the run may be opened again."""
