"""Memory of the cache on a CPU, seen by the peak of a process of its own: what rows hold, and nothing else."""

import sys

from warm import run_warm

COMMON = """
import torch
from saccade.engines.slots import SlotCache

def mib(name):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name)) // 1024

def cache(**expected):
    return SlotCache(
        layer_count=16, kv_heads=4, head_dim=64, dtype=torch.float32, device=torch.device("cpu"), **expected
    )

torch.set_num_threads(1)
before = mib("VmRSS")
"""
GROWTH = """
rows = cache()
slot = rows.take(())
held = rows.reserve(4096)
held[:, :, 0, :, :4096].uniform_()
slot.length = 4096
first = held[0, 3, 0, 1, 5:9].clone(), held[1, 15, 0, 3, 4095].clone()
del held
grown = rows.reserve(8000)
assert torch.equal(grown[0, 3, 0, 1, 5:9], first[0]) and torch.equal(grown[1, 15, 0, 3, 4095], first[1])
print(mib("VmHWM") - before)
"""
ONE_LONG_ROW = """
rows = cache(expected_rows=64, longest=100_000)
slots = [rows.take(()) for _ in range(8)]
storage = rows.reserve(4096)
for slot, length in zip(slots, (4096, *[64] * 7)):
    storage[:, :, slot.place, :, :length].uniform_()
    slot.length = length
held = mib("VmRSS") - before
rows.arrange(slots[::-1], [])
moved = mib("VmHWM") - before
rows.give_back(slots[0])
print(held, moved, mib("VmRSS") - before)
"""


def printed(program: str) -> list[int]:
    done = run_warm([sys.executable, "-c", COMMON + program], check=True)
    return [int(number) for number in done.stdout.split()]


def test_a_cache_that_must_be_moved_never_holds_its_content_twice() -> None:
    [peak] = printed(GROWTH)
    # 128 MiB are held; twice that would be 256. Pages of torch's code that a first call maps are counted too.
    assert peak < 210


def test_one_long_row_makes_no_other_longer() -> None:
    held, moved, given_back = printed(ONE_LONG_ROW)
    # The long row has 128 MiB; eight rows of its length would have 1,024.
    assert held < 210
    # Rows change places by way of copies: the long one is there twice for a moment.
    assert moved < 340
    assert given_back < 90
