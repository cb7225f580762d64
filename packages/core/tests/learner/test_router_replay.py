"""A mixture of experts in the learner: choices that are replayed, the load-balancing loss, and what adapters leave."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
import torch
from learner_samples import SMALL, batch, imitate, same_bytes, sequence, small_model, weights
from peft import PeftModel
from transformers import AutoModelForImageTextToText
from transformers.models.qwen3_vl_moe.modeling_qwen3_vl_moe import load_balancing_loss_func

from saccade.algorithms.losses import negative_log_likelihood
from saccade.errors import SaccadeError, UserError
from saccade.learner.learner import Learner, OptimizerSettings
from saccade.learner.logprobs import ForwardWork, action_tokens, pack_outputs
from saccade.learner.sequences import TrainingSequence, micro_batches, pack, training_sequences
from saccade.learner.step_figures import NonFiniteStep
from saccade.learner.trained_weights import check_trained, trained_in_words
from saccade.media.store import MediaStore
from saccade.models.loading import LoadSettings, load_model, write_merged
from saccade.models.lora import LoraSettings
from saccade.models.routing import Experts, LearnerRouting, RecordedRouting
from saccade.models.vlm import VisionLanguageModel
from saccade.runs.position import Position
from saccade.runs.records import write_nonfinite
from saccade.types import RoutedExperts, Segment, Trajectory


@pytest.fixture
def model() -> VisionLanguageModel:
    return small_model("qwen3_vl_moe")


def with_own_experts(model: VisionLanguageModel, one: TrainingSequence) -> TrainingSequence:
    """The sequence with the experts that the model's routers choose for it now."""
    assert model.experts is not None
    seen = RecordedRouting(model.experts)
    features = model.encode_images(one.images)
    with torch.no_grad():
        positions = model.positions(one.ids, one.images)[:, None]
        model.hidden(model.embed(torch.tensor([one.ids]), features), positions, routing=seen)
    return replace(one, routed_experts=seen.packed()[:-1].tobytes())


def routers(model: VisionLanguageModel) -> list[torch.nn.Parameter]:
    return [layer.mlp.gate.weight for layer in model.language_model.layers]


def change_routers(model: VisionLanguageModel) -> None:
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for weight in routers(model):
            weight.add_(0.5 * torch.randn(weight.shape, generator=generator))


def gradient(
    model: VisionLanguageModel, sequences: list[TrainingSequence], *, loss: float = 1.0, balance: float = 0.0
) -> torch.Tensor:
    model.hf.zero_grad()
    logprobs, *_ = pack_outputs(model, sequences, temperature=1.0, balance=balance)
    (loss * logprobs.sum()).backward()
    return torch.cat(
        [torch.zeros_like(p).flatten() if p.grad is None else p.grad.flatten() for p in model.hf.parameters()]
    )


def test_choices_of_a_token_are_packed_in_as_few_bytes_as_the_experts_need() -> None:
    chosen = [torch.tensor([[0, 3], [255, 1]]), torch.tensor([[2, 1], [7, 9]])]
    for count, size in ((256, 4), (512, 8)):
        experts = Experts(layers=2, count=count, chosen=2)
        packed = experts.packed(chosen).tobytes()
        assert (experts.token_bytes, len(packed)) == (size, 2 * size)
        assert experts.unpacked(packed).tolist() == [[[0, 3], [2, 1]], [[255, 1], [7, 9]]]
    wide = Experts(layers=1, count=40_000, chosen=1)
    assert wide.unpacked(wide.packed([torch.tensor([[39_999]])]).tobytes()).tolist() == [[[39_999]]]


