"""Every algorithm, from samples to gradient, teaches a small policy what is rewarded."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from algorithm_samples import TASK, trajectory
from torch import Tensor, nn

from saccade.algorithms.algorithm import Algorithm, PolicyTokens
from saccade.algorithms.critic import Critic
from saccade.algorithms.dapo import SoftOverlong, dapo
from saccade.algorithms.losses import kl_token_rewards, with_kl_in_reward
from saccade.algorithms.options import PolicyOptions
from saccade.algorithms.policy_gradient import dr_grpo, grpo, gspo, ppo, rloo
from saccade.learner.forwards import ValueHead
from saccade.types import Group, Score, Segment, Term, Trajectory

LENGTH, VOCABULARY, STOP = 4, 5, 0
WANTED = (3, 1, 4, 2)
STATES = torch.eye(LENGTH)
"""The hidden state before each token: its place."""

ALGORITHMS = [
    grpo(),
    grpo(scale_by_std=False, options=PolicyOptions(kl_weight=0.01, entropy_weight=0.005, dual_clip=3.0)),
    grpo(options=PolicyOptions(kl_in_reward=0.01, importance="sequence", kl_estimator="k2")),
    dr_grpo(length=LENGTH),
    rloo(),
    dapo(overlong=SoftOverlong(max_tokens=LENGTH + 1, cache_tokens=1)),
    gspo(),
    gspo(is_token_variant=True),
    ppo(critic=Critic(learning_rate=0.02)),
    ppo(critic=Critic(learning_rate=0.02), options=PolicyOptions(kl_in_reward=0.01)),
]


def sampled(log_p: Tensor, generator: torch.Generator) -> Trajectory:
    """Tokens until the stop token or the limit; each that is the wanted one earns a quarter."""
    drawn = torch.multinomial(log_p.exp(), 1, generator=generator)[:, 0].tolist()
    ids = drawn[: drawn.index(STOP) + 1] if STOP in drawn else drawn
    right = sum(token == wanted for token, wanted in zip(ids, WANTED)) / LENGTH
    logprobs = tuple(log_p[place, token].item() for place, token in enumerate(ids))
    segments = (
        Segment(role="prompt", turn=0, ids=(9,)),
        Segment(role="action", turn=0, ids=tuple(ids), logprobs=logprobs),
    )
    score = Score(terms=(Term("right", right),))
    return replace(trajectory(0.0), segments=segments, score=score)


def actions(one: Trajectory) -> Segment:
    return one.segments[1]


def credit(algorithm: Algorithm, groups: list[Group], head: ValueHead) -> tuple[list[float], list[float], list[float]]:
    """Per action token of the batch: advantage, value, return."""
    uniform = -torch.tensor(float(VOCABULARY)).log().item()
    earned = [
        [
            kl_token_rewards(actions(one).logprobs, [uniform] * len(actions(one).ids), weight=algorithm.kl_in_reward)
            for one in group.trajectories
        ]
        for group in groups
    ]
    trajectories = [one for group in groups for one in group.trajectories]
    if algorithm.critic is None:
        advantages = algorithm.advantages(with_kl_in_reward(groups, earned) if algorithm.kl_in_reward else groups)
        by_token = [[turns[0]] * len(actions(one).ids) for one, turns in zip(trajectories, flat(advantages))]
        return flat(by_token), [], []
    with torch.no_grad():
        said = head(STATES).tolist()
    values = [[said[: len(actions(one).ids)] for one in group.trajectories] for group in groups]
    advantages, returns = algorithm.critic.targets(groups, values, earned)
    return flat(flat(advantages)), flat(flat(values)), flat(flat(returns))


def flat(nested: Sequence[Sequence]) -> list:  # type: ignore[type-arg]
    return [one for inner in nested for one in inner]


def tokens_of(algorithm: Algorithm, groups: list[Group], log_p: Tensor, head: ValueHead) -> PolicyTokens:
    segments = [actions(one) for group in groups for one in group.trajectories]
    places = torch.tensor([place for segment in segments for place in range(len(segment.ids))])
    counts = [len(segment.ids) for segment in segments]
    before = torch.tensor([value for segment in segments for value in segment.logprobs])
    advantages, values, returns = (torch.tensor(column) for column in credit(algorithm, groups, head))
    weights = torch.tensor(algorithm.aggregation.token_weights(counts))
    return PolicyTokens(
        logprobs=log_p[places, torch.tensor([token for segment in segments for token in segment.ids])],
        sampled_logprobs=before,
        old_logprobs=before,
        advantages=advantages,
        weights=weights.repeat_interleave(torch.tensor(counts)),
        sequence=torch.arange(len(segments)).repeat_interleave(torch.tensor(counts)),
        entropy=-(log_p.exp() * log_p).sum(dim=-1)[places],
        reference_logprobs=torch.full_like(before, -torch.tensor(float(VOCABULARY)).log().item()),
        values=head(STATES)[places] if algorithm.critic else None,
        old_values=values if algorithm.critic else None,
        returns=returns if algorithm.critic else None,
    )


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda one: one.name)
def test_the_policy_learns_what_is_rewarded(algorithm: Algorithm) -> None:
    generator = torch.Generator().manual_seed(0)
    logits = nn.Parameter(torch.zeros(LENGTH, VOCABULARY))
    head = ValueHead(LENGTH)
    rate = algorithm.critic.learning_rate if algorithm.critic else 0.0
    optimizer = torch.optim.Adam([{"params": [logits], "lr": 0.1}, {"params": list(head.parameters()), "lr": rate}])
    rewards: list[float] = []
    for _ in range(80):
        log_p = torch.log_softmax(logits, dim=-1)
        groups = [
            Group(task=TASK, stream="main", trajectories=tuple(sampled(log_p.detach(), generator) for _ in range(8)))
            for _ in range(4)
        ]
        rewards += [one.score.total for group in groups for one in group.trajectories if one.score]
        kept = [group for group in groups if algorithm.keep_group is None or algorithm.keep_group(group)]
        if not kept:
            continue
        optimizer.zero_grad()
        algorithm.loss(tokens_of(algorithm, kept, log_p, head)).value.backward()
        optimizer.step()
    # A policy that knows nothing gets a little more than an eighth; 0.25 is one token right.
    assert sum(rewards[:64]) / 64 < 0.25
    assert sum(rewards[-64:]) / 64 > 0.85
