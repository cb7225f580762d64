"""The viewer beside inspect's and Trackio's on the same trajectories, in one browser: first rows, frames, memory.

    python benchmarks/viewer_peers.py --run FOLDER/run-100000 --out FOLDER --json docs/results/viewer_peers.json
    ... --inspect-python ONE/bin/python --trackio-python OTHER/bin/python

A peer's Python is an environment of its own: ``python -m venv ONE && ONE/bin/pip install inspect-ai==0.3.285``, and
``trackio==0.43.0``. ``FOLDER/run-100000`` is what ``benchmarks/viewer_scale.py`` leaves, as is the viewer's index. The
peers are given questions, turns and scores of these records in files of their own, which are used again: inspect's log
and Trackio's traces, each by a Python that has the peer. Each page is opened in headless Chromium, then its list is
scrolled by the wheel. Said are seconds to the first row, processor seconds of the server, frames a second, memory of
the page's process and of the server at its most. A peer that cannot write its files in half an hour is named as failed.
"""

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Error, Page, sync_playwright

LIMIT_S = 240
WRITE_LIMIT_S = 1800
SCROLL_S = 5
FRAMES = """async (seconds) => {
  let frames = 0;
  const start = performance.now();
  await new Promise((done) => {
    const next = () => {
      frames += 1;
      performance.now() - start < 1000 * seconds ? requestAnimationFrame(next) : done();
    };
    requestAnimationFrame(next);
  });
  return frames / seconds;
}"""

INSPECT = """
import json, sys
from pathlib import Path
from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalResults, EvalSample, EvalSpec, write_eval_log
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser
from inspect_ai.scorer import Score
samples, count = [], 0
for file in sorted(Path(sys.argv[1]).glob("trajectories/rl/*.jsonl")):
    for line in file.open():
        one = json.loads(line)
        if one["kind"] == "task":
            task = one
        if one["kind"] != "trajectory":
            continue
        count += 1
        said = [ChatMessageAssistant(content=turn["text"]) for turn in one["turns"]]
        talk = [ChatMessageUser(content=task["question"]), *said]
        value = "C" if one["score"]["is_right"] else "I"
        samples.append(EvalSample(id=count, epoch=1, input=task["question"], target=task["answer"], messages=talk,
                                  scores={"match": Score(value=value, answer=one["turns"][-1]["action"]["text"])}))
data = EvalDataset(name="scale", samples=count)
spec = EvalSpec(created="2026-11-24T00:00:00+00:00", task="scale", dataset=data, model="m", config=EvalConfig())
results = EvalResults(total_samples=count, completed_samples=count)
write_eval_log(EvalLog(eval=spec, status="success", samples=samples, results=results), sys.argv[2])
"""

TRACKIO = """
import json, sys
from pathlib import Path
import trackio
run = trackio.init(project="scale", name="run", embed=False, auto_log_gpu=False, auto_log_cpu=False)
step = 0
for file in sorted(Path(sys.argv[1]).glob("trajectories/rl/*.jsonl")):
    for line in file.open():
        one = json.loads(line)
        if one["kind"] == "task":
            task = one
        if one["kind"] == "trajectory":
            said = [{"role": "assistant", "content": turn["text"]} for turn in one["turns"]]
            talk = [{"role": "user", "content": task["question"]}, *said]
            trace = trackio.Trace(messages=talk, metadata={"right": one["score"]["is_right"]})
            trackio.log({"trace": trace}, step=step)
            step += 1
trackio.finish()
"""


class Served:
    """A server with the most memory that it and its children came to."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            command,
            env={**os.environ, **environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.peak_mib = 0.0
        self._ended = threading.Event()
        self._watch = threading.Thread(target=self._measure, daemon=True)
        self._watch.start()

    def _measure(self) -> None:
        while not self._ended.wait(0.1):
            self.peak_mib = max(self.peak_mib, resident_mib(self.process.pid))

    def stop(self) -> None:
        self._ended.set()
        self._watch.join()
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def line_of(path: Path, begin: str) -> str:
    return next(line for line in path.read_text().splitlines() if line.startswith(begin))


def resident_mib(pid: int) -> float:
    """Of a process and all below it; 0 where it has ended."""
    try:
        kilobytes = next(
            line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS")
        )
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (OSError, StopIteration):
        return 0.0
    return int(kilobytes.split()[1]) / 1024 + sum(resident_mib(int(child)) for child in children)


def cpu_s(pid: int) -> float:
    """Processor seconds of a process and of all below it, those included that have ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") + sum(cpu_s(int(child)) for child in children)


def looked_at(browser: Browser, address: str, row: str, *, started_s: float) -> dict[str, object]:
    """First rows, frames and memory of one page; ``row`` is a selector of the list's rows."""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.set_default_timeout(1000 * LIMIT_S)
    try:
        while True:
            try:
                page.goto(address)
                break
            except Error:
                if time.monotonic() - started_s > LIMIT_S:
                    return {"failed": f"its server did not answer within {LIMIT_S} s"}
                time.sleep(0.05)
        page.wait_for_selector(row)
        first_s = time.monotonic() - started_s
        frames = scrolled(page, row)
        page.wait_for_timeout(500)
        return {
            "first_rows_s": first_s,
            "frames_per_s": frames,
            "tab_mib": tab_mib(),
            "rows_in_page": page.locator(row).count(),
        }
    except Error as error:
        return {"failed": str(error).splitlines()[0]}
    finally:
        page.close()


