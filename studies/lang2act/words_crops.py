"""Words against crops in miniature (the paper's Tables 12 and 14): the same questions, with marks from large to far
below what the view resolves, answered by chains of linguistic tools, by crops of the model's own, and by words on the
crop of the gold box, which is given.

    python -m studies.lang2act.words_crops --seeds 0 1 2 --at-once 2 --json studies/lang2act/words_crops.json

A tiny model from nothing imitates the three ways in equal parts, on marks of all sizes, from experts that err in
nothing; nothing is reinforced. One page is shown, so that nothing but the plate is to be found. The view holds a
quarter of the picture's side: of a mark of 2 px it has a quarter of a pixel, which a crop shows whole. Results are
appended to results.jsonl in --out; what is there is not run again.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Lock

import torch
from numpy.random import Generator
from studies.seed_runs import (
    Row,
    Variants,
    arguments_of,
    by_seed,
    directory_of,
    imitation_of,
    pooled,
    run_all,
    train,
    write_results,
)

from saccade.config import RecipeContext, apply_overrides
from saccade.engines.local import LocalEngine
from saccade.evaluation.evaluate import evaluation_requests, play
from saccade.gym.drawn.plates import marked_plates, marked_scene
from saccade.learner import OptimizerSettings
from saccade.media import MediaStore
from saccade.miniature.plates import COORDINATES, CROP_PHRASES, SCAFFOLD_TEXTS
from saccade.miniature.tiny_model import TinySize, tiny_or_given
from saccade.models import LoadSettings, VisionLanguageModel, load_model
from saccade.protocols import (
    ChainCall,
    LinguisticTool,
    LinguisticToolbox,
    chain_thought,
    tagged_protocol,
    toolchain_protocol,
)
from saccade.rewards import OutcomeReward
from saccade.rollout import RolloutSettings
from saccade.runs import read_records
from saccade.seeding import seed_for
from saccade.tasks import generate, vocabulary_texts
from saccade.tasks.scene import Scene, crop_turn, look_box
from saccade.tools import IMAGE_TOOLS
from saccade.train import EpisodeSpec, Evaluate, ImitationSettings, Material, Plan, SFTStage
from saccade.types import Answer, Attempt, Example, ExpertTurn, StreamExample, Task, ToolCall, Trajectory

WAYS = ("words", "crops", "gold crop")
SIDES = (20, 12, 8, 4, 2, 1)
"""Of a mark, in a picture of 256 px; a pixel of the view is the mean of 4 x 4: 5 to 0.25 of its pixels."""
TIMED_SIDE, TIMED_TOGETHER, TIMED_ALONE, TIMED_ROUNDS = 20, 40, 10, 3

TOOLBOX = LinguisticToolbox(
    (
        LinguisticTool("locate_plate", "Say where the plate of a colour lies.", "Image k"),
        LinguisticTool("read_mark", "Read the mark on the plate of a colour.", "Image k"),
    )
)
PHRASES = (
    *("<description>", "</description>", "Image ", '">', "</tool>"),
    *(f'<tool name="{name}" args="Image ' for name in TOOLBOX.names),
)
_CLOCK = Lock()


@dataclass(frozen=True, kw_only=True)
class ReadingSettings:
    """Settings of one imitation of three ways to read."""

    sft: ImitationSettings = ImitationSettings(
        steps=1800,
        batch_size=16,
        optimizer=OptimizerSettings(learning_rate=1.5e-3, micro_batch_tokens=16_384),
        warmup_steps=20,
        decay="cosine",
        final_rate=0.1,
        checkpoint_every=250,
    )
    rollout: RolloutSettings = RolloutSettings(max_turn_tokens=80, max_tokens=240)
    size: TinySize = TinySize()
    evaluation_tasks: int = 100


def draw_sized_marks(rng: Generator, difficulty: float) -> Scene:
    """Two or three marked plates; the marks are the largest at difficulty 0 and the smallest at 1."""
    plates = marked_plates(rng, 0.5)
    asked, side = plates[0], SIDES[round(difficulty * (len(SIDES) - 1))]
    question = f"Which mark is on the {asked.colour} plate?"
    return marked_scene(plates, difficulty, question, asked.mark, sought=plates[:1], mark_px=side)


def reading(context: RecipeContext) -> Plan:
    """Imitates the three ways and measures each at each size."""
    settings = apply_overrides(ReadingSettings(), context.overrides)

    def lesson(index: int, _: float) -> StreamExample:
        # Each way meets each size.
        way, side = WAYS[index % len(WAYS)], SIDES[index // len(WAYS) % len(SIDES)]
        return StreamExample(example=read_in(way, side, "train", index, context.seed, context.media), stream=way)

    def held_out(way: str, side: int) -> Callable[[], Sequence[Task]]:
        return lambda: held_out_tasks(way, side, settings.evaluation_tasks, context.seed, context.media)

    def build_model() -> VisionLanguageModel:
        tags = ["<think>Image 1.", "<think>Image 2.", "chain", *TOOLBOX.names, *SCAFFOLD_TEXTS]
        return tiny_or_given(
            context.model,
            [*vocabulary_texts(families=("plate_mark",)), *tags * 60],
            context.media,
            size=settings.size,
            numbers=(1, 2, *COORDINATES),
            phrases=(*PHRASES, *CROP_PHRASES),
            seed=seed_for(context.seed, "weights"),
        )

    material = Material(
        title="Words against crops on drawn pages",
        build_model=build_model,
        style="brief",
        held_out={},
        examples=lesson,
        first=None,
    )
    ways = episodes(settings.rollout)
    reward = OutcomeReward(format_weight=0.0)
    evaluations = [
        Evaluate(name=name_of(way, side), tasks=held_out(way, side), episodes=ways[way], reward=reward)
        for way in WAYS
        for side in SIDES
    ]
    return material.plan(
        settings, [SFTStage(name="sft", source=material.demonstrations(ways), settings=settings.sft), *evaluations]
    )


def held_out_tasks(way: str, side: int, count: int, seed: int, media: MediaStore) -> list[Task]:
    return [read_in(way, side, "held_out", number, seed, media).task for number in range(count)]


def read_in(way: str, side: int, split: str, number: int, seed: int, media: MediaStore) -> Example:
    """The question of this number as an expert answers it in this way."""
    difficulty = SIDES.index(side) / (len(SIDES) - 1)
    made = generate(draw_sized_marks, split=split, index=number, seed=seed, media=media, difficulty=difficulty)
    task, [target], answer = made.task, made.task.targets, Answer(text=made.task.answer)
    colour, box = target.label.split()[0], look_box(target.box)
    looks = crop_turn(box, colour)
    # A colour stands right before what is found of it: a small model looks for the word that it has just written.
    reads = f"{colour} {answer.text}"
    if way == "crops":
        return Example(task=task, turns=(looks, ExpertTurn(thought=reads, action=answer)))
    calls = [
        ChainCall(name="locate_plate", args="Image 1", finding=looks.thought),
        ChainCall(name="read_mark", args="Image 1", finding=reads),
    ]
    if way == "gold crop":
        picture = media.get(task.images[0]).crop(box.as_tuple())
        task = replace(task, images=(*task.images, media.add(picture)))
        calls = [ChainCall(name="read_mark", args="Image 2", finding=reads)]
    thought = chain_thought(f"Image {len(task.images)}.", calls)
    return Example(task=task, turns=(ExpertTurn(thought=thought, action=answer),))


def name_of(way: str, side: int) -> str:
    return f"{way}_{side}".replace(" ", "_")


def episodes(rollout: RolloutSettings) -> dict[str, EpisodeSpec]:
    """How each way is played."""
    chains = EpisodeSpec(protocol=toolchain_protocol(toolbox=TOOLBOX, style="brief"), rollout=rollout, max_turns=1)
    [crop] = (tool for tool in IMAGE_TOOLS if tool.name == "crop")
    tagged = tagged_protocol(style="brief", max_turns=2)
    crops = EpisodeSpec(protocol=tagged, tools=(crop,), rollout=rollout, max_turns=2)
    return {"words": chains, "crops": crops, "gold crop": chains}


def run(variant: str, seed: int, out: Path, threads: int, settings: list[str]) -> Row:
    """One run as a row of the results."""
    directory = directory_of(variant, seed, out)
    report = train(f"{Path(__file__)}:reading", seed, directory, settings, threads=threads, start=None)
    stages = {stage["name"]: {key: stage[key] for key in ("accuracy", "ci95", "n")} for stage in report["stages"]}
    for name, stage in stages.items():
        path = directory / "evaluations" / f"{name}.jsonl"
        stage["tokens"] = statistics.mean(written(one.trajectory) for one in read_records(path))
        stage["crops_the_plate"] = statistics.mean(map(crops_the_plate, read_records(path)))
    return {"wall_s": report["wall_s"], "stages": stages, "seconds": seconds(directory, seed)}


def written(trajectory: Trajectory) -> int:
    """Tokens that the model wrote."""
    return sum(len(segment.ids) for segment in trajectory.segments if segment.role == "action")


def crops_the_plate(attempt: Attempt) -> bool:
    """Whether the first call is a crop that holds the middle of the plate that is asked for."""
    [target], turns = attempt.task.targets, attempt.trajectory.turns
    if not turns or not isinstance(turns[0].action, ToolCall):
        return False
    match turns[0].action.arguments.get("bbox_2d"):
        case [float(x1), float(y1), float(x2), float(y2)]:
            return x1 <= target.point.x <= x2 and y1 <= target.point.y <= y2
    return False


def seconds(directory: Path, seed: int) -> Row:
    """Processor seconds of an answer by each way, many in a batch and one at a time: the median of several rounds by
    turns. Pictures are encoded anew in each."""
    with _CLOCK:
        media, settings = MediaStore(), ReadingSettings()
        model = load_model(imitation_of(directory), media, LoadSettings(device="cpu"))
        ways = episodes(settings.rollout)
        tasks = {way: held_out_tasks(way, TIMED_SIDE, TIMED_TOGETHER, seed, media) for way in WAYS}

        def answered(way: str, asked: Sequence[Task]) -> float:
            began_s = time.process_time()
            play(
                evaluation_requests(asked, seed=seed, name=way),
                engine=LocalEngine(model),
                chat=model.chat,
                make_env=partial(ways[way].environment, media, model.view),
                settings=replace(settings.rollout, temperature=0.0),
                reward=OutcomeReward(format_weight=0.0),
            )
            return time.process_time() - began_s

        found: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
        for _ in range(TIMED_ROUNDS):
            for way, asked in tasks.items():
                alone = sum(answered(way, [task]) for task in asked[:TIMED_ALONE])
                found[way].append((answered(way, asked) / TIMED_TOGETHER, alone / TIMED_ALONE))
        return {
            way: dict(zip(("together_s", "alone_s"), map(statistics.median, zip(*rounds))))
            for way, rounds in found.items()
        }


def main() -> None:
    torch.set_num_threads(1)
    variants: Variants = {"three ways": ()}
    arguments = arguments_of(__doc__, variants, shown=list(variants), out=Path("runs/words_crops"))
    rows = run_all(run, arguments, variants, base="three ways")
    print("\n\n".join([table(rows), cost_table(rows)]))
    if arguments.json:
        write_results(arguments.json, rows)


def table(rows: Sequence[Row]) -> str:
    """Accuracy of each way at each size, all seeds with Wilson's interval and each, and crops that hold the plate."""
    lines = [f"| mark in the picture | {' | '.join(WAYS)} | own crops on the plate |", "|---" * 5 + "|"]
    for side in SIDES:
        stages = {way: [row["stages"][name_of(way, side)] for row in rows] for way in WAYS}
        cells = [f"{pooled(stages[way])}: {by_seed(stages[way])}" for way in WAYS]
        held = statistics.mean(stage["crops_the_plate"] for stage in stages["crops"])
        lines.append(f"| {side} px | {' | '.join(cells)} | {held:.0%} |")
    return "\n".join(lines)


def cost_table(rows: Sequence[Row]) -> str:
    """Tokens that are written, and processor time of an answer: means over the seeds."""
    lines = ["| way | tokens | in a batch | one at a time |", "|---|---|---|---|"]
    for way in WAYS:
        tokens = statistics.mean(row["stages"][name_of(way, TIMED_SIDE)]["tokens"] for row in rows)
        means = [statistics.mean(row["seconds"][way][key] for row in rows) for key in ("together_s", "alone_s")]
        lines.append(f"| {way} | {tokens:.0f} | {' | '.join(f'{1000 * mean:.1f} ms' for mean in means)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
