"""Grounded trajectories told anew in plain words, offline: a scripted teacher, real files."""

import asyncio
import json
from pathlib import Path

import pytest
from stream_samples import COLOURS, plain, telling, thought, trajectories

from saccade.codec.codecs import plain_json
from saccade.curation.ivgr.cold_start import read_cold_start
from saccade.curation.ivgr.rephrasing import PAPERS_SHARE, Rephrased, Rephrasing, RephrasingSettings
from saccade.curation.journal import FAILURES_IN_A_ROW, Journal, kept_as
from saccade.curation.reports import RephrasingReport
from saccade.errors import MachineError, UserError
from saccade.media.store import MediaStore
from saccade.tasks.files import read_tasks
from saccade.tasks.rows.fields import RowError
from saccade.testing.scripted import ScriptedTeacher


def rewrite(
    tmp_path: Path, teacher: ScriptedTeacher, *, count: int = 3, textual: int = 0, resume: bool = False, **settings
) -> tuple[RephrasingReport, list[tuple[str, str]]]:
    """The report, and (stream, thought) of each example in the file."""
    media = MediaStore()
    examples = read_cold_start(trajectories(tmp_path / "data", count, textual=textual), media).examples
    chosen = RephrasingSettings(**({"textual_share": 1.0} | settings))
    rephrasing = Rephrasing(teacher=teacher, media=media, settings=chosen)
    with Journal(tmp_path / "out", {"seed": 0}, kept_as(Rephrased), resume=resume) as journal:
        report = asyncio.run(rephrasing.run(examples, journal))
    return report, file_of(tmp_path)


def file_of(tmp_path: Path) -> list[tuple[str, str]]:
    # A fresh process would know nothing but the folder.
    text = (tmp_path / "out" / "examples.jsonl").read_text()
    read = read_cold_start(tmp_path / "out", MediaStore()).examples if text else ()
    return [(one.stream, one.thought) for one in read]


def test_all_trajectories_told_anew(tmp_path: Path) -> None:
    teacher = ScriptedTeacher(reply=telling())
    report, examples = rewrite(tmp_path, teacher, count=2, textual=1)
    assert examples == [("textual", plain(colour)) for colour in COLOURS[:3]]
    assert (report.trajectories, report.chosen, report.told, report.failed) == (3, 2, 2, 0)
    assert report.streams == {"textual": 3}
    assert json.loads((tmp_path / "out" / "report.json").read_text()) == plain_json(report)
    assert (tmp_path / "out" / "report.txt").read_text() == (
        "2 of 2 chosen trajectories are rewritten in plain words\nexamples by stream: textual 3\n"
    )
    # What is textual already is asked of nobody; the teacher sees the reasoning and the image's size, not the answer.
    assert len(teacher.asked) == 2
    assert f"<reasoning>\n{thought('red')}\n</reasoning>" in teacher.asked[0].text
    assert "<answer>red" not in teacher.asked[0].text
    assert "120 pixels wide and 80 pixels high" in teacher.asked[0].text


def test_ids_and_answers_stay_and_the_file_is_one_of_questions(tmp_path: Path) -> None:
    rewrite(tmp_path, ScriptedTeacher(reply=telling()), textual_share=0.5)
    before = read_cold_start(tmp_path / "data" / "sft.json", MediaStore()).examples
    after = read_cold_start(tmp_path / "out", MediaStore()).examples
    assert [one.example.task.id for one in after] == [one.example.task.id for one in before]
    assert [one.example.turns[0].action for one in after] == [one.example.turns[0].action for one in before]
    tasks = read_tasks(tmp_path / "out" / "examples.jsonl", media=MediaStore()).tasks
    assert [task.answer for task in tasks] == list(COLOURS[:3])


