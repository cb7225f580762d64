"""The local engine on real tiny models: what it samples, with which log-probabilities, and how much work it takes."""

import asyncio
from dataclasses import replace

import pytest
import torch

from saccade.engines.engine import EngineContext, Sampling
from saccade.engines.local import LocalEngine, local_engine
from saccade.engines.rows import EngineWork
from saccade.engines.sampling import Drawn, TokenBytes
from saccade.errors import SaccadeError, UserError
from saccade.models.checkpoint import EngineSettings, LoadSettings
from saccade.native.library import SWITCH
from saccade.turn_ends import FencedActions
from saccade.types import Observation


def whole_forward_logprobs(model, ids, images, start, temperature=1.0):
    """log p of ids[start:] from one plain forward of the whole sequence."""
    with torch.no_grad():
        hidden = model.hidden(
            model.embed(torch.tensor([ids]), model.encode_images(images)), model.positions(ids, images)[:, None]
        )
        logprobs = model.logprob_logits(hidden[0], temperature).log_softmax(-1)
    return [float(logprobs[index - 1, ids[index]]) for index in range(start, len(ids))]


async def one_turn(slot, tokens, sampling):
    try:
        return await slot.sample(tokens.ids, tokens.images, sampling)
    finally:
        slot.close()


async def sample_all(engine, prompts, samplings):
    async with engine.sequences([str(index) for index in range(len(prompts))]) as slots:
        return await asyncio.gather(*(one_turn(*each) for each in zip(slots, prompts, samplings)))


async def two_turns(model, slot, prompt, observation, sampling):
    """Both completions and the whole sequence with its images."""
    first = await slot.sample(prompt.ids, prompt.images, sampling)
    suffix = model.chat.observation(observation, ends_with_eos=first.finish == "eos")
    ids = (*prompt.ids, *first.ids, *suffix.ids)
    images = (*prompt.images, *suffix.images)
    second = await slot.sample(ids, images, sampling)
    slot.close()
    return first, second, (*ids, *second.ids), images, len(suffix.ids)


def test_logprobs_are_those_of_a_whole_forward_at_the_sampling_temperature(model, picture, prompt):
    tokens = prompt("What is written?", picture(1), picture(2, 64, 64))
    [done] = asyncio.run(sample_all(LocalEngine(model), [tokens], [Sampling(seed=3, max_tokens=12, temperature=0.7)]))
    expected = whole_forward_logprobs(model, [*tokens.ids, *done.ids], tokens.images, len(tokens.ids), temperature=0.7)
    assert done.logprobs == pytest.approx(expected, abs=1e-5)


def test_second_turn_with_a_new_image_has_the_logprobs_of_a_whole_forward(model, picture, prompt):
    tokens = prompt("Look closer", picture(1))
    engine = LocalEngine(model)

    async def run():
        async with engine.sequences(["a"]) as [slot]:
            return await two_turns(
                model,
                slot,
                tokens,
                Observation(text="Here it is", images=(picture(3),)),
                Sampling(seed=5, max_tokens=9),
            )

    first, second, ids, images, _ = asyncio.run(run())
    scores = whole_forward_logprobs(model, ids, images, len(tokens.ids))
    assert first.logprobs == pytest.approx(scores[: len(first.ids)], abs=1e-5)
    assert second.logprobs == pytest.approx(scores[-len(second.ids) :], abs=1e-5)


def test_a_trajectory_alone_has_the_same_tokens_as_in_a_batch_of_32(model, picture, prompt):
    prompts = [prompt("What is written? " * (1 + index % 5), picture(index % 7)) for index in range(32)]
    samplings = [Sampling(seed=100 + index, max_tokens=5 + index % 9) for index in range(32)]
    engine = LocalEngine(model)
    together = asyncio.run(sample_all(engine, prompts, samplings))
    for index in (0, 7, 31):
        [alone] = asyncio.run(sample_all(engine, [prompts[index]], [samplings[index]]))
        assert alone.ids == together[index].ids
        assert alone.logprobs == pytest.approx(together[index].logprobs, abs=1e-5)
        assert alone.finish == together[index].finish


