"""Traces of Argos: selected by the verifier's score, in sets of equal number, written and read, taken from records."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from saccade.curation.argos import (
    PointedTrace,
    equal_sets,
    read_pointed_examples,
    read_traces,
    select,
    traces_of,
    write_traces,
)
from saccade.curation.argos.traces import imitable_turn
from saccade.errors import UserError
from saccade.geometry import Point
from saccade.gym.pointing import pointed
from saccade.media.resize import ResizeRule
from saccade.media.store import MediaStore
from saccade.protocols.pointed import pointed_protocol
from saccade.protocols.points import points_to_model, points_to_original
from saccade.tasks.procedural import generate
from saccade.types import Answer, Attempt, Example, ExpertTurn, Score, Term, Trajectory, Turn

MEDIA = MediaStore()


def example(index: int) -> Example:
    return pointed(generate("plate_mark", split="train", index=index, seed=0, media=MEDIA))


def trace(index: int, sample: int, score: float, *, is_right: bool = True, thought: str | None = None) -> PointedTrace:
    one = example(index)
    told = one.turns[0].thought if thought is None else thought
    turn = replace(one.turns[0], thought=f"{told} {sample}")
    answer = turn.action if is_right else Answer(text="nothing")
    return PointedTrace(
        example=replace(one, turns=(replace(turn, action=answer),)),
        sample=sample,
        score=score,
        is_right=is_right,
        parts={"accuracy": float(is_right)},
    )


def traces() -> list[PointedTrace]:
    """For each of four questions: right and grounded, right alone, wrong, wrong though its score is high."""
    return [
        one
        for index in range(4)
        for one in (
            trace(index, 0, 1.0),
            trace(index, 1, 0.5),
            trace(index, 2, 0.0, is_right=False),
            trace(index, 3, 0.9, is_right=False),
        )
    ]


def places(found: Sequence[PointedTrace]) -> list[tuple[str, int]]:
    return [(one.example.task.id, one.sample) for one in found]


def test_filters_let_pass_what_they_name() -> None:
    found = traces()
    assert select(found, "all") == found
    assert [one.sample for one in select(found, "right")] == [0, 1] * 4
    assert [one.sample for one in select(found, "grounded")] == [0] * 4
    assert [one.sample for one in select(found, "grounded", threshold=0.5)] == [0, 1] * 4


def test_a_smaller_set_is_part_of_a_larger_one_and_the_seed_chooses() -> None:
    found = traces()
    some, more = select(found, "all", count=5), select(found, "all", count=9)
    assert (len(some), len(more)) == (5, 9)
    assert set(places(some)) < set(places(more))
    assert places(some) == [one for one in places(found) if one in set(places(some))]
    assert places(select(found, "all", count=5, seed=1)) != places(some)


def test_the_same_text_counts_once() -> None:
    one = trace(0, 0, 1.0)
    copies = [replace(one, sample=sample) for sample in range(8)]
    assert select(copies, "grounded") == [one]
    assert select(copies, "grounded", distinct=False) == copies
    assert [len(found) for found in equal_sets([*copies, trace(1, 0, 0.5)]).values()] == [1, 1, 1]


def test_three_sets_of_equal_number() -> None:
    sets = equal_sets(traces())
    assert {by: len(found) for by, found in sets.items()} == {"all": 4, "right": 4, "grounded": 4}
    assert equal_sets([]) == {"all": [], "right": [], "grounded": []}


def test_traces_come_back_as_they_were_written(tmp_path: Path) -> None:
    found = traces()
    write_traces(tmp_path / "all.jsonl", found, MEDIA)
    media = MediaStore()
    read = read_traces(tmp_path / "all.jsonl", media)
    assert [(one.sample, one.score, one.is_right, one.parts) for one in read] == [
        (one.sample, one.score, one.is_right, one.parts) for one in found
    ]
    assert [one.example.turns for one in read] == [one.example.turns for one in found]
    assert read[0].example.task.id == f"{found[0].example.task.id}#0"
    assert media.get(read[0].example.task.images[0]).size == MEDIA.get(found[0].example.task.images[0]).size
    assert read_pointed_examples(tmp_path / "all.jsonl", media) == [one.example for one in read]
    before = (tmp_path / "all.jsonl").read_bytes()
    write_traces(tmp_path / "all.jsonl", found, MEDIA)
    assert (tmp_path / "all.jsonl").read_bytes() == before


def test_rows_that_cannot_be_imitated_are_named(tmp_path: Path) -> None:
    write_traces(tmp_path / "all.jsonl", traces()[:3], MEDIA)
    rows = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    rows[0]["turns"][0]["thought"] = "<points x1='3'>half</points>"
    rows[1]["is_right"] = "yes"
    rows[2]["turns"][0]["answer"] = '<points x1="3" y1="4">cup</points>'
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(UserError, match=r"(?s)row 1: turns\[0\]: an expert.*row 2: is_right: must be true.*row 3"):
        read_traces(tmp_path / "all.jsonl", MediaStore())


def test_trajectories_of_a_run_are_traces_with_points_of_the_originals() -> None:
    one = example(0)
    view = ResizeRule(factor=28, min_pixels=1, max_pixels=1 << 20, convention="relative_1000")
    protocol = pointed_protocol()
    text = '<think>it is <point x="500" y="250">red plate</point></think><answer>white</answer>'
    parsed = protocol.parse(text)
    points = points_to_original(parsed.points, one.task.images, view)
    turn = Turn(index=0, text=text, thought=parsed.thought, action=parsed.action, is_well_formed=True, points=points)
    trajectory = Trajectory(
        task_id=one.task.id, family=one.task.family, stream="main", sample=3, seed=0, policy_version=0,
        segments=(), turns=(turn,), status="answered",
        score=Score(terms=(Term("accuracy", 1.0, 0.5), Term("grounding", 0.5, 0.5, filled_from="x")), is_right=True),
    )  # fmt: skip
    unscored = replace(trajectory, score=None)
    cut = replace(trajectory, turns=(replace(turn, is_well_formed=False),))
    attempts = [Attempt(task=one.task, trajectory=each) for each in (unscored, trajectory, cut)]
    x, y = one.task.images[0].width // 2, one.task.images[0].height // 4
    # What is shown to the same model again is what it wrote.
    [found] = traces_of(attempts)
    assert points_to_model(found.example.turns[0].thought, one.task.images, view) == parsed.thought
    assert traces_of(attempts) == [
        PointedTrace(
            example=Example(
                task=one.task,
                turns=(
                    ExpertTurn(thought=f'it is <point x="{x}" y="{y}">red plate</point>', action=Answer(text="white")),
                ),
            ),
            sample=3,
            score=0.75,
            is_right=True,
            parts={"accuracy": 1.0},
        )
    ]
    others = replace(turn, points=(replace(points[0], point=Point(1.0, 1.0)), points[0]))
    assert imitable_turn(others) is None
