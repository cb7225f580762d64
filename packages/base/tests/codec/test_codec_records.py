"""Records through the codec: the same bytes and values for anything that a record may hold, and clear errors."""

import json
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from record_values import FINITE, NUMBERS, attempts

from saccade.codec import BrokenRecordError, Codec, Form, Reader
from saccade.runs.records import LINES, HeaderLine, Line, TaskLine, TrajectoryLine
from saccade.runs.task_json import task_from_json, task_to_json
from saccade.runs.trajectory_json import trajectory_from_json, trajectory_to_json
from saccade.types import Answer, Attempt, Segment, Trajectory, Turn, VersionSpan

READER: Reader[Line] = LINES.reader(HeaderLine, TaskLine, TrajectoryLine)
WHOLE = Trajectory(
    task_id="counting/1",
    family="counting",
    stream="grounded",
    sample=3,
    seed=1,
    policy_version=4,
    segments=(Segment(role="action", turn=0, ids=(1, 2), logprobs=(-0.5, -6e-05)),),
    turns=(Turn(index=0, text="7 é", thought="", action=Answer(text="7"), is_well_formed=True),),
    status="answered",
)


@settings(max_examples=60, deadline=None)
@given(attempts(FINITE))
def test_what_is_written_is_read_back_equal(attempt: Attempt) -> None:
    read = READER.from_text
    task_line = TaskLine(task=attempt.task)
    assert read(LINES.text(task_line).encode("ascii"), "the line") == task_line
    line = TrajectoryLine(trajectory=attempt.trajectory, advantages=attempt.advantages)
    assert read(LINES.text(line).encode("ascii"), "the line") == line
    assert task_from_json(task_to_json(attempt.task)) == attempt.task
    assert trajectory_from_json(trajectory_to_json(attempt.trajectory)) == attempt.trajectory


@settings(max_examples=60, deadline=None)
@given(attempts(NUMBERS))
def test_the_bytes_are_those_of_pythons_json_and_are_written_again(attempt: Attempt) -> None:
    for line in (TaskLine(task=attempt.task), TrajectoryLine(trajectory=attempt.trajectory)):
        text = LINES.text(line)
        assert text == json.dumps(json.loads(text))
        assert LINES.text(READER.from_text(text.encode("ascii"), "the line")) == text


def test_a_line_is_written_as_ever() -> None:
    assert LINES.text(HeaderLine(version=2, stage="rl", step=3)) == (
        '{"kind": "header", "version": 2, "stage": "rl", "step": 3}'
    )
    assert LINES.text(TrajectoryLine(trajectory=WHOLE, advantages=(0.5,))) == (
        '{"kind": "trajectory", "task_id": "counting/1", "family": "counting", "stream": "grounded", "sample": 3, '
        '"seed": 1, "policy_version": 4, "status": "answered", "failure": "", "score": null, "turns": [{"index": 0, '
        '"text": "7 \\u00e9", "thought": "", "action": {"type": "answer", "text": "7"}, "is_well_formed": true, '
        '"result": null, "observation": null}], "segments": [{"role": "action", "turn": 0, "ids": [1, 2], '
        '"logprobs": [-0.5, -6e-05], "images": []}], "advantages": [0.5]}'
    )


