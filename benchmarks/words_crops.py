"""Words against crops in miniature (the paper's Tables 12 and 14): the same questions, with marks from large to below
what the view resolves, answered by chains of linguistic tools, by crops of the model's own, and by words on the crop
of the gold box, which is given.

    python benchmarks/lang2act_seeds.py --seeds 0 1 2 --variants "both stages"    # whose imitations these start from
    python benchmarks/words_crops.py --seeds 0 1 2 --at-once 2 --json docs/results/words_crops.json

For each seed the model that Lang2Act's imitation made goes on to imitate all three ways, on marks of all sizes, from
experts that err in nothing; nothing is reinforced. Half of the lessons crop, since words were most of the imitation
before; numbers and the call get tokens of their own, which that model lacks. What differs is what the view holds.
Each way is measured on the gold page alone, where nothing but the plate is to be found, and on three pages. Results
are appended to results.jsonl in --out; what is there is not run again.
"""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Lock

import torch
from seed_runs import (
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
from saccade.media import MediaStore
from saccade.miniature.lang2act import IMITATION, PHRASES, vocabulary
from saccade.miniature.pages import AskedPages, PageQuestions
from saccade.miniature.reading import TOOLS, GoldLessons, in_tools, read_by, said
from saccade.miniature.tiny_model import TinySize, tiny_or_given, with_tokens
from saccade.models import LoadSettings, VisionLanguageModel, load_model
from saccade.protocols import ChainCall, LinguisticToolbox, chain_thought, tagged_protocol, toolchain_protocol
from saccade.protocols.described import described_parts
from saccade.rewards import OutcomeReward
from saccade.rollout import RolloutSettings
from saccade.runs import read_records
from saccade.seeding import generator_for, seed_for
from saccade.tasks.scene import look_box
from saccade.tools import IMAGE_TOOLS
from saccade.train import EpisodeSpec, Evaluate, ImitationSettings, Material, Plan, SFTStage
from saccade.types import Attempt, Example, ExpertTurn, Json, StreamExample, Task, ToolCall, Trajectory

WAYS = ("words", "crops", "gold crop")
LESSONS = ("words", "crops", "gold crop", "crops")
SIDES = (28, 12, 6, 4, 2)
"""Sides of a mark in a picture of 256 px; the model sees a quarter of it: 7 to 0.5 px."""
GIVEN = {"gold page": True, "three pages": False}
"""What is shown, and whether it is the gold page alone."""
TIMED_SIDE, TIMED_TOGETHER, TIMED_ALONE, TIMED_ROUNDS = 28, 40, 10, 3

CALL_TOKENS = (
    *('{"name": "crop", "arguments": {"image": ', ', "bbox_2d": [', "]}}"),
    *(str(side) for side in range(250, 1001, 250)),
)
TOOLBOX = LinguisticToolbox(tuple(TOOLS[name] for name in ("read_head", "locate_plate", "read_mark")))
_CLOCK = Lock()

Drawn = Mapping[tuple[int, bool], PageQuestions]
"""Questions by the side of a mark and by whether the gold page alone is shown."""


@dataclass(frozen=True, kw_only=True)
class ReadingSettings:
    """Settings of one imitation of three ways to read."""

    sft: ImitationSettings = replace(
        IMITATION, steps=400, optimizer=replace(IMITATION.optimizer, learning_rate=2e-3), checkpoint_every=100
    )
    rollout: RolloutSettings = RolloutSettings(max_turn_tokens=120, max_tokens=640)
    size: TinySize = TinySize(layers=3)
    gold: GoldLessons = GoldLessons(until=0.5, share=0.5)
    documents: int = 400
    questions: int = 16_000
    evaluation_tasks: int = 100


def reading(context: RecipeContext) -> Plan:
    """Imitates the three ways and measures each at each size of the marks."""
    settings = apply_overrides(ReadingSettings(), context.overrides)
    drawn = drawn_pages(context.seed, context.media, settings.documents)

    def lesson(index: int, progress: float) -> StreamExample:
        chance = generator_for(context.seed, "lesson", index)
        way, side = LESSONS[index % len(LESSONS)], SIDES[int(chance.integers(len(SIDES)))]
        is_gold = settings.gold.applies(chance.random(), progress)
        asked = drawn[side, is_gold].asked("train", index % settings.questions)
        return StreamExample(example=read_in(way, asked, context.media), stream=way)

    def held_out(way: str, side: int, is_gold: bool) -> Callable[[], Sequence[Task]]:
        return lambda: held_out_tasks(drawn[side, is_gold], way, settings.evaluation_tasks, context.media)

    def build_model() -> VisionLanguageModel:
        seed = seed_for(context.seed, "weights")
        given = tiny_or_given(
            context.model,
            [*vocabulary(), *["tool\n", "tools: crop"] * 60],
            context.media,
            size=settings.size,
            numbers=(1, 2, 3, 4),
            phrases=PHRASES,
            seed=seed,
        )
        return with_tokens(given, CALL_TOKENS, seed=seed)

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
        Evaluate(name=name_of(way, side, given), tasks=held_out(way, side, is_gold), episodes=ways[way], reward=reward)
        for given, is_gold in GIVEN.items()
        for way in WAYS
        for side in SIDES
    ]
    return material.plan(
        settings, [SFTStage(name="sft", source=material.demonstrations(ways), settings=settings.sft), *evaluations]
    )


