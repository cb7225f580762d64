"""Rows of conversations in the forms in use, read as they are; what cannot be imitated is named."""

import base64
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.tasks.conversations import ConversationFile, read_conversations
from saccade.tasks.files import read_tasks
from saccade.tasks.rows.fields import Row
from saccade.types import ImageRef, Json, SpokenMessage, ToolCall

SCHEMA: dict[str, Json] = {
    "name": "crop",
    "description": "Cuts.",
    "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}},
}
FUNCTION: dict[str, Json] = {"type": "function", "function": SCHEMA}
CALL = '{"name": "crop", "arguments": {"bbox_2d": [0, 0, 9, 9]}}'
LOOK = ToolCall(name="crop", arguments={"bbox_2d": [0, 0, 9, 9]})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, colour in (("a", "red"), ("b", "blue")):
        Image.new("RGB", (8, 8), colour).save(tmp_path / f"{name}.png")
    return tmp_path


def read(folder: Path, *rows: Row, skip_bad_rows: bool = False) -> ConversationFile:
    path = folder / "talks.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_conversations(path, media=MediaStore(), skip_bad_rows=skip_bad_rows)


def only(folder: Path, row: Row) -> list[tuple[str, ...]]:
    """Role and parts of each message of a row's conversation; pictures by their colour, ``-`` before what is not
    learned, thoughts and calls in brackets."""
    (conversation,) = read(folder, row).conversations
    return [_shown(one, conversation.task.images) for one in conversation.messages]


def _shown(one: SpokenMessage, images: tuple[ImageRef, ...]) -> tuple[str, ...]:
    parts = [f"picture {images.index(part) + 1}" if isinstance(part, ImageRef) else part for part in one.parts]
    calls = [f"[{call.name} {json.dumps(call.arguments)}]" for call in one.calls]
    thought = [f"({one.thought})"] if one.thought else []
    return (one.role if one.is_learned else f"-{one.role}", *thought, *parts, *calls)


LOOKED = '[crop {"bbox_2d": [0, 0, 9, 9]}]'


def test_openai_s_messages_with_tool_calls_and_pictures_in_results(folder: Path) -> None:
    data_url = "data:image/png;base64," + base64.b64encode((folder / "b.png").read_bytes()).decode()
    call = {"id": "call_1", "type": "function", "function": {"name": "crop", "arguments": '{"bbox_2d": [0, 0, 9, 9]}'}}
    shown = [{"type": "image_url", "image_url": {"url": data_url}}, {"type": "text", "text": "Here."}]
    row = {
        "tools": [FUNCTION],
        "messages": [
            {"role": "system", "content": "Look."},
            {"role": "user", "content": [{"type": "text", "text": "Which?"}, {"type": "image", "image": "a.png"}]},
            {"role": "assistant", "content": None, "reasoning_content": "I look.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": shown},
            {"role": "assistant", "content": "Red.", "weight": 1},
            {"role": "user", "content": "Sure?"},
            {"role": "assistant", "content": "No.", "weight": 0},
            {"role": "user", "content": "So?"},
            {"role": "assistant", "content": "Red."},
        ],
    }
    assert only(folder, row) == [
        ("system", "Look."),
        ("user", "Which?", "picture 1"),
        ("assistant", "(I look.)", LOOKED),
        ("tool", "picture 2", "Here."),
        ("assistant", "Red."),
        ("user", "Sure?"),
        ("-assistant", "No."),
        ("user", "So?"),
        ("assistant", "Red."),
    ]
    (conversation,) = read(folder, row).conversations
    assert conversation.tools == (FUNCTION,)
    assert (conversation.task.question, conversation.task.answer) == ("So?", "Red.")


def test_llama_factory_s_conversations_with_function_calls_and_observations(folder: Path) -> None:
    row = {
        "conversations": [
            {"from": "human", "value": "<image>Which?"},
            {"from": "function_call", "value": f"<think>I look.</think>\n[{CALL}, {CALL}]"},
            {"from": "observation", "value": "<image>"},
            {"from": "gpt", "value": "Red."},
        ],
        "system": "Look.",
        "tools": json.dumps([SCHEMA]),
        "images": ["a.png", "b.png"],
    }
    assert only(folder, row) == [
        ("system", "Look."),
        ("user", "picture 1", "Which?"),
        ("assistant", "<think>I look.</think>\n", LOOKED, LOOKED),
        ("tool", "picture 2"),
        ("assistant", "Red."),
    ]
    assert read(folder, row).conversations[0].tools == (FUNCTION,)


