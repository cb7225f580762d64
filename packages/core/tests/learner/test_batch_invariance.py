"""Engine and learner give a token the same bits with ``batch_invariant``: turns, pictures, packs, groups, families."""

import asyncio
import math
from dataclasses import replace

import pytest
import torch
from packing_samples import model_of, picture

from saccade.algorithms.losses import negative_log_likelihood
from saccade.engines.engine import Sampling
from saccade.engines.local import LocalEngine
from saccade.errors import UserError
from saccade.learner.learner import Learner
from saccade.learner.logprobs import action_tokens
from saccade.learner.optimizer import OptimizerSettings
from saccade.learner.sequences import TrainingSequence
from saccade.models.batch_invariant import make_batch_invariant
from saccade.models.eight_bit_linear import put_in_eight_bits
from saccade.models.lora import LoraSettings, add_adapter
from saccade.models.vlm import VisionLanguageModel
from saccade.train.drift import mismatch
from saccade.types import Message, Observation

QUESTIONS = ("Which plate is red?", "Which plate is red?", "Which plate is red?", "Look closer.", "Look closer. Which?")


def of_family(family: str, dtype: torch.dtype) -> VisionLanguageModel:
    model = model_of(family, head_dim=16)  # type: ignore[arg-type]
    model.hf.to(dtype)
    return model


def played(
    model: VisionLanguageModel, questions: tuple[str, ...] = QUESTIONS, engine: LocalEngine | None = None
) -> list[TrainingSequence]:
    """Two turns of each question with a picture before each, a group's prompt shared; the engine's own numbers."""
    engine = engine or LocalEngine(model)
    sequences: list[TrainingSequence] = []

    async def play() -> None:
        async with engine.sequences([str(index) for index in range(len(questions))]) as slots:

            async def trajectory(index: int) -> TrainingSequence:
                slot, asked = slots[index], questions[index]
                shown = picture(model, len(asked) % 5)
                prompt = model.chat.prompt([Message(role="user", parts=(shown, asked))])
                ids, images, is_action, logprobs = list(prompt.ids), list(prompt.images), [False] * len(prompt.ids), []
                for turn in range(2):
                    sampling = Sampling(seed=len(asked) * 10 + index, temperature=0.8, max_tokens=9 + 5 * turn)
                    done = await slot.sample(tuple(ids), tuple(images), sampling)
                    ids += done.ids
                    is_action += [True] * len(done.ids)
                    logprobs += done.logprobs
                    if turn == 0:
                        said = Observation(text="Here:", images=(picture(model, 4 - index % 3),))
                        new = model.chat.observation(said, ends_with_eos=done.ids[-1] in model.end_ids)
                        ids += new.ids
                        is_action += [False] * len(new.ids)
                        images += new.images
                slot.close()
                return TrainingSequence(
                    ids=tuple(ids),
                    is_action=tuple(is_action),
                    images=tuple(images),
                    prompt_tokens=len(prompt.ids),
                    prompt_images=1,
                    sampled_logprobs=tuple(logprobs),
                    advantages=(1.0,) * len(logprobs),
                    token_weight=1.0 / len(logprobs),
                )

            sequences.extend(await asyncio.gather(*(trajectory(index) for index in range(len(questions)))))

    asyncio.run(play())
    return sequences


def gap(model: VisionLanguageModel, sequences: list[TrainingSequence], max_tokens: int = 10_000) -> dict[str, float]:
    learner = Learner(model, OptimizerSettings(learning_rate=1e-3, micro_batch_tokens=max_tokens))
    learned = learner.logprobs(sequences, temperature=0.8)
    return mismatch(learned, [one.sampled_logprobs for one in sequences])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("family", ["qwen2_5_vl", "qwen3_vl", "internvl", "gemma3", "gemma4"])
