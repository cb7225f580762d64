"""Conformance of an engine: what trainer and evaluations rely on, tried on a real model.

``check_engine`` raises AssertionError with the first thing that is wrong. Log-probabilities are compared with those of
the model itself, in one forward over all that was said.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from saccade.engines.engine import Completion, Engine, Sampling, ScoreRequest, SequenceSlot
from saccade.engines.sampling import StopFinder, TokenBytes
from saccade.errors import SaccadeError
from saccade.models.vlm import VisionLanguageModel
from saccade.types import ImageRef, Message
from saccade.waiting import run_to_end

TURNS = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """A trajectory of several turns, each with a picture of its own."""

    ids: tuple[int, ...]
    images: tuple[ImageRef, ...]
    turns: tuple[tuple[int, Completion], ...]
    """Where each turn begins, and what was sampled."""


def check_engine(
    engine: Engine, model: VisionLanguageModel, pictures: Sequence[ImageRef], *, bound: float, max_tokens: int = 12
) -> float:
    """The largest distance to the model's own log-probabilities, in nats; at least ``TURNS`` pictures are needed."""
    assert len(pictures) >= TURNS, f"{len(pictures)} pictures are given, {TURNS} are needed"
    run_to_end(_refusals(engine, model, pictures[0]))
    run_to_end(_leaving(engine, model, pictures[0]))
    gaps = [run_to_end(_scores(engine, model, pictures))]
    for temperature in (1.0, 0.7, 0.0):
        stops = ("e", "is") if temperature == 0.7 else ()
        samplings = [
            Sampling(seed=seed, max_tokens=max_tokens, temperature=temperature, stop=stops) for seed in range(3)
        ]
        played = play(engine, model, pictures, samplings)
        gaps += [gap_of(model, said, temperature or 1.0) for said in played]
        for said, sampling in zip(played, samplings, strict=True):
            for _, turn in said.turns:
                _check_end(model, turn, sampling)
        if temperature:
            assert len({said.ids for said in played}) > 1, "trajectories with different seeds have the same tokens"
            again = play(engine, model, pictures, samplings)
            assert [said.ids for said in again] == [said.ids for said in played], "the same seeds give other tokens"
    assert max(gaps) <= bound, f"engine and model are {max(gaps):.2g} nats apart, more than {bound}"
    return max(gaps)


def play(
    engine: Engine, model: VisionLanguageModel, pictures: Sequence[ImageRef], samplings: Sequence[Sampling]
) -> list[Said]:
    """One trajectory for each sampling, all at the same time."""

    async def all_of_them() -> list[Said]:
        async with engine.sequences([f"checked/{index}" for index in range(len(samplings))]) as slots:
            return await asyncio.gather(
                *(
                    _sample_turns(slot, model, pictures, sampling)
                    for slot, sampling in zip(slots, samplings, strict=True)
                )
            )

    return run_to_end(all_of_them())


async def _sample_turns(
    slot: SequenceSlot, model: VisionLanguageModel, pictures: Sequence[ImageRef], sampling: Sampling
) -> Said:
    ids: list[int] = []
    images: list[ImageRef] = []
    turns: list[tuple[int, Completion]] = []
    for picture in pictures[:TURNS]:
        shown = _picture_prompt(model, picture)
        ids += shown
        images.append(picture)
        done = await slot.sample(ids, images, sampling)
        turns.append((len(ids), done))
        ids += done.ids
    slot.close()
    return Said(ids=tuple(ids), images=tuple(images), turns=tuple(turns))


def _picture_prompt(model: VisionLanguageModel, picture: ImageRef) -> tuple[int, ...]:
    return model.chat.prompt([Message(role="user", parts=(picture, "What is written there?"))]).ids


@torch.no_grad()
def gap_of(model: VisionLanguageModel, said: Said, temperature: float) -> float:
    """The largest |log p of the engine - log p of the model| over what was sampled."""
    embedded = model.embed(torch.tensor([said.ids], device=model.device), model.encode_images(said.images))
    positions = model.positions(said.ids, said.images)[:, None].to(model.device)
    logprobs = model.logprob_logits(model.hidden(embedded, positions)[0], temperature).log_softmax(dim=-1)
    worst = 0.0
    for begin, turn in said.turns:
        for place, (token, logprob) in enumerate(zip(turn.ids, turn.logprobs, strict=True)):
            worst = max(worst, abs(float(logprobs[begin + place - 1, token]) - logprob))
    return worst


