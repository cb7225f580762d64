"""Questions to examples, offline: a scripted teacher, the real sandbox, counting questions."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from curation_teachers import Knowing, answer_turn, is_about

from saccade.chat.wire import RefusedRequestError
from saccade.codec.codecs import plain_json
from saccade.curation.codedance.outcomes import QuestionOutcome
from saccade.curation.codedance.pipeline import Curation, Roles
from saccade.curation.codedance.settings import CurationSettings
from saccade.curation.examples import read_examples
from saccade.curation.journal import FAILURES_IN_A_ROW, Journal, kept_as
from saccade.curation.reports import CurationReport
from saccade.curation.rows import PassRates
from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.errors import MachineError, UserError
from saccade.media.store import MediaStore
from saccade.rollout.trajectory import demonstrate
from saccade.tasks.procedural import generate
from saccade.testing.scripted import ScriptedTeacher, letter_chat
from saccade.testing.tasks import TINY_VIEW
from saccade.types import Example, Message, ToolCall

Make = Callable[[int], VisualReasoningEnv]


def teacher_of(dots: list[Example], **said) -> ScriptedTeacher:
    return ScriptedTeacher(reply=Knowing(dots, **said))


def curate(
    out: Path, dots: list[Example], make_env: Make, roles: Roles, *, resume: bool = False, **settings
) -> tuple[CurationReport, dict[str, QuestionOutcome]]:
    media = make_env(0).media
    curation = Curation(roles=roles, make_env=make_env, media=media, settings=CurationSettings(**settings))
    with Journal(out, {"seed": 0}, kept_as(QuestionOutcome), resume=resume) as journal:
        report = asyncio.run(curation.run([example.task for example in dots], journal))
        return report, dict(journal.outcomes)


def rows_of(out: Path) -> list[dict]:
    return [json.loads(line) for line in (out / "examples.jsonl").read_text().splitlines()]


def rates(dots: list[Example], *values: float) -> PassRates:
    return {example.task.id: value for example, value in zip(dots, values)}


def test_every_curated_example_can_be_demonstrated(tmp_path: Path, dots: list[Example], make_env: Make) -> None:
    roles = Roles(
        teacher=teacher_of(dots),
        weak=rates(dots, 1.0, 0.5, 0.5, 0.0, 0.0, 0.0),
        strong=rates(dots, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0),
        checker=teacher_of(dots),
    )
    report, _ = curate(tmp_path, dots, make_env, roles, questions_at_once=3)
    assert (report.questions, report.kept, report.failed) == (6, 5, 0)
    assert report.levels == {"hard": 2, "medium": 2, "easy": 1, "unsolved": 1}
    assert report.kept_ways == {"play": 2, "rewrite": 2, "direct": 1}
    assert report.kept_kinds == {"compute": 4, "no code": 1}
    assert report.rejected == {"unsolved": 1}
    assert report.verdicts == {"question/good": 6, "solution/good": 4}
    assert json.loads((tmp_path / "report.json").read_text()) == plain_json(report)
    assert (tmp_path / "report.txt").read_text().startswith("5 examples of 6 questions\n")

    rows = rows_of(tmp_path)
    assert [row["id"] for row in rows] == [example.task.id for example in dots[:5]]
    assert [(row["level"], row["way"], row.get("kind")) for row in rows] == [
        ("easy", "direct", None),
        ("medium", "rewrite", "compute"),
        ("medium", "rewrite", "compute"),
        ("hard", "play", "compute"),
        ("hard", "play", "compute"),
    ]
    # A fresh process would know nothing but the folder.
    media = MediaStore()
    examples = read_examples(tmp_path, media)
    env = make_env(7)
    env.media = media
    for example in examples:
        trajectory = demonstrate(example, env=env, chat=letter_chat(TINY_VIEW))
        assert trajectory.status == "answered"
        assert all(turn.is_well_formed for turn in trajectory.turns)
        assert all(turn.result.is_ok for turn in trajectory.turns if isinstance(turn.action, ToolCall))


def test_without_anybody_else_the_teacher_alone_decides(tmp_path: Path, dots: list[Example], make_env: Make) -> None:
    report, outcomes = curate(tmp_path, dots[:2], make_env, Roles(teacher=teacher_of(dots)))
    assert report.kept_levels == {"unsorted": 2}
    assert report.verdicts == {}
    assert {(outcome.weak, outcome.strong, outcome.way) for outcome in outcomes.values()} == {(None, None, "play")}


def test_pass_rates_are_played_in_the_same_environment(tmp_path: Path, dots: list[Example], make_env: Make) -> None:
    tries: Counter[str] = Counter()

    def sometimes(example: Example, messages: Sequence[Message]) -> str:
        tries[example.task.id] += 1
        is_right = tries[example.task.id] <= dots.index(example) * 2
        return answer_turn(example.task.answer if is_right else "1000")

    weak, strong = teacher_of(dots, play=sometimes), teacher_of(dots)
    roles = Roles(teacher=teacher_of(dots), weak=weak, strong=strong)
    _, outcomes = curate(tmp_path, dots[:3], make_env, roles, samples=4)
    found = [outcomes[example.task.id] for example in dots[:3]]
    assert [(one.weak, one.strong, one.level) for one in found] == [
        (0.0, 1.0, "hard"),
        (0.5, None, "medium"),
        (1.0, None, "easy"),
    ]
    # The strong model is asked where the weak one fails, and nowhere else; each sample has a seed of its own.
    assert len(weak.asked) == 12
    assert len({asked.seed for asked in weak.asked}) == 12
    assert {asked.temperature for asked in weak.asked} == {1.0}
    assert len(strong.asked) == 8


def test_samples_that_the_machine_failed_count_neither_way(tmp_path: Path, dots: list[Example], make_env: Make) -> None:
    calls = iter(range(99))

    def shaky(example: Example, messages: Sequence[Message]) -> str:
        number = next(calls)
        if number < 2:
            raise MachineError("busy")
        return answer_turn(example.task.answer if number == 2 else "1000")

    roles = Roles(teacher=teacher_of(dots), weak=teacher_of(dots, play=shaky))
    _, outcomes = curate(tmp_path, dots[:1], make_env, roles, samples=4)
    assert outcomes[dots[0].task.id].weak == 0.5


def test_the_next_way_is_tried_when_one_fails(tmp_path: Path, dots: list[Example], make_env: Make) -> None:
    roles = Roles(teacher=teacher_of(dots, play=answer_turn("1000")))
    report, outcomes = curate(tmp_path, dots[:1], make_env, roles, attempts=2)
    [outcome] = outcomes.values()
    assert (outcome.way, [one.reason for one in outcome.tries]) == ("rewrite", ["wrong_answer"] * 2)
    assert report.tries == {"play/wrong_answer": 2}
    assert report.rejected == {}


def test_a_question_that_nothing_solves_is_left_out_by_its_last_reason(
    tmp_path: Path, dots: list[Example], make_env: Make
) -> None:
    teacher = teacher_of(dots, play=answer_turn("1000"), chain="no idea")
    report, _ = curate(tmp_path, dots[:2], make_env, Roles(teacher=teacher), attempts=1)
    assert (report.kept, report.rejected) == (0, {"wrong_chain": 2})
    assert report.tries == {"play/wrong_answer": 2, "rewrite/wrong_chain": 2}
    assert rows_of(tmp_path) == []
    _, outcomes = curate(tmp_path / "no ways", dots[:1], make_env, Roles(teacher=teacher), hard_ways=())
    assert [outcome.reason for outcome in outcomes.values()] == ["no_way"]


@pytest.mark.parametrize(
    ("said", "settings", "reason", "verdict"),
    [
        ({"question": "BAD"}, {}, "bad_question", "question/bad"),
        ({"question": "Well, GOOD I think"}, {}, "no_verdict", "question/none"),
        ({"image": "FALSE"}, {"checks_images": True}, "unsuitable_image", "image/bad"),
        ({"solution": "DISAGREE"}, {}, "disagreed", "solution/bad"),
        ({"solution": "hm"}, {}, "no_verdict", "solution/none"),
    ],
)
def test_what_the_checker_objects_to_is_left_out_and_counted(
    tmp_path: Path, dots: list[Example], make_env: Make, said: dict, settings: dict, reason: str, verdict: str
) -> None:
    checker = teacher_of(dots, **said)
    report, _ = curate(
        tmp_path, dots[:1], make_env, Roles(teacher=teacher_of(dots), checker=checker), attempts=1, **settings
    )
    assert (report.kept, report.rejected) == (0, {reason: 1})
    assert verdict in report.verdicts


def test_no_verdict_is_not_a_bad_one(tmp_path: Path, dots: list[Example], make_env: Make) -> None:
    checker = teacher_of(dots, question="hm", solution="hm")
    roles = Roles(teacher=teacher_of(dots), checker=checker)
    report, _ = curate(tmp_path, dots[:1], make_env, roles, keeps_unjudged=True)
    assert (report.kept, report.verdicts) == (1, {"question/none": 1, "solution/none": 1})
    # Each was asked for again, with another seed and above temperature 0.
    assert [asked.temperature for asked in checker.asked] == [0.0, 0.7, 0.0, 0.7]
    assert len({asked.seed for asked in checker.asked}) == 4


def test_a_checker_that_disagrees_once_may_agree_with_the_next_solution(
    tmp_path: Path, dots: list[Example], make_env: Make
) -> None:
    verdicts = iter(["DISAGREE", "AGREE"])
    checker = teacher_of(dots, solution=lambda example, messages: next(verdicts))
    report, _ = curate(tmp_path, dots[:1], make_env, Roles(teacher=teacher_of(dots), checker=checker))
    assert (report.kept, report.tries) == (1, {"play/disagreed": 1})
    [asked] = [one for one in checker.asked if is_about(one.messages, "solution")][:1]
    assert f"Output:\n{dots[0].task.answer}" in asked.text
    assert f"Answer: {dots[0].task.answer}" in asked.text


def test_boxes_become_hints_and_targets(tmp_path: Path, dots: list[Example], make_env: Make) -> None:
    boxes = '[{"label": "dot", "bbox_2d": [10, 20, 30, 40]}]'
    teacher = teacher_of(dots)
    roles = Roles(
        teacher=teacher, checker=teacher_of(dots, boxes=lambda example, _: boxes if example is dots[0] else "?")
    )
    report, _ = curate(tmp_path, dots[:2], make_env, roles, locates=True)
    assert report.verdicts["boxes/good"] == report.verdicts["boxes/none"] == 1
    assert rows_of(tmp_path)[0]["boxes"] == [{"bbox": [10.0, 20.0, 30.0, 40.0], "label": "dot", "image_index": 0}]
    assert any("dot [10, 20, 30, 40]" in asked.text for asked in teacher.asked)


def test_a_question_that_the_machine_failed_is_tried_again_when_resumed(
    tmp_path: Path, dots: list[Example], make_env: Make
) -> None:
    def down(example: Example, messages: Sequence[Message]) -> str:
        if example is dots[1]:
            raise MachineError("the server is down")
        return Knowing(dots)(messages)

    report, _ = curate(tmp_path, dots[:3], make_env, Roles(teacher=teacher_of(dots, play=down)))
    assert (report.kept, report.failed) == (2, 1)
    assert "1 questions failed at a server or machine" in report.describe()
    teacher = teacher_of(dots)
    report, _ = curate(tmp_path, dots[:3], make_env, Roles(teacher=teacher), resume=True)
    assert (report.kept, report.failed) == (3, 0)
    assert {dots[1].task.images[0]} == {
        part
        for asked in teacher.asked
        for message in asked.messages
        for part in message.parts
        if not isinstance(part, str)
    }
    assert [row["id"] for row in rows_of(tmp_path)] == [example.task.id for example in dots[:3]]


def test_a_server_that_is_gone_ends_the_run_and_what_was_done_stays(
    tmp_path: Path, media: MediaStore, make_env: Make
) -> None:
    many = [generate("colour_dots", split="train", index=index, seed=1, media=media) for index in range(12)]

    def down(example: Example, messages: Sequence[Message]) -> str:
        if example is many[0]:
            return Knowing(many)(messages)
        raise MachineError("the server is down")

    teacher = teacher_of(many, play=down)
    with pytest.raises(MachineError, match="the server is down"):
        curate(tmp_path, many, make_env, Roles(teacher=teacher), questions_at_once=1)
    assert len(teacher.asked) == 2
    assert len((tmp_path / "outcomes.jsonl").read_text().splitlines()) == 1
    assert len(many) > 1 + FAILURES_IN_A_ROW


@pytest.mark.parametrize(("status", "is_fatal"), [(400, False), (401, True)])
def test_a_refusal_ends_the_run_only_when_it_is_about_more_than_one_request(
    tmp_path: Path, dots: list[Example], make_env: Make, status: int, is_fatal: bool
) -> None:
    def refusing(example: Example, messages: Sequence[Message]) -> str:
        if example is dots[0]:
            raise RefusedRequestError("too long", status)
        return Knowing(dots)(messages)

    roles = Roles(teacher=teacher_of(dots, play=refusing))
    if is_fatal:
        with pytest.raises(UserError, match="too long"):
            curate(tmp_path, dots[:2], make_env, roles)
    else:
        report, _ = curate(tmp_path, dots[:2], make_env, roles)
        assert (report.kept, report.failed) == (1, 1)


def test_the_same_teacher_gives_the_same_file(tmp_path: Path, dots: list[Example], make_env: Make) -> None:
    for name, at_once in (("one", 1), ("many", 6)):
        roles = Roles(teacher=teacher_of(dots), checker=teacher_of(dots))
        curate(tmp_path / name, dots, make_env, roles, questions_at_once=at_once)
    one, many = ((tmp_path / name / "examples.jsonl").read_bytes() for name in ("one", "many"))
    assert one == many


def test_nothing_to_curate_is_refused(tmp_path: Path, make_env: Make) -> None:
    with pytest.raises(UserError, match="no question"):
        curate(tmp_path, [], make_env, Roles(teacher=teacher_of([])))
