"""A benchmark's reading as the reward of an evaluation, so that reports count as right what the headline counts."""

from collections.abc import Mapping

from saccade.evaluation.benchmarks.benchmark import Benchmark, BenchmarkRow, ReadingName
from saccade.protocols.markup import after_thought
from saccade.rewards.groups import is_without_verdict
from saccade.rewards.reward import Reward
from saccade.types import Attempt, Score, Task, Term, Trajectory


def benchmark_reward(
    benchmark: Benchmark, rows: Mapping[str, BenchmarkRow], reading: ReadingName | None = None
) -> Reward:
    """Credit and right or wrong by a reading without a judge, the headline unless another is named; rows by task id.

    None, no verdict, where the rule needs a judge. What is read is the ``final_reply``.
    """
    rule = benchmark.reading(reading or benchmark.headline)

    def reward(task: Task, trajectory: Trajectory) -> Score | None:
        extracted = rule.read(rows[task.id], final_reply(trajectory))
        if extracted.credit is None:
            return None
        return Score(terms=(Term("answer", extracted.credit),), is_right=extracted.is_right)

    return reward


def final_reply(trajectory: Trajectory) -> str:
    """The answer by the protocol, or where it found none all that the last turn says after its thought.

    A model that was not trained in the protocol answers in a form of its own, which a harness would read whole.
    """
    if trajectory.answer is not None:
        return trajectory.answer
    text = trajectory.turns[-1].text if trajectory.turns else ""
    return after_thought(text)


def reply_of(attempt: Attempt) -> str | None:
    """The final reply; None where the machine failed, which a rule without a verdict is not."""
    trajectory = attempt.trajectory
    has_failed = trajectory.status == "failed" and not is_without_verdict(trajectory)
    return None if has_failed else final_reply(trajectory)
