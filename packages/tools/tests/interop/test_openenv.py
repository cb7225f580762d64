"""OpenEnv's own server and clients carry our episodes over localhost."""

import base64
import contextlib
import socket
import threading
import time
import urllib.parse
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import numpy as np
import pytest
import uvicorn
from openenv.core.generic_client import GenericEnvClient
from PIL import Image

from saccade.cli.entry import run_command
from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.errors import UserError
from saccade.interop.environments.openenv_world import OpenEnvSource
from saccade.interop.openenv.client import SaccadeEnvClient
from saccade.interop.openenv.messages import SaccadeAction, pictures
from saccade.interop.openenv.server import guarded, openenv_app, serve
from saccade.media.resize import ResizeRule
from saccade.media.store import MediaStore
from saccade.testing import TINY_VIEW, tiny_example
from saccade.tools.tool import tool_from
from saccade.types import Task

CROP = '<think>a</think><tool_call>{"name": "crop", "arguments": {"bbox_2d": [0, 0, 500, 250]}}</tool_call>'
SESSIONS = 12


@contextlib.contextmanager
def served(app: object) -> Iterator[str]:
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", ws="websockets-sansio")  # type: ignore[arg-type]
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(timeout=120)


@pytest.fixture(scope="module")
def guarded_url() -> Iterator[str]:
    app = openenv_app(family="counting", view=TINY_VIEW)
    with served(guarded(app, host="0.0.0.0", allow_hosts=["Environment.cluster"])) as url:
        yield url


FOREIGN = [
    {"Host": "evil.example"},
    {"Host": "environment.cluster.evil.example"},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Sec-Fetch-Site": "cross-site"},
]


@pytest.mark.parametrize("headers", FOREIGN)
def test_pages_of_other_sites_reach_neither_routes_nor_sessions(guarded_url: str, headers: dict[str, str]) -> None:
    refused = httpx2.post(f"{guarded_url}/reset", json={"seed": 1}, headers=headers)
    assert (refused.status_code, refused.json()["error"]["kind"]) == (403, "origin")
    assert handshake(guarded_url, headers) == b"HTTP/1.1 403 Forbidden"


@pytest.mark.parametrize("headers", [{}, {"Host": "10.0.0.7:8402"}, {"Host": "environment.cluster:8402"}])
def test_programs_reach_both_by_an_address_and_by_a_name_that_is_allowed(
    guarded_url: str, headers: dict[str, str]
) -> None:
    assert httpx2.get(f"{guarded_url}/health", headers=headers).json() == {"status": "healthy"}
    assert handshake(guarded_url, headers) == b"HTTP/1.1 101 Switching Protocols"


TOKEN = "a long random text: with a colon"


@pytest.fixture(scope="module")
def token_url() -> Iterator[str]:
    app = openenv_app(family="counting", view=TINY_VIEW)
    with served(guarded(app, host="0.0.0.0", token=TOKEN)) as url:
        yield url


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer another"},
        {"Authorization": f"Token {TOKEN}"},
        {"Authorization": "Basic " + base64.b64encode(b"user:another").decode()},
        {"Authorization": "Basic " + base64.b64encode(TOKEN.encode()).decode()},
        {"Authorization": "Basic ="},
    ],
)
def test_without_the_token_neither_routes_nor_sessions_answer(token_url: str, headers: dict[str, str]) -> None:
    refused = httpx2.post(f"{token_url}/reset", json={"seed": 1}, headers=headers)
    assert (refused.status_code, refused.json()["error"]["kind"]) == (401, "token")
    assert httpx2.get(f"{token_url}/schema", headers=headers).status_code == 401
    assert handshake(token_url, headers) == b"HTTP/1.1 403 Forbidden"
    assert httpx2.get(f"{token_url}/health", headers=headers).status_code == 200


