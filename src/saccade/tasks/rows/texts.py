"""Texts of a row: messages of a conversation, the answer at its end, and markers where pictures stand."""

import re

from saccade.tasks.rows.fields import Row, RowError, RowValue, is_encodable, kind_of, listed, mapping

IMAGE_MARKER = "<image>"
VIDEO_MARKER = "<video>"
MAX_QUESTION_CHARACTERS = 100_000

_ROLES = {"human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant", "system": "system"}
_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)


def conversation(row: Row) -> tuple[str, list[tuple[str, str]]]:
    """The key of a conversation, and (role, text) of its messages up to the assistant's last; no system message."""
    key, role_key, text_key = "messages", "role", "content"
    if "conversations" in row:
        key, role_key, text_key = "conversations", "from", "value"
    turns = [
        turn for turn in messages_of(row.get(key), key, role_key=role_key, text_key=text_key) if turn[0] != "system"
    ]
    if not turns or turns[-1][0] != "assistant":
        raise RowError(key, "does not end with an assistant's answer")
    return key, turns


def messages_of(value: RowValue, key: str, *, role_key: str, text_key: str) -> list[tuple[str, str]]:
    """(role, text) of each message; messages of tools are left out."""
    if not isinstance(value, list):
        raise RowError(key, f"must be a list of messages, not {kind_of(value)}")
    turns = []
    for message in value:
        fields = mapping(message, key)
        role = _ROLES.get(str(fields.get(role_key)))
        if role is not None:
            turns.append((role, _text_of(fields.get(text_key), key)))
    return turns


def _text_of(content: RowValue, key: str) -> str:
    """A message's text; of a list of parts, texts as they are, images and videos as markers."""
    if isinstance(content, str):
        return content.strip()
    words = []
    for part in listed(content, key):
        fields = mapping(part, key)
        if fields.get("type") in ("image", "video"):
            words.append(IMAGE_MARKER if fields["type"] == "image" else VIDEO_MARKER)
        elif isinstance(text := fields.get("text"), str):
            words.append(text)
        else:
            raise RowError(key, f"a message holds a part that is neither text nor image: {sorted(fields)}")
    return "".join(words).strip()


def final_answer(text: str, key: str) -> str:
    tagged = _ANSWER.findall(text)
    if len(tagged) > 1:
        raise RowError(key, f"the last message holds {len(tagged)} <answer> blocks; leave one")
    return str(tagged[0] if tagged else text.rpartition("</think>")[2]).strip()


def without_markers(question: str, images: int, key: str = "question", *, has_video: bool = False) -> str:
    """Markers at either end say nothing; one in the middle of a sentence becomes the image's number.

    The one marker of a video is left out wherever it stands; without images of its own, it may be an image's.
    """
    if not is_encodable(question):
        raise RowError(key, "holds half a surrogate pair, which is no text")
    if len(question) > MAX_QUESTION_CHARACTERS:
        raise RowError(key, f"has {len(question)} characters, more than {MAX_QUESTION_CHARACTERS}")
    markers = (VIDEO_MARKER, IMAGE_MARKER) if has_video and not images else (VIDEO_MARKER,)
    count = sum(question.count(marker) for marker in markers)
    if has_video and count > 1:
        raise RowError(key, f"has {count} markers of videos; a question is about one video")
    if not has_video and question.lstrip().startswith(VIDEO_MARKER):
        raise RowError("videos", f"the text has a {VIDEO_MARKER} marker, but the row has no video")
    for marker in markers if has_video else ():
        question = question.replace(marker, "")
    pieces = question.split(IMAGE_MARKER)
    if len(pieces) > 1 and len(pieces) - 1 != images:
        raise RowError("images", f"{len(pieces) - 1} {IMAGE_MARKER} markers in the text but {images} images")
    body = pieces[0]
    for number, piece in enumerate(pieces[1:], start=1):
        is_inside = body.strip() and any(later.strip() for later in pieces[number:])
        body += (f"[image {number}]" if is_inside else "") + piece
    body = body.strip()
    if not body:
        raise RowError(key, "is empty but for image markers")
    return body
