"""The client against a real server on loopback that is busy, broken, silent or rude."""

import asyncio
import base64
import io
import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from PIL import Image

from saccade.chat.chat_model import ChatCounts
from saccade.chat.openai_chat import ChatClient
from saccade.chat.wire import ChatReply, RefusedRequestError, ReplyCache
from saccade.errors import MachineError, UserError
from saccade.media.store import MediaStore
from saccade.retries import LONGEST_WAIT_S, RetryPace, asked_wait_s, back_off_s
from saccade.testing.chat_server import ChatServer, Received, Serve, Served, chat_reply, one_after_another
from saccade.types import Message

HELLO = (Message(role="user", parts=("Hello",)),)


def ask(server: ChatServer, *, samples: int = 1, seed: int | None = 5, messages=HELLO, **settings) -> tuple:
    """The texts and the counts of a client that waits hardly at all between tries."""

    async def asked() -> tuple:
        async with ChatClient(server.url, "small", **{"retry_wait_s": 0.01, **settings}) as client:
            texts = await client(messages, temperature=0.5, samples=samples, seed=seed)
            return texts, client.counts

    return asyncio.run(asked())


def test_a_request_carries_texts_and_images_and_settings() -> None:
    media = MediaStore()
    image = media.add(Image.new("RGB", (3, 2), (10, 20, 30)))
    messages = (
        Message(role="system", parts=("Be brief.",)),
        Message(role="user", parts=(image, "What ", "colour?")),
        Message(role="assistant", parts=("I look.",)),
        Message(role="tool", parts=("nothing there",)),
    )
    with ChatServer(lambda _: chat_reply("blue", prompt_tokens=12, completion_tokens=3)) as server:
        texts, counts = ask(server, messages=messages, media=media, api_key="secret", max_tokens=7)
    assert texts == ["blue"]
    assert counts == ChatCounts(requests=1, prompt_tokens=12, completion_tokens=3)
    [received] = server.received
    assert (received.path, received.headers["authorization"]) == ("/v1/chat/completions", "Bearer secret")
    system, user, assistant, tool = received.body["messages"]
    assert (system, assistant) == (
        {"role": "system", "content": "Be brief."},
        {"role": "assistant", "content": "I look."},
    )
    assert tool == {"role": "user", "content": "nothing there"}
    url = user["content"][0]["image_url"]["url"]
    assert user["content"][1:] == [{"type": "text", "text": "What "}, {"type": "text", "text": "colour?"}]
    sent = Image.open(io.BytesIO(base64.b64decode(url.removeprefix("data:image/png;base64,"))))
    assert (sent.size, sent.getpixel((0, 0))) == ((3, 2), (10, 20, 30))
    others = {name: value for name, value in received.body.items() if name != "messages"}
    assert others == {"model": "small", "temperature": 0.5, "max_tokens": 7, "seed": 5}


def test_fields_can_be_added_and_left_out() -> None:
    with ChatServer(lambda _: chat_reply("yes")) as server:
        ask(server, extra_body={"max_tokens": None, "max_completion_tokens": 9, "reasoning_effort": "low"})
    body = server.received[0].body
    assert "max_tokens" not in body
    assert (body["max_completion_tokens"], body["reasoning_effort"]) == (9, "low")


def test_several_samples_are_one_request_and_a_server_that_gives_one_is_asked_again() -> None:
    with ChatServer(lambda request: chat_reply(*["one"] * request.body["n"])) as server:
        assert ask(server, samples=3)[0] == ["one"] * 3
        assert [request.body["n"] for request in server.received] == [3]
    numbers = iter(range(9))
    with ChatServer(lambda _: chat_reply(str(next(numbers)))) as server:
        assert ask(server, samples=3)[0] == ["0", "1", "2"]
    assert [request.body.get("n") for request in server.received] == [3, 2, None]
    assert len({request.body["seed"] for request in server.received}) == 3
    with ChatServer(lambda _: chat_reply("a", "b", "c")) as server:
        assert ask(server, samples=2)[0] == ["a", "b"]