def test_llama_factory_s_parts_with_values_are_thoughts_calls_and_pictures(folder: Path) -> None:
    def part(kind: str, value: str) -> dict[str, Json]:
        return {"type": kind, "value": value}

    row: Row = {
        "messages": [
            {"role": "user", "content": [part("image_url", "a.png"), part("text", "Which?")], "loss_weight": 0.0},
            {"role": "assistant", "content": [part("reasoning", "I look."), *[part("tool_call", CALL)] * 2]},
            {"role": "tool", "content": [part("image_url", "b.png"), part("text", "cut")]},
            {"role": "assistant", "content": [part("text", "Blue?")], "loss_weight": 0.0},
            {"role": "assistant", "content": [part("reasoning", "No."), part("text", "Red.")], "loss_weight": 1.0},
        ],
        "tools": json.dumps([FUNCTION]),
    }
    assert only(folder, row) == [
        ("user", "picture 1", "Which?"),
        ("assistant", "(I look.)", LOOKED, LOOKED),
        ("tool", "picture 2", "cut"),
        ("-assistant", "Blue?"),
        ("assistant", "(No.)", "Red."),
    ]
    (task,) = read_tasks(folder / "talks.jsonl", media=MediaStore()).tasks
    assert (task.question, task.answer, len(task.images)) == ("Which?", "Red.", 1)


def test_thoughts_and_calls_among_parts_as_anthropic_has_them(folder: Path) -> None:
    use = {"type": "tool_use", "id": "1", "name": "crop", "input": {"bbox_2d": [0, 0, 9, 9]}}
    row = {"messages": [Q, {"role": "assistant", "content": [{"type": "thinking", "thinking": "I look."}, use]}]}
    assert only(folder, row) == [("user", "Which?"), ("assistant", "(I look.)", LOOKED)]


def test_ms_swift_s_agent_rows_join_a_thought_with_its_calls(folder: Path) -> None:
    row = {
        "tools": json.dumps([FUNCTION]),
        "images": ["a.png", "b.png"],
        "messages": [
            {"role": "user", "content": "<image>Which?"},
            {"role": "assistant", "content": "<think>\nI look.\n</think>\n", "loss": False},
            {"role": "tool_call", "content": CALL},
            {"role": "tool_call", "content": CALL},
            {"role": "tool_response", "content": '{"images": "<image>"}'},
            {"role": "tool_response", "content": "nothing"},
            {"role": "assistant", "content": "Red.", "loss": True},
        ],
    }
    assert only(folder, row) == [
        ("user", "picture 1", "Which?"),
        ("-assistant", "<think>\nI look.\n</think>\n", LOOKED, LOOKED),
        ("tool", '{"images": "', "picture 2", '"}'),
        ("tool", "nothing"),
        ("assistant", "Red."),
    ]