def test_clients_with_the_token_have_sessions(token_url: str) -> None:
    with SaccadeEnvClient(token_url, token=TOKEN) as ours:
        assert ours.reset(seed=1).observation.status == "running"
    for token, why in ((None, "does it ask for a token"), ("another", "another token")):
        with pytest.raises(ConnectionError, match=why):
            SaccadeEnvClient(token_url, token=token).connect()
    source = OpenEnvSource(url=token_url, token=TOKEN)
    assert "text" in source.action_fields
    assert TOKEN not in repr(source)


def test_the_token_is_not_taken_to_another_server() -> None:
    asked: list[object] = []

    async def elsewhere(scope: dict[str, object], receive: object, send: Callable[..., Awaitable[None]]) -> None:
        if scope["type"] == "http":
            asked.append(scope["path"])
            to = [] if scope["path"] == "/taken" else [(b"location", f"http://localhost:{port}/taken".encode())]
            await send({"type": "http.response.start", "status": 307 if to else 200, "headers": to})
            await send({"type": "http.response.body", "body": b"{}"})

    with served(elsewhere) as url:
        port = url.rpartition(":")[2]
        with pytest.raises(UserError, match="no OpenEnv server answers"):
            _ = OpenEnvSource(url=url, token=TOKEN).action_fields
    assert asked == ["/schema"]


# OpenEnv 0.2.1 connects in a way that websockets 17 wants to end.
@pytest.mark.filterwarnings("ignore:connect.. must be used as a context manager:DeprecationWarning")
def test_openenvs_own_client_has_the_token_in_its_address(token_url: str) -> None:
    address = token_url.replace("http://", f"http://token:{urllib.parse.quote(TOKEN)}@")
    with GenericEnvClient(base_url=address) as theirs:
        assert theirs.reset(seed=1).observation["status"] == "running"
    with pytest.raises(ConnectionError, match="403"):
        GenericEnvClient(base_url=token_url).connect()


def test_a_server_that_others_reach_does_not_start_without_a_token(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UserError, match="SACCADE_TOKEN"):
        serve(openenv_app(family="counting"), host="0.0.0.0", port=1)
    assert run_command(["openenv", "--family", "counting", "--host", "0.0.0.0", "--token-env", "UNSET_TOKEN"]) == 2
    assert "set UNSET_TOKEN to a long random text" in capsys.readouterr().err


