"""How turns of code are recorded and shown."""

import json
from pathlib import Path

import pytest
from viewer_fake_run import answering, make_run, search_task, trajectory

from saccade.media.store import MediaStore
from saccade.protocols.code import write
from saccade.runs.position import Position
from saccade.runs.records import write_records
from saccade.runs.runinfo import RunPaths
from saccade.runs.trajectory_json import trajectory_from_json, trajectory_to_json
from saccade.types import Attempt, ExpertTurn, Json, Observation, ToolCall, ToolResult, Trajectory, Turn
from saccade.viewer.examples import example_view
from saccade.viewer.pictures import Album
from saccade.viewer.report import write_report

CODE = "n = 2\nif n < 3:\n    print(n & 1)"


def turn(
    index: int, code: str, *, text: str | None = None, error_kind: str | None = None, error_name: str | None = None
) -> Turn:
    call = ToolCall(name="execute_python_code", arguments={"code": code})
    data: dict[str, Json] = {"ok": error_kind is None, "error_kind": error_kind, "error_name": error_name}
    return Turn(
        index=index,
        text=write(ExpertTurn(thought="count", action=call)) if text is None else text,
        thought="count",
        action=call,
        is_well_formed=text is None,
        result=ToolResult(text="0", data=data, is_ok=error_kind is None),
        observation=Observation(text="The code ran. Output:\n0"),
    )


def with_code(media: MediaStore) -> Attempt:
    task = search_task(media, 0)
    in_json = "<tool_call>" + json.dumps({"name": "execute_python_code", "arguments": {"code": CODE}}) + "</tool_call>"
    not_run = turn(4, CODE)
    turns = (
        turn(0, CODE),
        turn(1, CODE, text=in_json, error_kind="exception", error_name="NameError"),
        turn(2, CODE, error_kind="timeout"),
        turn(3, "", error_kind="empty"),
        Turn(index=4, text=not_run.text, thought="", action=not_run.action, is_well_formed=True),
    )
    return Attempt(task=task, trajectory=trajectory(task, turns, task.answer))


def test_code_is_shown_once_line_by_line_with_what_became_of_it(tmp_path: Path) -> None:
    view = example_view(with_code(MediaStore()), Album(directory=tmp_path))
    assert [(one.outcome, one.arguments, one.code, one.is_run, one.is_fine) for one in view.turns] == [
        ("ran the code", "", "", True, True),
        ("the code failed: NameError", "", CODE, True, False),
        ("the code failed: timeout", "", "", True, False),
        ("the code failed: empty", "", "", True, False),
        ("the code was not run", "", "", False, True),
    ]


def test_code_its_output_and_its_error_are_legible_in_the_report(tmp_path: Path) -> None:
    root, media = make_run(tmp_path / "run"), MediaStore()
    paths, attempt = RunPaths(root=root), with_code(media)
    write_records(
        paths.evaluation("after_rl"),
        Position(stage="after_rl", step=1),
        [
            Attempt(task=attempt.task, trajectory=attempt.trajectory),
            Attempt(task=attempt.task, trajectory=other(attempt)),
        ],
        media=media,
        media_directory=paths.media,
    )
    write_report(paths)
    page = (root / "report.html").read_text(encoding="utf-8")
    escaped = CODE.replace("&", "&amp;").replace("<", "&lt;")
    assert f"```python\n{escaped}\n```" in page
    assert f'<pre class="run" tabindex="0">{escaped}</pre>' in page
    assert '<pre tabindex="0">The code ran. Output:\n0</pre>' in page
    assert "the code failed: NameError" in page


def other(attempt: Attempt) -> Trajectory:
    task = attempt.task
    return trajectory(task, (answering(0, task.answer),), task.answer, sample=1)


@pytest.mark.parametrize("code", [CODE, "", "\x00'\u2028'", "漢字 = '\\n'"])
def test_a_turn_of_code_is_recorded_and_read_back_equal(code: str) -> None:
    task = search_task(MediaStore(), 0)
    original = trajectory(task, (turn(0, code, text="x", error_kind="exception", error_name="E"),), task.answer)
    assert trajectory_from_json(json.loads(json.dumps(trajectory_to_json(original)))) == original
