import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from saccade.errors import UserError
from saccade.geometry import Box, Mask, Point
from saccade.media.store import MediaStore
from saccade.runs.position import Position
from saccade.runs.records import position_of, read_records, write_records
from saccade.types import (
    Answer,
    Attempt,
    BoxMention,
    ImageRef,
    Malformed,
    Observation,
    PointMention,
    SceneObject,
    Score,
    Segment,
    Target,
    Task,
    Term,
    ToolCall,
    ToolResult,
    Trajectory,
    Turn,
)

POSITION = Position(stage="rl", step=12)
HOSTILE = '<script>\u2028\x00\x1b[2J\ud800 \U0001f441 "quoted"\\ \r\n'


def task_about(image: ImageRef, task_id: str = "search/7") -> Task:
    return Task(
        id=task_id,
        family="search",
        question="Which pattern?\u2029",
        answer="rows",
        answer_kind="choice",
        images=(image,),
        choices=("rows", "checks"),
        tolerance=0.05,
        targets=(
            Target(
                label="plate",
                box=Box(1.5, 2, 30, 40),
                point=Point(3, 1 / 3),
                mask=Mask(width=2, height=2, counts=(1, 2, 1)),
            ),
            Target(label="other", box=Box(0, 0, 1, 1), point=Point(0, 0), image_index=1),
        ),
        objects=(
            SceneObject(name="cup", box=Box(0, 0, 2, 1), mask=Mask(width=2, height=2, counts=(1, 2, 1)), image_index=1),
            SceneObject(name="dog", box=Box(0, 0, 2, 1), attributes={"place": "left"}),
        ),
        frame_times_s=(0.0, 0.1),
        event_s=(0.1, 0.3),
    )


def trajectory_at(task: Task, crop: ImageRef, sample: int = 0) -> Trajectory:
    call = ToolCall(name="crop", arguments={"bbox_2d": [0, 0.1, 250, 1e300], "note": HOSTILE, "deep": {"a": None}})
    return Trajectory(
        task_id=task.id,
        family=task.family,
        stream="textual",
        sample=sample,
        seed=2**62 + 1,
        policy_version=3,
        segments=(
            Segment(role="prompt", turn=0, ids=(1, 2, 3), images=task.images),
            Segment(role="action", turn=0, ids=(4, 5), logprobs=(-0.1, -1 / 3)),
            Segment(role="observation", turn=0, ids=(6,), images=(crop,)),
            Segment(role="action", turn=1, ids=(7,), logprobs=(-5e-324,)),
        ),
        turns=(
            Turn(
                index=0,
                text=HOSTILE,
                thought="look",
                action=call,
                is_well_formed=True,
                result=ToolResult(text="ok", images=(crop,), data={"size": [3, 4]}),
                observation=Observation(text="here", images=(crop,)),
                boxes=(BoxMention(text="[1,2,3,4]", box=Box(1, 2, 3, 4.5)), BoxMention(text=HOSTILE, box=None)),
                points=(
                    PointMention(text="<points>", label=HOSTILE, point=Point(1 / 3, -2), frame=3, time_s=0.1),
                    PointMention(text="", label="", point=None, image_index=1),
                ),
            ),
            Turn(index=1, text="x", thought="", action=Malformed(why="neither"), is_well_formed=False),
            Turn(index=2, text="y", thought="", action=Answer(text="rows"), is_well_formed=True),
        ),
        status="answered",
        score=Score(
            terms=(Term("correct", 1.0), Term("format", 1.0, 0.1, filled_from="a sibling")),
            is_right=True,
            notes={"points": 2.0},
            evidence={"hits": [True, None], "chosen": {"grounding": "detector"}},
        ),
    )


@pytest.fixture
def media() -> MediaStore:
    return MediaStore()


@pytest.fixture
def records(media: MediaStore) -> list[Attempt]:
    first = media.add(Image.new("RGB", (8, 8), "red"))
    second = media.add(Image.new("RGB", (9, 8), "blue"))
    crop = media.add(Image.new("RGB", (4, 4), "green"))
    one, two = task_about(first), task_about(second, "search/8")
    failed = replace(trajectory_at(one, crop, 1), status="failed", failure="tool server gone", score=None, turns=())
    return [
        Attempt(task=one, trajectory=trajectory_at(one, crop), advantages=(0.5, -0.1)),
        Attempt(task=one, trajectory=failed),
        Attempt(task=two, trajectory=trajectory_at(two, crop)),
    ]


