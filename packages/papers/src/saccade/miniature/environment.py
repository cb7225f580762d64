"""Environments of others in miniature: a model made from nothing learns in any that has named actions.

``saccade train environment:tiny --env gymnasium:MiniGrid-Empty-5x5-v0 --out DIR``
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing

from saccade.config import RecipeContext, apply_overrides
from saccade.interop.environments.actions import asked_form, write_action
from saccade.interop.environments.drawn_world import DrawnSource
from saccade.interop.environments.own_worlds import OwnEnvironment
from saccade.interop.environments.world import NumberedEpisode, WorldSource
from saccade.miniature.tiny_model import tiny_or_given
from saccade.recipes.environment import method
from saccade.recipes.environment_play import Episodes, open_source
from saccade.recipes.environment_settings import TINY, EnvironmentSettings
from saccade.train import Material, Plan

READ_EPISODES = 16
"""Episodes whose first texts the tokenizer is made from."""


def tiny(context: RecipeContext) -> Plan:
    """SFT on random or expert play, then RL by the environment's rewards."""
    settings = apply_overrides(TINY, context.overrides)
    source = open_source(context, settings)
    episodes = Episodes(source, settings, context.seed)
    material = Material(
        title=f"A tiny model in {source.name}",
        build_model=lambda: tiny_or_given(
            context.model, _texts(source, settings), context.media, numbers=range(100), seed=context.seed
        ),
        held_out={"": episodes.held_out},
        questions=episodes.sampler,
        examples=episodes.shown_play,
        resources=(source,) if isinstance(source, AbstractContextManager) else (),
    )
    return material.plan(settings, method(settings, material, source))


def _texts(source: WorldSource, settings: EnvironmentSettings) -> Iterator[str]:
    """What the model will read and write."""
    yield "user assistant tool"
    if isinstance(source, OwnEnvironment):
        for number in range(READ_EPISODES):
            yield from (one for one in source.look(NumberedEpisode(number=number)) if isinstance(one, str))
        return
    yield asked_form(settings.show.form)
    actions = source.actions()
    if isinstance(source, DrawnSource):
        moves = [
            move
            for number in range(READ_EPISODES)
            for move in source.demonstration(NumberedEpisode(number=number), settings.max_turns)
        ]
        actions = tuple(move.action for move in moves)
        yield from (move.thought for move in moves)
    for action in actions:
        yield write_action("", action, settings.show.form)
    with closing(source.make()) as world:
        for number in range(READ_EPISODES):
            yield world.reset(NumberedEpisode(number=number)).text
            yield settings.show.rules or world.rules
