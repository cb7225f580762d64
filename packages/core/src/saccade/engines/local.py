"""The engine that runs in this process: many trajectories advance on one torch model, and no work is done twice."""

import asyncio
from collections.abc import AsyncIterator, Hashable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

import torch

from saccade.engines.continuing import Placeholders
from saccade.engines.engine import Engine, EngineContext, OpenBatch, ScoreRequest, WeightSource, adapted_weights_of
from saccade.engines.local_sequence import LocalSequence
from saccade.engines.rows import EngineWork, Rows
from saccade.engines.sampling import Draw, TokenBytes, draw_row_by_row, draw_tokens
from saccade.engines.scheduler import Scheduler
from saccade.engines.scoring import TextScorer
from saccade.engines.slots import empty_cache
from saccade.errors import SaccadeError
from saccade.models.checkpoint import EngineSettings, PagedAttention
from saccade.models.memory import asked_for, is_out_of_memory, keep_freed_memory
from saccade.models.vlm import VisionLanguageModel
from saccade.models.weights_by_name import load_adapted, load_weights
from saccade.native import FeatureCache
from saccade.types import ImageRef

if TYPE_CHECKING:
    from saccade.engines.in_flight import ExpectedWeights


class _Comers:
    """The local engine's ``OpenBatch``."""

    def __init__(self, scheduler: Scheduler, serving: asyncio.Task[None]) -> None:
        self._scheduler = scheduler
        self._serving = serving

    def join(self, label: str) -> LocalSequence:
        return self._scheduler.join(label)

    async def ended(self) -> None:
        await asyncio.wait([self._serving])


