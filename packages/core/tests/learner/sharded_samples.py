"""What the ranks of the sharded tests work out, in processes of their own."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from packing_samples import groups, model_of, played
from torch import Tensor

from saccade.algorithms.algorithm import Aggregation, Loss, PolicyTokens
from saccade.algorithms.losses import negative_log_likelihood
from saccade.errors import UserError
from saccade.learner.forwards import ValueHead
from saccade.learner.learner import Learner
from saccade.learner.optimizer import OptimizerSettings
from saccade.learner.processes import Company
from saccade.learner.sequences import TrainingSequence, weighted
from saccade.learner.sharding import Wrap, whole
from saccade.miniature.tiny_model import TinyFamily
from saccade.models.vlm import VisionLanguageModel
from saccade.testing.ranks import in_ranks


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is trained, and how it is sharded."""

    family: TinyFamily = "qwen3_vl"
    settings: OptimizerSettings = OptimizerSettings(micro_batch_tokens=200)
    wrap: Wrap = "layers"
    has_critic: bool = False
    is_half: bool = False


@dataclass(frozen=True, kw_only=True)
class Learned:
    """What a rank has after two steps, put together from all of them."""

    gradient: dict[str, Tensor]
    """Of the first step."""
    totals: dict[str, float]
    metrics: dict[str, float]
    """Of the second step."""
    weights: dict[str, Tensor]
    logprobs: list[tuple[float, ...]]
    """After both steps, as the next two."""
    reference: list[tuple[float, ...]]
    values: list[tuple[float, ...]]
    again: list[tuple[float, ...]]
    """``logprobs``, asked for once more after the reference."""


def mixed(model: VisionLanguageModel) -> list[TrainingSequence]:
    """Groups with pictures, and longer ones without: in some rounds a rank has no picture at all."""
    silent = [played(model, f"Which {'plate ' * 40}?", [], [f"<answer>red{index}"], []) for index in range(2)]
    return weighted([*groups(model)[:4], *silent], Aggregation())


def loss(tokens: PolicyTokens) -> Loss:
    """With a critic its error too, so that both have a gradient."""
    said = negative_log_likelihood(tokens)
    if tokens.values is None:
        return said
    error = (tokens.weights * (tokens.values - tokens.sampled_logprobs).square()).sum()
    return replace(said, value=said.value + error)


def learner_of(case: Case, model: VisionLanguageModel, company: Company | None) -> Learner:
    """One rank of the company's, or a learner of its own."""
    head = ValueHead(model.hidden_size) if case.has_critic else None
    if company is None:
        return Learner(model, case.settings, value_head=head, values_train_trunk=True)
    return Learner(
        model,
        case.settings,
        value_head=head,
        values_train_trunk=True,
        ranks=company,
        sharding=replace(company.sharding, wrap=case.wrap),
    )


def model_for(case: Case) -> VisionLanguageModel:
    model = model_of(case.family)
    if case.is_half:
        # Weights alone: positions are worked out in fp32, as in a model that was loaded in half precision.
        for weight in model.hf.parameters():
            weight.data = weight.data.bfloat16()
    return model


def _first(case: Case, model: VisionLanguageModel) -> VisionLanguageModel:
    """The model as it began, with the pictures of the one that is trained."""
    first = model_for(case)
    first.patches = model.patches
    return first


def learned(case: Case, company: Company | None) -> Learned:
    model = model_for(case)
    sequences = mixed(model)
    learner = learner_of(case, model, company)
    totals, _ = learner.accumulate(sequences, loss, temperature=0.8)
    gradient = {
        name: whole(master.grad).clone()
        for name, master in zip(learner.names, learner.optimizer.masters)
        if master.grad is not None
    }
    for _ in range(2):
        metrics = learner.update(sequences, loss, temperature=0.8, learning_rate=3e-3)
    learner.take_reference(partial(_first, case, model))
    logprobs = learner.logprobs(sequences, temperature=1.0)
    reference = learner.reference_logprobs(sequences, temperature=1.0)
    return Learned(
        gradient=gradient,
        totals=totals,
        metrics=dict(metrics),
        weights={
            name: whole(weight.detach()).clone() for name, weight in zip(learner.names, learner.optimizer.masters)
        },
        logprobs=logprobs,
        reference=reference,
        values=learner.values(sequences, temperature=1.0) if case.has_critic else [],
        again=learner.logprobs(sequences, temperature=1.0),
    )


def _all(cases: Sequence[Case], is_alone: bool, company: Company) -> list[Learned]:
    return [learned(case, None if is_alone else company) for case in cases]


def alone(cases: Sequence[Case]) -> list[Learned]:
    """Each case in one process, which shards nothing."""
    return _results(in_ranks(1, partial(_all, cases, True)))[0]


def together(cases: Sequence[Case], ranks: int) -> list[list[Learned]]:
    """By rank, each case as so many ranks have learned it."""
    return _results(in_ranks(ranks, partial(_all, cases, False)))


def _results(given: Sequence[list[Learned] | BaseException]) -> list[list[Learned]]:
    for one in given:
        if isinstance(one, BaseException):
            raise one
    return list(given)  # type: ignore[arg-type]


def gap(one: dict[str, Tensor], other: dict[str, Tensor]) -> float:
    """The largest difference, as a share of the largest value."""
    assert one.keys() == other.keys()
    largest = max(float(value.abs().max()) for value in one.values())
    return max(float((one[name] - other[name]).abs().max()) for name in one) / largest


def apart(one: list[tuple[float, ...]], other: list[tuple[float, ...]]) -> float:
    """The largest difference of two lists of numbers per token."""
    return max(abs(a - b) for first, second in zip(one, other, strict=True) for a, b in zip(first, second, strict=True))


def breaks(company: Company) -> None:
    """Rank 1 finds a mistake while rank 0 waits for it in the backward pass."""
    model = model_of("qwen3_vl")

    def refusing(tokens: PolicyTokens) -> Loss:
        if company.rank == 1:
            raise UserError("this loss takes no such tokens; give it others")
        return negative_log_likelihood(tokens)

    learner_of(Case(), model, company).update(mixed(model), refusing, temperature=1.0, learning_rate=1e-3)


def diverges(company: Company) -> tuple[dict[str, float], bool, tuple[int, ...]]:
    """One rank's loss is not finite: metrics, whether no weight moved, and the suspects that are reported."""
    reports = []
    model = model_of("qwen3_vl")
    sequences = mixed(model)
    learner = learner_of(Case(), model, company)
    learner._on_nonfinite = reports.append
    before = [whole(weight.detach()).clone() for weight in learner.parameters]

    def poisoned(tokens: PolicyTokens) -> Loss:
        given = negative_log_likelihood(tokens)
        return replace(given, value=given.value * (torch.inf if company.rank == 1 else 1.0))

    metrics = learner.update(sequences, poisoned, temperature=1.0, learning_rate=1e-1)
    stays = all(torch.equal(whole(weight.detach()), old) for weight, old in zip(learner.parameters, before))
    return dict(metrics), stays, reports[0].suspects
