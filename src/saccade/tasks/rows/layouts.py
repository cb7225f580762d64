"""The layouts of task files in use (easyr1, verl, sharegpt, plain), each read to the same ``RowParts``.

====================  =================================================================================================
``easyr1``            ``problem, answer, images`` and perhaps ``target_instances, id, datasource, choices``; so are
                      TreeVGR-RL-37K and, with ``query, question, question_type`` too, iVGR-RL-51K
``verl``              ``prompt`` (messages), ``images, reward_model.ground_truth``, ``extra_info, data_source``
``sharegpt``          ``conversations`` (from, value) or ``messages`` (role, content) and ``images`` or ``image``
``plain``             ``question, answer, image`` and perhaps ``id, choices, answer_kind, family, tolerance, boxes``
any                   ``answer`` may be a list of all answers that count (or ``answers``, or ``accepted`` beside it);
                      images that are frames of a video have ``frame_times_s``, and perhaps ``event_s`` (start, end)
====================  =================================================================================================

A row of ``easyr1`` may word its question for two streams: ``problem`` is ``Task.question``, which the grounded stream
is asked, with the options of a multiple choice; ``query`` is ``Task.wordings["textual"]`` where it differs, and the
question itself where ``problem`` is empty; ``question`` is not read, as it may lack the options that an answer's
letter names. So TreeVGR-RL-37K, which has ``problem`` alone, and iVGR-RL-51K ask the same question by the same id.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from saccade.tasks.rows.fields import (
    Row,
    RowError,
    RowValue,
    is_encodable,
    kind_of,
    listed,
    mapping,
    optional_number,
    optional_text,
    required_text,
)
from saccade.tasks.rows.images import EVENT_KEYS, FRAME_TIME_KEYS

IMAGE_KEYS = ("images", "image", "image_path", "file_name", "filename", "file")
IMAGE_MARKER = "<image>"
MAX_QUESTION_CHARACTERS = 100_000

TEXTUAL = "textual"
"""The protocol that asks in ``query``'s words."""

_LETTER = re.compile(r"\s*[(\[]?[A-Za-z][)\].:]?\s*")
_CHOICE_TYPES = frozenset(["choice", "choices", "multiplechoice", "singlechoice", "mcq", "mc", "multichoice"])
_ROLES = {"human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant", "system": "system"}
_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True)
class RowParts:
    """Parts of a row, before images are opened and answers are understood."""

    question: str
    answer: RowValue
    answer_key: str
    images: tuple[RowValue, ...]
    images_key: str
    id: str | None = None
    family: str | None = None
    choices: RowValue = None
    answer_kind: str | None = None
    tolerance: float | None = None
    difficulty: float | None = None
    targets: RowValue = None
    targets_key: str = "boxes"
    wordings: Mapping[str, str] = field(default_factory=dict)
    accepted: RowValue = None
    """Further answers that count."""
    frame_times: RowValue = None
    frame_times_key: str = FRAME_TIME_KEYS[0]
    event: RowValue = None
    event_key: str = EVENT_KEYS[0]


def detect(row: Row) -> str | None:
    """The layout that the row's keys speak of, or None."""
    if isinstance(row.get("prompt"), list) and ("reward_model" in row or "data_source" in row):
        return "verl"
    if "problem" in row:
        return "easyr1"
    if "question" in row and "answer" in row:
        return "plain"
    if isinstance(row.get("conversations"), list) or isinstance(row.get("messages"), list):
        return "sharegpt"
    return "plain" if "question" in row else None


def read_plain(row: Row) -> RowParts:
    key = "answers" if row.get("answer") is None and row.get("answers") is not None else "answer"
    return _parts(row, required_text(row, "question"), row.get(key), key, targets_key="boxes")


def read_easyr1(row: Row) -> RowParts:
    """Targets in pixels of the original; a row without any is as good."""
    key, question = asked_in(row)
    answer = row.get("answer")
    parts = _parts(row, question, answer, "answer", targets_key="target_instances", question_key=key)
    return replace(
        parts,
        answer_kind=parts.answer_kind or kind_by_question_type(row.get("question_type"), answer),
        wordings=other_wordings(row, parts.question, len(parts.images)),
    )


def read_verl(row: Row) -> RowParts:
    """The system message is left out: the protocol writes its own.

    Where ``extra_info.question`` is part of the prompt it is the question, free of the prompt's own format rules.
    """
    turns = _turns(row.get("prompt"), "prompt", role_key="role", text_key="content")
    questions = [text for role, text in turns if role == "user"]
    if len(questions) != 1 or any(role == "assistant" for role, _ in turns):
        raise RowError("prompt", f"must hold one user message and no answer; it has {len(questions)} user messages")
    question = questions[0]
    extra = row.get("extra_info")
    extra = mapping(extra, "extra_info") if extra is not None else {}
    bare = extra.get("question")
    if isinstance(bare, str) and bare.strip() and bare.strip() in question:
        question = bare.strip()
    gold = mapping(row.get("reward_model"), "reward_model").get("ground_truth")
    parts = _parts(row, question, gold, "reward_model.ground_truth", targets_key="target_instances")
    if parts.id is not None or extra.get("index") is None:
        return parts
    # The index alone would be the same in the train and the test file.
    place = [optional_text(row, "data_source"), optional_text(extra, "split"), optional_text(extra, "index")]
    return replace(parts, id="/".join(word for word in place if word))