def test_images_are_the_files_that_they_were(tmp_path: Path) -> None:
    rewrite(tmp_path, ScriptedTeacher(reply=telling()))
    images = sorted((tmp_path / "out" / "images").iterdir())
    assert sorted(image.read_bytes() for image in images) == sorted(
        (tmp_path / "data" / f"{colour}.jpg").read_bytes() for colour in COLOURS[:3]
    )
    assert {image.suffix for image in images} == {".jpg"}


@pytest.mark.parametrize(("count", "share", "chosen"), [(8, 0.5, 4), (8, PAPERS_SHARE, 1), (3, 0.01, 1), (8, 1.0, 8)])
def test_a_share_is_told_anew_and_the_rest_stays(tmp_path: Path, count: int, share: float, chosen: int) -> None:
    report, examples = rewrite(tmp_path, ScriptedTeacher(reply=telling()), count=count, textual_share=share)
    assert (report.chosen, report.told) == (chosen, chosen)
    assert [stream for stream, _ in examples].count("textual") == chosen
    assert [text for stream, text in examples if stream == "grounded"] == [
        thought(colour) for (stream, _), colour in zip(examples, COLOURS) if stream == "grounded"
    ]


def test_the_papers_share_is_3000_of_35000() -> None:
    assert round(RephrasingSettings().textual_share * 35_000) == 3000


def test_the_choice_depends_on_seed_and_id_alone(tmp_path: Path) -> None:
    examples = read_cold_start(trajectories(tmp_path, 8), MediaStore()).examples

    def chosen(seed: int, step: int = 1) -> set[str]:
        settings = RephrasingSettings(textual_share=0.5)
        rephrasing = Rephrasing(
            teacher=ScriptedTeacher(reply=telling()), media=MediaStore(), settings=settings, seed=seed
        )
        return {one.example.task.id for one in rephrasing.chosen_examples(examples[::step])}

    assert chosen(0) == chosen(0, step=-1)
    assert len({frozenset(chosen(seed)) for seed in range(8)}) > 1


@pytest.mark.parametrize(
    ("reply", "reason", "detail"),
    [
        ("I will not.", "unreadable", "it does not end with an <answer>"),
        ("A cat and a cup.<answer>pink</answer>", "wrong_answer", "answered 'pink'"),
        ("The cat at [10,20,60,70] and the cup.<answer>{}</answer>", "coordinates", "[10,20,60,70]"),
        ("The cat <box>[1,2,3,4]</box> and the cup.<answer>{}</answer>", "coordinates", "<box>"),
        ("Beside the kitten is a {} cup.<answer>{}</answer>", "lost_object", "cat"),
        ("A cat, a cup.<|im_end|><answer>{}</answer>", "ill_formed", "only the environment writes"),
        ("A cat <think> a cup.<answer>{}</answer>", "ill_formed", "stands inside <think>"),
        ("A \ud800 cat, a cup.<answer>{}</answer>", "ill_formed", "not valid Unicode"),
    ],
)
def test_a_telling_that_does_not_hold_leaves_the_trajectory_as_it_was(
    tmp_path: Path, reply: str, reason: str, detail: str
) -> None:
    teacher = ScriptedTeacher(reply=telling(lambda colour: reply.replace("{}", colour)))
    report, examples = rewrite(tmp_path, teacher, count=1, attempts=2)
    assert examples == [("grounded", thought("red"))]
    assert (report.told, report.given_up, report.tries) == (0, {reason: 1}, {reason: 2})
    [line] = (tmp_path / "out" / "outcomes.jsonl").read_text().splitlines()
    assert detail in json.loads(line)["tries"][0]["detail"]
    # Each try has a seed of its own.
    assert len({asked.seed for asked in teacher.asked}) == 2


def test_without_the_grounded_ones_the_file_holds_what_was_told(tmp_path: Path) -> None:
    def reply(colour: str) -> str:
        return f"{plain(colour)}<answer>{'pink' if colour == 'red' else colour}</answer>"

    report, examples = rewrite(tmp_path, ScriptedTeacher(reply=telling(reply)), keeps_grounded=False)
    assert examples == [("textual", plain("green")), ("textual", plain("blue"))]
    assert report.streams == {"textual": 2}


