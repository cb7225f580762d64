"""The learner on a real tiny model: masks, splits, log-probabilities, skipped steps."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils._python_dispatch import TorchDispatchMode

from saccade.algorithms.algorithm import Aggregation, Loss, PolicyTokens
from saccade.algorithms.losses import negative_log_likelihood
from saccade.learner.learner import Learner, OptimizerSettings
from saccade.learner.logprobs import action_tokens
from saccade.learner.sequences import TrainingSequence, micro_batches, training_sequence, weighted
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinyFamily, TinySize, tiny_model
from saccade.models.vlm import VisionLanguageModel
from saccade.types import Message, Observation, Segment, Trajectory

FAMILIES: tuple[TinyFamily, ...] = ("qwen3_vl", "qwen2_5_vl")


@pytest.fixture(params=FAMILIES)
def model(request: pytest.FixtureRequest) -> VisionLanguageModel:
    size = TinySize(hidden=32, mlp=64, vision_hidden=32, vision_mlp=48, deepstack=request.param == "qwen3_vl")
    return tiny_model(["Which plate is red?"] * 9, MediaStore(), family=request.param, size=size, seed=1)


def trajectory(model: VisionLanguageModel, index: int) -> Trajectory:
    """Two turns with an image each; lengths differ, and the first image is shared by all."""
    shared = model.media.add(Image.fromarray(np.full((64, 64, 3), 90, dtype=np.uint8)))
    pixels = np.random.default_rng(index).integers(0, 255, (40 + 16 * index, 64, 3), dtype=np.uint8)
    own = model.media.add(Image.fromarray(pixels))
    prompt = model.chat.prompt([Message(role="user", parts=(shared, "Which plate? " * (index + 1)))])
    seen = model.chat.observation(Observation(text="", images=(own,)), ends_with_eos=False)
    call = model.chat.encode("<think>look" + " closer" * index)
    answer = model.chat.encode("<answer>red</answer>")
    return Trajectory(
        task_id=f"t{index}",
        family="f",
        stream="main",
        sample=0,
        seed=0,
        policy_version=0,
        segments=(
            Segment(role="prompt", turn=0, ids=prompt.ids, images=prompt.images),
            Segment(role="action", turn=0, ids=call, logprobs=(-0.5,) * len(call)),
            Segment(role="observation", turn=0, ids=seen.ids, images=seen.images),
            Segment(role="action", turn=1, ids=answer, logprobs=(-0.25,) * len(answer)),
        ),
        turns=(),
        status="answered",
    )


def sequences(model: VisionLanguageModel, count: int = 5) -> list[TrainingSequence]:
    made = [training_sequence(trajectory(model, index), [1.0, -2.0]) for index in range(count)]
    return weighted(made, Aggregation())


def gradient(model: VisionLanguageModel, micro_batch_tokens: int) -> torch.Tensor:
    learner = Learner(model, OptimizerSettings(micro_batch_tokens=micro_batch_tokens))
    model.hf.zero_grad()
    learner.accumulate(sequences(model), negative_log_likelihood, temperature=1.0)
    return torch.cat([p.grad.flatten() for p in model.hf.parameters() if p.grad is not None])


def test_turn_advantages_and_sampled_logprobs_lie_on_the_actions_of_their_turn(model: VisionLanguageModel) -> None:
    whole = trajectory(model, 1)
    sequence = training_sequence(whole, [1.0, -2.0])
    _, call, _, answer = (len(segment.ids) for segment in whole.segments)
    assert sequence.advantages == (1.0,) * call + (-2.0,) * answer
    assert sequence.sampled_logprobs == (-0.5,) * call + (-0.25,) * answer
    assert sequence.action_count == call + answer
    assert training_sequence(whole).advantages == (0.0,) * (call + answer)


def test_any_micro_batch_split_gives_the_same_gradient(model: VisionLanguageModel) -> None:
    whole = gradient(model, 1_000_000)
    for limit in (1, 150, 300):
        torch.testing.assert_close(gradient(model, limit), whole, rtol=0, atol=1e-6)


def test_micro_batches_keep_every_sequence_once_and_respect_the_limit(model: VisionLanguageModel) -> None:
    all_sequences = sequences(model)
    batches = micro_batches(all_sequences, max_tokens=200)
    assert sorted(len(s.ids) for b in batches for s in b) == sorted(len(s.ids) for s in all_sequences)
    assert all(len(b) == 1 or sum(one.forwarded_count for one in b) <= 200 for b in batches)


def test_padding_and_neighbours_do_not_change_log_probabilities(model: VisionLanguageModel) -> None:
    batch = sequences(model)
    with torch.no_grad():
        together = action_tokens(model, batch, temperature=0.8).logprobs
        alone = torch.cat([action_tokens(model, [one], temperature=0.8).logprobs for one in batch])
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=0)


def test_log_probabilities_equal_a_plain_forward_with_forbidden_tokens_masked(model: VisionLanguageModel) -> None:
    [sequence] = sequences(model, 1)
    patches = model.patches.get(sequence.images)
    ids = torch.tensor([sequence.ids])
    with torch.no_grad():
        logits = model.hf(
            input_ids=ids,
            pixel_values=torch.cat([patch.values for patch in patches]),
            image_grid_thw=torch.tensor([[1, patch.rows, patch.columns] for patch in patches]),
            mm_token_type_ids=(ids == model.image_token_id).int(),
        ).logits[0]
        logits[:, model.forbidden_ids] = -torch.inf
        logprobs = (logits / 0.8).log_softmax(-1)[:-1].gather(-1, ids[0, 1:, None])[:, 0]
        expected = logprobs[torch.tensor(sequence.is_action)[1:]]
        ours = action_tokens(model, [sequence], temperature=0.8).logprobs
    torch.testing.assert_close(ours, expected, atol=1e-5, rtol=0)


def test_observations_get_no_gradient_as_targets(model: VisionLanguageModel) -> None:
    """Only action tokens are scored: their count is that of the mask."""
    batch = sequences(model)
    with torch.no_grad():
        tokens = action_tokens(model, batch, temperature=1.0)
    assert tokens.logprobs.shape == (sum(one.action_count for one in batch),)


def test_entropy_of_a_uniform_policy_is_the_log_of_what_is_allowed(model: VisionLanguageModel) -> None:
    with torch.no_grad():
        model.hf.lm_head.weight.zero_()
        tokens = action_tokens(model, sequences(model, 1), temperature=1.0)
    allowed = model.vocab_size - len(model.forbidden_ids)
    torch.testing.assert_close(tokens.entropy, torch.full_like(tokens.entropy, allowed).log())


def test_updates_lower_the_loss(model: VisionLanguageModel) -> None:
    learner = Learner(model, OptimizerSettings())
    losses = [
        learner.update(sequences(model), negative_log_likelihood, temperature=1.0, learning_rate=3e-3)["nll"]
        for _ in range(12)
    ]
    assert losses[-1] < 0.5 * losses[0]


def test_tokens_that_a_step_forwards_are_counted_with_each_prompt_once_in_a_micro_batch(
    model: VisionLanguageModel,
) -> None:
    one = sequences(model, 1)[0]
    rest = one.forwarded_count - one.prompt_tokens
    for limit, prompts in ((1_000_000, 1), (one.forwarded_count, 3)):
        learner = Learner(model, OptimizerSettings(micro_batch_tokens=limit))
        metrics = learner.update([one] * 3, negative_log_likelihood, temperature=1.0, learning_rate=0.0)
        assert metrics["forwarded_tokens"] == prompts * one.prompt_tokens + 3 * rest


def test_a_loss_that_is_not_finite_changes_no_weight(model: VisionLanguageModel) -> None:
    learner = Learner(model, OptimizerSettings())
    before = [p.detach().clone() for p in model.hf.parameters()]

    def broken(tokens: PolicyTokens) -> Loss:
        loss = negative_log_likelihood(tokens)
        return replace(loss, value=loss.value * float("nan"))

    metrics = learner.update(sequences(model), broken, temperature=1.0, learning_rate=1e-2)
    assert metrics["skipped"] == 1.0
    assert all(torch.equal(a, b) for a, b in zip(before, model.hf.parameters()))


def test_frozen_vision_tower_keeps_its_weights(model: VisionLanguageModel) -> None:
    learner = Learner(model, OptimizerSettings(frozen_vision=True))
    before = [p.detach().clone() for p in model.hf.model.visual.parameters()]
    learner.update(sequences(model), negative_log_likelihood, temperature=1.0, learning_rate=1e-2)
    assert all(torch.equal(a, b) for a, b in zip(before, model.hf.model.visual.parameters()))


class _Reads(TorchDispatchMode):
    """Counts numbers that are read one by one, for each of which a GPU would be waited for."""

    count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        self.count += function is torch.ops.aten._local_scalar_dense.default
        return function(*args, **(kwargs or {}))


def test_figures_are_read_once_when_the_step_is_over_and_are_the_same(model: VisionLanguageModel) -> None:
    reads: dict[bool, int] = {}
    found: dict[bool, object] = {}
    # The first one prepares pictures, which are kept.
    for is_late in (False, False, True):
        learner = Learner(model, OptimizerSettings(learning_rate=0.0, micro_batch_tokens=100))
        learner.reads_late = is_late
        given = [replace(one, place=place) for place, one in enumerate(sequences(model))]
        with _Reads() as counted:
            metrics = learner.update(given, negative_log_likelihood, temperature=1.0)
        found[is_late] = (metrics, learner.take_entropies())
        reads[is_late] = counted.count
    assert metrics["micro_batches"] > 1
    assert found[True] == found[False]
    assert reads[True] == reads[False] - metrics["micro_batches"]
