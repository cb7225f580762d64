"""Credit for single turns of long episodes, on numbers worked out by hand."""

import pytest

from saccade.algorithms import StepCredit, grpo, ppo
from saccade.algorithms.critic import Critic, gae
from saccade.algorithms.step_returns import discounted_returns, turn_rewards
from saccade.errors import UserError
from saccade.types import Group, Malformed, Score, Segment, Task, Term, Trajectory, Turn

TASK = Task(id="e", family="f", question="q", answer="", answer_kind="exact", images=())


def trajectory(rewards: list[float], *, extra: float = 0.0, sample: int = 0, tokens: int = 1) -> Trajectory:
    return Trajectory(
        task_id="e",
        family="f",
        stream="main",
        sample=sample,
        seed=0,
        policy_version=0,
        segments=(
            Segment(role="prompt", turn=0, ids=(1,)),
            *(Segment(role="action", turn=turn, ids=(7,) * tokens) for turn in range(len(rewards))),
        ),
        turns=tuple(
            Turn(index=turn, text=str(reward), thought="", action=Malformed(why=""), is_well_formed=True)
            for turn, reward in enumerate(rewards)
        ),
        status="answered",
        score=Score(terms=(Term("return", sum(rewards)), Term("extra", extra))),
    )


def earned(one: Trajectory) -> list[float]:
    return [float(turn.text) for turn in one.turns]


def group(*trajectories: Trajectory) -> Group:
    return Group(task=TASK, stream="main", trajectories=trajectories)


def test_returns_are_what_follows_discounted() -> None:
    assert discounted_returns([0.0, 0.0, 1.0], 0.5) == [0.25, 0.5, 1.0]
    assert discounted_returns([], 0.5) == []


def test_what_the_score_has_beside_the_steps_arrives_at_the_end() -> None:
    assert turn_rewards(trajectory([1.0, 2.0], extra=-0.5), earned) == [1.0, 1.5]


def test_turns_are_compared_over_the_batch() -> None:
    algorithm = StepCredit(discount=0.5).added_to(grpo(), earned)
    # Returns are 0.5, 1 and 0, 0: mean 0.375, squared distances .015625 .390625 .140625 .140625, std sqrt(.171875).
    [[first, second]] = algorithm.advantages([group(trajectory([0.0, 1.0]), trajectory([0.0, 0.0], sample=1))])
    assert first == pytest.approx([0.125 / 0.41458, 0.625 / 0.41458], abs=1e-4)
    assert second == pytest.approx([-0.375 / 0.41458] * 2, abs=1e-4)


def test_the_algorithms_own_advantage_can_be_kept_beside_them() -> None:
    groups = [group(trajectory([0.0, 1.0]), trajectory([0.0, 0.0], sample=1))]
    plain = grpo().advantages(groups)
    both = StepCredit(weight=0.0, group_weight=1.0).added_to(grpo(), earned).advantages(groups)
    assert both == plain


def test_the_critic_is_paid_turn_by_turn_and_steps_from_turn_to_turn() -> None:
    algorithm = StepCredit(discount=0.5, gae_lambda=1.0).added_to(ppo(critic=Critic(whitens=False)), earned)
    assert algorithm.critic is not None
    played = trajectory([1.0, 2.0], tokens=2)
    values = [[(0.0, 0.0, 0.0, 0.0)]]
    advantages, returns = algorithm.critic.targets(
        [group(played)], values, [[(0.0, 0.0, 0.0, 0.0)]], algorithm.turn_rewards
    )
    # Without values an advantage is what follows: 1 + 0.5 * 2 in the first turn, 2 in the second, alike inside of each.
    assert [list(one) for one in advantages[0]] == [[2.0, 2.0, 2.0, 2.0]]
    assert returns == [[(2.0, 2.0, 2.0, 2.0)]]


def test_lambda_counts_at_the_ends_of_turns_alone() -> None:
    # By hand: A3 = 2 - .4 = 1.6; A2 = .4 - .3 + 1.6 = 1.7; A1 = 1 + .5 * .3 - .2 + .5 * .5 * 1.7 = 1.375;
    # A0 = .2 - .1 + 1.375 = 1.475.
    estimate = gae([0.0, 1.0, 0.0, 2.0], [0.1, 0.2, 0.3, 0.4], gae_lambda=0.5, discount=0.5, steps=frozenset({1, 3}))
    assert estimate == pytest.approx([1.475, 1.375, 1.7, 1.6])


def test_settings_that_credit_nothing_are_refused() -> None:
    with pytest.raises(UserError, match="not both 0"):
        StepCredit(weight=0.0).check()
