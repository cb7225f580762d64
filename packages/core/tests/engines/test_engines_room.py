"""As many open rows as memory has room for: what gives its row up goes on with the same tokens."""

import asyncio
from dataclasses import replace

import pytest
import torch

from saccade.engines import pages
from saccade.engines.engine import Sampling
from saccade.engines.local import LocalEngine
from saccade.engines.pages import PAGE, PageMemory
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.types import Message, Observation

LIMIT = 9
"""Pages for six rows, of which each comes to five."""


@pytest.fixture(scope="module", params=["qwen2_5_vl", "qwen3_vl_moe", "qwen3_5"])
def speaker(request, media):
    size = TinySize(hidden=32, mlp=96, vision_hidden=32, vision_mlp=48, deepstack=request.param == "qwen3_vl_moe")
    return tiny_model(["What is on the red plate?"] * 9, media, family=request.param, size=size, vocab_size=320)


def played(engine, picture):
    """Two turns of six rows in two groups, a picture before each turn."""
    model = engine.model

    async def trajectory(slot, row):
        asked = model.chat.prompt([Message(role="user", parts=(picture(row // 3), "the red plate"))])
        sampling = Sampling(seed=row, max_tokens=100, records_experts=model.experts is not None)
        first = await slot.sample(asked.ids, asked.images, sampling)
        seen = model.chat.observation(Observation(text="Here", images=(picture(7),)), ends_with_eos=False)
        ids, images = (*asked.ids, *first.ids, *seen.ids), (*asked.images, *seen.images)
        turns = first, await slot.sample(ids, images, replace(sampling, max_tokens=90))
        slot.close()
        return turns

    async def play():
        async with engine.sequences([str(row) for row in range(6)]) as slots:
            return await asyncio.gather(*(trajectory(slot, row) for row, slot in enumerate(slots)))

    return [turn for turns in asyncio.run(play()) for turn in turns]


def assert_same(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        assert (one.ids, one.finish, one.routed_experts) == (other.ids, other.finish, other.routed_experts)
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)


@pytest.mark.parametrize("paged", [False, True], ids=["rows", "pages"])
def test_rows_that_give_way_go_on_with_the_same_tokens(speaker, picture, paged):
    free, bound = LocalEngine(speaker, paged=paged), LocalEngine(speaker, paged=paged, cache_tokens=600)
    assert_same(played(bound, picture), played(free, picture))
    # Three rows of some two hundred tokens were open, and what gave way was forwarded anew.
    assert bound.work.tokens_prefilled > free.work.tokens_prefilled
    assert bound.work.decode_steps > free.work.decode_steps
    assert bound.work.tokens_sampled == free.work.tokens_sampled


def test_a_device_that_is_nearly_full_opens_fewer_rows(speaker, picture, monkeypatch):
    monkeypatch.setattr(PageMemory, "_addable", lambda self, wanted: min(wanted, max(0, LIMIT - self.page_count)))
    full = LocalEngine(speaker, paged=True, deterministic=False)
    ours, most = played(full, picture), full._pages
    monkeypatch.undo()
    roomy = LocalEngine(speaker, paged=True, deterministic=False)
    assert_same(ours, played(roomy, picture))
    assert most <= LIMIT < roomy._pages
    assert full.work.decode_steps > roomy.work.decode_steps


def test_free_tokens_are_of_pages_that_nobody_has_and_of_those_that_fit_beside_them(monkeypatch):
    monkeypatch.setattr(pages, "_FIRST_PAGES", 8)
    memory = PageMemory(2, 1, 16, torch.float32, torch.device("cpu"))
    page_bytes = 2 * 3 * PAGE * 16 * 4
    memory.room = lambda: 5 * page_bytes + 1
    # Before there is a pool.
    assert memory.free_tokens(3 * PAGE) == 5 * PAGE
    memory.cover([0], [2 * PAGE])
    # One is the spare page.
    assert memory.page_count == 5
    assert memory.free_tokens(2 * PAGE) == 2 * PAGE
    assert memory.free_tokens(2 * PAGE + 1) == 7 * PAGE
    memory.room = lambda: -1
    assert memory.free_tokens(9 * PAGE) == 2 * PAGE
