"""Checkpoints on a disk that fills up."""

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from saccade.errors import MachineError, UserError
from saccade.learner.learner import Learner, OptimizerSettings
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.vlm import VisionLanguageModel
from saccade.runs.checkpoints import checkpoints, restore_learner, save_checkpoint
from saccade.runs.position import Position

START = Position(stage="rl", step=1)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 400 KiB."""
    directory = tmp_path / "disk"
    directory.mkdir()
    mount = shutil.which("mount")
    command = [mount or "mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(directory)]
    if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small disk needs root")
    yield directory
    subprocess.run(["umount", str(directory)], check=True)


def trained() -> tuple[VisionLanguageModel, Learner]:
    model = tiny_model(["Which colour?"] * 9, MediaStore(), size=TinySize(hidden=32, mlp=64), vocab_size=300, seed=1)
    learner = Learner(model, OptimizerSettings())
    for parameter in learner.parameters:
        parameter.grad = torch.zeros_like(parameter)
    learner.optimizer.step(1e-6)
    return model, learner


@pytest.mark.parametrize("free_kib", [0, 8, 100, 300])
def test_a_full_disk_is_one_message_and_leaves_no_half_checkpoint(small_disk: Path, free_kib: int) -> None:
    model, learner = trained()
    filler = small_disk / "filler"
    filler.write_bytes(bytes(shutil.disk_usage(small_disk).free - free_kib * 1024))
    with pytest.raises(MachineError, match=os.strerror(errno.ENOSPC)) as caught:
        save_checkpoint(small_disk / "checkpoints", START, model, learner)
    assert "free some space" in str(caught.value)
    assert checkpoints(small_disk / "checkpoints") == []
    assert not [path for path in small_disk.rglob("*") if path.is_file() and path != filler]


def test_a_damaged_optimizer_names_its_file(tmp_path: Path) -> None:
    model, learner = trained()
    checkpoint = save_checkpoint(tmp_path, START, model, learner)
    state = checkpoint.path / "trainer" / "optimizer.pt"
    for content in (b"", b"nonsense", state.read_bytes()[:-2000]):
        state.write_bytes(content)
        with pytest.raises(UserError, match=r"optimizer\.pt cannot be restored: .*delete this checkpoint"):
            restore_learner(checkpoint, learner)
    state.unlink()
    with pytest.raises(UserError, match=r"optimizer\.pt cannot be restored"):
        restore_learner(checkpoint, learner)
