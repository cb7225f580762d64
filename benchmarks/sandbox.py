"""The sandbox beside what people use today: a Jupyter kernel per trajectory, a fresh ``python -c`` per call.

    python benchmarks/sandbox.py [--sessions 20] [--runs 100] [--live 200] [--json studies/sandbox/speed.json]

Everything in one run on the same machine, alternating where two are compared: starting a session; a small run, a crop
and a plot in a session that is up; small runs a second from many threads; the memory of many live sessions, as the sum
of proportional set sizes over all processes of the sandbox. Neither peer isolates or rolls back anything.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from jupyter_client.manager import KernelManager
from PIL import Image

from saccade.sandbox import Sandbox, Session

IMPORTS = """import numpy as np, cv2
from PIL import Image
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
"""
SMALL = "x = 1"
CROP = "img = Image.open('input_image.png')\nimg.crop((100, 100, 400, 400)).resize((448, 448)).save('crop.png')"
PLOT = "plt.figure(); plt.plot([1, 2, 3], [2, 4, 9]); plt.savefig('plot.png'); plt.close('all')"
DECODE = "from PIL import Image\nimg = Image.open('input_image.png').convert('RGB')\npart = img.crop((9, 9, 300, 300))"
CODE = {"small": SMALL, "crop": CROP, "plot": PLOT}


class Kernel:
    """A Jupyter kernel in the picture's folder, with the libraries imported."""

    def __init__(self, folder: Path) -> None:
        self._manager = KernelManager()
        self._manager.start_kernel(cwd=str(folder))
        self._client = self._manager.client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=60)
        self.run(IMPORTS)

    def run(self, code: str) -> None:
        reply = self._client.execute_interactive(code, timeout=60, output_hook=lambda _: None)
        assert reply["content"]["status"] == "ok", reply["content"]

    def close(self) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)


def fresh_python(code: str, folder: Path) -> None:
    """What a stateless tool server does: nothing is warm, nothing is kept. Only what the code needs is imported."""
    needed = {SMALL: "", CROP: "from PIL import Image\n"}.get(code, IMPORTS)
    subprocess.run([sys.executable, "-c", needed + code], cwd=folder, check=True, capture_output=True)


def milliseconds(operation: Callable[[], object]) -> float:
    start = time.perf_counter()
    operation()
    return 1e3 * (time.perf_counter() - start)


def spread(times_ms: list[float]) -> dict[str, float]:
    ordered = sorted(times_ms)
    return {
        "median_ms": round(statistics.median(ordered), 2),
        "p95_ms": round(ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))], 2),
        "n": len(ordered),
    }


def run_in(session: Session, code: str) -> None:
    result = session.run(code, timeout_s=30.0)
    assert result.ok, result.error


def starts(sandbox: Sandbox, picture: bytes, folder: Path, *, sessions: int, kernels: int) -> dict[str, object]:
    """Until the first line of code has run, with the same libraries loaded.

    A kernel does nothing with the picture in its folder; a session of ours writes the file and decodes it, so it is
    also measured without one.
    """
    bare: list[float] = []
    with_picture: list[float] = []
    kernel_times: list[float] = []
    for index in range(sessions):
        for images, times in (({}, bare), ({"input_image.png": picture}, with_picture)):
            start = time.perf_counter()
            with sandbox.session(images=images) as session:
                run_in(session, SMALL)
                times.append(1e3 * (time.perf_counter() - start))
        if index < kernels:
            start = time.perf_counter()
            kernel = Kernel(folder)
            kernel.run(SMALL)
            kernel_times.append(1e3 * (time.perf_counter() - start))
            kernel.close()
    kernel_ms = statistics.median(kernel_times)
    return {
        "sandbox": spread(bare),
        "sandbox_with_decoded_picture": spread(with_picture),
        "jupyter_kernel": spread(kernel_times),
        "times_faster": round(kernel_ms / statistics.median(bare), 1),
        "times_faster_with_decoded_picture": round(kernel_ms / statistics.median(with_picture), 1),
    }


