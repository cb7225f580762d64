"""Settings of training in an environment of somebody else's."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from saccade.algorithms import StepCredit
from saccade.config.settings import from_json
from saccade.errors import UserError
from saccade.interop.environments.bridge import BridgedSource
from saccade.interop.environments.sources import WorldNames, source_of
from saccade.interop.environments.world import WorldSource
from saccade.interop.environments.world_env import WorldSettings
from saccade.learner import OptimizerSettings
from saccade.models import LoadSettings
from saccade.rewards.environment import EnvironmentReward
from saccade.rollout import RolloutSettings
from saccade.runs.reaches import Permission
from saccade.runs.runinfo import read_json_object
from saccade.train import AlgorithmSettings, ImitationSettings, RLSettings
from saccade.types import Json


@dataclass(frozen=True, kw_only=True)
class OpenSettings:
    """How the environment that ``--env`` names is made."""

    arguments: str = ""
    """Keyword arguments of the environment, as a JSON object."""
    pictures: str = "auto"
    """What the model sees of a Gymnasium environment: ``render``, ``observation``, ``none``, or ``auto`` for the first
    available one."""
    action_names: tuple[str, ...] = ()
    """Names of discrete actions, if the environment has none; or texts worth a try, if any text is an action. Random
    play consists of them."""
    python: Path | None = None
    """Another Python that has the environment's packages; the environment then runs in processes of its own."""
    processes: int = 2
    """Number of these processes, with ``python``."""

    def check(self) -> None:
        self.keywords()
        if self.processes < 1:
            raise UserError(f"processes={self.processes} must be 1 or more")

    def keywords(self) -> Mapping[str, Json]:
        """The arguments; UserError unless they are a JSON object."""
        try:
            read = json.loads(self.arguments or "{}")
        except (ValueError, RecursionError) as error:
            raise UserError(f"environment.arguments={self.arguments!r} is no JSON: {error}") from error
        if not isinstance(read, dict):
            raise UserError(f'environment.arguments={self.arguments!r} must be a JSON object, as {{"size": 5}}')
        return cast("Mapping[str, Json]", read)

    def open(self, env: str) -> WorldSource:
        """The environment of this name."""
        names = WorldNames(env=env, arguments=self.keywords(), pictures=self.pictures, action_names=self.action_names)
        if self.python is None:
            return source_of(names)
        return BridgedSource(names=names, python=self.python, processes=self.processes)


@dataclass(frozen=True, kw_only=True)
class EnvironmentSettings:
    """Settings for a published model of a few billion parameters (see ``TINY``)."""

    model: LoadSettings = LoadSettings()
    environment: OpenSettings = OpenSettings()
    show: WorldSettings = WorldSettings()
    sft: ImitationSettings = ImitationSettings()
    """SFT on random play, for models that do not know how an action is written. It teaches form and no skill."""
    rl: RLSettings = RLSettings(
        steps=100,
        tasks_per_step=16,
        group_size=8,
        optimizer=OptimizerSettings(learning_rate=1e-6),
        algorithm=AlgorithmSettings(clip_low=0.2, clip_high=0.28),
        checkpoint_every=20,
    )
    credit: StepCredit = StepCredit()
    rollout: RolloutSettings = RolloutSettings(max_turn_tokens=512, max_tokens=16384)
    max_turns: int = 50
    episodes: int = 0
    """Number of training episodes, which repeat; 0 for all available ones, or new ones without an end."""
    held_out: int = 64
    """Episodes of evaluations, from the environment's test split or from seeds that training never uses."""
    reward: EnvironmentReward = EnvironmentReward()

    def unused(self) -> Mapping[str, str]:
        """What nothing reads beside the other settings, and why."""
        found = {} if self.environment.python else {"environment.processes": "there is no environment.python"}
        if self.rl.algorithm.name == "ppo":
            of_critic = (f"rl.algorithm.critic.{name}" for name in ("gae_lambda", "discount", "discounts_turns"))
            found |= dict.fromkeys(of_critic, "GAE steps from turn to turn, by credit.gae_lambda and credit.discount")
            return found | dict.fromkeys(("credit.weight", "credit.group_weight"), "name=ppo has a critic")
        return found | {"credit.gae_lambda": f"name={self.rl.algorithm.name} has no critic"}

    def check(self) -> None:
        if self.max_turns < 1 or self.episodes < 0 or self.held_out < 1:
            raise UserError(
                f"max_turns={self.max_turns} and held_out={self.held_out} must be 1 or more, and "
                f"episodes={self.episodes} 0 or more"
            )
        unused = self._unused_advantages()
        if unused:
            raise UserError(
                f"rl.algorithm.{unused} chooses how the trajectories of a group are compared, which has no effect with "
                "credit.group_weight=0: turns are compared by their returns; set credit.group_weight=1, with "
                "credit.weight=0 for it alone"
            )

    def _unused_advantages(self) -> str:
        """The setting of advantages that nothing would learn from; none where the algorithm's own count."""
        algorithm = self.rl.algorithm
        if self.credit.group_weight or algorithm.name == "ppo":
            return ""
        if algorithm.advantages != "default":
            return f"advantages={algorithm.advantages}"
        if not algorithm.scale_by_std:
            return "scale_by_std=false"
        return "name=rloo" if algorithm.name == "rloo" else ""


TINY = EnvironmentSettings(
    show=WorldSettings(form="action"),
    sft=ImitationSettings(steps=150, batch_size=8, optimizer=OptimizerSettings(learning_rate=1e-3)),
    rl=RLSettings(
        steps=40,
        tasks_per_step=8,
        group_size=8,
        optimizer=OptimizerSettings(learning_rate=3e-4),
        algorithm=AlgorithmSettings(clip_low=0.2, clip_high=0.28),
        checkpoint_every=10,
    ),
    rollout=RolloutSettings(max_turn_tokens=16, max_tokens=1024),
    max_turns=20,
)
"""The defaults for tiny models."""


def environment_origin(opened: OpenSettings) -> dict[str, Json]:
    """What of the settings reaches outside: the Python that is started, and the arguments that its code is given."""
    python = None if opened.python is None else str(opened.python)
    return {"environment": {"python": python, "arguments": opened.arguments}}


def trained_settings(
    checkpoint: Path, *, permission: Permission = Permission(own=frozenset()), overrides: Sequence[str] = ()
) -> EnvironmentSettings | None:
    """Settings of the run in whose ``checkpoints`` the checkpoint lies; None where that is no run in an environment.

    The folder may come from anywhere: UserError where its settings name a Python, or arguments, that the user has
    neither allowed nor set otherwise.
    """
    path = checkpoint.resolve().parent.parent / "settings.json"
    if not path.is_file():
        return None
    try:
        recipe = read_json_object(path).get("recipe")
        known = from_json(EnvironmentSettings, recipe) if isinstance(recipe, Mapping) and "show" in recipe else None
    except UserError:
        return None
    if known is None:
        return None
    lacking = permission.lacking("environment", environment_origin(known.environment))
    given = {override.partition("=")[0] for override in overrides}
    key = {"path": "environment.python", "text": "environment.arguments"}
    if left := [reach for reach in lacking if key[reach.kind] not in given]:
        raise UserError(
            f"{path} names, for its environment, {' and '.join(map(str, left))}. To play in it, add: "
            f"{' '.join(reach.option for reach in left)}, or set it yourself: "
            f"{' '.join(f'--set {key[reach.kind]}=...' for reach in left)}"
        )
    # A template is saved with every checkpoint: the file is not needed.
    return replace(known, model=replace(known.model, chat_template=None))
