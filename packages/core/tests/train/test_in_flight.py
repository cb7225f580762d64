"""Batches that go on with new weights in their midst: the same bytes every time, killed and resumed too."""

from pathlib import Path

import pytest
from dying_run import Killed
from test_overlap import metric, outcome, run

from saccade.algorithms.dapo import dapo, teaches
from saccade.config.settings import check_settings
from saccade.engines.engine import Engine, EngineContext
from saccade.engines.local import LocalEngine
from saccade.errors import UserError
from saccade.runs.records import read_records
from saccade.train.stage_settings import RLSettings
from saccade.types import Trajectory

pytestmark = pytest.mark.usefixtures("warm_engines")

IN_FLIGHT = ("rl.overlap=true", "rl.in_flight=4")


@pytest.fixture(scope="module")
def left_alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("in_flight") / "run"
    run(out, *IN_FLIGHT)
    return out


def trajectories(out: Path, step: int) -> list[Trajectory]:
    [path] = out.glob(f"trajectories/rl/*{step}.jsonl")
    return [attempt.trajectory for attempt in read_records(path)]


def test_a_killed_and_resumed_run_has_the_bytes_of_one_left_alone(left_alone: Path, tmp_path: Path) -> None:
    died = tmp_path / "died"
    with pytest.raises(Killed):
        run(died, *IN_FLIGHT, die_at=4)
    run(died, *IN_FLIGHT, resume=True)
    assert outcome(died) == outcome(left_alone)


def test_records_say_which_weights_sampled_which_token_and_staleness_is_one_of_tokens(left_alone: Path) -> None:
    # The first two batches are played in turn with learning: the mismatch of engine and learner is measured on them.
    assert not any(
        segment.versions for step in (1, 2) for one in trajectories(left_alone, step) for segment in one.segments
    )
    for step in (3, 4):
        changed = [one for one in trajectories(left_alone, step) if len(set(one.token_versions)) > 1]
        assert len(changed) == 4
        for one in changed:
            assert one.policy_version == step - 2
            # Four decode steps are at most four tokens of one trajectory: fewer where a turn ended among them.
            old = one.token_versions.count(step - 2)
            assert 1 <= old <= 4
            assert one.token_versions == (step - 2,) * old + (step - 1,) * (len(one.token_versions) - old)
            assert len(one.token_versions) == sum(one.action_mask)
    assert metric(left_alone, "rollout/staleness") == [0.0, 1.0, 1.0, 1.0]
    assert metric(left_alone, "rollout/token_staleness")[:2] == [None, None]
    assert all(value is not None and 0 < value < 1 for value in metric(left_alone, "rollout/token_staleness")[2:])
    # Old and new tokens are corrected alike, each by the log-probability with which it was sampled.
    assert all(value is not None and 0 < value <= 1 for value in metric(left_alone, "effective_samples")[1:])


def test_a_span_that_does_not_cover_its_tokens_is_no_record(left_alone: Path, tmp_path: Path) -> None:
    [path] = left_alone.glob("trajectories/rl/*3.jsonl")
    [*_, segment] = [one for one in trajectories(left_alone, 3)[0].segments if one.versions]
    end = f'"end": {segment.versions[-1].end}}}'
    broken = tmp_path / "broken.jsonl"
    broken.write_text(path.read_text(encoding="utf-8").replace(end, '"end": 999999999}'), encoding="utf-8")
    with pytest.raises(UserError, match="spans that cover the ids"):
        list(read_records(broken))


def test_what_it_does_not_go_with_is_refused_in_words_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="in_flight=4 changes the weights of a batch that is played while another"):
        check_settings(RLSettings(steps=1, in_flight=4))

    class WithoutExpecting(LocalEngine):
        has_own_weights = True
        # As an engine of an earlier day, which has no such method.
        expect_weights = None  # type: ignore[assignment]

    def lagging(context: EngineContext) -> Engine:
        return WithoutExpecting(context.model)

    with pytest.raises(UserError, match="WithoutExpecting has no method expect_weights"):
        run(tmp_path / "run", *IN_FLIGHT, engine=lagging)

    with pytest.raises(UserError, match="dapo plays a batch in several rounds"):
        run(tmp_path / "run", *IN_FLIGHT, algorithm=dapo(keep_group=teaches, max_refills=2))
    assert not (tmp_path / "run").exists()
