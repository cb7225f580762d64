"""A client in a thread of its own: one set of connections for many event loops, and nothing left over at the end."""

import asyncio
import contextlib
import logging
import threading

import pytest

from saccade.chat.openai_chat import ChatClient
from saccade.chat.threaded import ChatThread
from saccade.chat.wire import RefusedRequestError
from saccade.errors import MachineError
from saccade.testing.chat_server import ChatServer, Served, chat_reply
from saccade.types import Message

HELLO = (Message(role="user", parts=("Hello",)),)


def client(server: ChatServer, **settings) -> ChatClient:
    return ChatClient(server.url, "small", **{"retry_wait_s": 0.01, "retries": 0, **settings})


def ask(teacher: ChatThread, count: int = 1) -> list[str]:
    """The first text of so many questions at the same time, in an event loop of their own."""

    async def asked() -> list[str]:
        questions = (teacher(HELLO, temperature=0.0, samples=1, seed=seed) for seed in range(count))
        return [texts[0] for texts in await asyncio.gather(*questions)]

    return asyncio.run(asked())


def test_many_event_loops_one_after_another_are_answered() -> None:
    with ChatServer(lambda _: chat_reply("hi")) as server, ChatThread(client(server)) as teacher:
        assert [ask(teacher, 3) for _ in range(4)] == [["hi"] * 3] * 4
        assert teacher.counts.requests == 12


def test_the_limit_of_requests_at_a_time_holds_for_all_of_them() -> None:
    lock, out, most = threading.Lock(), 0, 0

    def serve(_) -> Served:
        nonlocal out, most
        with lock:
            out += 1
            most = max(most, out)
        threading.Event().wait(0.02)
        with lock:
            out -= 1
        return chat_reply("hi")

    with ChatServer(serve) as server, ChatThread(client(server), at_once=2) as teacher:
        ask(teacher, 8)
    assert most == 2


def test_errors_reach_who_asked_and_the_next_one_is_served() -> None:
    replies = iter([Served(body="busy", status=503), Served(body="no key", status=401), chat_reply("hi")])
    with ChatServer(lambda _: next(replies)) as server, ChatThread(client(server)) as teacher:
        with pytest.raises(MachineError, match="503"):
            ask(teacher)
        with pytest.raises(RefusedRequestError, match="401"):
            ask(teacher)
        assert ask(teacher) == ["hi"]


def test_a_server_that_keeps_failing_is_tried_by_one_question_at_a_time_until_it_answers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    is_up = threading.Event()

    def serve(_) -> Served:
        return chat_reply("hi") if is_up.is_set() else Served(body="loading", status=503)

    async def failures(teacher: ChatThread, count: int) -> int:
        questions = (teacher(HELLO, temperature=0.0, samples=1, seed=seed) for seed in range(count))
        found = await asyncio.gather(*questions, return_exceptions=True)
        assert all(isinstance(one, MachineError) or one == ["hi"] for one in found)
        return sum(isinstance(one, MachineError) for one in found)

    with ChatServer(serve) as server, ChatThread(client(server), at_once=2) as teacher:
        assert asyncio.run(failures(teacher, 50)) == 50
        # After four failures most of the others are not sent: a trial is out, and it fails.
        assert len(server.received) < 50
        assert asyncio.run(failures(teacher, 20)) == 20
        before = len(server.received)
        assert asyncio.run(failures(teacher, 1)) == 1
        assert len(server.received) == before + 1
        is_up.set()
        assert asyncio.run(failures(teacher, 1)) == 0
        assert asyncio.run(failures(teacher, 50)) == 0
    assert "has failed 4 times in a row" in caplog.text


def test_a_server_that_fails_now_and_then_is_asked_everything() -> None:
    replies = iter(range(1000))

    def serve(_) -> Served:
        return Served(body="busy", status=503) if next(replies) % 4 else chat_reply("hi")

    async def asked(teacher: ChatThread) -> None:
        for seed in range(24):
            with contextlib.suppress(MachineError):
                await teacher(HELLO, temperature=0.0, samples=1, seed=seed)

    with ChatServer(serve) as server, ChatThread(client(server), at_once=2) as teacher:
        asyncio.run(asked(teacher))
        assert len(server.received) == 24


def test_leaving_it_stops_what_is_still_asked_and_says_what_was_done(caplog: pytest.LogCaptureFixture) -> None:
    async def asked_and_given_up(teacher: ChatThread) -> None:
        waiting = asyncio.ensure_future(teacher(HELLO, temperature=0.0, samples=1, seed=0))
        while not server.received:
            await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    # Tools of other tests hold theirs until they are collected.
    others = threading.enumerate()
    before = threading.active_count()
    with ChatServer(lambda _: Served(body="", after_s=60.0)) as server:
        during = threading.active_count()
        with caplog.at_level(logging.INFO, "saccade"), ChatThread(client(server)) as teacher:
            asyncio.run(asked_and_given_up(teacher))
        assert not [one for one in threading.enumerate() if one.name == "saccade-chat" and one not in others]
        assert during > before
    assert f"calls to small at {server.url}: requests 1, cache hits 0, retries 0" in caplog.text


def test_it_can_be_entered_again_and_answers_only_then() -> None:
    with ChatServer(lambda _: chat_reply("hi")) as server:
        teacher = ChatThread(client(server))
        for _ in range(2):
            with teacher:
                assert ask(teacher) == ["hi"]
            with pytest.raises(RuntimeError, match="not running"):
                ask(teacher)
