"""Thoughts as the viewer shows them: opened by a template, never ended, and with words that look like actions."""

import pytest

from saccade.types import Answer, ToolCall, Turn
from saccade.viewer.scene.texts import parts_of
from saccade.viewer.store.message_reading import ForeignMessage
from saccade.viewer.store.messages import Told, attempt_of

CALL = '<tool_call>{"name": "crop", "arguments": {}}</tool_call>'


def shown(text: str) -> list[tuple[str, str]]:
    return [(part.kind, text[part.start : part.end]) for part in parts_of(text)]


def test_a_thought_that_a_template_opened_is_shown_as_one() -> None:
    assert shown("hm</think><answer>red</answer>") == [
        ("thought", "hm"),
        ("tag", "</think>"),
        ("tag", "<answer>"),
        ("answer", "red"),
        ("tag", "</answer>"),
    ]


@pytest.mark.parametrize("words", ["<answer>red</answer>", CALL, "```python\nprint(1)\n```"])
def test_what_a_thought_quotes_is_shown_as_its_words(words: str) -> None:
    text = f"<think>either {words} or not</think><answer>blue</answer>"
    assert shown(text)[1] == ("thought", f"either {words} or not")
    assert shown(f"<think>either {words}")[1:] == [("thought", f"either {words}")]


def turn_of(text: str) -> Turn:
    told = Told(task="t")
    return attempt_of(
        [ForeignMessage(role="user", text="?"), ForeignMessage(role="assistant", text=text)], told
    ).trajectory.turns[0]


@pytest.mark.parametrize(
    ("text", "thought", "action"),
    [
        ("<think>hm</think>\n\nred", "hm", Answer(text="red")),
        ("hm\n</think>\n\nred", "hm", Answer(text="red")),
        (
            f"<answer>blue</answer> or {CALL}?</think><answer>red</answer>",
            f"<answer>blue</answer> or {CALL}?",
            Answer(text="red"),
        ),
        (f"hm</think>{CALL}", "hm", ToolCall(name="crop", arguments={})),
        ("<think>it is <answer>red</answer>", "it is <answer>red</answer>", Answer(text="")),
        ("red", "", Answer(text="red")),
    ],
)
def test_a_turn_of_another_trainer_answers_after_its_thought(
    text: str, thought: str, action: Answer | ToolCall
) -> None:
    turn = turn_of(text)
    assert (turn.thought, turn.action) == (thought, action)