class LocalEngine:
    """Continuous batching on a model that the learner may share.

    A prompt is prefilled once for all sequences that begin with it, and so is what prompts begin alike with; an image
    is encoded once per policy version, and a turn appended to the keys and values of the turns before. Decode steps run
    inside the event loop; all memory of keys and values is given back when a batch ends, unless graphs are kept.
    """

    records_experts = True

    def __init__(
        self,
        model: VisionLanguageModel,
        *,
        max_rows: int = EngineSettings.max_rows,
        deterministic: bool | None = None,
        max_chunk_tokens: int = EngineSettings.max_chunk_tokens,
        cache_tokens: int | None = None,
        feature_bytes: int = EngineSettings.feature_mib << 20,
        policy_version: int = 0,
        draw: Draw | None = None,
        paged: bool | None = None,
        prefix_caching: bool = EngineSettings.prefix_caching,
        drafts: int = EngineSettings.drafts,
        paged_attention: PagedAttention = EngineSettings.paged_attention,
        keep_graphs: bool = EngineSettings.keep_graphs,
    ) -> None:
        """``max_rows``, ``max_chunk_tokens``, ``cache_tokens``, ``prefix_caching``, ``drafts``, ``paged_attention`` and
        ``keep_graphs`` are those of ``EngineSettings``; UserError for drafts of a model with recurrent layers, and
        where there is no kernel to read pages in place.

        ``deterministic`` batches by virtual time, so that a run repeats to the bit; None means: on a CPU, and on a GPU
        where torch has deterministic kernels alone.
        ``feature_bytes`` bounds the image features that are kept. ``draw`` chooses the tokens: a benchmark or a replay
        may give known ones in the place of sampled ones. ``paged`` says how keys and values lie; None: as suits the
        device.
        """
        if model.device.type == "cpu" and model.is_tiny:
            keep_freed_memory()
        self.model = model
        self._max_rows = max_rows
        repeats = model.device.type == "cpu" or torch.are_deterministic_algorithms_enabled()
        self._deterministic = repeats if deterministic is None else deterministic
        self._max_chunk_tokens = max_chunk_tokens
        self._cache_tokens = cache_tokens
        self._paged = paged
        self._prefix_caching = prefix_caching
        self._in_place = None
        if paged_attention == "in_place":
            from saccade.engines import in_place

            self._in_place = in_place.kernel_in_place(model)
        self._kept = None
        if keep_graphs:
            from saccade.engines.kept_graphs import KeptGraphs

            self._kept = KeptGraphs(repeats=self._deterministic)
        self._longest_draft = drafts
        self._drafts = None
        if drafts:
            from saccade.engines.drafts import drafts_of

            self._drafts = drafts_of(model, drafts, step_tokens=max_rows)
        self._pages = 0
        """That the batches before needed at most, so that the next begins with them."""
        self._features = FeatureCache(model, capacity_bytes=feature_bytes)
        self._scorer = TextScorer(
            model, max_rows=max_rows, max_chunk_tokens=max_chunk_tokens, feature_bytes=feature_bytes
        )
        self._token_bytes = TokenBytes(model.tokenizer)
        self._policy_version = policy_version
        self._base: Hashable = None
        """Below the adapter that it was given last, where it was given one."""
        self._draw = draw or (draw_row_by_row if model.batch_invariant else draw_tokens)
        self._finished_work = EngineWork()
        self._prefilled, self._drafted = (0, 0), (0, 0)
        """Of the work so far, what was taken."""
        self._rows: Rows | None = None
        self._expected: ExpectedWeights | None = None

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

    def take_prefilled(self) -> tuple[int, int]:
        """As ``Abilities.take_prefilled``."""
        before, work = self._prefilled, self.work
        self._prefilled = work.tokens_prefilled, work.tokens_reused
        return self._prefilled[0] - before[0], self._prefilled[1] - before[1]

    def take_drafted(self) -> tuple[int, int]:
        """As ``Abilities.take_drafted``."""
        before, work = self._drafted, self.work
        self._drafted = work.tokens_drafted, work.drafts_accepted
        return self._drafted[0] - before[0], self._drafted[1] - before[1]

    def update_weights(self, source: WeightSource, version: int) -> None:
        """Copies the weights of another model; the shared model's own are there already.

        Weights that were expected change when it is their step.
        """
        expected = self._expected
        # Another thread may be ending the batch meanwhile.
        if expected is not None and not expected.are_given:
            expected.give(source, version)
            return
        if self._rows is not None or self._expected is not None:
            raise SaccadeError("the weights changed while trajectories were being sampled; end their batch first")
        self._take_over(source)
        self._policy_version = version

    def expect_weights(self, after_steps: int) -> None:
        """As ``Abilities.expect_weights``, for an engine whose model is its own."""
        if self._rows is not None:
            raise SaccadeError("a batch is open; call expect_weights before it begins")
        from saccade.engines import in_flight

        self._expected = in_flight.ExpectedWeights(after_steps)

    def _take_over(self, source: WeightSource) -> None:
        if source is not self.model:
            # A base that is only half there is none.
            had, self._base = self._base, None
            if (adapted := adapted_weights_of(source)) is None:
                load_weights(self.model, source.named_weights())
            else:
                load_adapted(self.model, adapted, has_base=had == adapted.base)
                self._base = adapted.base
        self._forget_images()

    def reset(self) -> None:
        """As a new engine: encodes every image anew, guesses from what is written, and records steps from here on."""
        self._forget_images()
        if self._kept is not None:
            self._kept.drop()
        if self._drafts is not None:
            self._drafts.clear()

    def _forget_images(self) -> None:
        self._features.clear()
        self._scorer.forget_images()

    async def aclose(self) -> None:
        """Gives back what is kept from batch to batch; the model belongs to the learner."""
        if self._kept is not None:
            self._kept.drop()

    @asynccontextmanager
    async def sequences(self, labels: Sequence[str]) -> AsyncIterator[Sequence[LocalSequence]]:
        """A slot for each trajectory of a batch; one batch at a time.

        In deterministic mode nothing is sampled until every slot has asked for its first turn or closed.
        """
        async with self._batch(labels) as (scheduler, _):
            yield scheduler.sequences

    @asynccontextmanager
    async def open_batch(self) -> AsyncIterator[OpenBatch]:
        """A batch that trajectories join as they come; what is computed together is a matter of time."""
        async with self._batch((), stays_open=True) as (scheduler, serving):
            yield _Comers(scheduler, serving)

    @asynccontextmanager
    async def _batch(
        self, labels: Sequence[str], *, stays_open: bool = False
    ) -> AsyncIterator[tuple[Scheduler, asyncio.Task[None]]]:
        """The scheduler of a batch and the task that runs its steps."""
        if self._rows is not None:
            raise SaccadeError("another batch is open at this engine; sample one batch at a time")
        expected_rows = self._max_rows if stays_open else min(self._max_rows, len(labels))
        cache = empty_cache(
            self.model, rows=expected_rows, first_pages=self._pages, paged=self._paged, in_place=self._in_place
        )
        if self._kept is not None:
            self._kept.begin(cache)
        scheduler = Scheduler(
            labels,
            Placeholders(self.model),
            max_rows=self._max_rows,
            cache_tokens=self._cache_tokens,
            # What a device has left is no matter of the data alone.
            memory=None if self._deterministic else cache.pages,
            drafted=self._longest_draft,
            deterministic=self._deterministic,
            stays_open=stays_open,
        )
        rows = self._rows = Rows(
            self.model,
            self._features,
            self._token_bytes,
            cache=cache,
            # Who may come one by one is not worth a copy of the weights.
            expected=1 if stays_open else expected_rows,
            max_chunk_tokens=self._max_chunk_tokens,
            draw=self._draw,
            prefix_caching=self._prefix_caching,
            drafts=self._drafts,
        )
        if self._expected is not None:
            scheduler.change_version(self._policy_version)
        with self._evaluating():
            serving = asyncio.create_task(self._serve(scheduler, rows))
            try:
                yield scheduler, serving
            finally:
                scheduler.fail(SaccadeError("the batch has ended"))
                serving.cancel()
                await asyncio.wait([serving])
                self._finished_work = self._finished_work.plus(rows.work)
                self._pages = max(self._pages, rows.page_count)
                self._rows = None
                if self._kept is not None:
                    self._kept.end()
                self._land()

    async def _serve(self, scheduler: Scheduler, rows: Rows) -> None:
        """Runs decode steps until every sequence is closed. An error reaches every sequence that waits for a turn."""
        try:
            while (plan := await scheduler.next_step()) is not None:
                if self._expected is not None and self._expected.are_due(scheduler.step):
                    source, version = await self._expected.take()
                    self._take_over(source)
                    rows.note_changed_weights()
                    scheduler.change_version(version)
                with torch.inference_mode():
                    finished = rows.advance(plan)
                for sequence, finish in finished:
                    scheduler.finish(sequence, finish)
                # Lets trajectories take their turns to their tools while the next step runs.
                await asyncio.sleep(0)
        except Exception as error:
            if self._kept is not None:
                self._kept.note_error(error)
            scheduler.fail(_in_words(error))

    def _land(self) -> None:
        """Weights that came while a batch was open are the engine's when it has ended, also where it ended first."""
        expected, self._expected = self._expected, None
        if expected is not None and expected.are_given:
            source, version = expected.weights()
            if not expected.are_taken:
                self._take_over(source)
            self._policy_version = version

    async def score(self, ids: Sequence[int], images: Sequence[ImageRef], start: int) -> tuple[float, ...]:
        """log p of each of ``ids[start:]`` given everything before it, at temperature 1; see ``score_batch``."""
        [scores] = await self.score_batch([ScoreRequest(ids=tuple(ids), images=tuple(images), start=start)])
        return scores

    async def score_batch(
        self, requests: Sequence[ScoreRequest], *, temperature: float = 1.0
    ) -> tuple[tuple[float, ...], ...]:
        """log p of each token of each request's text, over the whole vocabulary: no token is forbidden.

        What stands before the texts is forwarded once for all requests that share it. Works beside an open batch,
        between two of its decode steps: it waits meanwhile, and what it samples is the same to the bit.
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


def local_engine(context: EngineContext) -> Engine:
    """The default of a plan: it shares the learner's model and memory."""
    return limited_engine(context.model, context.load.engine, policy_version=context.policy_version)


def limited_engine(model: VisionLanguageModel, limits: EngineSettings, *, policy_version: int = 0) -> LocalEngine:
    """A local engine within the limits of some settings."""
    return LocalEngine(
        model,
        max_rows=limits.max_rows,
        max_chunk_tokens=limits.max_chunk_tokens,
        cache_tokens=limits.cache_tokens,
        feature_bytes=limits.feature_mib << 20,
        policy_version=policy_version,
        prefix_caching=limits.prefix_caching,
        drafts=limits.drafts,
        paged_attention=limits.paged_attention,
        keep_graphs=limits.keep_graphs,
    )


def _in_words(error: Exception) -> Exception:
    """The error, or one that says what to change where memory ran out."""
    if not is_out_of_memory(error):
        return error
    told = SaccadeError(
        f"sampling ran out of memory{asked_for(error)}; lower model.engine.max_rows, model.engine.max_chunk_tokens or "
        "rollout.max_tokens (saccade plan-memory says what they take), show smaller pictures with model.max_pixels, or "
        "take a smaller model"
    )
    told.__cause__ = error
    return told
