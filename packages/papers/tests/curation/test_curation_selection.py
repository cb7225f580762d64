"""The general subset by pass rate, offline: a scripted solver, real files."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image
from stream_samples import COLOURS

from saccade.chat.chat_model import ChatModel
from saccade.codec.codecs import plain_json
from saccade.curation.ivgr.selection import Measured, QuestionSelection, SelectionSettings
from saccade.curation.journal import Journal, kept_as
from saccade.curation.reports import SelectionReport
from saccade.curation.rows import read_pass_rates
from saccade.errors import MachineError, UserError
from saccade.media.store import MediaStore
from saccade.tasks.curriculum import HARD_OF_FIVE
from saccade.tasks.files import read_tasks
from saccade.testing.scripted import ScriptedTeacher, text_of
from saccade.types import Message, Task

RIGHT = "<think>I look.</think><answer>{}</answer>"
WRONG = "<think>I look.</think><answer>pink</answer>"


def questions(tmp_path: Path, media: MediaStore, count: int = 6) -> Sequence[Task]:
    """Question k is about the k-th colour; the textual stream has words of its own."""
    rows = []
    for colour in COLOURS[:count]:
        Image.new("RGB", (40, 30), colour).save(tmp_path / f"{colour}.jpg")
        rows.append(
            {
                "id": colour,
                "problem": f"<image>Which colour is the {colour} box?",
                "query": f"<image>Say the colour of the {colour} box.",
                "answer": colour,
                "images": [f"{colour}.jpg"],
                "datasource": "ours_tqa",
                "target_instances": [{"bbox": [1, 2, 30, 20], "label": "box"}] if colour == "green" else [],
            }
        )
    (tmp_path / "general.json").write_text(json.dumps(rows))
    return read_tasks(tmp_path / "general.json", media=media).tasks


def colour_of(messages: Sequence[Message]) -> str:
    return next(colour for colour in COLOURS if f"the {colour} box" in text_of(messages))


def right_times(times: Mapping[str, int]) -> ScriptedTeacher:
    """Answers a colour's question right so often, then wrong."""
    given: dict[str, int] = {}

    def reply(messages: Sequence[Message]) -> str:
        colour = colour_of(messages)
        given[colour] = given.get(colour, 0) + 1
        return RIGHT.replace("{}", colour) if given[colour] <= times.get(colour, 0) else WRONG

    return ScriptedTeacher(reply=reply)


def select(
    tmp_path: Path, solver: ChatModel | Mapping[str, float], *, resume: bool = False, **settings
) -> tuple[SelectionReport, Sequence[str]]:
    """The report, and the ids of the questions in the file."""
    media = MediaStore()
    tasks = questions(tmp_path, media)
    selection = QuestionSelection(solver=solver, media=media, settings=SelectionSettings(**settings))
    with Journal(tmp_path / "out", {"seed": 0}, kept_as(Measured), resume=resume) as journal:
        report = asyncio.run(selection.run(tasks, journal))
    lines = (tmp_path / "out" / "questions.jsonl").read_text().splitlines()
    return report, [json.loads(line)["id"] for line in lines]


def test_one_or_two_right_of_five_are_kept(tmp_path: Path) -> None:
    solver = right_times({colour: index for index, colour in enumerate(COLOURS[:6])})
    report, kept = select(tmp_path, solver)
    assert kept == ["green", "blue"]
    assert (report.questions, report.kept, report.failed) == (6, 2, 0)
    assert report.dropped == {"above": 3, "below": 1}
    assert report.pass_rates == {"0": 1, "0.2": 1, "0.4": 1, "0.6": 1, "0.8": 1, "1": 1}
    assert json.loads((tmp_path / "out" / "report.json").read_text()) == plain_json(report)
    assert (
        (tmp_path / "out" / "report.txt")
        .read_text()
        .startswith("2 of 6 questions kept\nquestions left out: above 3, below 1\n")
    )
    rates = read_pass_rates(tmp_path / "out" / "pass_rates.jsonl")
    assert rates == dict(zip(COLOURS, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)))


