"""What clients that never finish cost a tool server: its memory and its connections while they stay and afterwards.

    python benchmarks/services_hostile.py [--json docs/results/services_hostile.json]

One server for each of three: 16 uploads that stop before their last byte, 800 connections that send half a header, and
100 that ask for a large picture and never read it. ``ends_s`` is when the last of them was ended by the server, which
allows ``request_s`` (10 here, 30 by default).
"""

import argparse
import json
import select
import socket
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import psutil
from PIL import Image
from services_tools import ServedTools, write_tools_file

from saccade.media.encode import png_bytes

UPLOAD_BYTES = 62 << 20
SETTINGS = "request_s = 10.0\n"

Begin = Callable[[str, int], list[socket.socket]]
"""Opens the connections to a server, given its address and port."""


def connected(port: int) -> socket.socket:
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    connection.connect(("127.0.0.1", port))
    connection.setblocking(False)
    return connection


def uploads(_: str, port: int) -> list[socket.socket]:
    head = f"POST /images HTTP/1.1\r\nHost: localhost\r\nContent-Length: {UPLOAD_BYTES + 1}\r\n\r\n".encode()
    waiting = {connected(port): memoryview(head + bytes(UPLOAD_BYTES)) for _ in range(16)}
    opened = list(waiting)
    while waiting:
        _, writable, _ = select.select([], list(waiting), [], 1.0)
        for connection in writable:
            try:
                waiting[connection] = waiting[connection][connection.send(waiting[connection][: 1 << 20]) :]
            except ConnectionError:
                # Turned away before it was done.
                waiting[connection] = memoryview(b"")
            if not waiting[connection]:
                del waiting[connection]
    return opened


def half_headers(_: str, port: int) -> list[socket.socket]:
    opened = [connected(port) for _ in range(800)]
    for connection in opened:
        connection.send(b"GET /health HTTP/1.1\r\nHost: local")
    return opened


def unread(url: str, port: int) -> list[socket.socket]:
    noise = png_bytes(Image.effect_noise((2000, 2000), 200).convert("RGB"))
    key = httpx.post(f"{url}/images", content=noise, timeout=60).json()["hash"]
    opened = [connected(port) for _ in range(100)]
    for connection in opened:
        connection.send(f"GET /images/{key} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return opened


def measured(begin: Begin) -> dict[str, object]:
    with ServedTools(write_tools_file(workers=1, server=SETTINGS)) as served:
        server = psutil.Process(served.pid)
        while httpx.get(f"{served.url}/ready").status_code != 200:
            time.sleep(0.1)
        before_mib = mib(server)
        began_s = time.monotonic()
        opened = begin(served.url, int(served.url.rpartition(":")[2]))
        watch = select.poll()
        for connection in opened:
            # Only the end is told, not what there is to read.
            watch.register(connection, select.POLLRDHUP)
        peak_mib, ended = mib(server), 0
        while ended < len(opened) and time.monotonic() < began_s + 90:
            ended = len(watch.poll(0))
            peak_mib = max(peak_mib, mib(server))
            time.sleep(0.05)
        ends_s = time.monotonic() - began_s
        is_well = httpx.get(f"{served.url}/health").status_code == 200
        for connection in opened:
            connection.close()
        return {
            "connections": len(opened),
            "ended_by_server": ended,
            "ends_s": round(ends_s, 1),
            "front_mib": {"before": before_mib, "peak": peak_mib, "after": mib(server)},
            "answers_afterwards": is_well,
        }


def mib(process: psutil.Process) -> float:
    return round(process.memory_info().rss / (1 << 20), 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    results: dict[str, object] = {"server_settings": SETTINGS.split("\n")[:-1]}
    for begin in (uploads, half_headers, unread):
        results[begin.__name__] = measured(begin)
    text = json.dumps(results, indent=2)
    print(text)
    if chosen.json:
        chosen.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
