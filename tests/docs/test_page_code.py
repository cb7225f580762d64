"""Code of pages without a test of their own runs as it stands there.

The pages: argos.md, audit.md, curation.md, environments.md, retrieval.md, sandbox.md, services.md.
"""

import contextlib
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from code_blocks import python_of
from PIL import Image, ImageDraw

from places import ROOT
from saccade.media.store import MediaStore
from saccade.rewards.hack_check import drawn_tasks
from saccade.tasks.claims import claims_of
from saccade.testing import TINY_VIEW
from saccade.testing.chat_server import ChatServer, chat_reply
from saccade.testing.tiny_specialists import save_tiny
from saccade.types import Page, Task


def printed(code: str, names: dict[str, object]) -> str:
    """What the code prints; it finds ``names``, and what it defines is in them."""
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        exec(compile(code, "docs", "exec"), names)
    return shown.getvalue()


def test_argos_rewards_for_other_trainers_score_a_pointed_answer() -> None:
    reward, trainers, remote = python_of("argos.md")
    names: dict[str, object] = {}
    assert printed(reward + trainers + remote, names) == ""
    media = MediaStore()
    [task] = drawn_tasks(1, seed=0, media=media)
    score = names["for_verl"](names["reward"], [task], TINY_VIEW)  # type: ignore[operator]
    said = f"<think>I look.</think><answer>{task.answer}</answer>"
    assert score("argos", said, task.answer, {"task": task.id})["acc"] == 1.0


def test_the_audits_page_declares_a_family() -> None:
    names: dict[str, object] = {"solve": lambda task, pictures: None, "hardness": lambda scene: 1.0}
    printed("".join(python_of("audit.md")), names)
    assert claims_of(names["draw_specks"]).needs_closer  # type: ignore[arg-type]


def test_a_teacher_is_asked_and_its_requests_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filtering, asking = python_of("curation.md")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "curated").mkdir()
    media = MediaStore()
    picture = media.export(media.add(Image.new("RGB", (64, 64))), tmp_path / "curated" / "images")
    turns = [{"thought": "It is red.", "answer": "red"}]
    row = {"question": "Which?", "answer": "red", "image": f"images/{picture.name}", "turns": turns}
    (tmp_path / "curated" / "examples.jsonl").write_text(json.dumps(row))
    with ChatServer(lambda _: chat_reply("Hi", "Hello", prompt_tokens=3, completion_tokens=2)) as server:
        shown = printed(filtering + asking.replace("http://localhost:8000/v1", server.url), {})
    assert shown.startswith("['Hi', 'Hello']")
    assert "requests=1" in shown


def test_the_environment_is_played_as_the_page_prints_it() -> None:
    [code] = python_of("environments.md")
    page = (ROOT / "docs" / "environments.md").read_text(encoding="utf-8")
    assert printed(code, {}).strip() in page


def test_pages_are_found_and_brought_to_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    search, questions, _client = python_of("retrieval.md")
    monkeypatch.chdir(tmp_path)
    save_tiny("colqwen2", tmp_path / "colqwen2")
    (tmp_path / "folder" / "report").mkdir(parents=True)
    for name, words in (("a", "revenue 2021"), ("b", "staff"), ("c", "offices")):
        page = Image.new("RGB", (120, 80), "white")
        ImageDraw.Draw(page).text((8, 30), words, fill="black")
        page.save(tmp_path / "folder" / "report" / f"{name}.png")
    document = "report"
    names: dict[str, object] = {"media": MediaStore()}
    shown = printed(search.replace("report.pdf", document), names)
    assert len(shown.splitlines()) == 3
    task = Task(id="q", family="f", question="Which year?", answer="2021", answer_kind="exact", images=())
    names["tasks"] = [_about(task, document)]
    printed(questions, names)
    assert [len(names[one][0].images) for one in ("found", "wide", "gold")] == [3, 3, 3]  # type: ignore[index]


def test_the_sandbox_runs_the_crop() -> None:
    [code] = python_of("sandbox.md")
    names: dict[str, object] = {"image": Image.new("RGB", (128, 128), "red")}
    printed(code, names)
    result = names["result"]
    assert (result.ok, [one.size for one in result.images]) == (True, [(64, 64)])  # type: ignore[attr-defined]


def test_a_tool_that_batches_is_declared() -> None:
    names: dict[str, object] = {"Image": Image}
    printed("from __future__ import annotations\n" + python_of("services.md")[1], names)
    assert names["embed"].batch is names["embed_all"]  # type: ignore[attr-defined]


def _about(task: Task, document: str) -> Task:
    """The question about the first page of a document."""
    return replace(task, document=document, gold_pages=(Page(document=document, number=1),))
