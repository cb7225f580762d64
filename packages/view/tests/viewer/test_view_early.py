"""The page before its server: the same answers behind the same guards, and everything else waits and loses nothing."""

import contextlib
import http.client
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from viewer_fake_run import make_run

from saccade.viewer.app.application import RunsViewer, create_app
from saccade.viewer.app.assets import shell
from saccade.viewer.app.door import Door, open_door
from saccade.viewer.app.early import EarlyAnswers
from saccade.viewer.app.events import Events
from saccade.viewer.store.collection import Collection

TOKEN = "a token of twenty-two"
COOKIE = f"saccade_viewer={TOKEN.encode().hex()}"
FIRST = re.compile(rb'<script type="application/json" id="first">.*?</script>', re.DOTALL)
WAIT_S = 120
SCRIPT = re.search(r'src="(/app/viewer[^"]+)"', shell(csrf="").content.decode())

ASKED = {
    "the page": ("/", {}),
    "the page with something behind a question mark": ("/?a=%20b", {}),
    "the script": (SCRIPT[1] if SCRIPT else "", {}),
    "a style at an old address": ("/app/app.css?0123", {}),
    "a part that the browser has": ("/app/app.css", {"if-none-match": '"none"'}),
    "another host": ("/", {"host": "evil.example"}),
    "another origin": ("/", {"origin": "http://evil.example"}),
    "a page of another site": ("/app/app.css", {"sec-fetch-site": "cross-site"}),
    "too long a question": (f"/?{'a' * 17_000}", {}),
}
"""Requests that are answered early: path and headers."""

LEFT = {
    "JSON": "GET /api/runs HTTP/1.1\r\nhost: HOST\r\n\r\n",
    "a picture": f"GET /media/0123/{'a' * 64}.png HTTP/1.1\r\nhost: HOST\r\n\r\n",
    "what is no part of a page": "GET /app/early.py HTTP/1.1\r\nhost: HOST\r\n\r\n",
    "a way out of the folder": "GET /app/../door.py HTTP/1.1\r\nhost: HOST\r\n\r\n",
    "an escape": "GET /%61pp/app.css HTTP/1.1\r\nhost: HOST\r\n\r\n",
    "something to be written": "POST /api/runs/0/annotations HTTP/1.1\r\nhost: HOST\r\ncontent-length: 2\r\n\r\n{}",
    "a page with a body": "GET / HTTP/1.1\r\nhost: HOST\r\ncontent-length: 5\r\n\r\nhello",
    "a body in pieces": "GET / HTTP/1.1\r\nhost: HOST\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "another method": "HEAD / HTTP/1.1\r\nhost: HOST\r\n\r\n",
    "an older version": "GET / HTTP/1.0\r\nhost: HOST\r\n\r\n",
    "one that ends": "GET / HTTP/1.1\r\nhost: HOST\r\nconnection: close\r\n\r\n",
    "an address elsewhere": "GET http://evil.example/ HTTP/1.1\r\nhost: HOST\r\n\r\n",
    "a folded header": "GET / HTTP/1.1\r\nhost: HOST\r\nx: 1\r\n 2\r\n\r\n",
    "a space before the colon": "GET / HTTP/1.1\r\nhost : HOST\r\n\r\n",
    "no HTTP": "\x16\x03\x01\r\n\r\n",
    "a beginning": "GET / HTT",
    "a head without an end": f"GET / HTTP/1.1\r\nhost: HOST\r\nx: {'a' * 40_000}",
}
"""Requests that wait for the server, unread."""


@pytest.fixture(params=[None, TOKEN], ids=["without a token", "with a token"])
def door(request: pytest.FixtureRequest) -> Door:
    return open_door("127.0.0.1", 0, request.param)


def address(door: Door) -> str:
    return f"127.0.0.1:{door.listener.getsockname()[1]}"


def asking(place: str) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(place, timeout=WAIT_S)


def served(door: Door, tmp_path: Path) -> TestClient:
    """The server's own answers at the door's address."""
    viewer = RunsViewer(collection=Collection(paths=(), cache=tmp_path), events=Events(), csrf=door.csrf)
    app = create_app(viewer, host=door.host, token=door.token)
    return TestClient(app, base_url=f"http://{address(door)}", follow_redirects=False)


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("known", [{}, {"cookie": COOKIE}, {"authorization": f"Bearer {TOKEN}"}], ids=str)
def test_an_early_answer_is_the_server_s_own(name: str, known: dict[str, str], door: Door, tmp_path: Path) -> None:
    path, headers = ASKED[name]
    # A header that is named twice stays so: the guards refuse a second Host.
    asked = {"host": address(door), **known, **headers}
    theirs = served(door, tmp_path).get(path, headers=asked)
    with door.listener, EarlyAnswers(door), contextlib.closing(asking(address(door))) as connection:
        connection.putrequest("GET", path, skip_host=True, skip_accept_encoding=True)
        for header, value in asked.items():
            connection.putheader(header, value)
        connection.endheaders()
        ours = connection.getresponse()
        content = ours.read()
    assert ours.status == theirs.status_code
    assert {key.lower(): value for key, value in ours.getheaders() if key != "content-length"} == {
        key: value for key, value in theirs.headers.items() if key != "content-length"
    }
    assert "content-security-policy" in theirs.headers
    assert FIRST.sub(b"", content) == FIRST.sub(b"", theirs.content)


