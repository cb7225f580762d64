"""The bare protocol: nothing but the question is sent, and the whole reply is the answer."""

import pytest

from saccade.errors import UserError
from saccade.protocols.bare import bare_protocol, parse_bare
from saccade.testing import TINY_VIEW
from saccade.types import Answer, ExpertTurn, ImageRef, Malformed, Message, Task, ToolCall

RED = ImageRef(hash="0" * 64, width=8, height=8)
TASK = Task(id="t", family="f", question="Which?", answer="B", answer_kind="choice", images=(RED,), choices=("a", "b"))


def test_the_prompt_is_the_picture_and_the_question_alone() -> None:
    asked = bare_protocol().prompt(TASK, (), TINY_VIEW)
    assert asked == (Message(role="user", parts=(RED, "Which?\nA. a\nB. b")),)


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("B", "B"),
        (" The answer is B. \n", "The answer is B."),
        ("<think>It is blue.</think>B", "B"),
        ("It is blue.</think>\n\nB", "B"),
        ("<answer>B</answer>", "<answer>B</answer>"),
        ("\\boxed{B}", "\\boxed{B}"),
    ],
)
def test_what_follows_the_thought_is_the_answer(reply: str, answer: str) -> None:
    read = parse_bare(reply)
    assert (read.action, read.is_well_formed) == (Answer(text=answer), True)


@pytest.mark.parametrize("reply", ["", " \n", "<think>It is blue.</think>", "<think>It is B", "\ud800"])
def test_a_reply_without_an_answer_is_malformed(reply: str) -> None:
    assert isinstance(parse_bare(reply).action, Malformed)


def test_an_expert_may_answer_and_not_call() -> None:
    protocol = bare_protocol()
    assert protocol.write(ExpertTurn(thought="", action=Answer(text="B"))) == "B"
    with pytest.raises(UserError, match="has no calls"):
        protocol.write(ExpertTurn(thought="", action=ToolCall(name="crop", arguments={})))