def test_of_trl_s_prompt_and_completion_the_completion_is_learned(folder: Path) -> None:
    row = {
        "prompt": [
            {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Which?"}]},
            {"role": "assistant", "content": "Blue."},
            {"role": "user", "content": "No."},
        ],
        "completion": [
            {"role": "assistant", "content": "", "tool_calls": [json.loads(CALL)]},
            {"role": "tool", "name": "crop", "content": "done"},
            {"role": "assistant", "content": "Red."},
        ],
        "image": "a.png",
    }
    assert only(folder, row) == [
        ("user", "picture 1", "Which?"),
        ("-assistant", "Blue."),
        ("user", "No."),
        ("assistant", LOOKED),
        ("tool", "done"),
        ("assistant", "Red."),
    ]
    assert only(folder, {"prompt": "Which?", "completion": "Red.", "images": ["a.png"]}) == [
        ("user", "picture 1", "Which?"),
        ("assistant", "Red."),
    ]


def test_calls_code_and_results_in_texts_stay_texts_and_white_space_stays(folder: Path) -> None:
    """As DeepEyes, Thyme and Hermes write them."""
    first = f"<think> a\n</think> <tool_call>\n{CALL}\n</tool_call>\n"
    result = "<tool_response><image></tool_response>\n"
    thyme = "<code>cut()</code><sandbox_output><image></sandbox_output><answer>red</answer>"
    row = {
        "message_list": [
            {"role": "user", "content": "<image>\nWhich? "},
            {"role": "assistant", "content": first},
            {"role": "user", "content": result},
            {"role": "assistant", "content": thyme},
        ],
        "images": ["a.png", "b.png", {"path": "b.png", "bytes": None}],
    }
    assert only(folder, row) == [
        ("user", "picture 1", "\nWhich? "),
        ("assistant", first),
        ("user", "<tool_response>", "picture 2", "</tool_response>\n"),
        ("assistant", "<code>cut()</code><sandbox_output>", "picture 2", "</sandbox_output><answer>red</answer>"),
    ]


def test_calls_and_results_may_be_objects_lists_or_a_text_of_their_own(folder: Path) -> None:
    row = {
        "conversations": [
            {"from": "human", "value": "Which?"},
            {"from": "function_call", "value": "I look. <function=crop><parameter=n>1</parameter></function>"},
            {"from": "observation", "value": ""},
            {"role": "tool_call", "content": json.loads(CALL)},
            {"role": "tool_response", "content": {"ok": True}},
            {"role": "tool_call", "content": [CALL]},
            {"role": "tool_response", "content": [{"name": "crop", "response": "clear"}]},
            {"from": "gpt", "value": "Red."},
        ],
        "tools": "",
    }
    assert only(folder, row) == [
        ("user", "Which?"),
        ("assistant", "I look. <function=crop><parameter=n>1</parameter></function>"),
        ("tool",),
        ("assistant", LOOKED),
        ("tool", '{"ok": true}'),
        ("assistant", LOOKED),
        ("tool", '[{"name": "crop", "response": "clear"}]'),
        ("assistant", "Red."),
    ]


def test_alpaca_s_history_is_learned_too_and_pictures_without_markers_stand_first(folder: Path) -> None:
    row = {"query": "So?", "response": "Red.", "history": [["Which?", "Blue."]], "images": ["a.png", "b.png"]}
    assert only(folder, row) == [
        ("user", "picture 1", "picture 2", "Which?"),
        ("assistant", "Blue."),
        ("user", "So?"),
        ("assistant", "Red."),
    ]


def test_a_reply_beside_a_question_or_a_prompt_keeps_what_it_answers(folder: Path) -> None:
    asked = [("user", "picture 1", "Which?"), ("assistant", "Red.")]
    assert only(folder, {"image": ["a.png"], "question": "Which?", "response": "Red."}) == asked
    assert only(folder, {"image": "a.png", "problem": "Which?", "output": "Red."}) == asked
    messages: list[Json] = [{"role": "user", "content": "<image>Which?"}]
    for prompt in ("<image>Which?", messages):
        assert only(folder, {"images": ["a.png"], "prompt": prompt, "response": "Red."}) == asked
    talk: list[Json] = [{"role": "user", "content": "Which?"}, {"role": "assistant", "content": "Red."}]
    assert only(folder, {"messages": talk, "prompt": "x", "response": "y"}) == [
        ("user", "Which?"),
        ("assistant", "Red."),
    ]
    assert only(folder, {"image": "a.png", "suffix": "A red square."})[0] == ("user", "picture 1")
    with pytest.raises(UserError, match="answers nothing: no message of the user's has a word or a picture"):
        read(folder, {"output": "Red."})


def test_pairs_of_a_question_and_a_reply_are_messages(folder: Path) -> None:
    row = {"system": "Look.", "conversation": [{"human": "Which?", "assistant": "Red."}]}
    assert only(folder, row) == [("system", "Look."), ("user", "Which?"), ("assistant", "Red.")]


def test_nothing_that_a_table_fills_in_becomes_an_argument_or_a_schema(folder: Path) -> None:
    call = {"function": {"name": "crop", "arguments": {"bbox_2d": [0, 0, 9, 9], "degrees": None}}}
    other = {"function": {"name": "turn", "arguments": {"bbox_2d": None, "degrees": 90}}}
    message = {"role": "assistant", "content": "", "tool_calls": [call, other]}
    asked = {"role": "user", "content": "Which?", "tool_calls": None}
    table = pa.Table.from_pylist([{"messages": [asked, message], "tools": [FUNCTION | {"strict": None}]}])
    pq.write_table(table, folder / "talks.parquet")
    (conversation,) = read_conversations(folder / "talks.parquet", media=MediaStore()).conversations
    assert conversation.messages[-1].calls == (LOOK, ToolCall(name="turn", arguments={"degrees": 90}))
    assert "strict" not in conversation.tools[0]


Q = {"role": "user", "content": "Which?"}
A = {"role": "assistant", "content": "Red."}


def _nested() -> dict[str, Json]:
    deep: Json = 1
    for _ in range(900):
        deep = {"a": deep}
    return {"name": "crop", "arguments": deep}


REFUSED: dict[str, tuple[Row, str]] = {
    "an unknown role": ({"messages": [Q, {"role": "critic", "content": "?"}, A]}, "role 'critic', which is not known"),
    "a marker too many": ({"messages": [{**Q, "content": "<image><image>?"}, A], "images": ["a.png"]}, "2 pictures"),
    "a picture too many": (
        {"messages": [{**Q, "content": "<image>?"}, A], "images": ["a.png", "b.png"]},
        "2 are given",
    ),
    "a marker in a result without its picture": (
        {"messages": [{**Q, "content": "<image>?"}, A, {"role": "tool", "content": "<image>"}, A], "image": "a.png"},
        "2 pictures are marked in the messages, and 1 are given",
    ),
    "a missing file": ({"messages": [{**Q, "content": "<image>?"}, A], "images": ["c.png"]}, "c.png"),
    "a video": ({"messages": [{**Q, "content": "<video>?"}, A], "videos": ["a.mp4"]}, "shows a video"),
    "audio": ({"messages": [{**Q, "content": [{"type": "audio_url", "value": "a.mp3"}]}, A]}, "of type 'audio_url'"),
    "a thought without a text": (
        {"messages": [Q, {**A, "content": [{"type": "thinking"}]}]},
        "a thought without a text",
    ),
    "no reply": ({"messages": [Q]}, "no assistant's message to imitate"),
    "no question": ({"messages": [A, Q, A]}, "begins with the assistant"),
    "nothing to learn": ({"messages": [Q, {**A, "loss": False}]}, "has no message to learn"),
    "half a weight": ({"messages": [Q, {**A, "weight": 0.5}]}, "weight=0.5; use true or false, 1 or 0"),
    "an empty reply": ({"messages": [Q, {**A, "content": " "}]}, "nothing to say in message 2"),
    "a call that is no JSON": ({"messages": [Q, {"role": "tool_call", "content": "{crop: 1"}]}, "neither JSON"),
    "a call without a name": ({"messages": [Q, {**A, "tool_calls": [{"function": {}}]}]}, "a call without a name"),
    "arguments that are none": (
        {"messages": [Q, {**A, "tool_calls": [{"name": "crop", "arguments": "[1]"}]}]},
        "must be an object with keys",
    ),
    "tools that are none": ({"messages": [Q, A], "tools": "{API_LIST}"}, "neither JSON"),
    "boxes to be filled in": (
        {"messages": [Q, {**A, "content": "<bbox>"}], "objects": {"ref": [], "bbox": [[1, 2, 3, 4]]}},
        "write the boxes out",
    ),
    "a question with an answer": ({"question": "Which?", "answer": "red"}, "for the recipe questions"),
    "too many messages": ({"messages": [Q, A] * 501}, "has 1002 messages, more than 1000"),
    "nesting": ({"messages": [Q, {**A, "tool_calls": [_nested()]}]}, "nested too deeply"),
    "half of one in a call": (
        {"messages": [Q, {**A, "tool_calls": [{"name": "\ud800"}]}]},
        "half a surrogate pair",
    ),
    "half a surrogate pair": ({"messages": [Q, {**A, "content": "\ud800"}]}, "half a surrogate pair"),
}


@pytest.fixture
def usual_depth() -> Iterator[None]:
    """Python's own limit of recursion, which libraries that other tests import raise."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.usefixtures("usual_depth")
def test_what_cannot_be_imitated_is_refused_by_its_row(folder: Path, what: str) -> None:
    row, why = REFUSED[what]
    with pytest.raises(UserError) as caught:
        read(folder, {"messages": [Q, A]}, row)
    assert why in str(caught.value)
    assert "talks.jsonl, row 2" in str(caught.value)
    found = read(folder, {"messages": [Q, A]}, row, skip_bad_rows=True)
    assert (len(found.conversations), len(found.skipped)) == (1, 1)


def test_a_question_with_a_thought_beside_its_answer_says_that_the_thought_is_left_out(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "asked.jsonl").write_text(json.dumps({"messages": [Q, {**A, "reasoning_content": "It is."}]}))
    assert read_tasks(folder / "asked.jsonl", media=MediaStore()).tasks[0].answer == "Red."
    assert "left out: thoughts beside the answer (1 rows)" in caplog.text


def test_what_is_left_out_of_a_row_is_counted(folder: Path) -> None:
    rows = [
        {"messages": [Q, A, Q], "rejected_response": "Blue."},
        {"messages": [Q, A], "solution": "red", "objects": {"ref": ["a"]}},
        {"messages": [Q, A], "solution": "red"},
    ]
    assert dict(read(folder, *rows).left_out) == {
        "`solution`": 2,
        "messages after the last reply": 1,
        "`rejected_response`": 1,
        "`objects`": 1,
    }
