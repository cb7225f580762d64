"""The training loop of reinforcement learning, one step at a time; that of imitation is in ``supervised.py``."""

import logging
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from saccade import metric_names as metric
from saccade.algorithms.advantages import is_constant
from saccade.codec.fields import Fields
from saccade.engines.engine import Engine
from saccade.heartbeat import phase
from saccade.learner.policy_learner import PolicyLearner
from saccade.learner.sequences import TrainingSequence, training_sequences, weighted
from saccade.models.loading import LoadSettings
from saccade.models.vlm import VisionLanguageModel
from saccade.seeding import generator_for, seed_for
from saccade.train.ahead import BatchesAhead
from saccade.train.collect import BATCHES, Batch, Collector
from saccade.train.credit import BatchTeacher, LogProbabilities, compute_advantages, with_entropies
from saccade.train.drift import is_stale, mismatch, told_apart
from saccade.train.masked_view import MaskedView
from saccade.train.parity import ServedParity, check_gap, check_parity, is_sampled
from saccade.train.plan import RLStage
from saccade.train.rollout_metrics import attempts_of, batch_metrics
from saccade.train.rollouts import InProcess, PolicyRollouts
from saccade.train.stage_settings import rate_at
from saccade.types import Attempt, Json, Task


@dataclass(frozen=True, kw_only=True, slots=True)
class StepOutcome:
    """Metrics and trajectories of a step; ``step`` counts finished steps of the stage, so the first is 1."""

    step: int
    metrics: Mapping[str, float]
    tokens: int
    """Tokens that the learner saw, padding left out."""
    tasks: tuple[Task, ...] = ()
    """Tasks that it was trained on."""
    attempts: tuple[Attempt, ...] = ()
    ahead: tuple[Attempt, ...] = ()
    """Attempts that were rolled out and wait to be trained on; their pictures are still needed."""


MISMATCH_EVERY = 16
"""Steps between measurements of the mismatch where batches are stale; where they are not, every step tells it."""
MISMATCH_SEQUENCES = 8
"""Trajectories that it is measured on."""


logger = logging.getLogger(__name__)


