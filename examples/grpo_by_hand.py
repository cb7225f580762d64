"""GRPO by hand: the training loop in public pieces of Saccade; a small model learns to look before it answers.

python examples/grpo_by_hand.py [SEED] [STEPS] [HELD_OUT]      # a minute on one core
"""

import sys
from collections.abc import Mapping, Sequence

from saccade.algorithms import grpo
from saccade.engines import LocalEngine
from saccade.evaluation import paired_difference
from saccade.learner import Learner, OptimizerSettings, training_sequences, weighted
from saccade.media import MediaStore
from saccade.models import base_checkpoint, load_model
from saccade.protocols import tagged_protocol
from saccade.rewards import OutcomeReward, counts_as_right, score_questions
from saccade.rollout import EpisodeSpec, RolloutRequest, RolloutSettings, rollout_streams
from saccade.seeding import seed_for
from saccade.tasks import generate
from saccade.tools import IMAGE_TOOLS
from saccade.types import Group, Task

EPISODES = EpisodeSpec(
    protocol=tagged_protocol(style="brief"),
    tools=IMAGE_TOOLS,
    max_turns=5,
    rollout=RolloutSettings(max_turn_tokens=64, max_tokens=1024),
)
OPTIMIZER = OptimizerSettings(learning_rate=1e-4, micro_batch_tokens=16_384)
REWARD, ALGORITHM = OutcomeReward(), grpo()


class Loop:
    """A policy that is asked ``questions`` times ``group_size`` in each step."""

    def __init__(self, *, seed: int, questions: int = 16, group_size: int = 8) -> None:
        self.seed, self.questions, self.group_size = seed, questions, group_size
        self.media = MediaStore()
        self.model = load_model(base_checkpoint(), self.media)
        self.engine, self.learner = LocalEngine(self.model), Learner(self.model, OPTIMIZER)

    def task(self, split: str, index: int) -> Task:
        """A question about a drawn picture; no picture is in two splits."""
        return generate("spatial_relation", split=split, index=index, seed=self.seed, media=self.media).task

    def groups(self, tasks: Sequence[Task], size: int, *labels: str | int, temperature: float = 1.0) -> list[Group]:
        """So many scored trajectories for each question; the labels name the use of chance."""
        requests = [
            RolloutRequest(
                task=task, stream="main", sample=i, seed=seed_for(self.seed, "rollout", *labels, task.id, "main", i)
            )
            for task in tasks
            for i in range(size)
        ]
        how = EPISODES.played_as(self.media, self.model.view, temperature=temperature)
        played = iter(rollout_streams(requests, engine=self.engine, chat=self.model.chat, streams={"main": how}))
        groups = [
            Group(task=task, stream="main", trajectories=tuple(next(played) for _ in range(size))) for task in tasks
        ]
        scored, _ = score_questions([[group] for group in groups], REWARD)
        return [group for (group,) in scored]

    def step(self, number: int) -> tuple[list[Group], Mapping[str, float]]:
        """What was played in a training step, and what the learner reports."""
        tasks = [self.task("train", number * self.questions + i) for i in range(self.questions)]
        groups = self.groups(tasks, self.group_size, "rl", number)
        sequences = [
            sequence
            for group, advantages in zip(groups, ALGORITHM.advantages(groups))
            for trajectory, of_turns in zip(group.trajectories, advantages)
            if trajectory.status != "failed"  # by the machine: that says nothing about the policy
            for sequence in training_sequences(trajectory, of_turns)
        ]
        # All sequences count in the mean over tokens; those without an advantage have no gradient.
        taught = [sequence for sequence in weighted(sequences, ALGORITHM.aggregation) if any(sequence.advantages)]
        metrics = self.learner.update(taught, ALGORITHM.loss) if taught else {}
        self.engine.update_weights(self.model, number + 1)
        return groups, metrics

    def right(self, count: int) -> list[float]:
        """Of each held-out question, 1.0 where the greedy answer is right."""
        groups = self.groups([self.task("held_out", i) for i in range(count)], 1, "held out", temperature=0.0)
        return [float(counts_as_right(group.task, trajectory)) for group in groups for trajectory in group.trajectories]


def main(seed: int = 0, steps: int = 50, held_out: int = 300) -> None:
    loop = Loop(seed=seed)
    before = loop.right(held_out)
    for number in range(steps):
        groups, metrics = loop.step(number)
        rewards = [one.score.total for group in groups for one in group.trajectories if one.score is not None]
        norm = metrics.get("gradient_norm", 0.0)
        print(f"step {number + 1:2}: reward {sum(rewards) / len(rewards):.2f}, gradient norm {norm:.2f}", flush=True)
    after = loop.right(held_out)
    gain = paired_difference(before, after, seed=0)
    low, high = (100 * end for end in gain.ci95)
    print(f"held-out questions right: {sum(before):.0f} of {gain.n} before, {sum(after):.0f} after", end="; ")
    print(f"{100 * gain.mean:+.1f} points (95 % interval {low:+.1f} to {high:+.1f})")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
