"""Whether breadth carries over in miniature: the same imitation on 4, 16 and 60 families, measured on others.

OMP_NUM_THREADS=1 python -m studies.gym.breadth --seeds 0 1 2 --out runs/breadth --json studies/gym/breadth.json

The base checkpoint imitates the experts of some families of the gym, with as many demonstrations and steps whatever
their number; of an expert's looks the first is shown. A seed's 4 families are among its 16, and those among its 60. The
held-out families are the same for all runs: the first 16 of the gym's names, shuffled with seed 24, without the slow
families. Held-out tasks are played with tools on their own pictures, and once more on the picture of another task of
their family: what is right there too is no skill in looking.
"""

import argparse
import json
import resource
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from studies.seed_runs import Row, write_results

from saccade.codec.codecs import plain_json
from saccade.evaluation.statistics import clustered_mean
from saccade.gym.registry import gym_families
from saccade.learner import OptimizerSettings
from saccade.media import MediaStore, png_bytes
from saccade.models import base_checkpoint, instruction_style, load_model
from saccade.models.loading import LoadSettings
from saccade.protocols import tagged_protocol
from saccade.rewards import OutcomeReward
from saccade.rewards.evidence import SHOWN, look_of
from saccade.rewards.reward import told_right
from saccade.rollout import EpisodeSpec, RolloutSettings
from saccade.seeding import generator_for
from saccade.tasks import generate
from saccade.tools import IMAGE_TOOLS
from saccade.train import Demonstration, Evaluate, Plan, SFTSettings, SFTStage, Stage, run_plan
from saccade.types import Attempt, Example, Task, ToolCall

SLOW = ("solids", "solid_stacks", "solid_views", "document_pages", "video_bounces")
"""Left out: three draw two tasks a second, two show several pictures a question."""

HELD_OUT, CHOSEN_BY = 16, 24
BREADTHS = (4, 16, 60)
DIFFICULTIES = (0.0, 0.25)
MAX_TURNS = 2
"""One look and the answer."""
LOAD = LoadSettings(device="cpu")


@dataclass(frozen=True, kw_only=True)
class BreadthSettings:
    """One run."""

    families: tuple[str, ...]
    """Those that it imitates; none for the base checkpoint as it is."""
    sft: SFTSettings
    demonstrations: int
    """Different ones, spread evenly over the families; they come again."""
    tasks: int
    """Held-out tasks of each held-out family."""


def split_families() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The held-out families and those that may be imitated."""
    names = sorted(set(gym_families()) - set(SLOW))
    shuffled = [names[int(place)] for place in generator_for(CHOSEN_BY, "held-out families").permutation(len(names))]
    return tuple(sorted(shuffled[:HELD_OUT])), tuple(sorted(shuffled[HELD_OUT:]))


def trained_families(breadth: int, seed: int) -> tuple[str, ...]:
    _, names = split_families()
    order = generator_for(seed, "families to imitate").permutation(len(names))
    return tuple(names[int(place)] for place in order[:breadth])


def example(family: str, split: str, index: int, seed: int, media: MediaStore) -> Example:
    difficulty = DIFFICULTIES[index % len(DIFFICULTIES)]
    return generate(family, split=split, index=index, seed=seed, media=media, difficulty=difficulty)


def held_out_tasks(settings: BreadthSettings, media: MediaStore) -> tuple[list[Task], list[Task]]:
    """Tasks of the held-out families, and the same questions with the pictures of the family's next such task."""
    own: list[Task] = []
    others: list[Task] = []
    for family in split_families()[0]:
        tasks = [example(family, "held_out", index, 0, media).task for index in range(settings.tasks)]
        for number, task in enumerate(tasks):
            later = [*tasks[number + 1 :], *tasks[:number]]
            other = next(one for one in later if len(one.images) == len(task.images))
            others.append(replace(task, id=f"{task.id} other picture", images=other.images))
        own += tasks
    return own, others


