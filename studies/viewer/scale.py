"""The viewer on runs of 100,000 and 1,000,000 trajectories: first rows, index, filters, one trajectory, memory.

    python -m studies.viewer.scale --trajectories 100000 --out /tmp/scale --json studies/viewer/scale.json

Makes a run (pictures shared, answers of up to 8,000 tokens), starts ``saccade view`` on it without an index and again
with one, and asks as a page does. What the trainer pays for index, signals and clocks is told in processor time beside
that of a step of the demo.
"""

import argparse
import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from saccade.evaluation.index_rows import write_index
from saccade.media.store import MediaStore
from saccade.runs.position import Position
from saccade.runs.records import read_records, write_records

PER_STEP, GROUP = 256, 8
MAX_TOKENS = 8000
QUERIES = (
    "",
    "right=0",
    "right=0&family=counting",
    "tool=crop&turns_min=2",
    "error=refused&sort=-entropy",
    "reward_min=0.5&sort=-reward",
    "stream=looking&step_min=10&tokens_max=400&sort=advantage",
    "family=counting&family=chart_bars&status=answered&right=1&sort=tokens",
)


def make_run(root: Path, count: int, mean_tokens: int) -> int:
    """Write the run's files; the bytes of all records."""
    chance = random.Random(0)
    media, pictures = MediaStore(), []
    (root / "media").mkdir(parents=True)
    for shade in range(16):
        image = media.add(Image.new("RGB", (256, 256), (10 * shade, 90, 120)))
        media.export(image, root / "media")
        pictures.append({"hash": image.hash, "width": 256, "height": 256})
    (root / "run.json").write_text(json.dumps({"title": "made for scale", "status": "finished", "command": []}))
    (root / "settings.json").write_text(json.dumps({"stages": {"rl": {"kind": "rl"}}}))
    (root / "trajectories" / "rl").mkdir(parents=True)
    pool = [_segments(chance, mean_tokens) for _ in range(256)]
    total = 0
    with (root / "metrics.jsonl").open("w") as metrics:
        for step in range(1, -(-count // PER_STEP) + 1):
            size = min(PER_STEP, count - (step - 1) * PER_STEP)
            lines = [json.dumps({"kind": "header", "version": 2, "stage": "rl", "step": step})]
            lines += _step(chance, pictures, pool, step, size)
            path = root / "trajectories" / "rl" / f"step-{step:06d}.jsonl"
            path.write_text("\n".join(lines) + "\n")
            total += path.stat().st_size
            metrics.write(json.dumps({"stage": "rl", "step": step, "reward/mean": chance.random()}) + "\n")
    return total


def _segments(chance: random.Random, mean_tokens: int) -> str:
    count = min(MAX_TOKENS, max(8, round(chance.lognormvariate(0, 1) * mean_tokens * 0.6)))
    ids = [chance.randrange(150_000) for _ in range(count)]
    logprobs = [-chance.expovariate(3) for _ in range(count)]
    action = {"role": "action", "turn": 0, "ids": ids, "logprobs": logprobs, "images": []}
    return json.dumps([{"role": "prompt", "turn": 0, "ids": ids[:50], "logprobs": [], "images": []}, action])


def _step(
    chance: random.Random, pictures: list[dict[str, object]], pool: list[str], step: int, size: int
) -> Iterator[str]:
    for number in range(size):
        if number % GROUP == 0:
            family = chance.choice(("visual_search", "counting", "chart_bars", "document_text"))
            task = {
                "kind": "task",
                "id": f"{family}/{chance.randrange(100_000)}",
                "family": family,
                "question": f"How many things of kind {chance.randrange(1000)} are in the picture?",
                "answer": str(chance.randrange(9)),
                "answer_kind": "integer",
                "images": [chance.choice(pictures)],
                "choices": [],
                "tolerance": 0.0,
                "targets": [],
                "frame_times_s": [],
                "event_s": None,
                "difficulty": 0.5,
                "source": "procedural",
            }
            yield json.dumps(task)
        yield _trajectory(chance, task, pool, number)


def _trajectory(chance: random.Random, task: dict[str, object], pool: list[str], number: int) -> str:
    is_right, looks = chance.random() < 0.6, chance.random() < 0.5
    turn = {"thought": "I look.", "is_well_formed": True, "observation": None, "result": None}
    answer = {"type": "answer", "text": str(task["answer"] if is_right else 99)}
    turns: list[object] = [
        {**turn, "index": int(looks), "text": f"<answer>{answer['text']}</answer>", "action": answer}
    ]
    if looks:
        call = {"type": "tool_call", "name": chance.choice(("crop", "zoom")), "arguments": {"bbox_2d": [1, 2, 90, 80]}}
        shown = {"text": "Image 2 is the crop.", "images": []}
        ran = None if chance.random() < 0.1 else {"text": "", "images": [], "data": {}, "is_ok": True}
        turns.insert(0, {**turn, "index": 0, "text": "closer", "action": call, "result": ran, "observation": shown})
    head = {
        "kind": "trajectory",
        "task_id": task["id"],
        "family": task["family"],
        "stream": chance.choice(("looking", "silent")),
        "sample": number % GROUP,
        "seed": number,
        "policy_version": 1,
        "status": "answered",
        "failure": "",
        "score": {
            "terms": [
                {"name": "accuracy", "value": float(is_right), "weight": 1.0},
                {"name": "format", "value": 1.0, "weight": 0.1},
            ],
            "is_right": is_right,
        },
        "turns": turns,
    }
    advantages = [round(chance.gauss(0, 1), 4)] * len(turns)
    return f'{json.dumps(head)[:-1]}, "segments": {chance.choice(pool)}, "advantages": {json.dumps(advantages)}}}'


CHROMIUM = next((path for path in ("/usr/bin/chromium", "/usr/bin/google-chrome") if Path(path).exists()), None)
SCREEN_FILTERS = {
    "right=0": "#facet-right-0",
    "family": "#facet-family-0",
    "stream": "#facet-stream-0",
    "tool": "#facet-tool-1",
}
PAINTED = """async (selector) => {
  const words = document.querySelector(".matched");
  const before = words.textContent;
  const started = performance.now();
  const changed = new Promise((done) => new MutationObserver(() => words.textContent !== before && done())
    .observe(words, { childList: true, characterData: true, subtree: true }));
  document.querySelector(selector).click();
  await changed;
  // Two frames: the rows are drawn in the first one that begins after the answer, and painted when the second does.
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return performance.now() - started;
}"""


class Server:
    """``saccade view`` in a process, with its own cache."""

    def __init__(self, run: Path, cache: Path) -> None:
        self.started_s = time.monotonic()
        environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
        command = [sys.executable, "-m", "saccade", "view", str(run), "--port", "0", "--no-open"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().split()[-1]
        self.ready_s = time.monotonic() - self.started_s
        self.run = self.get("api/runs")["runs"][0]["id"]

    def get(self, path: str) -> dict:
        with urllib.request.urlopen(self.address + path, timeout=120) as answer:
            return json.loads(answer.read())

    def rows(self, query: str = "") -> dict:
        return self.get(f"api/runs/{self.run}/trajectories?limit=100&{query}")

    def until(self, holds: Callable[[dict], bool]) -> float:
        """Seconds since the server answered first."""
        while not holds(self.rows("facets=0")):
            time.sleep(0.05)
        return time.monotonic() - self.started_s - self.ready_s

    def cpu_s(self) -> float:
        """Processor time of the server and of the processes that it has ended."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

    def until_idle_cpu_s(self) -> float:
        """Processor time when the processes that made the index have ended, which is when the server is told of it."""
        while children(self.process.pid):
            time.sleep(0.1)
        return self.cpu_s()

    def memory_mib(self) -> float:
        """Peak of the server's process."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=30)


def children(pid: int) -> list[str]:
    return [
        child
        for thread in Path(f"/proc/{pid}/task").glob("*")
        for child in (thread / "children").read_text().split()
        if not is_tracker(child)
    ]


def is_tracker(pid: str) -> bool:
    """Python's own helper of a pool, which stays; or a process that has ended."""
    try:
        return b"resource_tracker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return True


def milliseconds(asked: Callable[[], object]) -> float:
    started_s = time.perf_counter()
    asked()
    return 1000 * (time.perf_counter() - started_s)


def measured(run: Path, cache: Path) -> dict[str, object]:
    """The numbers of one run, without an index first."""
    server = Server(run, cache)
    told: dict[str, object] = {
        "start_s": server.ready_s,
        "start_cpu_s": server.cpu_s(),
        "without_index": {
            "first_rows_s": server.until(lambda answer: bool(answer["rows"])),
            "index_complete_s": server.until(lambda answer: answer["indexing"] is None and bool(answer["rows"])),
            "cpu_s": server.until_idle_cpu_s(),
            "memory_mib": server.memory_mib(),
        },
    }
    server.stop()
    server = Server(run, cache)
    started = server.ready_s, server.cpu_s()
    first_s = server.until(lambda answer: bool(answer["rows"]))
    complete_s = server.until(lambda answer: answer["indexing"] is None and bool(answer["rows"]))
    total = server.rows()["total"]
    filters = {query or "all": [milliseconds(lambda q=query: server.rows(q)) for _ in range(5)] for query in QUERIES}
    chance = random.Random(1)
    ids = [
        server.get(f"api/runs/{server.run}/trajectories?limit=1&facets=0&offset={chance.randrange(total)}")["rows"][0][
            "id"
        ]
        for _ in range(30)
    ]
    opened = [milliseconds(lambda i=i: server.get(f"api/runs/{server.run}/trajectories/{i}")) for i in ids]
    told["with_index"] = {
        "trajectories": total,
        "start_s": started[0],
        "start_cpu_s": started[1],
        "first_rows_s": first_s,
        "complete_s": complete_s,
        "filter_ms": {query: {"median": statistics.median(ms), "max": max(ms)} for query, ms in filters.items()},
        "trajectory_ms": {"median": statistics.median(opened), "max": max(opened)},
        "memory_mib": server.memory_mib(),
        "to_the_screen": to_the_screen(server),
    }
    server.stop()
    return told


def to_the_screen(server: Server) -> dict[str, object]:
    """Milliseconds in a browser from a filter's change to its rows and counts being painted, and of a list opened."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.set_default_timeout(120_000)
        address = f"{server.address}#/run/{server.run}/list"
        page.goto(address)
        page.wait_for_selector(".row-item a")
        found: dict[str, list[float]] = {}
        for _ in range(5):
            for name, selector in SCREEN_FILTERS.items():
                # On, then off again: both change every count.
                found.setdefault(name, []).extend(page.evaluate(PAINTED, selector) for _ in range(2))
        opened = []
        for _ in range(5):
            page.goto("about:blank")
            page.goto(address)
            page.wait_for_selector(".row-item a")
            opened.append(page.evaluate("performance.now()"))
        browser.close()
    return {
        "filter_ms": {name: {"median": statistics.median(ms), "max": max(ms)} for name, ms in found.items()},
        "list_opened_ms": {"median": statistics.median(opened), "max": max(opened)},
    }


def trainers_share(run: Path) -> dict[str, float]:
    """Processor time of the records of a step, and of the index beside them."""
    [first, *_] = sorted((run / "trajectories" / "rl").glob("*.jsonl"))
    attempts, folder = list(read_records(first)), run.parent / "written"
    position = Position(stage="rl", step=1)
    records_s, index_s = [], []
    media = MediaStore()
    for image in {image for one in attempts for image in one.task.images}:
        media.add_file(run / "media" / f"{image.hash}.png")
    for _ in range(5):
        started_s = time.process_time()
        places = write_records(folder / "r.jsonl", position, attempts, media=media, media_directory=folder / "media")
        between_s = time.process_time()
        write_index(folder / "r.arrow", folder / "r.jsonl", places, attempts, position=position, kind="train")
        records_s.append(between_s - started_s)
        index_s.append(time.process_time() - between_s)
    shutil.rmtree(folder)
    return {
        "trajectories": len(attempts),
        "records_cpu_ms": 1000 * statistics.median(records_s),
        "index_cpu_ms": 1000 * statistics.median(index_s),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trajectories", type=int, default=100_000)
    parser.add_argument("--mean-tokens", type=int, default=600)
    parser.add_argument("--out", type=Path, required=True, help="folder for the run; what is there is used again")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    run, cache = options.out / f"run-{options.trajectories}", options.out / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    if not run.exists():
        make_run(run, options.trajectories, options.mean_tokens)
    size = sum(file.stat().st_size for file in (run / "trajectories").rglob("*.jsonl"))
    told = {
        "trajectories": options.trajectories,
        "records_gib": size / 2**30,
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
        "load": os.getloadavg()[0],
        "trainer": trainers_share(run),
        **measured(run, cache),
    }
    text = json.dumps(told, indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