def test_the_token_comes_once_in_the_address_and_then_in_a_cookie() -> None:
    door = open_door("127.0.0.1", 0, TOKEN)
    with door.listener, EarlyAnswers(door), contextlib.closing(asking(address(door))) as connection:
        connection.request("GET", "/?token=a%20token%20of%20twenty-two")
        moved = connection.getresponse()
        assert (moved.status, moved.read(), moved.headers["location"]) == (303, b"", "/")
        cookie, _, flags = str(moved.headers["set-cookie"]).partition("; ")
        assert (cookie, flags) == (COOKIE, "HttpOnly; SameSite=Strict; Path=/")
        # On the same connection.
        connection.request("GET", "/", headers={"cookie": cookie})
        page = connection.getresponse().read()
        assert door.csrf.encode() in page
        connection.request("GET", "/", headers={"cookie": "saccade_viewer=00"})
        assert connection.getresponse().status == 401


def test_what_the_page_s_parts_do_not_answer_waits_unread() -> None:
    door = open_door("127.0.0.1", 0, None)
    clients = {}
    with door.listener, EarlyAnswers(door) as early:
        for name, request in LEFT.items():
            clients[name] = socket.create_connection(("127.0.0.1", door.listener.getsockname()[1]), timeout=WAIT_S)
            clients[name].sendall(request.replace("HOST", address(door)).encode("latin-1"))
        # One that is answered comes after them, so they have been looked at.
        connection = asking(address(door))
        connection.request("GET", "/app/app.css")
        assert connection.getresponse().read()
        held = {one.getpeername(): one for one in early.hand_over()}
        for name, client in clients.items():
            request = LEFT[name].replace("HOST", address(door)).encode("latin-1")
            given = held[client.getsockname()]
            got = b""
            while len(got) < len(request):
                got += given.recv(1 << 16)
            assert got == request, name
        for one in [*held.values(), *clients.values(), connection]:
            one.close()


def test_connections_that_say_nothing_or_leave_hinder_nobody() -> None:
    door = open_door("127.0.0.1", 0, None)
    place = ("127.0.0.1", door.listener.getsockname()[1])
    with door.listener, EarlyAnswers(door) as early:
        silent = [socket.create_connection(place, timeout=WAIT_S) for _ in range(20)]
        for one in silent[:10]:
            one.sendall(b"GET / HTTP/1.1\r\nhost: " + address(door).encode() + b"\r\n\r\n")
            one.close()
        connection = asking(address(door))
        connection.request("GET", "/")
        assert connection.getresponse().read()
        held = early.hand_over()
        assert {one.getsockname() for one in silent[10:]} <= {one.getpeername() for one in held if one.fileno() >= 0}
        assert early.hand_over() == []
        for one in [*held, *silent, connection]:
            one.close()


_STARTED = """
import pathlib, sys
from saccade.viewer.app.door import open_door
from saccade.viewer.app.early import EarlyAnswers

door = open_door("127.0.0.1", 0, None)
with EarlyAnswers(door) as early:
    late = {"numpy", "pyarrow", "starlette", "uvicorn", "jinja2"} & set(sys.modules)
    print(door.address, *late, flush=True)
    sys.stdin.readline()
    from saccade.viewer.app.server import serve_view

    serve_view((pathlib.Path(sys.argv[1]),), door=door, early=early)
"""


def test_a_connection_goes_on_at_the_server_where_it_was(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", n=4)
    with subprocess.Popen(
        [sys.executable, "-c", _STARTED, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
    ) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            told, *late = process.stdout.readline().split()
            assert late == []
            connection = asking(told.removeprefix("http://").rstrip("/"))
            connection.request("GET", "/")
            page = connection.getresponse().read()
            assert b'<script type="application/json" id="first">null</script>' in page
            connection.request("GET", "/api/runs")
            process.stdin.write("\n")
            process.stdin.flush()
            [run] = json.loads(connection.getresponse().read())["runs"]
            # The rows are waited for, where there may be some.
            connection.request("GET", f"/api/runs/{run['id']}/trajectories?offset=0&limit=200")
            listed = connection.getresponse()
            assert (listed.status, "rows" in json.loads(listed.read())) == (200, True)
            token = re.search(rb'name="saccade-token" content="([0-9a-f]{32})"', page)
            assert token is not None
            # What the early page writes is taken by the server.
            headers = {"x-saccade-token": token[1].decode(), "content-type": "application/json"}
            connection.request("POST", f"/api/runs/{run['id']}/annotations", body=b"{}", headers=headers)
            answer = connection.getresponse()
            assert (answer.status, "trajectory is missing" in answer.read().decode()) == (422, True)
            connection.close()
        finally:
            process.kill()