def test_chosen_experts_are_weighed_by_the_present_router() -> None:
    """By hand: logits ln 1, ln 2, ln 4, ln 1; of experts 0 and 2 the weights are 1/5 and 4/5."""
    logits = torch.tensor([[1.0, 2.0, 4.0, 1.0]]).log().requires_grad_()
    routing = LearnerRouting(Experts(layers=1, count=4, chosen=2), replayed=torch.tensor([[[0, 2]]]))
    own = torch.tensor([[2 / 3, 1 / 3]]), torch.tensor([[2, 1]])
    given, chosen = routing.routed(0, logits, own)
    assert chosen.tolist() == [[0, 2]]
    assert given.tolist() == [pytest.approx([0.2, 0.8])]
    given[0, 0].backward()
    # d g0 / d s0 = g0 (1 - g0), and the opposite for s2; experts that were not chosen have no part.
    assert logits.grad is not None
    assert logits.grad.tolist() == [pytest.approx([0.16, 0.0, -0.16, 0.0])]
    # One of the two choices is not the router's own; loads are 1, 0, 1, 0 where an even share is 1/2.
    figures = routing.figures()
    assert (figures.replay_changed, figures.max_violation) == (0.5, 1.0)
    assert figures.balance == pytest.approx(4 * (1 / 8 + 4 / 8))


def test_choices_that_the_routers_would_make_themselves_change_no_bit(model: VisionLanguageModel) -> None:
    plain = batch(model)
    replaying = [with_own_experts(model, one) for one in plain]
    with torch.no_grad():
        ours, own = (action_tokens(model, one, temperature=1.0).logprobs for one in (replaying, plain))
    assert torch.equal(ours, own)
    assert torch.equal(gradient(model, replaying), gradient(model, plain))


def test_replay_keeps_the_choices_under_other_routers_in_packs_as_alone(model: VisionLanguageModel) -> None:
    sequences = [with_own_experts(model, one) for one in batch(model)]
    change_routers(model)
    work = ForwardWork()
    pack_outputs(model, sequences, temperature=1.0, work=work)
    assert work.router is not None
    assert work.router.replay_changed is not None
    assert work.router.replay_changed > 0.1
    with torch.no_grad():
        packed = action_tokens(model, sequences, temperature=1.0).logprobs
        alone = torch.cat([action_tokens(model, [one], temperature=1.0).logprobs for one in sequences])
        chosen_anew = action_tokens(model, batch(model), temperature=1.0).logprobs
    assert float((packed - alone).abs().max()) < 1e-4
    assert float((packed - chosen_anew).abs().max()) > 1e-2
    gradient(model, sequences)
    assert all(weight.grad is not None and bool(weight.grad.any()) for weight in routers(model))


def test_prompts_that_went_to_other_experts_are_not_shared(model: VisionLanguageModel) -> None:
    first, second = (with_own_experts(model, sequence(model, index)) for index in (0, 1))
    assert len(pack(model, [first, second]).layout) == 1
    other = replace(second, routed_experts=bytes([second.routed_experts[0] ^ 1]) + second.routed_experts[1:])
    packed = pack(model, [first, other])
    assert len(packed.layout) == 2
    assert packed.routed_experts is not None
    assert len(packed.routed_experts) == len(packed.ids)
    # Cut into micro-batches they are no group either.
    limit = first.forwarded_count + second.forwarded_count - first.prompt_tokens
    assert [len(one) for one in micro_batches([first, second], max_tokens=limit)] == [2]
    assert [len(one) for one in micro_batches([first, other], max_tokens=limit)] == [1, 1]


def test_each_context_of_a_trajectory_has_its_own_experts() -> None:
    def turn(number: int, role: Literal["prompt", "action"], ids: tuple[int, ...]) -> Segment:
        return Segment(role=role, turn=number, ids=ids, logprobs=(-1.0,) * len(ids) if role == "action" else ())

    segments = (turn(0, "prompt", (1, 2)), turn(0, "action", (3,)), turn(1, "prompt", (4,)), turn(1, "action", (5, 6)))
    played = Trajectory(
        task_id="t", family="f", stream="s", sample=0, seed=0, policy_version=0, segments=segments, turns=(),
        status="answered", routed_experts=(RoutedExperts(b"abAB"), RoutedExperts(b"cdCD")),
    )  # fmt: skip
    first, second = training_sequences(played)
    # Two bytes for each id but the last.
    assert (first.experts_of(0, 2), first.experts_of(1, 2)) == (b"abAB", b"AB")
    assert (second.experts_of(0, 1), second.prompt_key[2]) == (b"cd", b"cd")