@pytest.mark.parametrize(
    "broken",
    [
        Served(body="busy", status=500),
        Served(body="busy", status=503),
        Served(body="slow down", status=429),
        Served(body="<html>gateway</html>"),
        Served(body='{"choices": [{"message"'),
        Served(body="[" * 200_000),
        Served(body='{"choices": []}'),
        Served(body='{"error": "overloaded"}'),
        Served(body='{"choices": [{"message": {"role": "assistant"}}]}'),
        Served(body='{"choices": [{"message": {"content": 5}}]}'),
        Served(body='{"choices": "none"}'),
        Served(body='{"choices": [{"message": {"content": "The red"}, "finish_reason": "error"}]}'),
        Served(body='{"choices": [{"message": {"content": null}, "finish_reason": "abort"}]}'),
        Served(body=chat_reply("late").body, after_s=30.0),
    ],
)
def test_a_server_that_failed_once_is_asked_again(broken: Served) -> None:
    with ChatServer(one_after_another(broken, chat_reply("ok"))) as server:
        texts, counts = ask(server, timeout_s=0.5 if broken.after_s else 60.0)
    assert texts == ["ok"]
    assert (counts.requests, counts.retries) == (2, 1)


@pytest.mark.parametrize(
    ("choice", "text"),
    [
        ('{"message": {"content": null}, "finish_reason": "stop"}', ""),
        ('{"message": {"content": null}, "finish_reason": "content_filter"}', ""),
        ('{"message": {"content": null, "refusal": "I cannot help."}, "finish_reason": "stop"}', "I cannot help."),
        ('{"message": {}, "finish_reason": "content_filter"}', ""),
        ('{"message": null, "finish_reason": "content_filter"}', ""),
        ('{"message": {"role": "assistant"}, "finish_reason": "stop"}', ""),
        ('{"message": {"content": null}, "finish_reason": "SAFETY"}', ""),
        ('{"message": {"content": null}, "finish_reason": "tool_calls"}', ""),
        ('{"message": {"content": "", "refusal": "No."}, "finish_reason": "stop"}', "No."),
        ('{"message": {"content": [{"type": "refusal", "refusal": "No."}, "!"]}, "finish_reason": "stop"}', "No.!"),
        (
            '{"message": {"content": "I look.", "tool_calls": [{"id": null, "function": {"name": "crop", "arguments": '
            '"{\\"image\\": 1}"}}, null]}, "finish_reason": "tool_calls"}',
            'I look.<tool_call>{"name": "crop", "arguments": {"image": 1}}</tool_call>',
        ),
        (
            '{"message": {"tool_calls": [{"function": {"name": "a", "arguments": "{\\"b\\":"}}, '
            '{"function": {"name": "a", "arguments": {"b": 2}}}]}, "finish_reason": "stop"}',
            '<tool_call>{"name": "a", "arguments": {"b":}</tool_call>'
            '<tool_call>{"name": "a", "arguments": {"b": 2}}</tool_call>',
        ),
        (
            '{"message": {"content": null, "reasoning": "I look.", "function_call": {"name": "a", "arguments": ""}}, '
            '"finish_reason": "function_call"}',
            '<think>I look.</think><tool_call>{"name": "a", "arguments": {}}</tool_call>',
        ),
        (
            '{"message": {"content": null, "reasoning_content": "It is B."}, "finish_reason": "stop"}',
            "<think>It is B.</think>",
        ),
        (
            '{"message": {"content": null, "reasoning": "It is B."}, "finish_reason": "length"}',
            "<think>It is B.</think>",
        ),
    ],
)
def test_what_a_model_left_out_is_its_outcome_and_not_asked_again(choice: str, text: str) -> None:
    with ChatServer(lambda _: Served(body=f'{{"choices": [{choice}]}}')) as server:
        texts, counts = ask(server)
    assert texts == [text]
    assert (counts.requests, counts.retries) == (1, 0)


