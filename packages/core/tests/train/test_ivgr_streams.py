"""Batches of two streams in a run: groups by stream, pairs in one step, as many trajectories as with one stream."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from ivgr_runs import GENERAL, GROUP, PAIRS, metric, of_stream, run, steps

from saccade.algorithms.advantages import GroupAdvantages
from saccade.train.plan import RLStage
from saccade.types import Group

STEPS = 3


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run of both streams, and one of each of them alone."""
    folder = tmp_path_factory.mktemp("streams")
    for streams in ("both", "grounded", "textual"):
        run(folder / streams, f"rl.steps={STEPS}", f"streams={streams}")
    return {streams: folder / streams for streams in ("both", "grounded", "textual")}


def test_both_copies_of_a_question_are_in_the_same_step(played: dict[str, Path]) -> None:
    for step in steps(played["both"]):
        asked = {name: {one.task.id for one in of_stream(step, name)} for name in ("grounded", "textual")}
        assert len(asked["grounded"]) == PAIRS
        assert asked["grounded"] < asked["textual"]
        alone = [one.task for one in of_stream(step, "textual") if one.task.id not in asked["grounded"]]
        assert len({task.id for task in alone}) == GENERAL
        assert not any(task.targets for task in alone)


def test_a_stream_of_its_own_makes_a_group_of_its_own(played: dict[str, Path]) -> None:
    for step in steps(played["both"]):
        members = Counter((one.task.id, one.trajectory.stream) for one in step)
        assert len(members) == 2 * PAIRS + GENERAL
        assert set(members.values()) == {GROUP}


def test_rewards_are_compared_inside_a_stream_only(tmp_path: Path) -> None:
    seen: list[tuple[Sequence[Group], Sequence[GroupAdvantages]]] = []

    def watched(stage: RLStage) -> RLStage:
        def advantages(groups: Sequence[Group]) -> Sequence[GroupAdvantages]:
            found = stage.applied_algorithm.advantages(groups)
            seen.append((groups, found))
            return found

        return replace(stage, algorithm=replace(stage.applied_algorithm, advantages=advantages))

    run(tmp_path / "run", "rl.steps=2", change=watched)
    assert len(seen) == 2
    for groups, found in seen:
        ids = [(group.task.id, group.stream) for group in groups]
        assert len(set(ids)) == len(ids) == 2 * PAIRS + GENERAL
        assert all(one.stream == group.stream for group in groups for one in group.trajectories)
        means = [sum(turns[0] for turns in one) / len(one) for one in found]
        assert means == pytest.approx([0.0] * len(groups), abs=1e-6)
        assert any(turns[0] != 0 for one in found for turns in one)


def test_one_stream_alone_samples_as_many_trajectories_as_both(played: dict[str, Path]) -> None:
    sizes = {streams: [len(step) for step in steps(out)] for streams, out in played.items()}
    assert sizes == dict.fromkeys(played, [(2 * PAIRS + GENERAL) * GROUP] * STEPS)


def test_one_stream_alone_asks_twice_as_many_questions_with_boxes(played: dict[str, Path]) -> None:
    textual, grounded = (steps(played[name])[0] for name in ("textual", "grounded"))
    assert len({one.task.id for one in textual if one.task.targets}) == 2 * PAIRS
    assert len({one.task.id for one in textual if not one.task.targets}) == GENERAL
    # Without the textual stream nobody asks questions without boxes, and others take their room.
    assert len({one.task.id for one in grounded if one.task.targets}) == 2 * PAIRS + GENERAL


def test_one_stream_alone_has_no_consistency(played: dict[str, Path]) -> None:
    assert metric(played["textual"], "reward/consistency") == []
    assert metric(played["grounded"], "reward/consistency") == []
    assert metric(played["both"], "textual/reward/consistency") != []


def test_the_grounded_stream_may_look_closer_with_the_crop_tool(tmp_path: Path) -> None:
    out = tmp_path / "run"
    run(out, f"rl.steps={STEPS}", "grounded_crops=true", "crop_turns=3")
    for step in steps(out):
        turns = [one.trajectory.turns for one in of_stream(step, "grounded")]
        assert {len(of_one) for of_one in turns} == {1, 2, 3}
        results = [turn.result for of_one in turns for turn in of_one if turn.result is not None]
        assert results
        assert all(result.is_ok and result.images for result in results)
        # Boxes of every turn count, also of those that look closer.
        assert all(turn.boxes for of_one in turns for turn in of_one)
        assert {len(one.trajectory.turns) for one in of_stream(step, "textual")} == {1}
    assert metric(out, "updates") == [1.0] * STEPS
    assert metric(out, "grounded/calls/mean")
    assert any(metric(out, "grounded/noted/is_reference"))
