"""The engine of ``docs/add/engine.md`` samples what the local one samples."""

import asyncio
import re
import runpy
import sys
from dataclasses import fields

import pytest

from places import ROOT
from saccade.config.context import RecipeContext
from saccade.engines.engine import Abilities, EngineContext, Sampling, abilities_of, candidates
from saccade.engines.local import LocalEngine
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.loading import LoadSettings
from saccade.types import Message

PAGE = ROOT / "docs/add/engine.md"
QUESTION = "What is on the red plate?"


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """What the page's two files define, each saved under the name that the page gives it."""
    folder = tmp_path_factory.mktemp("page")
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    for name, block in zip(("my_engine.py", "my_recipe.py"), blocks, strict=True):
        (folder / name).write_text(block, encoding="utf-8")
    sys.path.insert(0, str(folder))
    try:
        yield runpy.run_path(str(folder / "my_recipe.py"))
    finally:
        sys.path.remove(str(folder))
        del sys.modules["my_engine"]


def test_the_engine_of_the_page_samples_and_scores_as_the_local_one(shown, media, picture):
    policy = tiny_model([QUESTION] * 9, media, size=TinySize(layers=2), vocab_size=512)
    engine = shown["PlainEngine"](EngineContext(model=policy, load=LoadSettings(device="cpu")))
    tokens = policy.chat.prompt([Message(role="user", parts=(picture(1), QUESTION))])
    texts = [policy.chat.encode(text) for text in ("red", "plate")]

    async def done(engine):
        async with engine.sequences(["a"]) as [slot]:
            first = await slot.sample(tokens.ids, tokens.images, Sampling(seed=3, max_tokens=6))
            ids = (*tokens.ids, *first.ids, *policy.chat.encode(QUESTION))
            second = await slot.sample(ids, tokens.images, Sampling(seed=3, max_tokens=4, stop=("e",)))
            slot.close()
        scores = await engine.score_batch(candidates(tokens, texts), temperature=2.0)
        return first, second, scores, await engine.score((*tokens.ids, *texts[0]), tokens.images, len(tokens.ids))

    here, there = asyncio.run(done(engine)), asyncio.run(done(LocalEngine(policy)))
    for mine, theirs in zip(here[:2], there[:2]):
        assert (mine.ids, mine.finish) == (theirs.ids, theirs.finish)
        assert mine.logprobs == pytest.approx(theirs.logprobs, abs=1e-4)
    for mine, theirs in zip((*here[2], here[3]), (*there[2], there[3]), strict=True):
        assert mine == pytest.approx(theirs, abs=1e-4)
    engine.update_weights(policy, 7)
    assert engine.policy_version == 7


def test_optional_members_are_on_the_page_and_none_is_needed(shown, media):
    assert [one.name for one in fields(Abilities) if f"| `{one.name}" not in PAGE.read_text(encoding="utf-8")] == []
    policy = tiny_model([QUESTION] * 9, media, size=TinySize(layers=2), vocab_size=512)
    plain = shown["PlainEngine"](EngineContext(model=policy, load=LoadSettings(device="cpu")))
    assert abilities_of(plain) == Abilities()
    local = LocalEngine(policy)
    assert abilities_of(local) == Abilities(
        records_experts=True,
        expect_weights=local.expect_weights,
        open_batch=local.open_batch,
        take_prefilled=local.take_prefilled,
        take_drafted=local.take_drafted,
    )


def test_the_recipe_of_the_page_has_its_engine(shown):
    assert shown["plain"](RecipeContext()).engine is shown["PlainEngine"]
