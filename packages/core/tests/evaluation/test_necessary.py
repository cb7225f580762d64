"""Figures of necessary calls, counted by hand."""

import pytest

from saccade.evaluation.figure import measure_figures
from saccade.evaluation.necessary import NecessaryCalls, necessary_calls
from saccade.media.store import MediaStore
from saccade.testing.tasks import tiny_example
from saccade.types import GAIN, Attempt, ToolCall, ToolResult, Trajectory, Turn

MEDIA = MediaStore()


def attempt(question: int, *gains: float | None) -> Attempt:
    task = tiny_example(MEDIA, question).task
    turns = tuple(
        Turn(
            index=index,
            text="",
            thought="",
            action=ToolCall(name="crop", arguments={}),
            is_well_formed=True,
            result=ToolResult(data={} if gain is None else {GAIN: gain}),
        )
        for index, gain in enumerate(gains)
    )
    played = Trajectory(
        task_id=task.id, family="tiny", stream="main", sample=0, seed=0, policy_version=0, segments=(), turns=turns,
        status="answered",
    )  # fmt: skip
    return Attempt(task=task, trajectory=played)


def test_calls_are_counted_by_how_much_their_results_changed() -> None:
    found = necessary_calls([attempt(0, 0.5, 0.05), attempt(1, -0.1, None), attempt(2, 0.1)])
    assert found is not None
    assert found.gain == pytest.approx(0.55 / 4)
    assert (found.necessary.mean, found.necessary.n) == (0.5, 4)
    assert (found.misleading.mean, found.misleading.clusters) == (0.25, 3)
    said = found.describe()
    assert said.startswith("50")
    assert said.endswith("misleading; mean gain +0.14")


def test_without_a_probe_there_is_nothing_to_tell() -> None:
    assert necessary_calls([attempt(0, None), attempt(1)]) is None
    assert "necessary calls" not in measure_figures([attempt(0, None)])
    measured = measure_figures([attempt(0, 0.4)])["necessary calls"]
    assert isinstance(measured.value, NecessaryCalls)
    assert measured.values["gain"] == 0.4
