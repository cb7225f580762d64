"""Search as a skill in miniature: a policy that must call ``search_pages`` itself, from no call at all, reinforced by
right answers alone, against the same policy that is given the best three pages, and from one that never saw a call.

    python benchmarks/lang2act_seeds.py --seeds 0 1 2 --variants "both stages"    # whose imitations these start from
    python benchmarks/search_skill.py --seeds 0 1 2 --at-once 2 --json docs/results/search_skill.json

A question names a page by its head; no page is shown. The model that Lang2Act's imitation made, with tokens for the
call, which it lacks, goes on to imitate experts who read pages that are given, and others that are given none, of whom
most guess without a search: asked greedily it never calls, sampled it does at times. "search" is reinforced where it
must search, "given" where the best three pages are brought for it, "never shown" as "search" after experts of whom
none calls. A tiny ColQwen2 and an index of all pages are made once for all seeds. Results are appended to
results.jsonl in --out; what is there is not run again.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Literal

from numpy.random import Generator
from seed_runs import (
    Row,
    Variants,
    arguments_of,
    by_seed,
    directory_of,
    imitation_of,
    pooled,
    read,
    run_all,
    train,
    write_results,
)

from saccade.config import RecipeContext, apply_overrides
from saccade.media import MediaStore
from saccade.miniature.lang2act import IMITATION, REINFORCEMENT, vocabulary
from saccade.miniature.page_encoder import taught_page_encoder
from saccade.miniature.pages import AskedPages, PageQuestions
from saccade.miniature.reading import GoldLessons, read_by
from saccade.miniature.tiny_model import TinySize, tiny_or_given, with_tokens
from saccade.models import VisionLanguageModel
from saccade.protocols import direct_protocol, tagged_protocol
from saccade.protocols.described import described_parts
from saccade.retrieval import build_index, open_retriever
from saccade.rewards import OutcomeReward
from saccade.rollout import RolloutSettings
from saccade.runs import read_records
from saccade.seeding import generator_for, seed_for
from saccade.tasks import InOrder
from saccade.tasks.families.pages import mark_side
from saccade.tasks.families.plates import MARKS
from saccade.tools.page_search import SEARCH_PAGES, search_tool
from saccade.train import Asked, EpisodeSpec, Evaluate, ImitationSettings, Material, Plan, RLSettings, SFTStage, Stage
from saccade.types import Answer, Attempt, Example, ExpertTurn, StreamExample, Task, ToolCall
from saccade.vision_models import load_page_encoder

BASE = "search"
NEVER_SHOWN = "never shown"
VARIANTS: Variants = {
    BASE: ("reinforced=search",),
    "given": ("reinforced=given", "sft.steps=0"),
    NEVER_SHOWN: ("reinforced=search", "search_share=0"),
}
SPLITS = {"train": 100, "validation": 40, "held_out": 40}
"""Documents of the imitation, of the reinforcement and of the measurement."""

WAYS = ("search", "given")
PAGES_SEED = 0
SEARCH_PHRASES = ('{"name": "search_pages", "arguments": {"query": "', '"}}')


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """Settings of one run."""

    sft: ImitationSettings = replace(
        IMITATION, steps=200, optimizer=replace(IMITATION.optimizer, learning_rate=1.5e-3), checkpoint_every=100
    )
    rl: RLSettings = replace(REINFORCEMENT, steps=24)
    reinforced: Literal["search", "given"] = "search"
    search_share: float = 0.15
    """Share of the experts without pages who search; the others guess at once."""
    alone_share: float = 0.4
    """Share of the experts without pages."""
    gold: GoldLessons = GoldLessons(until=0.0)
    """Of those who are given pages; until ``gold.until`` all are."""
    folder: Path = Path()
    """Where encoder and index lie."""
    rollout: RolloutSettings = RolloutSettings(max_turn_tokens=120, max_tokens=640)
    size: TinySize = TinySize(layers=3)
    evaluation_tasks: int = 150


def searching(context: RecipeContext) -> Plan:
    """Imitation, then reinforcement of searching or of reading what is given; both are measured before and after."""
    settings = apply_overrides(SearchSettings(), context.overrides)
    encoder = load_page_encoder(settings.folder / "encoder")
    pages = open_retriever(settings.folder / "index", encoder, threads=1)

    def questions(split: str, *, oracle: bool = False) -> PageQuestions:
        return PageQuestions(
            seed=PAGES_SEED,
            media=context.media,
            documents=SPLITS[split],
            encoder=None if oracle or split == "train" else encoder,
            kinds=("mark",),
            oracle=oracle,
        )

    drawn = {(split, oracle): questions(split, oracle=oracle) for split in SPLITS for oracle in (False, True)}

    def asked(split: str, number: int, way: str) -> Task:
        task = drawn[split, False].asked(split, number).task
        return replace(task, images=(), shown_pages=(), targets=()) if way == "search" else task

    @cache
    def brought(query: str, document: str) -> tuple[int, ...]:
        return tuple(hit.page.number - 1 for hit in pages.search(query, 3, document))

    def lesson(index: int, progress: float) -> StreamExample:
        chance = generator_for(context.seed, "lesson", index)
        is_alone = progress >= settings.gold.until and chance.random() < settings.alone_share
        way = "search" if is_alone else "given"
        one = drawn["train", not is_alone and settings.gold.applies(chance.random(), progress)].asked("train", index)
        if way == "given":
            return StreamExample(example=Example(task=one.task, turns=(answering(one),)), stream=way)
        one = replace(one, task=asked("train", index, way))
        if chance.random() >= settings.search_share:
            return StreamExample(example=Example(task=one.task, turns=(guessing(chance),)), stream=way)
        query = f"the page headed {one.document.pages[one.sought[0].page].heading}"
        return StreamExample(example=searched(one, query, brought(query, one.document.name)), stream=way)

    def held_out(way: str, count: int) -> Callable[[], Sequence[Task]]:
        return lambda: [asked("held_out", number, way) for number in range(count)]

    def build_model() -> VisionLanguageModel:
        seed = seed_for(context.seed, "weights")
        given = tiny_or_given(
            context.model,
            [*vocabulary(), *["tool\n", "tools: search_pages"] * 60],
            context.media,
            size=settings.size,
            numbers=(1, 2, 3),
            seed=seed,
        )
        return with_tokens(given, SEARCH_PHRASES, seed=seed)

    way = settings.reinforced
    material = Material(
        title="A tiny model searches for pages, or is given them",
        build_model=build_model,
        style="brief",
        questions=lambda: InOrder(lambda number: asked("validation", number, way)),
        held_out={name: held_out(name, settings.evaluation_tasks) for name in WAYS},
        examples=lesson if settings.sft.steps else None,
        first=None,
    )
    ways = {
        "search": EpisodeSpec(
            protocol=tagged_protocol(style="brief", max_turns=3),
            tools=(search_tool(pages),),
            rollout=settings.rollout,
            max_turns=3,
        ),
        "given": EpisodeSpec(protocol=direct_protocol(style="brief"), rollout=settings.rollout, max_turns=1),
    }
    reward = OutcomeReward(format_weight=0.0)
    questions_of = {name: Asked(material, episodes, reward) for name, episodes in ways.items()}

    def measured(when: str) -> list[Evaluate]:
        return [asking.evaluation(f"{when}_{name}", name) for name, asking in questions_of.items()]

    stages: list[Stage] = []
    if material.examples is not None:
        stages = [SFTStage(name="sft", source=material.demonstrations(ways), settings=settings.sft)]
    stages += [*measured("before"), questions_of[way].reinforcement("rl", settings.rl), *measured("after")]
    return material.plan(settings, stages)


def answering(asked: AskedPages) -> ExpertTurn:
    """A turn that reads the pages that are there and answers; where the right one is not, it guesses."""
    [turn] = read_by(asked, "look", generator_for(0)).turns
    think, description = described_parts(turn.thought)
    return replace(turn, thought=f"{think} {description}")


def guessing(chance: Generator) -> ExpertTurn:
    return ExpertTurn(thought="guess", action=Answer(text=list(MARKS)[int(chance.integers(len(MARKS)))]))


def searched(asked: AskedPages, query: str, brought: tuple[int, ...]) -> Example:
    """The question as an expert answers it that is shown no page: one search, then the answer."""
    call = ExpertTurn(thought="look", action=ToolCall(name=SEARCH_PAGES, arguments={"query": query}))
    return Example(task=asked.task, turns=(call, answering(replace(asked, shown=brought))))


def prepared(folder: Path) -> None:
    """The encoder and the index of all documents, made where they are not there yet."""
    if not (folder / "encoder" / "config.json").exists():
        taught_page_encoder(folder / "encoder", seed=PAGES_SEED)
    drawn = PageQuestions(seed=PAGES_SEED, media=MediaStore(), documents=max(SPLITS.values()))
    for split, count in SPLITS.items():
        for place in range(count):
            document = drawn.document(split, place)
            shelf = folder / "documents" / document.name
            shelf.mkdir(parents=True, exist_ok=True)
            for page in range(len(document.pages)):
                document.picture(page, mark_side(0.5)).save(shelf / f"{page + 1}.png")
    build_index(folder / "documents", load_page_encoder(folder / "encoder"), folder / "index")


def run(variant: str, seed: int, out: Path, threads: int, settings: list[str], *, starts: Path) -> Row:
    """One run as a row of the results."""
    directory = directory_of(variant, seed, out)
    own = variant in (BASE, NEVER_SHOWN)
    start = imitation_of(directory_of("both stages", seed, starts) if own else directory_of(BASE, seed, out))
    here = [f"folder={out.resolve() / 'pages'}", *settings]
    report = train(f"{Path(__file__)}:searching", seed, directory, here, threads=threads, start=start)
    stages = {stage["name"]: {key: stage[key] for key in ("accuracy", "ci95", "n")} for stage in report["stages"]}
    for name, stage in stages.items():
        path = directory / "evaluations" / f"{name}.jsonl"
        played = [one.trajectory for one in read_records(path)]
        calls = [sum(isinstance(turn.action, ToolCall) for turn in one.turns) for one in played]
        stage["calls"], stage["searching"] = statistics.mean(calls), statistics.mean(map(bool, calls))
        stage["asks_for_the_page"] = statistics.mean(map(asks_for_the_page, read_records(path)))
    curve = [line for line in read(directory / "metrics.jsonl") if line["stage"] == "rl"]
    return {"wall_s": report["wall_s"], "stages": stages, "curve": curve_of(curve)}


def asks_for_the_page(attempt: Attempt) -> bool:
    """Whether the first call is a search for the page that the question names."""
    _, _, named = attempt.task.question.partition("the page headed ")
    turns = attempt.trajectory.turns
    if not turns or not isinstance(turns[0].action, ToolCall):
        return False
    return named.split(",")[0] in str(turns[0].action.arguments.get("query"))


def curve_of(lines: Sequence[Row]) -> Row:
    """Calls and turns of a trajectory, and the share of right answers, by steps, as they were sampled."""
    return {name: [line.get(name) for line in lines] for name in ("step", "calls/mean", "rollout/turns", "reward/mean")}


def main() -> None:
    starts = Path("runs/lang2act_seeds")
    arguments = arguments_of(__doc__, VARIANTS, shown=list(VARIANTS), out=Path("runs/search_skill"), starts=starts)
    prepared(arguments.out / "pages")
    rows = run_all(partial(run, starts=arguments.starts), arguments, VARIANTS, base=BASE)
    print(table(rows))
    if arguments.json:
        write_results(arguments.json, "search_skill.py", rows)


def table(rows: Sequence[Row]) -> str:
    """Accuracy before and after, asked either way, all seeds with Wilson's interval and each, and calls."""
    head = [
        "reinforced",
        "asked",
        "before",
        "after",
        "calls before",
        "calls after",
        "calls as sampled, first to last step",
    ]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for variant in dict.fromkeys(row["variant"] for row in rows):
        found = [row for row in rows if row["variant"] == variant]
        for way in WAYS:
            stages = {when: [row["stages"][f"{when}_{way}"] for row in found] for when in ("before", "after")}
            right = [f"{pooled(stages[when])}: {by_seed(stages[when])}" for when in stages]
            calls = [f"{statistics.mean(one['calls'] for one in stages[when]):.2f}" for when in stages]
            sampled = [row["curve"]["calls/mean"] for row in found]
            grown = ", ".join(f"{line[0]:.2f} to {line[-1]:.2f}" for line in sampled)
            named = ", ".join(f"{one['asks_for_the_page']:.0%}" for one in stages["after"])
            lines.append(f"| {variant} | {way} | {' | '.join([*right, *calls, named, grown])} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
