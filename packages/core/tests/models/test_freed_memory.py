"""Freed memory stays with the process: seen by the pages that the system has to give it anew."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from warm import run_warm

PAGES_OF_BLOCKS = """
import resource
import torch
from saccade.models.memory import keep_freed_memory
keeps = keep_freed_memory()
seen = []
for _ in range(6):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    several = [torch.ones(1 << 22) for _ in range(8)]
    del several
    seen.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
print(keeps, min(seen))
"""
"""Eight of 16 MiB: 32,768 pages of 4 KiB."""

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc's settings")


def numbers_of(script: str, **settings: str) -> tuple[str, int]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment | settings, capture_output=True, text=True, check=True
    )
    keeps, pages = done.stdout.split()
    return keeps, int(pages)


def test_what_was_freed_is_used_again() -> None:
    keeps, pages = numbers_of(PAGES_OF_BLOCKS)
    assert keeps == "True"
    assert pages < 100


def test_what_the_user_has_set_up_stays() -> None:
    keeps, pages = numbers_of(PAGES_OF_BLOCKS, MALLOC_TRIM_THRESHOLD_="131072")
    assert keeps == "False"
    # 64 of them where the system gives pages of 2 MiB.
    assert pages >= 64


GIVEN_BACK = """
import torch
from saccade.models.memory import give_freed_memory_back
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 >> 20
blocks = [torch.ones(1 << 15) for _ in range(512)]
kept = blocks[::2]
del blocks
before = resident()
give_freed_memory_back()
print(True, before - resident())
"""
"""Every other one of 64 MiB in blocks of 128 KiB, and how many MiB of them went."""


@pytest.mark.parametrize("settings", [{}, {"MALLOC_TRIM_THRESHOLD_": str(1 << 40)}])
def test_holes_are_given_back_unless_the_user_has_set_up_memory(settings: dict[str, str]) -> None:
    _, freed = numbers_of(GIVEN_BACK, **settings, MALLOC_MMAP_MAX_="0") if settings else numbers_of(GIVEN_BACK)
    assert (freed < 4) if settings else (freed > 16)


LOADED = """
import os, sys
from pathlib import Path
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.checkpoint import LoadSettings
from saccade.models.loading import load_model
from saccade.models.memory import give_freed_memory_back
def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
if sys.argv[2] == "write":
    size = TinySize(hidden=256, mlp=1024, layers=24)
    made = tiny_model(["red"] * 9, MediaStore(), family="internvl", size=size)
    made.hf.bfloat16()
    made.save(Path(sys.argv[1]))
else:
    model = load_model(Path(sys.argv[1]), MediaStore(), LoadSettings(device="cpu", dtype="float32"))
    before = resident()
    give_freed_memory_back()
    print(model.is_tiny, before - resident())
"""


def test_what_loading_a_model_frees_is_given_back(tmp_path: Path) -> None:
    for what in ("write", "read"):
        command = [sys.executable, "-c", LOADED, str(tmp_path / "model"), what]
        done = run_warm(command, check=True)
    is_tiny, freed = done.stdout.split()
    assert is_tiny == "False"
    assert int(freed) < 4 << 20
