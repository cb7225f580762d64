"""Tools that remember what they gave: the same work is done once, and nothing else changes."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from PIL import Image

from saccade.errors import MachineError, ToolError
from saccade.media.store import MediaStore
from saccade.tools.remembered_calls import MAX_KEPT_CHARS, remembering
from saccade.tools.tool import Tool, ToolOutput, tool_from

GREY, WHITE = Image.new("RGB", (8, 8), "grey"), Image.new("RGB", (8, 8), "white")


class Counted:
    """A tool that counts how often it really works."""

    def __init__(
        self, work: Callable[[Image.Image, str], ToolOutput | str] = lambda image, word: f"saw {word}"
    ) -> None:
        self.calls = 0
        self.media = MediaStore()
        self._work = work

        def see(image: Image.Image, word: str) -> ToolOutput:
            """See a word."""
            self.calls += 1
            given = self._work(image, word)
            return given if isinstance(given, ToolOutput) else ToolOutput(text=given, data={"word": word})

        self.tool: Tool = remembering(tool_from(see), max_calls=3)

    def __call__(self, word: str, image: Image.Image = GREY) -> str:
        result = self.tool.call({"word": word}, [self.media.add(image)], self.media)
        assert result.images or result.data == {"word": word}
        return result.text


def test_the_same_call_on_the_same_picture_is_made_once() -> None:
    see = Counted()
    assert [see("a"), see("a"), see("b"), see("a", WHITE), see("a")] == ["saw a", "saw a", "saw b", "saw a", "saw a"]
    assert see.calls == 3


def test_what_was_longest_not_asked_for_is_forgotten() -> None:
    see = Counted()
    for word in "abcadabc":
        see(word)
    # b was forgotten for d, c for b, and d for c.
    assert see.calls == 6


def test_a_refusal_is_remembered_too() -> None:
    def refuse(image: Image.Image, word: str) -> str:
        raise ToolError(f"no {word} here")

    see = Counted(refuse)
    for _ in range(3):
        with pytest.raises(ToolError, match="no a here"):
            see("a")
    assert see.calls == 1


def test_what_the_machine_failed_is_tried_again() -> None:
    def fail_once(image: Image.Image, word: str) -> str:
        if see.calls == 1:
            raise OSError("gone")
        return "back"

    see = Counted(fail_once)
    with pytest.raises(MachineError, match="gone"):
        see("a")
    assert [see("a"), see("a")] == ["back", "back"]
    assert see.calls == 2


@pytest.mark.parametrize(
    "output",
    [ToolOutput(text="a picture", images=(WHITE,)), ToolOutput(text="x" * (MAX_KEPT_CHARS + 1), data={"word": "a"})],
)
def test_pictures_and_long_texts_are_made_anew(output: ToolOutput) -> None:
    see = Counted(lambda image, word: output)
    assert see("a") == see("a") == output.text
    assert see.calls == 2


def test_calls_at_the_same_time_wait_for_one_of_them() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def wait(image: Image.Image, word: str) -> str:
        begun.set()
        assert go_on.wait(30)
        return "waited"

    see = Counted(wait)
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(see, "a")
        assert begun.wait(30)
        others = [pool.submit(see, "a") for _ in range(3)]
        go_on.set()
        assert {one.result() for one in (first, *others)} == {"waited"}
    assert see.calls == 1
