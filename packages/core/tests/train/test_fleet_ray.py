"""Whole runs under Ray: two learners and two rollout workers, killed and not. ``make test-cluster`` runs it.

Processes end themselves (``mortal_recipe``), so nothing here depends on how busy the machine is.
"""

import importlib.util
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import mortal_recipe
import psutil
import pytest
from test_run_stages import files

from saccade.config.context import RecipeContext
from saccade.config.fleet import FleetSettings
from saccade.learner.processes import Company
from saccade.media.store import MediaStore
from saccade.runs.progress import Progress
from saccade.runs.records import read_records
from saccade.testing.ranks import in_ranks
from saccade.train.fleet import Fleet, PlayedShard, Shard
from saccade.train.fleet_weights import Invitation
from saccade.train.following import follow_plan
from saccade.train.plan import Plan
from saccade.train.recipe_loading import load_recipe
from saccade.train.rollout_worker import RolloutWorker
from saccade.train.run import run_plan

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="Ray is not here; make test-cluster installs it"
    ),
]

WITHIN_S = 900.0
SMALL = (
    *("sft.steps=1", "sft.batch_size=4", "rl.steps=3", "rl.tasks_per_step=4", "rl.group_size=2", "rl.evaluate_every=0"),
    *("rl.checkpoint_every=1", "evaluation_tasks=4"),
)
TWO = ("fleet.learners=2", "fleet.rollouts=2")


@dataclass(frozen=True, kw_only=True)
class LiveCluster:
    """A cluster that runs by itself."""

    root: psutil.Process
    variables: Mapping[str, str]
    """Of the environment, by which a run finds it."""

    def actors(self) -> list[str]:
        """Titles of the processes of a run that are there."""
        titles: list[str] = []
        for one in self.root.children(recursive=True):
            with suppress(psutil.Error):
                titles += [title for title in one.cmdline()[:1] if "Actor" in title]
        return titles


def started(recipe: Path, out: Path, *settings: str, variables: Mapping[str, str] = {}) -> "subprocess.Popen[str]":
    words = [sys.executable, "-m", "saccade", "train", f"{recipe}:mortal", "--out", str(out), "--threads", "1"]
    words += ["--quiet", *(word for one in (*SMALL, *TWO, *settings) for word in ("--set", one))]
    known = {**os.environ, **variables}
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=known)


def ended(process: "subprocess.Popen[str]") -> str:
    said, _ = process.communicate(timeout=WITHIN_S)
    return said


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    return Path(shutil.copy(mortal_recipe.__file__, tmp_path / "mortal_recipe.py"))


@pytest.fixture
def live_cluster() -> Iterator[LiveCluster]:
    """``ray start --head`` as a user starts it; ``fleet.address=auto`` finds it, here by RAY_ADDRESS."""
    words = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--port=0", "--num-cpus=0"]
    # A token of its own: Ray asks for one or not by what it finds in the home directory.
    secret = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    known = {**os.environ, **secret, "RAY_worker_niceness": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    process = subprocess.Popen([*words, "--include-dashboard=false"], stdout=subprocess.PIPE, text=True, env=known)
    root = psutil.Process(process.pid)
    assert process.stdout is not None
    said = ""
    try:
        while not (found := re.search("ray start --address='([^']+)'", said)):
            line = process.stdout.readline()
            assert line, said
            said += line
        yield LiveCluster(root=root, variables={**secret, "RAY_ADDRESS": found[1]})
    finally:
        family = [*root.children(recursive=True), root]
        process.terminate()
        _, left = psutil.wait_procs(family, timeout=30)
        for one in left:
            one.kill()
        process.stdout.close()
        process.wait()


def plays_calmly(out: Path, recipe: Path, company: Company) -> None:
    """A learner's part of the run without Ray: its rollout workers are threads of the first rank."""
    if company.rank:
        plan, media = planned(recipe)
        follow_plan(plan, media=media, seed=0, threads=1, company=company)
    else:
        plays_alone(out, recipe, company=company)


def planned(recipe: Path, settings: tuple[str, ...] = ()) -> tuple[Plan, MediaStore]:
    context = RecipeContext(media=MediaStore(), overrides=(*SMALL, *settings))
    return load_recipe(f"{recipe}:mortal").function(context), context.media


def plays_alone(out: Path, recipe: Path, settings: tuple[str, ...] = (), *, company: Company | None = None) -> None:
    """The run in this process, its rollout workers in a thread."""
    plan, media = planned(recipe, settings)
    run_plan(
        plan,
        out=out,
        media=media,
        seed=0,
        progress=Progress("quiet"),
        company=company,
        fleet=Fleet(
            settings=FleetSettings(rollouts=2),
            start_worker=ThreadsOf(recipe, out, settings).start,
            weights=out / "weights",
        ),
    )


@dataclass
class ThreadsOf:
    """Rollout workers that share one thread of this process."""

    recipe: Path
    out: Path
    settings: tuple[str, ...]
    pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))

    def start(self, _: int) -> "ThreadWorker":
        plan, media = planned(self.recipe, self.settings)
        return ThreadWorker(RolloutWorker(plan, media=media, seed=0, threads=1, run=self.out), self.pool)


