"""Trajectories of the cold start: conversations as data sets hold them, and curated rows, read into examples."""

import io
import json
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from saccade.curation.ivgr.cold_start import ColdStart, cold_start_row, imitable, read_cold_start, read_reply
from saccade.curation.rows import export_path
from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.errors import UserError
from saccade.geometry import Box
from saccade.media.resize import ResizeRule
from saccade.media.store import MediaStore
from saccade.protocols.two_streams import grounded_protocol, textual_protocol
from saccade.rollout.trajectory import demonstrate
from saccade.tasks.rows.fields import RowError
from saccade.testing.scripted import letter_chat
from saccade.types import Answer, ExpertTurn, ImageRef

SIZE = (200, 100)
QUESTION = "<image>\nWhat is left of the cat?\nA. a dog\nB. a cup"
GROUNDED = (
    "I see the cat <box>[100,20,180,90]</box>. Left of it is a dog <box>[10,20,60,90]</box>.</think>\n"
    "<answer>A</answer>"
)
LATER = [{"role": "user", "content": "Sure?"}, {"role": "assistant", "content": GROUNDED}]
TEXTUAL = "<think>On the right sits a cat, and at its left a dog.</think><answer>A</answer>"


def conversation(reply: object = GROUNDED, **more: object) -> dict[str, object]:
    return {
        "messages": [
            {"role": "system", "content": "Answer, and write the boxes of what you name."},
            {"role": "user", "content": QUESTION},
            {"role": "assistant", "content": reply},
        ],
        "images": ["coco/000000033471.jpg"],
        **more,
    }


def written(tmp_path: Path, *rows: Mapping[str, object], name: str = "sft.json") -> Path:
    folder = tmp_path / "llava_next_raw_format" / "coco"
    folder.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", SIZE, "grey").save(folder / "000000033471.jpg")
    path = tmp_path / name
    path.write_text(json.dumps(rows) if name.endswith("json") else "".join(json.dumps(row) + "\n" for row in rows))
    return path


def read(tmp_path: Path, *rows: Mapping[str, object], skip_bad_rows: bool = False) -> ColdStart:
    return read_cold_start(written(tmp_path, *rows), MediaStore(), skip_bad_rows=skip_bad_rows)


def why(tmp_path: Path, row: Mapping[str, object]) -> str:
    """Why this row is refused, beside a good one."""
    [bad] = read(tmp_path, conversation(), row, skip_bad_rows=True).skipped
    assert bad.row == 2
    return f"{bad.key}: {bad.why}"


# What a data set has


def test_a_grounded_trajectory_whose_opening_tag_was_given(tmp_path: Path) -> None:
    [one] = read(tmp_path, conversation()).examples
    task = one.example.task
    assert (one.stream, task.answer, task.answer_kind, task.source) == ("grounded", "A", "choice", "sft")
    assert task.question == "What is left of the cat?\nA. a dog\nB. a cup"
    thought = GROUNDED.partition("</think>")[0]
    assert one.example.turns == (ExpertTurn(thought=thought, action=Answer(text="A")),)


@pytest.mark.parametrize("reply", [TEXTUAL, TEXTUAL.removeprefix("<think>"), f" \n{TEXTUAL}\n", f"Well. {TEXTUAL}"])
def test_a_trajectory_without_boxes_is_textual(tmp_path: Path, reply: str) -> None:
    [one] = read(tmp_path, conversation(reply)).examples
    assert one.stream == "textual"
    assert one.thought.endswith("On the right sits a cat, and at its left a dog.")


def test_conversations_as_llava_writes_them_and_json_lines(tmp_path: Path) -> None:
    turns = [{"from": "human", "value": QUESTION}, {"from": "gpt", "value": GROUNDED}]
    row = {"id": 33471, "conversations": turns, "image": "coco/000000033471.jpg", "system": "Answer."}
    path = written(tmp_path, row, conversation(TEXTUAL), name="sft.jsonl")
    rows = path.read_text().splitlines()
    path.write_text(rows[0] + "\n")
    [one] = read_cold_start(path, MediaStore()).examples
    assert one.example.task.id.startswith("33471/")
    assert one.stream == "grounded"


