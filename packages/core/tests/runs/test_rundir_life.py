import json
import logging
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from saccade.atomic import TEMPORARY_PREFIX, disk_errors, write_bytes_atomic, write_json_atomic
from saccade.checksums import CHECKSUMS
from saccade.errors import MachineError, UserError
from saccade.media.store import MediaStore
from saccade.runs.directory import RunDirectory
from saccade.runs.position import Position
from saccade.runs.records import write_records
from saccade.runs.runinfo import read_info
from saccade.types import Json

SETTINGS: dict[str, Json] = {"rl": {"steps": 30, "betas": [0.9, 0.95]}, "name": "demo"}


def create(path: Path, *, resume: bool = False, settings: dict[str, Json] = SETTINGS) -> RunDirectory:
    return RunDirectory.create(
        path, resume=resume, settings=settings, command=("saccade", "demo"), title="Looks closer"
    )


def test_a_new_run_has_its_settings_and_says_that_it_runs(tmp_path: Path) -> None:
    with create(tmp_path / "runs" / "a") as run:
        assert json.loads(run.paths.settings.read_text()) == SETTINGS
        assert run.info.status == "running"
        assert run.info.title == "Looks closer"
        assert run.info.command == ("saccade", "demo")
        packages = {"saccade", "torch", "transformers", "numpy", "pillow"}
        assert set(run.info.versions) == {"python", "saccade_source"} | packages
        assert read_info(run.paths) == run.info
        assert not run.is_resumed


def test_how_a_run_ended_is_written_down(tmp_path: Path) -> None:
    with create(tmp_path / "a") as run:
        run.finish("failed", "out of memory")
        info = read_info(run.paths)
    assert (info.status, info.error) == ("failed", "out of memory")
    assert info.ended is not None
    with create(tmp_path / "a", resume=True) as run:
        assert (run.info.status, run.info.error, run.info.ended) == ("running", "", None)
        assert run.info.started == info.started
        assert len(run.info.resumed) == 1
        assert run.is_resumed
        run.finish("finished")
        assert read_info(run.paths).status == "finished"


def test_a_run_is_not_overwritten_without_resume(tmp_path: Path) -> None:
    create(tmp_path / "a").close()
    with pytest.raises(UserError, match="Continue the run in it with --resume, choose another --out, or delete"):
        create(tmp_path / "a")


def test_resume_of_nothing_starts_a_run(tmp_path: Path) -> None:
    with create(tmp_path / "absent", resume=True) as run:
        assert not run.is_resumed


def test_a_run_killed_before_it_wrote_its_first_file_can_be_resumed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.mkdir()
    (path / ".lock").write_text("1\n")
    create(path).close()
    (path / "run.json").unlink()
    with create(path, resume=True) as run:
        assert not run.is_resumed


def test_a_directory_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    for resume in (False, True):
        with pytest.raises(UserError, match=r"thesis.tex.*choose another --out"):
            create(tmp_path, resume=resume)
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]


def test_resume_with_other_settings_shows_them_and_changes_nothing(tmp_path: Path) -> None:
    create(tmp_path / "a").close()
    other: dict[str, Json] = {"rl": {"steps": 50, "betas": (0.9, 0.95)}, "name": "demo", "extra": 1}
    with pytest.raises(UserError) as caught:
        create(tmp_path / "a", resume=True, settings=other)
    assert "rl.steps: 30 -> 50\n  extra: (absent) -> 1" in str(caught.value)
    create(tmp_path / "a", resume=True).close()


def test_a_damaged_run_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a"
    create(path).close()
    (path / "settings.json").write_text("{")
    with pytest.raises(UserError, match=r"settings.json is damaged .*Delete it, and --resume goes on"):
        create(path, resume=True)
    # As of a run that an earlier version wrote.
    (path / CHECKSUMS).unlink()
    with pytest.raises(UserError, match=r"settings.json cannot be read"):
        create(path, resume=True)
    (path / "settings.json").write_text("[]")
    with pytest.raises(UserError, match=r"settings.json must hold a JSON object, not list"):
        create(path, resume=True)
    (path / "settings.json").unlink()
    create(path, resume=True).close()
    assert (path / "settings.json").is_file()


def test_a_path_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"file is a file, not a directory; choose another --out"):
        create(tmp_path / "file")
    with pytest.raises(UserError, match=r"is a file, not a directory"):
        create(tmp_path / "file" / "run")


def test_a_place_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(UserError, match=r"cannot be written .*choose another directory with --out"):
        create(Path("/proc/saccade-run"))


