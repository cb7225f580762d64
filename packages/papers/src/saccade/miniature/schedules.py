"""What the miniatures share: how long and how fast tiny models learn, shares of lessons, questions that come again."""

import logging
from collections.abc import Callable, Mapping
from functools import cache
from typing import TypeVar

from saccade.config import RecipeContext
from saccade.errors import UserError
from saccade.learner import OptimizerSettings
from saccade.media import MediaStore, png_bytes
from saccade.seeding import generator_for
from saccade.train import ImitationSettings, RLSettings
from saccade.types import Example

logger = logging.getLogger(__name__)

Habit = TypeVar("Habit", bound=str)


def in_small_batches(learning_rate: float) -> OptimizerSettings:
    """The optimiser of a tiny model."""
    return OptimizerSettings(learning_rate=learning_rate, micro_batch_tokens=16_384)


IMITATION = ImitationSettings(
    steps=1600,
    batch_size=32,
    optimizer=in_small_batches(2e-3),
    warmup_steps=20,
    final_rate=0.1,
    checkpoint_every=400,
)
REINFORCEMENT = RLSettings(
    steps=60, optimizer=in_small_batches(3e-4), warmup_steps=3, decay="linear", final_rate=0.1, checkpoint_every=20
)


def imitates(context: RecipeContext, steps: int) -> bool:
    """Whether a miniature imitates for so many steps: not where it starts from an earlier imitation."""
    if context.model is None:
        return steps > 0
    keys = (one.partition("=")[0].strip() for one in context.overrides)
    if changed := [key for key in keys if key.startswith("sft.")]:
        logger.warning("%s imitates nothing: --model has imitated already", ", ".join(dict.fromkeys(changed)))
    return False


def check_shares(lessons: object, *alone: str, together: tuple[str, ...] = ()) -> None:
    """UserError where a field of this name is no share, or where those ``together`` add up to more than 1."""
    shares = {name: float(getattr(lessons, name)) for name in (*alone, *together)}
    for name, share in shares.items():
        if not 0 <= share <= 1:
            raise UserError(f"{name}={share} is a share and must lie between 0 and 1")
    if sum(shares[name] for name in together) > 1:
        named = ", ".join(f"{name}={shares[name]}" for name in together)
        raise UserError(f"{named} are shares of the same demonstrations and must not be more than 1 together")


def habit_of(draw: float, shares: Mapping[Habit, float], otherwise: Habit) -> Habit:
    """The habit that a number in 0..1, drawn at random, falls on."""
    for habit, share in shares.items():
        if draw < share:
            return habit
        draw -= share
    return otherwise


def in_epochs(number: int, size: int, seed: int) -> int:
    """The question at this place of endless epochs, each in an order of its own."""
    epoch, place = divmod(number, size)
    return int(generator_for(seed, "rl", "epoch", epoch).permutation(size)[place])


def drawn_once(draw: Callable[[int], Example], media: MediaStore) -> Callable[[int], Example]:
    """Examples by their number, each drawn once, whose picture is there whenever one is asked for."""

    @cache
    def drawn(number: int) -> tuple[Example, bytes]:
        example = draw(number)
        return example, png_bytes(media.get(example.task.images[0]))

    def example_of(number: int) -> Example:
        example, picture = drawn(number)
        # A step's pictures are forgotten after it, but drawing one again costs more than reading it again.
        media.add_encoded(picture, example.task.id)
        return example

    return example_of
