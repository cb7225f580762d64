"""Environments that a function of the user's own makes, of any of the shapes that are known here."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import gymnasium

from saccade.errors import UserError
from saccade.interop.environments.gym_v_world import AgentEnv, GymVWorld
from saccade.interop.environments.gymnasium_world import GymnasiumSource, GymnasiumWorld
from saccade.interop.environments.world import Split, World
from saccade.own_code import module_of_file, named_in
from saccade.types import Json

if TYPE_CHECKING:
    from saccade.interop.environments.sources import WorldNames


@dataclass(frozen=True, kw_only=True)
class OwnSource:
    """Environments that a function of the user's own makes: a ``World`` or a ``gymnasium.Env`` at each call."""

    name: str
    make_one: Callable[..., object]
    arguments: Mapping[str, Json]

    def make(self) -> World:
        try:
            made = self.make_one(**self.arguments)
        except TypeError as error:
            raise UserError(f"{self.name} cannot be called with {dict(self.arguments)}: {error}") from error
        return world_of(made, name=self.name)

    def count(self, split: Split) -> int | None:
        return None

    def actions(self) -> tuple[str, ...]:
        world = self.make()
        try:
            return tuple(getattr(world, "actions", ()))
        finally:
            world.close()


def own_source_of(names: "WorldNames") -> OwnSource:
    """The source of ``FILE.py:NAME``; ``UserError`` where there is no such function."""
    place, _, name = names.env.rpartition(":")
    if not place:
        place, name = names.env, ""
    made = named_in(
        module_of_file(Path(place), what="environment"), name, place, what="environment function", parameters=0
    )
    if not callable(made):
        raise UserError(f"{names.env} is a {type(made).__name__}; an environment is made by a function or a class")
    if inspect.iscoroutinefunction(made):
        raise UserError(f"{names.env} is a coroutine; an environment is made by a plain function")
    return OwnSource(name=name, make_one=cast("Callable[..., object]", made), arguments=names.arguments)


def world_of(env: object, *, name: str) -> World:
    """The world of an object that somebody else made: a ``World``, or one of Gymnasium's or Gym-V's shape."""
    if isinstance(env, gymnasium.Env):
        return GymnasiumWorld(env, GymnasiumSource(id=name))
    if all(callable(getattr(env, member, None)) for member in ("reset", "step", "close")):
        return cast(World, env) if hasattr(env, "rules") else GymVWorld(cast(AgentEnv, env), name)
    raise UserError(
        f"{name} made a {type(env).__name__}; an environment is a gymnasium.Env, has reset, step and close with "
        "dictionaries by agent (Gym-V), or has rules, reset(episode), step(action) and close() "
        "(saccade.interop.environments.World)"
    )