def test_two_processes_cannot_write_the_same_run(tmp_path: Path) -> None:
    path = tmp_path / "a"
    code = (
        "import sys; from pathlib import Path; from saccade.runs.directory import RunDirectory\n"
        "run = RunDirectory.create(Path(sys.argv[1]), resume=False, settings={})\n"
        "print('locked', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdin is not None
    assert other.stdout is not None
    with other, other.stdin, other.stdout:
        assert other.stdout.readline() == "locked\n"
        with pytest.raises(UserError, match=rf"being written by another process \(pid {other.pid}\)"):
            create(path, resume=True, settings={})
        other.kill()
        other.wait()
    create(path, resume=True, settings={}).close()


def test_a_closed_run_can_be_opened_again_and_close_is_repeatable(tmp_path: Path) -> None:
    run = create(tmp_path / "a")
    run.close()
    run.close()
    with closing(create(tmp_path / "a", resume=True)) as again:
        assert again.is_resumed


def test_what_a_killed_process_left_unfinished_is_removed(tmp_path: Path) -> None:
    create(tmp_path / "a").close()
    (tmp_path / "a" / f"{TEMPORARY_PREFIX}7-run.json").write_text("{")
    unfinished = tmp_path / "a" / "checkpoints" / f"{TEMPORARY_PREFIX}step"
    unfinished.mkdir()
    (unfinished / "weights").touch()
    create(tmp_path / "a", resume=True).close()
    assert list((tmp_path / "a").rglob(f"{TEMPORARY_PREFIX}*")) == []


def test_rewind_deletes_what_is_newer_than_the_checkpoint(tmp_path: Path) -> None:
    with create(tmp_path / "a") as run:
        positions = [Position(stage=stage, step=step) for stage in ("sft", "rl") for step in (1, 2)]
        for position in positions:
            for path in (run.paths.trajectories(position), run.paths.evaluation(f"{position.stage}-{position.step}")):
                write_records(path, position, [], media=MediaStore(), media_directory=run.paths.media)
        run.rewind(Position(stage="rl", step=1), ("sft", "rl"))
        files = sorted(str(file.relative_to(run.paths.root)) for file in run.paths.root.glob("*/**/*.jsonl"))
        assert files == [
            "evaluations/rl-1.jsonl",
            "evaluations/sft-1.jsonl",
            "evaluations/sft-2.jsonl",
            "trajectories/rl/step-000001.jsonl",
            "trajectories/sft/step-000001.jsonl",
            "trajectories/sft/step-000002.jsonl",
        ]
        run.rewind(None, ("sft", "rl"))
        assert list(run.paths.root.glob("*/**/*.jsonl")) == []


def test_what_is_logged_while_a_run_is_open_goes_to_its_log(tmp_path: Path) -> None:
    logger = logging.getLogger("saccade.train.something")
    with create(tmp_path / "a") as run:
        logger.warning("kept %d groups", 3)
    logger.warning("after")
    text = run.paths.log.read_text()
    assert "WARNING saccade.train.something: kept 3 groups" in text
    assert "after" not in text


def test_the_log_takes_text_that_no_file_can_hold(tmp_path: Path) -> None:
    """In a process of its own: what pytest captures of half a surrogate would stop pytest-xdist."""
    program = (
        "import logging, sys; from pathlib import Path; from saccade.runs.directory import RunDirectory\n"
        "with RunDirectory.create(Path(sys.argv[1]), resume=False, settings={}):\n"
        "    logging.getLogger('saccade.x').warning('said %s', chr(0xd800))\n"
    )
    out = tmp_path / "a"
    subprocess.run([sys.executable, "-c", program, str(out)], check=True, capture_output=True)
    assert (out / "log.txt").read_text().endswith("said \\ud800\n")


def test_an_atomic_write_leaves_no_other_file(tmp_path: Path) -> None:
    write_json_atomic(tmp_path / "x.json", {"a": 1})
    write_json_atomic(tmp_path / "x.json", {"a": 2})
    assert json.loads((tmp_path / "x.json").read_text()) == {"a": 2}
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.json"]
    with pytest.raises(ValueError):
        write_json_atomic(tmp_path / "x.json", {"a": float("nan")})
    assert json.loads((tmp_path / "x.json").read_text()) == {"a": 2}


def test_a_failed_atomic_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    with pytest.raises(UserError, match=r"/x is a directory, where a file is to be written; name a file in it"):
        write_bytes_atomic(tmp_path / "x", b"1")
    assert [entry.name for entry in tmp_path.iterdir()] == ["x"]


def test_a_full_disk_is_the_machines_failure_and_says_how_to_go_on() -> None:
    with (
        pytest.raises(MachineError, match=r"/dev/full: No space left on device; free some space.*--resume"),
        disk_errors(Path("/dev/full")),
        Path("/dev/full").open("wb", buffering=0) as full,
    ):
        full.write(b"x")
