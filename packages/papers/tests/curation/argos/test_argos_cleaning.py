"""Cleaning of a teacher's reply: points in tags, no word on overlays, everything else refused in linear time."""

import pytest

from saccade.curation.argos.cleaning import RefusedReply, clean_reply, cleaned_as_pointed
from saccade.curation.argos.marks import Mark
from saccade.geometry import Point
from saccade.media.resize import ResizeRule
from saccade.types import Answer, ExpertTurn, ImageRef, Task

PICTURE = ImageRef(hash="0" * 64, width=640, height=480)
TASK = Task(id="t", family="f", question="Which car is new?", answer="jeep", answer_kind="text", images=(PICTURE,))
MARKS = (Mark(label="jeep", point=Point(408, 179)), Mark(label="tree", point=Point(10, 20)))
JEEP = '<points x1="408" y1="179" alt="jeep">jeep</points>'
TREE = '<points x1="10" y1="20" alt="tree">tree</points>'


def thought(text: str, task: Task = TASK) -> str:
    """The cleaned thought, or the reason why there is none."""
    found = clean_reply(f"<think>{text}</think><answer>jeep</answer>", task, MARKS)
    return found.reason if isinstance(found, RefusedReply) else found.thought


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (f"The {JEEP} is new.", f"The {JEEP} is new."),
        ('The <point x="408.7" y="179.2">jeep</point> is new.', f"The {JEEP} is new."),
        ('Both: <points x3="1" y3="2" x4="5" y4="6" alt="cars"/>.',
         'Both: <points x1="1" y1="2" x2="5" y2="6" alt="cars">cars</points>.'),
        ("The jeep at (408, 179) is new.", f"The {JEEP} is new."),
        ("The jeep, which is located at [408,179], is new.", f"The {JEEP}, is new."),
        ("The new one at (409, 178) is it.", f"The new one at {JEEP} is it."),
        ("A tree (10, 20) hides the jeep (408, 179).", f"A {TREE} hides the {JEEP}."),
        ("It is at (77, 88).", "coordinates"),
        ("In the overlaid image, the jeep (408, 179) is new.", f"The {JEEP} is new."),
        ("The jeep (408, 179), as shown in the overlay, is new.", f"The {JEEP}, is new."),
        ("I see a jeep (408, 179) (marked on the overlay). It is new.", f"I see a {JEEP}. It is new."),
        (f"The overlay helps. The {JEEP} is new.", f"The {JEEP} is new."),
        (f"Looking at the original image, the {JEEP} is new.", f"Looking at the image, the {JEEP} is new."),
        (f"The annotated copy has the {JEEP}.", "tells_of_overlay"),
        ("The overlay says so.", "unreadable"),
        ("In [F17 @ t=19.21s] it turns.", "In frame 17 at 19.21 seconds it turns."),
        ("From [F1-F4 @ t=0.00-3.31s] it turns.", "From frames 1 to 4 it turns."),
        ("[F1 @ t=0.00s, F2 @ t=1.66s, F3 @ t=3.31s]: it turns.", "frames 1 to 3: it turns."),
        ("<points x1='3'>jeep</points>", "ill_formed"),
        ("a <points x1='3' y1='4'>jeep", "ill_formed"),
    ],
)  # fmt: skip
def test_thoughts_are_cleaned(said: str, kept: str) -> None:
    assert thought(said) == kept


def test_words_that_the_question_uses_may_stay() -> None:
    said = f"The overlay is red, beside the {JEEP}, at (3, 4)."
    assert thought(said) == "tells_of_overlay"
    asked = Task(
        id="t", family="f", question="Which colour has the overlay at (3, 4)?", answer="jeep", answer_kind="text",
        images=(PICTURE,),
    )  # fmt: skip
    assert thought(said, asked) == said


def test_the_second_of_two_pictures_may_be_named() -> None:
    said = f"In the second image the {JEEP} is new."
    assert thought(said) == "tells_of_overlay"
    two = Task(
        id="t", family="f", question="Which?", answer="jeep", answer_kind="text", images=(PICTURE, PICTURE)
    )  # fmt: skip
    assert thought(said, two) == said


@pytest.mark.parametrize(
    "reply",
    [
        f"<think>Look.</think><answer>The {JEEP} is it: <|begin_of_box|>jeep<|end_of_box|></answer>",
        f"<think>Look.</think>The {JEEP} is it: <|begin_of_box|>jeep<|end_of_box|>",
    ],
)
def test_the_answer_of_a_box_is_the_answer_and_what_is_around_it_reasoning(reply: str) -> None:
    assert clean_reply(reply, TASK, MARKS) == ExpertTurn(
        thought=f"Look.\nThe {JEEP} is it: jeep", action=Answer(text="jeep")
    )


def test_two_boxes_are_no_answer() -> None:
    both = "<think>a</think><|begin_of_box|>jeep<|end_of_box|> or <|begin_of_box|>van<|end_of_box|>"
    assert isinstance(clean_reply(both, TASK, MARKS), RefusedReply)


def test_a_model_that_points_by_itself_is_read_in_its_own_view() -> None:
    view = ResizeRule(factor=28, min_pixels=1, max_pixels=1 << 20, convention="relative_1000")
    reply = '<think>the <point x="500" y="250">jeep</point></think><answer>jeep</answer> and more'
    assert cleaned_as_pointed(reply, TASK, view) == ExpertTurn(
        thought='the <point x="320" y="120">jeep</point>', action=Answer(text="jeep")
    )
    bare = cleaned_as_pointed("<think>the jeep</think><answer>jeep</answer>", TASK, view)
    assert bare == ExpertTurn(thought="the jeep", action=Answer(text="jeep"))
    reasons = {
        "": "empty",
        "x" * 70_000: "too_long",
        "<think>a</think>": "unreadable",
        "<think></think><answer>jeep</answer>": "unreadable",
        f"<think>a</think><answer>{JEEP}</answer>": "points_in_answer",
        "<think>a <point x='3'>b</point></think><answer>jeep</answer>": "ill_formed",
        "aside <think>a</think><answer>jeep</answer>": "ill_formed",
        "<think>" + "and the jeep " * 200 + "</think><answer>jeep</answer>": "repeats",
    }
    found = {reply: cleaned_as_pointed(reply, TASK, view) for reply in reasons}
    assert {reply: one.reason for reply, one in found.items() if isinstance(one, RefusedReply)} == reasons


@pytest.mark.parametrize(
    "piece",
    [
        "(",
        "(1,",
        "(408, 179) ",
        "in the overlay ",
        "<points ",
        "[F1 @ ",
        ", F2 @ t",
        "(overlay ",
        ". In the copy ",
        ", ",
    ],
)
def test_hostile_text_is_read_to_its_end(piece: str) -> None:
    """A pattern that backtracks would take minutes for these."""
    text = (piece * 65_000)[:65_000] + " (3, 4)"
    assert isinstance(clean_reply(f"<think>{text}</think><answer>a</answer>", TASK, MARKS), RefusedReply)
