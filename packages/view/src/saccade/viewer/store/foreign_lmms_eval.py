"""lmms-eval's ``DATE_samples_TASK.jsonl`` (``--log_samples``): a line for each question, with the scores of it."""

import math
import re
from collections.abc import Mapping
from pathlib import Path

from saccade.types import Attempt, Json
from saccade.viewer.store.foreign_lines import Fields, LineKind, as_number, list_pictures, numbers_of, text_of
from saccade.viewer.store.message_reading import completion_from, messages_from
from saccade.viewer.store.messages import Told, attempt_of
from saccade.viewer.store.shelf import Shelf

_OWN = frozenset({"doc_id", "target", "input", "resps", "filtered_resps", "doc_hash", "token_counts", "input_media"})
_VERDICTS = ("exact_match", "acc", "accuracy", "correct", "is_correct", "score")
_TASK = re.compile(r"samples_(.+)$")
_FAILED = "[LMMS_EVAL_REQUEST_FAILED"


def _task(path: Path) -> str:
    found = _TASK.search(path.stem)
    return (found[1] if found else path.stem)[:80]


def _is_sample(value: Fields) -> bool:
    return "doc_id" in value and "filtered_resps" in value


def _replies(value: Fields) -> list[str]:
    """The replies of one question: ``resps`` as they were said, where a filter has changed them."""
    said = value.get("resps", value.get("filtered_resps"))
    flat: list[str] = []
    waiting = [said]
    while waiting and len(flat) < 1000:
        first = waiting.pop(0)
        if isinstance(first, list):
            waiting = [*first, *waiting]
        elif first is not None:
            flat.append(str(first))
    return flat or [""]


def _count(value: Fields) -> int:
    return len(_replies(value))


def _attempt(value: Fields, shelf: Shelf, number: int) -> Attempt:
    reply = _replies(value)[number]
    scores: dict[str, float] = {}
    for name, one in value.items():
        if name in _OWN:
            continue
        number_told = _score(one)
        if number_told is not None:
            scores[name] = number_told
    is_failed = reply.startswith(_FAILED)
    told = Told(
        task=str(value.get("doc_id")),
        family="lmms-eval",
        expected=text_of(value.get("target")),
        sample=number,
        rewards=scores,
        total=sum(scores.values()) if scores else None,
        is_right=None if is_failed else _is_right(scores),
        status="failed" if is_failed else "answered",
        failure=reply[:1000] if is_failed else "",
    )
    media = list_pictures(value.get("input_media"))
    asked = value.get("input")
    prompt = messages_from(asked if isinstance(asked, str | list) else text_of(asked), shelf, media)
    return attempt_of([*prompt, *completion_from(reply, shelf)], told)


def _score(value: Json) -> float | None:
    """Of a metric: a number, or what the task's own rule wrote as ``score`` or ``correct`` into a mapping."""
    if isinstance(value, Mapping):
        named = numbers_of(value)
        return next((named[name] for name in _VERDICTS if name in named), None)
    return as_number(value)


def _is_right(scores: Mapping[str, float]) -> bool | None:
    """Known where a metric of a yes/no name, or the only one, is 0 or 1."""
    named = [one for name, one in scores.items() if name in _VERDICTS or name.endswith(("_acc", "_accuracy", "_em"))]
    said = named or list(scores.values())
    if len(said) != 1 or said[0] not in (0.0, 1.0) or math.isnan(said[0]):
        return None
    return said[0] == 1.0


LMMS_EVAL = LineKind(
    name="lmms-eval",
    stage=_task,
    is_one=_is_sample,
    to_attempt=_attempt,
    count=_count,
    words="lmms-eval keeps addresses of pictures and small ones only; this sample has none that can be shown.",
)
