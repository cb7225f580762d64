"""The viewer beside inspect's and Trackio's on the same trajectories, in one browser: first rows, frames, memory.

    python benchmarks/viewer_peers.py --run FOLDER/run-100000 --out FOLDER --json docs/results/viewer_peers.json
    ... --inspect-python ONE/bin/python --trackio-python OTHER/bin/python

A peer's Python is an environment of its own: ``python -m venv ONE && ONE/bin/pip install inspect-ai==0.3.285``, and
``trackio==0.43.0``. ``FOLDER/run-100000`` is what ``benchmarks/viewer_scale.py`` leaves, as is the viewer's index. The
peers are given questions, turns and scores of these records in files of their own, which are used again: inspect's log
and Trackio's traces, each by a Python that has the peer. Each page is opened in headless Chromium, then its list is
scrolled by the wheel. Said are seconds to the first row, processor seconds of the server, frames a second, memory of
the the page's process and of the server at its most. A peer gets ``--write-limit`` seconds to write its files and
``--page-limit`` to show its first row; one that needs more is named as failed, with what it had done by then.
"""

import argparse
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Error, Page, sync_playwright

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
import asyncio, json, sys
from pathlib import Path
from inspect_ai.log import EvalConfig, EvalDataset, EvalPlan, EvalResults, EvalSample, EvalSpec, EvalStats
from inspect_ai.log._recorders.eval import EvalRecorder
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser
from inspect_ai.scorer import Score

def samples():
    count = 0
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
            score = Score(value="C" if one["score"]["is_right"] else "I", answer=one["turns"][-1]["action"]["text"])
            yield EvalSample(id=count, epoch=1, input=task["question"], target=task["answer"], messages=talk,
                             scores={"match": score})

async def main():
    place = sys.argv[2]
    recorder = EvalRecorder(str(Path(place).parent))
    spec = EvalSpec(created="2026-11-24T00:00:00+00:00", task="scale", dataset=EvalDataset(name="scale"), model="m",
                    config=EvalConfig())
    await recorder.log_init(spec, place, clean=True)
    await recorder.log_start(spec, EvalPlan())
    [log] = recorder.data.values()
    for count, sample in enumerate(samples(), 1):
        await recorder.log_sample(spec, sample)
        if count % 1000 == 0:
            await log.write_buffered_samples()
        if count % 10_000 == 0:
            print(f"{count} samples written", file=sys.stderr, flush=True)
    results = EvalResults(total_samples=count, completed_samples=count)
    await recorder.log_finish(spec, "success", EvalStats(), results, None)

asyncio.run(main())
"""
"""As an evaluation writes its log, samples as they come: ``write_eval_log`` compares each sample with all before it."""

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
            if step % 10_000 == 0:
                print(f"{step} traces logged", file=sys.stderr, flush=True)
print(f"finishing {step} traces", file=sys.stderr, flush=True)
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


def looked_at(browser: Browser, address: str, row: str, *, started_s: float, limit_s: float) -> dict[str, object]:
    """First rows, frames and memory of one page; ``row`` is a selector of the list's rows."""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.set_default_timeout(1000 * limit_s)
    try:
        while True:
            try:
                page.goto(address)
                break
            except Error:
                if time.monotonic() - started_s > limit_s:
                    return {"failed": f"its server did not answer within {limit_s:.0f} s"}
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
    browser: Browser,
    name: str,
    command: list[str],
    environment: dict[str, str],
    address: str,
    row: str,
    limit_s: float,
) -> dict[str, object]:
    say(f"{name}: its page is opened, for at most {limit_s:.0f} s until the first row")
    started_s = time.monotonic()
    server = Served(command, environment)
    try:
        told = looked_at(browser, address, row, started_s=started_s, limit_s=limit_s)
        say(f"{name}: {told}")
        return {**told, "server_mib": server.peak_mib, "server_cpu_s": cpu_s(server.process.pid)}
    finally:
        server.stop()