def handshake(url: str, headers: dict[str, str]) -> bytes:
    """What the server says first to a WebSocket client that sends these headers."""
    address = url.removeprefix("http://")
    sent = {
        "Host": address,
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13",
        **headers,
    }
    lines = ["GET /ws HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items()), "", ""]
    host, _, port = address.partition(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall("\r\n".join(lines).encode())
        return connection.makefile("rb").readline().strip()


def tiny_tasks(media: MediaStore) -> list[Task]:
    return [tiny_example(media, index).task for index in range(4)]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    media = MediaStore()
    with served(
        openenv_app(tasks=tiny_tasks(media), media=media, view=TINY_VIEW, max_turns=3, max_sessions=SESSIONS)
    ) as url:
        yield url


def test_episode_over_the_wire_is_the_episode_in_process(url: str) -> None:
    media = MediaStore()
    task = tiny_tasks(media)[2]
    env = VisualReasoningEnv(tasks=[task], media=media, view=TINY_VIEW, max_turns=3)
    here, _ = env.reset()
    with SaccadeEnvClient(url) as client:
        there = client.reset(task_id=task.id, episode_id="mine")
        assert (there.observation.text, there.done) == (here["text"], False)
        assert there.observation.stop == list(env.stop)
        assert [message.role for message in there.observation.messages] == ["system", "user"]
        assert [part.image for part in there.observation.messages[1].parts] == [None, 0, None]
        np.testing.assert_array_equal(there.observation.images[0].image(), here["images"][0])
        here = env.step(CROP)[0]
        there = client.step(SaccadeAction(text=CROP))
        assert (there.observation.text, there.reward, there.done) == (here["text"], 0.0, False)
        assert [part.image for part in there.observation.messages[0].parts] == [0, None]
        np.testing.assert_array_equal(there.observation.images[0].image(), here["images"][0])
        state = client.state()
        assert (state.episode_id, state.step_count, state.task_id) == ("mine", 1, task.id)
        assert (state.status, state.max_turns) == ("running", 3)
        last = client.step("<think>b</think><answer>blue</answer>")
        assert (last.reward, last.done, last.observation.status) == (1.0, True, "answered")
        assert "answer" not in client.state().model_dump()


def test_many_sessions_at_the_same_time_are_apart(url: str) -> None:
    media = MediaStore()
    tasks = tiny_tasks(media)
    meet = threading.Barrier(SESSIONS)

    def played(number: int) -> float | None:
        task = tasks[number % 4]
        with SaccadeEnvClient(url) as client:
            for _ in range(3):
                assert client.reset(task_id=task.id).observation.task_id == task.id
                meet.wait()
                assert client.step(CROP).observation.turns == 1
                result = client.step(f"<think>b</think><answer>{task.answer}</answer>")
            return result.reward

    with ThreadPoolExecutor(SESSIONS) as pool:
        assert list(pool.map(played, range(SESSIONS))) == [1.0] * SESSIONS


def test_session_beyond_the_limit_is_told_so_and_finds_a_place_later() -> None:
    with served(openenv_app(family="counting", view=TINY_VIEW, max_sessions=1)) as url:
        with SaccadeEnvClient(url) as first:
            first.reset(seed=1)
            with pytest.raises((RuntimeError, ConnectionError)) as raised, SaccadeEnvClient(url) as second:
                second.reset(seed=1)
            assert "capacity" in str(raised.value).lower()
        assert plays_soon(url)


def plays_soon(url: str) -> bool:
    """Whether a place becomes free: the server notices a little later that a client has gone."""
    for _ in range(200):
        with contextlib.suppress(ConnectionError, RuntimeError), SaccadeEnvClient(url) as client:
            return bool(client.reset(seed=1).observation.images)
        time.sleep(0.05)
    return False


def test_same_seed_gives_the_same_task_and_another_one_another() -> None:
    with served(openenv_app(family="counting", view=TINY_VIEW)) as url, SaccadeEnvClient(url) as client:
        drawn = [client.reset(seed=seed).observation.task_id for seed in (1, 2, 1)]
    assert drawn[0] == drawn[2] != drawn[1]


# OpenEnv 0.2.1 connects in a way that websockets 17 wants to end.
@pytest.mark.filterwarnings("ignore:connect.. must be used as a context manager:DeprecationWarning")
def test_openenvs_own_client_gets_large_pictures_too() -> None:
    media = MediaStore()
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 256, size=(1024, 1024, 3), dtype=np.uint8))
    task = Task(
        id="noise", family="noise", question="What?", answer="no", answer_kind="exact", images=(media.add(noise),)
    )
    view = ResizeRule(factor=32, min_pixels=1 << 16, max_pixels=1 << 20, convention="relative_1000")
    with served(openenv_app(tasks=[task], media=media, view=view)) as url:
        with GenericEnvClient(base_url=url) as plain:
            picture = plain.reset(seed=0).observation["images"][0]
            assert picture["format"] == "jpeg"
            assert plain.step({"text": "<answer>no</answer>"}).reward == 1.0
        with SaccadeEnvClient(url) as ours:
            np.testing.assert_array_equal(ours.reset(seed=0).observation.images[0].image(), noise)