class RLLoop(Iterator[StepOutcome]):
    """A reinforcement stage in progress; each ``next`` is one step, and ``state_dict`` what a resumed run needs."""

    def __init__(
        self,
        stage: RLStage,
        model: VisionLanguageModel,
        engine: Engine,
        learner: PolicyLearner,
        *,
        seed: int,
        first_step: int,
        load_reference: Callable[[], VisionLanguageModel],
        rollouts: PolicyRollouts | None = None,
        load: LoadSettings = LoadSettings(device="cpu"),
    ) -> None:
        """``load_reference`` gives the stage's first policy and is called only when the algorithm or teacher wants it.

        ``load`` says how the checkpoint of a teacher is loaded.

        ``rollouts`` play the trajectories; None is the engine itself, in this process.
        """
        self._stage = stage
        self._algorithm = stage.applied_algorithm
        self._model = model
        self._engine = engine
        self._learner = learner
        self._seed = seed
        self._step = first_step
        self._without_effect: Counter[str] = Counter()
        """Steps that changed no weight, by the reason."""
        self._questions = stage.questions()
        self._rollouts = rollouts or InProcess(engine, model)
        self._collector = Collector(stage, self._rollouts, self._questions, seed=seed)
        self._ahead = BatchesAhead(
            self._collector.collect, staleness=stage.settings.staleness, steps=stage.settings.steps
        )
        self._reference: LogProbabilities | None = None
        if stage.compares_with_first:
            learner.take_reference(load_reference)
        if self._algorithm.needs_reference:
            self._reference = partial(learner.reference_logprobs, temperature=stage.settings.temperature)
        self._teacher: BatchTeacher | None = None
        if stage.teacher is not None:
            # Few stages have one.
            from saccade.train.teachers import stage_teacher

            self._teacher = stage_teacher(stage, model, learner, load)
        self._is_probed = False
        self._served = ServedParity(engine, model)

    def __next__(self) -> StepOutcome:
        settings, algorithm = self._stage.settings, self._algorithm
        if self._step >= settings.steps:
            raise StopIteration
        batch, drift = self._next_batch()
        is_old = is_stale(batch.groups, self._engine.policy_version)
        credited = compute_advantages(
            batch.groups,
            algorithm,
            self._learner,
            self._reference,
            temperature=settings.temperature,
            recomputes_old=algorithm.compares_with_sampler(is_stale=is_old),
            is_learned_once=settings.inner_epochs == settings.minibatches == 1,
            masked=self._masked_view(),
            teacher=self._teacher,
        )
        streams = [stream.name for stream in self._stage.streams]
        metrics = dict(batch_metrics(batch, streams=streams, policy_version=self._engine.policy_version))
        learned = self._learn([one for one in credited.sequences if one], is_stale=is_old)
        attempts = with_entropies(credited, self._learner.take_entropies())
        metrics |= {**told_apart(learned, is_stale=is_old), **drift, **credited.metrics}
        if self._teacher is not None and metric.TEACHER_GAP in credited.metrics:
            self._teacher.watch(credited.metrics[metric.TEACHER_GAP])
        if algorithm.keep_sequence is not None:
            metrics[metric.REJECTED_SEQUENCES] = float(credited.rejected)
        if settings.in_flight:
            # The batch that is played beside goes on with them.
            self._hand_over()
        if settings.overlap:
            metrics[metric.WAIT_S] = self._ahead.settle()
        metrics |= self._collector.seconds()
        played_s = metrics[metric.ROLLOUT_S] + metrics[metric.REWARD_S]
        metrics |= self._rollouts.idle(metrics.get(metric.WAIT_S, played_s))
        if not metrics[metric.UPDATES]:
            self._warn_of_nothing_learned(batch, credited.rejected)
        if not settings.in_flight:
            self._hand_over()
        self._served.after_update()
        self._step += 1
        played = (*attempts, *attempts_of(batch.evicted))
        return StepOutcome(
            step=self._step,
            metrics=metrics,
            tokens=sum(len(sequence.ids) for sequences in credited.sequences for sequence in sequences),
            tasks=tuple({attempt.task.id: attempt.task for attempt in played}.values()),
            attempts=played,
            ahead=tuple(self.ahead()),
        )

    def _masked_view(self) -> MaskedView | None:
        """The learner with masked pictures, where the algorithm compares with it; each step masks others."""
        if self._algorithm.perception is None:
            return None
        return MaskedView(
            learner=self._learner,
            media=self._model.media,
            perception=self._algorithm.perception,
            temperature=self._stage.settings.temperature,
            seed=seed_for(self._seed, self._stage.name, "masked pictures", self._step),
        )

    def _hand_over(self) -> None:
        """Gives the weights of this step to those who play."""
        with phase(lambda: "handing the weights over"):
            self._learner.publish()
            # Also after a step that left nothing to learn from: a resumed run counts the same policy versions.
            self._rollouts.update_weights(self._model, self._engine.policy_version + 1)

    def ahead(self) -> list[Attempt]:
        """Attempts that were rolled out and wait to be trained on."""
        return attempts_of([group for later in self._ahead.waiting for group in later.played])

    def _next_batch(self) -> tuple[Batch, Mapping[str, float]]:
        """The batch of this step, and how engine and learner differ at the same weights where that is measured now.

        Every so many steps nothing overlaps: the trajectories that are compared must be there before the learner
        moves on. The steps are those of a run without overlap too, so that both record the same.
        """
        settings = self._stage.settings
        is_measured = settings.staleness > 0 and self._step % MISMATCH_EVERY == 0
        # Where weights change in flight, playing in turn gives other bytes: then the number alone may decide.
        if settings.overlap and (self._is_probed or settings.in_flight) and not is_measured:
            if settings.in_flight and self._ahead.is_missing(self._step):
                self._rollouts.expect_weights(settings.in_flight)
            return self._ahead.take_beside(self._step), {}
        batch, fresh = self._ahead.take(self._step)
        for one in fresh:
            self._probe(one)
        return batch, self._mismatch(fresh[-1]) if is_measured and fresh else {}

    def _mismatch(self, fresh: Batch) -> Mapping[str, float]:
        """Engine against learner on the first trajectory of each group; MachineError where they are apart."""
        firsts = (next(filter(is_sampled, group.trajectories), None) for group in fresh.played)
        sequences = [training_sequences(one)[0] for one in firsts if one is not None][:MISMATCH_SEQUENCES]
        if not sequences:
            return {}
        learned = self._learner.logprobs(sequences, temperature=self._stage.settings.temperature)
        drift = mismatch(learned, [one.sampled_logprobs for one in sequences])
        check_gap(drift[metric.MISMATCH_ABS], self._model.dtype, to_the_bit=self._model.batch_invariant)
        return drift

    def _probe(self, fresh: Batch) -> None:
        """Compares engine and learner once, while the policy that sampled is still the one that is trained."""
        trajectories = (one for group in fresh.played for one in group.trajectories)
        sampled = next(filter(is_sampled, trajectories), None)
        if sampled is not None and not self._is_probed:
            check_parity(
                self._learner,
                training_sequences(sampled)[0],
                temperature=self._stage.settings.temperature,
                precision=self._model.dtype,
                to_the_bit=self._model.batch_invariant,
            )
            self._is_probed = True
            self._served.begin(fresh.played)

    def _learn(self, groups: Sequence[Sequence[TrainingSequence]], *, is_stale: bool) -> Mapping[str, float]:
        """All optimiser steps on a batch; means over them of what each reports."""
        settings = self._stage.settings
        reports: list[Mapping[str, float]] = []
        for epoch in range(settings.inner_epochs):
            for minibatch in self._minibatches(groups, epoch):
                if sequences := self._taught(minibatch):
                    reports.append(
                        self._learner.update(
                            sequences,
                            self._algorithm.loss_of(is_stale=is_stale),
                            temperature=settings.temperature,
                            learning_rate=rate_at(settings, self._step),
                            entropy_gradient=self._algorithm.needs_entropy_gradient,
                            is_stale=is_stale,
                        )
                    )
        return {metric.UPDATES: float(len(reports)), **mean_of_updates(reports)}

    def _warn_of_nothing_learned(self, batch: Batch, rejected: int) -> None:
        if all(one.status == "failed" for group in batch.played for one in group.trajectories):
            return
        if all(map(is_constant, batch.played)):
            kind, reason = (
                "alike",
                f"no reward differed inside any of its {len(batch.played)} groups; if that goes on, ask questions of "
                "another difficulty, or raise group_size or tasks_per_step",
            )
        elif rejected:
            kind, reason = (
                "rejected",
                f"{rejected} sequences were rejected because their sampler is too far from the learner; raise "
                "sequence_rejection, or lower staleness or the learning rate",
            )
        else:
            kind, reason = (
                "masked",
                "all that could teach was truncated and masked; allow more tokens or turns, or unset masks_truncated",
            )
        self._without_effect[kind] += 1
        count = self._without_effect[kind]
        # At the first, second, fourth, eighth, … such step: a policy that has learned its questions has many.
        if count & (count - 1) == 0:
            reason += f" ({count} such steps so far)" if count > 1 else ""
            logger.warning("step %d of stage %s changed no weight: %s", self._step + 1, self._stage.name, reason)

    def _minibatches(
        self, groups: Sequence[Sequence[TrainingSequence]], epoch: int
    ) -> list[list[Sequence[TrainingSequence]]]:
        """Whole groups, dealt out in an order that each epoch draws anew; all of them at once where there is one."""
        count = min(self._stage.settings.minibatches, len(groups))
        if count <= 1:
            return [list(groups)]
        order = generator_for(self._seed, "minibatches", self._stage.name, self._step, epoch).permutation(len(groups))
        return [[groups[int(place)] for place in order[first::count]] for first in range(count)]

    def _taught(self, minibatch: Sequence[Sequence[TrainingSequence]]) -> list[TrainingSequence]:
        """The sequences that have a gradient, with weights that count the others too."""
        sequences = weighted([one for group in minibatch for one in group], self._algorithm.aggregation)
        if self._algorithm.learns_without_advantage:
            return sequences
        return [one for one in sequences if any(one.advantages)]

    def state_dict(self) -> Mapping[str, Json]:
        """Where the questions are, what the reward remembers, and the batches that were rolled out ahead."""
        return {
            "questions": self._questions.state_dict(),
            "memory": dict(self._collector.memory),
            "ahead": [BATCHES.to_json(batch) for batch in self._ahead.waiting],
        }

    def load_state_dict(self, state: Mapping[str, Json]) -> None:
        fields = Fields(state, "the saved state")
        self._questions.load_state_dict(fields.mapping("questions"))
        self._collector.memory = dict(fields.mapping("memory"))
        self._ahead.waiting.extend(BATCHES.reader(Batch).from_json(one, "a batch") for one in fields.items("ahead"))


def mean_of_updates(reports: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
    """Over the optimiser steps of a batch, each as often as it has action tokens; ``skipped`` and tokens add up.

    A skipped step has no finite means: it is counted and enters nothing else.
    """
    added = (metric.SKIPPED, metric.ACTION_TOKENS, metric.FORWARDED_TOKENS, metric.MICRO_BATCHES)
    told = [report for report in reports if not report[metric.SKIPPED]]
    tokens = math.fsum(report[metric.ACTION_TOKENS] for report in told)
    sums = {name: math.fsum(report[name] for report in reports) for name in added if reports}
    means = {
        name: math.fsum(report[name] * report[metric.ACTION_TOKENS] for report in told) / tokens
        for name in (told[0] if told else ())
        if name not in added
    }
    return means | sums