def test_the_next_try_may_hold(tmp_path: Path) -> None:
    replies = iter(["nothing", f"{plain('red')}<answer>red</answer>"])
    report, examples = rewrite(tmp_path, ScriptedTeacher(reply=lambda _: next(replies)), count=1)
    assert examples == [("textual", plain("red"))]
    assert (report.told, report.given_up, report.tries) == (1, {}, {"unreadable": 1})


@pytest.mark.parametrize(("kept_objects", "is_told"), [(1.0, False), (0.5, True), (0.51, False), (0.0, True)])
def test_other_words_for_some_things_may_pass(tmp_path: Path, kept_objects: float, is_told: bool) -> None:
    teacher = ScriptedTeacher(reply=telling(lambda colour: f"A kitten, a {colour} cup.<answer>{colour}</answer>"))
    report, _ = rewrite(tmp_path, teacher, count=1, kept_objects=kept_objects)
    assert report.told == is_told


def test_what_the_machine_failed_is_tried_again_when_resumed(tmp_path: Path) -> None:
    def down(colour: str) -> str:
        if colour == "green":
            raise MachineError("the server is down")
        return f"{plain(colour)}<answer>{colour}</answer>"

    report, examples = rewrite(tmp_path, ScriptedTeacher(reply=telling(down)))
    assert (report.told, report.failed, report.given_up) == (2, 1, {})
    assert [stream for stream, _ in examples] == ["textual", "grounded", "textual"]
    assert "1 trajectories failed at a server or machine" in report.describe()
    teacher = ScriptedTeacher(reply=telling())
    report, examples = rewrite(tmp_path, teacher, resume=True)
    assert (report.told, report.failed, len(teacher.asked)) == (3, 0, 1)
    assert examples == [("textual", plain(colour)) for colour in COLOURS[:3]]


def test_a_server_that_is_gone_ends_the_run_and_what_was_told_stays(tmp_path: Path) -> None:
    def down(colour: str) -> str:
        raise MachineError("the server is down")

    with pytest.raises(MachineError, match="the server is down"):
        rewrite(tmp_path, ScriptedTeacher(reply=telling(down)), count=FAILURES_IN_A_ROW, questions_at_once=1)
    assert (tmp_path / "out" / "outcomes.jsonl").read_text() == ""
    assert not (tmp_path / "out" / "examples.jsonl").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"textual_share": 0.0}, "textual_share=0.0 must be a number above 0 and at most 1"),
        ({"textual_share": 1.1}, "textual_share=1.1 must be a number above 0 and at most 1"),
        ({"kept_objects": -1.0}, "kept_objects=-1.0 must be a number from 0 to 1"),
        ({"attempts": 0}, "attempts=0 must be a whole number of 1 or more"),
        ({"teacher_temperature": float("nan")}, "teacher_temperature=nan must be a finite number of 0 or more"),
    ],
)
def test_settings_that_make_no_sense(tmp_path: Path, settings: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        rewrite(tmp_path, ScriptedTeacher(reply=telling()), **settings)


def test_without_any_box_there_is_nothing_to_tell(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="none of the 2 trajectories has a box"):
        rewrite(tmp_path, ScriptedTeacher(reply=telling()), count=0, textual=2)


def test_outcomes_come_back_as_they_were() -> None:
    outcome = Rephrased(task_id="a", thought="é\n")
    assert kept_as(Rephrased)(json.loads(json.dumps(outcome.as_json()))) == outcome
    for row, key in (
        ({"id": "a", "thought": 5}, "thought"),
        ({"id": "a", "tries": [{"reason": "?"}]}, "tries[0].reason"),
    ):
        with pytest.raises(RowError) as caught:
            kept_as(Rephrased)(row)
        assert f"{key}' must be " in caught.value.why
