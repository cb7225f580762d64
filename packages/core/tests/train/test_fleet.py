"""Rollouts spread over workers: the same bytes whoever is lost, and an end where too many are.

The workers are real ones, in a thread of this process; what starts processes is in ``test_fleet_ray.py``.
"""

import json
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from dying_run import Killed
from test_run_stages import RL, Witness, files, metric

from saccade.config.fleet import FleetSettings, split_overrides
from saccade.errors import MachineError, UserError
from saccade.media.store import MediaStore
from saccade.runs.progress import Progress
from saccade.train.fleet import Fleet, PlayedShard, Shard, shares_of
from saccade.train.fleet_weights import Invitation, LostWorkerError
from saccade.train.plan import Plan
from saccade.train.rollout_worker import RolloutWorker
from saccade.train.run import run_plan

SETTINGS = FleetSettings(rollouts=2)


@dataclass
class Threads:
    """Starts workers that share one thread; those that are asked for a share whose number is in ``lost`` end."""

    run: Path
    lost: frozenset[int] = frozenset()
    silent: frozenset[int] = frozenset()
    """Shares that are never answered."""
    started: list[int] = field(default_factory=list)
    invited: list[tuple[int, Invitation]] = field(default_factory=list)
    shards: list[tuple[int, Shard]] = field(default_factory=list)
    pools: tuple[ThreadPoolExecutor, ...] = field(default_factory=lambda: (ThreadPoolExecutor(1),))
    """Of worker i the i-th, over and over: where weights are sent, all must be able to take them at once."""
    forgotten: frozenset[int] = frozenset()
    """Shares whose worker is lost when it has played them."""
    make: Callable[[], tuple[Plan, MediaStore]] = lambda: witnessed(Witness())
    """What a worker plays by."""

    def start(self, number: int) -> "ThreadWorker":
        self.started.append(number)
        return ThreadWorker(self, number)


class ThreadWorker:
    def __init__(self, threads: Threads, number: int) -> None:
        self._threads = threads
        self._number = number
        self._pool = threads.pools[number % len(threads.pools)]
        self._opened: RolloutWorker | None = None

    def play(self, shard: Shard) -> "Future[PlayedShard]":
        place = len(self._threads.shards)
        self._threads.shards.append((self._number, shard))
        answer: Future[PlayedShard] = Future()
        if place in self._threads.silent:
            return answer
        if place in self._threads.lost:
            answer.set_exception(LostWorkerError("it was killed"))
            return answer
        if place in self._threads.forgotten:
            return self._pool.submit(self._lose, shard)
        return self._pool.submit(lambda: self._worker().play(shard))

    def _lose(self, shard: Shard) -> PlayedShard:
        self._worker().play(shard)
        raise LostWorkerError("it was killed at the end")

    def receive(self, invitation: Invitation) -> "Future[None]":
        self._threads.invited.append((self._number, invitation))
        return self._pool.submit(lambda: self._worker().receive(invitation))

    def _worker(self) -> RolloutWorker:
        if self._opened is None:
            plan, media = self._threads.make()
            self._opened = RolloutWorker(plan, media=media, seed=7, threads=1, run=self._threads.run)
        return self._opened

    def leave(self) -> None:
        pass

    def end(self) -> None:
        if self._opened is not None:
            self._pool.submit(self._opened.close).result()
            self._opened = None


def run(out: Path, threads: Threads, settings: FleetSettings = SETTINGS, *, witness: Witness | None = None) -> None:
    run_fleet(out, threads, settings, witnessed(witness or Witness()))


def witnessed(witness: Witness) -> tuple[Plan, MediaStore]:
    return witness.plan(), witness.media


def run_fleet(out: Path, threads: Threads, settings: FleetSettings, what: tuple[Plan, MediaStore]) -> None:
    plan, media = what
    run_plan(
        plan,
        out=out,
        media=media,
        seed=7,
        resume=True,
        progress=Progress("quiet"),
        fleet=Fleet(settings=settings, start_worker=threads.start, weights=out.parent / "weights"),
    )


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Threads]:
    out = tmp_path_factory.mktemp("calm") / "run"
    threads = Threads(out)
    run(out, threads)
    return out, threads


def test_one_worker_gives_the_bytes_of_one_process(tmp_path: Path) -> None:
    Witness().run(tmp_path / "one")
    run(tmp_path / "run", Threads(tmp_path / "run"), replace(SETTINGS, rollouts=1))
    assert files(tmp_path / "run") == files(tmp_path / "one")


def test_a_group_is_played_by_one_worker_and_a_picture_goes_to_it_once(calm: tuple[Path, Threads]) -> None:
    out, threads = calm
    assert threads.started == [0, 1]
    learned = [(number, shard) for number, shard in threads.shards if not shard.evaluates]
    for number, shard in learned:
        asked = {(one.task.id, one.stream) for one in shard.requests}
        assert len(shard.requests) == RL.group_size * len(asked)
        # The tasks of step k are 20 + 3 k and the next one.
        assert {(int(task[-2:]) - 20) % 3 for task, _ in asked} == {number}
    for worker in (0, 1):
        sent = [name for number, shard in threads.shards if number == worker for name in shard.pictures]
        assert len(set(sent)) == len(sent) > 0
    assert [shard.version for number, shard in learned if number == 0] == [2, 3, 4, 5]
    assert not (out.parent / "weights").exists()


