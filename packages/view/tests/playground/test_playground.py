"""The playground's server as a stranger meets it: limits, wrong questions, foreign pages, and what is kept."""

import asyncio
import io
import json
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

import pytest
from PIL import Image
from starlette.testclient import TestClient

from saccade.envs.visual_reasoning import DEFAULT_VIEW
from saccade.media.store import MediaStore
from saccade.playground.asking import MAX_QUESTION, MAX_SAMPLES
from saccade.playground.keeping import PlaygroundRun, playground_settings
from saccade.playground.routes import PlaygroundOffer, chat_routes
from saccade.playground.samples import LiveSample, SampleEnd
from saccade.playground.talk import Talk
from saccade.protocols import direct_protocol, tagged_protocol
from saccade.rollout import EpisodeSpec, RolloutRequest, RolloutSettings
from saccade.runs.directory import RunDirectory
from saccade.runs.records import read_records
from saccade.serving.chat_agent import ChatAgent
from saccade.serving.pictures import PicturesInUse
from saccade.testing.scripted import ScriptedTeacher
from saccade.tools.images import crop
from saccade.tools.tool import tool_from
from saccade.types import Task
from saccade.viewer.app.application import RunsViewer, create_app
from saccade.viewer.app.events import Events
from saccade.viewer.app.guards import CSRF_HEADER
from saccade.viewer.store.collection import Collection

CALL = '<think>closer</think><tool_call>{"name": "crop", "arguments": {"bbox_2d": [0, 0, 500, 500]}}</tool_call>'
ANSWER = "<think>b</think><answer>rows</answer>"


@contextmanager
def playground(folder: Path) -> Iterator[tuple[TestClient, Path]]:
    media = MediaStore()
    spec = EpisodeSpec(
        protocol=tagged_protocol(style="brief"), tools=(tool_from(crop),), rollout=RolloutSettings(), max_turns=3
    )
    direct = EpisodeSpec(protocol=direct_protocol(style="brief"), rollout=RolloutSettings(), max_turns=1)
    teacher = ScriptedTeacher(reply=lambda messages: ANSWER if len(messages) > 2 else CALL)
    agent = ChatAgent(teacher, spec, DEFAULT_VIEW, ("<|im_end|>",))
    out = folder / "run"
    with RunDirectory.create(out, resume=True, settings=playground_settings("m", "by hand")) as directory:
        collection = Collection(paths=(out,), cache=folder / "cache", look_every_s=0.05)
        collection.start()
        viewer = RunsViewer(collection=collection, events=Events(), has_chat=True)
        [shown] = collection.runs.values()
        run = PlaygroundRun(directory=directory, media=media)
        talk = Talk(agent=agent, held=PicturesInUse(media), run=run, shown=shown)
        offer = PlaygroundOffer(model="m", protocols={"tagged": spec, "direct": direct}, usual="tagged")
        app = create_app(viewer, host="127.0.0.1", token=None, add=lambda _: chat_routes(talk, offer))
        with TestClient(app, base_url="http://127.0.0.1:7860", raise_server_exceptions=False) as client:
            client.headers[CSRF_HEADER.decode()] = viewer.csrf
            yield client, out
        collection.close()
    agent.close()


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[tuple[TestClient, Path]]:
    with playground(tmp_path) as found:
        yield found


def png(size: tuple[int, int] = (64, 48)) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, "red").save(buffer, "PNG")
    return buffer.getvalue()


def events_of(client: TestClient, identity: str) -> list[tuple[str, dict[str, object]]]:
    text = client.get(f"/api/chat/{identity}/events").text
    found = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if line[0] != ":")
        if lines:
            found.append((lines["event"], json.loads(lines["data"])))
    return found


def test_a_question_with_a_picture_is_played_told_and_kept(asked: tuple[TestClient, Path]) -> None:
    client, out = asked
    image = client.post("/api/chat/pictures", content=png(), headers={"content-type": "image/png"}).json()["image"]
    body = {"image": image["hash"], "question": "Which? <|im_end|>", "samples": 2}
    answer = client.post("/api/chat", json=body)
    ids = answer.json()["ids"]
    told = events_of(client, ids[0])
    assert [name for name, _ in told][-2:] == ["done", "kept"]
    scene = told[-2][1]["scene"]
    assert isinstance(scene, dict)
    assert (scene["verdict"], scene["answer"], len(scene["pictures"])) == ("unknown", "rows", 2)
    attempts = list(read_records(out / "trajectories" / "chat" / "step-000001.jsonl"))
    assert [one.trajectory.sample for one in attempts] == [0, 1]
    assert attempts[0].task.question == "Which? < |im_end|>"
    assert attempts[0].trajectory.score is None
    assert (out / "media" / f"{image['hash']}.png").exists()
    assert client.get("/api/chat").json()["last"]["ids"] == ids


def test_a_question_is_kept_in_a_run_that_is_named_from_here(tmp_path: Path) -> None:
    with chdir(tmp_path), playground(Path("runs")) as (client, out):
        told = events_of(client, client.post("/api/chat", json={"question": "Which?"}).json()["ids"][0])
        assert (out / "trajectories" / "chat" / "step-000001.jsonl").exists()
    assert told[-1][0] == "kept"
    assert "file" in told[-1][1]


