"""A run is copied to a folder elsewhere as it is saved, and goes on from there with the same bytes."""

import json
import os
from functools import partial
from pathlib import Path
from typing import IO, ClassVar

import fsspec
import pytest
from fsspec.implementations.local import LocalFileSystem
from test_run_stages import Witness, files

from saccade.cli import run_command
from saccade.config.tracking import TrackingSettings
from saccade.errors import SaccadeError, UserError
from saccade.learner.processes import Company
from saccade.runs.progress import Progress
from saccade.runs.restoring import open_saver, restore
from saccade.runs.save_folder import SaveFolder
from saccade.runs.saver import Saver
from saccade.testing.ranks import in_ranks
from saccade.train.run import run_plan


class Odd(LocalFileSystem):
    """A disk that fails: the process ends as save 3 becomes the newest; what ``refused`` names may not be written."""

    protocol = "odd"
    refused = ""
    breaks_once: ClassVar[set[str]] = set()

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(super()._strip_protocol(path.removeprefix("odd://")))

    def open(self, path: str, mode: str = "rb", **options: object) -> IO[bytes]:
        if mode == "wb" and path.endswith("saves/000003.json"):
            os._exit(9)
        if mode == "wb" and Odd.refused and Odd.refused in path:
            raise PermissionError(f"{path} may not be written")
        if mode == "wb" and path in Odd.breaks_once:
            Odd.breaks_once.discard(path)
            raise TimeoutError("no answer")
        return super().open(path, mode, **options)


fsspec.register_implementation("odd", Odd, clobber=True)


def plays(out: Path, settings: TrackingSettings, company: Company | None = None) -> None:
    witness = Witness()
    run_plan(
        witness.plan(), out=out, media=witness.media, seed=7, resume=True, progress=Progress("quiet"), tracking=settings
    )


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole") / "run"
    Witness().run(out)
    return out


