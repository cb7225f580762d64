"""The two protocols of iVGR: what they ask, what they read, and what of it goes to disk."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.errors import UserError
from saccade.geometry import Box
from saccade.media.resize import ResizeRule, ViewRule
from saccade.media.store import MediaStore
from saccade.protocols.box_text import MAX_BOXES
from saccade.protocols.instructions import Style
from saccade.protocols.markup import MAX_TURN_CHARS
from saccade.protocols.protocol import ChatProtocol, ParsedTurn
from saccade.protocols.two_streams import grounded_protocol, grounded_with_crop_protocol, textual_protocol
from saccade.rollout.trajectory import demonstrate
from saccade.runs.position import Position
from saccade.runs.records import read_records, write_records
from saccade.testing import TINY_VIEW, check_protocol, letter_chat, tiny_example
from saccade.testing.hostile import HOSTILE_TEXTS
from saccade.tools.images import IMAGE_TOOLS, crop
from saccade.tools.tool import tool_from
from saccade.types import (
    Answer,
    Attempt,
    BoxMention,
    Example,
    ExpertTurn,
    ImageRef,
    Malformed,
    SceneObject,
    Score,
    Task,
    Term,
    ToolCall,
    Trajectory,
)

MAKES = (grounded_protocol, textual_protocol, grounded_with_crop_protocol)
SPECS = [tool.spec for tool in IMAGE_TOOLS]
CROP = tool_from(crop)
RED = Answer(text="red")
CUP = "<box>[1,2,3,4]</box>"
CUP_MENTION = BoxMention(text="[1,2,3,4]", box=Box(1, 2, 3, 4))
CALL = '<tool_call>{"name": "crop", "arguments": {"bbox_2d": [1, 2, 3, 4]}}</tool_call>'
BOX_IN_CALL = '<tool_call>{"name": "<box>[1,2,3,4]</box>", "arguments": {}}</tool_call>'

ABSOLUTE = ResizeRule(factor=28, min_pixels=112 * 112, max_pixels=112 * 112, convention="absolute")
"""Sees a square image at 112 x 112 and writes pixels of that view."""

PIECES = (
    *("<think>", "</think>", "<answer>", "</answer>", "<tool_call>", "</tool_call>", "<tool_response>"),
    *("<box>", "</box>", CUP, "red", " ", "{}", "[1,2", ",3,4]"),
)


def turn(thought: str, action: str = "<answer>red</answer>") -> str:
    return f"<think>{thought}</think>{action}"


@pytest.mark.parametrize("style", ["brief", "full"])
@pytest.mark.parametrize("make", MAKES)
def test_every_protocol_of_the_streams_keeps_the_contract(make: Callable[..., ChatProtocol], style: Style) -> None:
    check_protocol(make(style=style), SPECS)
    check_protocol(make(style=style, max_turns=3), ())


def test_a_strict_grounded_protocol_keeps_the_contract() -> None:
    check_protocol(grounded_protocol(form="strict"), SPECS)


def test_a_protocol_without_tools_that_reads_calls_is_found_out() -> None:
    gullible = replace(grounded_protocol(), parse=grounded_with_crop_protocol().parse)
    with pytest.raises(AssertionError, match="reads a call without tools"):
        check_protocol(gullible, SPECS)


def test_a_thought_with_a_box_is_well_formed_and_mentions_it() -> None:
    assert grounded_protocol().parse(turn(f"the cup {CUP} is red")) == ParsedTurn(
        thought=f"the cup {CUP} is red", action=RED, is_well_formed=True, boxes=(CUP_MENTION,)
    )


def test_a_thought_without_boxes_is_well_formed() -> None:
    expected = ParsedTurn(thought="the cup is red", action=RED, is_well_formed=True)
    assert grounded_protocol().parse(turn("the cup is red")) == expected
    assert textual_protocol().parse(turn("the cup is red")) == expected


@pytest.mark.parametrize(
    ("text", "boxes"),
    [
        (turn("", f"<answer>{CUP}</answer>"), ()),
        (turn(f"{CUP}", f"<answer>red {CUP}</answer>"), (CUP_MENTION,)),
        (turn(f"{CUP}", "<answer>red</box></answer>"), (CUP_MENTION,)),
        (turn("", "<answer>red</answer>") + CUP, ()),
        (f"{CUP} " + turn(""), ()),
        (turn("<box>[1,2,3,4]", "<answer>red</answer></box>"), ()),
    ],
)
def test_a_box_beside_the_thought_is_no_mention_and_not_well_formed(text: str, boxes: tuple[BoxMention, ...]) -> None:
    parsed = grounded_protocol().parse(text)
    assert (parsed.boxes, parsed.is_well_formed) == (boxes, False)


def test_a_box_in_a_call_is_no_mention_and_not_well_formed() -> None:
    protocol = grounded_with_crop_protocol()
    parsed = protocol.parse(turn(f"the cup {CUP}", BOX_IN_CALL))
    assert isinstance(parsed.action, ToolCall)
    assert (parsed.boxes, parsed.is_well_formed) == ((CUP_MENTION,), False)
    called = protocol.parse(turn(f"the cup {CUP}", CALL))
    assert called == ParsedTurn(
        thought=f"the cup {CUP}",
        action=ToolCall(name="crop", arguments={"bbox_2d": [1, 2, 3, 4]}),
        is_well_formed=True,
        boxes=(CUP_MENTION,),
    )


def test_a_call_where_no_tools_are_offered_is_malformed_and_its_thoughts_boxes_are_read() -> None:
    parsed = grounded_protocol().parse(turn(CUP, CALL))
    assert isinstance(parsed.action, Malformed)
    assert (parsed.boxes, parsed.is_well_formed) == ((CUP_MENTION,), False)
    assert isinstance(textual_protocol().parse(turn("", CALL)).action, Malformed)


@pytest.mark.parametrize(
    "text",
    [
        turn(f"the cup {CUP}"),
        turn("the cup <box>"),
        turn("the cup </box>"),
        turn("", f"<answer>{CUP}</answer>"),
        turn("the cup") + CUP,
        f"{CUP}" + turn("the cup"),
    ],
)
def test_a_tag_of_a_box_anywhere_in_a_textual_turn_is_not_well_formed(text: str) -> None:
    parsed = textual_protocol().parse(text)
    assert isinstance(parsed.action, Answer)
    assert (parsed.boxes, parsed.is_well_formed) == ((), False)


@pytest.mark.parametrize(
    "thought",
    ["<box>[1,2,3]</box>", "<box>[1,2,3,4]", CUP + "</box>", f"<box>{CUP}</box>", CUP * (MAX_BOXES + 1)],
)
def test_boxes_out_of_order_make_a_grounded_turn_not_well_formed_and_the_answer_counts(thought: str) -> None:
    parsed = grounded_protocol().parse(turn(thought))
    assert (parsed.action, parsed.is_well_formed) == (RED, False)
    assert len(parsed.boxes) <= MAX_BOXES


def test_the_strict_form_reads_no_spaces() -> None:
    spaced = turn("<box>[1, 2, 3, 4]</box>")
    assert grounded_protocol().parse(spaced).is_well_formed
    strict = grounded_protocol(form="strict").parse(spaced)
    assert (strict.boxes, strict.is_well_formed) == ((BoxMention(text="[1, 2, 3, 4]", box=None),), False)


@pytest.mark.parametrize("make", MAKES)
def test_a_turn_that_is_too_long_is_not_read(make: Callable[..., ChatProtocol]) -> None:
    parsed = make().parse(turn(CUP * (MAX_TURN_CHARS // len(CUP))))
    assert (parsed.thought, parsed.boxes, parsed.is_well_formed) == ("", (), False)


@given(text=st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=30).map("".join))
def test_no_turn_is_too_strange_and_well_formed_ones_hold_what_they_should(text: str) -> None:
    for protocol in (grounded_protocol(), grounded_with_crop_protocol(), grounded_protocol(form="strict")):
        parsed = protocol.parse(text)
        if parsed.is_well_formed:
            assert not isinstance(parsed.action, Malformed)
            assert len(parsed.boxes) == text.count("<box>") == text.count("</box>")
            assert all(mention.box is not None for mention in parsed.boxes)
    textual = textual_protocol().parse(text)
    assert textual.boxes == ()
    assert not (textual.is_well_formed and ("<box>" in text or "</box>" in text))


@pytest.mark.parametrize("make", MAKES)
def test_hostile_turns_of_boxes_are_read_in_linear_time(make: Callable[..., ChatProtocol]) -> None:
    """Anything beyond linear would take minutes here."""
    for piece in ("<box>", "</box>", CUP, "<box>[1,", "<box>[" + "1" * 500, "<box>" + "[" * 500):
        text = turn(piece * ((MAX_TURN_CHARS - 100) // len(piece)))
        assert not make().parse(text).is_well_formed


@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_what_models_write_in_their_worst_hours_mentions_no_box(make: Callable[..., ChatProtocol], text: str) -> None:
    assert make().parse(text).boxes == ()


def asked(
    protocol: ChatProtocol, *, view: ViewRule = TINY_VIEW, wordings: dict[str, str] | None = None
) -> tuple[str, str]:
    """What the system says, and what the user says without the images."""
    task = replace(tiny_example(MediaStore()).task, wordings=wordings or {})
    system, user = protocol.prompt(task, [CROP.spec], view)
    texts = ["".join(part for part in message.parts if isinstance(part, str)) for message in (system, user)]
    return texts[0], texts[1]


@pytest.mark.parametrize(
    ("view", "convention"),
    [(TINY_VIEW, "from 0 to 1000 in each direction"), (ABSOLUTE, "in pixels of the image as you see it")],
)
def test_grounded_instructions_show_a_box_and_name_the_familys_convention(view: ViewRule, convention: str) -> None:
    for protocol in (grounded_protocol(), grounded_with_crop_protocol()):
        system, _ = asked(protocol, view=view)
        assert "cup <box>[100,50,200,150]</box>" in system
        assert convention in system


def test_textual_instructions_speak_of_no_boxes_and_no_tools() -> None:
    system, _ = asked(textual_protocol())
    assert "box" not in system
    assert "crop" not in system
    assert "<answer>" in system


def test_only_the_stream_with_tools_names_them_and_says_on_which_image_boxes_are() -> None:
    with_tools, _ = asked(grounded_with_crop_protocol(max_turns=3))
    assert '"name": "crop"' in with_tools
    assert "image 1" in with_tools
    assert "You have 3 turns" in with_tools
    without, _ = asked(grounded_protocol(max_turns=3))
    assert "crop" not in without
    assert "turns in all" not in without


def test_brief_instructions_tell_the_streams_apart_in_a_word() -> None:
    makes = (grounded_protocol, textual_protocol, grounded_with_crop_protocol)
    assert [asked(make(style="brief"))[0] for make in makes] == ["boxes", "words", "boxes crop"]


@pytest.mark.parametrize("style", ["brief", "full"])
def test_each_stream_asks_in_its_own_words_where_the_task_has_them(style: Style) -> None:
    wordings = {"grounded": "Where is the square?", "textual": "Describe the square.", "tagged": "Look!"}
    questions = [asked(make(style=style), wordings=wordings)[1] for make in MAKES]
    expected = ["Where is the square?", "Describe the square.", "Where is the square?"]
    assert [text.splitlines()[-1] for text in questions] == expected
    for make in MAKES:
        assert asked(make(style=style), wordings={"other": "x"})[1].endswith("Which colour has the square?")


@pytest.mark.parametrize("view", [TINY_VIEW, ABSOLUTE])
@pytest.mark.parametrize("make", [grounded_protocol, grounded_with_crop_protocol])
def test_an_experts_boxes_are_written_for_the_family_and_come_back_in_pixels(
    make: Callable[..., ChatProtocol], view: ViewRule
) -> None:
    media = MediaStore()
    task = tiny_example(media).task
    env = VisualReasoningEnv(protocol=make(), tools=(CROP,), media=media, view=view, max_turns=2)
    thought = "The square <box>[64,0,128,192]</box> is red."
    chat = letter_chat(view)
    trajectory = demonstrate(
        Example(task=task, turns=(ExpertTurn(thought=thought, action=RED),)), env=env, chat=chat, stream="grounded"
    )
    [played] = trajectory.turns
    written = "[250,0,500,750]" if view is TINY_VIEW else "[28,0,56,84]"
    assert played.text == f"<think>The square <box>{written}</box> is red.</think><answer>red</answer>"
    assert played.boxes == (BoxMention(text=written, box=Box(64, 0, 128, 192)),)
    assert played.is_well_formed
    assert chat.decode(trajectory.segments[-1].ids) == played.text


@pytest.mark.parametrize("thought", ["A cup <box>[1,2,3]</box>.", "A cup <box>."])
def test_an_experts_broken_box_is_refused(thought: str) -> None:
    with pytest.raises(UserError, match="cannot be written down"):
        grounded_protocol().write(ExpertTurn(thought=thought, action=RED))


def test_an_expert_of_the_textual_stream_writes_no_box() -> None:
    with pytest.raises(UserError, match="cannot be written down"):
        textual_protocol().write(ExpertTurn(thought=f"A cup {CUP}.", action=RED))


@pytest.mark.parametrize("make", [grounded_protocol, textual_protocol])
def test_an_expert_calls_no_tool_where_none_is_offered(make: Callable[..., ChatProtocol]) -> None:
    with pytest.raises(UserError, match="no tools are offered"):
        make().write(ExpertTurn(thought="", action=ToolCall(name="crop", arguments={})))


def test_boxes_objects_wordings_and_notes_come_back_from_disk_as_they_were(tmp_path: Path) -> None:
    media = MediaStore()
    image = media.add(Image.new("RGB", (100, 50), "red"))
    task = Task(
        id="two/1",
        family="two",
        question="?",
        answer="red",
        answer_kind="exact",
        images=(image,),
        objects=(
            SceneObject(name="the cup", box=Box(1.5, 2, 30, 1 / 3), attributes={"place": "left", "mark": "stripes"}),
            SceneObject(name="Größe", box=Box(0, 0, 1, 1), image_index=1),
        ),
        wordings={"grounded": "Where?", "textual": "Which\n\u2028?"},
    )
    env = VisualReasoningEnv(protocol=grounded_protocol(), tools=(), media=media, view=TINY_VIEW, max_turns=1)
    env.reset(options={"task": task})
    env.step(turn("<box>[ -1.5, 2, 3e4 ]</box> <box>[500,1000,250.5,-10]</box>"))
    trajectory = Trajectory(
        task_id=task.id,
        family=task.family,
        stream="grounded",
        sample=0,
        seed=1,
        policy_version=0,
        segments=(),
        turns=env.turns,
        status="answered",
        score=Score(terms=(Term("accuracy", 1.0),), is_right=True, notes={"boxes": 2.0, "box_recall": 1 / 3}),
    )
    assert trajectory.turns[0].boxes == (
        BoxMention(text="[ -1.5, 2, 3e4 ]", box=None),
        BoxMention(text="[500,1000,250.5,-10]", box=Box(50, 50, 25.05, -0.5)),
    )
    record = Attempt(task=task, trajectory=trajectory)
    path = tmp_path / "records.jsonl"
    write_records(path, Position(stage="rl", step=1), [record], media=media, media_directory=tmp_path)
    assert list(read_records(path)) == [record]


def test_a_record_without_boxes_objects_wordings_and_notes_is_as_small_as_before(tmp_path: Path) -> None:
    media = MediaStore()
    task = tiny_example(media).task
    env = VisualReasoningEnv(protocol=textual_protocol(), tools=(), media=media, view=TINY_VIEW, max_turns=1)
    env.reset(options={"task": task})
    env.step(turn("so"))
    trajectory = Trajectory(
        task_id=task.id,
        family=task.family,
        stream="textual",
        sample=0,
        seed=1,
        policy_version=0,
        segments=(),
        turns=env.turns,
        status="answered",
        score=Score(terms=(Term("one", 1.0),)),
    )
    path = tmp_path / "records.jsonl"
    record = Attempt(task=task, trajectory=trajectory)
    write_records(path, Position(stage="rl", step=1), [record], media=media, media_directory=tmp_path)
    _, written_task, written = (json.loads(line) for line in path.read_text().splitlines())
    assert not {"objects", "wordings"} & set(written_task)
    assert "boxes" not in written["turns"][0]
    assert "notes" not in written["score"]
    assert list(read_records(path)) == [record]


def test_a_task_without_images_keeps_the_boxes_as_they_were_written() -> None:
    task = replace(tiny_example(MediaStore()).task, images=())
    env = VisualReasoningEnv(protocol=grounded_protocol(), tools=(), media=MediaStore(), view=TINY_VIEW, max_turns=1)
    env.reset(options={"task": task})
    env.step(turn(CUP))
    assert env.turns[0].boxes == (CUP_MENTION,)
    assert isinstance(env.prompt[1].parts[0], str)
    assert not any(isinstance(part, ImageRef) for part in env.prompt[1].parts)
