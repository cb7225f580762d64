"""``saccade curate vista`` with the expert of drawn questions, against a real server, and with its mistakes."""

import json
from pathlib import Path

import pytest
from PIL import Image

from saccade.cli import run_command
from saccade.curation.examples import read_tool_examples
from saccade.media.store import MediaStore
from saccade.testing.chat_server import ChatServer, Received, Served, chat_reply
from saccade.types import Answer, ToolCall

CROP = '<think>closer</think><tool_call>{"name": "crop", "arguments": {"bbox_2d": [8, 8, 40, 40]}}</tool_call>'
SAY = "<think>I see it</think><answer>red</answer>"
DENSE = (
    f"<turn>{CROP.replace('closer', 'The plate is small, so I look closer')}</turn>"
    f"<turn>{SAY.replace('I see it', 'Now I see it well, and it is red all over')}</turn>"
)


def serve(received: Received) -> Served:
    """Plays turn by turn, and writes thoughts anew when asked to."""
    text = json.dumps(received.body["messages"])
    if "Write exactly 2 turns" in text:
        return chat_reply(DENSE)
    return chat_reply(SAY if '"role": "assistant"' in text else CROP)


def own_questions(folder: Path) -> Path:
    folder.mkdir()
    rows = []
    for number in range(2):
        Image.new("RGB", (64, 64), (200, 40 * number, 30)).save(folder / f"{number}.png")
        rows.append({"id": f"q{number}", "question": f"Which colour is plate {number}?", "answer": "red",
                     "images": [f"{number}.png"]})  # fmt: skip
    path = folder / "questions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def tools_file(folder: Path) -> Path:
    path = folder / "tools.toml"
    path.write_text("[tools.crop]\n")
    return path


def test_drawn_questions_are_solved_by_their_expert(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    said = ["curate", "vista", "--drawn", "-n", "7", "--teacher", "expert", "--out", str(out), "--quiet"]
    assert run_command([*said, "--set", "needs_call=false"]) == 0
    assert capsys.readouterr().out.startswith("7 examples of 7 questions, 0 with long thoughts\n")
    examples = read_tool_examples(out, MediaStore())
    assert len({one.task.family for one in examples}) == 7
    assert not (out / ".pictures").exists()


def test_a_server_plays_and_another_thinks_aloud(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, data = tmp_path / "out", own_questions(tmp_path / "data")
    with ChatServer(serve) as server:
        said = [
            *("curate", "vista", "--data", str(data), "--tools", str(tools_file(tmp_path)), "--out", str(out)),
            *("--teacher", server.url, "--teacher-model", "a", "--densifier", server.url, "--densifier-model", "b"),
            "--quiet",
        ]
        assert run_command(said) == 0
        asked = len(server.received)
        assert run_command([*said, "--resume"]) == 0
        assert len(server.received) == asked == 2 * 3
    assert "2 examples of 2 questions, 2 with long thoughts" in capsys.readouterr().out
    for one in read_tool_examples(out, MediaStore()):
        assert [turn.thought for turn in one.turns] == [
            "The plate is small, so I look closer",
            "Now I see it well, and it is red all over",
        ]
        assert [type(turn.action) for turn in one.turns] == [ToolCall, Answer]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (("--teacher", "expert"), "give either --data PATH or --drawn"),
        (("--teacher", "expert", "--data", "DATA"), "answers only drawn questions"),
        (("--teacher", "http://127.0.0.1:9/v1", "--teacher-model", "a", "--data", "DATA"), "no tool to call"),
        (("--teacher", "http://127.0.0.1:9/v1", "--drawn"), "say with --teacher-model"),
        (("--teacher", "x", "--data", "DATA", "--data-set", "chartqua"), "there is no data set 'chartqua'"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, said: tuple[str, ...], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    data = str(own_questions(tmp_path / "data"))
    words = [data if word == "DATA" else word for word in said]
    assert run_command(["curate", "vista", *words, "--out", str(tmp_path / "out")]) == 2
    assert why in capsys.readouterr().err