def test_engine_and_learner_have_no_difference(family: str, dtype: torch.dtype) -> None:
    model = of_family(family, dtype)
    fast = gap(model, played(model))
    make_batch_invariant(model)
    sequences = played(model)
    assert gap(model, sequences) == {"mismatch_kl": 0.0, "mismatch_abs": 0.0}
    # Without the mode there is one, or this test would not see it.
    assert fast["mismatch_abs"] > 0.0
    # Other packs, the same bits.
    assert gap(model, sequences, max_tokens=200)["mismatch_abs"] == 0.0
    # The forward that has a gradient too: the first update's ratio is exactly 1.
    tokens = action_tokens(model, sequences, temperature=0.8)
    assert torch.equal(tokens.logprobs.detach(), tokens.sampled_logprobs)


def test_a_row_alone_has_the_bits_that_it_has_among_others() -> None:
    model = of_family("qwen3_vl", torch.bfloat16)
    make_batch_invariant(model)
    [alone], among = played(model, QUESTIONS[:1]), played(model)
    assert (alone.ids, alone.sampled_logprobs) == (among[0].ids, among[0].sampled_logprobs)


@pytest.mark.parametrize("limits", [{"paged": True}, {"max_rows": 2}, {"max_chunk_tokens": 64}], ids=str)
def test_how_the_engine_works_changes_no_bit(limits: dict[str, int]) -> None:
    """Pages as on a GPU, rows that wait, prompts that are forwarded one by one."""
    model = of_family("qwen3_vl", torch.bfloat16)
    make_batch_invariant(model)
    usual = {(one.ids, one.sampled_logprobs) for one in played(model)}
    other = played(model, engine=LocalEngine(model, **limits))  # type: ignore[arg-type]
    assert {(one.ids, one.sampled_logprobs) for one in other} == usual


def test_the_gradient_is_that_of_the_fast_mode() -> None:
    def gradients(exact: bool) -> torch.Tensor:
        model = of_family("gemma3", torch.float32)
        sequences = played(model)
        if exact:
            make_batch_invariant(model)
        negative_log_likelihood(action_tokens(model, sequences, temperature=0.8)).value.backward()
        parts = (weight.grad.flatten() for weight in model.hf.parameters() if weight.grad is not None)
        return torch.cat(list(parts))

    fast, exact = gradients(False), gradients(True)
    assert float((fast - exact).norm()) < 1e-5 * float(fast.norm())


def test_an_adapter_is_part_of_it() -> None:
    model = of_family("qwen2_5_vl", torch.bfloat16)
    make_batch_invariant(model)
    add_adapter(model, LoraSettings(rank=4))
    sequences = played(model)
    learner = Learner(model, OptimizerSettings(learning_rate=1e-2, lora=LoraSettings(rank=4)))
    learner.update(sequences, negative_log_likelihood, temperature=0.8)
    after = played(model)
    assert [one.sampled_logprobs for one in after] != [one.sampled_logprobs for one in sequences]
    learned = learner.logprobs(after, temperature=0.8)
    assert mismatch(learned, [one.sampled_logprobs for one in after])["mismatch_kl"] == 0.0


def test_recurrent_layers_are_refused() -> None:
    with pytest.raises(UserError, match="recurrent layers"):
        make_batch_invariant(model_of("qwen3_5"))


def test_layers_in_8_bits_are_refused() -> None:
    model = of_family("qwen2_5_vl", torch.float32)
    put_in_eight_bits(model.hf, model.tokenizer, LoraSettings().inside(model.family))
    with pytest.raises(UserError, match="frozen_weights=int8"):
        make_batch_invariant(model)


def test_one_bit_is_seen() -> None:
    model = of_family("qwen2_5_vl", torch.float32)
    make_batch_invariant(model)
    sequences = played(model)
    first = sequences[0].sampled_logprobs[0]
    moved = replace(sequences[0], sampled_logprobs=(math.nextafter(first, 0.0), *sequences[0].sampled_logprobs[1:]))
    assert gap(model, [moved, *sequences[1:]])["mismatch_abs"] > 0.0
