"""``saccade curate argos`` against real servers: killed, down for half of its calls, with its mistakes."""

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from PIL import Image

from saccade.cli import run_command
from saccade.curation.argos import read_pointed_examples, read_traces
from saccade.media.store import MediaStore
from saccade.protocols.points import find_points
from saccade.testing.chat_server import ChatServer, Received, Serve, Served, chat_reply
from saccade.testing.tiny_specialists import save_tiny
from warm import WarmProcess

COLOURS = ("red", "green", "blue", "white")
NUMBERED = {"green": 30, "red": 10, "blue": 50, "white": 70}


def questions(folder: Path, count: int = len(COLOURS), *, boxes: bool = True) -> Path:
    folder.mkdir()
    rows = []
    for number, colour in enumerate(COLOURS[:count]):
        picture = Image.new("RGB", (160, 120), "black")
        box = [NUMBERED[colour], 20, NUMBERED[colour] + 20, 60]
        picture.paste(colour, (box[0], box[1], box[2], box[3]))
        picture.save(folder / f"{colour}.png")
        row = {"id": f"q{number}", "question": f"Which colour has cup {number}?", "answer": colour}
        boxed = {"boxes": [{"bbox": box, "label": "cup"}]} if boxes else {}
        rows.append({**row, **boxed, "images": [f"{colour}.png"]})
    path = folder / "questions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def colour_in(received: Received) -> str:
    text = json.dumps(received.body["messages"])
    return next(colour for number, colour in enumerate(COLOURS) if f"cup {number}?" in text)


def traces(received: Received) -> Served:
    """Eight traces: bare, wrong, pointing elsewhere, junk, and then right ones."""
    colour = colour_in(received)
    said = f"<answer>{colour}</answer>"
    good = f'<think>The <point x="{NUMBERED[colour] + 5}" y="40">cup</point> is {colour}.</think>{said}'
    replies = [
        f"<think>It is {colour}.</think>{said}",
        good.replace(said, "<answer>pink</answer>"),
        f'<think>The <point x="1" y="1">cup</point> is {colour}.</think>{said}',
        "junk",
        good.replace("The", "A"),
        good,
        good,
        good,
    ]
    assert received.body["n"] == len(replies)
    assert received.body["max_tokens"] == 6144
    return chat_reply(*replies, prompt_tokens=9)


def pictures_in(received: Received) -> int:
    return json.dumps(received.body["messages"]).count("image_url") // 2


def curating(server: ChatServer, data: Path, out: Path, *more: str) -> list[str]:
    return [
        *("curate", "argos", "--data", str(data), "--out", str(out), "--quiet"),
        *("--teacher", server.url, "--teacher-model", "glm", *more),
    ]


def test_own_questions_with_boxes_become_examples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, out = questions(tmp_path / "data"), tmp_path / "out"
    with ChatServer(traces) as server:
        assert run_command(curating(server, data, out, "--sets")) == 0
        assert [pictures_in(one) for one in server.received] == [2] * 4
        assert run_command(curating(server, data, out, "--sets", "--resume")) == 0
        assert len(server.received) == 4
    printed = capsys.readouterr().out
    assert "4 of 4 questions have an example (100.0%)\n16 of 32 traces may be kept (50.0%), 24 are right\n" in printed
    assert "traces refused: below_threshold 8, unreadable 4, wrong_answer 4\n" in printed
    assert "usage of the teacher: requests 4, prompt_tokens 36\n" in printed
    examples = read_pointed_examples(out, MediaStore())
    assert [one.turns[0].thought for one in examples] == [
        f'A <points x1="{NUMBERED[colour] + 5}" y1="40" alt="cup">cup</points> is {colour}.' for colour in COLOURS
    ]
    assert {by: len(read_traces(out / f"{by}.jsonl", MediaStore())) for by in ("all", "right", "grounded")} == {
        **{"all": 8, "right": 8, "grounded": 8}
    }
    report = json.loads((out / "report.json").read_text())
    assert (report["yield_of_questions"], report["yield_of_traces"]) == (1.0, 0.5)
    # Copies with coordinates were for the teacher alone.
    assert len(list((out / "images").iterdir())) == 4
    assert not (out / ".pictures").exists()


def failing(serve: Serve, *, which: set[int]) -> Serve:
    """Some of the requests find the server broken."""
    numbers = itertools.count()

    def served(received: Received) -> Served:
        return Served(body="oops", status=500) if next(numbers) in which else serve(received)

    return served


