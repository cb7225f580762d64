"""What the server knows: sessions, models in training, samplers and checkpoints; every request becomes work."""

import asyncio
import datetime
import logging
import secrets
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.models.vlm import VisionLanguageModel
from saccade.serving.pictures import EpisodePictures, PicturesInUse
from saccade.serving.tinker.adapters import AdapterPlan, AdapterWeights, SavedAdapter
from saccade.serving.tinker.examples import asked_example, tokens_of
from saccade.serving.tinker.losses import loss_kind
from saccade.serving.tinker.messages import LossRequest, json_chunks
from saccade.serving.tinker.sampling import AdapterSampling, AskedSample, AskedSampling
from saccade.serving.tinker.settings import TinkerSettings
from saccade.serving.tinker.training import AdamStep, AdapterTraining
from saccade.serving.tinker.work import Answer, Work, WorkQueue
from saccade.types import Json

logger = logging.getLogger(__name__)

Body = Mapping[str, Json]


class UnknownIdError(UserError):
    """An id that this server did not give, or that it has let go."""


class BusyError(UserError):
    """So much waits already that nothing more is taken; the client asks again."""


@dataclass(kw_only=True)
class TrainingRun:
    """A client's model from its asking on: there is no training before its work has come."""

    model_id: str
    told: dict[str, Json] = field(default_factory=dict)
    """The client's own words about it."""
    training: AdapterTraining | None = None
    last_seq: int = 0
    last_asked: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampler:
    """A sampling session: the weights by the key that they are kept under; None is the base model."""

    weights: Hashable
    path: str | None = None


@dataclass(kw_only=True, eq=False)
class _SampleWork(Work):
    """A sample that waits; ``ask`` reads its prompt."""

    ask: Callable[[MediaStore], AskedSample]


