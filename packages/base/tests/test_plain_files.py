"""Files from strangers: whatever lies in the place of one, every reader says so and none waits for it."""

import io
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from odd_files import ODD_FILES, answer_of
from saccade.atomic import read_errors
from saccade.config.config_file import read_config
from saccade.curation.rows import read_pass_rates
from saccade.errors import UserError
from saccade.evaluation.exports.lmms_eval import read_sample_log
from saccade.evaluation.exports.vlmevalkit import read_predictions
from saccade.evaluation.journal import SampleJournal
from saccade.evaluation.judging import read_labels
from saccade.evaluation.prices import read_price
from saccade.evaluation.sample_files import read_samples
from saccade.media.store import MediaStore
from saccade.models.checkpoint import SHIPPED
from saccade.models.loading import load_model
from saccade.models.shape import read_shape
from saccade.plain_files import (
    NotPlainError,
    check_plain_below,
    open_plain,
    open_plain_text,
    plain_bytes,
    plain_lines,
    plain_text,
)
from saccade.protocols.linguistic_tools import read_toolbox
from saccade.retrieval.store import open_index
from saccade.runs.directory import RunDirectory
from saccade.runs.metrics import read_metrics
from saccade.runs.records import read_records
from saccade.runs.runinfo import RunPaths, read_info
from saccade.tasks.files import read_tasks
from saccade.tools.catalogue.settings import read_tools_file
from saccade.vision_models.kinds import checkpoint_digest, kind_of

TINY = next(iter(SHIPPED))

READERS: dict[str, Callable[[Path], object]] = {
    "config.yaml": read_config,
    "tools.toml": read_tools_file,
    "prices.toml": lambda path: read_price(path, "m"),
    "rows.jsonl": lambda path: read_tasks(path, media=MediaStore()),
    "rows.csv": lambda path: read_tasks(path, media=MediaStore()),
    "rows.json": lambda path: read_tasks(path, media=MediaStore()),
    "rows.parquet": lambda path: read_tasks(path, media=MediaStore()),
    "folder/rows.jsonl": lambda path: read_tasks(path.parent, media=MediaStore()),
    "records.jsonl": lambda path: list(read_records(path)),
    "metrics.jsonl": lambda path: list(read_metrics(path)),
    "run.json": lambda path: read_info(RunPaths(root=path.parent)),
    "samples.jsonl": read_samples,
    "labels.jsonl": read_labels,
    "labels.csv": read_labels,
    "rates.jsonl": read_pass_rates,
    "log.jsonl": read_sample_log,
    "log.tsv": read_predictions,
    "toolbox.json": read_toolbox,
    "journal/test.jsonl": lambda path: SampleJournal(
        path, media=MediaStore(), media_directory=path.parent.parent / "media"
    ),
    "index/index.json": lambda path: open_index(path.parent),
    "checkpoint/config.json": lambda path: kind_of(path.parent),
    "policy/config.json": lambda path: read_shape(path.parent),
}


@pytest.mark.parametrize("kind", sorted(set(ODD_FILES) - {"hole"}))
@pytest.mark.parametrize("name", READERS)
def test_a_reader_refuses_what_is_no_file_in_words(tmp_path: Path, name: str, kind: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    ODD_FILES[kind](path)
    found = answer_of(lambda: READERS[name](path))
    # Where a file may be missing a link to itself may be too.
    assert isinstance(found, UserError) or (kind == "loop" and name == "journal/test.jsonl"), found


@pytest.mark.parametrize("name", ["config.yaml", "rows.jsonl", "records.jsonl", "metrics.jsonl", "run.json"])
def test_a_file_that_is_one_hole_takes_no_memory(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    ODD_FILES["hole"](path)
    assert isinstance(answer_of(lambda: READERS[name](path)), Exception)


@pytest.mark.parametrize("kind", sorted(set(ODD_FILES) - {"hole"}))
def test_a_picture_of_a_row_that_is_no_file_is_a_bad_row(tmp_path: Path, kind: str) -> None:
    ODD_FILES[kind](tmp_path / "picture.png")
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps({"question": "q", "answer": "a", "image": "picture.png"}) + "\n")
    found = answer_of(lambda: read_tasks(rows, media=MediaStore()))
    assert isinstance(found, UserError)
    assert "row 1" in str(found)


@pytest.mark.parametrize("kind", ["fifo", "socket", "device"])
@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "preprocessor_config.json", "inner/weights"])
def test_a_checkpoint_is_looked_through_before_a_library_opens_its_files(tmp_path: Path, name: str, kind: str) -> None:
    (tmp_path / "inner").mkdir()
    for file in SHIPPED[TINY].iterdir():
        if file.is_file():
            (tmp_path / file.name).symlink_to(file)
    path = tmp_path / name
    path.unlink(missing_ok=True)
    ODD_FILES[kind](path)
    found = answer_of(lambda: load_model(tmp_path, MediaStore()))
    assert isinstance(found, UserError)
    assert str(path) in str(found)
    assert "not a file" in str(found)


