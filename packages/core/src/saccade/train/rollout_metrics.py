"""Metrics of a batch of trajectories: rewards, tool use, lengths, and where the policy looked."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from saccade import metric_names as metric
from saccade.algorithms.advantages import is_constant
from saccade.algorithms.dapo import is_truncated
from saccade.evaluation.tool_use import tool_use, uses_tool
from saccade.types import Attempt, Group, Score, Trajectory

if TYPE_CHECKING:
    from saccade.train.collect import Batch


def batch_metrics(batch: "Batch", *, streams: Sequence[str], policy_version: int) -> Mapping[str, float]:
    """Metrics of all groups played, also those that a filter left out; per stream too where there are several."""
    metrics = dict(rollout_metrics(attempts_of(batch.played)))
    metrics[metric.SAMPLED_ENTROPY] = sampled_entropy(one for group in batch.played for one in group.trajectories)
    metrics[metric.CONSTANT_GROUPS] = _mean([float(is_constant(group)) for group in batch.played])
    metrics[metric.EVICTED_GROUPS] = float(len(batch.evicted))
    metrics[metric.ROUNDS] = float(batch.rounds)
    versions = [one.policy_version for group in batch.groups for one in group.trajectories]
    metrics[metric.STALENESS] = float(policy_version - min(versions, default=policy_version))
    if any(segment.versions for group in batch.groups for one in group.trajectories for segment in one.segments):
        ages = [
            policy_version - of for group in batch.groups for one in group.trajectories for of in one.token_versions
        ]
        metrics[metric.TOKEN_STALENESS] = _mean(ages)
    for name in streams if len(streams) > 1 else ():
        of_stream = rollout_metrics(attempts_of([group for group in batch.played if group.stream == name]))
        metrics |= {f"{name}/{key}": value for key, value in of_stream.items()}
    return metrics


def attempts_of(groups: Sequence[Group]) -> list[Attempt]:
    return [Attempt(task=group.task, trajectory=trajectory) for group in groups for trajectory in group.trajectories]


def rollout_metrics(played: Sequence[Attempt]) -> Mapping[str, float]:
    """Means over the trajectories that did not fail, and counts of those that did."""
    fine = [one.trajectory for one in played if one.trajectory.score is not None]
    scores = [trajectory.score for trajectory in fine if trajectory.score is not None]
    names = sorted({name for score in scores for name in score.values})
    noted = sorted({name for score in scores for name in score.notes})
    return {
        metric.REWARD_MEAN: _mean([score.total for score in scores]),
        **_right_metric(scores),
        **{
            metric.REWARD_PREFIX + name: _mean([score.values[name] for score in scores if name in score.values])
            for name in names
        },
        **{
            metric.NOTED_PREFIX + name: _mean([score.notes[name] for score in scores if name in score.notes])
            for name in noted
        },
        metric.TOOL_RATE: _mean([float(uses_tool(one)) for one in fine]),
        metric.TURNS: _mean([float(len(one.turns)) for one in fine]),
        metric.TOKENS_WRITTEN: _mean([float(sum(one.action_mask)) for one in fine]),
        metric.TRUNCATED: _mean([float(is_truncated(one)) for one in fine]),
        metric.OUT_OF_TOKENS: _mean([float(one.status == "token_limit") for one in fine]),
        metric.OUT_OF_TURNS: _mean([float(one.status == "turn_limit") for one in fine]),
        **_cut_metric(fine),
        metric.FAILED: float(len(played) - len(fine)),
        **_call_metrics(played),
        **_look_metrics(played),
    }


def _right_metric(scores: Sequence[Score]) -> Mapping[str, float]:
    """The share of right answers, where the reward tells right from wrong; a term of this name stands before it."""
    told = [float(score.is_right) for score in scores if score.is_right is not None]
    return {metric.REWARD_ACCURACY: _mean(told)} if told else {}


def _cut_metric(fine: Sequence[Trajectory]) -> Mapping[str, float]:
    cut = [float(one.cut_turns) for one in fine]
    return {metric.CUT_TURNS: _mean(cut)} if any(cut) else {}


def sampled_entropy(trajectories: Iterable[Trajectory]) -> float:
    """Mean of -log p over all action tokens: an estimate of the policy's entropy, in nats per token.

    Of everything that was sampled, while the learner's ``entropy`` is of the sequences that it forwards, which leaves
    out groups that teach nothing. An unbiased one where neither top_p nor top_k cuts the distribution.
    """
    logprobs = [
        value
        for one in trajectories
        if one.status != "failed"
        for segment in one.segments
        if segment.role == "action"
        for value in segment.logprobs
    ]
    return -_mean(logprobs)


def _call_metrics(played: Sequence[Attempt]) -> Mapping[str, float]:
    """Calls of tools; the numbers that nothing was called for are left out."""
    use = tool_use(played)
    if use.calls_mean is None or use.answered_without_call is None:
        return {}
    fine = sum(one.trajectory.status != "failed" for one in played)
    return {
        metric.CALLS: use.calls_mean,
        metric.ANSWERED_WITHOUT_CALL: use.answered_without_call,
        **({} if use.success_rate is None else {metric.CALLS_RAN: use.success_rate}),
        **{metric.CALLS_FAILED_PREFIX + kind: count / (use.calls_mean * fine) for kind, count in use.failures.items()},
        **{metric.CALLS_OF_PREFIX + name: count / fine for name, count in use.by_tool.items()},
        **{f"{metric.CALLS_AT_ACCURACY_PREFIX}{100 * band.low:.0f}": band.calls_mean for band in use.bands},
    }


def _look_metrics(played: Sequence[Attempt]) -> Mapping[str, float]:
    """How well crops fit what the answer depends on; nothing without a crop."""
    from saccade.rewards.evidence import look_of

    looks = [look for one in played if (look := look_of(one.task, one.trajectory)) is not None]
    if not looks:
        return {}
    return {
        metric.LOOK_IOU: _mean([look.iou for look in looks]),
        metric.LOOK_COVERAGE: _mean([look.coverage for look in looks]),
    }


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0
