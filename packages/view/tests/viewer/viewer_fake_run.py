"""A run directory as a demo leaves it, made with the real writers and without a model."""

import json
import math
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from saccade.geometry import Box
from saccade.media.store import MediaStore
from saccade.runs.directory import RunDirectory
from saccade.runs.metrics import MetricsWriter
from saccade.runs.position import Position
from saccade.runs.records import write_records
from saccade.runs.runinfo import RunPaths
from saccade.seeding import generator_for
from saccade.types import (
    Answer,
    Attempt,
    ImageRef,
    Json,
    Malformed,
    Observation,
    Score,
    Target,
    Task,
    Term,
    ToolCall,
    ToolResult,
    Trajectory,
    Turn,
)

STAGES = ("start", "sft", "after_sft", "rl", "after_rl", "after_rl_without_tool")
SETTINGS: dict[str, Json] = {
    "seed": 0,
    "threads": 2,
    "recipe": {"sft": {"steps": 200, "optimizer": {"learning_rate": 0.002}}, "rl": {"steps": 30}, "tags": ["a", "b"]},
}
TEXTURES = ("rows", "columns", "checks", "plain")
COLORS = {"red": (190, 60, 60), "blue": (70, 90, 190), "green": (60, 150, 80)}


def plate_image(texture: str, color: str, box: Box) -> Image.Image:
    image = Image.new("RGB", (256, 256), (128, 128, 128))
    ImageDraw.Draw(image).rectangle((20, 20, 60, 60), fill=COLORS["green"])
    pixels = np.asarray(image).copy()
    ys, xs = np.mgrid[0:256, 0:256] // 2 % 2
    light = {"rows": ys, "columns": xs, "checks": ys ^ xs, "plain": np.zeros_like(ys)}[texture]
    inside = (slice(int(box.y1), int(box.y2)), slice(int(box.x1), int(box.x2)))
    plain = np.array(COLORS[color])
    pixels[inside] = np.where(light[inside][..., None] == 1, plain + 40, plain - 20)
    return Image.fromarray(pixels)


def search_task(media: MediaStore, index: int, family: str = "visual_search") -> Task:
    chance = generator_for(7, "fake", index)
    x, y = (float(chance.integers(0, 3) * 64 + 6) for _ in range(2))
    box = Box(x + 60, y + 60, x + 108, y + 108)
    texture, color = TEXTURES[index % 4], ("red", "blue")[index % 2]
    return Task(
        id=f"{family}/held_out/{index}",
        family=family,
        question=f"Which texture is on the {color} plate?",
        answer=texture,
        answer_kind="choice",
        images=(media.add(plate_image(texture, color, box)),),
        choices=TEXTURES,
        targets=(Target(label=f"{color} plate", box=box, point=box.center),),
    )


def looking_attempt(media: MediaStore, task: Task, answer: str, *, sample: int = 0) -> Attempt:
    """A crop around the target, then an answer."""
    target = task.targets[0].box
    asked = Box(target.x1 - 10, target.y1 - 6, target.x2 + 4, target.y2 + 12)
    source = media.get(task.images[0])
    crop = media.add(source.crop((int(asked.x1), int(asked.y1), int(asked.x2), int(asked.y2))))
    call = ToolCall(name="crop", arguments={"bbox_2d": list(asked.as_tuple())})
    thought = "The plate is too small to read here."
    written = '{"name": "crop", "arguments": {"bbox_2d": [250, 250, 500, 500]}}'
    text = f"<think>{thought}</think><tool_call>{written}</tool_call>"
    look = Turn(
        index=0,
        text=text,
        thought=thought,
        action=call,
        is_well_formed=True,
        result=ToolResult(text="cropped", images=(crop,)),
        observation=Observation(text="Image 2 is the crop of image 1 (62 x 66 px).", images=(crop,)),
    )
    return Attempt(task=task, trajectory=trajectory(task, (look, answering(1, answer)), answer, sample=sample))


def guessing_attempt(task: Task, answer: str, *, sample: int = 0) -> Attempt:
    return Attempt(task=task, trajectory=trajectory(task, (answering(0, answer),), answer, sample=sample))


def answering(index: int, answer: str) -> Turn:
    text = f"<think>It looks like {answer}.</think><answer>{answer}</answer>"
    return Turn(index=index, text=text, thought="", action=Answer(text=answer), is_well_formed=True)


def trajectory(task: Task, turns: tuple[Turn, ...], answer: str, *, sample: int = 0) -> Trajectory:
    accuracy = float(answer == task.answer)
    return Trajectory(
        task_id=task.id,
        family=task.family,
        stream="main",
        sample=sample,
        seed=sample,
        policy_version=0,
        segments=(),
        turns=turns,
        status="answered",
        score=Score(terms=(Term("accuracy", accuracy), Term("format", 1.0, 0.1)), is_right=accuracy > 0),
    )


