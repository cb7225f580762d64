"""What the keeper hears of a session's processes."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from saccade.sandbox.crew import Crew, LateError
from saccade.sandbox.wire import Head, packet_pair

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs pidfd_open")


@pytest.fixture
def state() -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process.pid
        process.kill()


def test_messages_without_end_do_not_outlast_a_deadline(state: int) -> None:
    import socket

    noted: list[Head] = []

    def note(heard: Head) -> None:
        noted.append(heard)
        time.sleep(0.05)

    trainer, other = socket.socketpair()
    near, far = packet_pair()
    with trainer, other, near, far:
        crew = Crew(trainer, near, far, state=state, gate=None, note=note)
        crew.child = os.getpid()
        sent = 0
        far.setblocking(False)
        try:
            while sent < 60:
                far.send(b'{"kind": "image"}')
                sent += 1
        except BlockingIOError:
            pass
        with pytest.raises(LateError):
            crew.wait({"done": crew.child}, 0.2)
        assert 0 < len(noted) < sent
