"""Samples and scores by adapters as they were saved, on models that share the base's weights."""

import asyncio
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from saccade.engines.engine import Sampling, SequenceSlot
from saccade.engines.local import LocalEngine, limited_engine
from saccade.errors import UserError
from saccade.learner.logprobs import action_states
from saccade.learner.sequences import TrainingSequence
from saccade.models.checkpoint import EngineSettings
from saccade.models.lora import LoraSettings, add_adapter, put_adapter
from saccade.models.vlm import VisionLanguageModel
from saccade.seeding import seed_for
from saccade.serving.tinker.adapters import AdapterWeights
from saccade.serving.tinker.answers import SampledText, TopScores, sample_answer
from saccade.types import Json, Tokens

_MOST_TOP = 100
_AT_ONCE = 1 << 24
"""Logits that exist at once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedSampling:
    """What one request asks for beside its prompt."""

    count: int
    max_tokens: int | None
    temperature: float
    top_p: float
    top_k: int
    seed: int
    stop: tuple[str, ...]
    scores_prompt: bool
    scored_last: int | None
    """Of the prompt's tokens only the last so many are scored; None: all."""
    top_of_prompt: int
    top_of_samples: int

    @classmethod
    def of(cls, body: dict[str, Json], model: VisionLanguageModel, *, most_samples: int) -> "AskedSampling":
        """UserError for what makes no sense, and for what this server cannot do."""
        for name in ("target_prompt_logprobs", "prompt_alt_tokens_k", "record_stability_info"):
            if body.get(name):
                raise UserError(f"{name} is not served here; leave it out")
        params = body.get("sampling_params")
        given = {**params} if isinstance(params, dict) else {}
        top_k = _whole("top_k", given.get("top_k", -1), -1, model.vocab_size)
        last = body.get("prompt_logprobs_last_n")
        seed = given.get("seed")
        limit = given.get("max_tokens")
        return cls(
            count=_whole("num_samples", body.get("num_samples", 1), 1, most_samples),
            max_tokens=None if limit is None else _whole("max_tokens", limit, 1, 1 << 31),
            temperature=_number("temperature", given.get("temperature", 1.0), 0.0, 100.0),
            top_p=_number("top_p", given.get("top_p", 1.0), 0.0, 1.0),
            top_k=max(0, top_k),
            seed=secrets.randbits(62) if seed is None else _whole("seed", seed, -(1 << 63), 1 << 64),
            stop=_stops(given.get("stop"), model),
            scores_prompt=bool(body.get("prompt_logprobs")),
            scored_last=None if last is None else _whole("prompt_logprobs_last_n", last, 1, 1 << 31),
            top_of_prompt=_whole("topk_prompt_logprobs", body.get("topk_prompt_logprobs", 0), 0, _MOST_TOP),
            top_of_samples=_whole("topk_sample_logprobs", body.get("topk_sample_logprobs", 0), 0, _MOST_TOP),
        )