def read_sharegpt(row: Row) -> RowParts:
    """One task per conversation: earlier questions and answers stay before the last question as text.

    The answer is the last assistant text: the inside of its ``<answer>`` where it has one, without ``<think>``.
    """
    key, turns = conversation(row)
    asked = [index for index, (role, _) in enumerate(turns) if role == "user"]
    if not asked:
        raise RowError(key, "has no user message")
    earlier = [f"{'Question' if role == 'user' else 'Answer'}: {text}" for role, text in turns[: asked[-1]]]
    question = turns[asked[-1]][1]
    if earlier:
        question = "\n".join([*earlier, f"Question: {question}"])
    return _parts(row, question, _final_answer(turns[-1][1], key), key, targets_key="target_instances")


def conversation(row: Row) -> tuple[str, list[tuple[str, str]]]:
    """The key of a conversation, and (role, text) of its messages up to the assistant's last; no system message."""
    key, role_key, text_key = "messages", "role", "content"
    if "conversations" in row:
        key, role_key, text_key = "conversations", "from", "value"
    turns = [turn for turn in _turns(row.get(key), key, role_key=role_key, text_key=text_key) if turn[0] != "system"]
    if not turns or turns[-1][0] != "assistant":
        raise RowError(key, "does not end with an assistant's answer")
    return key, turns


LAYOUTS: Mapping[str, Callable[[Row], RowParts]] = MappingProxyType(
    {"plain": read_plain, "easyr1": read_easyr1, "verl": read_verl, "sharegpt": read_sharegpt}
)


def _parts(
    row: Row, question: str, answer: RowValue, answer_key: str, *, targets_key: str, question_key: str = "question"
) -> RowParts:
    images_key = next((key for key in IMAGE_KEYS if row.get(key)), "images")
    images = tuple(listed(row.get(images_key), images_key))
    if listed(row.get("videos"), "videos"):
        raise RowError(
            "videos", "videos cannot be read from files; give the frames as images, and their frame_times_s in seconds"
        )
    frame_times_key = next((key for key in FRAME_TIME_KEYS if row.get(key)), FRAME_TIME_KEYS[0])
    event_key = next((key for key in EVENT_KEYS if row.get(key)), EVENT_KEYS[0])
    return RowParts(
        question=without_markers(question, len(images), question_key),
        answer=answer,
        answer_key=answer_key,
        images=images,
        images_key=images_key,
        id=optional_text(row, "id", "question_id"),
        family=optional_text(row, "family", "category", "data_source", "datasource"),
        choices=row.get("choices") if row.get("choices") is not None else row.get("options"),
        answer_kind=optional_text(row, "answer_kind"),
        tolerance=optional_number(row, "tolerance", low=0.0, high=1.0),
        difficulty=optional_number(row, "difficulty", low=0.0, high=1.0),
        targets=row.get(targets_key),
        targets_key=targets_key,
        accepted=row.get("accepted"),
        frame_times=row.get(frame_times_key),
        frame_times_key=frame_times_key,
        event=row.get(event_key) if row.get(frame_times_key) or event_key == EVENT_KEYS[0] else None,
        event_key=event_key,
    )


def _turns(value: RowValue, key: str, *, role_key: str, text_key: str) -> list[tuple[str, str]]:
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
    """A message's text; of a list of parts, texts as they are and images as markers."""
    if isinstance(content, str):
        return content.strip()
    words = []
    for part in listed(content, key):
        fields = mapping(part, key)
        if fields.get("type") == "image":
            words.append(IMAGE_MARKER)
        elif isinstance(text := fields.get("text"), str):
            words.append(text)
        else:
            raise RowError(key, f"a message holds a part that is neither text nor image: {sorted(fields)}")
    return "".join(words).strip()


def _final_answer(text: str, key: str) -> str:
    tagged = _ANSWER.findall(text)
    if len(tagged) > 1:
        raise RowError(key, f"the last message holds {len(tagged)} <answer> blocks; leave one")
    return str(tagged[0] if tagged else text.rpartition("</think>")[2]).strip()


def asked_in(row: Row) -> tuple[str, str]:
    """The key that holds the question of the two-stream layouts, and its text with markers."""
    for key in ("problem", "query"):
        text = optional_text(row, key)
        if text:
            return key, text
    raise RowError("problem", "is missing or empty")


def other_wordings(row: Row, question: str, images: int) -> Mapping[str, str]:
    """The textual wording where ``query`` differs from the question once markers are gone."""
    query = optional_text(row, "query")
    if not query:
        return {}
    bare = without_markers(query, images, "query")
    return {} if " ".join(bare.split()) == " ".join(question.split()) else {TEXTUAL: bare}


def kind_by_question_type(question_type: RowValue, answer: RowValue) -> str | None:
    """``choice`` for an option's letter to a multiple-choice question; None where the answer alone decides.

    The type is a hint: a multiple choice answered in any other way than by a letter is not one for us.
    """
    if not isinstance(question_type, str) or not isinstance(answer, str):
        return None
    named = "".join(character for character in question_type.casefold() if character.isalpha())
    return "choice" if named in _CHOICE_TYPES and _LETTER.fullmatch(answer) else None


def without_markers(question: str, images: int, key: str = "question") -> str:
    """Markers at either end say nothing; one in the middle of a sentence becomes the image's number."""
    if not is_encodable(question):
        raise RowError(key, "holds half a surrogate pair, which is no text")
    if len(question) > MAX_QUESTION_CHARACTERS:
        raise RowError(key, f"has {len(question)} characters, more than {MAX_QUESTION_CHARACTERS}")
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
