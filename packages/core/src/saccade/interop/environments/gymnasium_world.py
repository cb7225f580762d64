"""Gymnasium environments by name or object: rendered or pixel observations, discrete or text actions."""

import importlib
import inspect
import re
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import gymnasium
import numpy as np
from gymnasium import spaces

from saccade.errors import UserError, nearest
from saccade.interop.environments.observations import picture_of, shown_from
from saccade.interop.environments.world import (
    EndlessSource,
    NumberedEpisode,
    StepResult,
    WorldObservation,
    action_named,
    no_such_action,
)

PictureSource = Literal["auto", "render", "observation", "none"]

_SUCCESS_KEYS = ("success", "is_success")
_FEEDBACK_KEYS = ("env_feedback", "feedback")
"""Keys of ``info`` under which environments of text actions (VisGym) say what became of an action."""
_REGISTERED_BY = {"minigrid": "minigrid", "babyai": "minigrid", "ale": "ale_py"}
"""Packages that register environments when they are imported, by the beginning of the environment's name."""
_KNOWN_ACTIONS: Mapping[str, tuple[str, ...]] = {
    "FrozenLake": ("left", "down", "right", "up"),
    "CliffWalking": ("up", "right", "down", "left"),
    "Taxi": ("south", "north", "east", "west", "pick up", "drop off"),
    "CartPole": ("push left", "push right"),
    "MountainCar": ("push left", "coast", "push right"),
    "Acrobot": ("torque left", "no torque", "torque right"),
    "Blackjack": ("stick", "hit"),
}
"""Names that the documentation of Gymnasium's own environments gives, where their code has none."""


_GOALS: Mapping[str, str] = {
    "FrozenLake": "Walk over the ice to the present without falling into a hole.",
    "CliffWalking": "Walk to the goal at the lower right without stepping off the cliff.",
    "Taxi": "Drive to the passenger, pick them up, drive to the destination and drop them off.",
    "CartPole": "Keep the pole on the cart upright by pushing the cart.",
    "MountainCar": "Swing the car back and forth until it reaches the flag on the hill at the right.",
    "Acrobot": "Swing the free end of the two links above the line.",
    "Blackjack": "Get closer to 21 than the dealer without going over it.",
    "LunarLander": "Land softly between the two flags.",
    "Breakout": "Move the paddle to keep the ball in play and clear the bricks.",
    "Pong": "Move the right paddle to get the ball past the other one.",
}
"""What well-known environments want, which their observations do not say."""


@dataclass(frozen=True, kw_only=True)
class GymnasiumSource(EndlessSource):
    """An environment of Gymnasium's registry, ``ID`` or ``module:ID``.

    ``pictures`` says what the model sees: what ``render`` draws, the observation's own pixels, or nothing; ``auto``
    takes the first of them that there is. ``action_names`` names discrete actions that have no names of their own.
    """

    id: str
    pictures: PictureSource = "auto"
    action_names: tuple[str, ...] = ()
    keywords: Mapping[str, object] = field(default_factory=dict)
    """Further keyword arguments of ``gymnasium.make``."""

    @property
    def name(self) -> str:
        return self.id.rpartition(":")[2]

    def make(self) -> "GymnasiumWorld":
        return GymnasiumWorld(_make_env(self), self)

    def actions(self) -> tuple[str, ...]:
        with closing(self.make()) as world:
            return world.actions


class GymnasiumWorld:
    """One environment with Gymnasium's ``reset`` and ``step``; ``UserError`` where no text can name its actions.

    An environment that has ``get_prompt`` (VisGym's) takes the text of an action whatever its action space says.
    """

    def __init__(self, env: "gymnasium.Env[Any, Any]", source: GymnasiumSource) -> None:
        self._env, self._source = env, source
        try:
            self._prompt: Callable[[], object] | None = getattr(env.unwrapped, "get_prompt", None)
            self._takes_text = self._prompt is not None or isinstance(env.action_space, spaces.Text)
            self.actions = () if self._takes_text else _action_names(env, source)
            if not self.actions and not self._takes_text:
                raise UserError(
                    f"{source.name} takes actions of {env.action_space}; a model can write discrete actions and text. "
                    "Wrap it in a function of your own: --env FILE.py:make"
                )
            self._renders = _renders(env, source)
        except BaseException:
            env.close()
            raise

    @property
    def rules(self) -> str:
        if self._prompt is not None:
            return str(self._prompt())
        goal = _GOALS.get(_kind(self._source.name))
        taken = "An action is a text." if self._takes_text else f"The actions are {', '.join(self.actions)}."
        return " ".join(filter(None, [f"This is the environment {self._source.name}.", goal, taken]))

    def reset(self, episode: NumberedEpisode) -> WorldObservation:
        seed = episode.seed(self._source.name)
        observation, _ = self._env.reset(seed=seed)
        return self._world_observation(observation, {})

    def step(self, action: str) -> StepResult:
        taken: object = action.strip()
        if not self._takes_text:
            index = action_named(action, self.actions)
            if index is None:
                return no_such_action(action.strip(), self.actions)
            taken = np.int64(index) + cast("spaces.Discrete", self._env.action_space).start
        elif self._prompt is None and not self._env.action_space.contains(taken):
            return StepResult(invalid=f"the text is none of the environment's actions, {self._env.action_space}")
        observation, reward, terminated, truncated, info = self._env.step(taken)
        return StepResult(
            shown=self._world_observation(observation, info),
            reward=float(reward),
            terminated=bool(terminated),
            truncated=bool(truncated),
            success=_success(info),
        )

    def close(self) -> None:
        self._env.close()

    def _world_observation(self, observation: object, info: Mapping[str, object]) -> WorldObservation:
        drawn = picture_of(np.asarray(self._env.render())) if self._renders else None
        if self._renders and drawn is None:
            if self._source.pictures == "render":
                raise UserError(
                    f"{self._source.name} rendered no picture; use pictures=observation or none, or give it a "
                    'render_mode="rgb_array" whose render() returns an array'
                )
            self._renders = False
        shown = shown_from(observation, with_pictures=not self._renders and self._source.pictures != "none")
        said = [str(info[key]) for key in _FEEDBACK_KEYS if info.get(key)]
        pictures = shown.pictures if drawn is None else (drawn,)
        return WorldObservation(text="\n".join(filter(None, [*said, shown.text])), pictures=pictures)


