"""Back ends of Argos' verifier by settings: what finds regions, what points, what scores answers, what judges."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from saccade.chat.answer_scoring import CheckpointTeacher, ServerTeacher
from saccade.chat.chat_model import API_KEY_VARIABLE, ChatModel, ChatServerSettings, is_checkpoint, is_server
from saccade.chat.resources import Resources
from saccade.errors import MachineError, UserError
from saccade.media import MediaStore
from saccade.media.resize import ViewRule
from saccade.models import LoadSettings
from saccade.protocols import pointed_protocol
from saccade.rewards.argos import (
    ArgosReward,
    CachedRegions,
    ModelRegions,
    ModelSelector,
    RegionFinding,
    RegionRequest,
    Regions,
    RuleSelector,
    Selector,
    Verifier,
    VerifierForms,
    VisionPointer,
)
from saccade.rewards.argos.pointers import PointUnits
from saccade.rewards.argos.regions import Masks
from saccade.rewards.argos.selection import by_rules
from saccade.rewards.argos.video_judge import FramesJudge
from saccade.rewards.judges import Judges, JudgeSettings
from saccade.rewards.judges.settings import judges
from saccade.seeding import seed_for
from saccade.services.client import RemoteRegions, RemoteTools
from saccade.services.client.configured import TOKEN_VARIABLE
from saccade.types import Task
from saccade.vision_models.kinds import DETECTORS, SEGMENTERS, Pointer, check_kind


@dataclass(frozen=True, kw_only=True)
class ModelAt:
    """A model: a checkpoint directory, or the address of a server and its name of the model."""

    at: str = ""
    """As ``checkpoints/teacher`` or ``http://localhost:8000/v1``; empty for none."""
    model: str = ""
    """The server's name of it."""

    def __bool__(self) -> bool:
        return bool(self.at)


@dataclass(frozen=True, kw_only=True)
class BackEndSettings:
    """What the verifier asks. Nothing is downloaded: models are directories or servers."""

    detector: Path | None = None
    """GroundingDINO or OWLv2: finds things by their names."""
    segmenter: Path | None = None
    """SAM or SAM 2: cuts out what was found."""
    service: str = ""
    """Or both of them at a tool server (``saccade serve``), as ``http://localhost:8400``."""
    service_models: str = ""
    """Names the service's models: what is remembered of others is not theirs."""
    pointer: ModelAt = ModelAt()
    """Points at things in charts, maps and drawings: a vision-language model that answers in points."""
    pointer_units: PointUnits = "percent"
    """What its coordinates count; Molmo's are percent, Qwen2.5-VL's pixels, Qwen3-VL's thousandths."""
    finding: RegionFinding = RegionFinding()
    regions_dir: Path | None = None
    """Directory in which regions are kept for other runs; without it they are kept for this run."""
    teacher: ModelAt = ModelAt()
    """Scores answers after a reasoning; a server must give log-probabilities of prompts, as vLLM does."""
    video_judge: ModelAt = ModelAt()
    """Judges what is said of frames and segments of videos."""
    selector: ModelAt = ModelAt()
    """Picks the scorers of each task, once; without one rules do."""
    load: LoadSettings = LoadSettings()
    """How checkpoints are loaded."""
    server: ChatServerSettings = ChatServerSettings(requests_at_once=32, timeout_s=60.0, retries=3)
    api_key_env: str = API_KEY_VARIABLE
    """Name of the variable that holds the servers' key; the tool server's is SACCADE_TOKEN."""
    cache_dir: Path | None = None
    """Directory of kept replies of servers."""

    def check(self) -> None:
        if self.service and (self.detector or self.segmenter):
            raise UserError("service finds and cuts out things by itself; leave out detector and segmenter")
        if self.service and not self.service_models:
            raise UserError("service_models must name the service's detector and segmenter, in any words of yours")
        if self.detector and not self.segmenter:
            raise UserError("detector finds boxes, and points are held against regions; set segmenter too")
        _check_kind("detector", self.detector, DETECTORS)
        _check_kind("segmenter", self.segmenter, SEGMENTERS)
        for name in ("pointer", "teacher", "video_judge", "selector"):
            where: ModelAt = getattr(self, name)
            if where and is_server(where.at) and not where.model:
                raise UserError(f"{name}.at={where.at} is a server; say with {name}.model which of its models is meant")
            if where and not is_server(where.at) and not is_checkpoint(Path(where.at)):
                raise UserError(
                    f"{name}.at={where.at} is no address of a server, as http://localhost:8000/v1, and no checkpoint "
                    "directory: it has no config.json"
                )

    @property
    def finds(self) -> bool:
        return bool(self.service or self.segmenter)


