"""Whole runs of two learners: what they leave on disk, killed or not, and how they are started."""

import json
import os
import shutil
import sys
from functools import partial
from pathlib import Path

import pytest
from test_run_stages import Witness, files, metric

from saccade.config.fleet import split_overrides
from saccade.errors import UserError
from saccade.learner.processes import Company, PeerError
from saccade.runs.progress import Progress
from saccade.testing.ranks import in_ranks
from saccade.train.following import follow_plan
from saccade.train.run import run_plan
from warm import run_warm


def plays(out: Path, die_at: int, company: Company) -> None:
    witness = Witness(die_at=die_at)
    if company.rank:
        follow_plan(witness.plan(), media=witness.media, seed=7, threads=1, company=company)
    else:
        run_plan(
            witness.plan(),
            out=out,
            media=witness.media,
            seed=7,
            resume=True,
            progress=Progress("quiet"),
            company=company,
        )


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("two") / "run"
    assert in_ranks(2, partial(plays, out, -1)) == [None, None]
    return out


def test_two_learners_leave_the_files_of_one_and_learn_the_same(two: Path, tmp_path: Path) -> None:
    Witness().run(tmp_path / "one")
    assert files(two).keys() == files(tmp_path / "one").keys()
    assert json.loads((two / "run.json").read_text())["status"] == "finished"
    assert json.loads((two / "settings.json").read_text())["fleet"] == {"learners": 2, "wrap": "layers"}
    for stage, name in (("sft", "nll"), ("sft", "gradient_norm"), ("rl", "gradient_norm")):
        assert metric(two, name, stage=stage)[0] == pytest.approx(
            metric(tmp_path / "one", name, stage=stage)[0], rel=1e-3
        )


@pytest.fixture(scope="module")
def died(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("died") / "run"
    first, left = in_ranks(2, partial(plays, out, 2))
    assert "Killed" in type(first).__name__ or "Killed" in repr(first)
    assert isinstance(left, PeerError)
    return out


def test_a_run_that_died_and_goes_on_ends_with_the_same_bytes(two: Path, died: Path, tmp_path: Path) -> None:
    out = shutil.copytree(died, tmp_path / "run")
    assert in_ranks(2, partial(plays, out, -1)) == [None, None]
    assert files(out) == files(two)


def test_one_process_goes_on_from_two(two: Path, died: Path, tmp_path: Path) -> None:
    out = shutil.copytree(died, tmp_path / "run")
    Witness().run(out, resume=True)
    assert files(out).keys() == files(two).keys()
    assert any("fleet" in line for line in json.loads((out / "run.json").read_text())["changed"])


def test_overrides_of_the_fleet_are_not_the_recipes() -> None:
    fleet, rest = split_overrides(["rl.steps=3", "fleet.learners=2", "fleet.wrap=whole"])
    assert (fleet.learners, fleet.wrap, rest) == (2, "whole", ("rl.steps=3",))
    for wrong in ("fleet.learners=0", "fleet.wrap=halves", "fleet.rollout=2"):
        with pytest.raises(UserError, match="fleet"):
            split_overrides([wrong])


@pytest.mark.parametrize(
    ("learners", "started", "said"),
    [(2, "1", "start all of them by `python -m torch.distributed.run --nproc-per-node 2"), (1, "2", "2 processes")],
)
def test_a_number_of_processes_that_is_not_the_settings_ends_before_work(
    tmp_path: Path, learners: int, started: str, said: str
) -> None:
    command = [sys.executable, "-m", "saccade", "demo", "--out", str(tmp_path / "run")]
    done = run_warm([*command, "--set", f"fleet.learners={learners}"], env={**os.environ, "WORLD_SIZE": started})
    assert done.returncode == 2
    assert said in done.stderr
    assert not (tmp_path / "run").exists()