def test_a_parquet_file_with_images_as_bytes(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    Image.new("RGB", SIZE).save(buffer, format="PNG")
    message = pa.struct([("role", pa.string()), ("content", pa.string())])
    columns = {
        "messages": pa.array([conversation()["messages"], conversation(TEXTUAL)["messages"]], pa.list_(message)),
        "images": pa.array([[buffer.getvalue()]] * 2, pa.list_(pa.binary())),
    }
    pq.write_table(pa.table(columns), tmp_path / "sft.parquet")
    examples = read_cold_start(tmp_path / "sft.parquet", MediaStore()).examples
    assert [one.stream for one in examples] == ["grounded", "textual"]


def test_a_question_may_be_answered_in_several_ways_but_not_twice_in_one(tmp_path: Path) -> None:
    other = GROUNDED.replace("I see", "There is")
    found = read(
        tmp_path, conversation(), conversation(other), conversation(TEXTUAL), conversation(), skip_bad_rows=True
    )
    assert len({one.example.task.id for one in found.examples}) == 3
    [bad] = found.skipped
    assert str(bad).endswith(f"row 4: repeats the example of {tmp_path / 'sft.json'}, row 1")


def test_ids_depend_on_what_is_said_alone(tmp_path: Path) -> None:
    first = [one.example.task.id for one in read(tmp_path, conversation(), conversation(TEXTUAL)).examples]
    second = [one.example.task.id for one in read(tmp_path, conversation(TEXTUAL), conversation()).examples]
    assert first == second[::-1]


@pytest.mark.parametrize(
    ("box", "kept"),
    [
        ("[10,20,60,90]", "[10,20,60,90]"),
        ("[0,0,200,100]", "[0,0,200,100]"),
        ("[-1,0,201,101]", "[0,0,200,100]"),
        ("[100, 20, 200.6, 90]", "[100,20,200,90]"),
        (" [10.5, 20, 60, 90] ", " [10.5, 20, 60, 90] "),
    ],
)
def test_a_box_over_the_edge_by_rounding_is_cut_off_there(tmp_path: Path, box: str, kept: str) -> None:
    [one] = read(tmp_path, conversation(f"A dog <box>{box}</box>.</think><answer>A</answer>")).examples
    assert one.thought == f"A dog <box>{kept}</box>."


# In the frame of the family


@pytest.mark.parametrize(
    ("convention", "boxes"), [("absolute", "[28,6,50,25]"), ("relative_1000", "[500,200,900,900]")]
)
def test_the_protocol_writes_the_boxes_as_the_family_does(tmp_path: Path, convention: str, boxes: str) -> None:
    view = ResizeRule(factor=28, min_pixels=28 * 56, max_pixels=28 * 56, convention=convention)
    media = MediaStore()
    path = written(tmp_path, conversation(), conversation(TEXTUAL))
    grounded, textual = read_cold_start(path, media).examples
    assert view.view_size(*SIZE) == (56, 28)
    for one, protocol in ((grounded, grounded_protocol()), (textual, textual_protocol())):
        env = VisualReasoningEnv(protocol=protocol, tools=(), media=media, view=view, max_turns=1)
        trajectory = demonstrate(one.example, env=env, chat=letter_chat(view), stream=one.stream)
        [turn] = trajectory.turns
        assert (turn.is_well_formed, trajectory.status, trajectory.answer) == (True, "answered", "A")
        assert (f"<box>{boxes}</box>" in turn.text) == (one is grounded)
        if one is grounded:
            cat = turn.boxes[0].box
            assert cat is not None
            # Back in pixels of the original, up to half a pixel of the view.
            assert cat.as_tuple() == pytest.approx(Box(100, 20, 180, 90).as_tuple(), abs=2)


# Rows that cannot be used


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ("The dog.", "messages: the turn does nothing"),
        ("I see a dog. <answer>A</answer>", "messages: has no reasoning before </think>"),
        ("<think> </think><answer>A</answer>", "messages: has no reasoning"),
        ("<think>a dog<answer>A</answer>", "messages: </think> is missing: <think> is never closed"),
        ("a dog</think><answer> </answer>", "messages: there is no answer"),
        ("a dog</think><answer>A</answer><answer>B</answer>", "messages: the last message holds 2 <answer> blocks"),
        (f"a dog</think><answer>{'A' * 2000}</answer>", "messages: the answer has 2000 characters"),
        (f"{'a dog ' * 50_000}</think><answer>A</answer>", "messages: the turn is too long"),
        ("a \ud800 dog</think><answer>A</answer>", "messages: the turn is not valid Unicode"),
        ("a dog<|im_end|></think><answer>A</answer>", "messages: only the environment writes"),
        ("a dog</think><box>[1,2,3,4]</box><answer>A</answer>", "messages: has a box outside of the reasoning"),
        ("a dog</think><answer>A <box>[1,2,3,4]</box></answer>", "messages: has a box outside of the reasoning"),
        ("a dog <box>[1,2,3]</box></think><answer>A</answer>", "messages: the box '[1,2,3]' is not four numbers"),
        ("a dog <box>[1,2,nan,4]</box></think><answer>A</answer>", "messages: the box '[1,2,nan,4]' is not four"),
        ("a dog <box>[1,2,3,4]</think><answer>A</answer>", "messages: has a tag of a box that is not closed"),
        ("<box>[1,2,30,40]</box>" * 65 + "</think><answer>A</answer>", "or more than 64 boxes"),
        ("a dog <box>[60,20,10,90]</box></think><answer>A</answer>", "is empty or inverted"),
        ("a dog <box>[10,20,10,90]</box></think><answer>A</answer>", "is empty or inverted"),
        ("a dog <box>[10,20,230,90]</box></think><answer>A</answer>", "lies outside the image of 200 x 100 px"),
        ("a dog <box>[200,20,201,90]</box></think><answer>A</answer>", "lies outside the image of 200 x 100 px"),
        (["<think>a</think>"], "messages: there is no answer"),
        (None, "messages: there is no answer"),
        (5, "messages: "),
    ],
)
def test_a_reply_that_cannot_be_imitated_says_why(tmp_path: Path, reply: object, message: str) -> None:
    assert message in why(tmp_path, conversation(reply))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({}, "conversations: must be a list of messages, not nothing"),
        ({"messages": [], "images": ["coco/000000033471.jpg"]}, "does not end with an assistant's answer"),
        (conversation() | {"images": []}, "images: 1 <image> markers in the text but 0 images"),
        (
            conversation()
            | {
                "messages": [{"role": "user", "content": "What?"}, {"role": "assistant", "content": TEXTUAL}],
                "images": [],
            },
            "images: there is no image",
        ),
        (conversation() | {"images": ["nowhere.jpg"]}, "images: "),
        (conversation() | {"id": [1]}, "id: must be text, not list"),
        (
            conversation()
            | {"messages": [{"role": "user", "content": "a\ud800"}, {"role": "assistant", "content": "b"}]},
            "half a surrogate pair",
        ),
        (
            conversation() | {"messages": [*conversation()["messages"], *LATER]},  # type: ignore[misc]
            "messages: must be one question and one answer, not 4 messages",
        ),
        (
            conversation() | {"turns": [{"thought": "a", "answer": "B"}]},
            "turns[0]: answers 'B', and the right answer is",
        ),
    ],
)
def test_a_row_that_cannot_be_used_is_named(tmp_path: Path, row: Mapping[str, object], message: str) -> None:
    assert message in why(tmp_path, row)