class TinkerService:
    """All methods are called from the server's loop; models are touched by the thread of the queue alone."""

    def __init__(
        self,
        base: VisionLanguageModel,
        another: Callable[[], VisionLanguageModel],
        settings: TinkerSettings,
        *,
        root: Path,
    ) -> None:
        """``another`` makes a model of the base's weights; ``root`` is the folder of checkpoints."""
        self.settings = settings
        self.base = base
        self.root = root
        self.sessions: dict[str, float] = {}
        """By id, when each last sent a heartbeat."""
        self.runs: dict[str, TrainingRun] = {}
        self.samplers: dict[str, Sampler] = {}
        self._kept: dict[Hashable, AdapterWeights] = {}
        """Weights of samplers that are in no file, the oldest first."""
        self._another = another
        self._pictures = PicturesInUse(base.media)
        self._sampling = AdapterSampling(base, another, max_tokens=settings.max_tokens)
        self.queue = WorkQueue(self._play, most=settings.queue, kept=settings.results)

    # Sessions

    def new_session(self) -> str:
        ident = f"s-{secrets.token_hex(8)}"
        self.sessions[ident] = time.monotonic()
        return ident

    def note_session(self, ident: Json) -> str:
        """The session, heard of just now; UnknownIdError."""
        if not isinstance(ident, str) or ident not in self.sessions:
            raise UnknownIdError(f"there is no session {str(ident)[:40]!r} here; the server may have been started anew")
        self.sessions[ident] = time.monotonic()
        return ident

    def end_session(self, ident: str) -> None:
        """Lets its models and samplers go; checkpoints stay."""
        self.note_session(ident)
        del self.sessions[ident]
        for of in (self.runs, self.samplers):
            for name in [name for name in of if name.startswith(f"{ident}:")]:
                del of[name]
        for key in [key for key in self._kept if str(key).startswith(f"{ident}:")]:
            del self._kept[key]

    # Training

    def create_run(self, body: Body) -> Work:
        """For ``create_model``, and ``load_weights`` where it names a session."""
        session = self.note_session(body.get("session_id"))
        model_id = f"{session}:train:{_seq(body.get('model_seq_id'))}"
        if (known := self.queue.find(f"{model_id}:create")) is not None:
            return known
        is_loaded = "path" in body
        name = body.get("base_model")
        if name != self.settings.name and not (is_loaded and name is None):
            raise UserError(f"base_model={str(name)[:80]!r} is not served here; it is {self.settings.name!r}")
        kind = body.get("optimizer_config")
        if isinstance(kind, dict) and kind.get("type", "adamw") != "adamw":
            raise UserError(
                f"optimizer_config is of the type {str(kind.get('type'))[:40]!r}; AdamW is the only one here"
            )
        self._make_room()
        run = TrainingRun(model_id=model_id, told=_told(body))
        if is_loaded:
            return self._loaded(run, body, f"{model_id}:create", is_new=True)
        plan = AdapterPlan.of(body.get("lora_config"))
        plan.settings(self.base)

        def create() -> Answer:
            with self._unless_failed(run):
                run.training = self._new_training(plan)
            return {"type": "create_model", "model_id": model_id}

        return self._add(Work(request_id=f"{model_id}:create", do=create), run)

    def load_weights(self, body: Body) -> Work:
        """New weights for a run that there is, in place of its own."""
        run = self.run(body.get("model_id"))
        return self._in_turn(run, body, lambda ident: self._loaded(run, body, ident))

    def _loaded(self, run: TrainingRun, body: Body, ident: str, *, is_new: bool = False) -> Work:
        if body.get("weights_access_token"):
            raise UserError("weights_access_token is of another server; this one has its own checkpoints alone")
        saved = SavedAdapter.at(body.get("path"))
        saved.record(self.root)

        def load() -> Answer:
            with self._unless_failed(run) if is_new else nullcontext():
                weights = saved.weights(self.root)
                training = self._new_training(weights.plan)
                training.take_weights(weights)
                if body.get("optimizer"):
                    training.restore(saved, self.root)
                run.training = training
            return {"type": "load_weights", "path": saved.path, "model_id": run.model_id}

        return self._add(Work(request_id=ident, do=load), run)

    def forward_backward(self, asked: LossRequest) -> Work:
        run = self.run(asked.model_id)
        kind = loss_kind(asked.loss)
        loss = kind.loss(asked.config)
        if not asked.examples:
            raise UserError("data has no example")

        def learn() -> Answer:
            training, media = _training(run), EpisodePictures(self._pictures)
            try:
                examples = [
                    asked_example(one, kind, training.model, media, index=index)
                    for index, one in enumerate(asked.examples)
                ]
                return training.forward(examples, loss, learns=not asked.forward_only)
            finally:
                media.close()

        return self._in_turn(
            run, {"seq_id": asked.seq_id}, lambda ident: self._add(Work(request_id=ident, do=learn), run)
        )

    def optim_step(self, body: Body) -> Work:
        run = self.run(body.get("model_id"))
        if "optimizer_params" in body:
            raise UserError("optimizer_params are of another optimiser; AdamW, with adam_params, is the only one here")
        how = AdamStep.of(body.get("adam_params"))

        def step() -> Answer:
            return {"metrics": dict(_training(run).step(how))}

        return self._in_turn(run, body, lambda ident: self._add(Work(request_id=ident, do=step), run))

    def save_weights(self, body: Body, kind: str) -> Work:
        """A checkpoint of the kind ``weights``, with the optimiser, or ``sampler_weights``, or a sampler in memory."""
        run = self.run(body.get("model_id"))
        is_whole = kind == "weights"
        if not is_whole and body.get("path") is None:
            return self._in_turn(run, body, lambda ident: self._keep(run, body, ident))
        saved = SavedAdapter.named(run.model_id, kind, body.get("path") or f"{_seq(body.get('seq_id')):06d}")
        told = {**run.told, "base_model": self.settings.name, "user_metadata": body.get("user_metadata")}

        def save() -> Answer:
            training = _training(run)
            if not body.get("overwrite") and saved.directory(self.root).exists():
                raise UserError(f"{saved.path} is there already; choose another name" + " or overwrite it" * is_whole)
            saved.save(self.root, training.learner, training.plan, told, whole=is_whole)
            return {"type": "save_weights" if is_whole else "save_weights_for_sampler", "path": saved.path}

        return self._in_turn(run, body, lambda ident: self._add(Work(request_id=ident, do=save), run))

    def _keep(self, run: TrainingRun, body: Body, ident: str) -> Work:
        session = run.model_id.partition(":")[0]
        name = f"{session}:sample:{_seq(body.get('sampling_session_seq_id'))}"
        key = f"{run.model_id}:inflight" if body.get("kind") == "inflight" else name

        def keep() -> Answer:
            training = _training(run)
            self._kept.pop(key, None)
            self._kept[key] = AdapterWeights.of(training.plan, training.model)
            for oldest in [*self._kept][: max(0, len(self._kept) - self.settings.snapshots)]:
                del self._kept[oldest]
            self.samplers[name] = Sampler(weights=key)
            return {"type": "save_weights_for_sampler", "sampling_session_id": name}

        return self._add(Work(request_id=ident, do=keep), run)

    def run(self, model_id: Json) -> TrainingRun:
        run = self.runs.get(model_id) if isinstance(model_id, str) else None
        if run is None:
            raise UnknownIdError(
                f"there is no model {str(model_id)[:60]!r} here; create a training client, or load one"
            )
        run.last_asked = time.monotonic()
        return run

    @contextmanager
    def _unless_failed(self, run: TrainingRun) -> Iterator[None]:
        """A run that could not be made takes no room."""
        try:
            yield
        except Exception:
            self.runs.pop(run.model_id, None)
            raise

    def _new_training(self, plan: AdapterPlan) -> AdapterTraining:
        return AdapterTraining(self._another(), plan, micro_batch_tokens=self.settings.micro_batch_tokens)

    def _make_room(self) -> None:
        """Lets the models of sessions go that are silent, where there are too many; UserError where none is."""
        if len(self.runs) < self.settings.models:
            return
        silent = [s for s, heard in self.sessions.items() if time.monotonic() - heard > self.settings.silence_s]
        for session in silent:
            self.end_session(session)
        if len(self.runs) >= self.settings.models:
            raise UserError(
                f"{len(self.runs)} models are in training, as many as this server holds; close a client's session, or "
                "start the server with more --models"
            )

    def _in_turn(self, run: TrainingRun, body: Body, add: Callable[[str], Work]) -> Work:
        """Work of a run by its number; the same number again, from a client that did not hear, is the same work."""
        seq = _seq(body.get("seq_id"))
        ident = f"{run.model_id}:{seq}"
        if (known := self.queue.find(ident)) is not None:
            return known
        if seq <= run.last_seq:
            raise UserError(f"seq_id={seq} of {run.model_id} was done, or passed over: the last one was {run.last_seq}")
        work = add(ident)
        run.last_seq = seq
        return work

    def _add(self, work: Work, run: TrainingRun | None = None) -> Work:
        if self.queue.is_full():
            raise BusyError("too many requests wait; ask again")
        self.queue.add(work)
        if run is not None:
            self.runs.setdefault(run.model_id, run)
        return work

    # Sampling

    def create_sampler(self, body: Body) -> str:
        session = self.note_session(body.get("session_id"))
        name, path = f"{session}:sample:{_seq(body.get('sampling_session_seq_id'))}", body.get("model_path")
        if path is not None:
            saved = SavedAdapter.at(path)
            saved.record(self.root)
            self.samplers[name] = Sampler(weights=saved, path=saved.path)
        elif body.get("base_model") == self.settings.name:
            self.samplers[name] = Sampler(weights=None)
        else:
            wrong = str(body.get("base_model"))[:80]
            raise UserError(f"base_model={wrong!r} is not served here; it is {self.settings.name!r}")
        return name

    def sampler(self, ident: Json) -> Sampler:
        found = self.samplers.get(ident) if isinstance(ident, str) else None
        if found is None:
            raise UnknownIdError(f"there is no sampler {str(ident)[:60]!r} here; create a sampling client")
        return found

    def sample(self, body: Body) -> tuple[Work, list[str]]:
        """The work, and ids of the samples that it will have."""
        ident = body.get("sampling_session_id")
        sampler = self.sampler(ident)
        request_id = f"{ident}:{_seq(body.get('seq_id'))}"
        asked = AskedSampling.of({**body}, self.base, most_samples=self.settings.most_samples)
        chunks = json_chunks(body.get("prompt"))

        def ask(media: MediaStore) -> AskedSample:
            return AskedSample(label=request_id, prompt=tokens_of(chunks, self.base, media), request=asked)

        names = [f"{request_id}:{index}" for index in range(asked.count)]
        if (known := self.queue.find(request_id)) is not None:
            return known, names
        # None is no group.
        return self._add(_SampleWork(request_id=request_id, do=dict, group=(sampler.weights,), ask=ask)), names

    def _play(self, batch: Sequence[Work]) -> Sequence[Answer | Exception]:
        media = EpisodePictures(self._pictures)
        answers: dict[int, Answer | Exception] = {}
        asked: dict[int, AskedSample] = {}
        try:
            for index, work in enumerate(batch):
                assert isinstance(work, _SampleWork)
                try:
                    asked[index] = work.ask(media)
                except UserError as error:
                    answers[index] = error
            if asked:
                group = batch[0].group
                assert isinstance(group, tuple)
                played = asyncio.run(self._sampling.play(self._weights(group[0]), [*asked.values()]))
                answers |= dict(zip(asked, played, strict=True))
        finally:
            media.close()
        return [answers[index] for index in range(len(batch))]

    def _weights(self, key: Hashable) -> AdapterWeights | None:
        if key is None:
            return None
        if isinstance(key, SavedAdapter):
            return key.weights(self.root)
        if (found := self._kept.get(key)) is None:
            raise UserError(
                "the weights of this sampler were let go; save again, or start the server with more --snapshots"
            )
        return found


def _training(run: TrainingRun) -> AdapterTraining:
    if run.training is None:
        raise UserError(f"{run.model_id} was not made: see the error of its creation")
    return run.training


def _seq(value: Json) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 62:
        raise UserError(f"seq_id={str(value)[:40]} must be a whole number of 0 or more")
    return value


def _told(body: Body) -> dict[str, Json]:
    said = body.get("user_metadata")
    return {"run_metadata": said if isinstance(said, dict) else None, "created": _utc(time.time())}


def _utc(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat()
