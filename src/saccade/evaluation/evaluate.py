"""Plays tasks once each and scores them: the same rollout and rewards as in training."""

from collections.abc import Callable, Sequence

from saccade.engines.engine import Engine
from saccade.envs.environment import MakeEnvironment
from saccade.models.chat import Chat
from saccade.rewards.groups import score_attempts
from saccade.rewards.reward import AnyReward
from saccade.rollout.batch import ignore_trajectory, rollout_batch
from saccade.rollout.settings import RolloutRequest, RolloutSettings
from saccade.seeding import seed_for
from saccade.types import Attempt, Task, Trajectory


def play(
    requests: Sequence[RolloutRequest],
    *,
    engine: Engine,
    chat: Chat,
    make_env: MakeEnvironment,
    settings: RolloutSettings,
    reward: AnyReward,
    on_finished: Callable[[Trajectory], None] = ignore_trajectory,
) -> list[Attempt]:
    """Rolls the requests out and scores every trajectory that the machine did not fail, by a reward of any kind."""
    trajectories = rollout_batch(
        requests,
        engine=engine,
        chat=chat,
        make_env=make_env,
        settings=settings,
        on_finished=on_finished,
    )
    attempts = [Attempt(task=one.task, trajectory=trajectory) for one, trajectory in zip(requests, trajectories)]
    return score_attempts(attempts, reward)


def evaluation_requests(tasks: Sequence[Task], *, seed: int, name: str, samples: int = 1) -> list[RolloutRequest]:
    """``samples`` requests per task; the seed of each depends on the task alone, not on what else is evaluated."""
    return [
        RolloutRequest(task=task, stream="evaluation", sample=sample, seed=_seed(seed, name, task, sample))
        for task in tasks
        for sample in range(samples)
    ]


def _seed(seed: int, name: str, task: Task, sample: int) -> int:
    first = seed_for(seed, "evaluate", name, task.id)
    return first if sample == 0 else seed_for(first, "sample", sample)
