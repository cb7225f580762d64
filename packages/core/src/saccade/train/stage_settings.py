"""Settings of training stages: batch sizes, the learning rate and the algorithm, checked before any work.

In code, an ``Algorithm`` value may be passed instead of ``AlgorithmSettings``.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Literal

from saccade.algorithms.algorithm import Algorithm
from saccade.algorithms.options import PairLoss
from saccade.codec.bounds import Bounds, Count, NotNegative, Positive, check_bounds
from saccade.errors import UserError
from saccade.learner.optimizer import Decay, OptimizerSettings, learning_rate
from saccade.train.algorithm_settings import AlgorithmSettings
from saccade.types import Group


@dataclass(frozen=True, kw_only=True)
class SFTSettings:
    """Settings of an SFT stage: how long and how fast it learns."""

    steps: Positive
    batch_size: Positive = 16
    """Demonstrations per step."""
    optimizer: OptimizerSettings = OptimizerSettings(learning_rate=1e-5)
    warmup_steps: Count = 0
    decay: Decay = "cosine"
    final_rate: NotNegative = 0.0
    """Where the decay ends, as a share of the peak."""
    checkpoint_every: Positive = 100
    """Steps between checkpoints; the last step always has one."""
    checkpoints_kept: Positive = 2
    """Number of newest checkpoints to keep while the stage runs; 1 leaves nothing to go back to if the newest is
    damaged. A finished stage keeps its last policy, without the optimiser's state."""

    def unused(self) -> Mapping[str, str]:
        return _no_end_of_decay(self)

    def check(self) -> None:
        check_bounds(self)


@dataclass(frozen=True, kw_only=True)
class ImitationSettings(SFTSettings):
    """Settings of an SFT stage that may be left out."""

    steps: Annotated[int, Bounds(least=0, words="0 (no imitation) or more")] = 0
    """0 skips SFT and goes straight to RL."""

    def unused(self) -> Mapping[str, str]:
        if self.steps:
            return super().unused()
        return dict.fromkeys((one.name for one in fields(self) if one.name != "steps"), "steps=0 imitates nothing")


@dataclass(frozen=True, kw_only=True)
class EpochsSettings(SFTSettings):
    """Settings of an SFT stage that lasts for some epochs, where it is not told how many steps."""

    steps: Annotated[int, Bounds(least=0, words="0 (as many as epochs need) or more")] = 0
    """0 takes as many steps as ``epochs`` need."""


@dataclass(frozen=True, kw_only=True)
class PreferenceSettings(EpochsSettings):
    """Settings of a stage that learns from pairs."""

    batch_size: Positive = 16
    """Pairs per step."""
    optimizer: OptimizerSettings = OptimizerSettings(learning_rate=1e-6)
    warmup_steps: Count = 5
    loss: PairLoss = PairLoss()
    evaluate_every: Count = 20
    """Steps between measurements on held-out pairs, which the last step has in any case; 0 for that alone."""


@dataclass(frozen=True, kw_only=True)
class EvidenceCredit:
    """Pays calls for what they returned (``saccade.rewards.call_values``)."""

    weight: NotNegative = 0.0
    """0 pays nothing. An outcome of 1 with 0.5 here is a start."""
    form: Literal["found", "difference", "judged"] = "found"
    """``found`` for questions that name their regions or pages, ``difference`` for any with a right answer in words,
    which needs ``rollout.probes_calls``, ``judged`` for any, which needs a judge that sees (``evidence_judge``)."""
    to: Literal["trajectory", "turns"] = "trajectory"
    """``trajectory`` adds the sum as a term ``evidence`` to the score; ``turns`` gives each turn its own value,
    standardised over the batch, on top of the algorithm's advantages."""

    def unused(self) -> Mapping[str, str]:
        """What nothing reads beside the other settings; ``judged`` without a weight notes its verdicts."""
        names = () if self.weight else ("to",) if self.form == "judged" else ("to", "form")
        return dict.fromkeys(names, "evidence.weight=0 pays no call")

    def check(self) -> None:
        check_bounds(self)

    def credited(self, group: Group) -> Group:
        """The group with the term in its scores, where calls are paid."""
        if not self.weight:
            return group
        # Most runs pay for none.
        from saccade.train.evidence_credit import credited

        return credited(group, self)

    def added_to(self, algorithm: Algorithm) -> Algorithm:
        """The algorithm, with each turn's own value in its advantages where the values go to turns."""
        if not self.weight or self.to == "trajectory":
            return algorithm
        from saccade.train.evidence_credit import with_call_credit

        return with_call_credit(algorithm, self)


