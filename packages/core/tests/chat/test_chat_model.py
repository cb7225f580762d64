"""One factory for servers, checkpoints and scripts; what a run opens is closed in any case and counted."""

import asyncio
import gc
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from PIL import Image

from saccade.chat import ChatCounts, ChatServerSettings, ConnectedChat, Resources, connect
from saccade.chat.local_chat import EngineChat
from saccade.chat.vision_chat import LentImages, VisionChat
from saccade.errors import SaccadeError, ToolError, UserError
from saccade.media.store import MediaStore
from saccade.models.checkpoint import base_checkpoint
from saccade.testing import ScriptedTeacher
from saccade.testing.chat_server import ChatServer, Served, chat_reply
from saccade.testing.scripted import ScriptedEngine, letter_chat
from saccade.testing.tasks import TINY_VIEW
from saccade.types import Message

HELLO = (Message(role="user", parts=("Hello",)),)
ONE_TRY = ChatServerSettings(retries=0)


def asked(model: ConnectedChat, *, seed: int = 0) -> Sequence[str]:
    """In an event loop of its own, as each step of training has one."""

    async def ask() -> Sequence[str]:
        return list(await model(HELLO, temperature=0.0, samples=1, seed=seed))

    return asyncio.run(ask())


def threads() -> list[str]:
    return [one.name for one in threading.enumerate() if one.name.startswith("saccade")]


def test_a_server_a_checkpoint_and_a_script_answer_alike_and_count(tmp_path: Path) -> None:
    with ChatServer(lambda _: chat_reply("hi", prompt_tokens=2, completion_tokens=1)) as server:
        with connect(server.url, model="small", cache_dir=tmp_path) as model:
            assert [asked(model), asked(model)] == [["hi"], ["hi"]]
        assert model.counts == ChatCounts(requests=1, cache_hits=1, prompt_tokens=2, completion_tokens=1)
    with connect(base_checkpoint(), ChatServerSettings(max_tokens=4)) as model:
        assert asked(model) == asked(model)
    assert model.counts == ChatCounts(requests=2)
    with connect(ScriptedTeacher(reply=lambda _: "hi")) as model:
        assert asked(model) == ["hi"]
    assert model.counts == ChatCounts(requests=1)


def test_it_answers_only_while_it_is_open(tmp_path: Path) -> None:
    for model in (connect(base_checkpoint()), connect(ScriptedTeacher(reply=lambda _: "hi"))):
        with pytest.raises(RuntimeError, match="not open"):
            asked(model)


def test_what_cannot_be_connected_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="say which of its models is meant"):
        connect("http://127.0.0.1:9/v1")
    for where in ("localhost:8000", tmp_path):
        with pytest.raises(UserError, match=r"no address of a server.*and no checkpoint directory"):
            connect(where, model="small")


def test_the_key_is_the_variables_unless_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sesame")
    with ChatServer(lambda _: chat_reply("hi")) as server:
        for key in (None, "own", ""):
            with connect(server.url, model="small", api_key=key) as model:
                asked(model)
        sent = [received.headers["authorization"] for received in server.received]
    assert sent == ["Bearer sesame", "Bearer own", "Bearer none"]


def test_models_of_one_name_are_counted_together_since_the_last_reading() -> None:
    models = Resources(MediaStore())
    first = models.open_chat_model("judge", ScriptedTeacher(reply=lambda _: "a"))
    second = models.open_chat_model("judge", ScriptedTeacher(reply=lambda _: "b"))
    with models:
        assert [asked(first), asked(second), asked(second)] == [["a"], ["b"], ["b"]]
        assert models.meters()["judge_requests"] == 3.0
        assert models.meters()["judge_requests"] == 0.0
    with pytest.raises(UserError, match="cannot name a model"):
        models.open_chat_model("the judge", ScriptedTeacher(reply=lambda _: "a"))


