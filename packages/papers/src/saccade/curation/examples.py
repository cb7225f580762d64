"""Curated examples on disk: one JSON object a line, its images beside it.

A row is a question in the plain layout (``id, question, answer, answer_kind, images, …``), so the file can be given to
``--data`` too. Besides it has ``image_hashes`` and ``turns``, the last of them ``{"thought": …, "answer": …}``, and

- of CodeDance ``level``, ``way`` and ``kind``; a turn is ``{"thought": …, "code": …}``;
- of VISTA-R1, with calls of any tools, ``source`` and ``accepted``, which the metric of a data set goes by; a turn is
  ``{"thought": …, "call": {"name": …, "arguments": {…}}}``, coordinates in pixels of the original;
- of Argos ``sample``, ``score``, ``is_right`` and ``parts`` (``argos/traces.py``), points in pixels of the original.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from saccade.curation.codedance.outcomes import kind_of
from saccade.curation.codedance.settings import Kind, Level, Way
from saccade.curation.rows import check_images, export_path, question_row
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.protocols.code_words import PYTHON_TOOL
from saccade.protocols.markup import read_call
from saccade.rewards.answers.metrics_by_set import METRICS, answer_is_right
from saccade.tasks.files import read_tasks
from saccade.tasks.rows.fields import Row, RowError, RowValue, is_encodable, listed, mapping
from saccade.tasks.rows.fields import kind_of as type_name
from saccade.tasks.rows.tasks import BadRow, lines_of
from saccade.tasks.rows.text_files import json_lines
from saccade.tasks.rows.videos import NO_BOUND
from saccade.types import Answer, Example, ExpertTurn, Json, Malformed, Task, ToolCall

EXAMPLES = "examples.jsonl"
BAD_ROWS_SHOWN = 20

Item = TypeVar("Item")


def example_row(example: Example, *, level: Level, way: Way, kind: Kind | None) -> dict[str, Json]:
    """An example as a row of the file; its images are ``images/<hash>.png`` beside it."""
    row: dict[str, Json] = {
        **question_row(example.task, [export_path(image) for image in example.task.images]),
        "level": level,
        "way": way,
        "turns": turn_rows(example),
    }
    return row if kind is None else {**row, "kind": kind}


def turn_rows(example: Example) -> list[Json]:
    """The turns as a row holds them; ``ValueError`` for calls of other tools than Python."""
    return [_code_row(turn) for turn in example.turns]


def read_examples(path: Path, media: MediaStore) -> Sequence[Example]:
    """The examples of a file, or of a folder that holds ``examples.jsonl``, in its order; images go to ``media``.

    Everything that a demonstration needs is checked here but for running the code. UserError names the file and the
    rows that cannot be used, and why.
    """
    return read_turn_rows(path, media, lambda task, row: Example(task=task, turns=read_turns(row.get("turns"), task)))


def code_kind(example: Example) -> Kind | None:
    """The kind of an example's code; None when it has none."""
    codes = [str(turn.action.arguments.get("code", "")) for turn in example.turns if isinstance(turn.action, ToolCall)]
    return kind_of(codes) if codes else None


def _code_row(turn: ExpertTurn) -> Json:
    if isinstance(turn.action, Answer):
        return {"thought": turn.thought, "answer": turn.action.text}
    code = turn.action.arguments.get("code")
    if turn.action.name != PYTHON_TOOL or not isinstance(code, str):
        raise ValueError(f"only calls of {PYTHON_TOOL} can be written, not {turn.action.name}")
    return {"thought": turn.thought, "code": code}


def read_turns(value: RowValue, task: Task) -> tuple[ExpertTurn, ...]:
    """The turns of a row that end with the right answer; ``RowError`` says which of them is wrong."""
    if not isinstance(value, list) or not value:
        raise RowError("turns", f"must be a list of turns, not {type_name(value)}" if value else "is missing or empty")
    turns = tuple(_code_turn(item, f"turns[{index}]") for index, item in enumerate(value))
    for index, turn in enumerate(turns[:-1]):
        if isinstance(turn.action, Answer):
            raise RowError(f"turns[{index}]", "answers, and other turns follow; the answer is the last turn")
    last = turns[-1].action
    if not isinstance(last, Answer):
        raise RowError(f"turns[{len(turns) - 1}]", "is the last and gives no answer")
    if not answer_is_right(task, last.text):
        raise RowError(f"turns[{len(turns) - 1}]", f"answers {last.text!r}, and the right answer is {task.answer!r}")
    return turns


def _code_turn(item: RowValue, key: str) -> ExpertTurn:
    fields = mapping(item, key)
    does = set(fields) - {"thought"}
    if does not in ({"code"}, {"answer"}):
        raise RowError(
            key, f"must have thought and either code or answer; it has {', '.join(sorted(fields)) or 'none'}"
        )
    thought = _text(fields.get("thought", ""), f"{key}.thought")
    if does == {"code"}:
        call = ToolCall(name=PYTHON_TOOL, arguments={"code": _text(fields["code"], f"{key}.code")})
        return ExpertTurn(thought=thought, action=call)
    return ExpertTurn(thought=thought, action=Answer(text=_text(fields["answer"], f"{key}.answer")))


