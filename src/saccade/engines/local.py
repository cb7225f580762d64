"""The engine that runs in this process: many trajectories advance on one torch model, and no work is done twice."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager

import torch

from saccade.engines.engine import ScoreRequest
from saccade.engines.features import FeatureCache
from saccade.engines.rows import EngineWork, Rows
from saccade.engines.sampling import Draw, draw_tokens
from saccade.engines.scoring import TextScorer
from saccade.engines.seating import LocalSeat, Seating
from saccade.engines.stops import TokenBytes
from saccade.errors import SaccadeError
from saccade.models.out_of_memory import asked_for, is_out_of_memory
from saccade.models.vlm import VisionLanguageModel
from saccade.types import ImageRef


class _Placeholders:
    """Counts image tokens for the check that every placeholder has its image."""

    def __init__(self, model: VisionLanguageModel) -> None:
        self._image_token_id = model.image_token_id
        self.count_of = model.view.token_count

    def count_in(self, ids: Sequence[int]) -> int:
        return ids.count(self._image_token_id)


class LocalEngine:
    """Continuous batching on a model that the learner may share.

    A prompt is prefilled once for all seats that begin with it, an image encoded once per policy version, and a turn
    appended to the keys and values of the turns before. Ticks run inside the event loop; all memory of keys and values
    is given back when a batch of seats ends.
    """

    def __init__(
        self,
        model: VisionLanguageModel,
        *,
        max_rows: int = 128,
        deterministic: bool | None = None,
        max_chunk_tokens: int = 8192,
        feature_bytes: int = 1 << 30,
        policy_version: int = 0,
        draw: Draw = draw_tokens,
    ) -> None:
        """``max_rows`` bounds the trajectories in the cache, ``max_chunk_tokens`` the padded tokens of one prefill.

        ``deterministic`` batches by virtual time, so that a run repeats to the bit; None means: on a CPU.
        ``feature_bytes`` bounds the image features that are kept. ``draw`` chooses the tokens: a benchmark or a replay
        may give known ones in the place of sampled ones.
        """
        self.model = model
        self._max_rows = max_rows
        self._deterministic = model.device.type == "cpu" if deterministic is None else deterministic
        self._max_chunk_tokens = max_chunk_tokens
        self._features = FeatureCache(model, capacity_bytes=feature_bytes)
        self._scorer = TextScorer(
            model, max_rows=max_rows, max_chunk_tokens=max_chunk_tokens, feature_bytes=feature_bytes
        )
        self._token_bytes = TokenBytes(model.tokenizer)
        self._policy_version = policy_version
        self._draw = draw
        self._finished_work = EngineWork()
        self._rows: Rows | None = None

    @property
    def policy_version(self) -> int:
        return self._policy_version

    @property
    def work(self) -> EngineWork:
        """All work so far, counted."""
        sampled = self._finished_work if self._rows is None else self._finished_work.plus(self._rows.work)
        return sampled.plus(EngineWork(tokens_scored=self._scorer.tokens_forwarded))

    @property
    def images_encoded(self) -> int:
        """Images that went through the vision tower so far."""
        return self._features.encoded + self._scorer.images_encoded

    def bump_version(self) -> int:
        """Says that the weights have changed: what was worked out with the old ones is forgotten."""
        if self._rows is not None:
            raise SaccadeError("the weights changed while trajectories were being sampled; close their seats first")
        self.forget_images()
        self._policy_version += 1
        return self._policy_version

    def forget_images(self) -> None:
        """Encode every image anew from here on, as an engine does that was made just now.

        What an image is encoded with moves its features by rounding, so an engine that has seen images before differs
        in the last bits from one that has not.
        """
        self._features.clear()
        self._scorer.forget_images()

    @asynccontextmanager
    async def seats(self, labels: Sequence[str]) -> AsyncIterator[Sequence[LocalSeat]]:
        """Seats for one batch of trajectories; one batch at a time.

        In deterministic mode nothing is sampled until every seat has asked for its first turn or closed.
        """
        if self._rows is not None:
            raise SaccadeError("another batch of seats is open at this engine; sample one batch at a time")
        seating = Seating(labels, _Placeholders(self.model), max_rows=self._max_rows, deterministic=self._deterministic)
        rows = self._rows = Rows(
            self.model,
            self._features,
            self._token_bytes,
            max_chunk_tokens=self._max_chunk_tokens,
            draw=self._draw,
        )
        with self._evaluating():
            serving = asyncio.create_task(_serve(seating, rows))
            try:
                yield seating.seats
            finally:
                seating.fail(SaccadeError("the batch of seats has ended"))
                serving.cancel()
                await asyncio.wait([serving])
                self._finished_work = self._finished_work.plus(rows.work)
                self._rows = None

    async def score(self, ids: Sequence[int], images: Sequence[ImageRef], start: int) -> tuple[float, ...]:
        """log p of each of ``ids[start:]`` given everything before it, at temperature 1; see ``score_batch``."""
        [scores] = await self.score_batch([ScoreRequest(ids=tuple(ids), images=tuple(images), start=start)])
        return scores

    async def score_batch(
        self, requests: Sequence[ScoreRequest], *, temperature: float = 1.0
    ) -> tuple[tuple[float, ...], ...]:
        """log p of each token of each request's text, over the whole vocabulary: no token is forbidden.

        What stands before the texts is forwarded once for all requests that share it. Works beside open seats, between
        two of their ticks: they wait meanwhile, and what they sample is the same to the bit.
        """
        with self._evaluating(), torch.no_grad():
            return tuple(self._scorer.score(requests, temperature=temperature))

    @contextmanager
    def _evaluating(self) -> Iterator[None]:
        """Without dropout, whatever mode the learner left the shared module in."""
        was_training = self.model.hf.training
        self.model.hf.eval()
        try:
            yield
        finally:
            self.model.hf.train(was_training)


async def _serve(seating: Seating, rows: Rows) -> None:
    """Runs ticks until every seat is closed. An error reaches everyone who waits for a turn."""
    try:
        while (plan := await seating.next_tick()) is not None:
            with torch.inference_mode():
                finished = rows.advance(plan)
            for seat, finish in finished:
                seating.finish(seat, finish)
            # Lets trajectories take their turns to their tools while the next tick runs.
            await asyncio.sleep(0)
    except Exception as error:
        seating.fail(_in_words(error))


def _in_words(error: Exception) -> Exception:
    """The error, or one that says what to change where memory ran out."""
    if not is_out_of_memory(error):
        return error
    told = SaccadeError(
        f"sampling ran out of memory{asked_for(error)}; lower rollout.max_tokens, rl.group_size or rl.tasks_per_step, "
        "show smaller pictures with model.max_pixels, or take a smaller model"
    )
    told.__cause__ = error
    return told
