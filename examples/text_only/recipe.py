"""Prices out of a table: an expert shows that they can be looked up, rewards show that it pays.

saccade train examples/text_only/recipe.py:prices --out runs/prices
"""

from dataclasses import dataclass
from functools import partial

from environment import GOODS, PRICES, TOWNS, TableEnv, looks_up, price_table, price_task

from saccade.config import RecipeContext, apply_overrides
from saccade.learner import OptimizerSettings
from saccade.miniature.habits import guessed
from saccade.miniature.tiny_model import tiny_model
from saccade.rewards import OutcomeReward
from saccade.rollout import EpisodeSpec, RolloutSettings
from saccade.seeding import generator_for
from saccade.tasks import Shuffled
from saccade.train import Demonstration, Evaluate, Plan, RLSettings, RLStage, SFTSettings, SFTStage, Stream

TEXTS = [f"price of {good} in {town}? look up answer user assistant" for good in GOODS for town in TOWNS]


@dataclass(frozen=True, kw_only=True)
class PriceSettings:
    sft: SFTSettings = SFTSettings(steps=600, optimizer=OptimizerSettings(learning_rate=2e-3))
    rl: RLSettings = RLSettings(steps=60, tasks_per_step=8, optimizer=OptimizerSettings(learning_rate=5e-4))
    guess_share: float = 0.7


def prices(context: RecipeContext) -> Plan:
    """Imitation of an expert that mostly guesses, then GRPO; measured on rows that were never asked."""
    settings = apply_overrides(PriceSettings(), context.overrides)
    table = price_table(context.seed)
    tasks = [price_task(row, price) for row, price in table.items()]
    training, held_out, reward = tasks[:148], tasks[148:], OutcomeReward()
    limits = RolloutSettings(max_turn_tokens=16, max_tokens=96)
    episodes = EpisodeSpec(make_env=partial(TableEnv, table), rollout=limits, max_turns=3)

    def shown(index: int, progress: float) -> Demonstration:
        rng = generator_for(context.seed, "demonstration", index)
        example, other = (looks_up(training[row]) for row in rng.integers(len(training), size=2))
        is_guess = rng.random() < settings.guess_share
        return Demonstration(example=guessed(example, other=other) if is_guess else example, episodes=episodes)

    def measured(name: str) -> Evaluate:
        return Evaluate(name=name, tasks=lambda: held_out, episodes=episodes, reward=reward)

    streams = (Stream(name="main", episodes=episodes),)
    questions = partial(Shuffled, training, seed=context.seed)
    learning = RLStage(name="rl", streams=streams, questions=questions, reward=reward, settings=settings.rl)
    imitation = SFTStage(name="sft", source=shown, settings=settings.sft)
    build_model = partial(tiny_model, TEXTS, context.media, numbers=PRICES, seed=context.seed)
    stages = (imitation, measured("before"), learning, measured("after"))
    return Plan(title="Prices out of a table", settings=settings, build_model=build_model, stages=stages)
