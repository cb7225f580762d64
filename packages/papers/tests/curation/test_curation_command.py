"""``saccade curate codedance`` against a real server, killed in the middle, and with its mistakes."""

import base64
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from curation_teachers import Knowing

from saccade.cli import run_command
from saccade.curation.examples import read_examples
from saccade.media.store import MediaStore
from saccade.tasks.procedural import generate
from saccade.testing.chat_server import ChatServer, Received, Serve, Served, chat_reply
from saccade.types import Example, ImageRef, Message
from warm import WarmProcess

QUESTIONS = 5


@pytest.fixture(scope="module")
def asked() -> list[Example]:
    """The questions that ``--family colour_dots -n 5`` asks."""
    media = MediaStore()
    return [generate("colour_dots", split="train", index=index, seed=0, media=media) for index in range(QUESTIONS)]


def messages_of(received: Received) -> Sequence[Message]:
    """What was sent, as messages again."""
    media = MediaStore()

    def part(sent: dict) -> str | ImageRef:
        if sent["type"] == "text":
            return sent["text"]
        return media.add_encoded(base64.b64decode(sent["image_url"]["url"].partition(",")[2]), "an image")

    messages = []
    for message in received.body["messages"]:
        content = message["content"]
        parts = (content,) if isinstance(content, str) else tuple(map(part, content))
        messages.append(Message(role=message["role"], parts=parts))
    return messages


def serving(asked: list[Example], *, after_s: float = 0.0) -> Serve:
    knowing = Knowing(asked)

    def serve(received: Received) -> Served:
        reply = chat_reply(knowing(messages_of(received)), prompt_tokens=10, completion_tokens=5)
        return Served(body=reply.body, after_s=after_s)

    return serve


def command(server: ChatServer, out: Path, *more: str) -> list[str]:
    return [
        *("curate", "codedance", "--family", "colour_dots", "-n", str(QUESTIONS), "--out", str(out)),
        *("--teacher", server.url, "--teacher-model", "big", "--checker", server.url, "--checker-model", "second"),
        *more,
    ]


def test_a_curation_that_was_killed_goes_on_and_asks_nothing_twice(tmp_path: Path, asked: list[Example]) -> None:
    out = tmp_path / "curated"
    with ChatServer(serving(asked, after_s=0.1)) as server:
        arguments = command(server, out, "--set", "server.requests_at_once=1", "--set", "questions_at_once=2")
        full = [sys.executable, "-m", "saccade", *arguments]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        with WarmProcess(full, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment) as process:
            end = time.monotonic() + 180
            while len(server.received) < 9 and time.monotonic() < end and process.poll() is None:
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
        before = len(server.received)
        assert before >= 9
        assert not (out / "examples.jsonl").exists()
        assert run_command([*arguments, "--resume"]) == 0
        bodies = Counter(json.dumps(received.body, sort_keys=True) for received in server.received)
    counted = json.loads((out / "report.json").read_text())["asked"]
    # All of both processes are counted, perhaps one more that was killed before it was sent.
    assert sum(of["requests"] for of in counted.values()) in (len(server.received), len(server.received) + 1)
    # Those that were out when the process died, one for each question at hand, had no answer yet.
    assert sum(count - 1 for count in bodies.values()) <= 2
    examples = read_examples(out, MediaStore())
    assert [example.task.id for example in examples] == [example.task.id for example in asked]
    assert [example.turns for example in examples] == [example.turns for example in asked]
    assert sorted(path.name for path in out.iterdir() if not path.name.startswith(".")) == [
        "curation.json",
        "examples.jsonl",
        "images",
        "outcomes.jsonl",
        "replies",
        "report.json",
        "report.txt",
    ]
    assert not (out / ".pictures").exists()


def test_the_report_counts_what_was_asked(
    tmp_path: Path, asked: list[Example], capsys: pytest.CaptureFixture[str]
) -> None:
    rates = tmp_path / "rates.jsonl"
    rates.write_text("".join(json.dumps({"id": one.task.id, "pass_rate": 1}) + "\n" for one in asked[:4]))
    with ChatServer(serving(asked)) as server:
        extra = 'server.extra_body={"max_tokens": null, "max_completion_tokens": 99}'
        arguments = command(server, tmp_path / "out", "--weak", str(rates), "--quiet", "--set", extra)
        assert run_command(arguments) == 2
        assert f"has no pass rate for 1 of the questions ({asked[4].task.id})" in capsys.readouterr().err
        with rates.open("a") as file:
            file.write(json.dumps({"id": asked[4].task.id, "pass_rate": 0}) + "\n")
        assert run_command(arguments) == 0
    printed = capsys.readouterr().out
    assert "5 examples of 5 questions" in printed
    assert "examples by way: direct 4, play 1" in printed
    assert f"Examples: {tmp_path / 'out' / 'examples.jsonl'}" in printed
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["asked"] == {
        "teacher": {"requests": 2, "cache_hits": 0, "retries": 0, "prompt_tokens": 20, "completion_tokens": 10},
        "checker": {"requests": 6, "cache_hits": 0, "retries": 0, "prompt_tokens": 60, "completion_tokens": 30},
    }
    assert {received.body["model"] for received in server.received} == {"big", "second"}
    limits = {(received.body.get("max_tokens"), received.body["max_completion_tokens"]) for received in server.received}
    assert limits == {(None, 99)}


