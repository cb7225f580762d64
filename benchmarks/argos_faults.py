"""Argos' recipe on own files while its tool server is killed, slow or lies for half of the calls.

    python benchmarks/argos_faults.py --model runs/argos_seeds/verifier-0/checkpoints/sft-001600 [--json FILE]

Drawn plates are written out as questions of one's own. ``saccade serve`` finds and cuts out plates by their true boxes,
and, by the call's content and number, one call in two goes wrong: its worker is killed, it takes longer than its
deadline, it raises, it sends a mask of another size, a box of NaN, nothing, or null for a mask. The recipe is trained
against it. Then each recorded score is held against exact regions: a grounding that was found must be the exact one,
and no other may stand for it but a sibling's mean that says so. Names that are said of nothing in the picture are
looked for too, and must be found nowhere.
"""

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache
from pathlib import Path
from typing import Annotated

from PIL import Image
from seed_runs import Row, read, rounded
from services_tools import ServedTools

from saccade.curation.rows import exported, question_row
from saccade.errors import ToolError, UserError
from saccade.geometry import Box, Mask
from saccade.media import MediaStore
from saccade.rewards.argos import ArgosReward, ExactRegions, Verifier
from saccade.rewards.groups import score_questions
from saccade.runs import read_records
from saccade.tasks import generate
from saccade.tools.catalogue.settings import ToolSettings
from saccade.tools.tool import Tool, ToolOutput, tool_from
from saccade.types import Attempt, Group, Task

TRUTH, CALLS = "SACCADE_FAULTS_TRUTH", "SACCADE_FAULTS_CALLS"
"""Variables that name the file of true boxes by picture, and the folder in which calls are noted."""
DEADLINE_S = 3.0
FAULTS = ("killed", "slow", "error", "size", "nan", "nothing", "null")
QUESTIONS = 64
SERVED = """[server]
port = 0
log = "events"
builder = "argos_faults:build"
[tools.detect_objects]
serving = {workers = 1, batch = 1}
[tools.segment]
serving = {workers = 1, batch = 1}
"""


@cache
def truth() -> dict[str, dict[str, list[float]]]:
    found: dict[str, dict[str, list[float]]] = json.loads(Path(os.environ[TRUTH]).read_text(encoding="utf-8"))
    return found


def picture_key(image: Image.Image) -> str:
    return hashlib.sha256(image.convert("RGB").tobytes()).hexdigest()


