"""Evaluation: tasks played by the same rollout and rewards as in training, in one pass or in two.

Two passes are iVGR's tool-assisted test-time scaling (section 3.4): boxes from a first, an answer from a second on
more views.

1. The first pass, grounded, names boxes in its thoughts.
2. ``saccade.evaluation.views`` cuts views out of the question's first image, on which the boxes are.
3. The second pass, textual, sees the question's own images, then the crops, then the union, and its answer counts.

A first pass without a box that can be used leaves the second with the question's own images, and its seed is that of
a plain evaluation: nothing is lost where the model wrote no boxes. Where the machine failed the first pass, the second
is not played and counts as ``failed`` too: what would have been shown is not known. A first pass that only the
reward's judge failed has its boxes all the same, and its second pass is played.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from saccade import metric_names as metric
from saccade.engines.engine import Engine
from saccade.envs.environment import MakeEnvironment
from saccade.heartbeat import phase
from saccade.media.store import MediaStore
from saccade.models.chat import Chat
from saccade.rewards.groups import is_without_verdict, score_attempts
from saccade.rewards.reward import AnyReward
from saccade.rollout.batch import PlayedAs, ignore_trajectory, rollout_batch
from saccade.rollout.episodes import RolloutRequest, RolloutSettings
from saccade.rollout.players import SamplePlayer
from saccade.seeding import seed_for
from saccade.types import Attempt, Task, Trajectory

if TYPE_CHECKING:
    from saccade.evaluation.views import View, ViewKind, Views


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


Playing = Callable[[Sequence[RolloutRequest], PlayedAs], list[Attempt]]
"""Plays requests in a way and scores them: at an engine, at a server, or from a journal."""


def at_engine(
    engine: Engine,
    chat: Chat,
    reward: AnyReward,
    on_finished: Callable[[Trajectory], None] = ignore_trajectory,
) -> Playing:
    """Playing at an engine, where nothing is kept."""

    def playing(requests: Sequence[RolloutRequest], how: PlayedAs) -> list[Attempt]:
        return play(
            requests,
            engine=engine,
            chat=chat,
            make_env=how.make_env,
            settings=how.settings,
            reward=reward,
            on_finished=on_finished,
        )

    return playing


def by_player(player: SamplePlayer, reward: AnyReward) -> Playing:
    """Playing by a player, where nothing is kept."""

    def playing(requests: Sequence[RolloutRequest], how: PlayedAs) -> list[Attempt]:
        played = player.play(requests, how, lambda _, __: None)
        attempts = [Attempt(task=one.task, trajectory=two.trajectory) for one, two in zip(requests, played)]
        with phase(lambda: f"rewarding {len(attempts)} trajectories"):
            return score_attempts(attempts, reward)

    return playing


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


FIRST_PASS = "first_pass"
"""The stream of the first pass."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TwoPasses:
    """Both passes over the tasks, in their order."""

    first: tuple[Attempt, ...]
    views: tuple[tuple["View", ...], ...]
    """The views that the second pass saw beside the task's own images."""
    second: tuple[Attempt, ...]
    """Each with its task as it was shown: the same id, more images."""


def play_with_views(
    tasks: Sequence[Task],
    *,
    playing: Playing,
    media: MediaStore,
    first: PlayedAs | Sequence[Attempt],
    second: PlayedAs,
    views: "Views",
    seed: int,
    name: str,
) -> TwoPasses:
    """Both passes over all tasks by the same ``playing``; the views are added to ``media``.

    ``first`` says how the first pass is played, or is one that has been played on these tasks already.
    ``name`` is that of the evaluation, on which the seeds depend.
    """
    from saccade.evaluation.views import cut_views
    from saccade.rewards.mentions import readable_boxes

    looked = playing(_first_requests(tasks, seed=seed, name=name), first) if isinstance(first, PlayedAs) else first
    cut = tuple(
        cut_views(one.task.images[0], readable_boxes(one.trajectory), views, media) if one.task.images else ()
        for one in looked
    )
    shown = [with_views(task, of_task) for task, of_task in zip(tasks, cut, strict=True)]
    requests = evaluation_requests(shown, seed=seed, name=name)
    answered = iter(
        playing([request for request, one in zip(requests, looked) if not _is_lost(one.trajectory)], second)
    )
    return TwoPasses(
        first=tuple(looked),
        views=cut,
        second=tuple(
            _unplayed_attempt(request, one.trajectory) if _is_lost(one.trajectory) else next(answered)
            for request, one in zip(requests, looked)
        ),
    )


def with_views(task: Task, views: "Sequence[View]") -> Task:
    """The same task with the views after its own images."""
    return replace(task, images=(*task.images, *(view.image for view in views)))


def view_metrics(passes: TwoPasses) -> Mapping[str, float]:
    """Crops per question, and the shares of questions with a union and with the original alone.

    Of the questions whose first pass the machine did not fail.
    """
    kinds: list[list[ViewKind]] = [
        [view.kind for view in views] for one, views in zip(passes.first, passes.views) if not _is_lost(one.trajectory)
    ]
    return {
        metric.VIEW_CROPS: _mean([float(one.count("crop")) for one in kinds]),
        metric.VIEW_UNION: _mean([float("union" in one) for one in kinds]),
        metric.VIEW_NONE: _mean([float(not one) for one in kinds]),
    }


def _is_lost(first: Trajectory) -> bool:
    return first.status == "failed" and not is_without_verdict(first)


def _first_requests(tasks: Sequence[Task], *, seed: int, name: str) -> list[RolloutRequest]:
    requests = evaluation_requests(tasks, seed=seed, name=f"{name}/{FIRST_PASS}")
    return [replace(request, stream=FIRST_PASS) for request in requests]


def _unplayed_attempt(request: RolloutRequest, first: Trajectory) -> Attempt:
    """The second pass of a task whose first pass the machine failed."""
    trajectory = Trajectory(
        task_id=request.task.id,
        family=request.task.family,
        stream=request.stream,
        sample=request.sample,
        seed=request.seed,
        policy_version=first.policy_version,
        segments=(),
        turns=(),
        status="failed",
        failure=f"the first pass failed: {first.failure}",
    )
    return Attempt(task=request.task, trajectory=trajectory)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0
