"""Examples of the cold start: texts of both streams read, checked and written."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from saccade.curation.examples import EXAMPLES, read_turns, turn_rows
from saccade.curation.rows import check_images, question_row
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.protocols.box_text import MAX_BOXES, find_boxes, has_box_tag, written_box
from saccade.protocols.protocol import ChatProtocol
from saccade.protocols.tagged import parse
from saccade.protocols.two_streams import grounded_protocol, textual_protocol
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.tasks.files import check_bad_rows, task_rows
from saccade.tasks.rows.conversations import conversation
from saccade.tasks.rows.fields import Row, RowError, optional_text, short
from saccade.tasks.rows.images import inside
from saccade.tasks.rows.tasks import BadRow, TaskRow
from saccade.types import Answer, BoxMention, Example, ExpertTurn, ImageRef, Json, Malformed, Task

StreamName = Literal["grounded", "textual"]

_OPENED, _CLOSED = "<box>", "</box>"

_PROTOCOLS: Mapping[StreamName, ChatProtocol] = MappingProxyType(
    {"grounded": grounded_protocol(), "textual": textual_protocol()}
)


def stream_of(thought: str) -> StreamName:
    """``grounded`` when a box is named in it."""
    return "grounded" if has_box_tag(thought) else "textual"


def read_reply(text: str, key: str) -> ExpertTurn:
    """The turn of an assistant's text, its boxes unchecked; ``RowError`` names ``key``."""
    parsed = parse(text, offers_tools=False)
    if isinstance(parsed.action, Malformed):
        raise RowError(key, f"{parsed.action.why}; it is {short(text)}")
    assert isinstance(parsed.action, Answer)
    if not parsed.thought:
        raise RowError(key, f"has no reasoning before </think>: {short(text)}")
    if text.count(_OPENED) != parsed.thought.count(_OPENED):
        outside = text.replace(parsed.thought, "", 1)
        raise RowError(key, f"has a box outside of the reasoning: {short(outside)}")
    return ExpertTurn(thought=parsed.thought, action=parsed.action)


def imitable(turn: ExpertTurn, image: ImageRef, key: str) -> ExpertTurn:
    """The turn with its boxes inside the image; ``RowError`` when its stream's protocol cannot write it."""
    turn = ExpertTurn(thought=_inside(turn.thought, image, key), action=turn.action)
    try:
        _PROTOCOLS[stream_of(turn.thought)].write(turn)
    except UserError as error:
        raise RowError(key, str(error)) from error
    return turn


def _inside(thought: str, image: ImageRef, key: str) -> str:
    found = find_boxes(thought)
    unreadable = next((mention for mention in found.mentions if mention.box is None), None)
    if unreadable is not None:
        raise RowError(key, f"the box {short(unreadable.text)} is not four numbers in brackets")
    if not found.is_well_formed:
        raise RowError(key, f"has a tag of a box that is not closed or opened, or more than {MAX_BOXES} boxes")
    pieces, start = [], 0
    for mention in found.mentions:
        opened = thought.index(_OPENED, start)
        pieces += [thought[start:opened], _box_text(mention, image, key)]
        start = thought.index(_CLOSED, opened) + len(_CLOSED)
    return "".join([*pieces, thought[start:]])


def _box_text(mention: BoxMention, image: ImageRef, key: str) -> str:
    """The box as it stands there, unless the edge cuts it off."""
    assert mention.box is not None
    clipped = inside(mention.box, image, key)
    return f"{_OPENED}{mention.text}{_CLOSED}" if clipped == mention.box else written_box(clipped)


@dataclass(frozen=True, kw_only=True, slots=True)
class ColdStartExample:
    """An example of one turn, and the stream whose protocol writes it."""

    example: Example
    """Boxes of its thought are in pixels of the original of the first image."""

    @property
    def thought(self) -> str:
        return self.example.turns[0].thought

    @property
    def stream(self) -> StreamName:
        """``grounded`` when its thought has a box, else ``textual``."""
        return stream_of(self.thought)


@dataclass(frozen=True, kw_only=True, slots=True)
class ColdStart:
    """The examples of a file in its order, and the rows that were left out."""

    examples: tuple[ColdStartExample, ...]
    skipped: tuple[BadRow, ...] = ()


def read_cold_start(
    path: Path, media: MediaStore, *, skip_bad_rows: bool = False, image_root: Path | None = None
) -> ColdStart:
    """The examples of a file or folder; of a curation's folder, its ``examples.jsonl``. Images go to ``media``.

    A conversation's id is a hash of all that it says, after its own id where it has one, so that a question may be
    answered in several ways. ``UserError`` lists the bad rows, copies among them, unless they are to be skipped.
    """
    file = path / EXAMPLES if (path / EXAMPLES).is_file() else path
    examples: list[ColdStartExample] = []
    bad: list[BadRow] = []
    first_seen: dict[tuple[str, StreamName], str] = {}
    for read in task_rows(file, media=media, image_root=image_root):
        try:
            one = _example(read)
            key = (one.example.task.id, one.stream)
            if key in first_seen:
                raise RowError("", f"repeats the example of {first_seen[key]}")
        except RowError as error:
            bad.append(read.bad_row(error))
        else:
            first_seen[key] = f"{read.file}, row {read.number}"
            examples.append(one)
    check_bad_rows(file, bad, len(examples), skip_bad_rows=skip_bad_rows)
    return ColdStart(examples=tuple(examples), skipped=tuple(bad))


def cold_start_row(one: ColdStartExample, images: list[str]) -> dict[str, Json]:
    """A curated row; ``images`` are paths from its file."""
    return {**question_row(one.example.task, images), "stream": one.stream, "turns": turn_rows(one.example)}


def _example(read: TaskRow) -> ColdStartExample:
    if isinstance(read.task, RowError):
        raise read.task
    assert read.row is not None
    if not read.task.images:
        raise RowError("images", "there is no image, and the cold start reasons about one")
    if read.row.get("turns") is not None:
        return _curated_example(read.row, read.task)
    return _conversation_example(read.row, read.task)


def _curated_example(row: Row, task: Task) -> ColdStartExample:
    check_images(row, task)
    turns = read_turns(row["turns"], task)
    if len(turns) != 1:
        raise RowError("turns", f"has {len(turns)} turns; reasoning and answer must be one turn")
    one = ColdStartExample(example=Example(task=task, turns=(imitable(turns[0], task.images[0], "turns[0]"),)))
    stream = optional_text(row, "stream")
    if stream not in (None, one.stream):
        raise RowError("stream", f"is {stream!r}, but by its boxes the reasoning is {one.stream}")
    return one


def _conversation_example(row: Row, task: Task) -> ColdStartExample:
    key, turns = conversation(row)
    if [role for role, _ in turns] != ["user", "assistant"]:
        raise RowError(key, f"must be one question and one answer, not {len(turns)} messages")
    turn = imitable(read_reply(turns[-1][1], key), task.images[0], key)
    assert isinstance(turn.action, Answer)
    if not answer_is_right(task, turn.action.text):
        raise RowError(key, f"answers {turn.action.text[:80]!r}, and the right answer is {task.answer[:80]!r}")
    return ColdStartExample(example=Example(task=_with_identity(task, row, turn), turns=(turn,)))


def _with_identity(task: Task, row: Row, turn: ExpertTurn) -> Task:
    said = json.dumps([task.question, [image.hash for image in task.images], turn.thought, task.answer])
    digest = hashlib.sha256(said.encode()).hexdigest()[:16]
    own = optional_text(row, "id", "question_id")
    return replace(task, id=f"{own}/{digest}" if own else digest)
