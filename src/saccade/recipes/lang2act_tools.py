"""Curation of a run's own successes between its two reinforcements, and its chains as examples to imitate."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property

from saccade.curation.linguistic_tools import (
    CuratedTools,
    Curator,
    ToolCuration,
    curate_tools,
    right_trajectories,
    tool_journal,
)
from saccade.errors import UserError
from saccade.protocols import LinguisticToolbox, chain_thought
from saccade.protocols.described import described_parts
from saccade.recipes.lang2act_settings import SUCCESSES
from saccade.seeding import seed_for
from saccade.tasks import Epochs
from saccade.train import Demonstration, DemonstrationSource, DeriveContext, EpisodeSpec
from saccade.types import Answer, Example, ExpertTurn, Json, Task
from saccade.waiting import run_to_end

CuratorSource = Callable[[DeriveContext], AbstractContextManager[Curator]]
"""Opens who names the steps of right trajectories: the policy as it stands, another model, or rules."""


def by(curator: Curator) -> CuratorSource:
    """A curator that is open already."""
    return lambda _: nullcontext(curator)


@dataclass(frozen=True)
class CuratedRun:
    """What a run has curated from its own successes."""

    curated: CuratedTools
    thoughts: Mapping[str, str]
    """The think blocks of the trajectories, by the questions' ids."""

    @cached_property
    def toolbox(self) -> LinguisticToolbox:
        return self.curated.toolbox

    @classmethod
    def from_json(cls, value: Json) -> "CuratedRun":
        thoughts = value.get("thoughts") if isinstance(value, Mapping) else None
        if not isinstance(thoughts, Mapping):
            raise UserError("it has no thoughts; delete the file to curate anew")
        return cls(CuratedTools.from_json(value), {name: str(text) for name, text in thoughts.items()})


def curates_toolbox(settings: ToolCuration, curator: CuratorSource) -> Callable[[DeriveContext], Mapping[str, Json]]:
    """The work of the stage between the reinforcements; UserError where nothing was right."""

    def curate(context: DeriveContext) -> Mapping[str, Json]:
        attempts = list(context.attempts(SUCCESSES))
        trajectories = right_trajectories(attempts, count=settings.trajectories)
        if not trajectories:
            raise UserError(
                f"none of the {len(attempts)} trajectories is right, so there is nothing to curate tools from; let the "
                "first reinforcement last longer, or begin with easier questions"
            )
        seed = seed_for(context.seed, "tools")
        with curator(context) as asked, tool_journal(context.work, trajectories, settings, seed=seed) as journal:
            found = run_to_end(curate_tools(trajectories, asked, settings, journal, seed=seed))
        # As `right_trajectories` has it: of each question the last right one.
        said = {
            attempt.task.id: described_parts(attempt.trajectory.turns[-1].thought)[0]
            for attempt in attempts
            if attempt.trajectory.score is not None and attempt.trajectory.score.is_right
        }
        return {**found.to_json(), "thoughts": {one.id: said.get(one.id, "") for one in trajectories}}

    return curate


def curated_chains(
    curated: Callable[[], CuratedRun], training: Callable[[], Sequence[Task]], episodes: EpisodeSpec, *, seed: int
) -> DemonstrationSource:
    """Right trajectories as chains of the curated tools, in random order, then again in another."""
    known: list[Epochs[Demonstration]] = []

    def demonstration(index: int, _: float) -> Demonstration:
        if not known:
            known.append(Epochs(_demonstrations(curated(), training(), episodes), seed=seed_for(seed, "chains")))
        return known[0](index)

    return demonstration


def _demonstrations(run: CuratedRun, tasks: Sequence[Task], episodes: EpisodeSpec) -> list[Demonstration]:
    chains = run.curated.applications
    shown = []
    for task in tasks:
        if task.id not in chains:
            continue
        thought = chain_thought(run.thoughts.get(task.id, ""), chains[task.id])
        example = Example(task=task, turns=(ExpertTurn(thought=thought, action=Answer(text=task.answer)),))
        shown.append(Demonstration(example=example, episodes=episodes))
    if not shown:
        raise UserError("no trajectory could be written as a chain of the curated tools, so there is none to imitate")
    return shown
