"""Back ends of Argos' verifier, opened as their settings say: regions, pointers, teachers, judges."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from saccade.chat.answer_scoring import CheckpointTeacher, ServerTeacher
from saccade.chat.chat_model import ChatModel, is_server
from saccade.chat.resources import Resources
from saccade.errors import MachineError
from saccade.media import MediaStore
from saccade.media.resize import ViewRule
from saccade.protocols import pointed_protocol
from saccade.recipes.argos_back_end_settings import BackEndSettings, ModelAt, value_of
from saccade.rewards.argos import (
    CachedRegions,
    ExactRegions,
    ModelMoments,
    ModelRegions,
    ModelSelector,
    RegionRequest,
    Regions,
    RuleSelector,
    Selector,
    Verifier,
    VerifierForms,
    VisionPointer,
)
from saccade.rewards.argos.regions import Masks
from saccade.rewards.argos.video_judge import FramesJudge
from saccade.rewards.judges import Judges, JudgeSettings
from saccade.rewards.judges.settings import judges
from saccade.seeding import seed_for
from saccade.services.client import RemoteTools
from saccade.services.client.configured import TOKEN_VARIABLE
from saccade.services.client.remote_regions import RemoteRegions
from saccade.vision_models.kinds import Pointer


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

    def __exit__(self, *_: object) -> None:
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
    found = (
        OpenedRegions(open=lambda entered: _regions(settings, pointer, media, entered, group))
        if settings.finds and not settings.boxes
        else None
    )
    # Not cached: two questions on one picture may have other boxes.
    regions: Regions | None = ExactRegions() if settings.boxes else None
    if found is not None:
        regions = CachedRegions(inner=found, directory=settings.regions_dir)
    judged = judges(
        judge, judges_consistency=False, judges_answers=True, exact=None, media=media, seed=seed_for(seed, "judge")
    )
    teacher = _teacher(settings, media, view, key)
    verifier = Verifier(
        regions=regions,
        teacher=teacher,
        moments=ModelMoments(model=chat("moments", settings.moments), seed=seed) if settings.moments else None,
        video=FramesJudge(model=chat("video_judge", settings.video_judge), seed=seed) if settings.video_judge else None,
        forms=forms,
    )
    selector: Selector = RuleSelector()
    if settings.selector:
        selector = ModelSelector(model=chat("selector", settings.selector), seed=seed)
    opened: list[AbstractContextManager[object]] = [] if found is None else [found]
    if teacher is not None:
        opened.append(teacher if is_server(settings.teacher.at) else OpenedFor(f"{group}teacher.at", teacher))
    return BackEnds(
        verifier=verifier,
        selector=selector,
        judged=judged,
        resources=(models, *opened, *judged.resources),
        meters=lambda: {**verifier.meters(), **models.meters(), **judged.meters()},
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
