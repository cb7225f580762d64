"""Command of Argos' curation: questions, back ends and folder, from what the command line says."""

import logging
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from saccade.chat.chat_model import ChatModel, ChatServerSettings
from saccade.chat.local_chat import LocalChat
from saccade.config.settings import apply_overrides
from saccade.curation.argos.back_ends import FinderNames, answers_scored_by, found_by
from saccade.curation.argos.outcomes import TracedQuestion, traced_from
from saccade.curation.argos.pipeline import Tracing
from saccade.curation.argos.report import TracingReport
from saccade.curation.argos.settings import TracingSettings
from saccade.curation.journal import PICTURES, Journal, deciding, digest, remove_pictures, telling
from saccade.curation.requests import QuestionsRequest
from saccade.curation.teachers import Teachers
from saccade.errors import UserError
from saccade.media.resize import ViewRule
from saccade.media.store import MediaStore
from saccade.protocols.pointed import pointed_protocol
from saccade.rewards.argos.model_regions import RegionFinding
from saccade.rewards.argos.pointers import PointUnits
from saccade.rewards.argos.reward import ArgosReward
from saccade.rewards.argos.verifier import Verifier, VerifierForms, VideoJudge
from saccade.rewards.argos.video_judge import FramesJudge
from saccade.rollout.conversation import ORIGINAL_VIEW
from saccade.types import Json, Task
from saccade.waiting import run_to_end

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class ArgosCuration(TracingSettings):
    """Settings of making traces, of their verification and of the servers."""

    reward: ArgosReward = ArgosReward(measured_share=0.0)
    """Weights, tau and tolerance of the verifier; reasoning counts where there is a scorer."""
    forms: VerifierForms = VerifierForms()
    finding: RegionFinding = RegionFinding()
    pointer_units: PointUnits = "percent"
    """What coordinates of the pointing model count."""
    difficulty: float = 0.5
    """Difficulty of drawn questions."""
    server: ChatServerSettings = field(default_factory=lambda: ChatServerSettings(max_tokens=6144))
    """The paper's 6,144 tokens of a trace."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ArgosRequest(QuestionsRequest):
    """Arguments of the command line; the roles are teacher, extractor, scorer, pointer and video-judge."""

    finders: FinderNames
    exact_video: VideoJudge | None
    """Judges what is said of drawn videos, where no model is named for that."""
    writes_sets: bool

    def __post_init__(self) -> None:
        self.finders.check_pointed("pointer" in self.models)


def curate_argos(request: ArgosRequest) -> TracingReport:
    """Makes traces to imitate into ``request.out`` and gives the counts."""
    settings = apply_overrides(ArgosCuration(), request.overrides)
    # On disk, for there is a copy with coordinates of every picture.
    media = MediaStore(request.out / PICTURES)
    tasks = request.questions(media, difficulty=settings.difficulty)
    if settings.asks == "overlay" or settings.reward.grounding_weight:
        _check_verifiable(tasks, request)
    if settings.asks == "overlay":
        _check_named(tasks, request)
    with Journal(request.out, _started_with(request, settings, tasks), traced_from, resume=request.resume) as journal:
        report = run_to_end(_run(request, settings, tasks, journal, media))
    remove_pictures(request.out)
    return report


async def _run(
    request: ArgosRequest,
    settings: ArgosCuration,
    tasks: Sequence[Task],
    journal: Journal[TracedQuestion],
    media: MediaStore,
) -> TracingReport:
    with ExitStack() as opened:
        teachers = opened.enter_context(Teachers.of(request, settings.server, media))
        teacher = teachers.teacher("teacher")
        regions, marks = opened.enter_context(
            found_by(request.finders, units=settings.pointer_units, finding=settings.finding, teachers=teachers)
        )
        judge = teachers.teacher_if_named("video-judge")
        verifier = Verifier(
            regions=regions,
            video=request.exact_video if judge is None else FramesJudge(model=judge, seed=request.seed),
            teacher=None
            if "scorer" not in request.models
            else opened.enter_context(answers_scored_by(teachers, protocol=pointed_protocol(style=settings.style))),
            forms=settings.forms,
        )
        tracing = Tracing(
            teacher=teacher,
            reward=verified_by(settings.reward, verifier),
            media=media,
            marks=marks,
            extractor=teachers.teacher_if_named("extractor"),
            view=view_of(teacher),
            settings=settings,
            seed=request.seed,
            writes_sets=request.writes_sets,
        )
        tell = telling(journal, len(tasks), lambda one: one.best is not None)
        return await tracing.run(tasks, journal, counts=teachers.counts, on_outcome=tell)


def verified_by(reward: ArgosReward, verifier: Verifier) -> ArgosReward:
    """The reward over a verifier; reasoning counts only where a teacher can judge it."""
    weight = 0.0 if verifier.teacher is None else reward.reasoning_weight
    return replace(reward, verifier=verifier, reasoning_weight=weight)


def view_of(teacher: ChatModel) -> ViewRule:
    """How the teacher sees pictures: known of a checkpoint; a server is asked in pixels of the original."""
    view = teacher.view if isinstance(teacher, LocalChat) else None
    return ORIGINAL_VIEW if view is None else view


def _check_verifiable(tasks: Sequence[Task], request: ArgosRequest) -> None:
    """UserError for questions whose points nothing could verify."""
    for task in tasks:
        if request.finders.is_exact and task.images and not (task.targets or task.objects):
            raise UserError(
                f"question {task.id} has no boxes that points could be compared with; name --detector and "
                "--segmenter, or the address of a tool server with --service"
            )
        if task.frame_times_s and request.exact_video is None and "video-judge" not in request.models:
            raise UserError(
                f"question {task.id} is about a video, but nothing judges statements about its frames; name a model "
                "with --video-judge"
            )


def _check_named(tasks: Sequence[Task], request: ArgosRequest) -> None:
    """UserError where nothing names the things of any question; a warning where some would be given up for that."""
    if "extractor" in request.models:
        return
    bare = [task.id for task in tasks if task.images and not (task.targets or task.objects)]
    if bare:
        told = (
            f"{len(bare)} of {len(tasks)} questions, {bare[0]} first, have no boxes whose labels name what to look at; "
            "choose a model that names it with --extractor and --extractor-model (the teacher's server will do)"
        )
        if len(bare) == len(tasks):
            raise UserError(told)
        logger.warning("%s; without one they are given up as no_things", told)


def _started_with(request: ArgosRequest, settings: ArgosCuration, tasks: Sequence[Task]) -> dict[str, Json]:
    """Everything that decides what is asked and kept, which must be the same for a curation to be resumed."""
    finders = request.finders
    return {
        "questions": len(tasks),
        "questions_sha256": digest(
            f"{task.id} {task.question} {task.answer} {' '.join(image.hash for image in task.images)}" for task in tasks
        ),
        **request.models_used(),
        **request.family_used(),
        "found_by": [str(one) for one in (finders.detector, finders.segmenter, finders.service) if one],
        "max_frames": request.max_frames,
        "seed": request.seed,
        **deciding(settings, settings.server),
    }