def hostile_attempt(image: ImageRef) -> Attempt:
    """Everything that a model may write to break the page."""
    task = Task(
        id="x/<b>1</b>",
        family="<script>alert('family')</script>",
        question='Read "this" & <img src=x onerror=alert(1)> ?',
        answer="</pre><script>alert('gold')</script>",
        answer_kind="text",
        images=(image,),
    )
    boxes: list[Json] = [[0, 0, 10, 10], [math.nan, 0, 1, 1], [5, 5, 1, 1], [1e300, 0, 1, 1], "no"]
    call = ToolCall(name="<script>crop</script>", arguments={"boxes": boxes, "point_2d": [5, 5], "image": 99})
    turns = (
        Turn(index=0, text="<script>alert('text')</script>", thought="", action=call, is_well_formed=False),
        Turn(
            index=1,
            text="\u202eright to left\x00\x1b[31m\ud800" + "x" * 1_000_000,
            thought="",
            action=Malformed(why="<b>no action</b>"),
            is_well_formed=False,
            observation=Observation(text="</script><script>alert('tool')</script>"),
        ),
        Turn(index=2, text="Z" + "\u0301" * 5000, thought="", action=Answer(text="<i>a</i>"), is_well_formed=False),
    )
    return Attempt(task=task, trajectory=trajectory(task, turns, "<i>a</i>"))


def make_run(root: Path, *, n: int = 48, status: str = "finished") -> Path:
    """SFT, RL, three evaluations; the accuracies are made up."""
    media = MediaStore()
    chance = generator_for(3, "fake run")
    families = ("visual_search", "counting", "chart_bars")
    tasks = [search_task(media, index, families[index % 3]) for index in range(n)]
    command = ("saccade", "demo", "--seed", "0", "--out", "runs/demo")
    title = "A tiny model learns to look closer"
    with RunDirectory.create(root, resume=False, settings=SETTINGS, command=command, title=title) as run:
        with MetricsWriter.open(run.paths.metrics, stages=STAGES) as metrics:
            for step in range(1, 201):
                nll = 2.2 * math.exp(-step / 60) + 0.35 + 0.08 * float(chance.standard_normal())
                values = {
                    "nll": nll,
                    "entropy": nll * 0.8,
                    "action_tokens": 420.0,
                    "gradient_norm": 1 + nll,
                    "time/tokens_per_s": 3000 + 200 * float(chance.standard_normal()),
                }
                metrics.write(Position(stage="sft", step=step), values)
            evaluate(run, media, metrics, "after_sft", tasks, right_of_ten=2, looks=False)
            for step in range(1, 31):
                share = 0.25 + 0.4 * (1 - math.exp(-step / 6)) + 0.02 * float(chance.standard_normal())
                values = {
                    "reward/mean": share + 0.09,
                    "reward/accuracy": share,
                    "reward/format": 0.95,
                    "rollout/tool_rate": 1 - math.exp(-step / 4),
                    "mismatch_kl": 0.0004 + 0.0001 * abs(float(chance.standard_normal())),
                    "clip_fraction": 0.02 * step / 30,
                    "entropy": 0.5 - step / 100,
                    "policy_loss": math.nan if step == 7 else 0.01 * float(chance.standard_normal()),
                    "time/tokens_per_s": 1800 + 50 * float(chance.standard_normal()),
                }
                if step % 5 == 0:
                    values |= {
                        "held_out/reward/accuracy": share + 0.03,
                        "held_out/rollout/tool_rate": min(1.0, step / 10),
                    }
                metrics.write(Position(stage="rl", step=step), values)
            last = Position(stage="rl", step=30)
            rollouts = [looking_attempt(media, tasks[0], tasks[0].answer), guessing_attempt(tasks[1], "none", sample=1)]
            write_records(run.paths.trajectories(last), last, rollouts, media=media, media_directory=run.paths.media)
            evaluate(run, media, metrics, "after_rl", tasks, right_of_ten=7, looks=True)
            evaluate(run, media, metrics, "after_rl_without_tool", tasks, right_of_ten=2, looks=False)
        if status == "finished":
            run.finish("finished")
        if status == "failed":
            run.finish("failed", "MachineError: the disk is full")
    return root


def evaluate(
    run: RunDirectory,
    media: MediaStore,
    metrics: MetricsWriter,
    name: str,
    tasks: list[Task],
    *,
    right_of_ten: int,
    looks: bool,
) -> None:
    attempts = []
    for index, task in enumerate(tasks):
        answer = task.answer if index * 7 % 10 < right_of_ten else TEXTURES[(TEXTURES.index(task.answer) + 1) % 4]
        attempts.append(looking_attempt(media, task, answer) if looks else guessing_attempt(task, answer))
    position = Position(stage=name, step=1)
    metrics.write(position, {"reward/mean": 0.5})
    write_records(run.paths.evaluation(name), position, attempts, media=media, media_directory=run.paths.media)


def write_step(root: Path, step: int, *, stage: str = "rl", group: int = 4) -> None:
    """A step as the trainer writes it: records first, then its metrics."""
    media, paths, position = MediaStore(), RunPaths(root=root), Position(stage=stage, step=step)
    task = search_task(media, step)
    records = [looking_attempt(media, task, task.answer, sample=sample) for sample in range(group)]
    write_records(paths.trajectories(position), position, records, media=media, media_directory=paths.media)
    with paths.metrics.open("a") as metrics:
        metrics.write(json.dumps({"stage": stage, "step": step, "reward/mean": 0.5}) + "\n")
