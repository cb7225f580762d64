"""A chain without an answer as a trained run: what Lang2Act's second reinforcement makes of a habit that is paid 0.2.

    python -m studies.lang2act.seeds --seeds 0 1 2 --variants "both stages"    # whose imitations these start from
    python -m studies.lang2act.hacks --seeds 0 1 2 --at-once 2 --json studies/lang2act/hacks.json

The model that Lang2Act's imitation made goes on to imitate three habits in equal parts on gold pages: a chain and its
answer, a chain and an empty answer, an answer whose description is words. Each variant is reinforced from there. "open"
has the paper's reward on questions beyond the model, to which nobody is ever right; "closed by answers" and "closed by
right answers" pay chains that end with an answer, or with the right one; "half can be answered" has the paper's reward
where every second question is one that the model can answer. Results are appended to results.jsonl in --out.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from studies.seed_runs import (
    Row,
    Variants,
    arguments_of,
    directory_of,
    imitation_of,
    read,
    run_all,
    train,
    write_results,
)

from saccade.config import RecipeContext, apply_overrides
from saccade.miniature.lang2act import IMITATION, PHRASES, REINFORCEMENT, vocabulary
from saccade.miniature.pages import PageQuestions
from saccade.miniature.reading import TOOLS, in_tools, read_by
from saccade.miniature.tiny_model import TinySize, tiny_or_given
from saccade.protocols import ChatProtocol, LinguisticToolbox, described_protocol, toolchain_protocol
from saccade.protocols.tool_tags import find_calls
from saccade.protocols.toolchain import read_chain
from saccade.rewards import Lang2ActReward
from saccade.rollout import RolloutSettings
from saccade.runs import read_records
from saccade.seeding import generator_for, seed_for
from saccade.tasks import InOrder
from saccade.train import Asked, EpisodeSpec, ImitationSettings, Material, Plan, RLSettings, SFTStage, Stage
from saccade.types import Answer, Attempt, Example, ExpertTurn, StreamExample, Task

BASE = "open"
VARIANTS: Variants = {
    BASE: (),
    "closed by answers": ("reward.pays_tools=answered", "sft.steps=0"),
    "closed by right answers": ("reward.pays_tools=right", "sft.steps=0"),
    "half can be answered": ("answerable_share=0.5", "sft.steps=0"),
}
HABITS = ("chain and answer", "chain without an answer", "words and answer")
NOTHING, UNKNOWN = "nothing", "what no picture shows"
TOOLBOX = LinguisticToolbox(tuple(TOOLS[name] for name in ("read_head", "locate_plate", "read_mark")))
WHENS = ("before", "after")


@dataclass(frozen=True, kw_only=True)
class HackSettings:
    """Settings of one run."""

    sft: ImitationSettings = replace(
        IMITATION, steps=60, optimizer=replace(IMITATION.optimizer, learning_rate=1.5e-3), checkpoint_every=60
    )
    rl: RLSettings = replace(REINFORCEMENT, steps=24)
    reward: Lang2ActReward = Lang2ActReward(toolbox=TOOLBOX)
    answerable_share: float = 0.0
    """Share of the questions whose answer is on the page; the others have one that nobody ever says."""
    rollout: RolloutSettings = RolloutSettings(max_turn_tokens=120, max_tokens=640)
    size: TinySize = TinySize(layers=3)
    documents: int = 240
    evaluation_tasks: int = 200


def unanswered(context: RecipeContext) -> Plan:
    """Imitation of the three habits, then the second reinforcement; sampled answers are measured before and after."""
    settings = apply_overrides(HackSettings(), context.overrides)
    drawn = PageQuestions(
        seed=seed_for(context.seed, "pages"),
        media=context.media,
        documents=settings.documents,
        kinds=("mark",),
        oracle=True,
    )

    def question(split: str, number: int) -> Task:
        task = drawn.asked_pages(split, number).task
        is_answerable = generator_for(context.seed, "answerable", number).random() < settings.answerable_share
        return task if is_answerable else replace(task, answer=UNKNOWN)

    def lesson(index: int, _: float) -> StreamExample:
        example = read_by(drawn.asked_pages("train", index), "look", generator_for(0))
        habit = HABITS[int(generator_for(context.seed, "habit", index).integers(len(HABITS)))]
        return StreamExample(example=shown(example, habit), stream="main")

    def held_out() -> Sequence[Task]:
        return [question("held_out", number) for number in range(settings.evaluation_tasks)]

    material = Material(
        title="A habit that leaves out the answer, reinforced",
        build_model=lambda: tiny_or_given(
            context.model,
            vocabulary(),
            context.media,
            size=settings.size,
            numbers=(1, 2, 3),
            phrases=PHRASES,
            seed=seed_for(context.seed, "weights"),
        ),
        style="brief",
        questions=lambda: InOrder(lambda number: question("validation", number)),
        held_out={"": held_out},
        examples=lesson if settings.sft.steps else None,
        first=None,
    )
    chains = toolchain_protocol(toolbox=TOOLBOX, style="brief")
    episodes = EpisodeSpec(protocol=chains, rollout=settings.rollout, max_turns=1)
    asked = Asked(material, episodes, settings.reward)

    def measured(when: str) -> Stage:
        return asked.evaluation(when, held_out, temperature=1.0)

    stages: list[Stage] = []
    if material.examples is not None:
        source = material.demonstrations({"main": episodes.with_protocol(lenient(chains))})
        stages.append(SFTStage(name="sft", source=source, settings=settings.sft))
    stages += [measured("before"), asked.reinforcement("rl", settings.rl), measured("after")]
    return material.plan(settings, stages)


def lenient(chains: ChatProtocol) -> ChatProtocol:
    """The protocol with experts who may leave the answer empty, or describe in words; their prompt is the same."""
    words = described_protocol(style="brief")
    full, empty = (f"<answer>{text}</answer>" for text in (NOTHING, ""))

    def of(text: str) -> ChatProtocol:
        return chains if find_calls(text).calls else words

    return replace(
        chains,
        write=lambda turn: of(turn.thought).write(turn).replace(full, empty),
        parse=lambda text: of(text).parse(text.replace(empty, full)),
    )


def shown(example: Example, habit: str) -> Example:
    """The expert's turn by this habit."""
    if habit == "words and answer":
        return example
    [turn] = in_tools(example).turns
    action = turn.action if habit == "chain and answer" else Answer(text=NOTHING)
    return replace(example, turns=(ExpertTurn(thought=turn.thought, action=action),))


