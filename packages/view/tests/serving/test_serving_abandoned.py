"""Clients that leave in the middle of a stream leave nothing behind in the server."""

import asyncio
import gc
import json
import socket

from served_agent import serving
from test_serving_attacks import wait_then_tell


def pending_tasks() -> list[str]:
    """What waits in any loop of this process, by the names of its coroutines."""
    tasks = [one for one in gc.get_objects() if isinstance(one, asyncio.Task) and not one.done()]
    return sorted(str(getattr(task.get_coro(), "__qualname__", "")) for task in tasks)


def test_abandoned_streams_leave_no_task_behind() -> None:
    raw = json.dumps({"model": "demo", "messages": [{"role": "user", "content": "x"}], "stream": True}).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(raw)}\r\n\r\n".encode()
    with serving(wait_then_tell) as agent:
        before = pending_tasks()
        for is_read in [True, False] * 15:
            with socket.create_connection(("127.0.0.1", int(agent.url.rpartition(":")[2]))) as connection:
                connection.sendall(head + raw)
                agent.until(lambda: agent.episodes.open_count == 1)
                while is_read and b"assistant" not in connection.recv(4096):
                    pass
            agent.until(lambda: agent.episodes.open_count == 0)
        # What a garbage collection would destroy while it is pending is counted: none has run meanwhile.
        agent.until(lambda: pending_tasks() == before, within_s=30)
        agent.gate.opened.set()
        assert agent.ask("x").status_code == 200
