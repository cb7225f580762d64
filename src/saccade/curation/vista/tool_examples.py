"""Curated trajectories with calls of any tools on disk: one JSON object a line, its images beside it.

A row is a question in the plain layout, so that the file can be given to ``--data`` too. Besides it has ``source`` and
``accepted``, which the metric of a data set goes by, and ``turns``: each is ``{"thought": …, "call": {"name": …,
"arguments": {…}}}``, coordinates in pixels of the original, and the last ``{"thought": …, "answer": …}``.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from saccade.curation.examples import EXAMPLES
from saccade.curation.rows import check_images, question_row
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.protocols.call_json import read_call
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.tasks.files import BadRow, check_bad_rows, read_tasks
from saccade.tasks.rows.fields import Row, RowError, RowValue, is_encodable, kind_of, listed, mapping
from saccade.tasks.rows.text_files import json_lines
from saccade.types import Answer, Example, ExpertTurn, Json, Malformed, Task


def tool_example_row(example: Example, images: Sequence[str]) -> dict[str, Json]:
    """An example as a row of the file; ``images`` are paths from the file."""
    task = example.task
    row = {**question_row(task, images), "source": task.source, "turns": turn_rows(example.turns)}
    return {**row, "accepted": list(task.accepted)} if task.accepted else row


def turn_rows(turns: Sequence[ExpertTurn]) -> list[Json]:
    """Turns as a row holds them."""
    return [_turn_row(turn) for turn in turns]


def read_tool_examples(path: Path, media: MediaStore) -> Sequence[Example]:
    """The examples of a file, or of a folder that holds ``examples.jsonl``, in its order; images go to ``media``.

    Everything that a demonstration needs is checked but for running the tools. UserError names the file and the rows
    that cannot be used, and why.
    """
    file = path / EXAMPLES if path.is_dir() else path
    if file.suffix.lower() != ".jsonl":
        raise UserError(f"{file}: trajectories are JSON lines; give the folder of a curation or its {EXAMPLES}")
    tasks = read_tasks(file, media=media, layout="plain").tasks
    examples: list[Example] = []
    bad: list[BadRow] = []
    for task, numbered in zip(tasks, json_lines(file), strict=True):
        try:
            if isinstance(numbered.row, RowError):
                raise numbered.row
            examples.append(_example(task, numbered.row))
        except RowError as error:
            bad.append(BadRow(file=str(file), row=numbered.number, key=error.key, why=error.why))
    check_bad_rows(file, bad, len(examples), skip_bad_rows=False)
    return examples


def read_tool_turns(value: RowValue) -> tuple[ExpertTurn, ...]:
    """The turns of a row, calls first and an answer at the end; ``RowError`` says which of them is wrong."""
    items = listed(value, "turns")
    turns = tuple(_turn(item, f"turns[{index}]") for index, item in enumerate(items))
    if not turns or [isinstance(turn.action, Answer) for turn in turns] != [False] * (len(turns) - 1) + [True]:
        raise RowError("turns", "must be calls and, as the last one, an answer")
    return turns


def _example(task: Task, row: Row) -> Example:
    check_images(row, task)
    accepted = tuple(str(one) for one in listed(row.get("accepted"), "accepted"))
    task = replace(task, source=str(row.get("source") or task.source), accepted=accepted)
    turns = read_tool_turns(row.get("turns"))
    last = turns[-1].action
    if isinstance(last, Answer) and not answer_is_right(task, last.text):
        raise RowError("turns", f"end with the answer {last.text!r}, and the right answer is {task.answer!r}")
    return Example(task=task, turns=turns)


def _turn_row(turn: ExpertTurn) -> Json:
    if isinstance(turn.action, Answer):
        return {"thought": turn.thought, "answer": turn.action.text}
    call: Mapping[str, Json] = {"name": turn.action.name, "arguments": dict(turn.action.arguments)}
    return {"thought": turn.thought, "call": call}


def _turn(item: RowValue, key: str) -> ExpertTurn:
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
    if not isinstance(value, str):
        raise RowError(key, f"must be text, not {kind_of(value)}")
    if not is_encodable(value):
        raise RowError(key, "holds half a surrogate pair, which is no text")
    return value