def drawn_pages(seed: int, media: MediaStore, documents: int) -> Drawn:
    return {
        (side, is_gold): PageQuestions(
            seed=seed_for(seed, "pages"),
            media=media,
            documents=documents,
            mark_px=side,
            kinds=("mark",),
            oracle=is_gold,
        )
        for side in SIDES
        for is_gold in GIVEN.values()
    }


def held_out_tasks(drawn: PageQuestions, way: str, count: int, media: MediaStore) -> list[Task]:
    return [read_in(way, drawn.asked("held_out", number), media).task for number in range(count)]


def read_in(way: str, asked: AskedPages, media: MediaStore) -> Example:
    """The question as an expert answers it in this way; the page it is on is among those shown."""
    [sought], plate = asked.sought, asked.sought[0].plate
    [turn] = read_by(asked, "look", generator_for(0)).turns
    think, _ = described_parts(turn.thought)
    box = look_box(plate.box)
    if way == "words":
        return in_tools(Example(task=asked.task, turns=(turn,)))
    image = asked.image_of(sought)
    assert image is not None
    if way == "crops":
        corners: list[Json] = [int(side) for side in box.as_tuple()]
        looks = ExpertTurn(thought=think, action=ToolCall(name="crop", arguments={"image": image, "bbox_2d": corners}))
        reads = said("read_mark", len(asked.shown) + 1, plate.mark, plate.colour)
        return Example(task=asked.task, turns=(looks, ExpertTurn(thought=reads, action=turn.action)))
    picture = media.get(asked.task.images[image - 1]).crop(box.as_tuple())
    task = replace(asked.task, images=(*asked.task.images, media.add(picture)))
    call = ChainCall(name="read_mark", args=f"Image {len(task.images)}: {plate.colour}", finding=plate.mark)
    return Example(task=task, turns=(replace(turn, thought=chain_thought(f"Image {len(task.images)}.", [call])),))


def name_of(way: str, side: int, given: str) -> str:
    return f"{way}_{side}_{given}".replace(" ", "_")


def episodes(rollout: RolloutSettings) -> dict[str, EpisodeSpec]:
    """How each way is played."""
    chains = EpisodeSpec(protocol=toolchain_protocol(toolbox=TOOLBOX, style="brief"), rollout=rollout, max_turns=1)
    [crop] = (tool for tool in IMAGE_TOOLS if tool.name == "crop")
    crops = EpisodeSpec(
        protocol=tagged_protocol(style="brief", max_turns=2), tools=(crop,), rollout=rollout, max_turns=2
    )
    return {"words": chains, "crops": crops, "gold crop": chains}


