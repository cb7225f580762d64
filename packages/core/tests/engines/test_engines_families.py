"""The engine against transformers itself, for every family: greedy generation, and log-probabilities turn by turn."""

import asyncio

import pytest
import torch

from saccade.engines.engine import Sampling
from saccade.engines.local import LocalEngine
from saccade.types import Observation


@pytest.fixture(scope="module")
def generated(model):
    """What ``generate`` of transformers says greedily after a prompt, when it may write what the policy may write."""

    @torch.no_grad()
    def generate(tokens, max_tokens):
        ids = torch.tensor([tokens.ids])
        patches = model.patches.get(tokens.images)
        seen = {"pixel_values": torch.cat([patch.values for patch in patches])}
        if model.family.model_type != "internvl":
            seen["image_grid_thw"] = torch.tensor([[1, patch.rows, patch.columns] for patch in patches])
            seen["mm_token_type_ids"] = (ids == model.image_token_id).int()
        said = model.hf.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            do_sample=False,
            max_new_tokens=max_tokens,
            eos_token_id=model.eos_id,
            suppress_tokens=model.forbidden_ids.tolist(),
            **seen,
        )
        return tuple(said[0, len(tokens.ids) :].tolist())

    return generate


async def sampled(engine, prompts, samplings):
    async with engine.sequences([str(index) for index in range(len(prompts))]) as slots:

        async def one(slot, tokens, sampling):
            done = await slot.sample(tokens.ids, tokens.images, sampling)
            slot.close()
            return done

        return await asyncio.gather(*(one(*each) for each in zip(slots, prompts, samplings)))


def test_greedy_turns_are_those_of_transformers(model, picture, prompt, generated):
    prompts = [
        prompt("What is written?", picture(1)),
        prompt("Look closer with the tool.", picture(2, 200, 90), picture(3, 40, 120)),
        prompt("What is written?", picture(1)),
    ]
    done = asyncio.run(sampled(LocalEngine(model), prompts, [Sampling(seed=0, temperature=0.0, max_tokens=24)] * 3))
    assert [turn.ids for turn in done] == [generated(tokens, 24) for tokens in prompts]


def test_two_turns_with_images_have_the_logprobs_of_one_plain_forward(model, picture, prompt, plain_logits):
    tokens = prompt("Look closer", picture(1), picture(2, 200, 90))
    seen = (picture(3, 50, 200), picture(4))
    engine = LocalEngine(model)

    async def run():
        async with engine.sequences(["a"]) as [slot]:
            sampling = Sampling(seed=5, max_tokens=9)
            first = await slot.sample(tokens.ids, tokens.images, sampling)
            suffix = model.chat.observation(Observation(text="Here", images=seen), ends_with_eos=first.finish == "eos")
            ids = (*tokens.ids, *first.ids, *suffix.ids)
            second = await slot.sample(ids, (*tokens.images, *seen), sampling)
            slot.close()
            return first, second, (*ids, *second.ids)

    first, second, ids = asyncio.run(run())
    logits = plain_logits(model, ids, (*tokens.images, *seen)).index_fill(-1, model.forbidden_ids, -torch.inf)
    logprobs = logits.log_softmax(-1)
    for turn, start in ((first, len(tokens.ids)), (second, len(ids) - len(second.ids))):
        expected = [float(logprobs[start + index - 1, token]) for index, token in enumerate(turn.ids)]
        assert turn.logprobs == pytest.approx(expected, abs=1e-4)
    assert engine.work.prompts_prefilled == 1
    assert engine.work.turns_continued == 1
    assert engine.work.tokens_prefilled + len(first.ids) + len(second.ids) - 2 == len(ids) - 1
    assert engine.images_encoded == 4


def test_a_turn_never_holds_what_only_the_environment_may_write(model, picture, prompt):
    tokens = prompt("What is written?", picture(1))
    samplings = [Sampling(seed=seed, temperature=3.0, max_tokens=40) for seed in range(16)]
    done = asyncio.run(sampled(LocalEngine(model), [tokens] * 16, samplings))
    forbidden = set(model.forbidden_ids.tolist())
    assert forbidden
    assert not any(forbidden & set(turn.ids) for turn in done)
