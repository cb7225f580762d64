"""The layouts of task files in use, each read to the same ``RowParts``.

====================  =================================================================================================
``easyr1``            ``problem, answer, images`` and perhaps ``target_instances, id, datasource, choices``; so are
                      TreeVGR-RL-37K and, with ``query, question, question_type`` too, iVGR-RL-51K
``verl``              ``prompt`` (messages), ``images, reward_model.ground_truth``, ``extra_info, data_source``
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

from collections.abc import Callable, Mapping
from types import MappingProxyType

from saccade.tasks.rows.conversations import GOLD_KEYS, holds_conversation, read_alpaca, read_sharegpt, read_trl
from saccade.tasks.rows.exported import ground_truth_in, read_exported
from saccade.tasks.rows.fields import Row, RowError
from saccade.tasks.rows.nearest import refusal, renaming
from saccade.tasks.rows.parts import RowParts
from saccade.tasks.rows.problems import PLAIN_ANSWERS, read_easyr1, read_plain, read_video_r1
from saccade.tasks.rows.verl import read_verl

LAYOUTS: Mapping[str, Callable[[Row], RowParts]] = MappingProxyType(
    {
        "plain": read_plain,
        "easyr1": read_easyr1,
        "verl": read_verl,
        "sharegpt": read_sharegpt,
        "video_r1": read_video_r1,
        "trl": read_trl,
        "alpaca": read_alpaca,
        "exported": read_exported,
    }
)


def detect(row: Row) -> str | None:
    """The layout that the row's keys speak of, or None."""
    if ground_truth_in(row) is not None:
        return "exported"
    if isinstance(row.get("prompt"), list) and ("reward_model" in row or "reward_spec" in row or "data_source" in row):
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
    return RowError("", refusal(row, tuple(LAYOUTS)))


def with_renaming(error: RowError, row: Row) -> RowError:
    """The error of a row without an answer or a question, with the key that may be meant."""
    if error.key not in ("answer", "question") or not error.why.startswith(("there is no answer", "is missing")):
        return error
    other = renaming(row, "question", "answer").get(error.key)
    return error if other is None else RowError(error.key, f"{error.why}; rename `{other}` to `{error.key}`")