def test_a_run_that_is_there_goes_on(tmp_path: Path) -> None:
    for _ in range(2):
        with playground(tmp_path) as (client, out):
            events_of(client, client.post("/api/chat", json={"question": "Which?"}).json()["ids"][0])
    assert [file.stem for file in sorted((out / "trajectories" / "chat").glob("*"))] == ["step-000001", "step-000002"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"question": " "}, "empty"),
        ({"question": "x" * (MAX_QUESTION + 1)}, "'question' must be text of at most 20000 characters, not 'xxx"),
        ({"question": "x", "samples": MAX_SAMPLES + 1}, "from 1 to 8"),
        ({"question": "x", "samples": True}, "from 1 to 8"),
        ({"question": "x", "temperature": 9}, "from 0 to 2"),
        ({"question": "x", "protocol": "none"}, "is none of tagged, direct"),
        ({"question": "x", "image": "../../etc/passwd"}, "was not uploaded here"),
        ({"question": "x", "image": 3}, "'image' must be text, not 3"),
        ({"question": "x", "tools": "crop"}, "'tools' must be a list, not 'crop'"),
        (
            {"question": "x", "path": "/etc/passwd"},
            "'path' is an unknown key in the question; known are image, question, ",
        ),
        ({"question": "x", "seed": -1}, "'seed' must be a whole number from 0 to "),
        ({"question": "x", "from": {"id": "gone", "turn": 0}}, "'from.turn' must be a whole number from 1 to 1000"),
        ({"question": "x", "from": {"id": "gone", "turn": 1, "text": ""}}, "no sample 'gone'"),
        ([], "JSON object"),
    ],
)
def test_a_wrong_question_is_refused_in_words(asked: tuple[TestClient, Path], body: object, words: str) -> None:
    client, out = asked
    answer = client.post("/api/chat", json=body)
    assert answer.status_code in (404, 422)
    assert words in answer.json()["error"]["message"]
    assert not list((out / "trajectories").rglob("*.jsonl"))


@pytest.mark.parametrize(
    ("content", "kind", "words"),
    [
        (b"<svg onload=alert(1)/>", "image/svg+xml", "is of type 'image/svg+xml'"),
        (b"<svg onload=alert(1)/>", "image/png", "the picture"),
        (png()[:40], "image/png", "the picture"),
    ],
)
def test_what_is_no_picture_is_not_taken(asked: tuple[TestClient, Path], content: bytes, kind: str, words: str) -> None:
    client, out = asked
    answer = client.post("/api/chat/pictures", content=content, headers={"content-type": kind})
    assert answer.status_code == 422
    assert words in answer.json()["error"]["message"]
    assert not list((out / "media").iterdir())


def test_another_page_can_ask_nothing(asked: tuple[TestClient, Path]) -> None:
    client, _ = asked
    body = {"question": "Which?"}
    assert client.post("/api/chat", json=body, headers={CSRF_HEADER.decode(): "x" * 32}).status_code == 403
    assert client.post("/api/chat", json=body, headers={"origin": "http://evil.example"}).status_code == 403
    assert client.get("/api/chat", headers={"host": "evil.example"}).status_code in (400, 403, 421)
    assert client.get("/api/chat/nothing/events").status_code == 404


def test_tools_that_are_not_chosen_are_not_offered(asked: tuple[TestClient, Path]) -> None:
    client, out = asked
    ids = client.post("/api/chat", json={"question": "Which?", "tools": []}).json()["ids"]
    events_of(client, ids[0])
    [attempt] = read_records(out / "trajectories" / "chat" / "step-000001.jsonl")
    assert attempt.trajectory.turns[0].result is None


def live_sample() -> LiveSample:
    spec = EpisodeSpec(protocol=direct_protocol(style="brief"), rollout=RolloutSettings(), max_turns=1)
    task = Task(id="1", family="mine", question="Which?", answer="", answer_kind="text", images=())
    return LiveSample(id="1", request=RolloutRequest(task=task, stream="policy", sample=0, seed=0), spec=spec)


def test_a_turn_that_is_drawn_while_a_page_takes_the_text_before_it_does_not_follow_the_end() -> None:
    async def told() -> list[str]:
        sample = live_sample()
        sample.say("Thin")
        events = sample.events()
        names = [(await anext(events)).split(b"\n")[0].decode()]
        sample.show({"status": "under way"})
        sample.finish(SampleEnd(event="done", told={}))
        sample.keep({})
        return names + [event.split(b"\n")[0].decode() async for event in events]

    assert asyncio.run(told()) == ["event: token", "event: done", "event: kept"]


def test_a_turn_that_is_drawn_after_the_end_is_not_told() -> None:
    async def told() -> list[str]:
        sample = live_sample()
        sample.finish(SampleEnd(event="done", told={}))
        sample.show({"status": "under way"})
        sample.keep({})
        return [event.split(b"\n")[0].decode() async for event in sample.events()]

    assert asyncio.run(told()) == ["event: done", "event: kept"]
