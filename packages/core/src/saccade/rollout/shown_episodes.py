"""Episodes of a file that are shown before questions: conversations, or trajectories that Saccade has recorded."""

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast
from weakref import WeakKeyDictionary

from saccade.codec.codecs import plain_json
from saccade.entry_points import part
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.plain_files import open_plain
from saccade.protocols.few_shot import ShownEpisode, ShownTurn
from saccade.tasks.conversations import read_conversations
from saccade.types import ImageRef, SpokenConversation, SpokenMessage, Task, ToolResult

_HEADER = b'{"kind": "header"'

_known: WeakKeyDictionary[MediaStore, dict[tuple[str, int], Sequence[ShownEpisode]]] = WeakKeyDictionary()
_reading = threading.Lock()


def shown_episodes(file: str, count: int, media: MediaStore) -> Sequence[ShownEpisode]:
    """At least ``count`` episodes of the file, read once for a store of images; UserError where there are fewer.

    One more than that where there are so many, in place of an episode whose question is asked.
    """
    with _reading:
        known = _known.setdefault(media, {})
        if (file, count) not in known:
            known[file, count] = _read(file, count, media)
        return known[file, count]


def shown_hash(files: Iterable[tuple[str, int]], media: MediaStore) -> str:
    """SHA-256 of the episodes that are shown, so many of each file, and of their pictures.

    What follows in a file after those has no part in it.
    """
    shown = [one for file, count in files for one in shown_episodes(file, count, media)]
    # A task of a file has its name, which is not shown.
    said = [plain_json(replace(one, where="", task=replace(one.task, id="", family=""))) for one in shown]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _read(file: str, count: int, media: MediaStore) -> Sequence[ShownEpisode]:
    if not file:
        raise UserError(
            f"few_shot={count} shows episodes of a file; name it with rollout.few_shot_file=PATH, or set "
            "rollout.few_shot=0"
        )
    path = Path(file)
    if path.is_file() and _is_record(path):
        read = cast("Callable[[Path, int, MediaStore], Sequence[ShownEpisode]]", part("recorded episodes"))
        episodes = read(path, count + 1, media)
    else:
        conversations = read_conversations(path, media=media).conversations[: count + 1]
        episodes = [_spoken(one, f"{file}, conversation {number}") for number, one in enumerate(conversations, 1)]
    if len(episodes) < count:
        raise UserError(f"{file} holds {len(episodes)} episodes that can be shown; lower rollout.few_shot={count}")
    return episodes


def _is_record(path: Path) -> bool:
    with open_plain(path) as file:
        return file.read(len(_HEADER)) == _HEADER


def _spoken(conversation: SpokenConversation, where: str) -> ShownEpisode:
    """The episode that a conversation is; its own system message is left out, since the protocol has one."""
    messages = [one for one in conversation.messages if one.role != "system"]
    question, *rest = messages
    turns, results = rest[::2], rest[1::2]
    is_in_order = all(one.role == "assistant" for one in turns) and all(one.role != "assistant" for one in results)
    if question.role != "user" or not is_in_order:
        raise UserError(f"{where}: must be a question, and then turns with one result after each but the last")
    task = Task(
        id=conversation.task.id,
        family=conversation.task.family,
        question=question.text.strip(),
        answer=conversation.task.answer,
        answer_kind="text",
        images=_images(question),
    )
    given = [*(ToolResult(text=one.text, images=_images(one)) for one in results), None]
    return ShownEpisode(
        task=task,
        turns=tuple(_turn(said, result, where) for said, result in zip(turns, given, strict=True)),
        where=where,
    )


def _turn(said: SpokenMessage, result: ToolResult | None, where: str) -> ShownTurn:
    if len(said.calls) > 1:
        raise UserError(f"{where}: makes {len(said.calls)} calls in one turn; an episode makes one at a time")
    thought = said.thought or said.text
    if said.calls:
        return ShownTurn(text="", thought=thought, call=said.calls[0], result=result)
    text = f"<think>{said.thought}</think>{said.text}" if said.thought else said.text
    return ShownTurn(text=text.strip(), result=result)


def _images(message: SpokenMessage) -> tuple[ImageRef, ...]:
    return tuple(part for part in message.parts if isinstance(part, ImageRef))
