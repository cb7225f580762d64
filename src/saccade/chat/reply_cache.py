"""Replies on disk, one small file for each request, safe for many processes at once."""

import hashlib
import json
from pathlib import Path

from saccade.atomic import write_whole
from saccade.chat.wire import ChatReply
from saccade.errors import UserError
from saccade.types import Json


def request_key(request: Json) -> str:
    """SHA-256 of everything that a request says; the order of its keys does not matter."""
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode("ascii")).hexdigest()


class ReplyCache:
    """Replies by the key of their request. A file that cannot be read is as good as none: the server is asked again."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def get(self, key: str) -> ChatReply | None:
        try:
            value: Json = json.loads(self._path(key).read_bytes())
        except (OSError, ValueError):
            return None
        return _reply(value)

    def put(self, key: str, reply: ChatReply) -> None:
        """Written beside and renamed, so that no half reply is ever read. UserError when it cannot be written."""
        path = self._path(key)
        try:
            write_whole(json.dumps(reply.as_json()).encode("ascii"), path)
        except OSError as error:
            raise UserError(
                f"{path} cannot be written ({error.strerror}); free some space, or keep the replies in another folder"
            ) from error

    def _path(self, key: str) -> Path:
        return self._directory / key[:2] / f"{key}.json"


def _reply(value: Json) -> ChatReply | None:
    if not isinstance(value, dict):
        return None
    texts, asked, answered = (value.get(name) for name in ("texts", "prompt_tokens", "completion_tokens"))
    if not isinstance(texts, list) or not isinstance(asked, int) or not isinstance(answered, int):
        return None
    known = tuple(text for text in texts if isinstance(text, str))
    if not known or len(known) != len(texts):
        return None
    return ChatReply(texts=known, prompt_tokens=asked, completion_tokens=answered)