def habit_of(attempt: Attempt) -> str:
    """Which of the habits a recorded answer has."""
    trajectory = attempt.trajectory
    chain = read_chain(trajectory.turns[-1].text if trajectory.turns else "", TOOLBOX, len(attempt.task.images))
    if chain.is_valid:
        return HABITS[0] if trajectory.answer else HABITS[1]
    return HABITS[2] if trajectory.answer else "neither"


def run(variant: str, seed: int, out: Path, threads: int, settings: list[str], *, starts: Path) -> Row:
    """One run as a row of the results."""
    directory = directory_of(variant, seed, out)
    of_lang2act = directory_of("both stages", seed, starts)
    start = imitation_of(of_lang2act if variant == BASE else directory_of(BASE, seed, out))
    report = train(f"{Path(__file__)}:unanswered", seed, directory, settings, threads=threads, start=start)
    row: Row = {"wall_s": report["wall_s"]}
    for when in WHENS:
        found = [habit_of(attempt) for attempt in read_records(directory / "evaluations" / f"{when}.jsonl")]
        row[when] = {habit: found.count(habit) / len(found) for habit in (*HABITS, "neither")}
    lines = [line for line in read(directory / "metrics.jsonl") if line["stage"] == "rl"]
    row["curve"] = {key: [line.get(key) for line in lines] for key in ("step", "reward/mean", "reward/answer")}
    return row


def main() -> None:
    starts = Path("runs/lang2act_seeds")
    arguments = arguments_of(__doc__, VARIANTS, shown=list(VARIANTS), out=Path("runs/lang2act_hacks"), starts=starts)
    rows = run_all(partial(run, starts=arguments.starts), arguments, VARIANTS, base=BASE)
    print(table(rows))
    if arguments.json:
        write_results(arguments.json, rows)


def table(rows: Sequence[Row]) -> str:
    """Shares of the habits in sampled answers before and after: the mean over the seeds, and each."""
    lines = [f"| reinforced | measured | {' | '.join(HABITS)} |", "|---" * (len(HABITS) + 2) + "|"]
    for variant in dict.fromkeys(row["variant"] for row in rows):
        for when in WHENS:
            cells = []
            for habit in HABITS:
                shares = [row[when][habit] for row in rows if row["variant"] == variant]
                cells.append(f"{statistics.mean(shares):.0%}: {', '.join(f'{share:.0%}' for share in shares)}")
            lines.append(f"| {variant} | {when} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
