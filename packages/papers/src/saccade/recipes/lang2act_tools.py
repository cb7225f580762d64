"""Curation of a run's own successes between its two reinforcements, and its chains as examples to imitate."""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from saccade.curation.linguistic_tools import (
    Curator,
    ToolCuration,
    chain_examples,
    curate_tools,
    right_trajectories,
    tool_journal,
)
from saccade.errors import UserError
from saccade.protocols import LinguisticToolbox
from saccade.recipes.lang2act_settings import SUCCESSES
from saccade.seeding import seed_for
from saccade.tasks import Epochs
from saccade.train import Demonstration, DemonstrationSource, DeriveContext, EpisodeSpec
from saccade.types import Answer, Example, ExpertTurn, Json, Task
from saccade.waiting import run_to_end

logger = logging.getLogger(__name__)

CuratorSource = Callable[[DeriveContext], AbstractContextManager[Curator]]
"""Opens who names the steps of right trajectories: the policy as it stands, another model, or rules."""


def by(curator: Curator) -> CuratorSource:
    """A curator that is open already."""
    return lambda _: nullcontext(curator)


@dataclass(frozen=True)
class CuratedRun:
    """What a run has curated from its own successes."""

    toolbox: LinguisticToolbox
    chains: Mapping[str, ExpertTurn]
    """Right trajectories as chains of these tools, by their questions' ids."""

    @classmethod
    def from_json(cls, value: Json) -> "CuratedRun":
        """What ``curates_toolbox`` has written; UserError for anything else."""
        chains = value.get("chains") if isinstance(value, Mapping) else None
        if not isinstance(chains, Mapping):
            raise UserError("it has no chains of tools; curate again, in a new run")
        turns = {name: _turn(one, name) for name, one in chains.items()}
        return cls(toolbox=LinguisticToolbox.from_json(value), chains=turns)


def _turn(value: Json, name: str) -> ExpertTurn:
    if not isinstance(value, Mapping) or not all(isinstance(value.get(key), str) for key in ("thought", "answer")):
        raise UserError(f"the chain of {name} has no thought and answer")
    return ExpertTurn(thought=str(value["thought"]), action=Answer(text=str(value["answer"])))


def curates_toolbox(settings: ToolCuration, curator: CuratorSource) -> Callable[[DeriveContext], Mapping[str, Json]]:
    """The work of the stage between the reinforcements; UserError where nothing was right."""

    def curate(context: DeriveContext) -> Mapping[str, Json]:
        attempts = list(context.attempts(SUCCESSES))
        trajectories = right_trajectories(attempts, count=settings.trajectories)
        if not trajectories:
            raise UserError(
                f"none of the {len(attempts)} trajectories is right, so there is nothing to curate tools from; "
                "raise action_rl.steps, or begin with easier questions"
            )
        seed = seed_for(context.seed, "tools")
        with curator(context) as asked, tool_journal(context.work, trajectories, settings, seed=seed) as journal:
            found = run_to_end(curate_tools(trajectories, asked, settings, journal, seed=seed))
        logger.info("%s", found.describe())
        chains: dict[str, Json] = {}
        for example in chain_examples(found, attempts):
            [turn] = example.turns
            assert isinstance(turn.action, Answer)
            chains[example.task.id] = {"thought": turn.thought, "answer": turn.action.text}
        return {**found.to_json(), "chains": chains}

    return curate


def curated_chains(
    curated: Callable[[], CuratedRun], training: Callable[[], Sequence[Task]], episodes: EpisodeSpec, *, seed: int
) -> DemonstrationSource:
    """Right trajectories as chains of the curated tools, in random order, then again in another."""
    known: list[Epochs[Demonstration]] = []

    def demonstration(index: int, _: float) -> Demonstration:
        if not known:
            chains = curated().chains
            shown = [Example(task=task, turns=(chains[task.id],)) for task in training() if task.id in chains]
            if not shown:
                raise UserError("no right trajectory is a chain of the curated tools, so there is none to imitate")
            demonstrations = [Demonstration(example=one, episodes=episodes) for one in shown]
            known.append(Epochs(demonstrations, seed=seed_for(seed, "chains")))
        return known[0](index)

    return demonstration
