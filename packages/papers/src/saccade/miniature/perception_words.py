"""The base checkpoint taught on: digits, then short words, then all that it knew, what is printed, and the gym.

The base sees coloured things and reads nothing. Here it learns what digits look like where they stand, then numbers and
words, both as large as print is in a crop, and repeats what it knew; at last come all families by their own experts,
those of the gym among them that need no extra.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from saccade.config import RecipeContext, apply_overrides
from saccade.gym.registry import gym_families
from saccade.learner import OptimizerSettings
from saccade.models import LoadSettings, VisionLanguageModel, base_checkpoint, instruction_style, load_model
from saccade.protocols import direct_protocol, tagged_protocol
from saccade.rewards import OutcomeReward
from saccade.rollout import RolloutSettings
from saccade.seeding import generator_for, seed_for
from saccade.tasks import FAMILIES, READING_FAMILIES, generate
from saccade.tools import IMAGE_TOOLS
from saccade.train import Demonstration, EpisodeSpec, Evaluate, Plan, SFTSettings, SFTStage
from saccade.types import Example, Task, ToolCall


@dataclass(frozen=True, kw_only=True)
class WordLesson:
    """Families that are taught for some of the steps."""

    until: float
    """Share of all steps after which the next lesson begins."""
    families: tuple[str, ...]
    difficulties: tuple[float, ...]
    known_share: float
    """Share of demonstrations of what the base knows."""
    gym_share: float = 0.0
    """Share of demonstrations of the gym's families."""


PRINTED = ("chart_bars", "chart_pie", "table_lookup", "document_text")
"""Families whose answers are printed, or asked for by print."""
MAX_TURNS = 5
READ = (*READING_FAMILIES, "finding_words")

LESSONS = (
    WordLesson(until=0.05, families=("reading_digits",), difficulties=(0.0,), known_share=0.1),
    WordLesson(until=0.125, families=("reading_digits",), difficulties=(0.0, 0.5, 1.0), known_share=0.1),
    WordLesson(until=0.275, families=("reading_print",), difficulties=(0.0, 0.5, 1.0), known_share=0.15),
    WordLesson(until=0.325, families=READ, difficulties=(0.0, 0.5, 1.0), known_share=0.25),
    WordLesson(
        until=1.0, families=(*PRINTED, *PRINTED, *READ), difficulties=(0.0, 0.25, 0.5), known_share=0.4, gym_share=0.25
    ),
)
"""Two thirds of the steps are for everything together: with a third of them, and no videos, the model read print but
had forgotten much of what it knew."""


GYM_HELD_OUT = (
    "fine_differences",
    "fine_letter_absence",
    "fine_letter_comparisons",
    "fine_tables",
    "fine_texture_places",
    "mosaics",
)
"""Families of the gym that are measured and never taught."""


def _drawn_by_the_core() -> tuple[str, ...]:
    """The gym's families that need no extra for their pictures, without those that are never taught."""
    known = gym_families().items()
    drawn = [name for name, family in known if not any(look.modules for look in family.renderers)]
    return tuple(name for name in drawn if name not in GYM_HELD_OUT)


@dataclass(frozen=True, kw_only=True)
class PerceptionWordsSettings:
    """Settings of the further training on digits, words and gym questions."""

    model: LoadSettings = LoadSettings()
    sft: SFTSettings = SFTSettings(
        steps=6500,
        batch_size=16,
        optimizer=OptimizerSettings(learning_rate=2e-3, muon=True, micro_batch_tokens=2600),
        warmup_steps=50,
        decay="cosine",
        final_rate=0.05,
        checkpoint_every=100,
    )
    known: tuple[str, ...] = tuple(name for name in FAMILIES if name not in ("video_event", *PRINTED))
    """Families that are repeated."""
    costly: tuple[str, ...] = ("video_event",)
    """Repeated more rarely, since they have many pictures a question."""
    costly_share: float = 0.08
    """Of what is repeated."""
    direct_share: float = 0.15
    """Share of demonstrations that answer from the view alone."""
    gym: tuple[str, ...] = ()
    """Families of the gym that are taught; none: all that the core can draw, without ``GYM_HELD_OUT``."""
    evaluation_tasks: int = 1300
    """Held-out tasks of each evaluation, spread evenly over its families."""


