"""Judges by settings: models at a server, checkpoints in this process, or a judge that a recipe brings."""

import os
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from saccade.chat.chat_model import API_KEY_VARIABLE, ChatMeter, ChatServerSettings, ConnectedChat, connect
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.models.checkpoint import LoadSettings
from saccade.rewards.reward import AccuracyJudge

if TYPE_CHECKING:
    from saccade.rewards.judges.consistency import ConsistencyJudge
    from saccade.rewards.judges.evidence_judge import EvidenceJudge
    from saccade.rewards.judges.llm_judge import JudgeClient

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, kw_only=True)
class JudgeSettings:
    """Settings of the judge; iVGR's is Qwen2.5-72B-Instruct at a server, asked once at a temperature of 0.01."""

    kind: Literal["server", "checkpoint", "exact", "none"] = "server"
    """``checkpoint`` runs in this process; ``exact`` compares with ground truth, which only drawn questions have;
    ``none`` leaves out the consistency reward and lets rules decide all answers."""
    base_url: tuple[str, ...] = ()
    """Address of the server, as in ``http://localhost:8000/v1``; one for all models, or one for each."""
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
    """Maximum number of requests to a model for a readable reply."""
    keeps_boxes: bool = False
    """Whether the judge sees the coordinates of the reasoning with boxes."""
    api_key_env: str = API_KEY_VARIABLE
    """Name of the environment variable with the server's key."""
    cache_dir: Path | None = None
    """Directory that caches replies: no request is sent twice, and a resumed run gets the same replies."""
    server: ChatServerSettings = ChatServerSettings(requests_at_once=32, timeout_s=60.0, retries=3)
    """``server.max_tokens`` also limits a checkpoint's replies."""

    def unused(self) -> Mapping[str, str]:
        """What nothing reads beside the kind, and why."""
        if self.kind in ("none", "exact"):
            names = [one.name for one in fields(JudgeSettings) if one.name != "kind"]
        else:
            names = ["load"] if self.kind == "server" else ["api_key_env", "cache_dir"]
        return dict.fromkeys(names, f"kind={self.kind}")

    def check(self) -> None:
        if not _VARIABLE.fullmatch(self.api_key_env):
            # Not shown: it may be the key itself.
            raise UserError("api_key_env must be the name of a variable that holds the key, such as OPENAI_API_KEY")
        for name, kind in (("base_url", "server"), ("model", "server"), ("checkpoint", "checkpoint")):
            if getattr(self, name) and self.kind != kind:
                raise UserError(f"{name} would have no effect: it belongs to kind={kind}, and kind={self.kind} is set")


@dataclass(frozen=True, kw_only=True, slots=True)
class Judges:
    """The judges of a run, what must be open while they are asked, and what was asked of them since the last look."""

    consistency: "ConsistencyJudge | None" = None
    accuracy: AccuracyJudge | None = None
    resources: tuple[AbstractContextManager[object], ...] = ()
    meters: Callable[[], Mapping[str, float]] = field(default_factory=lambda: ChatMeter("judge", ()))


def judges(
    settings: JudgeSettings,
    *,
    judges_consistency: bool,
    judges_answers: bool,
    exact: "ConsistencyJudge | None",
    media: MediaStore,
    seed: int,
) -> Judges:
    """The judges that these settings name; ``exact`` knows the truth of drawn questions. Raises UserError."""
    if settings.kind == "none" or not (judges_consistency or judges_answers):
        return Judges()
    if settings.kind == "exact":
        if exact is None:
            raise UserError(
                "judge.kind=exact needs to know everything that a picture shows, which only drawn questions state "
                "(saccade train ivgr:tiny); judge your own with judge.kind=server or checkpoint"
            )
        return Judges(consistency=exact if judges_consistency else None)
    from saccade.rewards.judges.consistency import Ensemble
    from saccade.rewards.judges.llm_judge import AnswerJudge, LlmJudge

    asked, models = _clients(settings, media, seed)
    each = [LlmJudge(asking=one, keeps_boxes=settings.keeps_boxes) for one in asked]
    together: ConsistencyJudge = each[0] if len(each) == 1 else Ensemble(each)
    open_models = tuple(models if judges_consistency else models[:1])
    return Judges(
        consistency=together if judges_consistency else None,
        accuracy=AnswerJudge(asking=asked[0]) if judges_answers else None,
        resources=open_models,
        meters=ChatMeter("judge", open_models),
    )


def evidence_judge(
    settings: JudgeSettings, media: MediaStore, seed: int
) -> "tuple[EvidenceJudge, ConnectedChat] | None":
    """The judge of evidence that these settings name, and what must be open while it is asked; None for ``none``.

    The first of several models is asked. Raises UserError.
    """
    if settings.kind == "none":
        return None
    if settings.kind == "exact":
        raise UserError("evidence_judge.kind=exact judges nothing; questions with regions have rl.evidence.form=found")
    from saccade.rewards.judges.evidence_judge import EvidenceJudge

    asked, models = _clients(settings, media, seed)
    return EvidenceJudge(asking=asked[0]), models[0]


def _clients(settings: JudgeSettings, media: MediaStore, seed: int) -> "tuple[list[JudgeClient], list[ConnectedChat]]":
    from saccade.rewards.judges.llm_judge import JudgeClient

    models = _servers(settings, media) if settings.kind == "server" else _checkpoints(settings, media)
    asked = [
        JudgeClient(
            model=model, samples=settings.samples, temperature=settings.temperature, tries=settings.tries, seed=seed
        )
        for model in models
    ]
    return asked, models


def _servers(settings: JudgeSettings, media: MediaStore) -> list[ConnectedChat]:
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
    each = urls if len(urls) == len(names) else urls * len(names)
    key = os.environ.get(settings.api_key_env, "")
    return [
        connect(url, settings.server, model=name, media=media, api_key=key, cache_dir=settings.cache_dir)
        for url, name in zip(each, names)
    ]


def _checkpoints(settings: JudgeSettings, media: MediaStore) -> list[ConnectedChat]:
    if not settings.checkpoint:
        raise UserError("judge.kind=checkpoint needs judge.checkpoint, the directory of the judge's model")
    return [connect(path, settings.server, media=media, load=settings.load) for path in settings.checkpoint]
