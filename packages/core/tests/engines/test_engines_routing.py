"""Experts that the engine records: those of one plain forward, however prompts were shared and turns continued."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
import torch

from saccade.engines.engine import Engine, EngineContext, Sampling, SequenceSlot
from saccade.engines.local import LocalEngine
from saccade.engines.process import ProcessEngine
from saccade.errors import SaccadeError
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.loading import LoadSettings
from saccade.models.routing import RecordedRouting
from saccade.models.vlm import VisionLanguageModel
from saccade.types import ImageRef, Message, Observation, Tokens
from saccade.waiting import run_to_end

SAMPLING = Sampling(seed=0, max_tokens=7, records_experts=True)


@pytest.fixture(scope="module")
def experts_model(media: MediaStore) -> VisionLanguageModel:
    size = TinySize(hidden=32, mlp=96, vision_hidden=32, vision_mlp=48, deepstack=True)
    return tiny_model(["What is on the red plate?"] * 9, media, family="qwen3_vl_moe", size=size, vocab_size=320)


@dataclass(frozen=True)
class Recorded:
    """A context with the experts that completions told of it."""

    ids: tuple[int, ...]
    images: tuple[ImageRef, ...]
    routed_experts: bytes


async def recorded(
    slot: SequenceSlot, model: VisionLanguageModel, asked: Tokens, look: ImageRef, seed: int
) -> list[Recorded]:
    """Two contexts of two turns."""
    found = []
    for begins_anew in (False, True):
        ids, images, told = list(asked.ids), list(asked.images), b""
        for turn in range(2):
            sampling = replace(SAMPLING, seed=seed, begins_anew=begins_anew and turn == 0)
            done = await slot.sample(ids, images, sampling)
            ids, told = [*ids, *done.ids], told + done.routed_experts
            if turn == 0:
                seen = model.chat.observation(
                    Observation(text="Here", images=(look,)), ends_with_eos=done.finish == "eos"
                )
                ids, images = [*ids, *seen.ids], [*images, *seen.images]
        found.append(Recorded(tuple(ids), tuple(images), told))
    slot.close()
    return found


def played(engine: Engine, model: VisionLanguageModel, prompts: Sequence[Tokens], look: ImageRef) -> list[Recorded]:
    async def play() -> list[Recorded]:
        async with engine.sequences([f"row/{index}" for index in range(len(prompts))]) as slots:
            told = await asyncio.gather(
                *(recorded(slot, model, asked, look, seed) for seed, (slot, asked) in enumerate(zip(slots, prompts)))
            )
        return [one for contexts in told for one in contexts]

    return run_to_end(play())


@torch.no_grad()
def plainly_routed(model: VisionLanguageModel, one: Recorded) -> bytes:
    """Those that one forward of the whole context chooses."""
    assert model.experts is not None
    seen = RecordedRouting(model.experts)
    embedded = model.embed(torch.tensor([one.ids]), model.encode_images(one.images))
    model.hidden(embedded, model.positions(one.ids, one.images)[:, None], routing=seen)
    return seen.packed()[:-1].tobytes()


@pytest.fixture(scope="module")
def prompts(experts_model: VisionLanguageModel, picture) -> list[Tokens]:
    """Two that are one, and two that begin alike with more than is worth a copy."""
    long = "Look at the plate. " * 60
    texts = ["What is on the red plate?"] * 2 + [f"{long}What?", f"{long}Which plate?"]
    return [
        experts_model.chat.prompt([Message(role="user", parts=(picture(1), picture(2, 64, 96), text))])
        for text in texts
    ]


@pytest.mark.parametrize("paged", [False, True])
def test_experts_are_those_of_one_plain_forward(experts_model, prompts, picture, paged: bool) -> None:
    # With fewer rows than trajectories slots are given back and taken over.
    engine = LocalEngine(experts_model, max_rows=3, max_chunk_tokens=256, paged=paged)
    found = played(engine, experts_model, prompts, picture(3))
    assert engine.work.prompts_shared > 0
    assert engine.work.tokens_reused > 0
    assert len({one.ids for one in found}) == 8
    for one in found:
        assert one.routed_experts == plainly_routed(experts_model, one)


def test_the_engine_in_a_process_of_its_own_tells_the_same(experts_model, prompts, picture) -> None:
    local = played(LocalEngine(experts_model), experts_model, prompts, picture(3))
    engine = ProcessEngine(EngineContext(model=experts_model, load=LoadSettings(device="cpu")))
    try:
        assert played(engine, experts_model, prompts, picture(3)) == local
    finally:
        asyncio.run(engine.aclose())


def test_recording_changes_nothing_that_is_sampled_and_is_left_out_where_nobody_asks(experts_model, prompts) -> None:
    async def sampled(engine: LocalEngine, sampling: Sampling):
        async with engine.sequences(["a"]) as [slot]:
            return await slot.sample(prompts[0].ids, prompts[0].images, sampling)

    silent, telling = (
        asyncio.run(sampled(LocalEngine(experts_model), replace(SAMPLING, records_experts=asks)))
        for asks in (False, True)
    )
    assert silent.routed_experts == b""
    assert telling.routed_experts
    assert replace(telling, routed_experts=b"") == silent


def test_a_batch_in_which_some_turns_ask_is_refused(experts_model, model, prompts) -> None:
    asks, does_not = SAMPLING, replace(SAMPLING, records_experts=False)

    async def in_turn(chosen: VisionLanguageModel, first: Sampling, second: Sampling) -> None:
        asked = chosen.chat.prompt([Message(role="user", parts=("Which plate?",))])
        async with LocalEngine(chosen).sequences(["a"]) as [slot]:
            done = await slot.sample(asked.ids, (), first)
            await slot.sample((*asked.ids, *done.ids, *asked.ids), (), second)

    with pytest.raises(SaccadeError, match="all turns of a batch must ask for the experts"):
        asyncio.run(in_turn(experts_model, does_not, asks))
    with pytest.raises(SaccadeError, match="no routing can be recorded in"):
        asyncio.run(in_turn(model, asks, asks))