def _whole(name: str, value: Json, low: int, high: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise UserError(f"{name}={str(value)[:40]} must be a whole number of {low} to {high}")
    return value


def _number(name: str, value: Json, low: float, high: float) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
        raise UserError(f"{name}={str(value)[:40]} must be a number of {low:g} to {high:g}")
    return float(value)


def _stops(stop: Json, model: VisionLanguageModel) -> tuple[str, ...]:
    """Stop strings; a stop token is the string that it spells, and the model's own ends always count."""
    stops = [stop] if isinstance(stop, str) else [] if stop is None else stop
    if not isinstance(stops, list) or (stop is not None and not stops):
        raise UserError(
            "stop must be a text, or a list of texts or tokens that is not empty: the end of a turn always ends"
        )
    found = []
    for one in stops:
        if isinstance(one, int) and not isinstance(one, bool) and 0 <= one < model.vocab_size:
            if one in model.end_ids:
                continue
            one = model.tokenizer.decode([one], skip_special_tokens=False)
        if not isinstance(one, str) or not one or "�" in one:
            raise UserError(f"stop has {str(one)[:40]!r}, which is neither a text nor a token that spells one")
        found.append(one)
    return tuple(found)


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedSample:
    """A request, its prompt as tokens."""

    label: str
    prompt: Tokens
    request: AskedSampling


class AdapterSampling:
    """Engines for the base and for adapters of each form. The weights of a batch are put in place before it begins."""

    def __init__(
        self, base: VisionLanguageModel, another: Callable[[], VisionLanguageModel], *, max_tokens: int
    ) -> None:
        """``another`` makes one more model of the base's weights; ``max_tokens`` counts for requests that give none."""
        self._base = base
        self._another = another
        self._max_tokens = max_tokens
        self._engines: dict[LoraSettings | None, LocalEngine] = {}

    async def play(self, weights: AdapterWeights | None, asked: Sequence[AskedSample]) -> list[bytes | Exception]:
        """An answer to each request, or what was wrong with it; all are sampled together, with the same weights."""
        engine = self._engine(weights)
        labels = [f"{one.label}/{index}" for one in asked for index in range(one.request.count)]
        async with engine.sequences(labels) as slots:
            free = iter(slots)
            of_request = [[next(free) for _ in range(one.request.count)] for one in asked]
            sampled = await asyncio.gather(
                *(self._samples(one, own) for one, own in zip(asked, of_request)), return_exceptions=True
            )
        answers: list[bytes | Exception] = []
        for one, samples in zip(asked, sampled):
            if isinstance(samples, BaseException):
                answers.append(samples if isinstance(samples, Exception) else RuntimeError(str(samples)))
                continue
            try:
                answers.append(_answer(engine.model, one, samples))
            except Exception as error:
                answers.append(error)
        return answers

    def _engine(self, weights: AdapterWeights | None) -> LocalEngine:
        settings = None if weights is None else weights.plan.settings(self._base)
        # Its first values do not matter: those of the weights take their place.
        key = (
            None
            if settings is None
            else LoraSettings(rank=settings.rank, alpha=settings.alpha, targets=settings.targets)
        )
        if key not in self._engines:
            model = self._base
            if key is not None:
                model = self._another()
                add_adapter(model, key)
            self._engines[key] = limited_engine(model, EngineSettings())
        engine = self._engines[key]
        if weights is not None:
            if not put_adapter(engine.model, weights.tensors):
                raise UserError("this checkpoint is an adapter of another model than the one that is served")
            engine.update_weights(engine.model, engine.policy_version + 1)
        return engine

    async def _samples(self, asked: AskedSample, slots: Sequence[SequenceSlot]) -> list[SampledText]:
        """The samples of a request. A slot that is not asked must be closed: the others wait for it."""
        try:
            limit = self._limit(asked)
            return [*await asyncio.gather(*(self._sample(asked, s, i, limit) for i, s in enumerate(slots)))]
        finally:
            for slot in slots:
                slot.close()

    def _limit(self, asked: AskedSample) -> int:
        room = self._base.longest_sequence - len(asked.prompt.ids) if self._base.longest_sequence else 1 << 31
        wanted = asked.request.max_tokens
        if room < 1 or (wanted is not None and wanted > room):
            raise UserError(
                f"the prompt has {len(asked.prompt.ids)} tokens and max_tokens={wanted}; the model takes "
                f"{self._base.longest_sequence} in all"
            )
        return min(room, self._max_tokens) if wanted is None else wanted

    @staticmethod
    async def _sample(asked: AskedSample, slot: SequenceSlot, index: int, limit: int) -> SampledText:
        how = asked.request
        sampling = Sampling(
            seed=seed_for(how.seed, "tinker", index),
            max_tokens=limit,
            temperature=how.temperature,
            top_p=how.top_p,
            top_k=how.top_k,
            stop=how.stop,
        )
        try:
            found = await slot.sample(asked.prompt.ids, asked.prompt.images, sampling)
        finally:
            slot.close()
        return SampledText(ids=found.ids, logprobs=found.logprobs, has_stopped=found.finish != "length")


def _answer(model: VisionLanguageModel, asked: AskedSample, samples: Sequence[SampledText]) -> bytes:
    how, length = asked.request, len(asked.prompt.ids)
    if how.top_of_samples:
        tops = [_scores(model, asked.prompt, one.ids, how.top_of_samples, how.temperature or 1.0)[1] for one in samples]
        samples = [
            SampledText(ids=one.ids, logprobs=one.logprobs, has_stopped=one.has_stopped, top=_cut(top, length - 1))
            for one, top in zip(samples, tops)
        ]
    if not how.scores_prompt and not how.top_of_prompt:
        return sample_answer(samples)
    if how.scored_last is not None and how.scored_last >= max(2, length):
        raise UserError(f"prompt_logprobs_last_n={how.scored_last} must be less than the prompt's {length} tokens")
    logprobs, top = _scores(model, asked.prompt, (), how.top_of_prompt, 1.0)
    first = 1 if how.scored_last is None else length - how.scored_last
    # Of the first token, and of those that are left out, there is none.
    padded = np.full(length, np.nan, np.float32)
    padded[first:] = logprobs[first - 1 :]
    whole = None
    if how.top_of_prompt:
        whole = TopScores(
            ids=np.concatenate([np.zeros((first, how.top_of_prompt), np.int32), top.ids[first - 1 :]]),
            logprobs=np.concatenate(
                [np.full((first, how.top_of_prompt), np.nan, np.float32), top.logprobs[first - 1 :]]
            ),
        )
    return sample_answer(samples, prompt_logprobs=padded if how.scores_prompt else None, top_of_prompt=whole)


def _cut(top: TopScores, first: int) -> TopScores:
    return TopScores(ids=top.ids[first:], logprobs=top.logprobs[first:])


@torch.no_grad()
def _scores(
    model: VisionLanguageModel, prompt: Tokens, text: Sequence[int], k: int, temperature: float
) -> tuple[NDArray[np.float32], TopScores]:
    """log p of every token but the first, as the learner has it, and the ``k`` likeliest there.

    Placeholders of pictures have 0: they are given and never written, and clients take None for the first token alone.
    """
    ids = (*prompt.ids, *text)
    sequence = TrainingSequence(
        ids=ids,
        is_action=(False,) + (True,) * (len(ids) - 1),
        images=prompt.images,
        prompt_tokens=len(prompt.ids),
        prompt_images=len(prompt.images),
        sampled_logprobs=(),
        advantages=(),
        token_weight=1.0,
    )
    if len(ids) < 2:
        return np.zeros(0, np.float32), TopScores(ids=np.zeros((0, k), np.int32), logprobs=np.zeros((0, k), np.float32))
    targets, states = action_states(model, [sequence])
    rows = max(1, _AT_ONCE // model.vocab_size)
    found = []
    for at in range(0, len(targets), rows):
        logprobs: Float[Tensor, "tokens vocabulary"] = model.logprob_logits(states[at : at + rows], temperature)
        logprobs = logprobs.log_softmax(dim=-1)
        top = logprobs.topk(k, dim=-1)
        found.append((logprobs.gather(-1, targets[at : at + rows, None])[:, 0], top.indices, top.values))
    chosen, indices, values = (torch.cat(parts).cpu().numpy() for parts in zip(*found))
    chosen = np.where(np.isfinite(chosen), chosen, 0.0)
    return chosen.astype(np.float32), TopScores(ids=indices.astype(np.int32), logprobs=values.astype(np.float32))
