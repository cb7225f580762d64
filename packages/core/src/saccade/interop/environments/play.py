"""Play without a model: episodes to imitate, and a look at whether an environment repeats itself."""

import logging
from collections.abc import Sequence
from contextlib import closing

from saccade.interop.environments.drawn_world import DrawnSource
from saccade.interop.environments.own_worlds import OwnEnvironment
from saccade.interop.environments.world import NumberedEpisode, StepResult, WorldObservation, WorldSource, episode_task
from saccade.interop.environments.world_env import ACT
from saccade.media.store import image_hash
from saccade.seeding import generator_for
from saccade.types import Example, ExpertTurn, ToolCall

LOOKS = 5
"""Actions of the look."""

logger = logging.getLogger(__name__)


def random_example(source: WorldSource, episode: NumberedEpisode, *, max_turns: int, seed: int) -> Example:
    """An episode of actions drawn alike from all that there are: it shows how actions are written, and no skill."""
    actions, rng = source.actions(), generator_for(seed, "actions")
    turns: list[ExpertTurn] = []
    with closing(source.make()) as world:
        world.reset(episode)
        result = StepResult()
        while len(turns) < max_turns and not (result.terminated or result.truncated):
            action = actions[int(rng.integers(len(actions)))]
            turns.append(ExpertTurn(thought="", action=ToolCall(name=ACT, arguments={"action": action})))
            result = world.step(action)
    return Example(task=episode_task(source.name, episode), turns=tuple(turns))


def expert_example(source: DrawnSource, episode: NumberedEpisode, *, max_turns: int) -> Example:
    """An episode as the family's expert plays it."""
    turns = tuple(
        ExpertTurn(thought=move.thought, action=ToolCall(name=ACT, arguments={"action": move.action}))
        for move in source.demonstration(episode, max_turns)
    )
    return Example(task=episode_task(source.name, episode), turns=turns)


def unlike_itself(source: WorldSource) -> str | None:
    """A sentence on what follows, where the same episode and actions show something else a second time; else None."""
    episode = NumberedEpisode(number=0)
    if _first_looks(source, episode) == _first_looks(source, episode):
        return None
    said = (
        f"{source.name} shows different observations for the same episode and actions: the members of a group do "
        "not begin alike, and a run that is stopped and resumed will not have the bytes of an uninterrupted one."
    )
    logger.warning(said)
    return said


def _first_looks(source: WorldSource, episode: NumberedEpisode) -> Sequence[object]:
    if isinstance(source, OwnEnvironment):
        return source.look(episode)
    actions = source.actions()
    with closing(source.make()) as world:
        seen = [_content(world.reset(episode))]
        for number in range(LOOKS if actions else 0):
            result = world.step(actions[number % len(actions)])
            seen.append(_content(result.shown))
            if result.terminated or result.truncated:
                break
    return seen


def _content(shown: WorldObservation) -> tuple[str, tuple[str, ...]]:
    return shown.text, tuple(image_hash(picture) for picture in shown.pictures)
