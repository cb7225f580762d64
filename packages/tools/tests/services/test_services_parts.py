"""The parts of the service by themselves: settings, frames, images, calls, the breaker."""

import asyncio
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from saccade.errors import MachineError, UserError
from saccade.frames import BrokenFrameError, WireFrame, packed, read, receive
from saccade.media.decode import MediaError
from saccade.media.encode import png_bytes
from saccade.media.store import image_hash
from saccade.retries import CircuitBreaker
from saccade.services.images import ImageShelf, WrongHashError
from saccade.services.messages import CallRequest
from saccade.services.settings import ToolServerSettings, serving_of
from saccade.services.workers.calls import CallBook, CallIdReusedError, QueuedCall, ResultGoneError, digest_of, failure
from saccade.services.workers.running import CallReply, build_tools, load_builder
from saccade.tools.catalogue.settings import ToolSettings, ToolsFile, read_tools_file
from saccade.types import Json


def grey(shade: int) -> bytes:
    return png_bytes(Image.new("RGB", (8, 8), (shade, shade, shade)))


def grey_hash(shade: int) -> str:
    return image_hash(Image.new("RGB", (8, 8), (shade, shade, shade)))


@given(
    header=st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=9) | st.none(), max_size=4),
    parts=st.lists(st.binary(max_size=50), max_size=4),
)
def test_frames_arrive_as_they_were_sent(header: dict[str, Json], parts: list[bytes]) -> None:
    sent = WireFrame(header, tuple(parts))
    one, other = socket.socketpair()
    with one, other:
        one.sendall(packed(sent) + packed(sent))
        for _ in range(2):
            received = receive(other)
            assert (received.header, tuple(received.parts)) == (sent.header, sent.parts)


@given(st.binary(max_size=60))
def test_bytes_that_are_no_frame_are_refused(noise: bytes) -> None:
    async def attempt() -> WireFrame:
        reader = asyncio.StreamReader()
        reader.feed_data(noise)
        reader.feed_eof()
        return await read(reader)

    one, other = socket.socketpair()
    with one, other:
        one.sendall(noise)
        one.close()
        with pytest.raises(BrokenFrameError):
            receive(other)
    with pytest.raises(BrokenFrameError):
        asyncio.run(attempt())


def test_light_tools_share_workers_and_models_have_their_own() -> None:
    tools = (
        ToolSettings(name="crop"),
        ToolSettings(name="zoom", backend="in_process"),
        ToolSettings(name="detect", backend="transformers", serving={"workers": 2, "devices": ["0", "1"]}),
        ToolSettings(name="ask", backend="openai"),
        ToolSettings(name="left", serving={"group": "pair", "fraction": 0.5}),
        ToolSettings(name="right", serving={"group": "pair", "batch": 3}),
    )
    serving = serving_of(ToolsFile(tools=tools, server={"workers": 3, "builder": "mine:build"}), {"port": 0})
    groups = {group.name: group for group in serving.groups}
    assert {name: [one.name for one in group.tools] for name, group in groups.items()} == {
        "shared": ["crop", "zoom"],
        "detect": ["detect"],
        "ask": ["ask"],
        "pair": ["left", "right"],
    }
    assert [groups[name].workers for name in ("shared", "detect", "ask", "pair")] == [3, 2, 1, 1]
    assert groups["detect"].devices == ("0", "1")
    assert groups["pair"].fraction == 0.5
    assert (serving.batch_of("right"), serving.batch_of("left"), serving.server.port) == (3, 8, 0)


def test_a_tool_of_the_catalogue_that_needs_a_model_has_workers_of_its_own() -> None:
    tools = (ToolSettings(name="crop"), ToolSettings(name="detect_objects"), ToolSettings(name="zoom"))
    assert [group.name for group in serving_of(ToolsFile(tools=tools)).groups] == ["shared", "detect_objects"]
    with pytest.raises(UserError, match="did you mean crop"):
        serving_of(ToolsFile(tools=(ToolSettings(name="corp"),)))


