import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from PIL import Image

from saccade.chat.vision_chat import LentImages
from saccade.errors import MachineError, ToolError, UserError
from saccade.media.store import MediaStore
from saccade.models.checkpoint import base_checkpoint
from saccade.testing.chat_server import (
    CDL_LINES,
    SOLUTION,
    ChatServer,
    Received,
    Serve,
    Served,
    chat_reply,
    one_after_another,
)
from saccade.tools.catalogue.catalogue import build_tool
from saccade.tools.catalogue.settings import ToolSettings
from saccade.tools.tool import Tool
from saccade.types import Json, ToolResult

PROBLEM = "AB is 3 and BC is 4; the angle at B is right. How long is AC?"
PICTURE = Image.new("RGB", (64, 48), "red")


def at_server(name: str, url: str, **options: Json) -> Tool:
    asked: dict[str, Json] = {"url": url, "model": "expert", "retries": 0, "timeout_s": 10.0, **options}
    return build_tool(ToolSettings(name=name, backend="openai", options=asked))


def called(tool: Tool, picture: Image.Image = PICTURE, **arguments: Json) -> ToolResult:
    media = MediaStore()
    return tool.call(arguments, [media.add(picture)], media)


def saying(text: str) -> Serve:
    return one_after_another(chat_reply(text))


def test_a_solution_comes_with_its_answer_and_the_picture_was_sent(expert_server: ChatServer) -> None:
    result = called(at_server("g_llava", expert_server.url), problem=PROBLEM)
    assert result.text == SOLUTION
    assert result.data == {"task": "solve", "answer": "5"}
    body = expert_server.received[-1].body
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("expert", 0.0, 1024)
    content = body["messages"][0]["content"]  # type: ignore[index,call-overload]
    assert content[0]["image_url"]["url"].startswith("data:image/png;base64,")  # type: ignore[index,call-overload,union-attr]
    assert PROBLEM in content[1]["text"]  # type: ignore[index,call-overload,operator]


def test_each_task_has_words_of_its_own(expert_server: ChatServer) -> None:
    tool = at_server("multimath", expert_server.url)
    for task in ("solve", "analyze", "explain"):
        assert called(tool, problem=PROBLEM, task=task).data["task"] == task
    prompts = {json.dumps(received.body["messages"]) for received in expert_server.received[-3:]}
    assert len(prompts) == 3


def test_a_problem_without_words_is_refused_unasked(expert_server: ChatServer) -> None:
    before = len(expert_server.received)
    with pytest.raises(ToolError, match="problem is empty"):
        called(at_server("multimath", expert_server.url), problem=" ?! ")
    assert len(expert_server.received) == before


def test_a_busy_server_is_asked_again_and_a_dead_one_is_the_machines_failure() -> None:
    busy = Served(body="{}", status=503, headers={"Retry-After": "0"})
    with ChatServer(one_after_another(busy, chat_reply("Answer: 7"))) as server:
        assert called(at_server("g_llava", server.url, retries=1), problem=PROBLEM).data["answer"] == "7"
        url = server.url
    with pytest.raises(MachineError, match="gave no usable reply in 1 tries"):
        called(at_server("g_llava", url), problem=PROBLEM)


def test_a_request_that_the_server_refuses_is_the_policys_and_a_wrong_key_the_users() -> None:
    with ChatServer(one_after_another(Served(body="too long", status=400))) as server, pytest.raises(ToolError):
        called(at_server("g_llava", server.url), problem=PROBLEM)
    with (
        ChatServer(one_after_another(Served(body="who?", status=401))) as server,
        pytest.raises(UserError, match="401"),
    ):
        called(at_server("g_llava", server.url), problem=PROBLEM)


def test_a_model_that_says_nothing_is_not_believed() -> None:
    with ChatServer(saying("  \n")) as server, pytest.raises(ToolError, match="said nothing"):
        called(at_server("g_llava", server.url), problem=PROBLEM)


def test_the_key_is_sent_and_extra_fields_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXPERT_KEY", "sesame")
    with ChatServer(saying("x")) as server:
        called(at_server("g_llava", server.url, api_key_env="EXPERT_KEY", extra_body={"top_p": 0.5}), problem=PROBLEM)
        (received,) = server.received
    assert received.headers["authorization"] == "Bearer sesame"
    assert received.body["top_p"] == 0.5


def test_many_threads_may_ask_a_server() -> None:
    def echo(received: Received) -> Served:
        return chat_reply(json.dumps(received.body["messages"])[-200:])

    with ChatServer(echo) as server:
        tool = at_server("g_llava", server.url)
        with ThreadPoolExecutor(8) as threads:
            texts = list(threads.map(lambda n: called(tool, problem=f"How much is {n}?").text, range(24)))
    assert all(f"How much is {n}?" in text for n, text in enumerate(texts))


def test_a_checkpoint_of_a_known_family_answers_in_this_process() -> None:
    options: dict[str, Json] = {"model": str(base_checkpoint()), "max_tokens": 4, "max_pixels": 4096}
    tool = build_tool(ToolSettings(name="multimath", backend="transformers", options=options))
    with ThreadPoolExecutor(3) as threads:
        texts = list(threads.map(lambda _: called(tool, problem="What is it?").text, range(3)))
    assert texts == [texts[0]] * 3
    assert texts[0]


def test_formalised_problems_are_read_before_they_are_believed() -> None:
    with ChatServer(saying(f"Here it is:\n```\n{CDL_LINES}\n```")) as server:
        result = called(at_server("formalize_problem", server.url), question=PROBLEM)
        assert result.data["goal_cdl"] == "Value(LengthOfLine(AC))"
        solve = build_tool(ToolSettings(name="solve_cdl"))
        solved = solve.call(result.data, [], MediaStore())
    assert "5" in solved.text
    for said, message in (
        ("construction_cdl: Shape(AB,", "wrote CDL that cannot be read: construction_cdl"),
        ("text_cdl: Equal(LengthOfLine(AB),3)", "wrote no goal_cdl"),
    ):
        with ChatServer(saying(said)) as server, pytest.raises(ToolError, match=message):
            called(at_server("formalize_problem", server.url), question=PROBLEM)


def test_a_figure_is_read_part_by_part(expert_server: ChatServer) -> None:
    assert called(at_server("construction_cdl", expert_server.url)).data == {"construction_cdl": "Shape(AB,BC,CA)"}
    assert called(at_server("image_cdl", expert_server.url)).text.startswith("image_cdl: Equal(LengthOfLine(AB),3)")


def test_pictures_are_lent_only_as_long_as_somebody_asks() -> None:
    images = LentImages()
    with images.lend(PICTURE) as first:
        with images.lend(PICTURE.copy()) as second:
            assert first == second
        assert images.get(first).size == (64, 48)
    with pytest.raises(KeyError):
        images.get(first)


def test_relative_paths_start_at_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "model").symlink_to(base_checkpoint())
    options: dict[str, Json] = {"model": "model", "max_tokens": 1, "max_pixels": 4096}
    settings = ToolSettings(name="g_llava", backend="transformers", options=options)
    assert build_tool(settings, tmp_path).name == "g_llava"
