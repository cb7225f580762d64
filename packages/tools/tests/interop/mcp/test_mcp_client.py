"""Tools of servers that run as processes of their own."""

import contextlib
import copy
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from PIL import Image
from test_mcp_server import OWN_SERVER, free_port, wait_for

from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.errors import BrokenToolError, MachineError, ToolError, UserError
from saccade.interop.mcp.client import McpTools
from saccade.media.store import MediaStore
from saccade.testing import TINY_VIEW, check_tool, tiny_example
from saccade.tools.images import IMAGE_TOOLS
from saccade.tools.tool import find_tool
from saccade.types import ToolResult
from warm import TOOLS, WarmProcess

SMALL_SERVER = [sys.executable, str(Path(__file__).parent / "mcp_small_server.py")]


@pytest.fixture(scope="module")
def small() -> Iterator[McpTools]:
    with McpTools(SMALL_SERVER, image_arguments={"size_of": "picture"}, deadline_s=120.0, start_s=120.0) as tools:
        yield tools


@pytest.fixture(scope="module")
def small_url() -> Iterator[str]:
    port = free_port()
    with subprocess.Popen([*SMALL_SERVER, str(port)]) as process:
        wait_for(port)
        yield f"http://127.0.0.1:{port}/mcp"
        process.kill()


@pytest.fixture(scope="module")
def own() -> Iterator[McpTools]:
    with McpTools([sys.executable, OWN_SERVER, "0"], start_s=120.0) as tools:
        yield tools


def call(tools: McpTools, name: str, **arguments: object) -> ToolResult:
    return find_tool(name, tools.tools).call(arguments, (), MediaStore())  # type: ignore[arg-type]


def test_schema_and_words_are_taken_over(small: McpTools) -> None:
    spec = find_tool("add", small.tools).spec
    assert spec.description == "Add two whole numbers. They may be negative."
    assert spec.parameters["properties"] == {"a": {"type": "integer"}, "b": {"type": "integer", "default": 1}}
    assert spec.parameters["required"] == ["a"]


def test_text_structure_and_pictures_come_back(small: McpTools) -> None:
    assert call(small, "add", a=2, b=-5).text == "-3"
    applied = call(small, "apply", filters=[{"kind": "soft", "sizes": [1, 2]}])
    assert applied.data == {"count": 1, "note": None}
    media = MediaStore()
    drawn = find_tool("red_dot", small.tools).call({}, (), media)
    assert drawn.text == "a dot"
    assert media.get(drawn.images[0]).size == (8, 6)
    assert media.get(drawn.images[0]).getpixel((0, 0)) == (255, 0, 0)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("add", {"a": "1"}, 'the argument a is "1", but it must be a whole number, without quotes'),
        ("add", {"a": True}, "the argument a is true, but it must be a whole number"),
        ("add", {}, "the argument a is missing"),
        ("add", {"a": 1, "bb": 2}, 'there is no argument "bb"; the arguments are a, b; did you mean b?'),
        ("add", {"a": 10**400}, "not finite"),
        ("apply", {"filters": [{"kind": "shar", "sizes": []}]}, 'the argument filters[0].kind is "shar", but it must'),
        ("apply", {"filters": [{"kind": "soft", "sizes": [1, "x"]}]}, "the argument filters[0].sizes[1] is"),
        ("apply", {"filters": [{"kind": "soft"}]}, "the argument filters[0].sizes is missing"),
        ("apply", {"filters": [], "note": 3}, "the argument note is 3, but it must be a text or null"),
        ("sleep", {"seconds": float("nan")}, "not finite"),
        ("size_of", {"image": 1}, "there is no image that it could be called on"),
        ("refuse", {}, "there is nothing to see"),
    ],
)
def test_mistakes_of_the_policy_are_tool_errors_that_teach(
    small: McpTools, name: str, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(ToolError) as raised:
        call(small, name, **arguments)
    assert message in str(raised.value)


def test_picture_of_the_episode_goes_into_the_argument_that_was_named(small: McpTools) -> None:
    media = MediaStore()
    shown = (media.add(Image.new("RGB", (9, 9))), media.add(Image.new("RGB", (300, 200))))
    tool = find_tool("size_of", small.tools)
    assert "picture" not in tool.spec.parameters["properties"]  # type: ignore[operator]
    first, second = (tool.call({"image": number}, shown, media).text for number in (1, 2))
    assert int(second.split()[0]) > int(first.split()[0])


def test_picture_that_is_none_is_told_to_the_model(small: McpTools) -> None:
    with pytest.raises(BrokenToolError, match="the picture of tool broken_picture"):
        call(small, "broken_picture")


def test_server_that_dies_is_started_again_and_the_call_repeated(small: McpTools, tmp_path: Path) -> None:
    before = call(small, "process").text
    assert call(small, "die", once=str(tmp_path / "died")).text == "alive after one death"
    assert call(small, "process").text != before


def test_call_that_kills_the_server_each_time_is_the_machines_failure() -> None:
    with McpTools(SMALL_SERVER, retries=0, start_s=120.0) as tools:
        with pytest.raises(MachineError, match="Connection closed"):
            call(tools, "die")
        assert call(tools, "add", a=1).text == "2"


def test_deadline_ends_a_call_and_leaves_the_connection_to_the_others(small_url: str) -> None:
    with McpTools(small_url, deadline_s=1.5, start_s=120.0, retries=0) as tools:
        process = call(tools, "process").text
        with pytest.raises(MachineError, match="did not answer in time"):
            call(tools, "sleep", seconds=30)
        # A sleeping tool of this server blocks nobody else.
        assert call(tools, "process").text == process


def test_server_that_answers_nobody_is_given_up_and_started_again() -> None:
    with McpTools(SMALL_SERVER, deadline_s=1.5, start_s=120.0, retries=0, only=("seize", "process", "add")) as tools:
        process = call(tools, "process").text
        for name in ("seize", "process", "process"):
            with pytest.raises(MachineError, match="did not answer in time"):
                call(tools, name)
        # The new one takes longer to start than a call has.
        for _ in range(60):
            with contextlib.suppress(MachineError):
                assert call(tools, "process").text != process
                break
        else:
            raise AssertionError("no new server answered")


def test_many_threads_share_one_server(small: McpTools) -> None:
    barrier = threading.Barrier(16)

    def added(number: int) -> str:
        barrier.wait()
        return call(small, "add", a=number, b=1000).text

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(added, range(16))) == [str(number + 1000) for number in range(16)]