def test_a_server_that_stays_broken_is_the_machines_failure() -> None:
    with (
        ChatServer(lambda _: Served(body="out of memory", status=500)) as server,
        pytest.raises(MachineError) as caught,
    ):
        ask(server, retries=2)
    assert len(server.received) == 3
    assert "no usable reply in 3 tries; the last time: status 500: out of memory" in str(caught.value)


def test_a_server_that_is_not_there_is_the_machines_failure() -> None:
    with ChatServer(lambda _: chat_reply("gone")) as server:
        pass
    with pytest.raises(MachineError, match="no connection"):
        ask(server, retries=1)


def test_retry_after_is_obeyed() -> None:
    busy = Served(body="slow down", status=429, headers={"Retry-After": "0.4"})
    with ChatServer(one_after_another(busy, chat_reply("ok"))) as server:
        started = time.monotonic()
        assert ask(server)[0] == ["ok"]
    assert time.monotonic() - started >= 0.4


def test_retry_after_is_read_as_seconds_or_a_date_and_bounded() -> None:
    now = datetime(2026, 5, 1, 12, 0, 0, tzinfo=UTC)
    in_a_minute = format_datetime(now + timedelta(seconds=60), usegmt=True)
    cases = {
        "7": 7.0,
        "0.5": 0.5,
        "-3": 0.0,
        "99999": LONGEST_WAIT_S,
        in_a_minute: 60.0,
        "soon": None,
        "nan": None,
        "": None,
    }
    assert {text: asked_wait_s({"retry-after": text}, now=now) for text in cases} == cases
    assert asked_wait_s({}) is None


def test_waits_double_scatter_and_have_an_end() -> None:
    waits = [back_off_s(attempt, first_wait_s=1.0, seed=3) for attempt in range(9)]
    assert all(2.0**attempt <= wait <= 1.5 * 2.0**attempt for attempt, wait in enumerate(waits[:6]))
    assert waits[-1] == LONGEST_WAIT_S
    assert waits == [back_off_s(attempt, first_wait_s=1.0, seed=3) for attempt in range(9)]
    assert waits[0] != back_off_s(0, first_wait_s=1.0, seed=4)


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (400, "see that the model takes images"),
        (401, "OPENAI_API_KEY"),
        (403, "OPENAI_API_KEY"),
        (404, "'small' is one of the models in"),
        (413, "fit into its context"),
        (422, "extra_body"),
    ],
)
def test_a_refused_request_is_the_users_mistake_and_never_sent_again(status: int, advice: str) -> None:
    with ChatServer(lambda _: Served(body='{"error": "no\n such"}', status=status)) as server:
        with pytest.raises(RefusedRequestError, match=f"status {status}") as caught:
            ask(server)
        assert len(server.received) == 1
    assert isinstance(caught.value, UserError)
    assert advice in str(caught.value)
    assert caught.value.is_about_one_request == (status in (400, 413, 422))


def test_a_quota_that_is_used_up_is_not_waited_for() -> None:
    body = '{"error": {"code": "insufficient_quota"}}'
    with ChatServer(lambda _: Served(body=body, status=429)) as server:
        with pytest.raises(RefusedRequestError, match="quota of this key is used up"):
            ask(server)
        assert len(server.received) == 1


def test_a_text_that_was_cut_short_or_comes_in_parts_is_a_text() -> None:
    cut = Served(body='{"choices": [{"finish_reason": "length", "message": {"content": null}}]}')
    with ChatServer(lambda _: cut) as server:
        assert ask(server)[0] == [""]
    parts = Served(body='{"choices": [{"message": {"content": [{"type": "text", "text": "in "}, {"text": "parts"}]}}]}')
    with ChatServer(lambda _: parts) as server:
        assert ask(server)[0] == ["in parts"]
    half = Served(body='{"choices": [{"message": {"content": "\\ud83d"}}]}')
    with ChatServer(lambda _: half) as server:
        assert ask(server)[0] == ["?"]


