"""Scores of given texts: those of a plain forward of transformers' model, and no work done twice for them."""

import asyncio

import pytest
import torch

from saccade.engines.engine import Sampling, ScoreRequest, candidates
from saccade.engines.local import LocalEngine
from saccade.errors import SaccadeError
from saccade.types import Observation


@pytest.fixture
def plain_scores(model, plain_logits):
    """log p of ids[start:] over the whole vocabulary, from one forward of transformers' model."""

    def scores(ids, images, start, temperature=1.0):
        logprobs = (plain_logits(model, ids, images) / temperature).log_softmax(-1)
        return [float(logprobs[index - 1, ids[index]]) for index in range(start, len(ids))]

    return scores


def scored(engine, requests, **options):
    return asyncio.run(engine.score_batch(requests, **options))


def test_a_score_is_that_of_a_plain_forward(model, picture, prompt, plain_scores):
    tokens = prompt("What is written?", picture(1), picture(2))
    text = model.chat.encode("<think>It is red.</think>")
    ids = (*tokens.ids, *text)
    [one] = scored(LocalEngine(model), [ScoreRequest(ids=ids, images=tokens.images, start=len(tokens.ids))])
    assert one == pytest.approx(plain_scores(ids, tokens.images, len(tokens.ids)), abs=1e-4)
    alone = asyncio.run(LocalEngine(model).score(ids, tokens.images, len(tokens.ids)))
    assert alone == one


def test_candidates_after_one_prompt_have_the_scores_of_plain_forwards(model, picture, prompt, plain_scores):
    tokens = prompt("What is written?", picture(1), picture(2, 200, 90))
    texts = [model.chat.encode(text) for text in ("red", "It is too small to read.", "", "r", "rows " * 30)]
    together = scored(LocalEngine(model, max_rows=2), candidates(tokens, texts))
    assert [len(scores) for scores in together] == [len(text) for text in texts]
    for text, scores in zip(texts, together):
        expected = plain_scores((*tokens.ids, *text), tokens.images, len(tokens.ids))
        assert scores == pytest.approx(expected, abs=1e-4)


def test_a_shared_prompt_is_forwarded_once_and_an_image_encoded_once(model, picture, prompt):
    tokens = prompt("What is written?", picture(1))
    texts = [model.chat.encode("It is too small to read." + " again" * count) for count in range(6)]
    engine = LocalEngine(model)
    scored(engine, candidates(tokens, texts))
    assert engine.images_encoded == 1
    # From a text's last token nothing follows that is asked for.
    assert engine.work.tokens_scored == len(tokens.ids) + sum(len(text) - 1 for text in texts)


def test_texts_after_different_prompts_come_back_in_order(model, picture, prompt, plain_scores):
    asked = [prompt("What " * (1 + index % 3), picture(index % 2)) for index in range(6)]
    requests = [
        request for tokens, word in zip(asked, "abcabc") for request in candidates(tokens, [model.chat.encode(word)])
    ]
    for request, scores in zip(requests, scored(LocalEngine(model), requests)):
        assert scores == pytest.approx(plain_scores(request.ids, request.images, request.start), abs=1e-4)


def test_a_text_with_an_image_inside_is_scored_like_any_other(model, picture, prompt, plain_scores):
    tokens = prompt("Look closer", picture(1))
    turns = [
        (
            *model.chat.encode(said),
            *model.chat.observation(Observation(text="Here", images=(picture(3),)), ends_with_eos=False).ids,
        )
        for said in ("a", "What is")
    ]
    images = (*tokens.images, picture(3))
    requests = [ScoreRequest(ids=(*tokens.ids, *turn), images=images, start=len(tokens.ids)) for turn in turns]
    for request, scores in zip(requests, scored(LocalEngine(model), requests)):
        assert scores == pytest.approx(plain_scores(request.ids, images, request.start), abs=1e-4)


def test_a_temperature_divides_the_logits(model, picture, prompt, plain_scores):
    tokens = prompt("What?", picture(1))
    texts = [model.chat.encode("red plate"), model.chat.encode("rows")]
    for text, scores in zip(texts, scored(LocalEngine(model), candidates(tokens, texts), temperature=0.5)):
        expected = plain_scores((*tokens.ids, *text), tokens.images, len(tokens.ids), temperature=0.5)
        assert scores == pytest.approx(expected, abs=1e-4)
    for temperature in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="must be a finite number above 0"):
            scored(LocalEngine(model), candidates(tokens, texts), temperature=temperature)


def test_text_that_only_the_environment_may_write_has_a_finite_score(model, prompt, plain_scores):
    tokens = prompt("What?")
    text = (int(model.forbidden_ids[0]), *model.chat.encode("red"))
    [scores, _] = scored(LocalEngine(model), candidates(tokens, [text, text[:1]]))
    assert scores == pytest.approx(plain_scores((*tokens.ids, *text), (), len(tokens.ids)), abs=1e-4)
    assert all(-1e4 < score < 0 for score in scores)