def made(name: str, command: list[str], environment: dict[str, str], limit_s: float) -> dict[str, object]:
    """Runs a peer's own writer; how long it took, its processor time and what it said last, or why there is nothing."""
    say(f"{name}: writes its files, for at most {limit_s:.0f} s")
    started_s, before = time.monotonic(), os.times()
    told: dict[str, object] = {}
    with tempfile.TemporaryFile("w+") as words:
        process = subprocess.Popen(
            command, env={**os.environ, **environment}, stdout=words, stderr=words, start_new_session=True
        )
        try:
            status = process.wait(timeout=limit_s)
        except subprocess.TimeoutExpired:
            spent_s = cpu_s(process.pid)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            told = {"failed": f"its own writer had not finished after {limit_s:.0f} s", "write_cpu_s": spent_s}
        else:
            after = os.times()
            spent_s = after.children_user + after.children_system - before.children_user - before.children_system
            told = {"write_cpu_s": spent_s}
            if status:
                told["failed"] = f"its own writer ended with {status}"
        words.seek(0)
        last = [line.strip() for line in words.read().splitlines() if line.strip()][-1:]
    say(f"{name}: {told.get('failed', 'written')} ({spent_s:.0f} s of processor time); it said last: {last}")
    if "failed" in told:
        told["said_last"] = last
    return {"write_s": time.monotonic() - started_s, **told}


def say(words: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {words}", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder for files of the peers")
    parser.add_argument("--inspect-python", help="a Python that has inspect-ai; without it inspect is left out")
    parser.add_argument("--trackio-python", help="a Python that has trackio; without it Trackio is left out")
    parser.add_argument("--write-limit", type=float, default=1800, metavar="SECONDS", help="for a peer's own writer")
    parser.add_argument("--page-limit", type=float, default=240, metavar="SECONDS", help="until a page's first row")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    python, run = sys.executable, options.run.absolute()
    told: dict[str, object] = {
        "run": run.name,
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
        "load": os.getloadavg()[0],
    }
    out = options.out.absolute()
    with chromium() as browser:
        cache = {"XDG_CACHE_HOME": str(out / "cache")}
        say("saccade: the index is completed, where there is none")
        identity = run_identity(python, run, cache)
        command = [python, "-m", "saccade", "view", str(run), "--port", "7871", "--no-open"]
        address = f"http://127.0.0.1:7871/#/run/{identity}/list"
        told["saccade"] = measured(browser, "saccade", command, cache, address, ".row-item a", options.page_limit)
        if options.inspect_python:
            told["inspect"] = beside_inspect(browser, options.inspect_python, run, out, options)
        if options.trackio_python:
            told["trackio"] = beside_trackio(browser, options.trackio_python, run, out, options)
    text = json.dumps(told, indent=1)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")


def beside_inspect(
    browser: Browser, python: str, run: Path, out: Path, options: argparse.Namespace
) -> dict[str, object]:
    log = out / "inspect" / f"{run.name}.eval"
    unfinished = out / "inspect-unfinished" / log.name
    unfinished.parent.mkdir(exist_ok=True)
    writing: dict[str, object] = {}
    if not log.exists():
        writing = made("inspect", [python, "-c", INSPECT, str(run), str(unfinished)], {}, options.write_limit)
        if "failed" in writing:
            return writing
        log.parent.mkdir(exist_ok=True)
        unfinished.rename(log)
    command = [str(Path(python).parent / "inspect"), "view", "start", "--port", "7872", "--log-dir", str(log.parent)]
    address = f"http://127.0.0.1:7872/#/logs/{log.name}/samples"
    row = ".ag-row, [role=row] [role=gridcell]"
    return {**writing, **measured(browser, "inspect", command, {}, address, row, options.page_limit)}


def beside_trackio(
    browser: Browser, python: str, run: Path, out: Path, options: argparse.Namespace
) -> dict[str, object]:
    home, unfinished = out / f"trackio-{run.name}", out / "trackio-unfinished"
    writing: dict[str, object] = {}
    if not home.exists():
        shutil.rmtree(unfinished, ignore_errors=True)
        kept = {"TRACKIO_DIR": str(unfinished)}
        writing = made("trackio", [python, "-c", TRACKIO, str(run)], kept, options.write_limit)
        if "failed" in writing:
            return writing
        unfinished.rename(home)
    script = "import trackio; trackio.show(project='scale', open_browser=False, block_thread=True, server_port=7873)"
    address, row = "http://127.0.0.1:7873/traces?project=scale", "[class*=trace-row], tbody tr"
    kept = {"TRACKIO_DIR": str(home)}
    shown = measured(browser, "trackio", [python, "-c", script], kept, address, row, options.page_limit)
    return {**writing, **shown}


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
