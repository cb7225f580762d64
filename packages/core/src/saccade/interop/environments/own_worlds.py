"""Environments of the user's own file: an ``Environment``, or what a function makes of a shape that is known here."""

import inspect
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import gymnasium

from saccade.envs.environment import Environment, EnvironmentContext, EnvironmentFactory
from saccade.envs.wrapped import RewardedEnvironment
from saccade.errors import UserError
from saccade.interop.environments.gym_v_world import AgentEnv, GymVWorld
from saccade.interop.environments.gymnasium_world import GymnasiumSource, GymnasiumWorld
from saccade.interop.environments.world import EndlessSource, NumberedEpisode, Split, World, episode_task
from saccade.media.resize import ResizeRule
from saccade.media.store import MediaStore
from saccade.own_code import errors_of_own, module_of_file, named_in
from saccade.protocols.tagged import direct_protocol
from saccade.types import ImageRef, Json, Message, Task, Turn

if TYPE_CHECKING:
    from saccade.interop.environments.sources import WorldNames

Member = TypeVar("Member")
LOOKS = 3
"""Turns of a look at an environment."""
_MEMBERS = "has prompt, turns, stop, reset, step and close (docs/add/environment.md)"
_VIEW = ResizeRule(factor=1, min_pixels=1, max_pixels=1 << 28, convention="absolute")


@dataclass(frozen=True, kw_only=True)
class OwnEnvironment(EndlessSource):
    """An ``Environment`` of the user's own file, with its tasks; numbered episodes where it names none."""

    name: str
    file: Path
    make_env: EnvironmentFactory
    tasks: Mapping[Split, tuple[Task, ...]]

    def make(self) -> World:
        raise UserError(f"{self.name} is an Environment, which is played in this process; leave environment.python out")

    def count(self, split: Split) -> int | None:
        return len(self.tasks[split]) if self.tasks else None

    def task(self, episode: NumberedEpisode) -> Task:
        """The task of an episode, from the first again after the last."""
        tasks = self.tasks.get(episode.split)
        return tasks[episode.number % len(tasks)] if tasks else episode_task(self.name, episode)

    def look(self, episode: NumberedEpisode) -> list[str | ImageRef]:
        """What an episode shows, to a few turns without sense too; UserError for what is no environment."""
        context = EnvironmentContext(media=MediaStore(), view=_VIEW, protocol=direct_protocol(), max_turns=LOOKS + 1)
        hint = f". {self.name} is played as an Environment, which {_MEMBERS}"
        with errors_of_own(self.file, hint), closing(self.make_env(context)) as env:
            env.reset(seed=0, options={"task": self.task(episode)})
            shown = [part for message in _all(env.prompt, Message) for part in message.parts]
            for _ in range(LOOKS):
                _, _, terminated, truncated, _ = env.step("?")
                observation = _all(env.turns, Turn)[-1].observation
                if terminated or truncated:
                    break
                if observation is None:
                    raise TypeError("the episode goes on, and its newest turn has no observation")
                shown += [observation.text, *observation.images]
            _all((*env.stop, ""), str)
            return shown


def _all(values: object, kind: type[Member]) -> tuple[Member, ...]:
    """The values of an environment's member; TypeError unless they are some of this kind."""
    if not isinstance(values, tuple) or not values or not all(isinstance(one, kind) for one in values):
        raise TypeError(f"{values!r:.80} is no tuple of {kind.__name__}s")
    return values


@dataclass(frozen=True, kw_only=True)
class OwnSource(EndlessSource):
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

    def actions(self) -> tuple[str, ...]:
        with closing(self.make()) as world:
            return tuple(getattr(world, "actions", ()))


def own_source_of(names: "WorldNames") -> OwnSource | OwnEnvironment:
    """The source of ``FILE.py:NAME``, an ``Environment`` where that takes a ``context``; ``UserError`` for none."""
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
    if "context" not in inspect.signature(made).parameters:
        return OwnSource(name=name, make_one=made, arguments=names.arguments)
    tasks: dict[Split, tuple[Task, ...]] = {}
    with errors_of_own(Path(place)):
        if (tasks_of := getattr(made, "tasks", None)) is not None:
            tasks = {"train": _all(tuple(tasks_of("train")), Task), "test": _all(tuple(tasks_of("test")), Task)}

    @wraps(made, updated=())  # Records know the environment by its name, and its file by its module.
    def make_env(context: EnvironmentContext) -> Environment:
        return RewardedEnvironment(cast(Environment, made(context=context, **names.arguments)))

    return OwnEnvironment(name=name, file=Path(place), make_env=make_env, tasks=tasks)


def world_of(env: object, *, name: str) -> World:
    """The world of an object that somebody else made: a ``World``, or one of Gymnasium's or Gym-V's shape."""
    if hasattr(env, "prompt") and hasattr(env, "turns"):
        raise UserError(f"{name} makes an Environment, which needs its EnvironmentContext: take one as `context`")
    if isinstance(env, gymnasium.Env):
        return GymnasiumWorld(env, GymnasiumSource(id=name))
    if hasattr(env, "possible_agents") and hasattr(env, "agent_iter"):
        raise UserError(
            f"{name} makes PettingZoo's {type(env).__name__}, which several agents play in turn; make a gymnasium.Env "
            "of one agent's moves, in which a rule of yours plays the others"
        )
    if all(callable(getattr(env, member, None)) for member in ("reset", "step", "close")):
        return cast(World, env) if hasattr(env, "rules") else GymVWorld(cast(AgentEnv, env), name)
    raise UserError(
        f"{name} made a {type(env).__name__}; an environment is a gymnasium.Env, has reset, step and close with "
        f"dictionaries by agent (Gym-V), or takes a `context` and {_MEMBERS}"
    )