def test_trajectories_that_join_one_by_one_have_the_tokens_of_a_batch(model, picture, prompt):
    prompts = [prompt(f"Question {index}", picture(index)) for index in range(6)]
    samplings = [Sampling(seed=index, max_tokens=10) for index in range(6)]
    together = asyncio.run(sample_all(LocalEngine(model), prompts, samplings))

    async def come_and_go():
        engine = LocalEngine(model, max_rows=2)
        async with engine.open_batch() as batch:
            tasks = []
            for index, (tokens, sampling) in enumerate(zip(prompts, samplings)):
                tasks.append(asyncio.ensure_future(one_turn(batch.join(str(index)), tokens, sampling)))
                for _ in range(3 * index):
                    await asyncio.sleep(0)
            leaver = asyncio.ensure_future(one_turn(batch.join("leaves"), prompts[0], Sampling(seed=9, max_tokens=200)))
            await asyncio.sleep(0)
            leaver.cancel()
            return await asyncio.gather(*tasks)

    assert [one.ids for one in asyncio.run(come_and_go())] == [one.ids for one in together]


def test_two_turn_trajectories_do_not_depend_on_their_batch(model, picture, prompt):
    engine = LocalEngine(model, max_rows=5)

    async def run(indices):
        async with engine.sequences([str(index) for index in indices]) as slots:
            return await asyncio.gather(
                *(
                    two_turns(
                        model,
                        slot,
                        prompt("What " * (1 + index % 3), picture(index % 2)),
                        Observation(text="Seen " * (index % 4), images=(picture(index),) * (index % 2)),
                        Sampling(seed=index, max_tokens=3 + index % 6),
                    )
                    for slot, index in zip(slots, indices)
                )
            )

    together = asyncio.run(run(range(12)))
    for index in range(12):
        [alone] = asyncio.run(run([index]))
        assert alone[2] == together[index][2]
        assert alone[1].logprobs == pytest.approx(together[index][1].logprobs, abs=1e-5)


def test_deterministic_mode_repeats_to_the_bit_whatever_the_tools_take(model, picture, prompt):
    async def with_tool(slot, index, waits):
        tokens = prompt("Look " * (1 + index), picture(index % 2))
        sampling = Sampling(seed=index, max_tokens=4 + index)
        first = await slot.sample(tokens.ids, tokens.images, sampling)
        await asyncio.sleep(waits[index])
        suffix = model.chat.observation(Observation(text="Seen"), ends_with_eos=first.finish == "eos")
        second = await slot.sample((*tokens.ids, *first.ids, *suffix.ids), tokens.images, sampling)
        await asyncio.sleep(waits[index])
        slot.close()
        return first, second

    async def run(waits):
        engine = LocalEngine(model, max_rows=3, deterministic=True)
        async with engine.sequences(list("abcdef")) as slots:
            done = await asyncio.gather(*(with_tool(slot, index, waits) for index, slot in enumerate(slots)))
        return done, engine.work

    assert asyncio.run(run([0, 0, 0, 0, 0, 0])) == asyncio.run(run([0.03, 0, 0.01, 0.02, 0, 0.04]))


def test_a_group_is_prefilled_once_and_its_image_encoded_once(model, picture, prompt):
    engine = LocalEngine(model)
    tokens = [prompt("Group A", picture(1))] * 8 + [prompt("The other group B", picture(2))] * 8
    asyncio.run(sample_all(engine, tokens, [Sampling(seed=index, max_tokens=1) for index in range(16)]))
    assert engine.images_encoded == 2
    assert engine.work == EngineWork(
        prompts_prefilled=2,
        prompts_shared=14,
        tokens_prefilled=len(tokens[0].ids) + len(tokens[8].ids),
        tokens_reused=7 * (len(tokens[0].ids) + len(tokens[8].ids)),
        tokens_sampled=16,
        decode_steps=1,
    )


def test_siblings_that_wait_for_a_row_still_share_the_prompt(model, picture, prompt):
    engine = LocalEngine(model, max_rows=2)
    both = [prompt("Group A", picture(1)), prompt("The other group B", picture(1))]
    samplings = [Sampling(seed=index, max_tokens=1 + index % 4) for index in range(12)]
    queued = asyncio.run(sample_all(engine, both * 6, samplings))
    assert engine.work.prompts_prefilled == 2
    assert engine.work.tokens_prefilled == len(both[0].ids) + len(both[1].ids)
    assert engine.images_encoded == 1
    at_once = asyncio.run(sample_all(LocalEngine(model), both * 6, samplings))
    assert [done.ids for done in queued] == [done.ids for done in at_once]


