"""Texts of a teacher that should be plain words, read and held against the trajectory that they tell anew."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.curation.ivgr.plain_words import MAX_REPLY_CHARS, coordinates_in, lost_objects, named_objects, plain_reply
from saccade.geometry import Box

BOXES = [Box(10, 20, 60, 70), Box(70.4, 30, 110, 75)]


@pytest.mark.parametrize(
    "reply",
    [
        "A cat sits left.\n<answer>red</answer>",
        " A cat sits left. <answer> red </answer>\n",
        "<think>A cat sits left.</think><answer>red</answer>",
        "A cat sits left.</think>\n<answer>red</answer>",
        "<think>The user wants… <answer>?</answer></think>A cat sits left.<answer>red</answer>",
    ],
)
def test_reasoning_and_answer_of_a_reply(reply: str) -> None:
    assert plain_reply(reply) == ("A cat sits left.", "red")


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("", "does not end with an <answer>"),
        ("A cat.", "does not end with an <answer>"),
        ("A cat. <answer>red", "does not end with an <answer>"),
        ("A cat. <answer>red</answer> That is it.", "does not end with an <answer>"),
        ("<answer>red</answer>", "is empty"),
        ("<think> </think><answer>red</answer>", "is empty"),
        ("A cat. <answer> </answer>", "is empty"),
        ("A cat. " * 20_000 + "<answer>red</answer>", f"longer than {MAX_REPLY_CHARS} characters"),
    ],
)
def test_a_reply_of_any_other_form_is_none(reply: str, why: str) -> None:
    read = plain_reply(reply)
    assert isinstance(read, str)
    assert why in read


@pytest.mark.parametrize(
    "text",
    [
        "The cat <box>[10,20,60,70]</box> sits.",
        "The cat is in the bounding box on the left.",
        "bbox_2d of the cat",
        "The cat at [10, 20, 60, 70] sits.",
        "The cat at [0.1,0.2,0.6,0.7] sits.",
        "The cat (10, 20) sits.",
        "The cat (10;20) sits.",
        "Its coordinates say so.",
        "It is 40 pixels wide.",
        "It is 40px wide.",
        "It begins at x=10.",
        "It begins at y1: 20.",
        "The cat goes from 10, 20 to 60, 70.",
        "left 70, top 30, right 110 and bottom 75",
    ],
)
def test_places_in_numbers_are_found(text: str) -> None:
    assert coordinates_in(text, known="Where is the cat?", boxes=BOXES) != ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The cat sits at the upper left, behind 2 cups.",
        "There are 10, 20 or 60 of them.",
        "The sign says 10 20 60 71.",
        "In 1998 (and 2001) about 1,200 (1,250) were sold.",
        "It is a box of matches [sic].",
        "pixelated",
    ],
)
def test_other_numbers_and_brackets_are_not(text: str) -> None:
    assert coordinates_in(text, known="Where is the cat?", boxes=BOXES) == ""


def test_what_the_question_says_may_be_said_again() -> None:
    assert coordinates_in("So x = 5 gives (2, 3).", known="What is at x=5, (2,3) or (3,4)?") == ""
    assert coordinates_in("So x = 6 gives (2, 3).", known="What is at x=5, (2,3) or (3,4)?") == "x = 6"


@pytest.mark.parametrize(
    ("thought", "names"),
    [
        ("I see the cat <box>[1,2,3,4]</box> and a red Cup<box>[5,6,7,8]</box>.", ["cat", "cup"]),
        ("the dog on the left <box>[1,2,3,4]</box>", ["dog"]),
        ("the dog is located at <box>[1,2,3,4]</box>", ["dog"]),
        ("the man's hat (<box>[1,2,3,4]</box>)", ["hat"]),
        ("Dog: <box>[1,2,3,4]</box>", ["dog"]),
        ("the dog <box>[1,2,3,4]</box>, the dog <box>[5,6,7,8]</box>", ["dog"]),
        ("Somewhere there is a hat. <box>[1,2,3,4]</box>", []),
        ("the cat <box>[1,2,3,4]</box><box>[5,6,7,8]</box>", ["cat"]),
        ("<box>[1,2,3,4]</box>", []),
        ("no box, a cat", []),
    ],
)
def test_names_stand_before_their_boxes(thought: str, names: list[str]) -> None:
    assert named_objects(thought) == names


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        ("A cat sits beside two cups and berries.", []),
        ("Cats, a cup, one berry.", []),
        ("The CAT's cup; berries.", []),
        ("A catalogue and a cup, berries.", ["cat"]),
        ("A kitten.", ["cat", "cups", "berry"]),
    ],
)
def test_names_that_are_not_said_again_are_lost(text: str, lost: list[str]) -> None:
    thought = "the cat <box>[1,2,3,4]</box>, the cups <box>[1,2,3,4]</box>, a berry <box>[1,2,3,4]</box>"
    assert lost_objects(thought, text) == lost


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    pieces=st.lists(st.sampled_from(["[", "(", "1", "1,", " ", "<box>", "</box>", "x=", "[1,2]", "cat", "<answer>"]))
)
def test_any_text_can_be_looked_at(pieces: list[str]) -> None:
    text = "".join(pieces)
    found = coordinates_in(text, known="")
    assert found == "" or any(mark in found for mark in ("box", "x", "[", "("))
    assert lost_objects(text, text) == []
    plain_reply(text)