def test_bad_rows_are_listed_unless_they_are_to_be_skipped(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        read(tmp_path, conversation(), conversation("no answer"))
    path = tmp_path / "sft.json"
    assert f"{path}: 1 of 2 rows cannot be used\n  {path}, row 2: messages: the turn does nothing" in str(caught.value)
    with pytest.raises(UserError, match="1 of 1 rows"):
        read(tmp_path, conversation("no answer"), skip_bad_rows=True)


TEXTS = st.lists(
    st.sampled_from(
        ["<think>", "</think>", "<answer>", "</answer>", "<box>", "</box>", "[1,2,30,40]", "a dog", "[9", " "]
    )
    | st.text(max_size=5),
    max_size=12,
).map("".join)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(text=TEXTS | TEXTS.map(lambda text: f"{text}</think><answer>A</answer>"))
def test_any_reply_is_a_turn_that_its_protocol_can_write_or_a_bad_row(text: str) -> None:
    image = ImageRef(hash="0" * 64, width=200, height=100)
    try:
        turn = imitable(read_reply(text, "messages"), image, "messages")
    except RowError:
        return
    protocol = grounded_protocol() if "<box>" in turn.thought else textual_protocol()
    parsed = protocol.parse(protocol.write(turn))
    assert (parsed.thought, parsed.action, parsed.is_well_formed) == (turn.thought, turn.action, True)


# Curated rows


def test_curated_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    media = MediaStore()
    path = written(tmp_path, conversation(target_instances=[[10, 20, 60, 90]]), conversation(TEXTUAL, id="own"))
    examples = read_cold_start(path, media).examples
    out = tmp_path / "curated"
    rows = [cold_start_row(one, [export_path(image) for image in one.example.task.images]) for one in examples]
    for one in examples:
        for image in one.example.task.images:
            media.export(image, out / "images")
    (out / "examples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [row["stream"] for row in rows] == ["grounded", "textual"]
    again = read_cold_start(out, MediaStore()).examples
    assert [one.example.turns for one in again] == [one.example.turns for one in examples]
    assert [one.example.task.id for one in again] == [one.example.task.id for one in examples]
    assert [one.example.task.targets for one in again] == [one.example.task.targets for one in examples]

    def refused(**changes: object) -> str:
        (out / "examples.jsonl").write_text(json.dumps(rows[1]) + "\n" + json.dumps(rows[0] | changes) + "\n")
        [bad] = read_cold_start(out, MediaStore(), skip_bad_rows=True).skipped
        assert bad.row == 2
        return f"{bad.key}: {bad.why}"

    assert refused(stream="textual") == "stream: is 'textual', but by its boxes the reasoning is grounded"
    assert refused(image_hashes=["0"]).startswith("images: are no longer those of the example")
    assert refused(turns=[{"thought": "a", "code": "1"}, rows[0]["turns"][0]]) == (  # type: ignore[index]
        "turns: has 2 turns; reasoning and answer must be one turn"
    )
    assert "is not four numbers" in refused(turns=[{"thought": "<box>?</box>", "answer": "A"}])
    assert refused(id=rows[1]["id"], stream="textual", turns=rows[1]["turns"]).endswith("row 1")
