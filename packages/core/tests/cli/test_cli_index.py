"""``saccade index``, ``saccade search`` and ``saccade retrieve`` on pictures, a PDF and a tiny checkpoint."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from saccade.cli import run_command
from saccade.media.store import MediaStore
from saccade.tasks.files import read_tasks
from saccade.testing.tiny_specialists import save_tiny


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny("colqwen2", tmp_path_factory.mktemp("encoder")))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "folder"
    (root / "deck").mkdir(parents=True)
    for number, color in ((1, "red"), (2, "blue")):
        Image.new("RGB", (90, 60), color).save(root / "deck" / f"{number}.png")
    Image.new("RGB", (60, 90), "green").save(root / "report.pdf")
    (root / "empty.pdf").write_bytes(b"")
    return root


def test_a_folder_is_indexed_searched_and_added_to(
    folder: Path, encoder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, shown = tmp_path / "index", tmp_path / "shown"
    assert run_command(["index", str(folder), "--encoder", encoder, "--out", str(out), "--first-stage", "8-int8"]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        "1 pages or files cannot be read:",
        "  empty.pdf: it is empty (0 bytes)",
        f"{out}: 3 pages of 2 documents, 3 of them new",
    ]
    assert said.err.splitlines()[-3:][0].startswith("deck/1.png, page 1: ")
    assert (
        run_command(["search", str(out), "Is it blue?", "--json", "--out", str(shown), "--first-stage", "8-int8"]) == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert sorted((hit["document"], hit["page"]) for hit in found) == [("deck", 1), ("deck", 2), ("report.pdf", 1)]
    assert found == sorted(found, key=lambda hit: -hit["score"])
    assert [Path(hit["picture"]).is_file() for hit in found] == [True] * 3
    assert run_command(["search", str(out), "Is it blue?", "-k", "1", "--document", "report.pdf"]) == 0
    assert capsys.readouterr().out.split()[1:] == ["report.pdf#1"]
    why = tmp_path / "why" / "page.html"
    assert run_command(["search", str(out), "Is it <b>blue</b>?", "-k", "2", "--why", str(why)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"Why: {why}"
    page = why.read_text(encoding="utf-8")
    assert "Is it &lt;b&gt;blue&lt;/b&gt;?" in page
    assert "<b>blue" not in page
    assert page.count('<use href="#image-') == page.count(": score ") == 2
    (folder / "empty.pdf").unlink()
    Image.new("RGB", (60, 90), "white").save(folder / "more.pdf")
    assert run_command(["index", str(folder), "--encoder", encoder, "--out", str(out), "--quiet"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"{out}: 4 pages of 3 documents, 1 of them new"
    assert run_command(["search", str(out), "Is it blue?", "--first-stage", "8-int8"]) == 2
    assert "out of date; make it with: saccade index" in capsys.readouterr().err


def test_mistakes_say_what_to_do(
    folder: Path, encoder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "index")
    for arguments, said in (
        (["index", str(folder / "no"), "--encoder", encoder, "--out", out], "is no directory; give the folder"),
        (["index", str(folder), "--encoder", str(folder), "--out", out], "holds no config.json"),
        (
            ["index", str(folder), "--encoder", encoder, "--out", out, "--first-stage", "8"],
            "'8' is no first stage; write",
        ),
        (["search", out, "What?"], "is no index of pages; make one with: saccade index"),
    ):
        assert run_command(arguments) == 2
        assert said in capsys.readouterr().err


def test_questions_get_their_pages_in_a_file_that_is_read_like_any_other(
    folder: Path, encoder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    index, out = str(tmp_path / "index"), tmp_path / "out"
    assert run_command(["index", str(folder), "--encoder", encoder, "--out", index, "--quiet"]) == 0
    questions = tmp_path / "slidevqa.jsonl"
    rows: list[dict[str, object]] = [
        {"question": "Is it blue?", "answer": "twelve", "document": "deck", "gold_pages": [2], "buckets": ["colour"]},
        {"question": "What is it?", "answer": ["a report", "a page"], "gold_pages": ["report.pdf#1"]},
        {"question": "Which?", "answer": "none", "document": "deck"},
    ]
    questions.write_text("".join(json.dumps(row) + "\n" for row in rows))
    capsys.readouterr()
    assert run_command(["retrieve", str(questions), index, "--out", str(out)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"{out / 'slidevqa.jsonl'}: 3 questions"
    assert said[1].endswith(" of 2 with known pages")
    assert "R@3 100.0%" in said[1]
    media = MediaStore()
    asked, found = (read_tasks(path, media=media).tasks for path in (questions, out / "slidevqa.jsonl"))
    assert [replace(task, images=(), shown_pages=()) for task in found] == list(asked)
    assert [len(task.images) for task in found] == [2, 3, 2]
    assert {task.source for task in found} == {"slidevqa"}
    assert not any(task.missing_pages for task in found)
    gold = ["retrieve", str(questions), index, "--out", str(out), "--gold", "--distractors", "1"]
    assert run_command(gold) == 2
    assert "gold pages of 1 tasks are not in the index" in capsys.readouterr().err
    lost = {"question": "What?", "answer": "x", "document": "lost.pdf"}
    bare = {"question": "Which colour?", "answer": "red"}
    questions.write_text(json.dumps(bare) + "\n")
    assert run_command(["retrieve", str(questions), index, "--out", str(out)]) == 0
    assert "text alone" not in caplog.text, "its images are those that are found"
    questions.write_text(json.dumps(rows[0]) + "\n" + json.dumps(lost) + "\n")
    assert run_command(gold) == 2
    assert "the index has no document 'lost.pdf'" in capsys.readouterr().err
    assert run_command(["retrieve", str(questions), index, "--out", str(out), "--skip-bad-rows"]) == 0
    assert capsys.readouterr().err.startswith("1 questions are left out")
    questions.write_text(json.dumps(rows[0]) + "\n")
    assert run_command(gold) == 0
    (task,) = read_tasks(out / "slidevqa.jsonl", media=media).tasks
    assert sorted(str(page) for page in task.shown_pages) == ["deck#1", "deck#2"]


def test_a_release_of_a_data_set_gets_its_pages(
    folder: Path, encoder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index, release = str(tmp_path / "index"), tmp_path / "vidoseek.json"
    assert run_command(["index", str(folder), "--encoder", encoder, "--out", index, "--quiet"]) == 0
    about = {"file_name": "report.pdf", "reference_page": [1], "source_type": "Text", "query_type": "Single-Hop"}
    row = {"uid": "1", "query": "Which colour?", "reference_answer": "Green", "meta_info": about}
    release.write_text(json.dumps({"examples": [row]}))
    command = ["retrieve", str(release), index, "--data-set", "vidoseek", "--out", str(tmp_path / "out"), "-k", "1"]
    assert run_command(command) == 0
    (task,) = read_tasks(tmp_path / "out/vidoseek.jsonl", media=MediaStore()).tasks
    assert (task.source, task.buckets, len(task.images)) == ("vidoseek", ("single page", "Single-Hop", "Text"), 1)