def _make_env(source: GymnasiumSource) -> "gymnasium.Env[Any, Any]":
    module, _, id_ = source.id.rpartition(":")
    family = re.split(r"[-/]", id_)[0].lower()
    for name in filter(None, (module, _REGISTERED_BY.get(family, ""))):
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise UserError(f"the environment {source.id!r} needs the package {name}: {error}") from error
    keywords: dict[str, Any] = dict(source.keywords)
    try:
        if source.pictures in ("auto", "render") and _can_render(id_):
            keywords.setdefault("render_mode", "rgb_array")
        return gymnasium.make(id_, **keywords)
    except (gymnasium.error.UnregisteredEnv, gymnasium.error.NameNotFound) as error:
        near = nearest(id_, [*map(str, gymnasium.registry)])
        guess = f" Did you mean {near}?" if near else ""
        raise UserError(
            f"Gymnasium knows no environment {id_!r}.{guess} One that a package registers is named MODULE:ID"
        ) from error
    except (gymnasium.error.Error, TypeError, ImportError, ValueError, OSError) as error:
        raise UserError(f"the environment {source.id!r} cannot be made: {error}") from error


def _can_render(id_: str) -> bool:
    """Whether it says that it can be drawn, and takes a ``render_mode``: VisGym's environments only say so."""
    entry = gymnasium.spec(id_).entry_point
    made = gymnasium.envs.registration.load_env_creator(entry) if isinstance(entry, str) else entry
    takes = inspect.signature(made).parameters.values() if callable(made) else ()
    takes_mode = any(one.name == "render_mode" or one.kind is one.VAR_KEYWORD for one in takes)
    return takes_mode and "rgb_array" in getattr(made, "metadata", {}).get("render_modes", ())


def _renders(env: "gymnasium.Env[Any, Any]", source: GymnasiumSource) -> bool:
    if source.pictures in ("observation", "none"):
        return False
    if env.render_mode == "rgb_array":
        return True
    if source.pictures == "render":
        raise UserError(f"{source.name} cannot be drawn as rgb_array; use pictures=observation or none")
    return False


def _action_names(env: "gymnasium.Env[Any, Any]", source: GymnasiumSource) -> tuple[str, ...]:
    """Names of discrete actions: given, the environment's own (an enum, ``get_action_meanings``), known, or numbers."""
    space, inner = env.action_space, env.unwrapped
    if not isinstance(space, spaces.Discrete):
        return ()
    count = int(space.n)
    if source.action_names:
        if len(source.action_names) != count:
            raise UserError(
                f"action_names={source.action_names} names {len(source.action_names)} actions, but {source.name} has "
                f"{count}"
            )
        return source.action_names
    meanings = getattr(inner, "get_action_meanings", None)
    members = getattr(getattr(inner, "actions", None), "__members__", None)
    if callable(meanings):
        names = tuple(str(name).lower() for name in meanings())
    elif isinstance(members, Mapping):
        names = tuple(str(name).lower().replace("_", " ") for name in members)
    else:
        names = _KNOWN_ACTIONS.get(_kind(source.name), ())
    return names if len(names) == count else tuple(str(int(space.start) + number) for number in range(count))


def _kind(name: str) -> str:
    """The environment's name without its version and variant: ``FrozenLake`` of ``FrozenLake8x8-v1``."""
    return re.split(r"[-_]|8x8|Slippery", name.rpartition("/")[2])[0]


def _success(info: Mapping[str, object]) -> bool | None:
    found = next((info[key] for key in _SUCCESS_KEYS if key in info), None)
    return None if found is None else bool(found)
