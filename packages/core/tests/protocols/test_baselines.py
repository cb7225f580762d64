"""Baselines of prompting: five ways to ask for one turn."""

import pytest

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.protocols import BASELINES, BaselineName, baseline_protocol, direct_protocol, protocol_named
from saccade.protocols.instructions import Style
from saccade.testing import TINY_VIEW, check_protocol, tiny_example
from saccade.types import Answer, ExpertTurn, Malformed, ToolCall

TASK = tiny_example(MediaStore()).task


def instructions(name: BaselineName, style: Style = "full") -> str:
    (part,) = baseline_protocol(name, style=style).prompt(TASK, (), TINY_VIEW)[0].parts
    assert isinstance(part, str)
    return part


@pytest.mark.parametrize("style", ["brief", "full"])
@pytest.mark.parametrize("name", BASELINES)
def test_every_baseline_keeps_the_contract(name: BaselineName, style: Style) -> None:
    thought = "" if name == "vanilla" else "I look at it, step by step."
    check_protocol(baseline_protocol(name, style=style), (), thought=thought)
    assert protocol_named(name, style=style, max_turns=3).name == name


def test_each_asks_in_its_own_words_and_shows_the_same() -> None:
    assert len({instructions(name) for name in BASELINES}) == len(BASELINES) == 5
    assert [instructions(name, "brief") for name in BASELINES] == [name.replace("_", " ") for name in BASELINES]
    users = {baseline_protocol(name).prompt(TASK, (), TINY_VIEW)[1] for name in BASELINES}
    assert users == {direct_protocol().prompt(TASK, (), TINY_VIEW)[1]}
    assert all("<think>" in instructions(name) for name in BASELINES if name != "vanilla")
    assert "think" not in instructions("vanilla")


@pytest.mark.parametrize(
    ("text", "answer", "is_well_formed"),
    [
        ("<answer>7</answer>", "7", True),
        ("\n<answer> 7 </answer> ", "7", True),
        ("<think>Hm.</think><answer>7</answer>", "7", False),
        ("It is <answer>7</answer>", "7", False),
        ("7", None, False),
        ("<answer>7</answer><answer>8</answer>", None, False),
        ("<answer> </answer>", None, False),
    ],
)
def test_a_vanilla_turn_is_the_answer_alone(text: str, answer: str | None, is_well_formed: bool) -> None:
    parsed = baseline_protocol("vanilla").parse(text)
    assert parsed.action == Answer(text=answer) if answer else isinstance(parsed.action, Malformed)
    assert parsed.is_well_formed == is_well_formed


def test_the_others_read_turns_of_one_thought_and_an_answer() -> None:
    parsed = baseline_protocol("tree_of_thoughts").parse("<think>One. Two.</think><answer>7</answer>")
    assert (parsed.thought, parsed.action, parsed.is_well_formed) == ("One. Two.", Answer(text="7"), True)
    assert not baseline_protocol("evidence_first").parse("<answer>7</answer>").is_well_formed
    call = '<think>x</think><tool_call>{"name": "crop", "arguments": {}}</tool_call>'
    assert isinstance(baseline_protocol("structured").parse(call).action, Malformed)


def test_an_experts_call_cannot_be_written() -> None:
    for name in BASELINES:
        with pytest.raises(UserError):
            baseline_protocol(name).write(ExpertTurn(thought="x", action=ToolCall(name="crop", arguments={})))
    with pytest.raises(UserError, match="there is no baseline 'forest'; choose vanilla, structured"):
        baseline_protocol("forest")  # type: ignore[arg-type]