def _check_end(model: VisionLanguageModel, turn: Completion, sampling: Sampling) -> None:
    """The turn ends with the first token that completes a stop string, the end of turn, or the limit."""
    forbidden = set(model.forbidden_ids.tolist()) & set(turn.ids)
    assert not forbidden, f"tokens {sorted(forbidden)} were sampled, which only an environment may write"
    spelled, stops = TokenBytes(model.tokenizer), StopFinder(sampling.stop, sampling.fenced_actions, sampling.opening)
    for place, token in enumerate(turn.ids, start=1):
        completes = stops.completes(spelled[token])
        end = "eos" if token in model.end_ids else "stop" if completes else None
        if end is None and place == sampling.max_tokens:
            end = "length"
        is_last = place == len(turn.ids)
        assert (end == turn.finish) if is_last else end is None, f"token {place} is {end}, the turn says {turn.finish}"


async def _refusals(engine: Engine, model: VisionLanguageModel, picture: ImageRef) -> None:
    """What makes no sense is refused before anything is sampled, and the slot goes on."""
    shown = _picture_prompt(model, picture)
    sampling = Sampling(seed=1, max_tokens=2)
    async with engine.sequences(["checked/refusals"]) as [slot]:
        with _raises(ValueError, "image tokens for 0 images"):
            await slot.sample(shown, (), sampling)
        with _raises(ValueError, "max_tokens=0"):
            await slot.sample(shown, (picture,), Sampling(seed=1, max_tokens=0))
        done = await slot.sample(shown, (picture,), sampling)
        with _raises(ValueError, "must extend"):
            await slot.sample(shown, (picture,), sampling)
        with _raises(ValueError, "the same in every turn"):
            await slot.sample((*shown, *done.ids, *shown), (picture, picture), Sampling(seed=2))
        with _raises(SaccadeError, "another batch is open"):
            async with engine.sequences(["checked/second"]):
                pass
        with _raises(SaccadeError, "weights changed while"):
            engine.update_weights(model, engine.policy_version + 1)
        slot.close()
        slot.close()
        with _raises(ValueError, "closed"):
            await slot.sample((*shown, *done.ids, *shown), (picture, picture), sampling)


async def _leaving(engine: Engine, model: VisionLanguageModel, picture: ImageRef) -> None:
    """A turn that is cancelled ends its own trajectory only."""
    shown = _picture_prompt(model, picture)
    for seed in range(20):
        async with engine.sequences([f"checked/cancelled/{seed}", f"checked/stays/{seed}"]) as [leaves, stays]:
            leaving = asyncio.create_task(leaves.sample(shown, (picture,), Sampling(seed=seed, max_tokens=2000)))
            staying = asyncio.create_task(stays.sample(shown, (picture,), Sampling(seed=20 + seed, max_tokens=3)))
            await asyncio.sleep(0.01)
            was_under_way = leaving.cancel()
            done = await staying
            assert len(done.ids) == len(done.logprobs) >= 1
            stays.close()
            if was_under_way:
                with _raises(asyncio.CancelledError):
                    await leaving
                return
            await leaving
    raise AssertionError("each of 20 turns of up to 2,000 tokens ended before it could be cancelled")


async def _scores(engine: Engine, model: VisionLanguageModel, pictures: Sequence[ImageRef]) -> float:
    """Scores are over the whole vocabulary."""
    shown = _picture_prompt(model, pictures[0])
    ids = (*shown, *model.chat.encode("It is too small to read."))
    request = ScoreRequest(ids=ids, images=(pictures[0],), start=len(shown))
    [scores, again] = await engine.score_batch([request, request])
    assert max(abs(one - other) for one, other in zip(scores, again, strict=True)) < 1e-4, "one text has two scores"
    with _raises(ValueError, "start="):
        await engine.score(ids, (pictures[0],), len(ids) + 1)
    with torch.no_grad():
        embedded = model.embed(torch.tensor([ids], device=model.device), model.encode_images(pictures[:1]))
        hidden = model.hidden(embedded, model.positions(ids, pictures[:1])[:, None].to(model.device))[0]
        logprobs = model.head_logits(hidden).float().log_softmax(dim=-1)
    expected = [float(logprobs[place - 1, ids[place]]) for place in range(len(shown), len(ids))]
    return max(abs(ours - theirs) for ours, theirs in zip(expected, scores, strict=True))


@contextmanager
def _raises(kind: type[BaseException], words: str = "") -> Iterator[None]:
    """AssertionError unless what is inside raises this, with these words in its message."""
    said: str | None = None
    try:
        yield
    except kind as error:
        said = str(error)
    assert said is not None, f"no {kind.__name__} was raised that says {words!r}"
    assert words in said, f"{words!r} is missing in the message: {said}"