def scrolled(page: Page, row: str) -> float:
    """Frames a second while the wheel turns over the list."""
    box = page.locator(row).first.bounding_box()
    if box is None:
        return 0.0
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    wheel = page.context.new_cdp_session(page)
    page.evaluate("window.counted = null")
    page.evaluate(f"void (({FRAMES})({SCROLL_S}).then((frames) => {{ window.counted = frames; }}))")
    until_s = time.monotonic() + SCROLL_S
    while time.monotonic() < until_s:
        x, y = box["x"] + 5, box["y"] + 5
        wheel.send("Input.dispatchMouseEvent", {"type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": 240})
        time.sleep(1 / 60)
    while (found := page.evaluate("window.counted")) is None:
        page.wait_for_timeout(50)
    return float(found)


def tab_mib() -> float:
    """Memory of the largest renderer, what it shares with others counted once (proportional set size)."""
    found = [0.0]
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if b"--type=renderer" in (folder / "cmdline").read_bytes() and str(os.getpid()) in ancestors(folder.name):
                line = next(
                    line for line in (folder / "smaps_rollup").read_text().splitlines() if line.startswith("Pss:")
                )
                found.append(int(line.split()[1]) / 1024)
        except (OSError, StopIteration):
            continue
    return max(found)


def ancestors(pid: str) -> Iterator[str]:
    while pid not in ("0", ""):
        yield pid
        pid = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        yield browser
        browser.close()


def measured(
    browser: Browser, command: list[str], environment: dict[str, str], address: str, row: str
) -> dict[str, object]:
    started_s = time.monotonic()
    server = Served(command, environment)
    try:
        told = looked_at(browser, address, row, started_s=started_s)
        return {**told, "server_mib": server.peak_mib, "server_cpu_s": cpu_s(server.process.pid)}
    finally:
        server.stop()


def made(python: str, script: str, arguments: list[str], environment: dict[str, str]) -> dict[str, object]:
    """Runs a peer's own writer; how long it took, and its processor time, or why there is nothing to look at."""
    started_s, before = time.monotonic(), os.times()
    told: dict[str, object] = {}
    try:
        subprocess.run(
            [python, "-c", script, *arguments],
            env={**os.environ, **environment},
            check=True,
            timeout=WRITE_LIMIT_S,
            stderr=subprocess.PIPE,
        )
    except subprocess.TimeoutExpired:
        told = {"failed": f"its own writer had not finished after {WRITE_LIMIT_S} s"}
    except subprocess.CalledProcessError as error:
        told = {"failed": f"its own writer ended with {error.returncode}: {error.stderr.decode()[-500:]}"}
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return {"write_s": time.monotonic() - started_s, "write_cpu_s": cpu, **told}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder for files of the peers")
    parser.add_argument("--inspect-python", help="a Python that has inspect-ai; without it inspect is left out")
    parser.add_argument("--trackio-python", help="a Python that has trackio; without it Trackio is left out")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    python, run = sys.executable, options.run.absolute()
    told: dict[str, object] = {
        "run": run.name,
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
        "load": os.getloadavg()[0],
    }
    with chromium() as browser:
        cache = {"XDG_CACHE_HOME": str(options.out.absolute() / "cache")}
        identity = run_identity(python, run, cache)
        command = [python, "-m", "saccade", "view", str(run), "--port", "7871", "--no-open"]
        address = f"http://127.0.0.1:7871/#/run/{identity}/list"
        told["saccade"] = measured(browser, command, cache, address, ".row-item a")
        if options.inspect_python:
            told["inspect"] = beside_inspect(browser, options.inspect_python, run, options.out.absolute())
        if options.trackio_python:
            told["trackio"] = beside_trackio(browser, options.trackio_python, run, options.out.absolute())
    text = json.dumps(told, indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")


def beside_inspect(browser: Browser, python: str, run: Path, out: Path) -> dict[str, object]:
    log = out / f"{run.name}.eval"
    writing = {} if log.exists() else made(python, INSPECT, [str(run), str(log)], {})
    command = [str(Path(python).parent / "inspect"), "view", "start", "--port", "7872", "--log-dir", str(out)]
    address = f"http://127.0.0.1:7872/#/logs/{log.name}/samples"
    if "failed" in writing:
        return writing
    return {**writing, **measured(browser, command, {}, address, ".ag-row, [role=row] [role=gridcell]")}


def beside_trackio(browser: Browser, python: str, run: Path, out: Path) -> dict[str, object]:
    home = {"TRACKIO_DIR": str(out / f"trackio-{run.name}")}
    writing = {} if Path(home["TRACKIO_DIR"]).exists() else made(python, TRACKIO, [str(run)], home)
    script = "import trackio; trackio.show(project='scale', open_browser=False, block_thread=True, server_port=7873)"
    address = "http://127.0.0.1:7873/traces?project=scale"
    if "failed" in writing:
        return writing
    return {**writing, **measured(browser, [python, "-c", script], home, address, "[class*=trace-row], tbody tr")}


def run_identity(python: str, run: Path, cache: dict[str, str]) -> str:
    """The viewer's id of the run, by asking a viewer that is ended again, its index complete."""
    command = [python, "-m", "saccade", "view", str(run), "--port", "0", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **cache}) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        while True:
            with urllib.request.urlopen(f"{address}api/runs") as answer:
                [one] = json.load(answer)["runs"]
            if one["indexing"] is None and one["trajectories"]:
                break
            time.sleep(0.2)
        process.terminate()
    return str(one["id"])


if __name__ == "__main__":
    main()