def test_same_text_with_another_image_is_another_prompt(model, picture, prompt):
    engine = LocalEngine(model)
    prompts = [prompt("Group", picture(1)), prompt("Group", picture(2))]
    assert prompts[0].ids == prompts[1].ids
    asyncio.run(sample_all(engine, prompts, [Sampling(seed=1, max_tokens=1)] * 2))
    assert engine.work.prompts_prefilled == 2


def test_a_later_turn_forwards_only_its_observation_and_the_token_before_it(model, picture, prompt):
    engine = LocalEngine(model)
    tokens = prompt("Look closer", picture(1))

    async def run():
        async with engine.sequences(["a"]) as [slot]:
            seen = Observation(text="Here it is", images=(picture(1),))
            return await two_turns(model, slot, tokens, seen, Sampling(seed=5, max_tokens=6))

    first, second, _, _, suffix_length = asyncio.run(run())
    assert engine.images_encoded == 1
    assert engine.work == EngineWork(
        prompts_prefilled=1,
        turns_continued=1,
        tokens_prefilled=len(tokens.ids) + 1 + suffix_length,
        tokens_decoded=len(first.ids) - 1 + len(second.ids) - 1,
        tokens_sampled=len(first.ids) + len(second.ids),
        decode_steps=len(first.ids) + len(second.ids),
    )


def test_new_weights_are_seen_and_images_encoded_anew(model, picture, prompt):
    engine = LocalEngine(model, policy_version=4)
    tokens = prompt("What?", picture(1))
    sampling = [Sampling(seed=1, max_tokens=4)]
    before = asyncio.run(sample_all(engine, [tokens], sampling))
    embeddings = model.hf.get_input_embeddings().weight
    kept = embeddings.detach().clone()
    with torch.no_grad():
        embeddings.mul_(1.5)
    try:
        engine.update_weights(model, 5)
        after = asyncio.run(sample_all(engine, [tokens], sampling))
    finally:
        with torch.no_grad():
            embeddings.copy_(kept)
    assert engine.policy_version == 5
    assert engine.images_encoded == 2
    assert after[0].logprobs != before[0].logprobs


def test_forgotten_images_are_encoded_anew_by_the_same_policy(model, picture, prompt):
    engine, tokens = LocalEngine(model), prompt("Look", picture(1), picture(2))
    sampling = Sampling(seed=1, max_tokens=4)
    first = asyncio.run(sample_all(engine, [tokens], [sampling]))
    engine.reset()
    assert asyncio.run(sample_all(engine, [tokens], [sampling])) == first
    assert (engine.images_encoded, engine.policy_version) == (4, 0)


def test_weights_must_not_change_while_sequences_are_open(model):
    engine = LocalEngine(model)

    async def run():
        async with engine.sequences(["a"]) as [slot]:
            slot.close()
            engine.update_weights(model, 1)

    with pytest.raises(SaccadeError, match="end their batch first"):
        asyncio.run(run())
    engine.update_weights(model, 1)
    assert engine.policy_version == 1


