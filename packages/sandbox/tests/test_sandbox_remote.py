"""Sessions on a server: what is the machine's failure and what the code's, and what a run costs the next."""

import base64
import json
import struct
import zlib
from pathlib import Path

import pytest
from PIL import Image

from run_code_server import run_code_server
from saccade.errors import MachineError, UserError
from saccade.sandbox import Limits, RemoteSandbox, remote
from saccade.sandbox.replay import ANSWER
from saccade.sandbox.sandbox import sandbox_for


def frame(head: object, body: bytes = b"") -> bytes:
    text = json.dumps(head).encode()
    return zlib.compress(struct.pack("<I", len(text)) + text + body)


GOOD = {"out": [0, 0, 0], "err": [0, 0, 0], "images": [], "elapsed_s": 0.1}
FORGED = {
    "no frame": b"forged",
    "no compressed frame": zlib.compress(b"x"),
    "a bomb": zlib.compress(bytes(1 << 28)),
    "no head": frame([1]),
    "a head without streams": frame({"images": [], "elapsed_s": 0.0}),
    "a picture without pixels": frame({**GOOD, "images": [[8, 8]]}),
    "a picture of no size": frame({**GOOD, "images": [[-8, -8]]}),
    "a picture that is too large": frame({**GOOD, "images": [[1 << 14, 1 << 14]]}),
    "too many pictures": frame({**GOOD, "images": [[1, 1]] * 99}, bytes(3 * 99)),
    "a time that is no number": frame({**GOOD, "elapsed_s": "long"}),
    "an endless time": frame({**GOOD, "elapsed_s": 1e9}),
    "a deep head": zlib.compress(struct.pack("<I", 100_000) + b"[" * 100_000),
}


@pytest.mark.parametrize("forged", FORGED)
def test_a_forged_answer_fails_the_run_and_is_no_failure_of_the_machine(remote: RemoteSandbox, forged: str) -> None:
    content = base64.b64encode(FORGED[forged]).decode()
    code = f"import base64, os\nopen('../{ANSWER}', 'wb').write(base64.b64decode({content!r}))\nos._exit(0)"
    with remote.session() as session:
        session.run("x = 1")
        result = session.run(code)
        assert result.error is not None
        assert result.error.kind == "limit"
        assert session.run("x").stdout == "1\n"


def test_no_server_is_a_users_error_with_the_address() -> None:
    with pytest.raises(UserError, match=r"127\.0\.0\.1:9.*start a SandboxFusion server there"):
        RemoteSandbox("http://127.0.0.1:9").start()
    with pytest.raises(UserError, match="write it as http://HOST:PORT"):
        RemoteSandbox("127.0.0.1:9")
    with pytest.raises(UserError, match="isolation=restricted has no effect on code that runs at http://h:1"):
        sandbox_for("restricted", "http://h:1")


def test_a_server_that_fails_is_asked_again_and_then_loses_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "back_off_s", lambda *_, **__: 0.0)
    with run_code_server(fails=2) as url, RemoteSandbox(url).session() as session:
        assert session.run("1 + 1").stdout == "2\n"
    lost = pytest.raises(MachineError, match="the runner is ill")
    with run_code_server(fails=99) as url, RemoteSandbox(url).session() as session, lost:
        session.run("1 + 1")


def test_a_server_without_our_libraries_is_refused_at_the_start() -> None:
    with run_code_server(program="import numby") as url, pytest.raises(UserError, match="No module named 'numby'"):
        RemoteSandbox(url).start()


def test_code_in_c_that_ignores_its_time_is_ended_by_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_GRACE_S", 8.0)
    with run_code_server() as url, RemoteSandbox(url).session() as session:
        error = session.run(
            "import time, signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True: pass"
        ).error
    assert error is not None
    assert error.kind == "timeout"


def test_a_run_that_cannot_be_repeated_is_said_to_be(remote: RemoteSandbox, tmp_path: Path) -> None:
    with remote.session({"a.png": Image.new("RGB", (8, 8))}) as session:
        assert session.run(f"import pathlib\nflag = pathlib.Path({str(tmp_path)!r})\nflag.rmdir()").ok
        error = session.run("1").error
    assert error is not None
    assert (error.kind, error.message[:40]) == ("killed", "run 1 of the session cannot be repeated:")


def test_memory_over_the_limit_ends_the_run_alone() -> None:
    with run_code_server() as url, RemoteSandbox(url, limits=Limits(memory_mib=512)).session() as session:
        assert session.run("x = bytes(100 << 20); len(x)").ok
        error = session.run("y = bytearray(600 << 20)").error
        assert error is not None
        assert error.kind == "memory"
        assert session.run("len(x)").stdout == f"{100 << 20}\n"