def test_workers_play_evaluations_too(calm: tuple[Path, Threads]) -> None:
    out, threads = calm
    measured = [(shard.stage, number, shard.version) for number, shard in threads.shards if shard.evaluates]
    # Curve points come after the second and the fourth update.
    expected = [("after_sft", 2), ("rl", 4), ("rl", 6), ("after_rl", 6)]
    assert measured == [(stage, number, version) for stage, version in expected for number in (0, 1)]
    assert len((out / "samples" / "after_rl.times.jsonl").read_text().splitlines()) == 3


def test_the_run_says_who_waited_for_whom(calm: tuple[Path, Threads]) -> None:
    out, _ = calm
    for name in ("time/learners_idle_s", "time/rollouts_idle_s", "time/rollouts_busy_s"):
        assert len(metric(out, name)) == 4
    assert all(busy > 0 for busy in metric(out, "time/rollouts_busy_s"))
    assert json.loads((out / "settings.json").read_text())["fleet"] == {"rollouts": 2}


def test_lost_workers_are_replaced_and_change_no_byte(calm: tuple[Path, Threads], tmp_path: Path) -> None:
    out = tmp_path / "run"
    threads = Threads(out, lost=frozenset({1, 3, 4}))
    run(out, threads)
    assert files(out) == files(calm[0])
    assert len(threads.started) == 5
    restarts = json.loads((out / "run.json").read_text())["restarts"]
    assert len(restarts) == 3
    assert "rollout worker 1: it was killed; another one plays its share again" in restarts[0]


def test_a_worker_that_never_answers_is_given_up(calm: tuple[Path, Threads], tmp_path: Path) -> None:
    out = tmp_path / "run"
    threads = Threads(out, silent=frozenset({2}))
    run(out, threads, replace(SETTINGS, play_timeout_s=10.0, start_timeout_s=0.01))
    assert files(out) == files(calm[0])
    assert "gave no answer" in json.loads((out / "run.json").read_text())["restarts"][0]


def two_threads() -> tuple[ThreadPoolExecutor, ...]:
    return ThreadPoolExecutor(1), ThreadPoolExecutor(1)


def test_weights_that_are_sent_give_the_bytes_of_weights_in_files(calm: tuple[Path, Threads], tmp_path: Path) -> None:
    out = tmp_path / "run"
    # One at a time, since torch's settings are those of the whole process.
    threads = Threads(out, lost=frozenset({3}), pools=two_threads())
    run(out, threads, replace(SETTINGS, weights="collective"))
    assert files(out) == files(calm[0])
    assert threads.started == [0, 1, 1]
    assert all(shard.weights is None for _, shard in threads.shards)
    # All weights to both; the lost worker's, again, to the new one alone, and the next in a group of both once more.
    groups = [(number, one.version, one.group, one.size) for number, one in threads.invited]
    both = [(number, version, group, 3) for version, group in ((2, 1), (3, 3), (4, 3)) for number in (0, 1)]
    assert groups[:2] == both[:2]
    assert [number for number, version, _, size in groups if size == 2] == [1]
    assert not (tmp_path / "weights").exists()


def test_a_killed_run_goes_on_with_the_same_bytes(calm: tuple[Path, Threads], tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(Killed):
        run(out, Threads(out), witness=Witness(die_at=2))
    run(out, Threads(out))
    assert files(out) == files(calm[0])


@pytest.mark.parametrize(
    ("lost", "restarts", "said"),
    [(frozenset({0, 2, 3}), 8, "3 times in a row to its share"), (frozenset({0, 3}), 1, "fleet.restarts=1")],
)
def test_a_run_ends_when_workers_are_lost_again_and_again(
    tmp_path: Path, lost: frozenset[int], restarts: int, said: str
) -> None:
    out = tmp_path / "run"
    with pytest.raises(MachineError, match=said):
        run(out, Threads(out, lost=lost), replace(SETTINGS, restarts=restarts))
    assert json.loads((out / "run.json").read_text())["status"] == "failed"


def test_shares_are_whole_questions_in_the_order_of_the_batch() -> None:
    shares = shares_of([0, 0, 1, 1, 2, 2, 0, 0], 2)
    assert shares == {0: (0, 1, 4, 5, 6, 7), 1: (2, 3)}
    assert list(shares_of([0, 0], 3)) == [0]


def test_settings_of_the_fleet_are_checked_before_work() -> None:
    fleet, _ = split_overrides(["fleet.rollouts=2"])
    assert fleet.has_ray
    assert fleet.is_local
    assert not split_overrides(["fleet.address=auto"])[0].is_local
    for wrong in ("fleet.rollouts=-1", "fleet.play_timeout_s=0", "fleet.restarts=-2", "fleet.rollout_gpus=-1"):
        with pytest.raises(UserError, match="fleet"):
            split_overrides([wrong])