def test_a_run_killed_before_its_save_is_named_goes_on_elsewhere_with_the_same_bytes(
    whole: Path, tmp_path: Path
) -> None:
    store = tmp_path / "bucket"
    [died] = in_ranks(1, partial(plays, tmp_path / "here", TrackingSettings(save_folder=f"odd://{store}")))
    assert isinstance(died, ChildProcessError)
    newest = SaveFolder(f"file://{store}").newest()
    assert newest is not None
    assert newest.number == 2
    named = {one.file.split("/")[1] for one in newest.files if one.file.startswith("checkpoints/")}
    # A later checkpoint is in the bucket, and nobody goes by it.
    assert named < {path.name for path in (store / "checkpoints").iterdir()}
    settings = TrackingSettings(save_folder=f"file://{store}")
    restore(settings, tmp_path / "there")
    assert {path.name for path in (tmp_path / "there" / "checkpoints").iterdir()} == named
    plays(tmp_path / "there", settings)
    assert files(tmp_path / "there") == files(whole)
    assert json.loads((tmp_path / "there" / "run.json").read_text())["status"] == "finished"
    restore(settings, tmp_path / "copy")
    assert names(tmp_path / "copy") == names(tmp_path / "there") - {".lock"}
    assert all((tmp_path / "copy" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()
               for name in names(tmp_path / "copy"))  # fmt: skip
    newest = SaveFolder(f"file://{store}").newest()
    assert newest is not None
    # Of checkpoints and saves the bucket has those of the finished run alone.
    kept = {one.at for one in newest.files} | {f"saves/{newest.number:06d}.json", "saves/probe"}
    assert {one for one in names(store) - kept if one.startswith(("checkpoints/", "saves/"))} == set()
    assert kept <= names(store)


def test_without_records_a_run_goes_on_from_its_checkpoints(whole: Path, tmp_path: Path) -> None:
    settings = TrackingSettings(save_folder=f"odd://{tmp_path / 'bucket'}", save_records=False)
    in_ranks(1, partial(plays, tmp_path / "here", settings))
    assert not (tmp_path / "bucket" / "trajectories").exists()
    plays(tmp_path / "there", TrackingSettings(save_folder=f"file://{tmp_path / 'bucket'}", save_records=False))
    last = Path("checkpoints/rl-000004/model.safetensors")
    assert (tmp_path / "there" / last).read_bytes() == (whole / last).read_bytes()


def small_run(root: Path, started: str = "today") -> Path:
    (root / "checkpoints" / "rl-000001").mkdir(parents=True)
    (root / "checkpoints" / "rl-000001" / "weights").write_bytes(bytes(range(200)))
    info = {"status": "running", "command": [], "started": started, "versions": {}, "title": ""}
    (root / "run.json").write_text(json.dumps(info))
    (root / "metrics.jsonl").write_text("one\n")
    return root


def saver(url: str, root: Path, *, is_resumed: bool = False) -> Saver:
    opened = open_saver(TrackingSettings(save_folder=url), root, is_resumed=is_resumed)
    assert opened is not None
    return opened


def test_a_save_that_fails_is_counted_and_the_next_one_brings_what_is_missing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run, url = small_run(tmp_path / "run"), f"odd://{tmp_path / 'bucket'}"
    with saver(url, run) as copies:
        Odd.refused = "weights"
        copies.save()
        copies.wait()
        Odd.refused = ""
        assert copies.failed == 1
        assert "may not be written; the next checkpoint tries again" in caplog.text
        assert SaveFolder(url).newest() is None
        with (run / "metrics.jsonl").open("a") as more:
            more.write("two\n")
        Odd.breaks_once = {f"{tmp_path}/bucket/metrics.jsonl"}
        copies.save()
        copies.wait()
    assert (copies.failed, Odd.breaks_once) == (1, set())
    restore(TrackingSettings(save_folder=url), tmp_path / "copy")
    assert (tmp_path / "copy" / "metrics.jsonl").read_text() == "one\ntwo\n"
    assert names(tmp_path / "copy") == names(run)


def test_a_file_that_changes_leaves_the_save_before_whole_until_the_next_is_named(tmp_path: Path) -> None:
    run, store = small_run(tmp_path / "run"), tmp_path / "bucket"
    with saver(f"file://{store}", run) as copies:
        copies.save()
        copies.wait()
        first = SaveFolder(f"file://{store}").newest()
        (run / "metrics.jsonl").write_text("one\ntwo\n")
        (run / "checkpoints" / "rl-000001").rename(run / "checkpoints" / "rl-000002")
        Odd.refused = "saves/000002"
        with saver(f"odd://{store}", run, is_resumed=True) as torn:
            torn.save()
        Odd.refused = ""
        assert SaveFolder(f"file://{store}").newest() == first
        restore(TrackingSettings(save_folder=f"file://{store}"), tmp_path / "copy")
        assert (tmp_path / "copy" / "metrics.jsonl").read_text() == "one\n"
        copies.save()
    assert not (store / "checkpoints" / "rl-000001" / "weights").exists()
    assert (store / "checkpoints" / "rl-000002" / "weights").read_bytes() == bytes(range(200))


def test_another_folder_than_the_runs_own_is_refused(tmp_path: Path) -> None:
    run, url = small_run(tmp_path / "run"), "memory://runs/one"
    with saver(url, run) as copies:
        copies.save()
    with pytest.raises(UserError, match="holds another run; name a folder of this run's own"):
        saver(url, run)
    with pytest.raises(UserError, match="holds another run"):
        saver(url, small_run(tmp_path / "other", "tomorrow"), is_resumed=True)
    with saver(url, run, is_resumed=True) as again:
        again.save()
    restore(TrackingSettings(save_folder=url), run)
    restore(TrackingSettings(save_folder="memory://runs/none"), tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"file": "../outside"},
        {"file": "/tmp/outside"},
        {"file": "checkpoints/../../outside"},
        {"file": ".lock"},
        {"file": "elsewhere/outside"},
        {"file": "checkpoints/.unfinished-1/outside"},
        {"at": "../secret"},
        {"at": "again/../../secret"},
        {"xxh3_128": "../../secret", "at": "again/../../secret/run.json"},
        {"bytes": -1},
        {"bytes": 3},
        {"file": "run.json/inside", "at": "run.json/inside"},
    ],
    ids=str,
)
def test_a_bucket_of_a_strangers_reaches_nothing_outside(tmp_path: Path, change: dict[str, object]) -> None:
    store, out = tmp_path / "bucket", tmp_path / "in" / "run"
    with saver(f"file://{store}", small_run(tmp_path / "run")) as copies:
        copies.save()
    (tmp_path / "secret").write_text("secret")
    named = json.loads((store / "saves" / "000001.json").read_text())
    target = next(one for one in named["files"] if one["file"] == "run.json")
    named["files"].append({**target, **change})
    if "bytes" in change:
        named["files"].remove(target)
    (store / "saves" / "000001.json").write_text(json.dumps(named))
    before = names(tmp_path)
    with pytest.raises(SaccadeError, match=r"tracking\.save_folder="):
        restore(TrackingSettings(save_folder=f"file://{store}"), out)
    assert names(tmp_path) == before


def test_a_damaged_file_is_refused_and_a_torn_save_passed_over(tmp_path: Path) -> None:
    store = tmp_path / "bucket"
    settings = TrackingSettings(save_folder=f"file://{store}")
    with saver(settings.save_folder, small_run(tmp_path / "run")) as copies:
        copies.save()
    (store / "saves" / "000002.json").write_text('{"number": 2, "files": [{"fi')
    restore(settings, tmp_path / "copy")
    assert names(tmp_path / "copy") == names(tmp_path / "run")
    (store / "checkpoints" / "rl-000001" / "weights").write_bytes(bytes(reversed(range(200))))
    with pytest.raises(UserError, match="checkpoints/rl-000001/weights is not what was saved"):
        restore(settings, tmp_path / "other")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("s3://bucket/run", "pip install s3fs for s3://, gcsfs for gs://"),
        ("gs://bucket/run", "pip install s3fs for s3://, gcsfs for gs://"),
        ("nowhere://bucket/run", "nowhere"),
    ],
)
def test_a_url_that_nothing_opens_ends_the_command_before_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], url: str, said: str
) -> None:
    command = ["demo", "--out", str(tmp_path / "run"), "--set", f"tracking.save_folder={url}"]
    assert run_command(command) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "run").exists()