def test_a_step_without_a_finite_loss_is_written_down_without_its_experts(
    model: VisionLanguageModel, tmp_path: Path
) -> None:
    one = with_own_experts(model, sequence(model, 0))
    skipped = NonFiniteStep(sequences=(one,), totals={}, gradient_norm=float("nan"), suspects=(0,))
    [told] = json.loads(write_nonfinite(tmp_path, Position(stage="rl", step=1), [skipped]).read_text())
    assert told["sequences"][0]["ids"] == list(one.ids)
    assert "routed_experts" not in told["sequences"][0]


def test_experts_of_some_sequences_alone_are_no_pack(model: VisionLanguageModel) -> None:
    first, second = sequence(model, 0), sequence(model, 1, prompt=1)
    with pytest.raises(SaccadeError, match="are not the experts of the"):
        pack(model, [with_own_experts(model, first), second])


def test_the_load_balancing_loss_and_its_gradient_are_transformers_own(model: VisionLanguageModel) -> None:
    sequences, coefficient, logits = batch(model), 0.3, list[torch.Tensor]()
    ours = gradient(model, sequences, loss=0.0, balance=coefficient)
    hooks = [
        layer.mlp.gate.register_forward_hook(lambda _, __, output: logits.append(output[0]))
        for layer in model.language_model.layers
    ]
    work = ForwardWork()
    pack_outputs(model, sequences, temperature=1.0, work=work)
    theirs = load_balancing_loss_func(tuple(logits), num_experts=4, top_k=2)
    found = torch.autograd.grad(coefficient * theirs, list(model.hf.parameters()), allow_unused=True)
    for hook in hooks:
        hook.remove()
    expected = torch.cat(
        [torch.zeros_like(p).flatten() if g is None else g.flatten() for p, g in zip(model.hf.parameters(), found)]
    )
    assert float(expected.norm()) > 1e-3
    assert float((ours - expected).norm() / expected.norm()) < 1e-4
    assert work.router is not None
    assert work.router.balance == pytest.approx(float(theirs.detach()), rel=1e-5)


@pytest.mark.parametrize("balance", [0.0, 0.3])
def test_layers_that_are_worked_out_again_have_the_same_gradient(balance: float) -> None:
    norms = []
    for again in (False, True):
        model = small_model("qwen3_vl_moe")
        sequences = [with_own_experts(model, one) for one in batch(model)]
        change_routers(model)
        settings = OptimizerSettings(activation_checkpointing=again, router_aux_loss_coef=balance)
        learner = Learner(model, settings)
        learner.accumulate(sequences, negative_log_likelihood, temperature=1.0)
        norms.append(torch.cat([m.grad.flatten() for m in learner.optimizer.masters if m.grad is not None]))
    assert float((norms[0] - norms[1]).norm() / norms[0].norm()) < 1e-5


def test_micro_batches_weigh_the_loss_by_their_tokens_and_metrics_say_what_routers_do() -> None:
    def metrics(**settings: float) -> tuple[dict[str, float], torch.Tensor]:
        model = small_model("qwen3_vl_moe")
        learner = Learner(model, OptimizerSettings(**settings))  # type: ignore[arg-type]
        found = learner.update(batch(model), negative_log_likelihood, learning_rate=0.0)
        return dict(found), torch.cat([p.flatten() for p in model.hf.parameters()])

    off, _ = metrics()
    assert {name for name in off if name.startswith("router/")} == {"router/entropy", "router/max_violation"}
    # Of four experts, two are chosen: the entropy is at most ln 4, and no expert has more than every token.
    assert 0 < off["router/entropy"] < 1.3863
    assert 0 <= off["router/max_violation"] <= 1
    on, _ = metrics(router_aux_loss_coef=0.5)
    # An even load would be the number of chosen experts.
    assert 1.5 < on["router/aux_loss"] < 4
    assert on["gradient_norm"] != off["gradient_norm"]
    cut, _ = metrics(router_aux_loss_coef=0.5, micro_batch_tokens=64)
    assert cut["micro_batches"] > 1
    assert cut["router/aux_loss"] == pytest.approx(on["router/aux_loss"], rel=0.1)


