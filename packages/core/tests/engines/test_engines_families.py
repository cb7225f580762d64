"""What the engine may sample of every family; ``check_family`` compares its log-probabilities with plain forwards."""

import asyncio

from saccade.engines.engine import Sampling
from saccade.engines.local import LocalEngine


async def sampled(engine, prompts, samplings):
    async with engine.sequences([str(index) for index in range(len(prompts))]) as slots:

        async def one(slot, tokens, sampling):
            done = await slot.sample(tokens.ids, tokens.images, sampling)
            slot.close()
            return done

        return await asyncio.gather(*(one(*each) for each in zip(slots, prompts, samplings)))


def test_a_turn_never_holds_what_only_the_environment_may_write(model, picture, prompt):
    tokens = prompt("What is written?", picture(1))
    samplings = [Sampling(seed=seed, temperature=3.0, max_tokens=40) for seed in range(16)]
    done = asyncio.run(sampled(LocalEngine(model), [tokens] * 16, samplings))
    forbidden = set(model.forbidden_ids.tolist())
    assert forbidden
    assert not any(forbidden & set(turn.ids) for turn in done)
