"""Words against crops in miniature (the paper's Tables 12 and 14): the same questions, with marks from large to below
what the view resolves, answered by chains of linguistic tools, by crops of the model's own, and by words on the crop
of the gold box, which is given.

    python benchmarks/lang2act_seeds.py --seeds 0 1 2 --variants "both stages"    # whose imitations these start from
    python benchmarks/words_crops.py --seeds 0 1 2 --at-once 2 --json docs/results/words_crops.json

For each seed the model that Lang2Act's imitation made goes on to imitate all three ways in equal parts, on marks of
all sizes, from experts that err in nothing; nothing is reinforced. What differs is what the view holds. Results are
appended to results.jsonl in --out; what is there is not run again.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

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
from saccade.media import MediaStore
from saccade.miniature.lang2act import IMITATION, PHRASES, vocabulary
from saccade.miniature.pages import AskedPages, PageQuestions
from saccade.miniature.plates import COORDINATES
from saccade.miniature.reading import TOOLS, GoldLessons, in_tools, read_by, said
from saccade.miniature.tiny_model import TinySize, tiny_or_given
from saccade.models import VisionLanguageModel
from saccade.protocols import ChainCall, LinguisticToolbox, chain_thought, tagged_protocol, toolchain_protocol
from saccade.protocols.described import described_parts
from saccade.rewards import OutcomeReward
from saccade.rollout import RolloutSettings
from saccade.runs import read_records
from saccade.seeding import generator_for, seed_for
from saccade.tasks.scene import look_box, place_of
from saccade.tools import IMAGE_TOOLS
from saccade.train import EpisodeSpec, Evaluate, ImitationSettings, Material, Plan, SFTStage
from saccade.types import Example, ExpertTurn, Json, StreamExample, Task, ToolCall, Trajectory

WAYS = ("words", "crops", "gold crop")
SIDES = (32, 28, 20, 12, 8, 6)
"""Sides of a mark in a picture of 256 px; the model sees a quarter of it: 8 to 1.5 px."""

CROP_PHRASES = ('{"name": "crop", "arguments": {"image": ', ', "bbox_2d": [', "]}}")
"""A token each: the tiny model writes the number of the image and four coordinates between them."""

TOOLBOX = LinguisticToolbox(tuple(TOOLS[name] for name in ("read_head", "locate_plate", "read_mark")))


@dataclass(frozen=True, kw_only=True)
class ReadingSettings:
    """Settings of one imitation of three ways to read."""

    sft: ImitationSettings = replace(
        IMITATION, steps=600, optimizer=replace(IMITATION.optimizer, learning_rate=1.5e-3), checkpoint_every=100
    )
    rollout: RolloutSettings = RolloutSettings(max_turn_tokens=120, max_tokens=640)
    size: TinySize = TinySize(layers=3)
    gold: GoldLessons = GoldLessons(until=0.0)
    documents: int = 400
    questions: int = 16_000
    evaluation_tasks: int = 200


def reading(context: RecipeContext) -> Plan:
    """Imitates the three ways and measures each at each size of the marks."""
    settings = apply_overrides(ReadingSettings(), context.overrides)
    seed = seed_for(context.seed, "pages")

    drawn = {
        (side, oracle): PageQuestions(
            seed=seed,
            media=context.media,
            documents=settings.documents,
            difficulty=difficulty_of(side),
            kinds=("mark",),
            oracle=oracle,
        )
        for side in SIDES
        for oracle in (False, True)
    }

    def lesson(index: int, progress: float) -> StreamExample:
        chance = generator_for(context.seed, "lesson", index)
        way, side = WAYS[index % len(WAYS)], SIDES[int(chance.integers(len(SIDES)))]
        is_gold = settings.gold.applies(chance.random(), progress)
        asked = drawn[side, is_gold].asked("train", index % settings.questions)
        return StreamExample(example=read_in(way, asked, context.media), stream=way)

    def held_out(way: str, side: int) -> Callable[[], Sequence[Task]]:
        numbers, asked = range(settings.evaluation_tasks), drawn[side, False].asked
        return lambda: [read_in(way, asked("held_out", number), context.media).task for number in numbers]

    def build_model() -> VisionLanguageModel:
        return tiny_or_given(
            context.model,
            [*vocabulary(), *["tool\n", "tools: crop"] * 60],
            context.media,
            size=settings.size,
            numbers=(1, 2, 3, 4, *COORDINATES),
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
        action = ToolCall(name="crop", arguments={"image": image, "bbox_2d": corners})
        place = said("locate_plate", image, place_of(box.center), plate.colour)
        looks = ExpertTurn(thought=f"{think} {place}.", action=action)
        return Example(
            task=asked.task,
            turns=(
                looks,
                ExpertTurn(
                    thought=said("read_mark", len(asked.shown) + 1, plate.mark, plate.colour), action=turn.action
                ),
            ),
        )
    picture = media.get(asked.task.images[image - 1]).crop(box.as_tuple())
    task = replace(asked.task, images=(*asked.task.images, media.add(picture)))
    call = ChainCall(name="read_mark", args=f"Image {len(task.images)}: {plate.colour}", finding=plate.mark)
    return Example(task=task, turns=(replace(turn, thought=chain_thought(f"Image {len(task.images)}.", [call])),))


def difficulty_of(side: int) -> float:
    """The difficulty whose marks have this side: the inverse of ``mark_side``."""
    half = side / 2
    return (16 - half) / 4 if half > 14 else 0.5 + (14 - half) / 22


def name_of(way: str, side: int) -> str:
    return f"{way.replace(' ', '_')}_{side}"


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
        played = [one.trajectory for one in read_records(directory / "evaluations" / f"{name}.jsonl")]
        stage["tokens"] = statistics.mean(written(one) for one in played)
    return {"wall_s": report["wall_s"], "stages": stages}


def written(trajectory: Trajectory) -> int:
    """Tokens that the model wrote."""
    return sum(len(segment.ids) for segment in trajectory.segments if segment.role == "action")


def main() -> None:
    variants: Variants = {"three ways": ()}
    starts = Path("runs/lang2act_seeds")
    arguments = arguments_of(__doc__, variants, shown=list(variants), out=Path("runs/words_crops"), starts=starts)
    rows = run_all(partial(run, starts=arguments.starts), arguments, variants, base="three ways")
    print(table(rows))
    if arguments.json:
        write_results(arguments.json, "words_crops.py", rows)


def table(rows: Sequence[Row]) -> str:
    """Accuracy of each way at each size, all seeds with Wilson's interval and each, and tokens per answer."""
    lines = [f"| mark in the picture | {' | '.join(WAYS)} |", "|---" * (len(WAYS) + 1) + "|"]
    for side in SIDES:
        cells = []
        for way in WAYS:
            stages = [row["stages"][name_of(way, side)] for row in rows]
            tokens = statistics.mean(stage["tokens"] for stage in stages)
            cells.append(f"{pooled(stages)}: {by_seed(stages)}; {tokens:.0f} tokens")
        lines.append(f"| {side} px | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