def test_a_checkpoint_s_own_coefficient_does_not_sneak_in(model: VisionLanguageModel) -> None:
    before = gradient(model, batch(model))
    text = model.hf.config.text_config
    text.router_aux_loss_coef, text.output_router_logits = 100.0, True
    assert torch.equal(gradient(model, batch(model)), before)


def test_balance_without_experts_is_refused() -> None:
    with pytest.raises(UserError, match=r"router_aux_loss_coef=0.1 balances the experts .* qwen3_vl has none"):
        Learner(small_model(), OptimizerSettings(router_aux_loss_coef=0.1))


def test_an_adapter_says_that_it_leaves_experts_out_and_does(model: VisionLanguageModel) -> None:
    settings, before = OptimizerSettings(lora=LoraSettings(rank=2)), weights(model)
    losses = imitate(Learner(model, settings), steps=4)
    assert losses[-1] < losses[0]
    assert trained_in_words(model, settings) == (
        "trained: an adapter of 896 numbers; it is in k_proj, o_proj, q_proj, v_proj, and the experts (24,576 "
        "numbers) have none"
    )
    after = {name.replace(".base_layer.", "."): weight for name, weight in weights(model).items()}
    assert same_bytes(before, {name: after[name] for name in before})


@pytest.mark.parametrize("targets", [r".*\.(q_proj|gate_up_proj)", r".*experts.*_proj"])
def test_an_adapter_on_experts_is_refused(model: VisionLanguageModel, targets: str) -> None:
    settings = OptimizerSettings(lora=LoraSettings(targets=targets))
    with pytest.raises(
        UserError, match=r"also means model\.language_model\.layers\.0\.mlp\.experts\.gate_up_proj, one"
    ):
        check_trained(model, settings)
    # Targets without experts are not.
    check_trained(model, OptimizerSettings(lora=LoraSettings(targets=r".*self_attn\.q_proj")))


@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing.:FutureWarning")  # PEFT asks transformers for it.
def test_an_adapter_is_opened_by_peft_and_merged_by_transformers_with_the_same_logits(tmp_path: Path) -> None:
    small_model("qwen3_vl_moe").save(tmp_path / "base")
    model = load_model(tmp_path / "base", MediaStore(), LoadSettings(device="cpu"))
    imitate(Learner(model, OptimizerSettings(lora=LoraSettings(rank=2))), steps=4)
    model.save(tmp_path / "adapter")
    write_merged(tmp_path / "adapter", tmp_path / "merged", dtype="float32")
    ids = torch.tensor([model.chat.encode("Which plate is red?")])
    with torch.no_grad():
        ours = model.hf(input_ids=ids).logits
        base = AutoModelForImageTextToText.from_pretrained(tmp_path / "base", dtype=torch.float32)
        plain = base(input_ids=ids).logits
        opened = PeftModel.from_pretrained(base, str(tmp_path / "adapter"))(input_ids=ids).logits
        merged = AutoModelForImageTextToText.from_pretrained(tmp_path / "merged", dtype=torch.float32)
        of_merged = merged(input_ids=ids).logits
    assert float((ours - plain).abs().max()) > 1e-3
    assert torch.allclose(opened, ours, atol=1e-5)
    assert torch.allclose(of_merged, ours, atol=1e-4)


def test_a_checkpoint_in_the_published_layout_gives_the_same_logits(tmp_path: Path) -> None:
    """Qwen3-VL-30B-A3B has experts as (experts, inputs, outputs), and transformers 5 as (experts, outputs, inputs)."""
    from safetensors.torch import load_file, save_file

    # No expert is square: transformers tells the layouts apart by their sizes.
    model = small_model("qwen3_vl_moe", size=replace(SMALL, mlp=96))
    model.save(tmp_path)
    file = tmp_path / "model.safetensors"
    published = {
        name: weight.transpose(1, 2).contiguous() if ".experts." in name else weight
        for name, weight in load_file(file).items()
    }
    save_file(published, file, metadata={"format": "pt"})
    again = load_model(tmp_path, MediaStore(), LoadSettings(device="cpu"))
    assert same_bytes(weights(again), weights(model))