def single_runs(sandbox: Sandbox, picture: bytes, folder: Path, *, runs: int) -> dict[str, object]:
    kernel = Kernel(folder)
    results: dict[str, object] = {}
    with sandbox.session(images={"input_image.png": picture}) as session:
        run_in(session, IMPORTS)
        for name, code in CODE.items():
            count = runs if name == "small" else max(5, runs // 5)
            ours, kernels, fresh = [], [], []
            for index in range(count):
                ours.append(milliseconds(partial(run_in, session, code)))
                kernels.append(milliseconds(partial(kernel.run, code)))
                if index < 10:
                    fresh.append(milliseconds(partial(fresh_python, code, folder)))
            results[name] = {"sandbox": spread(ours), "jupyter_kernel": spread(kernels), "python_c": spread(fresh)}
    kernel.close()
    return results


def throughput(sandbox: Sandbox, picture: bytes, *, threads: int, runs: int) -> dict[str, object]:
    """Small runs a second, each thread with a session of its own."""

    def worker(index: int) -> None:
        with sandbox.session(images={"input_image.png": picture}, seed=index) as session:
            for step in range(runs):
                run_in(session, f"x = {step}")

    start = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(worker, range(threads)))
    seconds = time.perf_counter() - start
    return {"threads": threads, "runs": threads * runs, "runs_per_s": round(threads * runs / seconds, 1)}


def descendants(root: int) -> list[int]:
    """All processes below this one, in whatever pid namespace."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found, waiting = [], [root]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found


def pss_mib(processes: list[int]) -> float:
    total_kib = 0
    for process in processes:
        try:
            rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        total_kib += next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    return total_kib / 1024


def live_sessions(sandbox: Sandbox, picture: bytes, *, count: int) -> dict[str, object]:
    """Each with the picture decoded: when started, after a small run, and when code has opened and cropped it again.

    ``pss_mib`` is the sum of proportional set sizes; ``real_mib`` is what the machine has less to give away, with the
    sessions' files, which lie in memory, and page tables.
    """
    before_mib = available_mib()
    opened = [sandbox.session(images={"input_image.png": picture}, seed=index) for index in range(count)]
    stages: dict[str, object] = {"sessions": count}
    for stage, code in (("started", ""), ("after_small_run", SMALL), ("with_picture_opened_again", DECODE)):
        for session in opened if code else ():
            run_in(session, code)
        # A session answers before it has forked the process for its next run.
        time.sleep(1.0)
        processes = descendants(os.getpid())
        real_mib = before_mib - available_mib()
        stages[stage] = {
            "pss_mib": round(pss_mib(processes)),
            "real_mib": round(real_mib),
            "processes": len(processes),
        }
    for session in opened:
        session.close()
    deadline, left = time.monotonic() + 20, len(descendants(os.getpid())) + 1
    while time.monotonic() < deadline and (now := len(descendants(os.getpid()))) < left:
        left = now
        time.sleep(2.0)
    return {**stages, "processes_after_close": len(descendants(os.getpid()))}


def available_mib() -> float:
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable")) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--kernels", type=int, default=5)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--live", type=int, default=200)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()

    noise = np.random.default_rng(0).integers(0, 256, size=(768, 1024, 3), dtype=np.uint8)
    folder = Path("/tmp") / f"sandbox-bench-{os.getpid()}"
    folder.mkdir()
    Image.fromarray(noise // 8 * 8).save(folder / "input_image.png")
    # A picture's file, as the kernels have it in their folder; the sandbox decodes it at the start, they do not.
    picture = (folder / "input_image.png").read_bytes()
    warm = time.perf_counter()
    with Sandbox() as sandbox:
        with sandbox.session(images={"input_image.png": picture}) as session:
            run_in(session, SMALL)
        results = {
            "layers": sandbox.layers.describe(),
            "cores": len(os.sched_getaffinity(0)),
            "load_before": os.getloadavg()[0],
            "warm_parent_s": round(time.perf_counter() - warm, 2),
            "start": starts(sandbox, picture, folder, sessions=chosen.sessions, kernels=chosen.kernels),
            "runs": single_runs(sandbox, picture, folder, runs=chosen.runs),
            "throughput": throughput(sandbox, picture, threads=chosen.threads, runs=chosen.runs),
            "memory": live_sessions(sandbox, picture, count=chosen.live),
        }
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    text = json.dumps(results, indent=2)
    print(text)
    if chosen.json:
        chosen.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
