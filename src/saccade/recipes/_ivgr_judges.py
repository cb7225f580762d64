"""Who judges in the iVGR recipe, as settings say it: models at a server, checkpoints in this process, ground truth."""

import logging
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Literal, Protocol, Self

from saccade.chat.chat_model import ChatModel, EngineChat
from saccade.chat.counts import ChatCounts
from saccade.chat.server_settings import ChatServerSettings
from saccade.engines.local import LocalEngine
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.models.loading import LoadSettings, load_model
from saccade.rewards.ivgr import AccuracyJudge
from saccade.rewards.judges.answer_judge import AnswerJudge
from saccade.rewards.judges.asking import JudgeClient
from saccade.rewards.judges.consistency import ConsistencyJudge, Ensemble
from saccade.rewards.judges.erring_judge import ErringJudge, JudgeErrors
from saccade.rewards.judges.exact_judge import ExactJudge
from saccade.rewards.judges.llm_judge import LlmJudge
from saccade.types import Message

logger = logging.getLogger(__name__)

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, kw_only=True)
class JudgeSettings:
    """The paper's judge is Qwen2.5-72B-Instruct at a server, asked once at a temperature of 0.01."""

    kind: Literal["server", "checkpoint", "exact", "none"] = "server"
    """``checkpoint`` runs in this process; ``exact`` compares with ground truth, which drawn questions alone have;
    ``none`` leaves the consistency reward out and all answers to the rules."""
    base_url: tuple[str, ...] = ()
    """Of the server, as in ``http://localhost:8000/v1``; one for all models, or one for each."""
    model: tuple[str, ...] = ()
    """Names of models at the server; the mean of several is the verdict, and the first also judges answers."""
    checkpoint: tuple[Path, ...] = ()
    """Directories of models; several as with ``model``."""
    load: LoadSettings = LoadSettings()
    """How checkpoints are loaded."""
    samples: int = 1
    """Replies whose mean is a model's verdict. The paper also tries 4, at a temperature of 0.5."""
    temperature: float = 0.01
    tries: int = 3
    """How often at most a model is asked for a reply that can be read."""
    keeps_boxes: bool = False
    """Whether the judge sees the coordinates of the reasoning with boxes."""
    knows_truth: bool = True
    """Of ``exact``: whether ground truth says what is a contradiction. A model cannot know that: without, the
    reasoning with boxes is taken for true, whatever it says."""
    errors: JudgeErrors = JudgeErrors()
    """How often verdicts on agreement are spoiled on purpose, to see what training makes of a judge that errs."""
    api_key_env: str = "OPENAI_API_KEY"
    """Name of the variable that holds the server's key."""
    cache_dir: Path | None = None
    """Where replies are kept: what was asked once is not asked again, and a resumed run is told the same again."""
    server: ChatServerSettings = ChatServerSettings(requests_at_once=32, timeout_s=60.0, retries=3)
    """``server.max_tokens`` also bounds what a checkpoint says."""

    def check(self) -> None:
        if not _VARIABLE.fullmatch(self.api_key_env):
            # Not shown: it may be the key itself.
            raise UserError("api_key_env must be the name of a variable that holds the key, as OPENAI_API_KEY is one")
        for name, kind in (("base_url", "server"), ("model", "server"), ("checkpoint", "checkpoint")):
            if getattr(self, name) and self.kind != kind:
                raise UserError(f"{name} would have no effect: it belongs to kind={kind}, and kind={self.kind} is set")
        if not self.knows_truth and self.kind != "exact":
            raise UserError(
                "knows_truth=false would have no effect: no judge but kind=exact knows what a picture shows"
            )


class OpenTeacher(ChatModel, AbstractContextManager[object], Protocol):
    """A teacher that answers while it is entered."""

    @property
    def counts(self) -> ChatCounts: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Judges:
    """The judges of a run, and what must be open while they are asked."""

    consistency: ConsistencyJudge | None = None
    accuracy: AccuracyJudge | None = None
    teachers: tuple[OpenTeacher, ...] = ()

    @property
    def resources(self) -> tuple[AbstractContextManager[object], ...]:
        return self.teachers


