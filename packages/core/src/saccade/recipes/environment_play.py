"""Play in an environment of somebody else's: episodes as tasks, how they are played, and an evaluation of a model."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial

from saccade.config import RecipeContext, apply_overrides
from saccade.config.settings import warn_of_unused
from saccade.errors import UserError
from saccade.interop.environments.drawn_world import DrawnSource
from saccade.interop.environments.own_worlds import OwnEnvironment
from saccade.interop.environments.play import expert_example, random_example, unlike_itself
from saccade.interop.environments.world import NumberedEpisode, Split, WorldSource, episode_task
from saccade.interop.environments.world_env import WorldEnv
from saccade.models import base_checkpoint, load_model
from saccade.models.checkpoint import is_tiny
from saccade.recipes.environment_settings import TINY, EnvironmentSettings, environment_origin, trained_settings
from saccade.runs import Permission
from saccade.runs.reaches import remember_own
from saccade.seeding import seed_for
from saccade.tasks import Shuffled, TaskSampler
from saccade.tasks.curriculum import InOrder
from saccade.train import EpisodeSpec, Evaluate, Plan
from saccade.types import StreamExample, Task


def episode_spec(settings: EnvironmentSettings, source: WorldSource) -> EpisodeSpec:
    """How an episode of the environment is played; UserError for shown episodes and videos, which only a protocol can
    write."""
    if settings.rollout.few_shot:
        raise UserError(f"rollout.few_shot={settings.rollout.few_shot}: an environment writes its prompt itself; use 0")
    if settings.rollout.native_video:
        raise UserError("rollout.native_video=true: an environment writes its prompt itself; leave it out")
    own = source.make_env if isinstance(source, OwnEnvironment) else None
    return EpisodeSpec(
        make_env=own or partial(WorldEnv, source=source, settings=settings.show),
        rollout=settings.rollout,
        max_turns=settings.max_turns,
    )


@dataclass(frozen=True)
class Episodes:
    """The episodes of an environment, as tasks."""

    source: WorldSource
    settings: EnvironmentSettings
    seed: int

    def held_out(self) -> list[Task]:
        """Those that are measured."""
        count = self.source.count("test")
        wanted = self.settings.held_out if count is None else min(count, self.settings.held_out)
        return [self._task(number, "test") for number in range(wanted)]

    def sampler(self) -> TaskSampler:
        """Training episodes: new ones without an end, or those that there are, shuffled."""
        counts = [count for count in (self.source.count("train"), self.settings.episodes or None) if count is not None]
        if not counts:
            return InOrder(self._task)
        return Shuffled([self._task(number) for number in range(min(counts))], seed=seed_for(self.seed, "rl"))

    def shown_play(self, index: int, _: float) -> StreamExample:
        """A training episode to imitate: by the environment's expert, or at random where it has none."""
        count = self.source.count("train") or 1 << 30
        episode = NumberedEpisode(number=seed_for(self.seed, "random play", index) % count)
        if isinstance(self.source, DrawnSource):
            shown = expert_example(self.source, episode, max_turns=self.settings.max_turns)
            return StreamExample(example=shown, stream="main")
        seed = seed_for(self.seed, "random actions", index)
        return StreamExample(
            example=random_example(self.source, episode, max_turns=self.settings.max_turns, seed=seed), stream="main"
        )

    def _task(self, number: int, split: Split = "train") -> Task:
        episode = NumberedEpisode(number=number, split=split)
        own = self.source if isinstance(self.source, OwnEnvironment) else None
        return own.task(episode) if own else episode_task(self.source.name, episode)


def open_source(context: RecipeContext, settings: EnvironmentSettings) -> WorldSource:
    """The environment of ``--env``, for training by the user's own settings, which later evaluations may take over.

    UserError where there is none, or where it cannot teach what is asked.
    """
    remember_own([("environment", environment_origin(settings.environment))])
    return _source(context, settings)


def _source(context: RecipeContext, settings: EnvironmentSettings) -> WorldSource:
    if context.env is None:
        raise UserError(
            "this recipe trains in an environment; name one: --env gymnasium:MiniGrid-Empty-5x5-v0, gym:fill_form, "
            "verifiers:NAME, openenv:URL, reasoning_gym:NAME, textarena:ID or FILE.py:NAME"
        )
    source = settings.environment.open(context.env)
    if isinstance(source, OwnEnvironment):
        shown, opened = (EnvironmentSettings().show, TINY.show), replace(settings.environment, arguments="")
        if settings.sft.steps or settings.show not in shown or opened != TINY.environment:
            raise UserError(
                f"{source.name} is an Environment: it has no random play to imitate, and says itself what is shown. "
                "Set sft.steps=0, and leave out show.* and environment.*, but for environment.arguments"
            )
        source.look(NumberedEpisode(number=0))
    elif settings.sft.steps and not source.actions() and not isinstance(source, DrawnSource):
        raise UserError(
            f"{source.name} takes any text as an action, so that there is no random play to imitate; name some "
            "actions by environment.action_names=…, or set sft.steps=0"
        )
    return source


def environment_evaluation(
    context: RecipeContext, *, count: int | None = None, temperature: float = 0.0, allowed: Sequence[str] = ()
) -> Plan:
    """Play of a checkpoint in held-out episodes of ``--env``, shown as in the run that the checkpoint lies in.

    ``allowed`` are paths and texts that the settings of that run may name for its environment.
    """
    path = context.model or base_checkpoint()
    permission = Permission(allowed=frozenset(allowed))
    known = trained_settings(path, permission=permission, overrides=context.overrides)
    base = known or (TINY if is_tiny(path) else EnvironmentSettings())
    settings = apply_overrides(base, context.overrides)
    warn_of_unused(base, settings, dict.fromkeys(("sft", "rl", "credit", "episodes"), "an evaluation trains nothing"))
    if count:
        warn_of_unused(base, settings, {"held_out": f"-n {count} says it"})
    settings = replace(settings, sft=replace(settings.sft, steps=0), held_out=count or settings.held_out)
    source = _source(context, settings)
    return Plan(
        title=f"{path.name} in {source.name}",
        settings=settings,
        build_model=lambda: load_model(path, context.media, settings.model),
        load=settings.model,
        stages=(
            Evaluate(
                name="environment",
                tasks=Episodes(source, settings, context.seed).held_out,
                episodes=episode_spec(settings, source),
                reward=settings.reward,
                temperature=temperature,
            ),
        ),
        resources=(source,) if isinstance(source, AbstractContextManager) else (),
        remarks=(
            *filter(None, (unlike_itself(source),)),
            "Played as in the run that trained it." if known else f"Played with show.form={settings.show.form}.",
        ),
    )