def test_a_stop_string_ends_the_turn_with_the_token_that_completes_it(model, prompt):
    tokens = prompt("What?")
    spell = TokenBytes(model.tokenizer)
    checked = 0
    for seed in range(20):
        [free] = asyncio.run(sample_all(LocalEngine(model), [tokens], [Sampling(seed=seed, max_tokens=12)]))
        spelled = [b"".join(spell[token] for token in free.ids[: count + 1]) for count in range(len(free.ids))]
        boundary = len(spelled[len(spelled) // 2])
        around = spelled[-1][boundary - 1 : boundary + 1]
        if not (around.isascii() and len(around) == 2):
            continue
        stop = around.decode()
        end = next(count + 1 for count, text in enumerate(spelled) if stop.encode() in text)
        sampling = Sampling(seed=seed, max_tokens=12, stop=("never written", stop))
        [done] = asyncio.run(sample_all(LocalEngine(model), [tokens], [sampling]))
        assert (done.ids, done.finish) == (free.ids[:end], "eos" if free.ids[end - 1] == model.eos_id else "stop")
        checked += 1
    assert checked >= 3


def test_a_complete_block_of_code_ends_the_turn_with_whole_tokens(model, prompt):
    rule = FencedActions(languages=("python",), tags=("code", "answer"), tag="code")
    text = "I run:\n```python\nprint(1)\n```\n\nOutput: 1"
    written = model.tokenizer.encode(text, add_special_tokens=False)
    left = {seed: list(written) for seed in range(3)}

    def draw(logits, samplings, uniforms):
        del logits, uniforms
        return [Drawn(token=left[sampling.seed].pop(0), logprob=-1.0) for sampling in samplings]

    samplings = [
        Sampling(seed=0, max_tokens=len(written), fenced_actions=rule),
        Sampling(seed=1, max_tokens=len(written)),
        Sampling(seed=2, max_tokens=len(written), fenced_actions=rule, opening="<think>\n"),
    ]
    cut, free, thinking = asyncio.run(sample_all(LocalEngine(model, draw=draw), [prompt("What?")] * 3, samplings))
    assert free.ids == thinking.ids == tuple(written)
    assert (cut.ids, cut.finish) == (tuple(written[: len(cut.ids)]), "stop")
    spell = TokenBytes(model.tokenizer)
    said = b"".join(spell[token] for token in cut.ids)
    assert b"```\n" in said
    assert b"```\n" not in said.removesuffix(spell[cut.ids[-1]])


def test_the_token_limit_ends_a_turn_by_length(model, prompt):
    [done] = asyncio.run(
        sample_all(LocalEngine(model), [prompt("What?")], [Sampling(seed=0, max_tokens=1, temperature=2.0)])
    )
    assert (len(done.ids), len(done.logprobs), done.finish) == (1, 1, "length")


def test_forbidden_tokens_are_never_sampled_even_at_high_temperature(model, prompt):
    forbidden = set(model.forbidden_ids.tolist())
    samplings = [Sampling(seed=index, max_tokens=30, temperature=50.0) for index in range(32)]
    done = asyncio.run(sample_all(LocalEngine(model), [prompt("What?")] * 32, samplings))
    assert forbidden.isdisjoint(token for each in done for token in each.ids)


def test_greedy_takes_the_likeliest_token_and_scores_it_at_temperature_one(model, picture, prompt):
    tokens = prompt("What?", picture(1))
    [done] = asyncio.run(sample_all(LocalEngine(model), [tokens], [Sampling(seed=0, max_tokens=6, temperature=0.0)]))
    [other] = asyncio.run(sample_all(LocalEngine(model), [tokens], [Sampling(seed=99, max_tokens=6, temperature=0.0)]))
    assert done == other
    expected = whole_forward_logprobs(model, [*tokens.ids, *done.ids], tokens.images, len(tokens.ids))
    assert done.logprobs == pytest.approx(expected, abs=1e-5)


def test_rows_of_different_temperatures_share_a_batch(model, prompt):
    tokens = prompt("What?")
    samplings = [Sampling(seed=1, max_tokens=5, temperature=t) for t in (0.0, 0.5, 1.0)]
    together = asyncio.run(sample_all(LocalEngine(model), [tokens] * 3, samplings))
    for sampling, done in zip(samplings, together):
        [alone] = asyncio.run(sample_all(LocalEngine(model), [tokens], [sampling]))
        assert alone.ids == done.ids
        assert alone.logprobs == pytest.approx(done.logprobs, abs=1e-5)


def test_sampling_leaves_nothing_that_a_training_step_could_stumble_over(model, picture, prompt):
    tokens = prompt("What?", picture(11))
    model.hf.train()
    try:
        asyncio.run(sample_all(LocalEngine(model), [tokens], [Sampling(seed=0, max_tokens=2)]))
        assert model.hf.training
        hidden = model.hidden(
            model.embed(torch.tensor([tokens.ids]), model.encode_images(tokens.images)),
            model.positions(tokens.ids, tokens.images)[:, None],
        )
        model.logprob_logits(hidden, 1.0).log_softmax(-1)[..., model.eos_id].sum().backward()
    finally:
        model.hf.zero_grad()
        model.hf.eval()


def test_long_prompts_are_prefilled_in_parts_with_the_same_outcome(model, picture, prompt):
    prompts = [prompt("What " * (1 + 7 * index), picture(index)) for index in range(6)]
    samplings = [Sampling(seed=index, max_tokens=3) for index in range(6)]
    narrow = LocalEngine(model, max_chunk_tokens=60)
    assert [done.ids for done in asyncio.run(sample_all(narrow, prompts, samplings))] == [
        done.ids for done in asyncio.run(sample_all(LocalEngine(model), prompts, samplings))
    ]


@pytest.mark.parametrize(
    ("model", "limits"),
    [
        ("qwen3_vl", {}),
        ("qwen3_vl", {"max_rows": 3}),
        ("qwen3_vl", {"cache_tokens": 150}),
        ("qwen2_5_vl", {}),
        ("internvl", {}),
    ],
    indirect=["model"],
)
def test_keys_and_values_in_pages_sample_the_same_bytes_as_in_rows(model, picture, prompt, monkeypatch, limits):
    monkeypatch.setenv(SWITCH, "0")

    async def run(engine):
        async with engine.sequences([str(index) for index in range(8)]) as slots:
            return await asyncio.gather(
                *(
                    two_turns(
                        model,
                        slot,
                        prompt("What " * (1 + 30 * (index // 4)), picture(index // 4)),
                        Observation(text="Seen " * (index % 3), images=(picture(index),) * (index % 2)),
                        Sampling(seed=index, max_tokens=30 + index),
                    )
                    for index, slot in enumerate(slots)
                )
            )

    paged, in_rows = (asyncio.run(run(LocalEngine(model, paged=kind, **limits))) for kind in (True, False))
    assert paged == in_rows


def test_limits_come_from_the_settings_of_a_run(model, picture, prompt):
    load = LoadSettings(device="cpu", engine=EngineSettings(max_rows=1, max_chunk_tokens=60, feature_mib=1))
    engine = local_engine(EngineContext(model=model, load=load))
    asyncio.run(sample_all(engine, [prompt("What?", picture(1))] * 4, [Sampling(seed=1, max_tokens=2)] * 4))
    # One row: each of the four decodes alone.
    assert engine.work.decode_steps == 8
    with pytest.raises(UserError, match="max_rows=0 must be a whole number of 1 or more"):
        EngineSettings(max_rows=0).check()


def test_a_tiny_feature_cache_changes_nothing_but_the_work(model, picture, prompt):
    prompts = [prompt("What?", picture(index), picture(index + 1)) for index in range(4)]
    samplings = [Sampling(seed=index, max_tokens=2) for index in range(4)]
    bounded = LocalEngine(model, max_rows=1, feature_bytes=1)
    generous = LocalEngine(model, max_rows=1)
    assert [done.ids for done in asyncio.run(sample_all(bounded, prompts, samplings))] == [
        done.ids for done in asyncio.run(sample_all(generous, prompts, samplings))
    ]
    assert (bounded.images_encoded, generous.images_encoded) == (8, 5)


def test_a_sequence_that_does_not_extend_the_one_before_is_refused(model, prompt):
    tokens = prompt("What?")

    async def run():
        async with LocalEngine(model).sequences(["a"]) as [slot]:
            sampling = Sampling(seed=0, max_tokens=2)
            await slot.sample(tokens.ids, (), sampling)
            with pytest.raises(ValueError, match="must extend"):
                await slot.sample(tokens.ids[:-1], (), sampling)
            with pytest.raises(ValueError, match="same in every turn"):
                await slot.sample(slot.ids, (), replace(sampling, seed=1))
            slot.close()
            with pytest.raises(ValueError, match="closed"):
                await slot.sample(slot.ids, (), sampling)

    asyncio.run(run())


def test_an_image_without_placeholders_is_refused_for_its_trajectory_alone(model, picture, prompt):
    tokens = prompt("What?")

    async def run():
        async with LocalEngine(model).sequences(["bad", "good"]) as [bad, good]:
            sampling = Sampling(seed=0, max_tokens=2)
            with pytest.raises(ValueError, match="0 image tokens for 1 images"):
                await bad.sample(tokens.ids, [picture(1)], sampling)
            bad.close()
            return await good.sample(tokens.ids, (), sampling)

    assert len(asyncio.run(run()).ids) == 2


def test_an_error_in_the_model_reaches_every_waiter(model, prompt):
    """NaN weights are what a diverged run gives the engine."""
    tokens = prompt("What?")
    norm = model.hf.model.language_model.norm.weight
    kept = norm.detach().clone()

    async def run():
        async with LocalEngine(model).sequences(["a", "b"]) as slots:
            asked = [slot.sample(tokens.ids, (), Sampling(seed=0)) for slot in slots]
            errors = await asyncio.gather(*asked, return_exceptions=True)
            with pytest.raises(SaccadeError, match="diverged"):
                await slots[0].sample(slots[0].ids, (), Sampling(seed=0))
        return errors

    with torch.no_grad():
        norm.fill_(float("nan"))
    try:
        errors = asyncio.run(asyncio.wait_for(run(), 10))
    finally:
        with torch.no_grad():
            norm.copy_(kept)
    assert [type(error) for error in errors] == [SaccadeError, SaccadeError]


def test_a_cancelled_trajectory_does_not_hold_up_the_others(model, prompt):
    tokens = prompt("What?")

    async def run():
        async with LocalEngine(model).sequences(["a", "b"]) as [first, second]:
            cancelled = asyncio.create_task(first.sample(tokens.ids, (), Sampling(seed=0, max_tokens=10_000)))
            finished = asyncio.create_task(second.sample(tokens.ids, (), Sampling(seed=1, max_tokens=30)))
            while len(first.ids) < len(tokens.ids) + 3:
                await asyncio.sleep(0)
            cancelled.cancel()
            done = await finished
            assert cancelled.cancelled() or cancelled.done()
            return done

    done = asyncio.run(asyncio.wait_for(run(), 20))
    [alone] = asyncio.run(sample_all(LocalEngine(model), [tokens], [Sampling(seed=1, max_tokens=30)]))
    assert done.ids == alone.ids


def test_leaving_early_closes_every_sequence_and_frees_the_engine(model, prompt):
    engine = LocalEngine(model)
    tokens = prompt("What?")

    async def abandon():
        async with engine.sequences(["a", "b"]) as [first, _]:
            waiting = asyncio.create_task(first.sample(tokens.ids, (), Sampling(seed=0)))
            await asyncio.sleep(0)
        with pytest.raises(SaccadeError, match="ended"):
            await waiting

    asyncio.run(asyncio.wait_for(abandon(), 10))
    [done] = asyncio.run(sample_all(engine, [tokens], [Sampling(seed=0, max_tokens=1)]))
    assert len(done.ids) == 1


def test_one_batch_of_sequences_at_a_time(model):
    engine = LocalEngine(model)

    async def nested():
        async with engine.sequences([]), engine.sequences([]):
            raise AssertionError("the second batch must not open")

    with pytest.raises(SaccadeError, match="one batch at a time"):
        asyncio.run(nested())


def test_without_determinism_a_slow_tool_delays_only_its_own(model, prompt):
    tokens = prompt("What?")
    order = []

    async def trajectory(slot, index):
        sampling = Sampling(seed=index, max_tokens=3)
        first = await slot.sample(tokens.ids, (), sampling)
        if index == 0:
            await asyncio.sleep(0.3)
        await slot.sample((*tokens.ids, *first.ids), (), sampling)
        slot.close()
        order.append(index)

    async def run():
        async with LocalEngine(model, deterministic=False).sequences(list("abc")) as slots:
            await asyncio.gather(*(trajectory(slot, index) for index, slot in enumerate(slots)))

    asyncio.run(run())
    assert order[-1] == 0
    assert sorted(order) == [0, 1, 2]


def test_an_engine_that_runs_out_of_memory_says_what_to_change(model, picture, prompt):
    def draw_too_much(*arguments, **others):
        return torch.empty(1 << 48)

    engine = LocalEngine(model, draw=draw_too_much)
    with pytest.raises(SaccadeError, match=r"sampling ran out of memory.*lower model\.engine\.max_rows, model\.engine"):
        asyncio.run(sample_all(engine, [prompt("What?", picture(1))], [Sampling(seed=3, max_tokens=4)]))