def fault_of(tool: str, key: str) -> str:
    """What goes wrong with this call, or ""; every second call of the same content is another one."""
    folder = Path(os.environ[CALLS])
    name = hashlib.sha256(f"{tool} {key}".encode()).hexdigest()
    number = len(list(folder.glob(f"{name}-*")))
    drawn = int(hashlib.sha256(f"{name} {number}".encode()).hexdigest(), 16)
    fault = FAULTS[drawn // 2 % len(FAULTS)] if drawn % 2 else ""
    (folder / f"{name}-{number}").write_text(f"{tool} {fault or 'right'}", encoding="utf-8")
    if fault == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "slow":
        time.sleep(10 * DEADLINE_S)
    if fault == "error":
        raise ToolError("the detector's memory is full")
    return fault


def detect_objects(
    image: Image.Image,
    phrases: Annotated[str, "what to look for"],
    box_threshold: Annotated[float, "not used"] = 0.35,
    text_threshold: Annotated[float, "not used"] = 0.25,
) -> ToolOutput:
    """Find the plate of this name by its true box, or go wrong."""
    picture = picture_key(image)
    fault = fault_of("detect_objects", f"{picture} {phrases}")
    if fault == "nothing":
        return ToolOutput(text="", data={})
    box = truth()[picture].get(phrases)
    sides = [float("nan")] * 4 if fault in ("nan", "size", "null") else box
    return ToolOutput(text="found", data={"detections": [] if sides is None else [{"box": list(sides)}]})


def segment(image: Image.Image, bbox_2d: Annotated[Box, "the thing"]) -> ToolOutput:
    """Cut out the box, or go wrong."""
    fault = fault_of("segment", f"{picture_key(image)} {bbox_2d}")
    if fault in ("null", "nothing"):
        return ToolOutput(text="", data={"mask": None} if fault == "null" else {})
    width, height = (image.width // 2, image.height) if fault == "size" else image.size
    counts: list[float] = list(Mask.from_box(bbox_2d, width, height).counts)
    counts = [float("nan"), *counts] if fault == "nan" else counts
    return ToolOutput(text="cut out", data={"mask": {"size": [height, width], "counts": counts}})


def build(settings: ToolSettings, folder: Path) -> Tool:
    """A tool of this file by its name."""
    for function in (detect_objects, segment):
        if function.__name__ == settings.name:
            return tool_from(function, DEADLINE_S)
    raise UserError(f"there is no tool {settings.name}")


def write_questions(folder: Path) -> dict[str, Task]:
    """Questions of one's own with their pictures, and the true boxes by picture; the drawn tasks by id."""
    media, boxes, rows, tasks = MediaStore(), {}, [], {}
    for number in range(QUESTIONS):
        family = ("plate_mark", "plate_pair")[number % 2]
        task = generate(family, split="train", index=100_000 + number, seed=7, media=media).task
        image = media.get(task.images[0])
        boxes[picture_key(image)] = {one.name: list(one.box.as_tuple()) for one in task.objects}
        media.export(task.images[0], folder / "images")
        tasks[task.id] = task
        rows.append({**question_row(task, [exported(task.images[0])]), "family": "photo"})
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "truth.json").write_text(json.dumps(boxes), encoding="utf-8")
    return tasks


def trained(folder: Path, model: Path, url: str, steps: int, seed: int) -> Path:
    """A run of the recipe against the server."""
    settings = [
        f"back_ends.service={url}",
        "back_ends.service_models=true boxes",
        "reward.reasoning_weight=0",
        "reward.measured_share=1",
        f"rl.steps={steps}",
        "rl.tasks_per_step=8",
        "rl.evaluate_every=0",
        "held_out_share=0.05",
        "rl.optimizer.learning_rate=1e-4",
        "rollout.max_turn_tokens=80",
        "rollout.max_tokens=640",
    ]
    out = folder / "run"
    command = [sys.executable, "-m", "saccade", "train", "argos", "--model", str(model), "--out", str(out), "--quiet"]
    command += ["--data", str(folder / "questions.jsonl"), "--seed", str(seed), "--threads", "1"]
    subprocess.run([*command, *(word for setting in settings for word in ("--set", setting))], check=True)
    return out


def verdicts(files: Sequence[Path], tasks: Mapping[str, Task]) -> Counter[str]:
    """What became of the grounding of each trajectory that it pays for."""
    exact, told = ArgosReward(verifier=Verifier(regions=ExactRegions()), reasoning_weight=0.0), Counter[str]()
    for file in files:
        for attempt in read_records(file):
            told[judged(attempt, tasks[attempt.task.id], exact)] += 1
    return told


def judged(attempt: Attempt, task: Task, exact: ArgosReward) -> str:
    """The verdict on one trajectory beside the exact one."""
    trajectory = attempt.trajectory
    if trajectory.status == "failed":
        return "failed"
    score = trajectory.score
    if score is None or not score.is_right:
        return "wrong: not paid for"
    found = [term for term in score.terms if term.name == "grounding"]
    if not found:
        return "left out"
    if found[0].filled_from:
        return "a sibling's"
    ([true],), _ = score_questions([[Group(task=task, stream="main", trajectories=(trajectory,))]], exact, {})
    right = true.trajectories[0].score
    assert right is not None
    return "exact" if right.values["grounding"] == found[0].value else "NOT EXACT"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        tasks = write_questions(folder)
        calls = folder / "calls"
        calls.mkdir()
        os.environ |= {TRUTH: str(folder / "truth.json"), CALLS: str(calls)}
        (folder / "tools.toml").write_text(SERVED, encoding="utf-8")
        start = time.monotonic()
        with ServedTools(folder / "tools.toml") as server:
            run = trained(folder, arguments.model, server.url, arguments.steps, arguments.seed)
        rows = [row for row in read(run / "metrics.jsonl") if row["stage"] == "rl"]
        told: Row = {
            "steps": len(rows),
            "calls": dict(Counter(file.read_text(encoding="utf-8") for file in calls.iterdir()).most_common()),
            "regions": {
                name: sum(row.get(f"time/{name}", 0.0) for row in rows)
                for name in ("region_requests", "regions_sought", "regions_failed")
            },
            "groundings": verdicts(sorted((run / "trajectories").rglob("*.jsonl")), tasks),
            "wall_s": time.monotonic() - start,
        }
    print(json.dumps(rounded(told), indent=1))
    if arguments.json:
        head = {"command": "python benchmarks/argos_faults.py", "date": date.today().isoformat()}
        arguments.json.write_text(json.dumps(rounded({**head, **told}), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