def test_a_server_down_for_half_of_its_calls_is_asked_again_when_resumed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = questions(tmp_path / "data"), tmp_path / "out"
    once = ("--set", "server.retries=0", "--set", "questions_at_once=1")
    with ChatServer(failing(traces, which={1, 3})) as server:
        assert run_command(curating(server, data, out, *once)) == 0
        printed = capsys.readouterr().out
        assert "2 of 2 questions have an example (100.0%)" in printed
        assert "2 questions failed at a server or machine; resume to try them again" in printed
        assert "given up" not in printed
        assert run_command(curating(server, data, out, *once, "--resume")) == 0
        assert len(server.received) == 6
    assert "4 of 4 questions have an example (100.0%)" in capsys.readouterr().out


def test_a_curation_that_was_killed_ends_with_the_same_bytes(tmp_path: Path) -> None:
    data, out = questions(tmp_path / "data"), tmp_path / "out"
    speaks_again = threading.Event()
    numbers = itertools.count(1)

    def silent(received: Received) -> Served:
        if next(numbers) >= 3:
            speaks_again.wait(300)
        return traces(received)

    with ChatServer(silent) as server:
        arguments = curating(server, data, out, "--sets", "--set", "questions_at_once=1")
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        full = [sys.executable, "-m", "saccade", *arguments]
        with WarmProcess(full, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment) as process:
            end = time.monotonic() + 180
            while len(server.received) < 3 and time.monotonic() < end and process.poll() is None:
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
        speaks_again.set()
        assert len((out / "outcomes.jsonl").read_text().splitlines()) == 2
        assert not (out / "examples.jsonl").exists()
        # A line that was being written is cut off.
        with (out / "outcomes.jsonl").open("ab") as journal:
            journal.write(b'{"id": "q2", "tri')
        assert run_command(arguments) == 2
        assert run_command([*arguments, "--resume"]) == 0
        assert len(server.received) == 5
    with ChatServer(traces) as server:
        assert run_command(curating(server, data, tmp_path / "whole", "--sets")) == 0
    for name in ("examples.jsonl", "traces.jsonl", "all.jsonl", "right.jsonl", "grounded.jsonl"):
        assert (tmp_path / "whole" / name).read_bytes() == (out / name).read_bytes()