def test_where_one_cannot_be_opened_the_others_are_closed(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with ChatServer(lambda _: chat_reply("hi")) as server:
        before = threads()
        models = Resources(MediaStore())
        models.open_chat_model("judge", server.url, model="small")
        models.open_vision_model("reader", server.url, model="small")
        models.open_chat_model("broken", tmp_path)
        with pytest.raises(UserError), models:
            pass
        assert threads() == before


def test_a_vision_model_is_asked_from_plain_functions() -> None:
    replies = iter([chat_reply(" a plate\n"), Served(body="too long", status=400), Served(body="who?", status=401)])
    picture = Image.new("RGB", (8, 8), "red")
    with ChatServer(lambda _: next(replies)) as server:
        before = threads()
        models = Resources(MediaStore())
        reader = models.open_vision_model("reader", server.url, ONE_TRY, model="small")
        with models:
            assert reader.answer(picture, "What is it?") == "a plate"
            with pytest.raises(ToolError, match="other words"):
                reader.answer(picture, "What is it?")
            with pytest.raises(UserError, match="401"):
                reader.answer(picture, "What is it?")
            assert models.meters()["reader_requests"] == 3.0
        assert threads() == before


def test_the_threads_of_a_vision_model_that_is_never_left_end_with_its_last_user() -> None:
    before = threading.enumerate()
    with ChatServer(lambda _: chat_reply("a plate")) as server:
        others = threading.enumerate()
        images = LentImages()
        reader = VisionChat(connect(server.url, model="small", media=images), images).__enter__()
        assert reader.answer(Image.new("RGB", (8, 8)), "What is it?") == "a plate"
        own = [one for one in threading.enumerate() if one not in others and one.name.startswith("saccade")]
        assert len(own) == 2
        del reader
        gc.collect()
        for thread in own:
            thread.join(timeout=60)
        assert [one.is_alive() for one in own] == [False, False]
    assert [one for one in threading.enumerate() if one not in before and one.name.startswith("saccade")] == []


def hello(name: str) -> tuple[Message, ...]:
    return (Message(role="user", parts=(f"Hello {name}",)),)


def test_questions_that_come_together_are_one_batch() -> None:
    chat = letter_chat(TINY_VIEW)
    engine = ScriptedEngine(script=lambda label, turn: f"answer to {label}", chat=chat)
    teacher = EngineChat(engine=engine, chat=chat, max_tokens=50)

    async def main() -> list:
        return await asyncio.gather(
            teacher(hello("Ann"), temperature=0.7, samples=2, seed=1),
            teacher(hello("Bob"), temperature=0.0, samples=1, seed=2),
        )

    assert asyncio.run(main()) == [["answer to teacher/1/0", "answer to teacher/1/1"], ["answer to teacher/2/0"]]
    first, second, third = engine.asked
    assert (first.ids, third.ids) == (chat.prompt(hello("Ann")).ids, chat.prompt(hello("Bob")).ids)
    assert (first.sampling.max_tokens, first.sampling.temperature) == (50, 0.7)
    assert first.sampling.seed != second.sampling.seed


def test_one_question_after_another_is_answered() -> None:
    chat = letter_chat(TINY_VIEW)
    teacher = EngineChat(engine=ScriptedEngine(script=lambda label, turn: "yes", chat=chat), chat=chat)

    async def main() -> list:
        return [await teacher(hello("Ann"), temperature=0.0, samples=1, seed=seed) for seed in range(3)]

    assert asyncio.run(main()) == [["yes"]] * 3


def test_what_the_engine_raises_reaches_those_who_asked() -> None:
    chat = letter_chat(TINY_VIEW)
    teacher = EngineChat(engine=ScriptedEngine(script=[], chat=chat), chat=chat)
    with pytest.raises(SaccadeError, match="the script has no turn 1"):
        asyncio.run(teacher(hello("Ann"), temperature=0.0, samples=1, seed=0))