def test_only_some_tools_under_a_prefix(small_url: str) -> None:
    with McpTools(small_url, only=("add",), prefix="small_") as tools:
        assert [tool.name for tool in tools.tools] == ["small_add"]
        assert call(tools, "small_add", a=1).text == "2"
        offered = tools.tools
    with pytest.raises(MachineError, match="after they were closed"):
        offered[0].call({"a": 1}, (), MediaStore())


def test_wrong_settings_and_servers_that_do_not_start_say_so(small_url: str) -> None:
    for wrong in ("", "small", []):
        with pytest.raises(UserError):
            McpTools(wrong)
    with pytest.raises(UserError, match="no tool 'subtract'; it has add"), McpTools(small_url, only=["subtract"]):
        pass
    with pytest.raises(MachineError, match="no-such-command"), McpTools(["no-such-command"], retries=0):
        pass
    with pytest.raises(MachineError), McpTools(f"http://127.0.0.1:{free_port()}/mcp", retries=0):
        pass


# Round trip: our server, our client.


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("crop", {"bbox_2d": [16, 16, 128, 128]}),
        ("measure", {"start": [1, 1], "end": [4, 5]}),
        ("draw_points", {"points": [[10, 10], [20, 20]]}),
    ],
)
def test_tool_over_the_wire_gives_what_it_gives_in_process(
    own: McpTools, name: str, arguments: dict[str, object]
) -> None:
    media = MediaStore()
    shown = (tiny_example(media).task.images[0],)
    here, there = (find_tool(name, tools).call(arguments, shown, media) for tools in (IMAGE_TOOLS, own.tools))  # type: ignore[arg-type]
    assert there == here
    check_tool(find_tool(name, own.tools), [arguments])  # type: ignore[list-item]


def test_specs_come_back_as_they_are_in_process(own: McpTools) -> None:
    theirs = {tool.name: tool.spec for tool in own.tools}
    for tool in IMAGE_TOOLS:
        spec = theirs[tool.name]
        assert spec.description == tool.spec.description
        assert {**spec.parameters, "properties": None} == {**tool.spec.parameters, "properties": None}
        assert spec.parameters["properties"] == tool.spec.parameters["properties"]


def test_broken_tool_of_our_server_is_the_machines_failure(own: McpTools) -> None:
    media = MediaStore()
    shown = (media.add(Image.new("RGB", (9, 9))),)
    with pytest.raises(MachineError, match="a wire came loose"):
        find_tool("broken", own.tools).call({}, shown, media)
    with pytest.raises(MachineError, match="longer than"):
        find_tool("linger", own.tools).call({"seconds": 5.0}, (), media)


def test_episode_with_tools_of_a_server_and_a_copy_of_its_environment(own: McpTools) -> None:
    media = MediaStore()
    task = tiny_example(media, 4).task
    env = VisualReasoningEnv(tasks=[task], media=media, tools=own.tools, view=TINY_VIEW)
    for one in (env, copy.deepcopy(env)):
        one.reset(seed=0)
        one.step('<think>a</think><tool_call>{"name":"crop","arguments":{"bbox_2d":[250,0,500,250]}}</tool_call>')
        result = one.turns[0].result
        assert result is not None
        assert (result.images[0].width, result.images[0].height) == (64, 64)
        assert one.step("<think>b</think><answer>red</answer>")[1] == 1.0


def test_over_http_a_restarted_server_is_found_again_and_large_pictures_arrive() -> None:
    port = free_port()
    media = MediaStore()
    noise = (media.add(Image.effect_noise((1300, 1100), 200).convert("RGB").rotate(1)),)
    with contextlib.closing(McpTools(f"http://127.0.0.1:{port}/mcp", token="secret")) as tools:
        for _ in range(2):
            with WarmProcess([sys.executable, OWN_SERVER, str(port)], imported=TOOLS) as process:
                wait_for(port)
                result = find_tool("crop", tools.tools).call({"bbox_2d": [0, 0, 30, 30]}, noise, media)
                assert media.get(result.images[0]) == media.get(noise[0]).crop((0, 0, 30, 30))
                process.kill()
        with pytest.raises(MachineError):
            find_tool("measure", tools.tools).call({"start": [0, 0], "end": [3, 4]}, noise, media)
