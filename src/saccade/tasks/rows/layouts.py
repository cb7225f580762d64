"""The layouts of task files in use (easyr1, verl, sharegpt, video_r1, plain), each read to the same ``RowParts``.

====================  =================================================================================================
``easyr1``            ``problem, answer, images`` and perhaps ``target_instances, id, datasource, choices``; so are
                      TreeVGR-RL-37K and, with ``query, question, question_type`` too, iVGR-RL-51K
``verl``              ``prompt`` (messages), ``images, reward_model.ground_truth``, ``extra_info, data_source``
``sharegpt``          ``conversations`` (from, value) or ``messages`` (role, content) and ``images`` or ``image``
``video_r1``          ``problem, solution`` (with ``<answer>``), ``path`` beside ``data_type`` (image, video), and
                      perhaps ``options, problem_type, problem_id, data_source``: Video-R1-260k and its like
``plain``             ``question, answer, image`` and perhaps ``id, choices, answer_kind, family, tolerance, boxes``
any                   ``answer`` may be a list of all answers that count (or ``answers``, or ``accepted`` beside it);
                      instead of images a video, as ``videos`` says, and perhaps ``event_s`` (start, end); where
                      it is asked, as ``pages`` says
====================  =================================================================================================

A row of ``easyr1`` may word its question for two streams: ``problem`` is ``Task.question``, which the grounded stream
is asked, with the options of a multiple choice; ``query`` is ``Task.wordings["textual"]`` where it differs, and the
question itself where ``problem`` is empty; ``question`` is not read, as it may lack the options that an answer's
letter names. So TreeVGR-RL-37K, which has ``problem`` alone, and iVGR-RL-51K ask the same question by the same id.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from saccade.tasks.rows.fields import (
    Row,
    RowError,
    RowValue,
    listed,
    mapping,
    optional_number,
    optional_text,
    required_text,
)
from saccade.tasks.rows.pages import RowScope, read_scope
from saccade.tasks.rows.texts import conversation, final_answer, messages_of, without_markers
from saccade.tasks.rows.videos import EVENT_KEYS, RowVideo, find_video

IMAGE_KEYS = ("images", "image", "image_path", "file_name", "filename", "file")

TEXTUAL = "textual"
"""The protocol that asks in ``query``'s words."""

REGRESSION_TOLERANCE = 0.05

_KINDS_OF_PROBLEMS = {"ocr": "text", "free-form": "text", "regression": "number"}
_LETTER = re.compile(r"\s*[(\[]?[A-Za-z][)\].:]?\s*")
_CHOICE_TYPES = frozenset(["choice", "choices", "multiplechoice", "singlechoice", "mcq", "mc", "multichoice"])


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
    metric: str | None = None
    """The published set whose metric judges the answer."""
    tolerance: float | None = None
    difficulty: float | None = None
    targets: RowValue = None
    targets_key: str = "boxes"
    wordings: Mapping[str, str] = field(default_factory=dict)
    accepted: RowValue = None
    """Further answers that count."""
    video: RowVideo | None = None
    """Instead of images."""
    event: RowValue = None
    event_key: str = EVENT_KEYS[0]
    scope: RowScope = RowScope()
    buckets: RowValue = None


def detect(row: Row) -> str | None:
    """The layout that the row's keys speak of, or None."""
    if isinstance(row.get("prompt"), list) and ("reward_model" in row or "data_source" in row):
        return "verl"
    if "problem" in row:
        return "video_r1" if "solution" in row and row.get("answer") is None else "easyr1"
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
        wordings=_other_wordings(row, parts),
    )


def read_verl(row: Row) -> RowParts:
    """The system message is left out: the protocol writes its own.

    Where ``extra_info.question`` is part of the prompt it is the question, free of the prompt's own format rules.
    """
    turns = messages_of(row.get("prompt"), "prompt", role_key="role", text_key="content")
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
    return _parts(row, question, final_answer(turns[-1][1], key), key, targets_key="target_instances")