def test_own_questions_are_read_as_everywhere(
    tmp_path: Path, asked: list[Example], capsys: pytest.CaptureFixture[str]
) -> None:
    media = MediaStore()
    example = generate("colour_dots", split="train", index=0, seed=0, media=media)
    media.export(example.task.images[0], tmp_path / "images")
    good = {
        "id": "mine",
        "question": example.task.question,
        "answer": example.task.answer,
        "image": f"images/{example.task.images[0].hash}.png",
    }
    data = tmp_path / "questions.jsonl"
    data.write_text(json.dumps(good) + '\n{"question": "Which?"}\n')
    with ChatServer(serving(asked)) as server:
        arguments = ["curate", "codedance", "--data", str(data), "--teacher", server.url, "--teacher-model", "big"]
        arguments += ["--out", str(tmp_path / "out")]
        assert run_command(arguments) == 2
        assert f"{data}, row 2" in capsys.readouterr().err
        assert run_command([*arguments, "--skip-bad-rows"]) == 0
    assert [one.task.id for one in read_examples(tmp_path / "out", MediaStore())] == ["mine"]


def test_given_chains_are_rewritten(tmp_path: Path, asked: list[Example]) -> None:
    chains = tmp_path / "chains.jsonl"
    chains.write_text(json.dumps({"id": asked[0].task.id, "chain": "One, two, three."}) + "\n")
    with ChatServer(serving(asked)) as server:
        more = ("--chains", str(chains), "--set", "hard_ways=rewrite", "--set", "checks_solutions=false")
        assert run_command(command(server, tmp_path / "out", *more)) == 0
    texts = [json.dumps(received.body) for received in server.received]
    assert sum("One, two, three." in text for text in texts) == 1
    assert sum("Think it through in small steps" in text for text in texts) == QUESTIONS - 1
    assert len(read_examples(tmp_path / "out", MediaStore())) == QUESTIONS


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--family", "dots"], "no task family 'dots'"),
        (["--data", "absent.jsonl"], "give either --data PATH or --family NAME"),
        (["--teacher", "absent"], "--teacher absent is neither the address of a server"),
        (["--chains", "absent"], "--chains absent: there is no such file"),
        (["--weak", "absent"], "absent: there is no such file, run or checkpoint"),
        (["--weak", "http://localhost:1/v1"], "say with --weak-model which of its models is meant"),
        (["--set", "samples=0"], "samples=0 must be a whole number of 1 or more"),
        (["--set", "kinds=paint"], "kinds must be a comma-separated list"),
        (["--set", "thresholds.easy_from=7"], "thresholds.easy_from=7.0 is no pass rate"),
        (["--set", "server.timeout_s=0"], "must be positive"),
        (["--set", "server.extra_body=[1]"], "server.extra_body='[1]' is no JSON object"),
    ],
)
def test_mistakes_are_found_before_work_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: list[str], message: str
) -> None:
    usual = ["curate", "codedance", "--family", "colour_dots", "-n", "1", "--out", str(tmp_path / "out")]
    usual += ["--teacher", "http://localhost:1/v1", "--teacher-model", "m"]
    assert run_command([*usual, *change]) == 2
    assert message in capsys.readouterr().err


def test_pass_rates_are_read_from_a_run(tmp_path: Path) -> None:
    from saccade.curation.rows import recorded_pass_rates
    from saccade.runs.position import Position
    from saccade.runs.records import write_records
    from saccade.types import Answer, Attempt, Trajectory, Turn

    media = MediaStore()
    task = generate("colour_dots", split="train", index=0, seed=0, media=media).task

    def attempt(said: str) -> Attempt:
        turn = Turn(index=0, text=said, thought="", action=Answer(text=said), is_well_formed=True)
        return Attempt(
            task=task,
            trajectory=Trajectory(
                task_id=task.id,
                family=task.family,
                stream="main",
                sample=0,
                seed=0,
                policy_version=0,
                segments=(),
                turns=(turn,),
                status="answered",
            ),
        )

    run = tmp_path / "run"
    for step, said in enumerate((task.answer, "1000", "1000"), start=1):
        write_records(
            run / "trajectories" / "rl" / f"step_{step}.jsonl",
            Position(stage="rl", step=step),
            [attempt(said), attempt(task.answer)],
            media=media,
            media_directory=run / "media",
        )
    assert recorded_pass_rates(run) == {task.id: 4 / 6}
    assert recorded_pass_rates(run / "trajectories" / "rl" / "step_2.jsonl") == {task.id: 0.5}


def test_a_family_of_ones_own_is_curated_and_known_by_its_source(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    family = f"{file}:draw_dots"
    file.write_text(
        "from saccade.gym.drawn.counting import draw_colour_dots\n\n\n"
        "def draw_dots(rng, difficulty):\n    return draw_colour_dots(rng, difficulty)\n"
    )
    media = MediaStore()
    asked = [generate(family, split="train", index=index, seed=0, media=media) for index in range(QUESTIONS)]
    with ChatServer(serving(asked)) as server:
        assert run_command([*command(server, tmp_path / "curated"), "--family", family]) == 0
    assert [one.task.id for one in read_examples(tmp_path / "curated", MediaStore())] == [
        f"dots/train/{index:06d}" for index in range(QUESTIONS)
    ]
    started_with = json.loads((tmp_path / "curated" / "curation.json").read_text())
    assert "family_dots_sha256" in json.dumps(started_with)
