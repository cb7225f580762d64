"""Argos' curation: the best right trace of a question is kept, everything else is refused with its reason."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from argos_teachers import PlateTeacher, Say, exact_reward, pictures_in, plates, thought_of, told, words_in

from saccade.curation.argos import read_pointed_examples, read_traces
from saccade.curation.argos.marks import RegionMarks
from saccade.curation.argos.outcomes import traced_from
from saccade.curation.argos.pipeline import Tracing
from saccade.curation.argos.report import TracingReport
from saccade.curation.argos.settings import TracingSettings
from saccade.curation.journal import Journal
from saccade.errors import MachineError, UserError
from saccade.media.store import MediaStore
from saccade.protocols.points import find_points
from saccade.rewards.argos import ArgosReward, ExactRegions, RegionRequest, Verifier
from saccade.types import Example, Message

MEDIA = MediaStore()
PLATES = plates(6, MEDIA)
WRONG = "<think>I see nothing.</think><answer>nothing</answer>"


def tracing(teacher: PlateTeacher, **more: object) -> Tracing:
    fields: dict[str, object] = {
        "reward": exact_reward(),
        "media": MEDIA,
        "marks": RegionMarks(ExactRegions()),
        "settings": TracingSettings(questions_at_once=2),
        **more,
    }
    return Tracing(teacher=teacher, **fields)  # type: ignore[arg-type]


def run(folder: Path, made: Tracing, examples: Sequence[Example] = PLATES, *, resume: bool = False) -> TracingReport:
    with Journal(folder, {"seed": 0}, traced_from, resume=resume) as journal:
        return asyncio.run(made.run([one.task for one in examples], journal))


def said(say: Say) -> PlateTeacher:
    return PlateTeacher(PLATES, say)


def without_points(example: Example) -> str:
    return told(example, thought="it is the plate that is asked for")


def test_the_best_right_trace_is_kept_the_first_of_equal_ones(tmp_path: Path) -> None:
    def say(example: Example, sample: int) -> str:
        if sample in (4, 6):
            return told(example, thought=f"{thought_of(example)} {sample}")
        return without_points(example) if sample % 2 else WRONG

    report = run(tmp_path, tracing(said(say), writes_sets=True))
    assert (report.questions, report.kept, report.failed) == (6, 6, 0)
    assert (report.traces, report.right, report.passing) == (48, 36, 12)
    assert report.refused == {"below_threshold": 24, "wrong_answer": 12}
    assert report.describe() == (
        "6 of 6 questions have an example (100.0%)\n"
        "12 of 48 traces may be kept (25.0%), 36 are right\n"
        "examples by family: plate_mark 6\n"
        "traces refused: below_threshold 24, wrong_answer 12\n"
    )
    kept = read_traces(tmp_path, MediaStore())
    assert [(one.sample, one.score, one.parts) for one in kept] == [(4, 1.0, {"accuracy": 1.0, "grounding": 1.0})] * 6
    assert [one.example.task.id for one in kept] == [one.task.id for one in PLATES]
    # The pictures of the examples are the original ones.
    assert [one.example.task.images for one in kept] == [one.task.images for one in PLATES]
    assert len(read_traces(tmp_path / "traces.jsonl", MediaStore())) == 48
    sets = {by: read_traces(tmp_path / f"{by}.jsonl", MediaStore()) for by in ("all", "right", "grounded")}
    assert {by: len(traces) for by, traces in sets.items()} == {"all": 12, "right": 12, "grounded": 12}
    assert {one.sample for one in sets["grounded"]} == {4, 6}


def test_the_teacher_sees_original_and_overlay_and_is_told_no_names(tmp_path: Path) -> None:
    prompts: list[Sequence[Message]] = []

    class Listening(PlateTeacher):
        async def __call__(
            self, messages: Sequence[Message], *, temperature: float, samples: int, seed: int
        ) -> Sequence[str]:
            prompts.append(messages)
            assert (temperature, samples) == (0.6, 8)
            return await super().__call__(messages, temperature=temperature, samples=samples, seed=seed)

    def say(example: Example, sample: int) -> str:
        return told(example)

    assert run(tmp_path / "a", tracing(Listening(PLATES, say)), PLATES[:1]).kept == 1
    told_too = tracing(Listening(PLATES, say), settings=TracingSettings(tells_proposals=True))
    assert run(tmp_path / "b", told_too, PLATES[:1]).kept == 1
    label = PLATES[0].task.targets[0].label
    question = PLATES[0].task.question
    assert [f"- {label}: (" in words_in(one) for one in prompts] == [False, True]
    assert all(question in words_in(one) and PLATES[0].task.answer not in words_in(one).split() for one in prompts)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "empty"),
        ("<think>the plate is", "unreadable"),
        ("I cannot help with that.", "unreadable"),
        ("<think>a \ud800</think><answer>white</answer>", "unreadable"),
        ("<think></think><answer>white</answer>", "unreadable"),
        ("<think>a</think><answer>white</answer><answer>black</answer>", "wrong_answer"),
        ('<think>a</think><answer><points x1="1" y1="2">plate</points></answer>', "points_in_answer"),
        (f"<think>{'<point x=3 y=4>red plate</point> ' * 1000}</think><answer>white</answer>", "ill_formed"),
        ("<think>it is at (3, 4)</think><answer>white</answer>", "coordinates"),
        ("<think>" + "it is white or " * 300 + "</think><answer>white</answer>", "repeats"),
        ("x" * 70_000, "too_long"),
        ('<think>The overlay has <point x="1" y="1">it</point>.</think><answer>white</answer>', "tells_of_overlay"),
        (WRONG, "wrong_answer"),
    ],
)
def test_replies_that_are_no_trace_have_a_reason(tmp_path: Path, reply: str, reason: str) -> None:
    report = run(tmp_path, tracing(said(lambda example, sample: reply)), PLATES[:1])
    assert report.refused == {reason: 8}
    assert (report.kept, report.given_up) == (0, {reason: 1})
    assert (tmp_path / "examples.jsonl").read_text() == ""
    # What was refused is read back as it was.
    with Journal(tmp_path, {"seed": 0}, traced_from, resume=True) as journal:
        assert {one.reason for one in journal.outcomes.values()} == {reason}


def test_the_best_alone_may_be_kept(tmp_path: Path) -> None:
    def say(example: Example, sample: int) -> str:
        return told(example) if sample in (2, 5) else without_points(example)

    whole = run(tmp_path / "a", tracing(said(say)))
    slim = run(tmp_path / "b", tracing(said(say), settings=TracingSettings(keeps_all=False)))
    assert slim == whole
    assert (tmp_path / "a" / "examples.jsonl").read_bytes() == (tmp_path / "b" / "examples.jsonl").read_bytes()
    assert [one.sample for one in read_traces(tmp_path / "b" / "traces.jsonl", MediaStore())] == [2] * 6


def test_the_points_that_are_verified_are_those_that_are_written(tmp_path: Path) -> None:
    """Bare coordinates of a mark become a point on it, and what is kept scores the same once more."""

    def say(example: Example, sample: int) -> str:
        target = example.task.targets[0]
        center = target.box.center
        return told(
            example, thought=f"In the overlay, the {target.label} at ({center.x:.0f}, {center.y:.0f}) shows it."
        )

    report = run(tmp_path, tracing(said(say)))
    assert report.kept == 6
    for example, one in zip(PLATES, read_pointed_examples(tmp_path, MediaStore())):
        [point] = find_points(one.turns[0].thought)
        assert point.point is not None
        assert example.task.targets[0].box.contains(point.point)
        assert "overlay" not in one.turns[0].thought


def test_a_server_that_is_down_for_half_of_its_calls_refuses_nothing(tmp_path: Path) -> None:
    teacher = PlateTeacher(PLATES, lambda example, sample: told(example), down=lambda call: call % 2 == 1)
    first = run(tmp_path / "a", tracing(teacher, settings=TracingSettings(questions_at_once=1)))
    assert (first.kept, first.failed, first.given_up, first.traces) == (3, 3, {}, 24)
    assert "3 questions failed at a server or machine; resume to try them again" in first.describe()
    teacher.down = lambda call: False
    second = run(tmp_path / "a", tracing(teacher), resume=True)
    assert (second.kept, second.failed) == (6, 0)
    assert teacher.asked == 6
    run(tmp_path / "b", tracing(said(lambda example, sample: told(example))))
    for name in ("examples.jsonl", "traces.jsonl"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_verifier_that_fails_leaves_the_question_for_later_and_fills_nothing_in(tmp_path: Path) -> None:
    class Failing(ExactRegions):
        def find(self, requests: Sequence[RegionRequest], /):  # type: ignore[no-untyped-def]
            broken = PLATES[0].task.images[0]
            return [MachineError("gone") if one.image == broken else ExactRegions().find([one])[0] for one in requests]

    reward = ArgosReward(reasoning_weight=0.0, verifier=Verifier(regions=Failing()))
    # Half of the traces have no point, so that siblings would stand in for those with a point.
    teacher = said(lambda example, sample: told(example) if sample % 2 else without_points(example))
    report = run(tmp_path, tracing(teacher, reward=reward))
    assert (report.kept, report.failed, report.given_up) == (5, 1, {})


def test_without_marks_a_question_is_given_up(tmp_path: Path) -> None:
    class Nothing:
        def find(self, requests: Sequence[RegionRequest], /) -> list[tuple[()]]:
            return [() for _ in requests]

    report = run(tmp_path, tracing(said(lambda example, sample: told(example)), marks=Nothing()))
    assert (report.given_up, report.traces) == ({"not_found": 6}, 0)
    with pytest.raises(UserError, match="an overlay shows marks, but nothing finds any"):
        run(tmp_path / "b", tracing(said(lambda example, sample: ""), marks=None))


def test_an_extractor_names_things_or_the_question_is_given_up(tmp_path: Path) -> None:
    label = PLATES[0].task.targets[0].label

    class Naming(PlateTeacher):
        async def __call__(
            self, messages: Sequence[Message], *, temperature: float, samples: int, seed: int
        ) -> Sequence[str]:
            self.asked += 1
            is_first = pictures_in(messages) == list(PLATES[0].task.images)
            return [json.dumps({"things": [label]}) if is_first and temperature else "junk"]

    extractor = Naming(PLATES, lambda example, sample: "")
    made = tracing(said(lambda example, sample: told(example)), extractor=extractor)
    report = run(tmp_path, made, PLATES[:2])
    assert (report.kept, report.given_up, extractor.asked) == (1, {"no_things": 1}, 4)
    rows = [json.loads(line) for line in (tmp_path / "outcomes.jsonl").read_text().splitlines()]
    assert {row["id"]: row["things"] for row in rows}[PLATES[0].task.id] == [label]


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"samples": 0}, "samples=0 must be a whole number of 1 or more"),
        ({"temperature": -1.0}, "temperature=-1.0 must be a finite number of 0 or more"),
        ({"threshold": 7.0}, "threshold=7.0 must be a number from 0 to 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, float], why: str) -> None:
    with pytest.raises(UserError, match=why):
        TracingSettings(**settings).check()  # type: ignore[arg-type]
