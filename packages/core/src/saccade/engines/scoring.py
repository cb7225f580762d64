"""Log-probabilities of given texts: what stands before them is forwarded once for all that share it."""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from saccade.engines.engine import ScoreRequest
from saccade.engines.forward import Chunk, batches, forwards_for
from saccade.engines.slot import Prompt, PromptKey, Slot
from saccade.engines.slots import empty_cache
from saccade.errors import SaccadeError
from saccade.models.vlm import VisionLanguageModel
from saccade.native import FeatureCache
from saccade.types import ImageRef

_MAX_LOGITS = 1 << 24
"""Logits that exist at once: 64 MiB in fp32."""


class TextScorer:
    """Scores on memory of its own: nothing that is sampled meanwhile changes a score, nor a score what is sampled.

    Images are encoded one by one, because what an image is encoded with moves its features by rounding.
    """

    def __init__(self, model: VisionLanguageModel, *, max_rows: int, max_chunk_tokens: int, feature_bytes: int) -> None:
        self.tokens_forwarded = 0
        """Without padding."""
        self._model = model
        self._max_rows = max_rows
        self._max_chunk_tokens = max_chunk_tokens
        self._features = FeatureCache(model, capacity_bytes=feature_bytes, one_by_one=True)

    @property
    def images_encoded(self) -> int:
        return self._features.encoded

    def forget_images(self) -> None:
        self._features.clear()

    def score(self, requests: Sequence[ScoreRequest], *, temperature: float) -> list[tuple[float, ...]]:
        """log p of each ``ids[start:]``, in the order of the requests; ValueError for one that makes no sense.

        Callers switch gradients and dropout off.
        """
        if not 0 < temperature < float("inf"):
            raise ValueError(f"temperature={temperature} must be a finite number above 0 to score at")
        sharing: dict[PromptKey, list[int]] = {}
        for index, request in enumerate(requests):
            sharing.setdefault(self._prompt_of(request), []).append(index)
        scores: list[tuple[float, ...]] = [()] * len(requests)
        alone = [indices[0] for indices in sharing.values() if len(indices) == 1]
        for index, score in self._score_whole(requests, alone, temperature):
            scores[index] = score
        for key, indices in sharing.items():
            if len(indices) > 1:
                found = self._score_after(key, [requests[index] for index in indices], temperature)
                for index, score in zip(indices, found):
                    scores[index] = score
        return scores

    def _prompt_of(self, request: ScoreRequest) -> PromptKey:
        """Key of all that stands before the scored text."""
        ids, start, count_of = request.ids, request.start, self._model.view.token_count
        if not 1 <= start <= len(ids):
            raise ValueError(f"start={start} must be between 1 and the {len(ids)} tokens given")
        counts = [count_of(image) for image in request.images]
        found, expected = ids.count(self._model.image_token_id), sum(counts)
        if found != expected:
            raise ValueError(f"{found} image tokens for {len(counts)} images of {expected} tokens")
        before = ids[:start].count(self._model.image_token_id)
        images: list[ImageRef] = []
        for image, count in zip(request.images, counts):
            if before <= 0:
                break
            images.append(image)
            before -= count
        if before:
            raise ValueError(f"start={start} lies inside an image; text is scored, whole images stand before it")
        return PromptKey(tuple(ids[:start]), tuple(images))

    def _score_whole(
        self, requests: Sequence[ScoreRequest], indices: Sequence[int], temperature: float
    ) -> Iterator[tuple[int, tuple[float, ...]]]:
        """Texts that share nothing: whole sequences side by side, without a cache."""
        model = self._model
        wanted = [index for index in indices if requests[index].start < len(requests[index].ids)]
        wanted.sort(key=lambda index: len(requests[index].ids), reverse=True)
        for part in batches(wanted, [len(requests[index].ids) for index in wanted], self._max_chunk_tokens):
            width = len(requests[part[0]].ids)
            ids = torch.full((len(part), width), model.eos_id, dtype=torch.long)
            positions = torch.zeros((3, len(part), width), dtype=torch.long)
            for row, index in enumerate(part):
                request = requests[index]
                ids[row, : len(request.ids)] = torch.tensor(request.ids)
                positions[:, row, : len(request.ids)] = model.positions(request.ids, request.images)
            features = self._features.get([image for index in part for image in requests[index].images])
            hidden = model.hidden(model.embed(ids.to(model.device), features), positions.to(model.device))
            for row, index in enumerate(part):
                request = requests[index]
                self.tokens_forwarded += len(request.ids)
                states = hidden[row, request.start - 1 : len(request.ids) - 1]
                yield index, self._logprobs(states, request.ids[request.start :], temperature)

    def _score_after(
        self, key: PromptKey, requests: Sequence[ScoreRequest], temperature: float
    ) -> list[tuple[float, ...]]:
        """Texts after one prompt, which is forwarded once; each row of a batch begins with a copy of its cache."""
        cache = empty_cache(self._model, rows=1 + min(self._max_rows, len(requests)))
        forwards = forwards_for(self._model, self._features, cache, max_chunk_tokens=self._max_chunk_tokens)
        holder = cache.take(())
        [end] = forwards.extend([Chunk(ids=key.ids, images=key.images, cached=0, position=0)], first=0)
        holder.prompt = Prompt(key=key, hidden=end.hidden, position=end.position, states=holder.kept_states())
        holder.length = len(key.ids)
        self.tokens_forwarded += len(key.ids)
        texts = [request.ids[request.start :] for request in requests]
        scores = [self._logprobs(end.hidden[None], text[:1], temperature) for text in texts]
        # Nothing follows from the last token of a text.
        rows = {
            index: Chunk(
                ids=tuple(text[:-1]),
                images=tuple(request.images[len(key.images) :]),
                cached=len(key.ids),
                position=end.position,
            )
            for index, (request, text) in enumerate(zip(requests, texts))
            if len(text) > 1
        }
        longest_first = sorted(rows, key=lambda index: len(rows[index].ids), reverse=True)
        lengths = [len(rows[index].ids) for index in longest_first]
        copies: list[Slot] = []
        for part in batches(longest_first, lengths, self._max_chunk_tokens, max_rows=self._max_rows):
            fresh = [cache.take((key,)) for _ in range(len(part) - len(copies))]
            if fresh:
                cache.copy_prompt(holder, fresh)
                copies += fresh
            hidden = forwards.states([rows[index] for index in part], first=1)
            for index, states in zip(part, hidden):
                self.tokens_forwarded += len(rows[index].ids)
                scores[index] += self._logprobs(states, texts[index][1:], temperature)
        return scores

    def _logprobs(
        self, states: Float[Tensor, "tokens hidden"], targets: Sequence[int], temperature: float
    ) -> tuple[float, ...]:
        """log p of ``targets`` that follow from ``states``, over the whole vocabulary."""
        scores: list[float] = []
        chosen = torch.tensor(targets, dtype=torch.long, device=states.device)
        at_once = max(1, _MAX_LOGITS // self._model.vocab_size)
        for first in range(0, len(targets), at_once):
            wanted = chosen[first : first + at_once]
            logits = self._model.head_logits(states[first : first + len(wanted)]).float() / temperature
            scores += (logits.gather(-1, wanted[:, None])[:, 0] - logits.logsumexp(dim=-1)).tolist()
        # A comparison with NaN is false, so this catches NaN and -inf alike.
        if not all(score > float("-inf") for score in scores):
            raise SaccadeError("the model gives no finite log-probabilities: its weights have diverged")
        return tuple(scores)