def test_slow_tools_of_the_catalogue_have_other_workers_than_quick_ones() -> None:
    names = ("crop", "execute_python_code", "read_text", "zoom", "answer_chart", "solve_geometry")
    groups = serving_of(ToolsFile(tools=tuple(ToolSettings(name=name) for name in names))).groups
    assert [(group.name, group.workers, [tool.name for tool in group.tools]) for group in groups] == [
        ("shared", 1, ["crop", "zoom"]),
        ("slow-tools", 2, ["execute_python_code", "read_text", "answer_chart", "solve_geometry"]),
    ]


@pytest.mark.parametrize(
    ("server", "serving", "said"),
    [
        ({"prot": 1}, {}, r"\[server\]: 'prot' is an unknown key in the table; did you mean 'port'\?"),
        ({"colour": 1}, {}, "'colour' is an unknown key in the table; known are host, port, workers, "),
        ({"port": 70_000}, {}, "'port' must be a whole number from 0 to 65535, not 70000"),
        ({"workers": True}, {}, "'workers' must be a whole number from 1 to 256, not True"),
        ({"image_mb": 1.5}, {}, "'image_mb' must be a whole number from 1 to 1048576, not 1.5"),
        ({"drain_s": "long"}, {}, "'drain_s' must be a number from 0.1 to 86400, not 'long'"),
        ({"drain_s": float("nan")}, {}, "'drain_s' must be a number from 0.1 to 86400, not nan"),
        ({"host": ""}, {}, "'host' must be text of 1 or more characters, not ''"),
        ({"log": "all"}, {}, "'log' must be one of calls, events, not 'all'"),
        ({"builder": "module.function"}, {}, "'builder' must be like package.module:function, not 'module.function'"),
        ({}, {"worker": 1}, r"\[tools.crop\] serving: 'worker' is an unknown key in the table; did you mean 'workers'"),
        ({}, {"batch": 0}, "'batch' must be a whole number from 1 to 1024, not 0"),
        ({}, {"devices": "0"}, "'devices' must be a list, not '0'"),
        ({}, {"group": 3}, "'group' must be text of 1 or more characters, not 3"),
    ],
)
def test_a_mistake_in_the_settings_is_told(server: dict[str, Json], serving: dict[str, Json], said: str) -> None:
    tools = (ToolSettings(name="crop", serving=serving),)
    with pytest.raises(UserError, match=said):
        serving_of(ToolsFile(tools=tools, server=server))


def test_the_defaults_are_those_of_an_empty_file(tmp_path: Path) -> None:
    file = tmp_path / "tools.toml"
    file.write_text("[tools.crop]\n")
    serving = serving_of(read_tools_file(file))
    assert serving.server == ToolServerSettings()
    assert serving.folder == tmp_path


def test_a_builder_that_is_not_there_is_the_users_mistake(tmp_path: Path) -> None:
    for path in ("no.such.module:build", "saccade.types:no_such_function"):
        with pytest.raises(UserError):
            load_builder(path)
    with pytest.raises(UserError, match="the two names must agree"):
        build_tools("test_services_parts:_crop_whatever_is_asked", [ToolSettings(name="zoom")], tmp_path)


def _crop_whatever_is_asked(settings: ToolSettings, folder: Path) -> object:
    from saccade.tools.images import crop
    from saccade.tools.tool import tool_from

    return tool_from(crop)


def test_the_least_recently_used_image_makes_room(tmp_path: Path) -> None:
    size = len(grey(1))
    shelf = ImageShelf(tmp_path, capacity_bytes=2 * size)
    for shade in (1, 2):
        shelf.add(grey(shade), grey_hash(shade))
    assert shelf.read(grey_hash(1)) == grey(1)
    shelf.add(grey(3))
    assert shelf.missing(map(grey_hash, (1, 2, 3, 2))) == [grey_hash(2)]
    assert shelf.held_bytes <= 2 * size
    assert {file.name for file in tmp_path.iterdir()} == {grey_hash(1), grey_hash(3)}


