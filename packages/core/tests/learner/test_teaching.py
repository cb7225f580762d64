"""A learner that compares whole distributions with its teacher's: beside the plain computation, and chunk by chunk."""

from dataclasses import replace

import pytest
import torch
from learner_samples import batch, loaded_model, sequence, small_model
from torch import Tensor

from saccade.algorithms.algorithm import Aggregation
from saccade.algorithms.distillation import divergence, listed_and_rest, with_distillation, with_rest
from saccade.algorithms.options import DistillLoss, DistillOptions
from saccade.algorithms.policy_gradient import grpo
from saccade.errors import UserError
from saccade.learner.learner import Learner
from saccade.learner.logprobs import action_states
from saccade.learner.optimizer import OptimizerSettings
from saccade.learner.sequences import TrainingSequence, weighted
from saccade.learner.teaching import TeacherWeights, Teaching, check_head, share_forbidden, states_apart
from saccade.models.lora import LoraSettings
from saccade.models.vlm import VisionLanguageModel

TEMPERATURE = 0.8


def options(loss: DistillLoss, top_k: int = 0) -> DistillOptions:
    return DistillOptions(weight=0.5, reward_weight=0.0, loss=loss, top_k=top_k)


def distributions(model: VisionLanguageModel, one: TrainingSequence) -> Tensor:
    """log p of all tokens at each action token, by transformers' forward of the whole sequence."""
    positions = model.positions(one.ids, one.images)[:, None]
    hidden = model.hidden(model.embed(torch.tensor([one.ids]), model.encode_images(one.images)), positions)[0]
    places = [at - 1 for at, acts in enumerate(one.is_action) if acts]
    return model.logprob_logits(hidden[places], TEMPERATURE).log_softmax(-1)


def shown_more(model: VisionLanguageModel, one: TrainingSequence, number: int) -> TrainingSequence:
    """The same actions behind one more picture."""
    other = sequence(model, number, prompt=1)
    first = other.prompt_tokens
    view = replace(
        one,
        ids=(*other.ids[:first], *one.ids[one.prompt_tokens :]),
        is_action=(*other.is_action[:first], *one.is_action[one.prompt_tokens :]),
        images=(*other.images[:1], *one.images[1:]),
        prompt_tokens=first,
    )
    return replace(one, teacher_view=view, advantages=(0.0,) * one.action_count)


def apart_of(
    model: VisionLanguageModel, teacher: VisionLanguageModel, one: TrainingSequence, loss: DistillLoss
) -> Tensor:
    assert one.teacher_view is not None
    with torch.no_grad():
        taught = distributions(teacher, one.teacher_view)
    return divergence(distributions(model, one), taught, loss, 0.5)


def gradient(model: VisionLanguageModel, loss: Tensor) -> dict[str, Tensor]:
    named = {name: one for name, one in model.hf.named_parameters() if one.requires_grad}
    found = torch.autograd.grad(loss, list(named.values()), allow_unused=True)
    return {name: one for name, one in zip(named, found) if one is not None}


@pytest.mark.parametrize("weights", ["policy", "own"])
@pytest.mark.parametrize("loss", ["reverse_kl", "forward_kl", "jsd"])
def test_the_gradient_is_that_of_the_divergence_of_whole_distributions(
    loss: DistillLoss, weights: TeacherWeights
) -> None:
    model, other = small_model(), small_model(seed=5)
    settings = OptimizerSettings(learning_rate=0.1, micro_batch_tokens=400)
    learner = Learner(model, settings, teaching=Teaching(weights=weights, options=options(loss)))
    if weights == "own":
        other.media, other.patches = model.media, model.patches
        learner.take_teacher(lambda: other)
    algorithm = with_distillation(grpo(), options(loss))
    given = weighted([shown_more(model, one, number) for number, one in enumerate(batch(model))], Aggregation())
    totals, actions = learner.accumulate(given, algorithm.loss, temperature=TEMPERATURE)
    teacher = model if weights == "policy" else other
    apart = torch.cat([apart_of(model, teacher, one, loss) for one in given])
    assert totals["teacher_divergence"] == pytest.approx(apart.detach().sum().item(), rel=1e-4)
    expected = gradient(model, 0.5 * apart.sum() / actions)
    for name, master in zip(learner.names, learner.optimizer.masters):
        if name in expected:
            torch.testing.assert_close(master.grad, expected[name], atol=3e-6, rtol=2e-3)
    assert any(float(one.abs().max()) > 1e-4 for one in expected.values())


