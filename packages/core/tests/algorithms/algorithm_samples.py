"""Groups and action tokens made by hand for the tests of algorithms."""

from collections.abc import Sequence

import torch
from torch import Tensor

from saccade.algorithms.algorithm import PolicyTokens
from saccade.types import Answer, Group, Score, Segment, Task, Term, Trajectory, TrajectoryStatus, Turn

TASK = Task(id="t", family="f", question="?", answer="a", answer_kind="exact", images=())


def trajectory(
    reward: float | None, turns: int = 1, status: TrajectoryStatus = "answered", tokens: int = 0
) -> Trajectory:
    """With ``tokens`` action tokens in its first turn, and an observation that must not count."""
    turn = Turn(index=0, text="", thought="", action=Answer(text="a"), is_well_formed=True)
    return Trajectory(
        task_id="t",
        family="f",
        stream="main",
        sample=0,
        seed=0,
        policy_version=0,
        segments=(
            Segment(role="prompt", turn=0, ids=(1, 2, 3)),
            Segment(role="action", turn=0, ids=(4,) * tokens, logprobs=(-1.0,) * tokens),
            Segment(role="observation", turn=0, ids=(5, 5)),
        )
        if tokens
        else (),
        turns=(turn,) * turns,
        status=status,
        score=None if reward is None else Score(terms=(Term("reward", reward),)),
    )


def group(*trajectories: Trajectory) -> Group:
    return Group(task=TASK, stream="main", trajectories=trajectories)


def rewarded(*rewards: float) -> Group:
    return group(*(trajectory(reward) for reward in rewards))


def doubles(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def policy_tokens(
    logprobs: Tensor | Sequence[float],
    *,
    old: Sequence[float] | None = None,
    sampled: Sequence[float] | None = None,
    advantages: Sequence[float] | None = None,
    weights: Sequence[float] | None = None,
    sequence: Sequence[int] | None = None,
    entropy: Tensor | Sequence[float] | None = None,
    **others: Tensor | None,
) -> PolicyTokens:
    """One micro-batch in double precision; on-policy, one sequence, weights of 1 and no advantage unless told."""
    own = torch.as_tensor(logprobs, dtype=torch.float64)
    count = len(own)

    def column(values: Sequence[float] | Tensor | None, default: Tensor) -> Tensor:
        return default if values is None else torch.as_tensor(values, dtype=torch.float64)

    before = column(old, own.detach())
    return PolicyTokens(
        logprobs=own,
        old_logprobs=before,
        sampled_logprobs=column(sampled, before),
        advantages=column(advantages, torch.zeros(count, dtype=torch.float64)),
        weights=column(weights, torch.ones(count, dtype=torch.float64)),
        sequence=torch.zeros(count, dtype=torch.long) if sequence is None else torch.as_tensor(sequence),
        entropy=column(entropy, torch.zeros(count, dtype=torch.float64)),
        **others,
    )
