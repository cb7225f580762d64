"""Turns of a model whose template opens the thought: every protocol, every reading, actions of environments."""

import re
from collections.abc import Callable

import pytest

from saccade.interop.environments.actions import ActionForm, parse_action
from saccade.protocols.linguistic_tools import LinguisticTool, LinguisticToolbox
from saccade.protocols.markup import with_opened_thought
from saccade.protocols.named import PROTOCOLS, protocol_named
from saccade.protocols.protocol import ChatProtocol, Reading
from saccade.turn_ends import ActionFinder
from saccade.types import Answer, ExpertTurn, Malformed, ToolCall

TOOLBOX = LinguisticToolbox(tools=(LinguisticTool(name="read", description="Reads.", args="Image 1"),))
CHAIN = '<description><tool name="read" args="Image 1: top">red</tool></description>'
BOUND = re.compile(r"\A<think>(.*?)</think>(.*)\Z", re.DOTALL)


def made(name: str, reading: Reading = "strict") -> ChatProtocol:
    max_turns = 3 if name in ("code", "tagged") else None
    toolbox = TOOLBOX if name == "toolchain" else None
    return protocol_named(name, style="full", max_turns=max_turns, toolbox=toolbox, reading=reading)


def actions_of(protocol: ChatProtocol) -> list[Answer | ToolCall]:
    found: list[Answer | ToolCall] = [Answer(text="red")]
    if protocol.name == "code":
        found.append(ToolCall(name="execute_python_code", arguments={"code": "print(1)"}))
    return found + ([ToolCall(name="crop", arguments={"bbox_2d": [0, 0, 9, 9]})] if protocol.offers_tools else [])


def written(protocol: ChatProtocol, action: Answer | ToolCall) -> tuple[str, str]:
    """The thought and what follows it, as an expert of the protocol writes them."""
    thought = f"Image 1 has it.\n{CHAIN}" if protocol.name in ("toolchain", "described") else "Image 1 has it."
    text = protocol.write(ExpertTurn(thought=thought, action=action))
    found = BOUND.match(text)
    return (found[1], found[2]) if found else ("Image 1 has it.", text)


NAMES = [name for name in PROTOCOLS if "/" not in name]


@pytest.mark.parametrize("name", NAMES)
def test_a_thought_that_the_template_opened_is_one(name: str) -> None:
    protocol = made(name)
    for action in actions_of(protocol):
        thought, body = written(protocol, action)
        opened = protocol.parse(f"<think>\n{thought}\n</think>\n\n{body}")
        usual = protocol.parse(f"<think>{thought}</think>{body}")
        assert opened == usual
        assert opened.action == action
        # The baseline that asks for the answer alone is never paid for a thought.
        assert opened.is_well_formed == (name != "vanilla")
        # Without the opening, as some servers and files give the reply.
        bare = protocol.parse(f"\n{thought}\n</think>\n\n{body}")
        assert bare.action == action
        assert bare.thought.strip() == opened.thought.strip()


HIDDEN: dict[str, Callable[[str, str], str]] = {
    "no end": lambda thought, body: f"<think>\n{thought} {body}",
    "no end, then nothing": lambda thought, body: f"<think>\n{thought}\n{body}\n\n",
    "inside alone": lambda thought, body: f"<think>\n{thought} {body}</think>",
    "opened again": lambda thought, body: f"<think>\n{thought}</think>\n<think>{body}",
    "opened twice": lambda thought, body: f"<think>\n<think>{thought} {body}",
}


@pytest.mark.parametrize("reading", ["strict", "lenient", "foreign"])
@pytest.mark.parametrize("name", NAMES)
def test_an_action_in_a_thought_is_none(name: str, reading: Reading) -> None:
    if reading != "strict" and name == "bare":
        return
    protocol = made(name, reading)
    for action in actions_of(protocol):
        thought, body = written(protocol, action)
        for what, hide in HIDDEN.items():
            parsed = protocol.parse(hide(thought, body))
            assert isinstance(parsed.action, Malformed), what
            assert not parsed.is_well_formed
            assert (parsed.boxes, parsed.points) == ((), ()), what


@pytest.mark.parametrize("reading", ["strict", "lenient"])
@pytest.mark.parametrize("name", NAMES)
def test_of_two_actions_that_in_the_thought_never_counts_and_two_ends_are_never_paid(
    name: str, reading: Reading
) -> None:
    if reading != "strict" and name == "bare":
        return
    protocol = made(name, reading)
    for action in actions_of(protocol):
        thought, body = written(protocol, action)
        other = body.replace("red", "blue").replace("print(1)", "print(2)").replace("[0, 0, 9, 9]", "[5, 5, 9, 9]")
        both = protocol.parse(f"<think>\n{thought} {other}</think>{body}")
        assert isinstance(both.action, Malformed) or both.action == action
        assert not both.is_well_formed or name == "bare"
        twice = protocol.parse(f"<think>\n{thought}</think>{other}</think>{body}")
        assert not twice.is_well_formed or name == "bare"
        assert isinstance(twice.action, Malformed) or twice.action == action or reading == "lenient"


@pytest.mark.parametrize("name", ["code", "tagged"])
def test_the_engine_does_not_end_a_turn_at_an_action_in_an_opened_thought(name: str) -> None:
    protocol = made(name, "lenient")
    assert protocol.fenced_actions is not None
    for text, ends in (("a```python\n", False), ("hm\n```python\nprint(1)\n```\nso", False)):
        finder = ActionFinder(protocol.fenced_actions, "<think>\n")
        assert any(finder.completes(letter.encode()) for letter in text) == ends


@pytest.mark.parametrize("form", ["thought", "action", "text"])
def test_an_action_of_an_environment_stands_after_the_thought(form: ActionForm) -> None:
    block = "left" if form == "text" else "<action>left</action>"
    for opened in (f"<think>\nhm\n</think>\n\n{block}", f"\nhm\n</think>\n\n{block}"):
        parsed = parse_action(opened, form)
        assert (parsed.thought, parsed.action) == ("hm", "left")
    assert parse_action(f"<think>\nhm\n</think>\n\n{block}", form).is_well_formed
    for hide in HIDDEN.values():
        parsed = parse_action(hide("hm", block), form)
        assert parsed.action is None
        assert not parsed.is_well_formed
    twice = parse_action(f"<think>a</think>{block.replace('left', 'right')}</think>{block}", form)
    assert not twice.is_well_formed


def test_a_server_s_reply_gets_the_tag_back_that_its_template_wrote() -> None:
    assert with_opened_thought("\nhm</think>red") == "<think>\nhm</think>red"
    for kept in ("<think>hm</think>red", "red", "<think>a</think>b</think>c", "red <think>"):
        assert with_opened_thought(kept) == kept
