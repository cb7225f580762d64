"""Runs whose files were damaged: resumed from what is whole, to the same bytes, or with words that say what to do."""

import logging
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from dying_run import Killed
from test_run_derive import Deriving
from test_run_stages import Witness, files

from saccade.checksums import CHECKSUMS
from saccade.errors import UserError
from saccade.runs.checking import check


def flip(path: Path, *, at: float = 0.5, bit: int = 0) -> None:
    content = bytearray(path.read_bytes())
    content[int((len(content) - 1) * at)] ^= 1 << bit
    path.write_bytes(content)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    Witness().run(out)
    assert [one.damages for one in check(out)] == [()] * 4
    return files(out)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that died in its fourth step of reinforcement."""
    out = tmp_path_factory.mktemp("killed") / "run"
    with pytest.raises(Killed):
        Witness(die_at=3).run(out)
    return out


@pytest.fixture
def run(killed: Path, tmp_path: Path) -> Path:
    return shutil.copytree(killed, tmp_path / "run")


DAMAGES: dict[str, Callable[[Path], object]] = {
    "model.safetensors": lambda newest: flip(newest / "model.safetensors"),
    "model.safetensors ": lambda newest: flip(newest / "model.safetensors", at=0.9, bit=6),
    "optimizer.pt": lambda newest: flip(newest / "trainer" / "optimizer.pt", at=0.6),
    "tokenizer.json": lambda newest: flip(newest / "tokenizer.json", at=0.3),
    "config.json": lambda newest: (newest / "config.json").write_text("{"),
    "preprocessor_config.json": lambda newest: (newest / "preprocessor_config.json").unlink(),
    "position.json": lambda newest: shutil.rmtree(newest / "trainer"),
    CHECKSUMS: lambda newest: (newest / CHECKSUMS).write_bytes(b""),
}


@pytest.mark.parametrize("file", DAMAGES)
def test_a_damaged_newest_checkpoint_is_passed_over_and_the_run_ends_with_the_same_bytes(
    undisturbed: dict[str, bytes], run: Path, caplog: pytest.LogCaptureFixture, file: str
) -> None:
    DAMAGES[file](run / "checkpoints" / "rl-000003")
    [named] = [one for one in check(run) if one.damages]
    assert named.path.name == "rl-000003"
    with caplog.at_level(logging.WARNING):
        Witness().run(run, resume=True)
    [said] = [one.getMessage() for one in caplog.records if "going on from" in one.getMessage()]
    assert file.strip() in said
    assert "rl-000002" in said
    shutil.rmtree(run / "checkpoints" / "rl-000003.set-aside")
    assert files(run) == undisturbed
    assert not any(one.damages for one in check(run))


@pytest.mark.parametrize(
    "damaged", [("sft-000002",), ("rl-000002", "rl-000003", "sft-000002")], ids=["reference", "all"]
)
def test_where_no_checkpoint_is_left_the_advice_leads_to_the_same_bytes(
    undisturbed: dict[str, bytes], run: Path, damaged: tuple[str, ...]
) -> None:
    for name in damaged:
        flip(run / "checkpoints" / name / "model.safetensors")
    with pytest.raises(UserError, match="no older checkpoint of this run is whole") as refused:
        Witness().run(run, resume=True)
    told = re.search(r"\(rm -r (.*?)\)", str(refused.value))
    assert told is not None
    for path in told[1].split():
        shutil.rmtree(path)
    Witness().run(run, resume=True)
    assert files(run) == undisturbed


def test_a_removed_reference_is_not_replaced_by_another_policy(run: Path) -> None:
    shutil.rmtree(run / "checkpoints" / "sft-000002")
    with pytest.raises(UserError, match="needs the last checkpoint of stage 'sft', which is missing"):
        Witness().run(run, resume=True)


RECORDS: dict[str, Callable[[Path], object]] = {
    "trajectories/rl/step-000001.jsonl": lambda path: flip(path, at=0.4),
    "trajectories/rl/step-000001.jsonl ": lambda path: flip(path, at=0.001),
    "trajectories/rl/step-000002.jsonl": lambda path: path.unlink(),
    "evaluations/after_sft.jsonl": lambda path: path.write_bytes(path.read_bytes()[:-9]),
    "metrics.jsonl": lambda path: path.write_bytes(path.read_bytes().replace(b'"step": 2, ', b'"step": 2,  ', 1)),
    "metrics.jsonl ": lambda path: path.unlink(),
    "metrics.jsonl  ": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
}


@pytest.mark.parametrize("file", RECORDS)
def test_damaged_records_are_named_before_and_after_the_run_goes_on(
    undisturbed: dict[str, bytes], run: Path, caplog: pytest.LogCaptureFixture, file: str
) -> None:
    name = file.strip()
    RECORDS[file](run / name)
    assert [damage.file for one in check(run) for damage in one.damages] == [name]
    with caplog.at_level(logging.WARNING):
        Witness().run(run, resume=True)
    assert [one for one in caplog.records if f"run/{name} is " in one.getMessage()]
    assert [damage.file for one in check(run) for damage in one.damages] == [name]
    ended = files(run)
    assert {one for one in undisturbed if ended.get(one) != undisturbed[one]} <= {name}


def test_pictures_that_are_lost_or_damaged_are_named(run: Path) -> None:
    first, second, *_ = sorted((run / "media").iterdir())
    first.unlink()
    flip(second)
    named = [(damage.file, damage.kind) for one in check(run) for damage in one.damages]
    assert sorted(named) == [(f"media/{first.name}", "missing"), (f"media/{second.name}", "damaged")]


def test_what_a_run_of_an_earlier_version_wrote_is_resumed_without_a_word(
    undisturbed: dict[str, bytes], run: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for path in run.rglob(CHECKSUMS):
        path.unlink()
    shutil.rmtree(run / "line_sums")
    assert [(one.has_checksums, one.damages) for one in check(run)] == [(False, ())] * 4
    with caplog.at_level(logging.WARNING):
        Witness().run(run, resume=True)
    assert [one.getMessage() for one in caplog.records if "'witness'" not in one.getMessage()] == []
    assert files(run) == undisturbed


def test_an_artefact_is_not_worked_out_from_damaged_records(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(Killed):
        Deriving(Witness(die_at=2)).run(out)
    path = out / "derived" / "words.json"
    path.write_text(path.read_text().replace(": ", ":  ", 1))
    with pytest.raises(UserError, match=r"words\.json is damaged, and what follows is worked out from it"):
        Deriving().run(out, resume=True)


def test_a_damaged_sample_of_a_journal_is_played_again(undisturbed: dict[str, bytes], run: Path) -> None:
    with pytest.raises(Killed):
        Witness(die_at=3).run(run, resume=True)
    whole = (run / "journal" / "after_sft.jsonl").read_bytes()
    shutil.rmtree(run / "checkpoints" / "rl-000002")
    shutil.rmtree(run / "checkpoints" / "rl-000003")
    (run / "journal" / "after_sft.jsonl").write_bytes(whole.replace(b'"text": "', b'"text": "!', 1))
    assert [str(damage) for one in check(run) for damage in one.damages] == [
        "journal/after_sft.jsonl is damaged (line 1)"
    ]
    Witness().run(run, resume=True)
    assert files(run) == undisturbed
    assert not any(one.damages for one in check(run))
