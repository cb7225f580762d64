"""Checksums find each kind of damage, and a stranger's file of checksums reaches nothing outside its folder."""

import os
from pathlib import Path

import pytest

from saccade.checksums import (
    CHECKSUMS,
    FileSum,
    damage_in,
    damages_of,
    drop_sums,
    lines_of,
    read_sums,
    refuse_damaged,
    sum_of,
    sum_of_bytes,
    sums_file,
)
from saccade.errors import UserError

WEIGHTS = bytes(range(256)) * 5000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    (made / "trainer").mkdir(parents=True)
    (made / "weights").write_bytes(WEIGHTS)
    (made / "trainer" / "state").write_bytes(b"state")
    (made / "empty").touch()
    (made / CHECKSUMS).write_bytes(sums_file(made))
    return made


def test_a_checksum_is_that_of_the_program_xxhsum() -> None:
    # `printf abc | xxhsum -H2` prints this.
    assert sum_of_bytes(b"abc", "x").xxh3_128 == "06b05ab6733a618578af5f94892f3950"


def test_what_was_written_is_whole_and_what_was_added_does_no_harm(folder: Path) -> None:
    (folder / "README.md").write_text("added by a hub")
    assert damage_in(folder) is None
    assert [one.file for one in read_sums(folder)] == ["empty", "trainer/state", "weights"]


@pytest.mark.parametrize("at", [0, len(WEIGHTS) // 2, len(WEIGHTS) - 1])
def test_each_flipped_bit_is_found(folder: Path, at: int) -> None:
    content = bytearray(WEIGHTS)
    content[at] ^= 1
    (folder / "weights").write_bytes(content)
    assert str(damage_in(folder)) == "weights is damaged (its bytes are not those that were written)"
    with pytest.raises(UserError, match=r"weights is damaged .* accepted by `saccade check .* --accept`"):
        refuse_damaged(folder)
    refuse_damaged(folder, of=lambda name: name.startswith("trainer/"))


def test_files_of_another_length_and_missing_ones_are_found(folder: Path) -> None:
    (folder / "weights").write_bytes(WEIGHTS[:-1])
    (folder / "trainer" / "state").unlink()
    (folder / "empty").write_bytes(b"0")
    assert [(one.file, one.kind) for one in damages_of(folder, read_sums(folder))] == [
        ("empty", "damaged"),
        ("trainer/state", "missing"),
        ("weights", "damaged"),
    ]


@pytest.mark.parametrize("lines", [0, 1, 2, 3])
def test_a_file_of_checksums_that_lost_lines_is_damaged_itself(folder: Path, lines: int) -> None:
    path = folder / CHECKSUMS
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:lines]))
    assert str(damage_in(folder)) == f"{CHECKSUMS} is damaged (lines are missing)"


def test_a_flipped_bit_in_the_checksums_is_damage_too(folder: Path) -> None:
    content = (folder / CHECKSUMS).read_bytes()
    for at in range(len(content)):
        (folder / CHECKSUMS).write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        assert damage_in(folder) is not None, content[max(0, at - 20) : at + 1]


def test_lines_of_dropped_files_are_taken_out(folder: Path) -> None:
    drop_sums(folder, lambda name: name.startswith("trainer/"))
    (folder / "trainer" / "state").unlink()
    assert damage_in(folder) is None
    (folder / CHECKSUMS).write_bytes(b"\xff\n")
    drop_sums(folder, lambda _: True)
    assert (folder / CHECKSUMS).read_bytes() == b"\xff\n"


def test_a_file_that_grows_is_whole_by_its_parts(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b"one\n")
    parts = [sum_of(path, path.name, start=0)]
    path.write_bytes(b"one\ntwo\n")
    parts.append(sum_of(path, path.name, start=4))
    path.write_bytes(b"one\ntwo\nthree")
    assert damages_of(tmp_path, parts) == []
    path.write_bytes(b"one\ntwO\nthree")
    assert "bytes 4 to 8 are not those" in str(damages_of(tmp_path, parts)[0])
    path.write_bytes(b"one\n")
    assert "fewer than were written" in str(damages_of(tmp_path, parts)[0])


def test_of_two_lines_about_a_file_either_may_hold(tmp_path: Path) -> None:
    before, after = sum_of_bytes(b"before", "run.json"), sum_of_bytes(b"after", "run.json")
    for content, expected in ((b"before", 0), (b"after", 0), (b"befor", 1), (b"aftex", 1)):
        (tmp_path / "run.json").write_bytes(content)
        assert len(damages_of(tmp_path, [before, after])) == expected


OUTSIDE = ("../secret", "/etc/passwd", "a/../../secret", "", CHECKSUMS, ".unfinished-1-x", "a\0b")


@pytest.mark.parametrize("name", OUTSIDE)
def test_names_outside_the_folder_are_refused_unread(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "secret")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / CHECKSUMS).write_bytes(lines_of([FileSum(file=name, bytes=3, xxh3_128="0" * 32)]))
    with pytest.raises(UserError, match="which is not in this folder"):
        read_sums(folder)


@pytest.mark.parametrize(
    "line",
    [
        b'{"file": "x", "bytes": 1e400, "xxh3_128": ""}',
        b'{"file": "x", "bytes": ' + b"9" * 5000 + b', "xxh3_128": ""}',
        b'{"file": "\\ud800", "bytes": 1, "xxh3_128": ""}',
        b'{"file": "x", "bytes": true, "xxh3_128": ""}',
        b'{"files": -1}',
        b'{"files": "a"}',
        b'{"file": ["x"]}',
        b"[" * 100_000,
        b"\xff\xfe",
    ],
)
def test_lines_that_are_none_are_named(tmp_path: Path, line: bytes) -> None:
    (tmp_path / CHECKSUMS).write_bytes(line + b"\n")
    with pytest.raises(UserError, match=f"{CHECKSUMS} cannot be read"):
        read_sums(tmp_path)


@pytest.mark.parametrize(("start", "count"), [(None, 1 << 62), (-5, 3), (1 << 62, 5), (0, -7), (2, 1 << 62)])
def test_numbers_that_no_file_has_cost_nothing(tmp_path: Path, start: int | None, count: int) -> None:
    (tmp_path / "x").write_bytes(b"12345")
    line = FileSum(file="x", bytes=count, xxh3_128="0" * 32, start=start)
    assert [one.kind for one in damages_of(tmp_path, [line])] == ["damaged"]


def test_overlapping_parts_are_not_read_again_and_again(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(bytes(1000))
    lines = [FileSum(file="x", bytes=900, xxh3_128="0" * 32, start=start) for start in range(100)]
    assert "fewer than were written" in str(damages_of(tmp_path, lines)[0])


def test_pipes_folders_and_endless_files_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "endless").symlink_to("/dev/zero")
    (tmp_path / "kernel").symlink_to("/proc/self/maps")
    (tmp_path / "loop").symlink_to("loop")
    names = ("pipe", "folder", "endless", "kernel", "loop")
    found = damages_of(tmp_path, [FileSum(file=name, bytes=0, xxh3_128="0" * 32) for name in names])
    assert [one.kind for one in found] == ["damaged"] * 5
    os.mkfifo(tmp_path / CHECKSUMS)
    assert str(damage_in(tmp_path)) == f"{CHECKSUMS} is damaged (it is a FIFO, not a file)"


def test_a_file_that_is_a_link_is_read_as_in_the_cache_of_a_hub(folder: Path) -> None:
    blob = folder.parent / "blob"
    (folder / "weights").rename(blob)
    (folder / "weights").symlink_to("../blob")
    assert damage_in(folder) is None