def test_the_band_is_the_papers() -> None:
    settings = SelectionSettings()
    assert (settings.samples, settings.low, settings.high) == (5, HARD_OF_FIVE.low, HARD_OF_FIVE.high)
    assert [right for right in range(6) if HARD_OF_FIVE.holds(right / 5)] == [1, 2]


def test_questions_are_asked_as_the_textual_stream_does_and_come_back_whole(tmp_path: Path) -> None:
    solver = right_times({"green": 1})
    select(tmp_path, solver)
    assert "Say the colour of the green box." in solver.asked[1].text
    assert "Which colour is the green box?" not in solver.asked[1].text
    assert (solver.asked[1].temperature, len(solver.asked[1].texts)) == (1.0, 5)
    [task] = read_tasks(tmp_path / "out" / "questions.jsonl", media=MediaStore()).tasks
    [before] = [one for one in questions(tmp_path, MediaStore()) if one.id == "green"]
    assert task == replace(before, source="questions")
    assert task.wordings == {"textual": "Say the colour of the green box."}
    assert len(task.targets) == 1


@pytest.mark.parametrize(
    ("reply", "rate"),
    [
        (RIGHT, 1.0),
        ("{}</answer>", 0.0),
        ("<answer>{}</answer>", 1.0),
        ("I look.</think><answer>{}</answer> and on it goes <answer>pink</answer>", 1.0),
        ("{}", 0.0),
        ("", 0.0),
        ("<tool_call>{}</tool_call>", 0.0),
        ("\ud800<answer>{}</answer>", 0.0),
    ],
)
def test_a_reply_is_read_as_the_textual_stream_reads_it(tmp_path: Path, reply: str, rate: float) -> None:
    solver = ScriptedTeacher(reply=lambda messages: reply.replace("{}", colour_of(messages)))
    report, _ = select(tmp_path, solver)
    assert report.pass_rates == {f"{rate:g}": 6}


def test_pass_rates_that_are_known_ask_nobody(tmp_path: Path) -> None:
    rates = dict.fromkeys(COLOURS, 0.0) | {"red": 0.25, "white": 0.4}
    report, kept = select(tmp_path, rates)
    assert (kept, report.asked) == (["red", "white"], {})


def test_another_band_and_more_samples(tmp_path: Path) -> None:
    solver = right_times({"red": 3, "green": 10})
    report, kept = select(tmp_path, solver, samples=10, low=0.3, high=0.5)
    assert (kept, report.pass_rates) == (["red"], {"0": 4, "0.3": 1, "1": 1})


def test_what_the_machine_failed_is_asked_again_when_resumed(tmp_path: Path) -> None:
    def down(messages: Sequence[Message]) -> str:
        if colour_of(messages) == "blue":
            raise MachineError("the server is down")
        return WRONG

    report, _ = select(tmp_path, ScriptedTeacher(reply=down))
    assert (report.failed, report.dropped) == (1, {"above": 0, "below": 5})
    solver = right_times({"blue": 2})
    report, kept = select(tmp_path, solver, resume=True)
    assert (report.failed, kept, len(solver.asked)) == (0, ["blue"], 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"samples": 0}, "samples=0 must be a whole number of 1 or more"),
        ({"low": 0.5}, "a band of pass rates from 0.5 to 0.4"),
        ({"high": 1.5}, "a band of pass rates from 0.2 to 1.5"),
        ({"sampling_temperature": -1.0}, "sampling_temperature=-1.0 must be a finite number of 0 or more"),
    ],
)
def test_settings_that_make_no_sense(tmp_path: Path, settings: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        select(tmp_path, {}, **settings)


def test_a_measured_question_is_a_line_of_pass_rates() -> None:
    measured = Measured(task_id="a", pass_rate=0.2)
    assert kept_as(Measured)(json.loads(json.dumps(measured.as_json()))) == measured