@pytest.mark.parametrize("name", ["metrics.jsonl", "log.txt", ".lock", "trajectories/rl/step-000001.jsonl"])
def test_a_run_with_a_fifo_is_not_resumed(tmp_path: Path, name: str) -> None:
    with RunDirectory.create(tmp_path, resume=False, settings={}, command=("x",)):
        pass
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    found = answer_of(lambda: RunDirectory.create(tmp_path, resume=True, settings={}, command=("x",)))
    assert isinstance(found, UserError)
    assert f"{path}: it is a FIFO, not a file" in str(found)


def test_a_plain_file_is_read_as_it_is(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_bytes("a\r\nb\rc\nä".encode())
    link.symlink_to(file)
    for path in (file, link):
        assert plain_bytes(path) == path.read_bytes()
        assert plain_text(path) == path.read_text(encoding="utf-8") == "a\nb\nc\nä"
        with open_plain(path) as opened, open_plain_text(path, newline="") as text:
            assert list(plain_lines(opened)) == [b"a\r\n", b"b\rc\n", "ä".encode()]
            assert text.read() == "a\r\nb\rc\nä"
    file.write_bytes(b"")
    assert (plain_bytes(file), plain_text(file)) == (b"", "")


def test_a_file_of_more_bytes_than_are_allowed_is_refused_at_its_size(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"12345")
    assert plain_bytes(file, 5) == b"12345"
    with pytest.raises(NotPlainError, match="more than 4 bytes"):
        plain_bytes(file, 4)


def test_what_is_no_file_is_the_users_to_mend_and_a_disk_is_not_blamed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with (
        pytest.raises(UserError, match="cannot be read \\(it is a FIFO, not a file\\)"),
        read_errors(tmp_path / "fifo"),
    ):
        plain_bytes(tmp_path / "fifo")


def test_a_folder_of_files_folders_and_links_to_them_is_let_be(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "file").touch()
    (tmp_path / "link").symlink_to("inner/file")
    (tmp_path / "around").symlink_to(tmp_path)
    (tmp_path / "broken").symlink_to("nowhere")
    (tmp_path / ".git").mkdir()
    ODD_FILES["socket"](tmp_path / ".git" / "fsmonitor--daemon.ipc")
    check_plain_below(tmp_path)
    check_plain_below(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "inner" / "fifo")
    with pytest.raises(UserError, match="inner/fifo: it is a FIFO"):
        check_plain_below(tmp_path)


def test_the_digest_of_a_checkpoint_needs_plain_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "weights.bin")
    assert isinstance(answer_of(lambda: checkpoint_digest(tmp_path)), NotPlainError)


def test_a_picture_that_is_read_is_what_it_was_before(tmp_path: Path) -> None:
    held = io.BytesIO()
    Image.new("RGB", (3, 2), "red").save(held, "PNG")
    (tmp_path / "red.png").write_bytes(held.getvalue())
    media = MediaStore()
    assert media.get(media.add_file(tmp_path / "red.png")).size == (3, 2)