def judges(
    settings: JudgeSettings,
    *,
    judges_consistency: bool,
    judges_answers: bool,
    exact: ExactJudge | None,
    media: MediaStore,
    seed: int,
) -> Judges:
    """What these settings name; ``exact`` is there for drawn questions alone. Raises UserError."""
    if not (judges_consistency or judges_answers):
        return Judges()
    match settings.kind:
        case "none":
            return Judges()
        case "exact":
            if exact is None:
                raise UserError(
                    "judge.kind=exact needs to know everything that a picture shows, which drawn questions alone tell "
                    "(saccade train ivgr:tiny); judge your own with judge.kind=server or checkpoint"
                )
            comparing = replace(exact, knows_truth=settings.knows_truth)
            return Judges(consistency=_erring(comparing, settings.errors, seed) if judges_consistency else None)
        case "server":
            teachers = _servers(settings)
        case "checkpoint":
            teachers = _checkpoints(settings, media)
    asked = [
        JudgeClient(
            teacher=teacher,
            samples=settings.samples,
            temperature=settings.temperature,
            tries=settings.tries,
            seed=seed,
        )
        for teacher in teachers
    ]
    each = [LlmJudge(asking=one, keeps_boxes=settings.keeps_boxes) for one in asked]
    together: ConsistencyJudge = each[0] if len(each) == 1 else Ensemble(each)
    return Judges(
        consistency=_erring(together, settings.errors, seed) if judges_consistency else None,
        accuracy=AnswerJudge(asking=asked[0]) if judges_answers else None,
        teachers=tuple(teachers if judges_consistency else teachers[:1]),
    )


def _erring(judge: ConsistencyJudge, errors: JudgeErrors, seed: int) -> ConsistencyJudge:
    return judge if errors.is_none else ErringJudge(judge=judge, errors=errors, seed=seed)


class Meter:
    """What was asked of servers since the last reading, by name; the numbers of several add up."""

    def __init__(self, teachers: Sequence[OpenTeacher]) -> None:
        self._teachers = teachers
        self._read: dict[str, int] = {}

    def __call__(self) -> Mapping[str, float]:
        counts = ChatCounts()
        for teacher in self._teachers:
            counts = counts.plus(teacher.counts)
        before, self._read = self._read, counts.as_counts()
        return {f"judge_{name}": float(count - before.get(name, 0)) for name, count in self._read.items()}


class CheckpointTeacher:
    """A checkpoint that is loaded when it is entered, and let go when it is left."""

    def __init__(self, path: Path, media: MediaStore, load: LoadSettings, *, max_tokens: int) -> None:
        self._path = path
        self._media = media
        self._load = load
        self._max_tokens = max_tokens
        self._teacher: EngineChat | None = None
        self._asked = 0

    @property
    def counts(self) -> ChatCounts:
        return ChatCounts(requests=self._asked)

    async def __call__(
        self, messages: Sequence[Message], *, temperature: float, samples: int, seed: int
    ) -> Sequence[str]:
        if self._teacher is None:
            raise RuntimeError("the judge's checkpoint is not loaded; ask inside of a with")
        self._asked += 1
        return await self._teacher(messages, temperature=temperature, samples=samples, seed=seed)

    def __enter__(self) -> Self:
        model = load_model(self._path, self._media, self._load)
        self._teacher = EngineChat(engine=LocalEngine(model), chat=model.chat, max_tokens=self._max_tokens)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._teacher = None
        logger.info("asked of %s: requests %s", self._path, f"{self._asked:,}")


def _servers(settings: JudgeSettings) -> list[OpenTeacher]:
    urls, names = settings.base_url, settings.model
    if not urls or not names:
        raise UserError(
            "the judge is a model at a server: give judge.base_url (http://localhost:8000/v1) and judge.model, or "
            "choose judge.kind=checkpoint, or judge.kind=none to do without the consistency reward"
        )
    if len(urls) not in (1, len(names)):
        raise UserError(
            f"judge.base_url has {len(urls)} addresses for the {len(names)} names of judge.model; give one address "
            "for all of them, or one for each"
        )
    # Here, for whoever asks no server needs no package openai.
    from saccade.chat.threaded import ChatThread

    each = urls if len(urls) == len(names) else urls * len(names)
    return [
        ChatThread(
            settings.server.client(url, name, api_key_env=settings.api_key_env, cache_dir=settings.cache_dir),
            at_once=settings.server.requests_at_once,
        )
        for url, name in zip(each, names)
    ]


def _checkpoints(settings: JudgeSettings, media: MediaStore) -> list[OpenTeacher]:
    if not settings.checkpoint:
        raise UserError("judge.kind=checkpoint needs judge.checkpoint, the directory of the judge's model")
    for path in settings.checkpoint:
        if not any((path / name).is_file() for name in ("config.json", "adapter_config.json")):
            raise UserError(f"judge.checkpoint={path} is no checkpoint directory: it has no config.json")
    return [
        CheckpointTeacher(path, media, settings.load, max_tokens=settings.server.max_tokens)
        for path in settings.checkpoint
    ]
