"""Training data of a policy, as hashes that its checkpoints carry: ``saccade_trained_on.json``.

A question is known by its words, its options and its pictures, whatever its id and its file; its pictures by
themselves too, since a question on a picture that was trained on is not new either.
"""

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from saccade.codec.fields import Fields
from saccade.codec.wrong import BrokenRecordError
from saccade.errors import UserError
from saccade.models.checkpoint import TRAINED_ON_RECORD
from saccade.plain_files import plain_text
from saccade.types import Json, Task

VERSION = 1
_BYTES = 6
"""Length of a hash: among 200,000 questions a new one is taken for an old one once in a thousand million."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Novelty:
    """How new questions are to a policy."""

    questions: int
    trained_on: int
    """Questions that it was trained on."""
    on_trained_pictures: int
    """Other questions on pictures that it was trained on."""
    is_history_known: bool
    """Whether it began from nothing or from a checkpoint that has such a record: else it may know more."""

    @property
    def is_held_out(self) -> bool:
        """Neither the questions nor their pictures were trained on, as far as is known."""
        return self.trained_on == 0 and self.on_trained_pictures == 0

    def seen_text(self) -> str:
        """``12 of 24 were trained on and 3 more show pictures that were``."""
        trained = f"{self.trained_on:,} of {self.questions:,} were trained on"
        more = f" and {self.on_trained_pictures:,} more show pictures that were"
        return f"{trained}{more if self.on_trained_pictures else ''}"


@dataclass(kw_only=True)
class TrainedOn:
    """Grows with every step of training."""

    is_complete: bool = True
    """False for what began with a checkpoint that says nothing of its training."""
    _questions: set[int] = field(default_factory=set)
    _pictures: set[int] = field(default_factory=set)

    def add(self, tasks: Iterable[Task]) -> None:
        for task in tasks:
            self._questions.add(_question(task))
            if task.images:
                self._pictures.add(_picture(task))

    def novelty(self, tasks: Sequence[Task]) -> Novelty:
        """Novelty of questions that are about to be asked."""
        are_known = [_question(task) in self._questions for task in tasks]
        are_seen = [bool(task.images) and _picture(task) in self._pictures for task in tasks]
        return Novelty(
            questions=len(tasks),
            trained_on=sum(are_known),
            on_trained_pictures=sum(seen and not known for seen, known in zip(are_seen, are_known)),
            is_history_known=self.is_complete,
        )

    def as_json(self) -> dict[str, Json]:
        return {
            "version": VERSION,
            "is_complete": self.is_complete,
            "questions": _packed(self._questions),
            "pictures": _packed(self._pictures),
        }


def read_trained_on(checkpoint: Path | None) -> TrainedOn:
    """The record of a checkpoint; None is a policy made from nothing. UserError for a broken record."""
    if checkpoint is None:
        return TrainedOn()
    path = checkpoint / TRAINED_ON_RECORD
    if not path.exists():
        return TrainedOn(is_complete=False)
    try:
        fields = Fields(json.loads(plain_text(path)), "the record")
        if (version := fields.whole("version")) != VERSION:
            raise UserError(f"{path} is of version {version}, and this Saccade reads version {VERSION}; update Saccade")
        return TrainedOn(
            is_complete=fields.truth("is_complete"),
            _questions=_unpacked(fields.text("questions")),
            _pictures=_unpacked(fields.text("pictures")),
        )
    except (OSError, ValueError, BrokenRecordError, RecursionError) as error:
        raise UserError(
            f"{path}, which records what this checkpoint was trained on, cannot be read: {error}; delete it to "
            "continue without it"
        ) from error


def _question(task: Task) -> int:
    return _hash(json.dumps([task.question, list(task.choices), [image.hash for image in task.images]]))


def _picture(task: Task) -> int:
    """Hash of all pictures of a question together: a frame that two videos share makes them no copies."""
    return _hash(json.dumps(sorted(image.hash for image in task.images)))


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:_BYTES], "big")


def _packed(hashes: set[int]) -> str:
    return base64.b64encode(b"".join(one.to_bytes(_BYTES, "big") for one in sorted(hashes))).decode("ascii")


def _unpacked(text: str) -> set[int]:
    content = base64.b64decode(text, validate=True)
    if len(content) % _BYTES:
        raise ValueError("the hashes are cut")
    return {int.from_bytes(content[at : at + _BYTES], "big") for at in range(0, len(content), _BYTES)}