@dataclass(frozen=True, kw_only=True)
class RLSettings:
    """Settings of an RL stage: how long and how fast it learns."""

    steps: Count
    """0 skips the stage: only its evaluations are run."""
    tasks_per_step: Positive = 16
    """Questions whose groups make up a batch."""
    group_size: Annotated[int, Bounds(least=1, words="1 or more (8 is usual)")] = 8
    """Trajectories per question and stream."""
    temperature: float = 1.0
    optimizer: OptimizerSettings = OptimizerSettings(learning_rate=1e-6)
    warmup_steps: Count = 0
    decay: Decay = "constant"
    final_rate: NotNegative = 0.0
    """Where the decay ends, as a share of the peak."""
    algorithm: AlgorithmSettings = AlgorithmSettings()
    evidence: EvidenceCredit = EvidenceCredit()
    """What calls are paid for what they returned, beside the reward."""
    inner_epochs: Positive = 1
    """Passes over a batch of trajectories."""
    minibatches: Positive = 1
    """Optimiser steps per pass; each takes whole groups."""
    staleness: Count = 0
    """Steps that trajectories are sampled ahead: when a batch is trained on, the policy is this many steps further."""
    overlap: bool = False
    """Samples the next batch while one is trained on, with an engine in a process of its own; needs staleness of 1 or
    more and gives the same bytes as without."""
    in_flight: Count = 0
    """Decode steps of a batch after which it continues with the weights of the training step that ran beside it; 0
    finishes the batch with the weights that it began with. Needs ``overlap``."""
    router_replay: Literal["disabled", "R3"] = "disabled"
    """For a mixture of experts: R3 trains each token through the experts that it was sampled through
    (``saccade.models.routing``); disabled lets the learner's router choose anew, which rounding changes."""
    checkpoint_every: Positive = 10
    checkpoints_kept: Positive = 2
    """Number of newest checkpoints to keep while the stage runs."""
    evaluate_every: Count = 0
    """Steps between evaluations for the curves; 0 for none."""

    def unused(self) -> Mapping[str, str]:
        return _no_end_of_decay(self)

    def check(self) -> None:
        check_bounds(self)
        if self.minibatches > self.tasks_per_step:
            raise UserError(
                f"minibatches={self.minibatches} is more than the {self.tasks_per_step} questions of a step "
                "(tasks_per_step), and each minibatch needs a whole group"
            )
        if self.algorithm.name == "dpo" and self.inner_epochs * self.minibatches > 1:
            raise UserError(
                f"inner_epochs={self.inner_epochs} and minibatches={self.minibatches} take several steps on a "
                "batch, and algorithm.name=dpo works out the margins of its pairs once for each; use 1 of both"
            )
        if not 0 < self.temperature < math.inf:
            why = "gives equal trajectories" if self.temperature == 0 else "cannot be sampled at"
            raise UserError(f"temperature={self.temperature} {why}; use a finite value above 0 (1 is usual)")
        if self.overlap and not self.staleness:
            raise UserError(
                "overlap=true has nothing to sample while a batch is learned: with staleness=0 the next one waits for "
                "the new weights. Set staleness=1 (the usual lag), or overlap=false"
            )
        if self.in_flight and not self.overlap:
            raise UserError(
                f"in_flight={self.in_flight} changes the weights of a batch that is played while another is learned, "
                "and overlap=false plays none. Set overlap=true and staleness=1, or in_flight=0"
            )


View = Literal["auto", "same", "region", "large", "answer", "page"]


@dataclass(frozen=True, kw_only=True)
class TeacherSettings:
    """The teacher of a stage that distils: whose weights, and what it is shown beside the question."""

    model: str = "policy"
    """``policy`` has the policy's own weights of this moment, ``start`` those that the stage began with; else the
    directory of a checkpoint with the same tokenizer, or the address of a vLLM server (``http://...``) of one."""
    view: View = "auto"
    """What the teacher alone is shown after the question. region: the boxes of what is asked about, cut out of the
    picture; large: the picture's quarters, for one larger than the model sees; answer: the right answer; page: the gold
    pages among those shown; same: nothing. auto is region for policy and start, and same for others."""

    @property
    def has_own_weights(self) -> bool:
        return self.model not in ("policy", "start")

    @property
    def url(self) -> str | None:
        """Of a server."""
        return self.model if self.model.startswith(("http://", "https://")) else None

    @property
    def shown(self) -> View:
        """The view that is meant."""
        return ("same" if self.has_own_weights else "region") if self.view == "auto" else self.view

    def check(self) -> None:
        if self.model == "policy" and self.shown == "same":
            raise UserError(
                "view=same shows model=policy what it has seen anyway: there is nothing to learn. Set view to region, "
                "large, answer or page, or model to a checkpoint"
            )


def _no_end_of_decay(settings: SFTSettings | RLSettings) -> dict[str, str]:
    return {"final_rate": "decay=constant has no end"} if settings.decay == "constant" else {}


def rate_at(settings: SFTSettings | RLSettings, step: int) -> float:
    """Learning rate of the stage's update with this index, from 0."""
    return learning_rate(
        step,
        peak=settings.optimizer.learning_rate,
        steps=settings.steps,
        warmup_steps=settings.warmup_steps,
        decay=settings.decay,
        floor=settings.final_rate,
    )