def _drawn_from(
    settings: PerceptionWordsSettings, progress: float, chance: np.random.Generator
) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """The families and the difficulties that a demonstration is drawn from."""
    lesson = next((one for one in LESSONS if progress < one.until), LESSONS[-1])
    drawn = chance.random()
    if drawn < lesson.known_share:
        return settings.costly if chance.random() < settings.costly_share else settings.known, (0.0, 0.25, 0.5, 0.75)
    if drawn < lesson.known_share + lesson.gym_share:
        return settings.gym, (0.0, 0.25, 0.5)
    return lesson.families, lesson.difficulties


def _few_turns(shown: Example) -> Example:
    """What an expert does with the image tools in few turns: all of it, or else its first look and the answer."""
    used = {turn.action.name for turn in shown.turns if isinstance(turn.action, ToolCall)}
    if not used <= {tool.spec.name for tool in IMAGE_TOOLS}:
        return replace(shown, turns=shown.turns[-1:])
    return shown if len(shown.turns) <= MAX_TURNS else replace(shown, turns=(shown.turns[0], shown.turns[-1]))


def perception_words(context: RecipeContext) -> Plan:
    """Accuracy by family on the same held-out questions, before and after training."""
    settings = apply_overrides(PerceptionWordsSettings(), context.overrides)
    settings = replace(settings, gym=settings.gym or _drawn_by_the_core())
    path = context.model or base_checkpoint()
    style = instruction_style(path)
    rollout = RolloutSettings(max_turn_tokens=96, max_tokens=2048)
    looking = EpisodeSpec(
        protocol=tagged_protocol(style=style), tools=IMAGE_TOOLS, rollout=rollout, max_turns=MAX_TURNS
    )
    silent = EpisodeSpec(protocol=direct_protocol(style=style), tools=(), rollout=rollout, max_turns=1)
    # Not the seed of the base's own lessons, whose pictures it has seen.
    seed = seed_for(context.seed, "perception_words")

    def example(family: str, split: str, index: int, difficulty: float) -> Example:
        return generate(family, split=split, index=index, seed=seed, media=context.media, difficulty=difficulty)

    def demonstration(index: int, progress: float) -> Demonstration:
        chance = generator_for(seed, "demonstration", index)
        families, difficulties = _drawn_from(settings, progress, chance)
        difficulty = float(chance.choice(difficulties))
        shown = _few_turns(example(families[int(chance.integers(len(families)))], "train", index, difficulty))
        if shown.task.family in READ or chance.random() < settings.direct_share:
            return Demonstration(example=replace(shown, turns=shown.turns[-1:]), episodes=silent)
        return Demonstration(example=shown, episodes=looking)

    def held_out(families: Sequence[str]) -> Sequence[Task]:
        return [
            example(families[index % len(families)], "held_out", index // len(families), 0.5).task
            for index in range(settings.evaluation_tasks)
        ]

    def evaluations(when: str) -> tuple[Evaluate, ...]:
        ways = (
            ("looking", looking, tuple(FAMILIES)),
            ("silent", silent, tuple(FAMILIES)),
            ("reading", silent, READ),
            ("gym", looking, settings.gym),
            ("gym_held_out", looking, GYM_HELD_OUT),
        )
        return tuple(
            Evaluate(
                name=f"{name}_{when}", tasks=partial(held_out, families), episodes=episodes, reward=OutcomeReward()
            )
            for name, episodes, families in ways
        )

    def build_model() -> VisionLanguageModel:
        return load_model(path, context.media, settings.model)

    return Plan(
        title=f"{path.name} learns to read digits and short words",
        settings=settings,
        build_model=build_model,
        load=settings.model,
        stages=(
            *evaluations("before"),
            SFTStage(name="sft", source=demonstration, settings=settings.sft),
            *evaluations("after"),
        ),
    )