def test_an_image_of_a_call_that_is_out_is_not_evicted(tmp_path: Path) -> None:
    shelf = ImageShelf(tmp_path, capacity_bytes=len(grey(1)))
    shelf.add(grey(1))
    assert shelf.hold([grey_hash(1), grey_hash(9)]) == [grey_hash(9)]
    assert shelf.hold([grey_hash(1), grey_hash(1)]) == []
    shelf.add(grey(2))
    assert shelf.read(grey_hash(1)) == grey(1)
    shelf.release([grey_hash(1), grey_hash(1)])
    assert shelf.missing([grey_hash(1), grey_hash(2)]) == [grey_hash(2)]


def test_an_image_under_a_wrong_hash_is_not_kept(tmp_path: Path) -> None:
    shelf = ImageShelf(tmp_path, capacity_bytes=1 << 20)
    with pytest.raises(WrongHashError):
        shelf.add(grey(1), grey_hash(2))
    with pytest.raises(MediaError, match="no hash"):
        shelf.add_known("../elsewhere", grey(1))
    assert shelf.read("../elsewhere") is None
    assert list(tmp_path.iterdir()) == []


def test_a_result_is_kept_by_id_a_failure_is_not_and_what_is_dropped_is_known() -> None:
    async def scenario() -> None:
        book = CallBook(capacity_bytes=25)
        for name, outcome in (("a", CallReply(status=200, body=b"x" * 20)), ("b", failure(503, "stopping", "later"))):
            call = open_call(book, name)
            assert book.find(name, b"digest") is call
            call.finish(outcome)
            await asyncio.sleep(0)
        assert book.find("a", b"digest") == CallReply(status=200, body=b"x" * 20)
        assert book.find("b", b"digest") is None
        with pytest.raises(CallIdReusedError):
            book.find("a", b"other")
        open_call(book, "c").finish(CallReply(status=200, body=b"y" * 20, pictures=(("hash", b"z" * 1000),)))
        await asyncio.sleep(0)
        with pytest.raises(ResultGoneError):
            book.find("a", b"digest")
        assert book.kept_bytes == 20

    asyncio.run(scenario())


def open_call(book: CallBook, call_id: str) -> QueuedCall:
    future: asyncio.Future[CallReply] = asyncio.get_running_loop().create_future()
    request = CallRequest(arguments={}, images=())
    call = QueuedCall(tool="echo", request=request, id=call_id, digest=b"digest", outcome=future)
    book.open(call)
    return call


def test_calls_that_ask_for_the_same_have_the_same_digest() -> None:
    assert digest_of("a", {"x": 1, "y": 2}, ()) == digest_of("a", {"y": 2, "x": 1}, ())
    kinds = {digest_of("a", {"x": 1}, ()), digest_of("b", {"x": 1}, ()), digest_of("a", {"x": 1}, ("h",))}
    assert len(kinds) == 3


def test_the_breaker_opens_after_three_failures_and_tries_one_call_at_a_time() -> None:
    now = [0.0]
    breaker = CircuitBreaker("the server", clock=lambda: now[0])
    for _ in range(3):
        breaker.failed(breaker.enter())
    with pytest.raises(MachineError, match="the server has failed 3 calls in a row"):
        breaker.enter()
    now[0] = 1.0
    trial = breaker.enter()
    with pytest.raises(MachineError):
        breaker.enter()
    breaker.failed(trial)
    now[0] = 2.9
    with pytest.raises(MachineError):
        breaker.enter()
    now[0] = 3.0
    breaker.succeeded(breaker.enter())
    assert not breaker.is_open
    breaker.succeeded(breaker.enter())