@pytest.mark.parametrize(
    ("options", "message"), [({"task_id": "none"}, "the server has no such task"), ({"sed": 1}, "reset knows no 'sed'")]
)
def test_wrong_options_are_told_and_the_session_goes_on(url: str, options: dict[str, object], message: str) -> None:
    with SaccadeEnvClient(url) as client:
        with pytest.raises(RuntimeError, match=message):
            client.reset(**options)
        with pytest.raises(RuntimeError, match=r"call reset\(\) first"):
            client.step("too early")
        assert not client.reset(seed=3).done


def test_machine_that_fails_is_told_and_the_same_turn_may_be_sent_again() -> None:
    calls: list[str] = []

    def fragile() -> str:
        """Break at first."""
        calls.append("called")
        if len(calls) == 1:
            raise ConnectionError("a wire came loose")
        return "done"

    turn = '<think>a</think><tool_call>{"name": "fragile", "arguments": {}}</tool_call>'
    app = openenv_app(family="counting", view=TINY_VIEW, tools=[tool_from(fragile)])
    with served(app) as url, SaccadeEnvClient(url) as client:
        client.reset(seed=0)
        with pytest.raises(RuntimeError, match="a wire came loose"):
            client.step(turn)
        assert client.state().step_count == 0
        assert client.step(turn).observation.text == "done"


def test_turns_run_out_and_malformed_turns_are_told(url: str) -> None:
    with SaccadeEnvClient(url) as client:
        client.reset(seed=0)
        first = client.step("nothing at all")
        assert first.observation.text.startswith("Error: the turn does nothing")
        ends = [client.step("nothing").done for _ in range(2)]
        assert ends == [False, True]
        assert client.state().status == "turn_limit"


def test_http_routes_tell_of_the_server(url: str) -> None:
    assert httpx2.get(f"{url}/health").json() == {"status": "healthy"}
    assert httpx2.get(f"{url}/metadata").json()["name"] == "saccade"
    assert "text" in httpx2.get(f"{url}/schema").json()["action"]["properties"]
    assert httpx2.get(f"{url}/state").json()["step_count"] == 0
    assert httpx2.post(f"{url}/reset", json={"seed": 1}).json()["observation"]["images"]


def test_memory_of_a_long_session_does_not_grow() -> None:
    media = MediaStore()
    from saccade.interop.openenv.server import SaccadeEnvironment, TasksById

    env = VisualReasoningEnv(family="counting", view=TINY_VIEW, media=media)
    session = SaccadeEnvironment(lambda: env, TasksById((), None))
    kept = []
    for seed in range(5):
        session.reset(seed=seed)
        session.step(SaccadeAction(text=CROP))
        kept.append(len(media._backings))
    assert kept == [2] * 5
    session.close()
    assert len(media._backings) == 0


def test_client_without_a_server_says_so() -> None:
    with pytest.raises(ConnectionError, match="no OpenEnv server answers"):
        SaccadeEnvClient("http://127.0.0.1:9").connect()


def test_app_needs_one_source_of_tasks() -> None:
    media = MediaStore()
    tasks = tiny_tasks(media)
    with pytest.raises(UserError, match="give either"):
        openenv_app()
    with pytest.raises(UserError, match="give either"):
        openenv_app(family="counting", tasks=tasks, media=media)
    with pytest.raises(UserError, match="pass media="):
        openenv_app(tasks=tasks)
    with pytest.raises(UserError, match="no such family"):
        openenv_app(family="no such family")


def test_pictures_stay_lossless_while_they_fit_and_become_smaller_at_last() -> None:
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 256, size=(400, 400, 3), dtype=np.uint8))
    for message_bytes, form, side in ((1_000_000, "png", 400), (300_000, "jpeg", 400), (70_000, "jpeg", 200)):
        (picture,) = pictures([noise], text_chars=10, message_bytes=message_bytes)
        assert (picture.format, picture.width) == (form, side)
        assert len(picture.data) <= message_bytes
    assert pictures([], text_chars=0, message_bytes=1) == []
    with pytest.raises(UserError, match="has no room"):
        pictures([noise], text_chars=100_000, message_bytes=70_000)