def tool_example_row(example: Example, images: Sequence[str]) -> dict[str, Json]:
    """An example as a row of the file; ``images`` are paths from the file."""
    task = example.task
    row = {**question_row(task, images), "source": task.source, "turns": tool_turn_rows(example.turns)}
    return {**row, "accepted": list(task.accepted)} if task.accepted else row


def tool_turn_rows(turns: Sequence[ExpertTurn]) -> list[Json]:
    """Turns as a row holds them."""
    return [_call_row(turn) for turn in turns]


def read_tool_examples(path: Path, media: MediaStore) -> Sequence[Example]:
    """The examples of a file, or of a folder that holds ``examples.jsonl``, in its order; images go to ``media``.

    Everything that a demonstration needs is checked but for running the tools. UserError names the file and the rows
    that cannot be used, and why.
    """
    return read_turn_rows(path, media, _tool_example)


def read_turn_rows(path: Path, media: MediaStore, read: Callable[[Task, Row], Item]) -> list[Item]:
    """What ``read`` makes of each row with turns, in the order of the file, or of a folder's ``examples.jsonl``.

    ``read`` raises RowError; UserError names the file and all bad rows.
    """
    file = path / EXAMPLES if path.is_dir() else path
    if file.suffix.lower() != ".jsonl":
        raise UserError(f"{file}: curated examples are JSON lines; give the folder of a curation or its {EXAMPLES}")
    if not file.exists():
        raise UserError(f"{file}: there is no such file; give the folder of a curation or its {EXAMPLES}")
    # Reads every image too; a row without a usable question is a UserError with file and row already.
    tasks = read_tasks(file, media=media, layout="plain", max_frames=NO_BOUND).tasks
    items: list[Item] = []
    bad: list[BadRow] = []
    for task, numbered in zip(tasks, json_lines(file), strict=True):
        try:
            if isinstance(numbered.row, RowError):
                raise numbered.row
            check_images(numbered.row, task)
            items.append(read(task, numbered.row))
        except RowError as error:
            bad.append(BadRow(file=str(file), row=numbered.number, key=error.key, why=error.why))
    if bad:
        lines = lines_of(bad, BAD_ROWS_SHOWN)
        raise UserError("\n".join([f"{file}: {len(bad)} of {len(tasks)} examples cannot be used", *lines]))
    return items


def read_tool_turns(value: RowValue) -> tuple[ExpertTurn, ...]:
    """The turns of a row, calls first and an answer at the end; ``RowError`` says which of them is wrong."""
    items = listed(value, "turns")
    turns = tuple(_call_turn(item, f"turns[{index}]") for index, item in enumerate(items))
    if not turns or [isinstance(turn.action, Answer) for turn in turns] != [False] * (len(turns) - 1) + [True]:
        raise RowError("turns", "must be calls and, as the last one, an answer")
    return turns


def _tool_example(task: Task, row: Row) -> Example:
    accepted = tuple(str(one) for one in listed(row.get("accepted"), "accepted"))
    source = str(row.get("source") or task.source)
    # Files from before rows named their metric name the set alone.
    metric = task.metric or (source if source in METRICS else "")
    task = replace(task, source=source, metric=metric, accepted=accepted)
    turns = read_tool_turns(row.get("turns"))
    last = turns[-1].action
    if isinstance(last, Answer) and not answer_is_right(task, last.text):
        raise RowError("turns", f"end with the answer {last.text!r}, and the right answer is {task.answer!r}")
    return Example(task=task, turns=turns)


def _call_row(turn: ExpertTurn) -> Json:
    if isinstance(turn.action, Answer):
        return {"thought": turn.thought, "answer": turn.action.text}
    call: Mapping[str, Json] = {"name": turn.action.name, "arguments": dict(turn.action.arguments)}
    return {"thought": turn.thought, "call": call}


def _call_turn(item: RowValue, key: str) -> ExpertTurn:
    fields = mapping(item, key)
    thought = _text(fields.get("thought", ""), f"{key}.thought")
    match sorted(set(fields) - {"thought"}):
        case ["answer"]:
            return ExpertTurn(thought=thought, action=Answer(text=_text(fields["answer"], f"{key}.answer")))
        case ["call"]:
            call = read_call(json.dumps(mapping(fields["call"], f"{key}.call")))
            if isinstance(call, Malformed):
                raise RowError(f"{key}.call", call.why)
            return ExpertTurn(thought=thought, action=call)
        case others:
            raise RowError(key, f"must have thought and either call or answer; it has {', '.join(others) or 'neither'}")


def _text(value: RowValue, key: str) -> str:
    """The text unchanged: white space matters in code."""
    if not isinstance(value, str):
        raise RowError(key, f"must be text, not {type_name(value)}")
    if not is_encodable(value):
        raise RowError(key, "holds half a surrogate pair, which is no text")
    return value
