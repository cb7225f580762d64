"""What a server does not let others do to it: pages of other sites, bodies without end, and its own sudden death."""

import asyncio
import contextlib
import json
import select
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from PIL import Image
from served import Served, wait_for
from starlette.types import Message, Receive, Scope, Send

from saccade.media.encode import png_bytes
from saccade.services.http.guards import UploadGuard, UploadLimits
from saccade.services.http.hosts import is_own_name
from saccade.services.images import image_directory, remove_if_abandoned


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    settings = "request_s = 1.0\n"
    with Served(tmp_path_factory.mktemp("strict"), server=settings, tools="[tools.echo]\n") as served:
        yield served


def sent(served: Served, raw: bytes) -> bytes:
    """All that the server says to this until it ends the connection."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as connection:
        connection.sendall(raw)
        said = b""
        try:
            while chunk := connection.recv(65_536):
                said += chunk
        except ConnectionResetError:
            pass
    return said


def post_head(length: int) -> bytes:
    return f"POST /images HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n".encode()


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example:8400"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_pages_of_other_sites_are_refused(server: Served, headers: dict[str, str]) -> None:
    refused = httpx2.post(f"{server.url}/tools/echo", json={"arguments": {"text": "hi"}}, headers=headers)
    assert (refused.status_code, refused.json()["error"]["kind"]) == (403, "origin")


def test_pages_of_the_server_itself_and_programs_are_answered(server: Served) -> None:
    for headers in ({}, {"Origin": server.url}, {"Host": f"localhost:{server.port}"}, {"Host": "[::1]"}):
        answer = httpx2.post(f"{server.url}/tools/echo", json={"arguments": {"text": "hi"}}, headers=headers)
        assert answer.json()["text"] == "hi"


@pytest.mark.parametrize(
    ("name", "listening_on", "is_own"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("::1", "localhost", True),
        ("10.0.0.7", "127.0.0.1", False),
        ("10.0.0.7", "0.0.0.0", True),
        ("evil.example", "0.0.0.0", False),
        (socket.gethostname().lower(), "0.0.0.0", True),
        ("", "127.0.0.1", False),
    ],
)
def test_a_name_is_a_servers_own_when_nobody_else_can_let_it_point_there(
    name: str, listening_on: str, is_own: bool
) -> None:
    assert is_own_name(name, listening_on) == is_own


def test_a_body_that_does_not_come_ends_its_connection(strict: Served) -> None:
    assert sent(strict, post_head(1000) + b"half").startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("start", [b"", b"GET /hea", b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: "])
def test_headers_that_do_not_come_end_their_connection(strict: Served, start: bytes) -> None:
    assert sent(strict, start) == b""


@pytest.mark.parametrize("side", [40, 1300])
def test_an_answer_that_is_not_read_ends_its_connection(strict: Served, side: int) -> None:
    key = httpx2.post(f"{strict.url}/images", content=noise_png(side, side), timeout=30).json()["hash"]
    asked = f"GET /images/{key} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", strict.port))
        # So many answers that they fit into no buffer of the two ends.
        with contextlib.suppress(ConnectionError):
            for _ in range(20_000_000 // side**2):
                connection.sendall(asked)
        ended = select.poll()
        ended.register(connection, 0)
        wait_for(lambda: ended.poll(0), "the connection to end")
        assert ended.poll(0)


def test_headers_without_end_end_their_connection(server: Served) -> None:
    try:
        said = sent(server, b"GET /health HTTP/1.1\r\nX: " + b"x" * (4 << 20))
    except (ConnectionResetError, BrokenPipeError):
        said = b""
    assert said == b""


def test_headers_that_come_at_once_keep_the_limit_too(server: Served) -> None:
    def answered(count: int) -> bytes:
        fields = b"".join(b"X-%d: %s\r\n" % (at, b"x" * 990) for at in range(count))
        try:
            return sent(server, b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + fields + b"\r\n")
        except (ConnectionResetError, BrokenPipeError):
            return b""

    assert answered(64).startswith(b"HTTP/1.1 200 ")
    assert answered(70) == b""


@pytest.mark.parametrize("at", [-1, -2, -3, 0])
def test_the_end_of_headers_may_come_in_two_pieces(server: Served, at: int) -> None:
    noise = noise_png(300, 300)
    head = f"POST /images HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(noise)}\r\n\r\n".encode()
    head = head.replace(b"\r\nContent", b"\r\nConnection: close\r\nContent")
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        cut = len(head) + at
        connection.sendall(head[:cut])
        time.sleep(0.05)
        connection.sendall(head[cut:] + noise)
        assert connection.recv(64).startswith(b"HTTP/1.1 201 ")


def test_a_large_body_may_end_with_many_bytes_at_once(server: Served) -> None:
    noise = noise_png(1300, 1100)
    assert len(noise) > 1 << 20
    for _ in range(5):
        assert httpx2.post(f"{server.url}/images", content=noise, timeout=30).status_code == 201


def test_bodies_that_are_too_much_together_are_turned_away() -> None:
    settings = UploadLimits(most_bytes=lambda _: 100, together_bytes=150, within_s=30.0)
    statuses, seen = asyncio.run(two_at_once(settings, bytes(100)))
    assert statuses == [503]
    assert seen == [100, 100]


async def two_at_once(limits: UploadLimits, body: bytes) -> tuple[list[int], list[int]]:
    """Statuses of refusals, and the sizes of bodies that came through: one at work, one beside it, one afterwards."""
    statuses: list[int] = []
    seen: list[int] = []
    entered, leave = asyncio.Event(), asyncio.Event()

    async def app(_: Scope, receive: Receive, __: Send) -> None:
        seen.append(len((await receive())["body"]))
        entered.set()
        await leave.wait()

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    guard = UploadGuard(app, limits=limits)
    scope: Scope = {"type": "http", "path": "/images", "headers": []}
    first = asyncio.create_task(guard(scope, receive, send))
    await entered.wait()
    await guard(scope, receive, send)
    leave.set()
    await first
    await guard(scope, receive, send)
    return statuses, seen


def noise_png(width: int, height: int) -> bytes:
    return png_bytes(Image.effect_noise((width, height), 200).convert("RGB"))


def small() -> bytes:
    return png_bytes(Image.new("RGB", (8, 8), "red"))


def test_the_pictures_of_a_server_that_was_killed_go_with_its_workers(tmp_path: Path) -> None:
    with Served(tmp_path, tools="[tools.echo]\n") as served:
        (worker,) = served.workers()
        shelf = Path(json.loads(worker.cmdline()[-1])["shelf"])
        assert httpx2.post(f"{served.url}/images", content=small()).status_code == 201
        assert len(list(shelf.iterdir())) == 1
        served.process.kill()
        wait_for(lambda: not shelf.exists(), "the folder to go")


def test_a_folder_is_removed_only_when_nobody_holds_it(tmp_path: Path) -> None:
    with image_directory(1) as held:
        assert not remove_if_abandoned(held)
        assert held.is_dir()
    assert not held.exists()
    abandoned, link = tmp_path / "saccade-images-old", tmp_path / "saccade-images-link"
    abandoned.mkdir()
    link.symlink_to(abandoned)
    assert not remove_if_abandoned(link)
    assert remove_if_abandoned(abandoned)
    assert not abandoned.exists()
