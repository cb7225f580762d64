"""The layouts of task files in use, each read to the same ``RowParts``.

====================  =================================================================================================
``easyr1``            ``problem, answer, images`` and perhaps ``target_instances, id, datasource, choices``; so are
                      TreeVGR-RL-37K and, with ``query, question, question_type`` too, iVGR-RL-51K
``verl``              ``prompt`` (messages or text), ``images, reward_model.ground_truth``, ``extra_info, data_source``
``trl``               ``prompt`` (messages or text) and ``solution``, ``answer``, ``label``, ``completion``
``sharegpt``          ``conversations`` or ``messages`` (from, value or role, content; a list or JSON text) and
                      ``images`` or ``image``, or pictures in parts of messages, as LLaVA, ms-swift (with ``objects``),
                      MM-Eureka and OpenAI's files have them; the answer at the end, or as ``solution`` or ``answer``
``alpaca``            ``instruction, input, output``, or ms-swift's ``query, response``; perhaps ``history, system``;
                      or PaliGemma's ``prefix, suffix``
``video_r1``          ``problem, solution`` (with ``<answer>``), ``path`` beside ``data_type`` (image, video), and
                      perhaps ``options, problem_type, problem_id, data_source``: Video-R1-260k and its like
``exported``          what ``saccade export --family`` writes for verl, EasyR1, TRL, lmms-eval and the hub
``plain``             ``question, answer, image`` and perhaps ``id, choices, answer_kind, family, tolerance, boxes``
any                   ``answer`` may be a list of all answers that count (or ``answers``, or ``accepted`` beside it),
                      or boxes; options as ``choices``, ``options`` or columns ``A``, ``B``, …;
                      instead of images a video, as ``videos`` says, and perhaps ``event_s`` (start, end); where
                      it is asked, as ``pages`` says
====================  =================================================================================================

A row of ``easyr1`` may word its question for two streams: ``problem`` is ``Task.question``, which the grounded stream
is asked, with the options of a multiple choice; ``query`` is ``Task.wordings["textual"]`` where it differs, and the
question itself where ``problem`` is empty; ``question`` is not read, as it may lack the options that an answer's
letter names. So TreeVGR-RL-37K, which has ``problem`` alone, and iVGR-RL-51K ask the same question by the same id.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module

from saccade.tasks.rows.fields import Row, RowError, RowValue, mapping
from saccade.tasks.rows.parts import RowParts
from saccade.tasks.rows.problems import PLAIN_ANSWERS

LAYOUTS = {
    "plain": "problems:read_plain",
    "easyr1": "problems:read_easyr1",
    "verl": "verl:read_verl",
    "sharegpt": "conversations:read_sharegpt",
    "video_r1": "problems:read_video_r1",
    "trl": "conversations:read_trl",
    "alpaca": "conversations:read_alpaca",
    "exported": "exported:read_exported",
}
"""The module beside this one that reads a layout, imported with the first row of it, and its function."""
MESSAGE_KEYS = ("conversations", "messages", "message", "message_list", "conversation", "dialogue", "texts")
GOLD_KEYS = ("solution", "answer", "ground_truth", "answers")
"""Where a conversation that is to be answered has its right answer."""
_EXPORTED_KEYS = {"question", "answer", "answer_kind", "tolerance", "choices", "accepted"}


@cache
def reader_of(layout: str) -> Callable[[Row], RowParts]:
    """What reads the rows of a layout."""
    module, _, name = LAYOUTS[layout].partition(":")
    read: Callable[[Row], RowParts] = getattr(import_module(f"saccade.tasks.rows.{module}"), name)
    return read


def holds_messages(value: RowValue) -> bool:
    is_list = isinstance(value, list) and all(isinstance(item, dict) for item in value)
    return is_list or (isinstance(value, str) and value.lstrip().startswith("[{"))


def holds_conversation(row: Row) -> bool:
    return any(holds_messages(row.get(key)) for key in MESSAGE_KEYS)


def ground_truth_in(row: Row) -> Mapping[str, RowValue] | None:
    """The ground truth of an exported question, wherever its form has it; None for any other row."""
    reward = row.get("reward_model")
    inner = reward.get("ground_truth") if isinstance(reward, Mapping) else None
    places = (row.get("ground_truth"), row.get("answer"), inner)
    for text in places:
        if isinstance(text, str) and text.startswith('{"answer": '):
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, Mapping) and value.keys() >= _EXPORTED_KEYS:
                return mapping(value, "ground_truth")
    return None


def detect(row: Row) -> str | None:
    """The layout that the row's keys speak of, or None."""
    if ground_truth_in(row) is not None:
        return "exported"
    has_reward = row.get("reward_model") is not None or row.get("reward_spec") is not None
    if row.get("prompt") is not None and (has_reward or (isinstance(row["prompt"], list) and "data_source" in row)):
        return "verl"
    if "problem" in row and (row["problem"] or row.get("query") or not holds_conversation(row)):
        return "video_r1" if "solution" in row and row.get("answer") is None else "easyr1"
    if "question_type" in row and "target_instances" in row:
        return "easyr1"  # of which ``question`` is not read
    if "question" in row and any(key in row for key in PLAIN_ANSWERS):
        return "plain"
    if holds_conversation(row):
        return "sharegpt"
    if row.get("prompt") is not None and any(key in row for key in (*GOLD_KEYS, "completion", "label", "chosen")):
        return "trl"
    if ("instruction" in row and "output" in row) or ("query" in row and "response" in row):
        return "alpaca"
    if "prefix" in row and "suffix" in row:
        return "alpaca"
    return "plain" if "question" in row else None


def unknown_layout(row: Row) -> RowError:
    """Why a row fits no layout, and what to rename in it."""
    from saccade.tasks.rows.nearest import refusal

    return RowError("", refusal(row, tuple(LAYOUTS)))


def with_renaming(error: RowError, row: Row) -> RowError:
    """The error of a row without an answer or a question, with the key that may be meant."""
    if error.key not in ("answer", "question") or not error.why.startswith(("there is no answer", "is missing")):
        return error
    from saccade.tasks.rows.nearest import renaming

    other = renaming(row, "question", "answer").get(error.key)
    return error if other is None else RowError(error.key, f"{error.why}; rename `{other}` to `{error.key}`")
