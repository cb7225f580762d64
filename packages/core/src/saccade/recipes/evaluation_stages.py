"""Evaluations as stages of a plan: one for each set of questions, way of asking and probe."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from saccade.config import RecipeContext
from saccade.evaluation.probes import ProbeName, probe
from saccade.evaluation.samples import default_cluster
from saccade.rewards import AnyReward
from saccade.rollout import EpisodeSpec
from saccade.train import Evaluate
from saccade.types import Json, Task


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskSet:
    """Questions that are measured together: a benchmark, the user's own, or those of a family."""

    tasks: Sequence[Task]
    name: str = ""
    """Before the names of its evaluations; empty where it is the only one."""
    reward: AnyReward | None = None
    """Its own rule of what is right; None is the evaluation's."""
    cluster: Callable[[Task], str] = default_cluster
    set_apart: Mapping[str, Json] = field(default_factory=dict)
    """What its figures depend on beside the questions: a benchmark's file, rule and options."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Measuring:
    """What all evaluations of a plan share."""

    reward: AnyReward
    temperature: float

    def stage(self, of: TaskSet, name: str, how: EpisodeSpec) -> Evaluate:
        """The evaluation of a set in one way."""
        return Evaluate(
            name=stage_name(of, name),
            tasks=partial(given_tasks, tuple(of.tasks)),
            episodes=how,
            reward=of.reward or self.reward,
            temperature=self.temperature,
            cluster=of.cluster,
            set_apart=of.set_apart,
            set_name=of.name,
        )


def given_tasks(tasks: Sequence[Task]) -> Sequence[Task]:
    return tasks


def stage_name(of: TaskSet, name: str) -> str:
    # Names of stages are names of files.
    return "_".join(re.sub(r"[^\w-]", "_", part) for part in (of.name, name) if part)


def with_probes(stage: Evaluate, probes: Sequence[ProbeName], context: RecipeContext) -> list[Evaluate]:
    """The evaluation, and after it the same with each probe."""
    found = [stage]
    for name in dict.fromkeys(probes):
        if name == "withheld-results" and not stage.episodes.protocol.offers_tools:
            continue
        changed = probe(
            name, stage.tasks(), stage.episodes, media=context.media, seed=context.seed, cluster=stage.cluster
        )
        found.append(
            replace(
                stage,
                name=f"{stage.name}_{name.replace('-', '_')}",
                tasks=partial(given_tasks, changed.tasks),
                episodes=changed.episodes,
                cluster=changed.cluster,
                set_apart={**stage.set_apart, "probe": name, "probe_left_out": changed.left_out, **changed.asked},
            )
        )
    return found