def test_what_was_asked_once_is_not_asked_again(tmp_path: Path) -> None:
    media = MediaStore()
    image = media.add(Image.new("RGB", (3, 2), (10, 20, 30)))
    messages = (Message(role="user", parts=(image, "?")),)
    with ChatServer(lambda _: chat_reply("first")) as server:
        assert ask(server, messages=messages, media=media, cache_dir=tmp_path)[0] == ["first"]
        texts, counts = ask(server, messages=messages, media=media, cache_dir=tmp_path)
        assert (texts, counts) == (["first"], ChatCounts(cache_hits=1))
        assert len(server.received) == 1
        other = media.add(Image.new("RGB", (3, 2), (10, 20, 31)))
        for changed in (
            {"messages": (Message(role="user", parts=(other, "?")),)},
            {"seed": 6},
            {"samples": 2},
            {"max_tokens": 5},
            {"extra_body": {"top_p": 0.5}},
        ):
            before = len(server.received)
            ask(server, **{"messages": messages, "media": media, "cache_dir": tmp_path, **changed})
            assert len(server.received) > before, changed
    # Another server may serve another model under the same name.
    with ChatServer(lambda _: chat_reply("second")) as server:
        assert ask(server, messages=messages, media=media, cache_dir=tmp_path)[0] == ["second"]


def test_the_key_of_the_server_is_neither_kept_nor_part_of_what_is_asked(tmp_path: Path) -> None:
    with ChatServer(lambda _: chat_reply("hi")) as server:
        ask(server, cache_dir=tmp_path, api_key="secret-one")
        assert ask(server, cache_dir=tmp_path, api_key="secret-two")[1].cache_hits == 1
    [file] = tmp_path.rglob("*.json")
    assert json.loads(file.read_text()) == {
        "texts": ["hi"],
        "prompt_tokens": 0,
        "completion_tokens": 0,
        "cut_off": [False],
    }


def test_a_server_that_sends_elsewhere_keeps_the_key() -> None:
    with ChatServer(lambda _: chat_reply("hi")) as other:
        away = other.url.replace("127.0.0.1", "localhost") + "/chat/completions"
        with ChatServer(lambda _: Served(body="", status=307, headers={"Location": away})) as server:
            assert ask(server, api_key="secret")[0] == ["hi"]
        assert server.received[0].headers["authorization"] == "Bearer secret"
        assert "authorization" not in other.received[0].headers


def test_a_stream_is_read_to_its_end_and_one_that_tells_of_an_error_is_asked_for_again() -> None:
    told: list[str] = []
    broken = 'data: {"choices": [{"delta": {"content": "blu"}}]}\n\ndata: {"error": {"message": "overloaded"}}\n\n'
    whole = (
        ': ping\n\nevent: x \ndata: {"choices": [{"delta": {"content": "re"}}]}\n\ndata:{"choices": []}\n\n'
        'data: {"choices": [{"delta": {"content": "d"}, "finish_reason": "length"}]}\n\ndata: [DONE]\n\n'
    )
    with ChatServer(one_after_another(Served(body=broken), Served(body=whole))) as server:

        async def streamed() -> ChatReply:
            async with ChatClient(server.url, "small", retry_wait_s=0.01) as client:
                return await client.streamed_reply(HELLO, temperature=0.0, seed=1, on_text=told.append)

        reply = asyncio.run(streamed())
    assert (reply.texts, reply.cut_off) == (("red",), (True,))
    assert told == ["", "blu", "", "re", "red"]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"texts": []}', '{"texts": [3], "prompt_tokens": 0}', "null"])
def test_a_broken_file_of_the_cache_is_as_good_as_none(tmp_path: Path, content: str) -> None:
    with ChatServer(lambda _: chat_reply("hi")) as server:
        ask(server, cache_dir=tmp_path)
        [file] = tmp_path.rglob("*.json")
        file.write_text(content)
        assert ask(server, cache_dir=tmp_path)[0] == ["hi"]
        assert len(server.received) == 2
        assert ReplyCache(tmp_path).get(file.stem) is not None