def _check_kind(name: str, path: Path | None, kinds: Mapping[str, str]) -> None:
    """UserError that begins with the setting's name, unless its directory holds one of these kinds of models."""
    if path is None:
        return
    with value_of(name):
        check_kind(path, kinds, name)


@contextmanager
def value_of(setting: str) -> Iterator[None]:
    """A block about a setting's directory: its UserErrors begin with the setting's name."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{setting}={error}") from error


@dataclass(frozen=True, slots=True)
class OpenedFor:
    """A resource that is loaded for a setting, whose name errors of loading begin with."""

    setting: str
    resource: AbstractContextManager[object]

    def __enter__(self) -> object:
        with value_of(self.setting):
            return self.resource.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return self.resource.__exit__(kind, error, traceback)


@dataclass(kw_only=True)
class OpenedRegions:
    """``Regions`` whose models are loaded when the run enters them."""

    open: Callable[[ExitStack], Regions]
    _regions: Regions | None = None
    _entered: ExitStack | None = None

    @property
    def identity(self) -> str:
        return self._opened.identity

    def find(self, requests: Sequence[RegionRequest], /) -> Sequence[Masks | MachineError]:
        return self._opened.find(requests)

    @property
    def _opened(self) -> Regions:
        if self._regions is None:
            raise RuntimeError("the regions' models are not open; find inside of a with")
        return self._regions

    def __enter__(self) -> Self:
        with ExitStack() as entering:
            self._regions = self.open(entering)
            self._entered = entering.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._regions = None
        if self._entered is not None:
            self._entered.close()


@dataclass(frozen=True, kw_only=True)
class BackEnds:
    """A verifier that is to be entered with its resources, the selector, and the judge of answers."""

    verifier: Verifier
    selector: Selector
    judged: Judges
    resources: tuple[AbstractContextManager[object], ...]
    meters: Callable[[], Mapping[str, float]]


def back_ends(
    settings: BackEndSettings,
    judge: JudgeSettings,
    forms: VerifierForms,
    *,
    media: MediaStore,
    view: ViewRule,
    seed: int,
    group: str = "back_ends.",
) -> BackEnds:
    """What the settings name; nothing is loaded or asked before its resources are entered. Raises UserError.

    ``group`` stands before the settings' names where an error names them.
    """
    models = Resources(media)
    key = os.environ.get(settings.api_key_env, "")

    def chat(name: str, where: ModelAt) -> ChatModel:
        return models.open_chat_model(
            name,
            where.at,
            settings.server,
            model=where.model or None,
            load=settings.load,
            api_key=key,
            cache_dir=settings.cache_dir,
        )

    pointer: Pointer | None = None
    if settings.pointer:
        model = models.open_vision_model(
            "pointer",
            settings.pointer.at,
            settings.server,
            model=settings.pointer.model or None,
            load=settings.load,
            api_key=key,
        )
        named = f"{settings.pointer.at} {settings.pointer.model}".strip()
        pointer = VisionPointer(model=model, name=named, units=settings.pointer_units)
    regions = (
        OpenedRegions(open=lambda entered: _regions(settings, pointer, media, entered, group))
        if settings.finds
        else None
    )
    judged = judges(
        judge, judges_consistency=False, judges_answers=True, exact=None, media=media, seed=seed_for(seed, "judge")
    )
    teacher = _teacher(settings, media, view, key)
    verifier = Verifier(
        regions=None if regions is None else CachedRegions(inner=regions, directory=settings.regions_dir),
        teacher=teacher,
        video=FramesJudge(model=chat("video_judge", settings.video_judge), seed=seed) if settings.video_judge else None,
        forms=forms,
    )
    selector: Selector = RuleSelector()
    if settings.selector:
        selector = ModelSelector(model=chat("selector", settings.selector), seed=seed)
    opened: list[AbstractContextManager[object]] = [] if regions is None else [regions]
    if teacher is not None:
        opened.append(teacher if is_server(settings.teacher.at) else OpenedFor(f"{group}teacher.at", teacher))
    return BackEnds(
        verifier=verifier,
        selector=selector,
        judged=judged,
        resources=(models, *opened, *judged.resources),
        meters=lambda: {**verifier.meters(), **models.meters(), **judged.meters()},
    )


def check_scorers(reward: ArgosReward, settings: BackEndSettings, tasks: Sequence[Task]) -> None:
    """UserError where a weighted part has no back end for one of the tasks, before anything is loaded.

    A selector that is a model may pick what the rules do not; what it picks without a back end ends the run then.
    """
    if reward.reasoning_weight and not settings.teacher:
        raise UserError(
            "reasoning is weighted, but nothing scores it; set back_ends.teacher.at to a checkpoint directory or to a "
            "server, or reward.reasoning_weight=0"
        )
    if not reward.grounding_weight:
        return
    if not settings.finds:
        raise UserError(
            "grounding is weighted, but nothing finds things; set back_ends.detector and back_ends.segmenter to "
            "checkpoint directories, or back_ends.service to a tool server, or reward.grounding_weight=0"
        )
    wanted = Counter(scorer for task in tasks for scorer in by_rules(task).grounding)
    missing = {
        "detector": not (settings.detector or settings.service) and "back_ends.detector",
        "pointer": not settings.pointer and "back_ends.pointer.at",
        "video": not settings.video_judge and "back_ends.video_judge.at",
    }
    for scorer, count in wanted.items():
        if setting := missing[scorer]:
            raise UserError(
                f"{count} of {len(tasks)} questions are to be checked by the scorer {scorer!r} (docs/argos.md says by "
                f"which rules), which there is none of; set {setting}, or reward.grounding_weight=0"
            )


def _regions(
    settings: BackEndSettings, pointer: Pointer | None, media: MediaStore, entered: ExitStack, group: str
) -> Regions:
    if settings.service:
        tools = entered.enter_context(RemoteTools(settings.service, os.environ.get(TOKEN_VARIABLE)))
        return RemoteRegions(
            tools=tools, media=media, name=settings.service_models, pointer=pointer, finding=settings.finding
        )
    # Here, since whatever does not load a model needs no torch.
    from saccade.vision_models import load_detector, load_segmenter

    assert settings.segmenter is not None
    with value_of(f"{group}detector"):
        detector = None if settings.detector is None else load_detector(settings.detector, settings.load)
    with value_of(f"{group}segmenter"):
        segmenter = load_segmenter(settings.segmenter, settings.load)
    return ModelRegions(
        media=media,
        name=f"{settings.detector or ''} {settings.segmenter}".strip(),
        detector=detector,
        segmenter=segmenter,
        pointer=pointer,
        finding=settings.finding,
    )


def _teacher(
    settings: BackEndSettings, media: MediaStore, view: ViewRule, key: str
) -> CheckpointTeacher | ServerTeacher | None:
    where, protocol = settings.teacher, pointed_protocol(style="full", max_turns=1)
    if not where:
        return None
    if not is_server(where.at):
        return CheckpointTeacher(path=Path(where.at), media=media, protocol=protocol, load=settings.load)
    from saccade.chat.openai_chat import ChatClient

    client = ChatClient(
        where.at,
        where.model,
        media=media,
        api_key=key or "none",
        timeout_s=settings.server.timeout_s,
        max_concurrency=settings.server.requests_at_once,
        requests_per_minute=settings.server.requests_per_minute,
        retries=settings.server.retries,
    )
    return ServerTeacher(client=client, protocol=protocol, view=view)
