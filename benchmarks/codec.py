"""Time to write and read 100,000 records, and to start, of this checkout and of an older one beside it.

    git worktree add /tmp/before COMMIT
    python benchmarks/codec.py --before /tmp/before/src --out docs/results/codec.json

Processor seconds, the least of the rounds; the checkouts take turns. Records are like those of the demo: three
turns with a crop, some 110 tokens of context and 30 with log-probabilities.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).parents[1]
PER_FILE = 1000

Found = TypeVar("Found")


def measure(count: int) -> dict[str, float]:
    """Of the Saccade that this process imports; imports are lazy, so that the first record's time holds them."""
    started = time.process_time()
    from saccade.runs.records import read_records, write_records

    imported = time.process_time()
    from PIL import Image

    from saccade.media.store import MediaStore
    from saccade.runs.position import Position

    media = MediaStore()
    images = [media.add(Image.new("RGB", (64, 64), (shade, 0, 0))) for shade in range(8)]
    records = [record(index, images[index // 8 % 8], images[(index + 1) % 8]) for index in range(PER_FILE)]
    seconds = {"import": imported - started, "first_record": 0.0, "write": 0.0, "read": 0.0}
    with tempfile.TemporaryDirectory() as folder:
        path, position = Path(folder, "step.jsonl"), Position(stage="rl", step=1)

        def write(some: list) -> None:
            write_records(path, position, some, media=media, media_directory=Path(folder))

        _, seconds["first_record"] = timed(lambda: (write(records[:1]), list(read_records(path))))
        for _ in range(count // PER_FILE):
            _, written = timed(lambda: write(records))
            read, taken = timed(lambda: list(read_records(path)))
            assert read == records
            seconds["write"] += written
            seconds["read"] += taken
        seconds["bytes_per_file"] = path.stat().st_size
    return seconds


def timed(work: Callable[[], Found]) -> tuple[Found, float]:
    started = time.process_time()
    found = work()
    return found, time.process_time() - started


def record(index: int, image, crop):  # type: ignore[no-untyped-def]  # its types are those of the checkout
    from saccade import types

    chance = random.Random(index)

    def ids(count: int) -> tuple[int, ...]:
        return tuple(chance.randrange(150_000) for _ in range(count))

    def action(turn: int) -> types.Segment:
        # Most tokens of a trained policy are nearly certain: their log-probabilities are written with an exponent.
        logprobs = tuple(-(10 ** chance.uniform(-7, 0.5)) for _ in range(10))
        return types.Segment(role="action", turn=turn, ids=ids(10), logprobs=logprobs)

    call = types.ToolCall(name="crop", arguments={"bbox_2d": [10, 20.5, 300, 400], "image": 1})
    shown = types.ToolResult(text="the crop", images=(crop,), data={"size": [64, 64]})
    turns = [
        types.Turn(
            index=turn,
            text=f'I look at the plate. <tool>{{"name": "crop", "turn": {turn}}}</tool>',
            thought="I look at the plate.",
            action=call if turn < 2 else types.Answer(text="rows"),
            is_well_formed=True,
            result=shown if turn < 2 else None,
            observation=types.Observation(text="Image 2", images=(crop,)) if turn < 2 else None,
        )
        for turn in range(3)
    ]
    segments = [types.Segment(role="prompt", turn=0, ids=ids(60), images=(image,))]
    for turn in range(3):
        segments.append(action(turn))
        if turn < 2:
            segments.append(types.Segment(role="observation", turn=turn, ids=ids(25), images=(crop,)))
    task = types.Task(
        id=f"search/{index // 8}",
        family="search",
        question="Which pattern is on the red plate?",
        answer="rows",
        answer_kind="choice",
        images=(image,),
        choices=("rows", "checks", "dots", "rings"),
    )
    trajectory = types.Trajectory(
        task_id=task.id,
        family="search",
        stream="",
        sample=index % 8,
        seed=chance.getrandbits(63),
        policy_version=7,
        segments=tuple(segments),
        turns=tuple(turns),
        status="answered",
        score=types.Score(terms=(types.Term("accuracy", 1.0), types.Term("format", 1.0, 0.1)), is_right=True),
    )
    return types.Attempt(task=task, trajectory=trajectory, advantages=tuple(chance.gauss(0, 1) for _ in range(3)))


def in_process(source: Path, *command: str) -> tuple[str, float]:
    """What a command prints with Saccade from this folder, and its processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONHASHSEED": "0"}
    made = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return made.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, help="folder src of an older checkout")
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--starts", type=int, default=10, help="starts of `saccade --help` in each round")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.records)))
        return
    sources = {"after": ROOT / "src", **({"before": options.before} if options.before else {})}
    least: dict[str, dict[str, float]] = {name: {} for name in sources}
    for _ in range(options.rounds):
        for name, source in sources.items():
            told, _ = in_process(source, __file__, "--measure", "--records", str(options.records))
            found: dict[str, float] = json.loads(told)
            found["help"] = min(in_process(source, "-m", "saccade", "--help")[1] for _ in range(options.starts))
            least[name] = {key: min(value, least[name].get(key, value)) for key, value in found.items()}
    figures = {"records": options.records, "rounds": options.rounds, "processor_seconds": least}
    print(json.dumps(figures, indent=2))
    if options.out:
        options.out.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
