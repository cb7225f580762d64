"""Annotations: what people say of trajectories, appended to one file, safe with two who write at once."""

import json
import os
import re
import secrets
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from saccade.codec.bounds import Bounds
from saccade.codec.codecs import Codec
from saccade.codec.fields import Fields
from saccade.codec.forms import Form
from saccade.codec.wrong import BrokenRecordError, shortened
from saccade.errors import MachineError, UserError
from saccade.plain_files import open_plain
from saccade.types import Json

FILE = "annotations.jsonl"
MAX_LINE_BYTES = 32_768
_APPENDING = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
MAX_FILE_BYTES = 256 << 20
MAX_TEXT, MAX_NAME = 4000, 80

Subject = Literal["verdict", "gold", "reward", "judge", "box", "note"]
"""What is said to be so or wrong: whether the trajectory is right, the gold answer, the reward, the judge; a box that
is the right one; or a word alone."""
Verdict = Literal["right", "wrong", "unclear"]

_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True, slots=True)
class MarkedBox:
    """A box in pixels of the original of a picture."""

    image: str
    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Annotation:
    """One line of the file."""

    id: str
    trajectory: str
    task: str
    subject: Subject
    verdict: Verdict | None
    value: Annotated[str, Bounds(most=MAX_TEXT)] | None
    """The right answer, say."""
    box: MarkedBox | None
    text: Annotated[str, Bounds(most=MAX_TEXT)]
    """Why."""
    name: Annotated[str, Bounds(most=MAX_NAME)]
    """Who says so."""
    time: str
    """UTC, ISO 8601."""
    is_retracted: bool = False

    def as_json(self) -> dict[str, Json]:
        return ANNOTATIONS.to_json(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class Annotations:
    """Content of the file."""

    items: tuple[Annotation, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def standing(self) -> tuple[Annotation, ...]:
        """All that were not taken back."""
        return tuple(item for item in self.items if not item.is_retracted)

    @property
    def names(self) -> dict[str, Json]:
        """How many of them each person wrote."""
        return dict(Counter(item.name for item in self.standing))

    def counts(self) -> dict[str, Json]:
        return dict(Counter(item.subject for item in self.standing))


def annotation_from(values: Mapping[str, Json], *, trajectory: str, task: str) -> Annotation:
    """A new one of what a page sent. UserError for what is none."""
    own = {"id": secrets.token_hex(8), "trajectory": trajectory, "task": task}
    time = datetime.now(UTC).isoformat(timespec="milliseconds")
    try:
        said = {**values, "text": values.get("text") or "", **own, "time": time}
        made = ANNOTATIONS.reader(Annotation).from_json(said, "the annotation")
    except BrokenRecordError as error:
        raise UserError(str(error)) from error
    if not made.name.strip():
        raise UserError("name is empty; say who you are, so that agreement can be counted")
    if made.subject == "verdict" and made.verdict is None:
        raise UserError("a verdict is right, wrong or unclear")
    if made.subject == "box" and made.box is None:
        raise UserError("a box annotation needs its box")
    return made


def _check_box(box: MarkedBox) -> None:
    if not _HASH.fullmatch(box.image):
        raise ValueError(f"'image' must be a picture's hash, not {shortened(box.image)}")
    if not (0 <= box.x1 < box.x2 <= 1e6 and 0 <= box.y1 < box.y2 <= 1e6):
        sides = f"({box.x1:g}, {box.y1:g}, {box.x2:g}, {box.y2:g})"
        raise ValueError(f"the box {sides} is not one: x1 < x2 and y1 < y2, in pixels from 0")


ANNOTATIONS = Codec({Annotation: Form(apart=("is_retracted",)), MarkedBox: Form(check=_check_box)})


@dataclass(kw_only=True)
class AnnotationFile:
    """The file of one run; read again only when it has changed."""

    path: Path
    _stamp: tuple[int, int] = (-1, -1)
    _read: Annotations = field(default_factory=Annotations)

    def add(self, item: Annotation) -> None:
        """Raises MachineError when the disk does not take it."""
        self._append({"kind": "annotation", **item.as_json()})

    def retract(self, identity: str, name: str) -> Annotation:
        """Take one back: its line stays, and a line says who took it back. UserError where there is none."""
        found = next((item for item in self.read().items if item.id == identity), None)
        if found is None:
            raise UserError(f"there is no annotation {identity[:40]!r}")
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._append({"kind": "retraction", "of": identity, "name": name[:MAX_NAME], "time": time})
        return replace(found, is_retracted=True)

    def read(self) -> Annotations:
        """A damaged line is a note."""
        try:
            told = self.path.stat()
        except OSError:
            return Annotations()
        stamp = (told.st_size, told.st_mtime_ns)
        if stamp != self._stamp:
            self._read, self._stamp = _read(self.path), stamp
        return self._read

    @property
    def is_writable(self) -> bool:
        there = self.path if self.path.exists() else self.path.parent
        return os.access(there, os.W_OK) and not self.path.is_symlink()

    def _append(self, values: Mapping[str, Json]) -> None:
        line = json.dumps(values).encode("ascii") + b"\n"
        if len(line) > MAX_LINE_BYTES:
            raise UserError(f"an annotation of {len(line)} bytes is too long")
        try:
            # One write at the end of the file, which the system does not mix with another's.
            descriptor = os.open(self.path, _APPENDING, 0o644)
            try:
                if os.write(descriptor, line) != len(line):
                    raise OSError("it was written in part only; the disk may be full")
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise MachineError(f"{self.path} cannot be written: {error.strerror or error}") from error


def _read(path: Path) -> Annotations:
    items: dict[str, Annotation] = {}
    notes: list[str] = []
    try:
        with open_plain(path) as file:
            for number, line in enumerate(file.read(MAX_FILE_BYTES).splitlines(), start=1):
                try:
                    fields = Fields(json.loads(line))
                    if fields.option("kind", ("annotation", "retraction")) == "retraction":
                        if (of := fields.text("of")) in items:
                            items[of] = replace(items[of], is_retracted=True)
                    else:
                        item = ANNOTATIONS.reader(Annotation).from_json(fields.values, "the annotation")
                        items[item.id] = item
                except (ValueError, RecursionError, BrokenRecordError, UserError) as error:
                    notes.append(f"{path.name}:{number}: {str(error)[:200]}; the line is left out")
    except OSError as error:
        notes.append(f"{path.name} cannot be read: {error.strerror}")
    return Annotations(items=tuple(items.values()), notes=tuple(notes[:20]))