def test_failures_are_not_kept(tmp_path: Path) -> None:
    with ChatServer(one_after_another(Served(body="", status=500), chat_reply("hi"))) as server:
        with pytest.raises(MachineError):
            ask(server, cache_dir=tmp_path, retries=0)
        assert ask(server, cache_dir=tmp_path, retries=0)[0] == ["hi"]


def counting_server(seconds: float) -> tuple[Serve, list[int]]:
    """Each reply takes a while; the list holds how many requests were out at each coming."""
    out: list[int] = []
    open_now = [0]

    def serve(_: Received) -> Served:
        open_now[0] += 1
        out.append(open_now[0])
        time.sleep(seconds)
        open_now[0] -= 1
        return chat_reply("x")

    return serve, out


def many(server: ChatServer, count: int, *, same: bool = False, **settings) -> ChatCounts:
    async def asked() -> ChatCounts:
        async with ChatClient(server.url, "small", **settings) as client:
            await asyncio.gather(*(client(HELLO, seed=0 if same else index) for index in range(count)))
            return client.counts

    return asyncio.run(asked())


def test_no_more_requests_are_out_than_allowed() -> None:
    serve, out = counting_server(0.05)
    with ChatServer(serve) as server:
        many(server, 9, max_concurrency=3)
    assert (len(out), max(out)) == (9, 3)


def test_requests_start_at_the_rate_that_is_allowed() -> None:
    with ChatServer(lambda _: chat_reply("x")) as server:
        started = time.monotonic()
        many(server, 5, requests_per_minute=600)
    assert time.monotonic() - started >= 0.4
    assert RetryPace(None).reserve() == 0.0


def test_those_who_ask_the_same_at_the_same_time_wait_for_the_first(tmp_path: Path) -> None:
    serve, out = counting_server(0.05)
    with ChatServer(serve) as server:
        counts = many(server, 6, same=True, cache_dir=tmp_path)
    assert (len(out), counts.cache_hits) == (1, 5)


def test_a_client_goes_from_one_event_loop_to_the_next() -> None:
    with ChatServer(lambda _: chat_reply("x")) as server:
        client = ChatClient(server.url, "small")

        async def once() -> None:
            async with client:
                await client(HELLO)

        for _ in range(2):
            asyncio.run(once())
        assert client.counts.requests == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"base_url": "localhost:8000"}, "no address of a server"),
        ({"model": ""}, "model's name is empty"),
        ({"api_key": "schlüssel"}, "no header can carry"),
        ({"timeout_s": 0}, "must be positive"),
        ({"max_concurrency": 0}, "must be positive"),
        ({"requests_per_minute": 0}, "lets nothing through"),
        ({"retries": -1}, "must not be negative"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        ChatClient(**{"base_url": "http://localhost:1/v1", "model": "m", **settings})


def test_images_need_a_store() -> None:
    image = MediaStore().add(Image.new("RGB", (3, 2)))
    with ChatServer(lambda _: chat_reply("x")) as server, pytest.raises(UserError, match="give media="):
        ask(server, messages=(Message(role="user", parts=(image,)),))


def test_processes_share_a_cache_without_ever_reading_half_a_reply(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys\nfrom pathlib import Path\n"
        "from saccade.chat.openai_chat import ChatClient\n"
        "from saccade.types import Message\n"
        "async def main():\n"
        "    async with ChatClient(sys.argv[1], 'small', cache_dir=Path(sys.argv[2])) as client:\n"
        "        for index in range(40):\n"
        "            [text] = await client((Message(role='user', parts=('hello',)),), seed=index)\n"
        "            assert text == 'long ' * 4000 + str(index), text[-20:]\n"
        "asyncio.run(main())\n"
        "heavy = {'torch', 'transformers'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    with ChatServer(lambda request: chat_reply("long " * 4000 + str(request.body["seed"]))) as server:
        command = [sys.executable, "-c", code, server.url, str(tmp_path)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) for _ in range(3)]
        for process in running:
            assert (process.communicate(timeout=60)[1], process.returncode) == ("", 0)
    assert not list(tmp_path.rglob("*.tmp"))
    assert len(list(tmp_path.rglob("*.json"))) == 40
