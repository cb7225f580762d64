from collections.abc import Sequence

import pytest
from PIL import Image

from saccade.testing.tiny_specialists import example_picture
from saccade.testing.tool_check import FuzzedTool, fuzz
from saccade.tools.catalogue.catalogue import entry_of
from saccade.tools.tool import Tool, tool_from

CALLS = 400
SMALL: Sequence[Image.Image] = [Image.new("RGB", size, "white") for size in ((1, 1), (3, 40), (48, 48))]


def test_every_call_ends_in_a_result_or_in_an_error_that_names_an_argument(all_tools: dict[str, Tool]) -> None:
    tools = [
        FuzzedTool(tool=tool, example=entry_of(name).example, pictures=[example_picture(entry_of(name)), *SMALL * 3])
        for name, tool in all_tools.items()
    ]
    report = fuzz(tools, CALLS, seed=1)
    assert report.failures == []
    assert sum(report.endings.values()) == CALLS
    assert min(report.endings["result"], report.endings["refused"]) > CALLS / 20


def test_the_same_seed_makes_the_same_calls(all_tools: dict[str, Tool]) -> None:
    tools = [FuzzedTool(tool=all_tools["crop"], example=entry_of("crop").example, pictures=SMALL)]
    assert fuzz(tools, 50, seed=2).by_kind == fuzz(tools, 50, seed=2).by_kind


def test_a_tool_that_breaks_or_refuses_without_a_reason_is_found() -> None:
    def divide(text: str) -> str:
        """Divide."""
        return str(1 / text.count("e"))

    report = fuzz([FuzzedTool(tool=tool_from(divide), example={"text": "red"}, pictures=SMALL)], 100)
    assert report.endings["broken"] > 0
    assert report.failures[0]["tool"] == "divide"
    assert "ZeroDivisionError" in str(report.failures[0]["said"])


@pytest.mark.parametrize("kind", ["nameless"])
def test_a_refusal_that_names_nothing_is_found(kind: str) -> None:
    from saccade.errors import ToolError

    def refuse(text: str) -> str:
        """Refuse."""
        raise ToolError("no")

    report = fuzz([FuzzedTool(tool=tool_from(refuse), example={"text": "red"}, pictures=SMALL)], 60)
    assert report.endings[kind] > 0  # type: ignore[index]