def changed(path: str, value: object) -> Any:
    """The JSON of a trajectory with one value changed, ``...`` to remove it."""
    whole: Any = trajectory_to_json(WHOLE)
    inner, (*steps, last) = whole, path.split(".")
    for step in steps:
        inner = inner[int(step) if step.isdigit() else step]
    inner[last] = value
    if value is ...:
        del inner[last]
    return whole


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("seed", ..., "'seed' is missing in the trajectory"),
        ("seed", "3", "'seed' must be a whole number, not '3'"),
        ("seed", True, "'seed' must be a whole number, not True"),
        ("seed", 1.0, "'seed' must be a whole number, not 1.0"),
        ("seed", None, "'seed' must be a whole number, not None"),
        ("task_id", 3, "'task_id' must be text, not 3"),
        ("status", "asleep", "'status' must be one of answered, turn_limit, token_limit, failed, not 'asleep'"),
        ("turns", {"a": 1}, "'turns' must be a list, not {'a': 1}"),
        ("turns.0.is_well_formed", 1, "'turns[0].is_well_formed' must be true or false, not 1"),
        (
            "turns.0.action.type",
            "sing",
            "'turns[0].action.type' must be one of tool_call, answer, malformed, not 'sing'",
        ),
        ("turns.0.action.type", ..., "'type' is missing in turns[0].action"),
        ("turns.0.action", [], "'turns[0].action' must be an object, not []"),
        (
            "turns.0.boxes",
            [{"text": "", "box": [1, 2, 3]}],
            "'turns[0].boxes[0].box' must be a list of 4, not [1, 2, 3]",
        ),
        (
            "turns.0.boxes",
            [{"text": "", "box": [1, 2, 3, "4"]}],
            "'turns[0].boxes[0].box[3]' must be a number, not '4'",
        ),
        ("segments.0.ids", [1, True], "'segments[0].ids[1]' must be a whole number, not True"),
        ("segments.0.ids", "x" * 99, f"'segments[0].ids' must be a list, not '{'x' * 56}..."),
        ("segments.0.logprobs", [0.5, None], "'segments[0].logprobs[1]' must be a number, not None"),
        ("segments.0.role", "\ud800", "holds half a surrogate pair"),
        ("score", {"terms": [], "notes": {"a": 1, "b": "2"}}, "'score.notes[...]' must be a number, not '2'"),
        (
            "score",
            {"terms": [{"name": "a", "value": 1, "weight": 1}] * 2},
            "two of the terms a, a have one name; give each term its own",
        ),
        (
            "segments.0.versions",
            [{"version": 1, "start": 0, "end": 1}],
            "'versions' must be spans that cover the ids, one after the other, not [(0, 1)]",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place_and_value(path: str, value: object, said: str) -> None:
    with pytest.raises(BrokenRecordError) as caught:
        trajectory_from_json(changed(path, value))
    assert said in str(caught.value)


def test_what_is_left_out_may_be_null_and_what_is_unknown_is_left_alone() -> None:
    whole = changed("score", ...) | {"kind": "trajectory", "later": {"deep": [1]}}
    whole["turns"][0] |= {"boxes": None, "points": None}
    del whole["turns"][0]["result"]
    assert trajectory_from_json(whole) == WHOLE


def test_versions_that_cover_the_ids_are_kept() -> None:
    spans = (VersionSpan(version=1, start=0, end=1), VersionSpan(version=2, start=1, end=2))
    spanned = replace(WHOLE, segments=(replace(WHOLE.segments[0], versions=spans),))
    assert trajectory_from_json(trajectory_to_json(spanned)) == spanned


@dataclass(frozen=True)
class Inner:
    x: float
    note: str = "none"


@dataclass(frozen=True)
class Outer:
    name: str
    inner: Inner
    by_name: dict[str, Inner]
    many: tuple[tuple[Inner, ...], ...] = ()
    hidden: int = 0


def test_a_form_renames_flattens_leaves_out_and_nests() -> None:
    codec = Codec({Outer: Form(keys={"name": "id"}, flat=("inner",), apart=("hidden",)), Inner: Form(sparse=("note",))})
    outer = Outer("a", Inner(1), {"b": Inner(2.5, "two")}, ((Inner(3),), ()))
    assert (
        codec.text(outer)
        == '{"id": "a", "x": 1, "by_name": {"b": {"x": 2.5, "note": "two"}}, "many": [[{"x": 3}], []]}'
    )
    assert codec.reader(Outer).from_json(codec.to_json(outer), "it") == outer


@dataclass(frozen=True, kw_only=True, slots=True)
class Even:
    """A class that works something out when it is made."""

    number: int
    half: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "half", self.number // 2)


@dataclass(frozen=True, kw_only=True, slots=True)
class Closed:
    """A class of which every key must be there."""

    name: str | None
    even: Even
    count: int = 3
    seen: list[int] = field(default_factory=list)


def test_a_closed_form_takes_no_other_key_and_misses_none() -> None:
    read = Codec({Closed: Form(is_closed=True, sparse=("count", "seen"))}).reader(Closed).from_text
    found = read(b'{"name": null, "even": {"number": 6, "half": 0}}', "the line")
    assert found == Closed(name=None, even=Even(number=6))
    assert found.even.half == 3
    assert found.seen is not read(b'{"name": "a", "even": {"number": 6, "half": 0}}', "the line").seen
    with pytest.raises(BrokenRecordError, match="'name' is missing in the line"):
        read(b'{"even": {"number": 6, "half": 0}}', "the line")
    with pytest.raises(BrokenRecordError, match="'nmae' is an unknown key in the line"):
        read(b'{"name": "a", "even": {"number": 6, "half": 0}, "nmae": 1}', "the line")
