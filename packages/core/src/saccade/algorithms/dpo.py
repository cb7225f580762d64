"""DPO on the policy's own groups (online DPO), as an algorithm of reinforcement learning."""

from saccade.algorithms.advantages import group_relative
from saccade.algorithms.algorithm import Aggregation, Algorithm, Loss, PolicyTokens, Preference
from saccade.algorithms.losses import drift_sums
from saccade.algorithms.options import PairLoss, PairRule


def dpo(loss: PairLoss = PairLoss(), rule: PairRule = PairRule()) -> Algorithm:
    """Online DPO (arXiv 2402.04792) with pairs by reward. A batch takes one step: see ``algorithms/preference.py``."""
    loss.check()
    rule.check()
    return Algorithm(
        name="dpo",
        advantages=group_relative,
        preference=Preference(loss=loss, rule=rule),
        loss=own_likelihood,
        aggregation=Aggregation(over="sum"),
        needs_reference=not loss.reference_free,
        needs_old_logprobs=True,
        # Pairs may come from any policy.
        corrects_always=True,
    )


def weighted_likelihood(tokens: PolicyTokens) -> Loss:
    """-sum A log p: with A from ``compared_pairs`` its gradient is that of the mean loss of the pairs."""
    return Loss(value=-(tokens.weights * tokens.advantages * tokens.logprobs).sum(), sums={})


def own_likelihood(tokens: PolicyTokens) -> Loss:
    """``weighted_likelihood`` of tokens that the engine has sampled, with sums that watch it and the learner."""
    return Loss(value=weighted_likelihood(tokens).value, sums=drift_sums(tokens))
