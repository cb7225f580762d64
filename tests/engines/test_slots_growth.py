"""The cache grows without holding old and new storage at once: seen by the peak memory of a process of its own."""

import subprocess
import sys

GROWTH = """
import torch
from saccade.engines.slots import SlotCache

def kib(name):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name))

cache = SlotCache(layer_count=16, kv_heads=4, head_dim=64, dtype=torch.float32, device=torch.device("cpu"), moves=MOVES)
cache.take(())
torch.set_num_threads(1)
held = cache.reserve(4096)
held.uniform_()
first = held[0, 3, 0, 1, 5:9].clone(), held[1, 15, 0, 3, 4095].clone()
del held
before = kib("VmRSS")
grown = cache.reserve(8000)
assert torch.equal(grown[0, 3, 0, 1, 5:9], first[0]) and torch.equal(grown[1, 15, 0, 3, 4095], first[1])
print((kib("VmHWM") - before) // 1024, grown.numel() * 4 // 2**20)
"""


def test_a_growing_cache_never_holds_its_content_twice() -> None:
    for moves in (True, False):
        program = GROWTH.replace("MOVES", str(moves))
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        extra_mib, grown_mib = map(int, done.stdout.split())
        assert grown_mib == 256
        # 128 MiB were held; with them still there it would be 256.
        assert extra_mib < 160