def demonstrations(
    settings: BreadthSettings, seed: int, media: MediaStore, episodes: EpisodeSpec
) -> Callable[[int, float], Demonstration]:
    """Experts of the families in turn. An expert that needs other tools than the image tools answers at once."""
    kept: dict[int, tuple[Example, list[bytes]]] = {}
    count = len(settings.families)

    def demonstration(index: int, _: float) -> Demonstration:
        number = index % settings.demonstrations
        if number not in kept:
            shown = example(settings.families[number % count], "train", number // count, seed, media)
            kept[number] = (_by_image_tools(shown), [png_bytes(media.get(image)) for image in shown.task.images])
        shown, pictures = kept[number]
        for picture in pictures:
            # A step's pictures are forgotten after it.
            media.add_encoded(picture, shown.task.id)
        return Demonstration(example=shown, episodes=episodes)

    return demonstration


def _by_image_tools(shown: Example) -> Example:
    """The first look, where it needs no other tools, and the answer."""
    names = {tool.spec.name for tool in IMAGE_TOOLS}
    used = {turn.action.name for turn in shown.turns if isinstance(turn.action, ToolCall)}
    looks = shown.turns[:-1][: MAX_TURNS - 1] if used <= names else ()
    return replace(shown, turns=(*looks, shown.turns[-1]))


def run(settings: BreadthSettings, seed: int, directory: Path) -> Row:
    """A run, resumed if it was interrupted: what was right and looked at, task by task."""
    media = MediaStore()
    before = resource.getrusage(resource.RUSAGE_SELF)
    style = instruction_style(base_checkpoint())
    limits = RolloutSettings(max_turn_tokens=96, max_tokens=2048)
    protocol = tagged_protocol(style=style, max_turns=MAX_TURNS)
    episodes = EpisodeSpec(protocol=protocol, tools=IMAGE_TOOLS, rollout=limits, max_turns=MAX_TURNS)
    found: dict[str, list[Row]] = {}

    def keep(name: str) -> Callable[[Iterable[Attempt]], None]:
        return lambda attempts: found.update({name: [told(attempt) for attempt in attempts]})

    stages: list[Stage] = []
    if settings.families:
        source = demonstrations(settings, seed, media, episodes)
        stages.append(SFTStage(name="sft", source=source, settings=settings.sft))
    for name, tasks in zip(("own", "other"), held_out_tasks(settings, media)):
        stages.append(
            Evaluate(
                name=name,
                tasks=lambda tasks=tasks: tasks,  # type: ignore[misc]
                episodes=episodes,
                reward=OutcomeReward(),
                on_finished=keep(name),
            )
        )
    plan = Plan(
        title=f"{len(settings.families)} families",
        settings=settings,
        build_model=lambda: load_model(base_checkpoint(), media, LOAD),
        load=LOAD,
        stages=tuple(stages),
    )
    run_plan(plan, out=directory, seed=seed, media=media, threads=1, resume=True)
    after = resource.getrusage(resource.RUSAGE_SELF)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    breadth = len(settings.families)
    return {"breadth": breadth, "seed": seed, "families": list(settings.families), "cpu_s": round(spent, 1), **found}


def told(attempt: Attempt) -> Row:
    score = attempt.trajectory.score
    look = look_of(attempt.task, attempt.trajectory)
    return {
        "family": attempt.task.family,
        "right": score is not None and told_right(score),
        "hit": look is not None and look.coverage >= SHOWN,
    }


def figures(rows: Sequence[Row]) -> list[Row]:
    """Shares over all seeds of a breadth, with 95 % intervals over families; ``seen`` is own less other."""
    lines = []
    for breadth in sorted({row["breadth"] for row in rows}):
        of = [row for row in rows if row["breadth"] == breadth]
        line: Row = {"breadth": breadth, "seeds": len(of), "cpu_s": sum(row["cpu_s"] for row in of) / len(of)}
        for key in ("right", "hit"):
            for name in ("own", "other"):
                line[f"{key}_{name}"] = mean([one for row in of for one in row[name]], key)
                line[f"{key}_{name}_by_seed"] = [sum(one[key] for one in row[name]) / len(row[name]) for row in of]
            line[f"{key}_seen"] = difference([(row["other"], row["own"]) for row in of], key)
        lines.append(line)
    return lines


def comparisons(rows: Sequence[Row]) -> list[Row]:
    """Each breadth less the one before it, and the broadest less the narrowest, paired by seed and task."""
    breadths = sorted({row["breadth"] for row in rows} - {0})
    pairs = dict.fromkeys([*pairwise(breadths), (breadths[0], breadths[-1])])
    seeds = sorted({row["seed"] for row in rows if row["breadth"]})
    of = {(row["breadth"], row["seed"]): row["own"] for row in rows}
    return [
        {"less": narrow, "more": broad}
        | {key: difference([(of[narrow, seed], of[broad, seed]) for seed in seeds], key) for key in ("right", "hit")}
        for narrow, broad in pairs
    ]


def mean(tasks: Sequence[Row], key: str) -> Row:
    return plain_json(clustered_mean([float(one[key]) for one in tasks], [one["family"] for one in tasks]))


def difference(pairs: Sequence[tuple[list[Row], list[Row]]], key: str) -> Row:
    """Mean of second less first over all tasks, with an interval over families."""
    both = [(one, other) for first, second in pairs for one, other in zip(first, second, strict=True)]
    values = [float(other[key]) - float(one[key]) for one, other in both]
    return plain_json(clustered_mean(values, [one["family"] for one, _ in both], is_share=False))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--breadths", type=int, nargs="+", default=list(BREADTHS))
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--demonstrations", type=int, default=400)
    parser.add_argument("--tasks", type=int, default=6, help="Held-out tasks of each held-out family.")
    parser.add_argument("--out", type=Path, default=Path("runs/breadth"))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rate = OptimizerSettings(learning_rate=1e-3, muon=True, micro_batch_tokens=2600)
    sft = SFTSettings(steps=options.steps, batch_size=options.batch, optimizer=rate, warmup_steps=5, final_rate=0.05)
    plain = BreadthSettings(families=(), sft=sft, demonstrations=options.demonstrations, tasks=options.tasks)
    asked = [(0, 0), *((breadth, seed) for seed in options.seeds for breadth in options.breadths)]
    rows = []
    for breadth, seed in asked:
        kept = options.out / f"{breadth}-{seed}.json"
        if not kept.is_file():
            settings = replace(plain, families=trained_families(breadth, seed))
            row = run(settings, seed, options.out / f"{breadth}-{seed}")
            kept.write_text(json.dumps(row), encoding="utf-8")
        rows.append(json.loads(kept.read_text(encoding="utf-8")))
        print(f"{breadth} families, seed {seed}: {rows[-1]['cpu_s']:.0f} CPU s", flush=True)
    told_all = {"figures": figures(rows), "comparisons": comparisons(rows)}
    print(json.dumps(told_all, indent=1))
    if options.json:
        by_run = [{**row, "own": by_family(row["own"]), "other": by_family(row["other"])} for row in rows]
        write_results(options.json, by_run, held_out=list(split_families()[0]), **told_all)


def by_family(tasks: Sequence[Row]) -> Row:
    """Right answers and looks at the evidence of each family, of so many tasks."""
    names = sorted({one["family"] for one in tasks})
    of = {name: [one for one in tasks if one["family"] == name] for name in names}
    return {
        n: {"right": sum(t["right"] for t in ts), "hit": sum(t["hit"] for t in ts), "n": len(ts)}
        for n, ts in of.items()
    }


if __name__ == "__main__":
    main()