def test_an_extractor_and_a_pointing_model_mark_the_pictures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Points of the pointing model are percent, as Molmo writes them; the boxes verify what the teacher says."""
    data, out = questions(tmp_path / "data"), tmp_path / "out"
    pointings = itertools.count()

    def serve(received: Received) -> Served:
        text = json.dumps(received.body["messages"])
        match received.body["model"]:
            case "gpt":
                junk = "no" if "cup 1?" in text else 'Sure: {"things": ["cup", "cup", 3, "\\ud800", ""], "events": 4}'
                return chat_reply(junk)
            case "molmo":
                assert "Point to every cup." in text
                pointed = '<points x1="10" y1="30" x2="200" y2="30" alt="cup">cup</points>'
                return chat_reply(pointed if next(pointings) < 2 else "What a lovely picture!")
            case _:
                return traces(received)

    with ChatServer(serve) as server:
        more = ["--extractor", server.url, "--extractor-model", "gpt", "--pointer", server.url]
        more += ["--set", "questions_at_once=1"]
        assert run_command(curating(server, data, out, *more, "--pointer-model", "molmo")) == 0
        asked = [str(one.body["model"]) for one in server.received]
    assert {name: asked.count(name) for name in ("gpt", "molmo", "glm")} == {"gpt": 5, "molmo": 3, "glm": 2}
    printed = capsys.readouterr().out
    assert "questions given up: no_things 1, not_found 1\n" in printed
    assert "usage of the pointer: requests 3" in printed
    outcomes = [json.loads(line) for line in (out / "outcomes.jsonl").read_text().splitlines()]
    assert sorted((one["id"], one["marks"]) for one in outcomes) == [("q0", 1), ("q1", 0), ("q2", 1), ("q3", 0)]


def test_drawn_videos_are_told_by_frames(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prompts = []

    def serve(received: Received) -> Served:
        prompts.append(json.dumps(received.body["messages"]))
        return chat_reply(*["<think>In [F1 @ t=0.00s] the wall is there.</think><answer>no idea</answer>"] * 8)

    with ChatServer(serve) as server:
        out = tmp_path / "out"
        said = ["curate", "argos", "--family", "video_event", "-n", "1", "--out", str(out), "--quiet"]
        assert run_command([*said, "--teacher", server.url, "--teacher-model", "glm"]) == 0
    assert "traces refused: wrong_answer 8" in capsys.readouterr().out
    assert "Frame 1 at 0.00 seconds:" in prompts[0]
    [trace, *_] = read_traces(out / "traces.jsonl", MediaStore())
    assert trace.example.turns[0].thought == "In frame 1 at 0.00 seconds the wall is there."
    assert trace.example.task.frame_times_s
    assert find_points(trace.example.turns[0].thought) == ()


def test_hostile_pictures_are_named_or_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = questions(tmp_path / "data")
    (tmp_path / "data" / "red.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 64)
    (tmp_path / "data" / "blue.png").write_bytes(b"")
    with ChatServer(traces) as server:
        assert run_command(curating(server, data, tmp_path / "out")) == 2
        assert f"{data}, row 1: images" in capsys.readouterr().err
        assert run_command(curating(server, data, tmp_path / "out", "--skip-bad-rows")) == 0
    assert "2 of 2 questions have an example" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ((), "so that there are questions"),
        (("--data", "DATA"), "question q0 has no boxes that points could be compared with"),
        (
            ("--data", "DATA", "--service", "http://x"),
            "have no boxes whose labels name what to look at; choose a model",
        ),
        (("--data", "DATA", "--detector", "DATA"), "name a --segmenter too"),
        (("--data", "DATA", "--segmenter", "DATA"), "name a --detector, a --pointer or both"),
        (("--data", "DATA", "--detector", "DATA", "--service", "http://x"), "leave out --detector"),
        (("--family", "plate_mark", "-n", "1", "--set", "threshold=2"), "must be a number from 0 to 1"),
        (("--family", "plate_mark", "-n", "1", "--set", "asks=loudly"), "asks"),
        (("--family", "plate_mark", "-n", "1", "--scorer", "nowhere"), "--scorer nowhere is neither"),
        (("--family", "plate_mark", "-n", "1", "--pointer", "http://x/v1"), "say with --pointer-model"),
        (("--family", "plate_mark", "-n", "1", "--set", "reward.tau=0"), "tau=0"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, said: tuple[str, ...], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    data = str(questions(tmp_path / "data", boxes=False))
    words = [data if word == "DATA" else word for word in said]
    teacher = ["--teacher", "http://127.0.0.1:9/v1", "--teacher-model", "glm"]
    assert run_command(["curate", "argos", *words, *teacher, "--out", str(tmp_path / "out")]) == 2
    assert why in capsys.readouterr().err


def test_a_model_that_cannot_be_loaded_names_its_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut = save_tiny("grounding_dino", tmp_path / "cut")
    (cut / "model.safetensors").write_bytes(b"cut")
    data, server = str(questions(tmp_path / "data", boxes=True)), "http://127.0.0.1:9/v1"
    models = ["--detector", str(cut), "--segmenter", str(save_tiny("sam", tmp_path / "sam"))]
    named = ["--data", data, "--teacher", server, "--teacher-model", "glm", *models, "--out", str(tmp_path / "out")]
    assert run_command(["curate", "argos", *named]) == 2
    told = capsys.readouterr().err
    assert f"--detector {cut}" in told
    assert "copy the checkpoint again" in told


def test_questions_that_nothing_names_the_things_of_are_told_of_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare, boxed = (questions(tmp_path / name, boxes=name == "boxed") for name in ("bare", "boxed"))
    rows = [json.loads(line) for folder in (bare, boxed) for line in folder.read_text().splitlines()]
    for number, row in enumerate(rows):
        row["id"] = f"m{number}"
        row["images"] = [str((bare.parent / name).resolve()) for name in row["images"]]
    mixed = tmp_path / "mixed.jsonl"
    mixed.write_text("\n".join(map(json.dumps, rows)))
    named = ["--data", str(mixed), "--teacher", "http://127.0.0.1:9/v1", "--teacher-model", "glm"]
    # An address that is refused without being asked.
    service = ["--service", "ftp://127.0.0.1", "--out", str(tmp_path / "out")]
    assert run_command(["curate", "argos", *named, *service]) != 0
    assert "4 of 8 questions, m0 first, have no boxes whose labels name what to look at" in capsys.readouterr().err
