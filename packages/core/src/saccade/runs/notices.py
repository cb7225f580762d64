"""A notice when a command has ended, killed or not: a message to a web address, or a shell command.

This file is also the program that waits for the end and tells of it, in a process and a session of its own: the run
waits for nothing, and a run that was killed cannot tell. It imports the standard library alone.
"""

import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

DIED = ("died", "its process ended without a word: killed, or out of memory")
_LONGEST = 2_000
_SENDING_S = 30.0
_TRIES = 4


@contextmanager
def notice_of_end(how: str, out: Path) -> Iterator[None]:
    """Tells ``how`` (a web address, or a shell command) once when the block is left or the process dies in it.

    A notice that cannot be sent is a line of ``log.txt`` in ``out``.
    """
    job: dict[str, str | int] = {"how": how, "run": str(out.absolute()), "parent": os.getpid()}
    watcher = subprocess.Popen(
        [sys.executable, "-I", "-S", __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert watcher.stdin is not None
    with watcher.stdin as pipe:
        _write(pipe, job)
        try:
            yield
        except BaseException as error:
            is_stop = isinstance(error, KeyboardInterrupt)
            reason = "it was interrupted, by Ctrl-C or SIGTERM" if is_stop else f"{type(error).__name__}: {error}"
            _write(pipe, {"status": "stopped" if is_stop else "failed", "reason": reason[:_LONGEST]})
            raise
        _write(pipe, {"status": "finished", "reason": "all its stages are done"})


def _write(pipe: IO[bytes], message: Mapping[str, str | int]) -> None:
    # Both messages fit in the pipe, so that this waits for nobody; a watcher that is gone tells nothing.
    with contextlib.suppress(OSError):
        pipe.write(json.dumps(message).encode() + b"\n")
        pipe.flush()


def _lines(parent: int | None) -> Iterator[dict[str, str]]:
    """Messages of the run as they come, until it has ended."""
    kept = b""
    while parent is None or os.getppid() == parent:
        # A process that the run has forked may keep the pipe open.
        if not select.select([0], [], [], 1.0)[0]:
            continue
        got = os.read(0, 65_536)
        if not got:
            return
        *whole, kept = (kept + got).split(b"\n")
        for line in whole:
            message = json.loads(line)
            parent = int(message.get("parent", parent))
            yield message


def _tell(job: Mapping[str, str], status: str, reason: str) -> None:
    host = socket.gethostname()
    text = f"Saccade run {job['run']} on {host} {status}: {reason}"
    address = os.path.expandvars(job["how"])
    if address.startswith(("http://", "https://")):
        # Slack, Mattermost and Teams read `text`, Discord `content`.
        told = {"text": text, "content": text, "status": status, "reason": reason, "run": job["run"], "host": host}
        _post(address, json.dumps(told).encode())
        return
    named = {"SACCADE_STATUS": status, "SACCADE_REASON": reason, "SACCADE_RUN": job["run"]}
    subprocess.run(["/bin/sh", "-c", job["how"]], input=text.encode(), env={**os.environ, **named}, check=True)


def _post(address: str, body: bytes) -> None:
    """Sends it again only where nobody can have taken it."""
    request = urllib.request.Request(address, body, {"Content-Type": "application/json", "User-Agent": "saccade"})
    for left in reversed(range(_TRIES)):
        try:
            urllib.request.urlopen(request, timeout=_SENDING_S).close()
            return
        except urllib.error.URLError as error:
            is_final = isinstance(error, urllib.error.HTTPError) and error.code < 500 and error.code != 429
            if not left or is_final:
                raise
            time.sleep(2.0 ** (_TRIES - left))


def watch() -> None:
    """The program: reads what the run says until it ends, and tells it."""
    messages = _lines(None)
    job = next(messages)
    end = next(messages, {})
    try:
        _tell(job, end.get("status", DIED[0]), end.get("reason", DIED[1]))
    except Exception as error:
        # Without what is in the address, which may be a secret.
        said = f"{type(error).__name__} {getattr(error, 'code', '')}".strip()
        line = f"{time.strftime('%Y-%m-%d %H:%M:%S')} WARNING saccade.runs: the notice was not sent: {said}\n"
        path = Path(job["run"]) / "log.txt"
        if not path.is_symlink():
            with contextlib.suppress(OSError), path.open("a", encoding="utf-8") as log:
                log.write(line)


if __name__ == "__main__":
    watch()
