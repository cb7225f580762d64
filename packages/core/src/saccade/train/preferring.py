"""Training loop of pairs that are there already: how likely both are now, how likely they were, and one step."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from saccade import metric_names as metric
from saccade.algorithms.dpo import weighted_likelihood
from saccade.algorithms.options import PairLoss
from saccade.algorithms.preference import ComparedPairs, compared_pairs
from saccade.heartbeat import phase
from saccade.learner.policy_learner import PolicyLearner
from saccade.learner.sequences import TrainingSequence, training_sequences
from saccade.models.vlm import VisionLanguageModel
from saccade.train.credit import likelihood_of
from saccade.train.loops import StepOutcome
from saccade.train.stage_settings import rate_at
from saccade.train.stages import PreferenceStage
from saccade.types import TrajectoryPair


def prefer(
    stage: PreferenceStage,
    learner: PolicyLearner,
    *,
    first_step: int,
    load_reference: Callable[[], VisionLanguageModel],
) -> Iterator[StepOutcome]:
    """Runs the stage's steps from ``first_step`` on; ``load_reference`` gives its first policy."""
    settings = stage.settings
    if not settings.loss.reference_free:
        learner.take_reference(load_reference)
    for step in range(first_step, settings.steps):
        pairs = stage.batch(step)
        compared, sequences = compared_batch(pairs, learner, settings.loss)
        # What has no gradient (a pair that is beyond SLiC's margin) needs no forward pass.
        learned = [one for one in sequences if any(one.advantages)]
        rate = rate_at(settings, step)
        metrics: Mapping[str, float] = {metric.UPDATES: 0.0}
        if learned:
            metrics = learner.update(learned, weighted_likelihood, temperature=1.0, learning_rate=rate)
        yield StepOutcome(
            step=step + 1,
            metrics={**metrics, **compared.metrics, **_held_out(stage, learner, step + 1)},
            tokens=sum(len(one.ids) for one in sequences),
            tasks=tuple({pair.task.id: pair.task for pair in pairs}.values()),
        )


def _held_out(stage: PreferenceStage, learner: PolicyLearner, step: int) -> Mapping[str, float]:
    """The held-out pairs after these steps; nothing where they are not due."""
    every = stage.settings.evaluate_every
    is_due = step == stage.settings.steps or (every > 0 and step % every == 0)
    if not is_due or not stage.held_out:
        return {}
    compared, _ = compared_batch(stage.held_out, learner, stage.settings.loss)
    return {metric.HELD_OUT_PREFIX + name: value for name, value in compared.metrics.items()}


def compared_batch(
    pairs: Sequence[TrajectoryPair], learner: PolicyLearner, loss: PairLoss
) -> tuple[ComparedPairs, list[TrainingSequence]]:
    """The pairs as the loss sees them under the present weights, and all their contexts with advantages."""
    contexts = [training_sequences(one) for pair in pairs for one in (pair.chosen, pair.rejected)]
    sequences = [one for of_trajectory in contexts for one in of_trajectory]
    with phase(lambda: "comparing pairs"):
        old = learner.logprobs(sequences, temperature=1.0)
        reference = () if loss.reference_free else learner.reference_logprobs(sequences, temperature=1.0)
    known = iter(
        replace(one, old_logprobs=own, reference_logprobs=reference[place] if reference else None)
        for place, (one, own) in enumerate(zip(sequences, old, strict=True))
    )
    rows = [tuple(islice(known, len(one))) for one in contexts]
    places = [(2 * place, 2 * place + 1) for place in range(len(pairs))]
    compared = compared_pairs(places, [likelihood_of(row) for row in rows], loss)
    return compared, [
        replace(one, advantages=(advantage,) * one.action_count)
        for row, advantage in zip(rows, compared.advantages, strict=True)
        for one in row
    ]
