"""Tools of a server used from here: the same as tools that run here, whatever happens on the way."""

import copy
import pickle
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from PIL import Image
from served import Served

from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.errors import MachineError, ToolError, UserError
from saccade.media.store import MediaStore
from saccade.services.client.exchange import Exchange
from saccade.services.client.remote_tools import RemoteTools, result_of
from saccade.testing import ChatServer, check_tool, tiny_example
from saccade.testing.chat_server import Received
from saccade.testing.chat_server import Served as Reply
from saccade.tools.images import crop
from saccade.tools.tool import tool_from
from saccade.types import ImageRef

BOX = {"bbox_2d": [10, 20, 90, 60]}


def test_a_remote_tool_is_a_tool_that_keeps_the_contract(server: Served) -> None:
    with RemoteTools(server.url) as remote:
        check_tool(remote.tool("crop"), [BOX, {"bbox_2d": [0, 0, 256, 256], "image": 1}])
        check_tool(remote.tool("stripes"), [{"count": 3}])


def test_a_remote_tool_gives_what_the_tool_gives_here(server: Served) -> None:
    media = MediaStore()
    images = tuple(tiny_example(media, index).task.images[0] for index in range(3))
    here = tool_from(crop)
    with RemoteTools(server.url) as remote:
        there = remote.tool("crop")
        assert (there.spec, there.parameters) == (here.spec, here.parameters)
        for number in (1, 2, 3):
            call = {**BOX, "image": number}
            assert there.call(call, images, media) == here.call(call, images, media)


def test_a_policys_mistakes_are_tool_errors(server: Served) -> None:
    with RemoteTools(server.url) as remote:
        with pytest.raises(ToolError, match="did you mean text"):
            remote.tool("echo").call({"txt": "x"}, (), MediaStore())
        with pytest.raises(ToolError, match="never said"):
            remote.tool("echo").call({"text": "refuse"}, (), MediaStore())


def test_a_tool_that_breaks_or_kills_its_workers_is_a_machine_error(server: Served, tmp_path: Path) -> None:
    with RemoteTools(server.url, patience_s=20) as remote:
        with pytest.raises(MachineError, match="ConnectionError"):
            remote.tool("broken").call({"text": "gone"}, (), MediaStore())
        with pytest.raises(ToolError, match="ZeroDivisionError"):
            remote.tool("broken").call({"text": "zero"}, (), MediaStore())
        note = tmp_path / "deaths"
        with pytest.raises(MachineError, match="its worker died"):
            remote.tool("deadly").call({"note": str(note), "deaths": 99}, (), MediaStore())
        assert note.read_text() == "died\n" * 4
        assert remote.tool("echo").call({"text": "on we go"}, (), MediaStore()).text == "on we go"


def test_an_environment_plays_with_remote_tools(server: Served) -> None:
    media = MediaStore()
    task = tiny_example(media).task
    turn = '<think>I look.</think><tool_call>{"name": "crop", "arguments": {"bbox_2d": [0, 0, 250, 250]}}</tool_call>'
    shown = []
    with RemoteTools(server.url, names=["crop"]) as remote:
        for tools in (remote.tools, (tool_from(crop),)):
            env = copy.deepcopy(VisualReasoningEnv(tools=tools, media=media, tasks=[task]))
            env.reset(options={"task": task})
            env.step(turn)
            shown.append(env.turns[0].result)
            env.close()
    assert shown[0] is not None
    assert shown[0].is_ok
    assert shown[0] == shown[1]


def test_many_threads_send_an_image_once(tmp_path: Path) -> None:
    media = MediaStore()
    image = tiny_example(media).task.images[0]
    with Served(tmp_path, tools="[tools.crop]\n") as served, RemoteTools(served.url) as remote:
        crop_there = remote.tool("crop")

        def look(left: int) -> ImageRef:
            return crop_there.call({"bbox_2d": [left, 0, left + 40, 40]}, (image,), media).images[0]

        with ThreadPoolExecutor(8) as pool:
            made = list(pool.map(look, range(40)))
        assert {(one.width, one.height) for one in made} == {(40, 40)}
        # What a tool has made is there already.
        crop_there.call({"bbox_2d": [0, 0, 20, 20]}, (made[0],), media)
        stored = served.metric("image_store_images")
        assert stored == len({image.hash, *(one.hash for one in made)}) + 1


def test_an_image_that_the_server_has_lost_is_sent_again(server: Served) -> None:
    media = MediaStore()
    image = media.add(Image.linear_gradient("L").resize((40, 30)))
    with RemoteTools(server.url) as remote:
        tool = remote.tool("stripes")
        # Believed to be there.
        tool.exchange.has_image(image.hash)  # type: ignore[attr-defined]
        assert tool.call({"count": 2}, (image,), media).data == {"widths": [20, 20]}


def test_a_server_that_starts_anew_is_waited_for(tmp_path: Path) -> None:
    with Served(tmp_path, tools="[tools.echo]\n") as first:
        remote = RemoteTools(first.url, patience_s=30)
        port = first.port
    again = Served(tmp_path, tools="[tools.echo]\n", arguments=("--port", str(port)))
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(remote.tool("echo").call, {"text": "at last"}, (), MediaStore())
        with again:
            assert answer.result().text == "at last"
    remote.close()