def test_records_are_read_back_equal(tmp_path: Path, media: MediaStore, records: list[Attempt]) -> None:
    path = tmp_path / "trajectories" / "rl" / "step-000012.jsonl"
    write_records(path, POSITION, records, media=media, media_directory=tmp_path / "media")
    assert list(read_records(path)) == records
    assert position_of(path) == POSITION


def test_what_was_read_is_written_again_with_the_same_bytes(
    tmp_path: Path, media: MediaStore, records: list[Attempt]
) -> None:
    write_records(tmp_path / "a.jsonl", POSITION, records, media=media, media_directory=tmp_path)
    read = list(read_records(tmp_path / "a.jsonl"))
    write_records(tmp_path / "b.jsonl", POSITION, read, media=media, media_directory=tmp_path)
    assert (tmp_path / "b.jsonl").read_bytes() == (tmp_path / "a.jsonl").read_bytes()


def test_each_task_is_written_once_and_each_image_exported_once(
    tmp_path: Path, media: MediaStore, records: list[Attempt]
) -> None:
    path = tmp_path / "step.jsonl"
    write_records(path, POSITION, records, media=media, media_directory=tmp_path / "media")
    kinds = [json.loads(line)["kind"] for line in path.read_text().splitlines()]
    assert kinds == ["header", "task", "trajectory", "trajectory", "task", "trajectory"]
    hashes = {image.hash for record in records for image in record.trajectory.images}
    assert {file.name for file in (tmp_path / "media").iterdir()} == {f"{key}.png" for key in hashes}
    assert len(hashes) == 3


def test_the_same_records_give_the_same_bytes(tmp_path: Path, media: MediaStore, records: list[Attempt]) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        write_records(tmp_path / name, POSITION, records, media=media, media_directory=tmp_path / "media")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.jsonl", "b.jsonl", "media"]


def test_a_file_without_records_has_its_header_only(tmp_path: Path, media: MediaStore) -> None:
    path = tmp_path / "empty.jsonl"
    write_records(path, POSITION, [], media=media, media_directory=tmp_path / "media")
    assert list(read_records(path)) == []
    assert position_of(path) == POSITION


def test_numbers_that_are_not_finite_survive(tmp_path: Path, media: MediaStore, records: list[Attempt]) -> None:
    odd = replace(records[0].trajectory, score=Score(terms=(Term("judge", math.inf, -1.0),)))
    path = tmp_path / "odd.jsonl"
    write_records(
        path, POSITION, [Attempt(task=records[0].task, trajectory=odd)], media=media, media_directory=tmp_path
    )
    assert [record.trajectory for record in read_records(path)] == [odd]


def test_reading_is_lazy_and_a_broken_line_is_named(tmp_path: Path, media: MediaStore, records: list[Attempt]) -> None:
    path = tmp_path / "step.jsonl"
    write_records(path, POSITION, records, media=media, media_directory=tmp_path / "media")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:3]) + lines[3][:40])
    reader = read_records(path)
    assert next(reader) == records[0]
    with pytest.raises(UserError, match=r"step.jsonl:4: not JSON .*was the file cut\?"):
        next(reader)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("[1]", "the line must be a JSON object, not \\[1\\]"),
        ("{}", "'kind' is missing in the line"),
        ('{"kind": "task", "id": 3}', "'id' must be text, not 3"),
        ("[" * 100_000, "not JSON"),
        ("", "not JSON"),
    ],
)
def test_what_is_wrong_with_a_line_is_said(tmp_path: Path, line: str, why: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(UserError, match=f"x.jsonl:1: {why}"):
        list(read_records(path))


def test_records_of_another_version_are_refused_by_it(
    tmp_path: Path, media: MediaStore, records: list[Attempt]
) -> None:
    path = tmp_path / "step.jsonl"
    write_records(path, POSITION, records, media=media, media_directory=tmp_path / "media")
    path.write_text(path.read_text().replace('"version": 2', '"version": 1', 1))
    for read in (position_of, lambda file: list(read_records(file))):
        with pytest.raises(UserError, match=r"step.jsonl is of record version 1, and this Saccade reads version 2"):
            read(path)


def test_a_trajectory_before_its_task_is_an_error(tmp_path: Path, media: MediaStore, records: list[Attempt]) -> None:
    path = tmp_path / "step.jsonl"
    write_records(path, POSITION, records, media=media, media_directory=tmp_path / "media")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + lines[2])
    with pytest.raises(UserError, match=r"step.jsonl:2: task 'search/7' does not come before its trajectory"):
        list(read_records(path))


def test_a_file_that_is_not_there_or_has_no_header_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read: No such file"):
        list(read_records(tmp_path / "absent.jsonl"))
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(UserError, match="must begin with a header"):
        position_of(tmp_path / "empty.jsonl")
