"""Halves of surrogate pairs: refused in what a client sends, replaced in what a tool or an environment says."""

import json

import pytest

from saccade.characters import whole_characters
from saccade.codec.text import parsed, parsed_whole
from saccade.errors import MachineError
from saccade.interop.environments.world import StepResult, WorldObservation
from saccade.media.store import MediaStore
from saccade.services.client.remote_tools import tools_of
from saccade.tools.tool import tool_from

HALF = "\ud83d which?"


def test_json_of_whole_characters_alone_is_read() -> None:
    whole = {"words": "\U0001f600 é", "number": float("inf"), "deep": [[{}]]}
    assert parsed_whole(json.dumps(whole).encode()) == whole
    for value in (HALF, [HALF], {"a": {HALF: 1}}, "\ude00\ud83d"):
        text = json.dumps(value).encode()
        assert parsed(text) == value
        with pytest.raises(ValueError, match=r"half a surrogate pair \(\\ud83d|half a surrogate pair \(\\ude00"):
            parsed_whole(text)


def test_a_half_becomes_a_question_mark() -> None:
    assert [whole_characters(text) for text in (HALF, "é", "\U0001f600", "")] == ["? which?", "é", "\U0001f600", ""]


def test_what_a_tool_says_is_shown_in_whole_characters() -> None:
    def say(word: str) -> str:
        """Says it.

        Args:
            word: What.
        """
        return f"{word} \ud83d"

    assert tool_from(say).call({"word": "a\udc00"}, (), MediaStore()).text == "a? ?"


def test_what_an_environment_says_is_shown_in_whole_characters() -> None:
    assert WorldObservation(text=HALF).text == "? which?"
    assert StepResult(invalid=HALF).invalid == "? which?"


def test_a_server_whose_tools_are_described_in_halves_is_at_fault() -> None:
    described = {"name": "look", "description": HALF, "parameters": {}, "arguments": [], "deadline_s": 1.0}
    with pytest.raises(MachineError, match="half a surrogate pair"):
        tools_of(json.dumps({"tools": [described | {"batches": False}]}).encode())