def run(variant: str, seed: int, out: Path, threads: int, settings: list[str], *, starts: Path) -> Row:
    """One run as a row of the results."""
    directory, start = directory_of(variant, seed, out), imitation_of(directory_of("both stages", seed, starts))
    report = train(f"{Path(__file__)}:reading", seed, directory, settings, threads=threads, start=start)
    stages = {stage["name"]: {key: stage[key] for key in ("accuracy", "ci95", "n")} for stage in report["stages"]}
    for name, stage in stages.items():
        path = directory / "evaluations" / f"{name}.jsonl"
        stage["tokens"] = statistics.mean(written(one.trajectory) for one in read_records(path))
        stage["on_the_plate"] = statistics.mean(map(crops_the_plate, read_records(path)))
    return {"wall_s": report["wall_s"], "stages": stages, "seconds": seconds(directory, seed)}


def written(trajectory: Trajectory) -> int:
    """Tokens that the model wrote."""
    return sum(len(segment.ids) for segment in trajectory.segments if segment.role == "action")


def crops_the_plate(attempt: Attempt) -> bool:
    """Whether a crop holds the middle of the plate that is asked for."""
    [target] = attempt.task.targets
    [turn, *_] = attempt.trajectory.turns
    if not isinstance(turn.action, ToolCall) or turn.action.arguments.get("image") != target.image_index + 1:
        return False
    match turn.action.arguments.get("bbox_2d"):
        case [float(x1), float(y1), float(x2), float(y2)]:
            return x1 <= target.point.x <= x2 and y1 <= target.point.y <= y2
    return False


def seconds(directory: Path, seed: int) -> Row:
    """Processor seconds of an answer on three pages by each way, many in a batch and one at a time: the median of
    several rounds by turns. Pages are encoded anew in each."""
    with _CLOCK, torch.inference_mode():
        media, settings = MediaStore(), ReadingSettings()
        drawn = drawn_pages(seed, media, settings.documents)[TIMED_SIDE, GIVEN["three pages"]]
        model = load_model(imitation_of(directory), media, LoadSettings(device="cpu"))
        ways = episodes(settings.rollout)
        tasks = {way: held_out_tasks(drawn, way, TIMED_TOGETHER, media) for way in WAYS}

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
    starts = Path("runs/lang2act_seeds")
    arguments = arguments_of(__doc__, variants, shown=list(variants), out=Path("runs/words_crops"), starts=starts)
    rows = run_all(partial(run, starts=arguments.starts), arguments, variants, base="three ways")
    print("\n\n".join([*(table(rows, given) for given in GIVEN), seconds_table(rows)]))
    if arguments.json:
        write_results(arguments.json, "words_crops.py", rows)


def table(rows: Sequence[Row], given: str) -> str:
    """Accuracy of each way at each size, all seeds with Wilson's interval and each, and tokens per answer."""
    lines = [f"| {given}: mark in the picture | {' | '.join(WAYS)} |", "|---" * (len(WAYS) + 1) + "|"]
    for side in SIDES:
        cells = []
        for way in WAYS:
            stages = [row["stages"][name_of(way, side, given)] for row in rows]
            tokens = statistics.mean(stage["tokens"] for stage in stages)
            cells.append(f"{pooled(stages)}: {by_seed(stages)}; {tokens:.0f} tokens")
        lines.append(f"| {side} px | {' | '.join(cells)} |")
    return "\n".join(lines)


def seconds_table(rows: Sequence[Row]) -> str:
    """Processor seconds of an answer on three pages, means over the seeds."""
    lines = ["| way | in a batch | one at a time |", "|---|---|---|"]
    for way in WAYS:
        means = [statistics.mean(row["seconds"][way][key] for row in rows) for key in ("together_s", "alone_s")]
        lines.append(f"| {way} | {' | '.join(f'{1000 * mean:.0f} ms' for mean in means)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
