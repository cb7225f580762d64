"""Environments by their names on the command line: ``gym:NAME``, ``gymnasium:ID``, ``openenv:URL``, a file."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from saccade.errors import UserError, nearest
from saccade.interop.environments.world import WorldSource
from saccade.types import Json

KINDS = ("gym", "gymnasium", "verifiers", "openenv", "reasoning_gym", "textarena")


@dataclass(frozen=True, kw_only=True)
class WorldNames:
    """What names an environment, as text that crosses to another process."""

    env: str
    """``KIND:NAME``, or ``FILE.py:NAME`` for a function that makes one."""
    arguments: Mapping[str, Json] = field(default_factory=dict)
    """Keyword arguments of the environment."""
    pictures: str = "auto"
    """For Gymnasium: ``render``, ``observation``, ``none``, or ``auto`` for the first of them that there is."""
    action_names: tuple[str, ...] = ()
    """Names of discrete actions that have none, or, where any text is an action, those that are worth a try."""

    def to_json(self) -> Json:
        return {
            "env": self.env,
            "arguments": dict(self.arguments),
            "pictures": self.pictures,
            "action_names": list(self.action_names),
        }

    @staticmethod
    def from_json(value: Json) -> "WorldNames":
        assert isinstance(value, Mapping)
        arguments, names = value["arguments"], value["action_names"]
        assert isinstance(arguments, Mapping)
        assert isinstance(names, list)
        return WorldNames(
            env=str(value["env"]),
            arguments=arguments,
            pictures=str(value["pictures"]),
            action_names=tuple(map(str, names)),
        )


def source_of(names: WorldNames) -> WorldSource:
    """The source that the names mean, in this process; ``UserError`` says what is wrong with them.

    Each kind imports its own packages here, on its first use.
    """
    kind, colon, name = names.env.partition(":")
    if kind.endswith(".py") or "/" in kind:
        from saccade.interop.environments.own_worlds import own_source_of

        return own_source_of(names)
    if not colon or not name or kind not in KINDS:
        near = nearest(kind, KINDS)
        guess = f" Did you mean {near}:{name or 'NAME'}?" if near and kind not in KINDS else ""
        raise UserError(
            f"--env {names.env!r} names no environment.{guess} It is gym:NAME, gymnasium:ID, verifiers:NAME, "
            "openenv:URL, reasoning_gym:NAME, textarena:ID or FILE.py:NAME"
        )
    if kind == "gym":
        return _drawn_source(names, name)
    if kind == "gymnasium":
        from saccade.interop.environments.gymnasium_world import GymnasiumSource, PictureSource

        if names.pictures not in ("auto", "render", "observation", "none"):
            raise UserError(f"pictures={names.pictures!r} is none of auto, render, observation and none")
        return GymnasiumSource(
            id=name,
            pictures=cast(PictureSource, names.pictures),
            action_names=names.action_names,
            keywords=names.arguments,
        )
    if kind == "verifiers":
        return _verifiers_source(names, name)
    if kind == "openenv":
        from saccade.interop.environments.openenv_world import OpenEnvSource

        # Of the address that the user gave with --env, and of no other.
        token = os.environ.get("SACCADE_TOKEN") or None
        return OpenEnvSource(url=name, arguments=names.arguments, action_names=names.action_names, token=token)
    from saccade.interop.environments.text_worlds import ReasoningGymSource, TextArenaSource

    text_source = ReasoningGymSource if kind == "reasoning_gym" else TextArenaSource
    return text_source(name=name, arguments=names.arguments, action_names=names.action_names)


def _drawn_source(names: WorldNames, name: str) -> WorldSource:
    from saccade.interop.environments.drawn_world import DrawnSource

    given = dict(names.arguments)
    difficulty, caption = given.pop("difficulty", 0.5), given.pop("caption", False)
    if (
        given
        or isinstance(difficulty, bool)
        or not isinstance(difficulty, int | float)
        or not isinstance(caption, bool)
    ):
        raise UserError(
            f'environment.arguments of gym:{name} are as {{"difficulty": 0.5, "caption": false}}, and not '
            f"{dict(names.arguments)}"
        )
    if names.pictures == "observation":
        raise UserError(f"environment.pictures=observation: gym:{name} has one kind of picture; use auto or none")
    return DrawnSource(
        name=name,
        difficulty=float(cast(float, difficulty)),
        has_captions=caption,
        has_pictures=names.pictures != "none",
        action_names=names.action_names,
    )


def _verifiers_source(names: WorldNames, name: str) -> WorldSource:
    try:
        import verifiers
    except ImportError as error:
        raise UserError(
            f"the environment {name!r} needs the package verifiers, whose dependencies differ from Saccade's; install "
            "it in an environment of its own and name its Python: --set environment.python=PATH"
        ) from error
    if not hasattr(verifiers, "load_environment"):
        from saccade.interop.environments.verifiers_v1_world import VerifiersV1Source

        of_v1 = VerifiersV1Source(id=name, arguments=names.arguments, action_names=names.action_names)
        # What is wrong with the names is said here.
        of_v1.environment("train")
        return of_v1
    from saccade.interop.environments.verifiers_world import VerifiersSource

    source = VerifiersSource(id=name, arguments=names.arguments, action_names=names.action_names)
    # In the main thread, since the library sets signal handlers when it makes an environment.
    _ = source.environment
    return source