@pytest.mark.parametrize("rows", [1000, 4, 1], ids=["at once", "in chunks", "one by one"])
def test_values_and_gradients_are_the_same_however_many_logits_exist_at_once(rows: int) -> None:
    model, other = small_model(), small_model(seed=5)
    share_forbidden(other, model)
    other.media, other.patches = model.media, model.patches
    given = [shown_more(model, one, number) for number, one in enumerate(batch(model))]
    chosen = Teaching(weights="own", options=options("jsd"))
    compare = states_apart(
        given,
        policy=model,
        teacher=other,
        teaching=chosen,
        temperature=TEMPERATURE,
        frozen_images=None,
        max_logits=rows * model.vocab_size,
    )
    found = compare(action_states(model, given)[1])
    expected = torch.cat([apart_of(model, other, one, "jsd") for one in given])
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
    ours, plain = (gradient(model, one.sum()) for one in (found, expected))
    for name, one in plain.items():
        torch.testing.assert_close(ours[name], one, atol=3e-5, rtol=2e-3)
    silent = replace(given[0], is_action=(False,) * len(given[0].ids), teacher_view=None)
    assert states_apart([silent], policy=model, teacher=other, teaching=chosen, temperature=1.0, frozen_images=None)(
        action_states(model, [silent])[1]
    ).shape == (0,)


def test_a_server_s_list_is_compared_with_the_rest_as_one() -> None:
    model, other = small_model(), small_model(seed=5)
    chosen = options("forward_kl", top_k=3)
    learner = Learner(
        model,
        OptimizerSettings(learning_rate=0.1, micro_batch_tokens=400),
        teaching=Teaching(weights="server", options=chosen),
    )
    other.media, other.patches = model.media, model.patches
    given, apart = [], []
    for one in batch(model):
        with torch.no_grad():
            values, tokens = distributions(other, one).topk(3, dim=-1)
        top = tuple(tuple(zip(row, of_row)) for row, of_row in zip(tokens.tolist(), values.tolist()))
        given.append(replace(one, teacher_top=top, advantages=(0.0,) * one.action_count))
        own = listed_and_rest(distributions(model, one), tokens)
        apart.append(divergence(own, with_rest(values), "forward_kl", 0.5))
    given = weighted(given, Aggregation(over="tokens"))
    totals, _ = learner.accumulate(given, with_distillation(grpo(), chosen).loss, temperature=TEMPERATURE)
    assert totals["teacher_divergence"] == pytest.approx(torch.cat(apart).detach().sum().item(), rel=1e-4)


def test_an_adapter_s_beginning_teaches_without_a_copy_unless_the_head_was_trained(tmp_path) -> None:
    model = loaded_model(tmp_path / "checkpoint")
    settings = OptimizerSettings(learning_rate=0.02, micro_batch_tokens=400, lora=LoraSettings(rank=4))
    taught = Teaching(weights="start", options=options("reverse_kl"))
    learner = Learner(model, settings, teaching=taught)
    learner.take_reference(lambda: pytest.fail("a copy was loaded"))
    algorithm = with_distillation(grpo(), options("reverse_kl"))
    given = weighted([replace(one, advantages=(1.0,) * one.action_count) for one in batch(model)], Aggregation())
    first = learner.update(given, grpo().loss, temperature=1.0)
    assert first["gradient_norm"] > 0
    before = learner.update(given, algorithm.loss, temperature=1.0)["teacher_divergence"]
    for _ in range(12):
        after = learner.update(given, algorithm.loss, temperature=1.0)["teacher_divergence"]
    assert 0 < after < before
    whole = loaded_model(tmp_path / "checkpoint")
    lora = LoraSettings(rank=4, targets=r".*lm_head")
    Learner(whole, OptimizerSettings(learning_rate=0.1, lora=lora))
    with pytest.raises(UserError, match="the adapter trains the head"):
        check_head(taught, whole)
