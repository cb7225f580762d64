"""Batches of a training step: groups of trajectories, rolled out, scored, filtered with refills, and kept as JSON."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from saccade import metric_names as metric
from saccade.algorithms.advantages import with_term
from saccade.codec.codecs import Codec
from saccade.codec.forms import Form
from saccade.errors import UserError
from saccade.heartbeat import phase
from saccade.rewards.groups import score_questions
from saccade.rollout.episodes import RolloutRequest
from saccade.runs.trajectory_json import FORMS
from saccade.seeding import seed_for
from saccade.tasks.curriculum import Question, TaskSampler
from saccade.train.plan import RLStage
from saccade.train.rollouts import PolicyRollouts
from saccade.types import Group, Json, RoutedExperts, Task, Trajectory


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """The groups of one step."""

    step: int
    groups: tuple[Group, ...]
    """Groups to learn from."""
    evicted: tuple[Group, ...] = ()
    """Groups that the algorithm's filter left out; they are recorded all the same."""
    rounds: int = 1
    """How often questions were drawn until the batch was full, or the refills used up."""

    @property
    def played(self) -> tuple[Group, ...]:
        return self.groups + self.evicted


class Collector:
    """Rolls batches out with the engine's present policy."""

    def __init__(self, stage: RLStage, rollouts: PolicyRollouts, questions: TaskSampler, *, seed: int) -> None:
        self._stage = stage
        self._algorithm = stage.applied_algorithm
        self._rollouts = rollouts
        self._questions = questions
        self._seed = seed
        self._streams = {stream.name: stream for stream in stage.streams}
        self.memory: dict[str, Json] = {}
        """Memory of the reward for each task, by its id."""
        self._seconds = {metric.ROLLOUT_S: 0.0, metric.REWARD_S: 0.0, metric.COLLECT_CPU_S: 0.0}

    def collect(self, step: int) -> Batch:
        """The batch of a step: questions whose groups teach nothing are replaced while refills are left (DAPO, 3.2)."""
        keep = self._algorithm.keep_group
        wanted = self._stage.settings.tasks_per_step
        asked: Counter[tuple[str, str]] = Counter()
        kept: list[Group] = []
        evicted: list[Group] = []
        rounds = 0
        missing = wanted
        while missing and rounds <= (self._algorithm.max_refills if keep else 0):
            rounds += 1
            with phase(lambda: "drawing questions"):
                questions = self._questions.sample(missing)
            played = self._play(questions, step, asked)
            for groups in played:
                # A question that several streams asked stays whole: they may compare with one another. The filter
                # judges what the task's own reward says, not the algorithm's additions to it.
                if keep is None or any(keep(group) for group in groups):
                    kept += map(self._with_shaping, groups)
                    missing -= 1
                else:
                    evicted += map(self._with_shaping, groups)
            if all(one.score is None for groups in played for group in groups for one in group.trajectories):
                # Whatever made all of them fail would only take longer to be told of.
                break
        return Batch(step=step, groups=tuple(kept), evicted=tuple(evicted), rounds=rounds)

    def seconds(self) -> dict[str, float]:
        """Seconds in rollouts and in rewards since this was last called, by their metrics' names."""
        spent, self._seconds = self._seconds, dict.fromkeys(self._seconds, 0.0)
        return spent

    def _play(
        self, questions: Sequence[Question], step: int, asked: Counter[tuple[str, str]]
    ) -> list[tuple[Group, ...]]:
        """The scored groups of each question."""
        check_streams(questions, tuple(self._streams))
        started_s, started_cpu_s = time.monotonic(), time.process_time()
        groups = self._rolled_out(questions, step, asked)
        played_s = time.monotonic()
        with phase(lambda: f"rewarding {len(questions)} groups"):
            scored, self.memory = score_questions(groups, self._stage.reward, self.memory)
        self._seconds[metric.ROLLOUT_S] += played_s - started_s
        self._seconds[metric.REWARD_S] += time.monotonic() - played_s
        self._seconds[metric.COLLECT_CPU_S] += time.process_time() - started_cpu_s
        self._questions.update([group for groups in scored for group in groups])
        return scored

    def _rolled_out(
        self, questions: Sequence[Question], step: int, asked: Counter[tuple[str, str]]
    ) -> list[list[Group]]:
        """The unscored groups of each question; all of them are played at once."""
        size = self._stage.settings.group_size
        places = [
            (name, index)
            for name in self._streams
            for index, question in enumerate(questions)
            if name in question.streams
        ]
        requests = [
            request for name, index in places for request in self._requests(name, questions[index].task, step, asked)
        ]
        asked_by = [index for _, index in places for _ in range(size)]
        trajectories = self._rollouts.play(self._stage, requests, asked_by)
        groups: list[list[Group]] = [[] for _ in questions]
        for place, (name, index) in enumerate(places):
            members = tuple(trajectories[place * size : (place + 1) * size])
            groups[index].append(Group(task=questions[index].task, stream=name, trajectories=members))
        return groups

    def _requests(self, name: str, task: Task, step: int, asked: Counter[tuple[str, str]]) -> list[RolloutRequest]:
        """A group that is wanted."""
        # A task that is asked twice in a step must not repeat itself.
        again = (asked[name, task.id],) if asked[name, task.id] else ()
        asked[name, task.id] += 1
        return [
            RolloutRequest(
                task=task,
                stream=name,
                sample=sample,
                seed=seed_for(self._seed, "rollout", self._stage.name, step, task.id, name, sample, *again),
            )
            for sample in range(self._stage.settings.group_size)
        ]

    def _with_shaping(self, group: Group) -> Group:
        """With the terms of the stage's evidence and of the algorithm in the scores, where they have one."""
        group = self._stage.settings.evidence.credited(group)
        shape = self._algorithm.shape_reward
        if shape is None:
            return group
        return replace(group, trajectories=tuple(with_term(one, "shaping", shape(one)) for one in group.trajectories))


def check_streams(questions: Sequence[Question], streams: Sequence[str]) -> None:
    """UserError for a question that no stream, or an unknown one, asks."""
    for question in questions:
        unknown = [name for name in question.streams if name not in streams]
        if unknown or not question.streams:
            raise UserError(
                f"the question about task {question.task.id} is to be asked in streams {question.streams}, but the "
                f"stage has {', '.join(streams)}"
            )


_WAITING = replace(FORMS[Trajectory], sparse=("cut_turns", "routed_experts"), apart=("clock",))
_EXPERTS = Form(read_text=RoutedExperts.read, pattern=("^[A-Za-z0-9+/]*={0,2}$", "bytes in base64"))
BATCHES = Codec(
    {**FORMS, Trajectory: _WAITING, RoutedExperts: _EXPERTS, Batch: Form(last=("rounds", "groups", "evicted"))}
)
"""Reads and writes batches in the state of a run, with all that training on them needs."""
