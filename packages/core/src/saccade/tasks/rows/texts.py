"""Texts of a row: the answer at the end of a reply, and markers where pictures stand."""

import re

from saccade.tasks.rows.fields import RowError, is_encodable

IMAGE_MARKER = "<image>"
VIDEO_MARKER = "<video>"
MAX_QUESTION_CHARACTERS = 100_000

_ANSWER = re.compile(r"<(answer|CONCLUSION)>(.*?)</\1>", re.DOTALL)
_NUMBERED_MARKER = re.compile(r"<image ([1-9])>")
QWEN_MARKER = "<|vision_start|><|image_pad|><|vision_end|>"


def is_worked(text: str) -> bool:
    """Whether a reply has a thought before its answer, or other parts beside it."""
    return "</think>" in text or (_ANSWER.search(text) is not None and _ANSWER.fullmatch(text.strip()) is None)


def final_answer(text: str, key: str) -> str:
    """The inside of ``<answer>``, or of LLaVA-CoT's ``<CONCLUSION>``; else what stands after a thought."""
    tagged = [inside for _, inside in _ANSWER.findall(text)]
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
    question = question.replace(QWEN_MARKER, IMAGE_MARKER)
    numbers = [int(number) for number in _NUMBERED_MARKER.findall(question)]
    if images and numbers == list(range(1, images + 1)):
        question = _NUMBERED_MARKER.sub(IMAGE_MARKER, question)
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