def test_a_sampled_turn_is_at_least_as_likely_under_the_policy_as_its_score(model, picture, prompt):
    tokens = prompt("What?", picture(1))
    engine = LocalEngine(model)

    async def run():
        async with engine.sequences(["a"]) as [slot]:
            done = await slot.sample(tokens.ids, tokens.images, Sampling(seed=3, max_tokens=8))
            slot.close()
        return done, await engine.score((*tokens.ids, *done.ids), tokens.images, len(tokens.ids))

    done, scores = asyncio.run(run())
    assert all(sampled >= score - 1e-5 for sampled, score in zip(done.logprobs, scores, strict=True))


def test_scoring_beside_open_sequences_changes_neither(model, picture, prompt):
    tokens, other = prompt("What is written?", picture(1)), prompt("Which?", picture(1), picture(4))
    requests = candidates(other, [model.chat.encode("red"), model.chat.encode("rows of it")])

    async def run(engine, *, scores_meanwhile):
        async with engine.sequences(["a", "b"]) as slots:
            turns = [
                asyncio.create_task(slot.sample(tokens.ids, tokens.images, Sampling(seed=index, max_tokens=12)))
                for index, slot in enumerate(slots)
            ]
            found = []
            while scores_meanwhile and not all(turn.done() for turn in turns):
                await asyncio.sleep(0)
                found.append(await engine.score_batch(requests))
            done = await asyncio.gather(*turns)
            for slot in slots:
                slot.close()
        return done, found

    undisturbed, _ = asyncio.run(run(LocalEngine(model), scores_meanwhile=False))
    disturbed, found = asyncio.run(run(LocalEngine(model), scores_meanwhile=True))
    assert disturbed == undisturbed
    assert len(found) > 1
    assert set(found) == {scored(LocalEngine(model), requests)}


def test_a_score_does_not_depend_on_what_was_scored_before(model, picture, prompt):
    """To the bit: an image's features may move by rounding with those that it is encoded beside, so it is alone."""
    both = prompt("Which?", picture(1), picture(2, 200, 90), picture(5, 64, 300))
    requests = candidates(both, [model.chat.encode("red"), model.chat.encode("rows of it")])
    earlier = candidates(prompt("What?", picture(2, 200, 90)), [model.chat.encode("red")] * 2)
    engine = LocalEngine(model)
    scored(engine, earlier)
    forwards: list[object] = []
    counting = model.family.vision_modules(model.hf)[0].register_forward_pre_hook(lambda *seen: forwards.append(seen))
    with counting:
        fresh = scored(LocalEngine(model), requests)
    assert len(forwards) == 3
    assert scored(engine, requests) == fresh


def test_new_weights_give_new_scores(model, picture, prompt):
    """An image is encoded anew when the weights have changed."""
    tokens = prompt("What?", picture(1))
    requests = candidates(tokens, [model.chat.encode("red"), model.chat.encode("rows")])
    engine = LocalEngine(model)
    before = scored(engine, requests)
    weights = next(iter(model.family.vision_modules(model.hf)[0].parameters()))
    kept = weights.detach().clone()
    try:
        with torch.no_grad():
            weights += torch.randn(weights.shape, generator=torch.Generator().manual_seed(1))
        assert scored(engine, requests) == before, "features are kept while the version is the same"
        engine.update_weights(model, 1)
        assert scored(engine, requests) != before
    finally:
        weights.data = kept


def test_requests_that_make_no_sense_are_refused(model, picture, prompt):
    tokens = prompt("What?", picture(1))
    engine = LocalEngine(model)
    for start, message in ((0, "start=0"), (len(tokens.ids) + 1, "must be between 1 and the")):
        with pytest.raises(ValueError, match=message):
            asyncio.run(engine.score(tokens.ids, tokens.images, start))
    inside = tokens.ids.index(model.image_token_id) + 1
    with pytest.raises(ValueError, match=f"start={inside} lies inside an image"):
        asyncio.run(engine.score(tokens.ids, tokens.images, inside))
    with pytest.raises(ValueError, match=r"image tokens for 0 images of 0 tokens"):
        asyncio.run(engine.score(tokens.ids, (), len(tokens.ids)))
    assert scored(engine, []) == ()
    assert asyncio.run(engine.score(tokens.ids, tokens.images, len(tokens.ids))) == ()


def test_a_model_in_training_is_scored_without_dropout_and_stays_in_training(model, picture, prompt):
    tokens = prompt("What?", picture(1))
    requests = candidates(tokens, [model.chat.encode("red"), model.chat.encode("rows")])
    expected = scored(LocalEngine(model), requests)
    model.hf.train()
    try:
        assert scored(LocalEngine(model), requests) == expected
        assert model.hf.training
    finally:
        model.hf.eval()


def test_diverged_weights_are_an_error_and_no_score(model, prompt):
    tokens = prompt("What?")
    head = model.hf.lm_head.weight
    kept = head.detach().clone()
    try:
        head.data = torch.full_like(kept, torch.nan)
        with pytest.raises(SaccadeError, match="no finite log-probabilities"):
            scored(LocalEngine(model), candidates(tokens, [model.chat.encode("red")]))
    finally:
        head.data = kept