@dataclass
class ThreadWorker:
    worker: RolloutWorker
    pool: ThreadPoolExecutor

    def play(self, shard: Shard) -> "Future[PlayedShard]":
        return self.pool.submit(self.worker.play, shard)

    def receive(self, invitation: Invitation) -> "Future[None]":
        return self.pool.submit(self.worker.receive, invitation)

    def leave(self) -> None:
        pass

    def end(self) -> None:
        self.worker.close()


def test_a_live_cluster_whose_workers_and_learner_die_gives_the_bytes_of_a_run_without_ray(
    live_cluster: LiveCluster, recipe: Path, tmp_path: Path
) -> None:
    calm, killed = tmp_path / "calm", tmp_path / "killed"
    assert in_ranks(2, partial(plays_calmly, calm, recipe)) == [None, None]
    (tmp_path / "rollout").touch()
    (tmp_path / "learner").touch()
    process = started(
        recipe, killed, "fleet.address=auto", "fleet.weights=collective", variables=live_cluster.variables
    )
    said = ended(process)
    assert process.returncode == 0, said
    assert not (tmp_path / "rollout").exists()
    assert not (tmp_path / "learner").exists()
    assert files(killed) == files(calm)
    info = json.loads((killed / "run.json").read_text())
    assert info["status"] == "finished"
    restarts = "\n".join(info["restarts"])
    assert "another one plays its share again" in restarts
    assert "another group of learners goes on" in restarts
    until_s = time.monotonic() + WITHIN_S
    while live_cluster.actors():
        assert time.monotonic() < until_s, live_cluster.actors()
        time.sleep(0.5)


def test_weights_in_flight_give_the_bytes_of_a_run_without_ray(recipe: Path, tmp_path: Path) -> None:
    calm, spread = tmp_path / "calm", tmp_path / "spread"
    in_flight = ("rl.staleness=1", "rl.overlap=true", "rl.in_flight=4")
    plays_alone(calm, recipe, in_flight)
    process = started(recipe, spread, *in_flight, "fleet.learners=1")
    said = ended(process)
    assert process.returncode == 0, said
    assert files(spread) == files(calm)
    [last] = spread.glob("trajectories/rl/*3.jsonl")
    assert any(len(set(attempt.trajectory.token_versions)) == 2 for attempt in read_records(last))


def test_missing_resources_of_a_cluster_of_its_own_are_said_in_words(recipe: Path, tmp_path: Path) -> None:
    process = started(recipe, tmp_path / "run", "fleet.learner_gpus=4", "fleet.resources_timeout_s=2")
    said = ended(process)
    assert process.returncode == 3
    assert "the cluster has no room for fleet.learners=2 processes with 0 CPUs and 4 GPUs each" in said
    assert f"it has {os.cpu_count()} CPUs and 0 GPUs" in said
    assert not (tmp_path / "run").exists()