def read_video_r1(row: Row) -> RowParts:
    """Images and videos of one file; options lose their letters.

    A ``regression`` is right within five parts in a hundred: the release grades it by nearness, and has no limit.
    """
    solution = required_text(row, "solution")
    if "<answer>" not in solution:
        raise RowError("solution", "holds no <answer>...</answer>")
    answer = final_answer(solution, "solution")
    if row.get("data_type") == "image" and row.get("path"):
        row = {**row, "images": row.get("path")}
    parts = _parts(row, required_text(row, "problem"), answer, "solution", targets_key="target_instances")
    kind = row.get("problem_type")
    kind = kind.strip().casefold() if isinstance(kind, str) else ""
    choices = listed(parts.choices, "options")
    return replace(
        parts,
        id=parts.id or optional_text(row, "problem_id"),
        choices=[_without_letter(choice, index) for index, choice in enumerate(choices)],
        answer_kind=parts.answer_kind or _KINDS_OF_PROBLEMS.get(kind) or kind_by_question_type(kind, answer),
        tolerance=REGRESSION_TOLERANCE if kind == "regression" and parts.tolerance is None else parts.tolerance,
    )


def _without_letter(choice: RowValue, index: int) -> RowValue:
    letter = chr(ord("A") + index)
    return re.sub(rf"^\(?{letter}[.):]\s*(?=\S)", "", choice.strip()) if isinstance(choice, str) else choice


LAYOUTS: Mapping[str, Callable[[Row], RowParts]] = MappingProxyType(
    {
        "plain": read_plain,
        "easyr1": read_easyr1,
        "verl": read_verl,
        "sharegpt": read_sharegpt,
        "video_r1": read_video_r1,
    }
)


def _parts(
    row: Row, question: str, answer: RowValue, answer_key: str, *, targets_key: str, question_key: str = "question"
) -> RowParts:
    images_key = next((key for key in IMAGE_KEYS if row.get(key)), "images")
    video = find_video(row, images_key)
    images = () if video else tuple(listed(row.get(images_key), images_key))
    event_key = next((key for key in EVENT_KEYS if row.get(key)), EVENT_KEYS[0])
    return RowParts(
        question=without_markers(question, _pictures(images, video), question_key, has_video=video is not None),
        answer=answer,
        answer_key=answer_key,
        images=images,
        images_key=images_key,
        id=optional_text(row, "id", "question_id"),
        family=optional_text(row, "family", "category", "data_source", "datasource"),
        choices=row.get("choices") if row.get("choices") is not None else row.get("options"),
        answer_kind=optional_text(row, "answer_kind"),
        metric=optional_text(row, "metric"),
        tolerance=optional_number(row, "tolerance", low=0.0, high=1.0),
        difficulty=optional_number(row, "difficulty", low=0.0, high=1.0),
        targets=row.get(targets_key),
        targets_key=targets_key,
        accepted=row.get("accepted"),
        video=video,
        event=row.get(event_key) if video or event_key == EVENT_KEYS[0] else None,
        event_key=event_key,
        scope=read_scope(row),
        buckets=row.get("buckets"),
    )


def _pictures(images: Sequence[RowValue], video: RowVideo | None) -> int:
    return len(images) if video is None else len(video.frames)


def asked_in(row: Row) -> tuple[str, str]:
    """The key that holds the question of the two-stream layouts, and its text with markers."""
    for key in ("problem", "query"):
        text = optional_text(row, key)
        if text:
            return key, text
    raise RowError("problem", "is missing or empty")


def _other_wordings(row: Row, parts: RowParts) -> Mapping[str, str]:
    """The textual wording where ``query`` differs from the question once markers are gone."""
    query = optional_text(row, "query")
    if not query:
        return {}
    pictures = _pictures(parts.images, parts.video)
    bare = without_markers(query, pictures, "query", has_video=parts.video is not None)
    return {} if " ".join(bare.split()) == " ".join(parts.question.split()) else {TEXTUAL: bare}


def kind_by_question_type(question_type: RowValue, answer: RowValue) -> str | None:
    """``choice`` for an option's letter to a multiple-choice question; None where the answer alone decides.

    The type is a hint: a multiple choice answered in any other way than by a letter is not one for us.
    """
    if not isinstance(question_type, str) or not isinstance(answer, str):
        return None
    named = "".join(character for character in question_type.casefold() if character.isalpha())
    return "choice" if named in _CHOICE_TYPES and _LETTER.fullmatch(answer) else None