def test_calls_to_a_busy_server_are_done_in_the_end(tmp_path: Path) -> None:
    tools = "[tools.slow]\n"
    with Served(tmp_path, server="queue = 1\n", tools=tools) as served, RemoteTools(served.url) as remote:
        with ThreadPoolExecutor(6) as pool:
            calls = [pool.submit(remote.tool("slow").call, {"seconds": 0.05}, (), MediaStore()) for _ in range(12)]
            assert {call.result().text for call in calls} == {"slept 0.05 s"}
        assert served.metric('tool_requests_total{status="429"') > 0


def test_a_call_that_takes_longer_than_the_patience_is_a_machine_error(server: Served) -> None:
    with RemoteTools(server.url, patience_s=0.3) as remote, pytest.raises(MachineError, match="no result within"):
        remote.tool("slow").call({"seconds": 1.5}, (), MediaStore())


def test_a_wrong_token_a_wrong_address_and_an_unknown_tool_are_the_users_mistakes(
    server: Served, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="looks like"):
        RemoteTools("localhost:8400")
    with pytest.raises(UserError, match="serves no tool 'ecco'"):
        RemoteTools(server.url, names=["ecco"])
    with (
        Served(tmp_path, tools="[tools.echo]\n", environment={"SACCADE_TOKEN": "right"}) as served,
        pytest.raises(UserError, match="refuses the token"),
    ):
        RemoteTools(served.url, "wrong")


def test_remote_tools_can_be_pickled(server: Served) -> None:
    with RemoteTools(server.url) as remote:
        sent = pickle.dumps(remote)
    with pickle.loads(sent) as arrived:
        assert arrived.tool("echo").call({"text": "by mail"}, (), MediaStore()).text == "by mail"


def test_a_server_that_stays_away_is_left_alone() -> None:
    away = Exchange("http://127.0.0.1:9", None, patience_s=0.2)
    for _ in range(3):
        with pytest.raises(MachineError, match="tries within"):
            away.get("/tools")
    with pytest.raises(MachineError, match="left alone"):
        away.get("/tools")


def test_a_server_is_not_asked_again_sooner_than_it_says() -> None:
    times: list[float] = []

    def serve(_: Received) -> Reply:
        times.append(time.monotonic())
        if len(times) == 1:
            return Reply(body='{"error": {"kind": "queue_full"}}', status=429, headers={"Retry-After": "0.4"})
        return Reply(body='{"is_ok": true, "refused": null, "text": "done", "data": {}, "images": []}')

    with ChatServer(serve) as busy:
        exchange = Exchange(busy.url, None, patience_s=10)
        answer = exchange.call("echo", {}, (), MediaStore(), call_id="x")
        exchange.close()
    assert result_of(answer, MediaStore(), exchange).text == "done"
    assert times[1] - times[0] >= 0.4
    assert [one.body["call_id"] for one in busy.received] == ["x", "x"]


@pytest.mark.parametrize("body", ["[]", "{}", '{"text": "x", "refused": null, "data": 3, "images": []}', "<html>"])
def test_an_answer_that_is_none_is_a_machine_error(body: str) -> None:
    with ChatServer(lambda one: Reply(body=body)) as odd:
        exchange = Exchange(odd.url, None, patience_s=1)
        with pytest.raises(MachineError):
            result_of(exchange.call("echo", {}, (), MediaStore(), call_id="x"), MediaStore(), exchange)
        exchange.close()


def test_a_body_that_is_refused_unread_is_told_and_not_sent_again(tmp_path: Path) -> None:
    media = MediaStore()
    noise = media.add(Image.effect_noise((1600, 1600), 200))
    tools = "[tools.stripes]\n"
    with (
        Served(tmp_path, server="max_image_mb = 1\n", tools=tools) as served,
        RemoteTools(served.url) as remote,
        pytest.raises(MachineError, match="status 413"),
    ):
        remote.tool("stripes").call({"count": 2}, (noise,), media)


def test_a_connection_that_the_server_ended_meanwhile_is_made_anew() -> None:
    asked: list[bytes] = []
    ended = threading.Event()

    def answer_once_each(listener: socket.socket) -> None:
        for _ in range(2):
            connection, _ = listener.accept()
            with connection:
                asked.append(connection.recv(65_536))
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]")
            ended.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = threading.Thread(target=answer_once_each, args=(listener,))
        serving.start()
        exchange = Exchange(f"http://127.0.0.1:{listener.getsockname()[1]}/below", None, patience_s=20)
        assert exchange.get("/tools") == b"[]"
        ended.wait()
        assert exchange.get("/tools") == b"[]"
        serving.join()
        exchange.close()
    assert [one.split(b"\r\n")[0] for one in asked] == [b"GET /below/tools HTTP/1.1"] * 2


def test_an_address_without_a_host_or_with_an_odd_port_and_a_token_of_two_lines_are_the_users_mistakes() -> None:
    for url, token in (("http://", None), ("http://host:port", None), ("http://host", "a\r\nb")):
        with pytest.raises(UserError):
            Exchange(url, token, patience_s=1)
