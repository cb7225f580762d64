"""Weights that change in the midst of rollout workers' batches: the same bytes, whoever is lost and when.

The workers are real ones, in a thread of this process.
"""

import json
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from dying_run import Killed
from test_fleet import Threads, run_fleet
from test_in_flight import IN_FLIGHT, trajectories
from test_overlap import metric, outcome, plan_of
from test_overlap import run as run_alone

from saccade.algorithms.algorithm import Loss, PolicyTokens
from saccade.algorithms.policy_gradient import grpo
from saccade.config.fleet import FleetSettings
from saccade.engines.engine import Engine, EngineContext
from saccade.engines.local import LocalEngine
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.rollout.episodes import RolloutRequest
from saccade.testing.tasks import tiny_example
from saccade.train.fleet import Fleet, PlayedShard, Shard
from saccade.train.fleet_weights import Invitation
from saccade.train.plan import Plan, RLStage
from saccade.train.spread import SpreadRollouts
from saccade.types import Task, Trajectory

pytestmark = pytest.mark.usefixtures("warm_engines")

TWO = FleetSettings(rollouts=2)


def made(*, die_at: int = 0) -> tuple[Plan, MediaStore]:
    media = MediaStore()
    return plan_of(media, *IN_FLIGHT, die_at=die_at), media


def run(out: Path, threads: Threads, settings: FleetSettings = TWO, *, die_at: int = 0) -> None:
    run_fleet(out, threads, settings, made(die_at=die_at))


def played(task: Task) -> Trajectory:
    return Trajectory(
        task_id=task.id,
        family=task.family,
        stream="main",
        sample=0,
        seed=0,
        policy_version=0,
        segments=(),
        turns=(),
        status="turn_limit",
    )


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Threads]:
    out = tmp_path_factory.mktemp("calm") / "run"
    threads = Threads(out, make=made)
    run(out, threads)
    return out, threads


def test_one_worker_gives_the_bytes_of_one_process(tmp_path: Path) -> None:
    run_alone(tmp_path / "one", *IN_FLIGHT)
    run(tmp_path / "run", Threads(tmp_path / "run", make=made), replace(TWO, rollouts=1))
    assert outcome(tmp_path / "run") == outcome(tmp_path / "one")


def test_records_say_which_weights_sampled_which_token_of_each_worker(calm: tuple[Path, Threads]) -> None:
    out, threads = calm
    # The first two batches are played in turn with learning, the others beside it.
    told = [(number, shard.version, shard.coming) for number, shard in threads.shards]
    assert [(number, version) for number, version, coming in told if coming is None] == [(0, 0), (1, 0)] * 2
    beside = [(number, version, one.version, one.after_steps) for number, version, one in told if one is not None]
    assert beside == [(number, version, version + 1, 4) for version in (1, 2) for number in (0, 1)]
    for step in (3, 4):
        for one in trajectories(out, step):
            old = one.token_versions.count(step - 2)
            assert one.policy_version == step - 2
            assert 1 <= old <= 4
            assert one.token_versions == (step - 2,) * old + (step - 1,) * (len(one.token_versions) - old)
    assert metric(out, "rollout/staleness") == [0.0, 1.0, 1.0, 1.0]
    assert all(value is not None and 0 < value < 1 for value in metric(out, "rollout/token_staleness")[2:])
    assert not (out.parent / "weights").exists()


def test_workers_that_are_lost_before_and_after_the_weights_come_change_no_byte(
    calm: tuple[Path, Threads], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    # Shares 4 and 5 are those of the first batch whose weights change; the second of them is lost twice.
    threads = Threads(out, make=made, lost=frozenset({4, 7}), forgotten=frozenset({5}))
    run(out, threads)
    assert outcome(out) == outcome(calm[0])
    again = [shard.coming for _, shard in threads.shards[4:8] if shard.coming is not None]
    assert len({one.path for one in again}) == 1
    assert len(again) == 4
    assert len(json.loads((out / "run.json").read_text())["restarts"]) == 3


def test_a_killed_run_goes_on_with_the_same_bytes(calm: tuple[Path, Threads], tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(Killed):
        run(out, Threads(out, make=made), die_at=4)
    run(out, Threads(out, make=made))
    assert outcome(out) == outcome(calm[0])


def test_a_learner_that_fails_ends_the_run_though_workers_wait_for_its_weights(tmp_path: Path) -> None:
    out, media = tmp_path / "run", MediaStore()
    plain = grpo()

    def failing(tokens: PolicyTokens, /) -> Loss:
        raise ArithmeticError("the learner's own fault")

    plan = plan_of(media, *IN_FLIGHT, algorithm=replace(plain, stale_loss=failing))
    threads = Threads(out, make=made)
    with pytest.raises(ArithmeticError, match="the learner's own fault"):
        run_fleet(out, threads, TWO, (plan, media))
    assert [shard.coming is not None for _, shard in threads.shards][4:] == [True] * (len(threads.shards) - 4)
    assert not (tmp_path / "weights").exists()


@dataclass
class Owed:
    """A worker that is done before the learner gives the weights that it waits for, both later than the deadline."""

    asked: threading.Event = field(default_factory=threading.Event)
    answer: "Future[PlayedShard]" = field(default_factory=Future)

    def play(self, shard: Shard) -> "Future[PlayedShard]":
        self.asked.set()
        return self.answer

    def receive(self, invitation: Invitation) -> "Future[None]":
        raise AssertionError("weights go by file")

    def leave(self) -> None:
        pass

    def end(self) -> None:
        pass


def test_the_time_in_which_the_learner_owes_weights_is_not_counted_against_a_worker(tmp_path: Path) -> None:
    plan, media = made()
    model, [stage] = plan.build_model(), plan.stages
    assert isinstance(stage, RLStage)
    worker, restarts = Owed(), list[str]()
    settings = FleetSettings(rollouts=1, play_timeout_s=0.05, start_timeout_s=0.05)
    fleet = Fleet(settings=settings, start_worker=lambda _: worker, weights=tmp_path / "weights")
    spread = SpreadRollouts(fleet, LocalEngine(model), model, on_restart=restarts.append)
    spread.begin_with(model)
    spread.expect_weights(4)
    task = tiny_example(media, 0).task
    trajectory = played(task)
    with ThreadPoolExecutor(1) as pool:
        playing = pool.submit(spread.play, stage, [RolloutRequest(task=task, stream="main", sample=0, seed=0)], [0])
        assert worker.asked.wait(60)
        # Several deadlines pass, for which nothing else than time can be waited for.
        time.sleep(0.5)
        shard = PlayedShard(trajectories=(trajectory,), pictures={}, busy_s=0, busy_cpu_s=0, latencies={}, meters={})
        worker.answer.set_result(shard)
        assert playing.result(60) == [trajectory]
    assert restarts == []
    spread.close()


def test_what_it_does_not_go_with_is_refused_in_words_before_any_work(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(UserError, match="sends weights to workers between two batches alone"):
        run(out, Threads(out, make=made), replace(TWO, weights="collective"))

    class Served(LocalEngine):
        def take_weights(self, path: Path, version: int) -> None:
            raise AssertionError("nothing is played")

    def served(context: EngineContext) -> Engine:
        return Served(context.model)

    plan, media = made()
    with pytest.raises(UserError, match=r"rollout workers share the servers of Served.*Set fleet.rollouts=0, or set"):
        run_fleet(out, Threads(out, make=made), TWO, (replace(plan, engine=served), media))
    assert not out.exists()
