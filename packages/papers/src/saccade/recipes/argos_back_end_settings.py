"""Settings of Argos' back ends: which models the verifier asks, and whether those that a reward needs are there."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from saccade.chat.chat_model import API_KEY_VARIABLE, ChatServerSettings, is_checkpoint, is_server
from saccade.errors import UserError
from saccade.models import LoadSettings
from saccade.rewards.argos import ArgosReward, RegionFinding
from saccade.rewards.argos.pointers import PointUnits
from saccade.rewards.argos.selection import by_rules
from saccade.types import Task
from saccade.vision_models.kinds import DETECTORS, SEGMENTERS, check_kind


@dataclass(frozen=True, kw_only=True)
class ModelAt:
    """A model: a checkpoint directory, or the address of a server and its name of the model."""

    at: str = ""
    """Such as ``checkpoints/teacher`` or ``http://localhost:8000/v1``; empty for none."""
    model: str = ""
    """The model's name at the server."""

    def __bool__(self) -> bool:
        return bool(self.at)


@dataclass(frozen=True, kw_only=True)
class BackEndSettings:
    """What the verifier asks. Nothing is downloaded: models are directories or servers."""

    detector: Path | None = None
    """GroundingDINO or OWLv2: finds things by their names."""
    segmenter: Path | None = None
    """SAM or SAM 2: cuts out what was found."""
    boxes: bool = False
    """Whether things are where the rows' own boxes say, and nowhere else; then no model finds them. A thing that has no
    box under its name is not there."""
    service: str = ""
    """Or both of them at a tool server (``saccade serve``), such as ``http://localhost:8400``."""
    service_models: str = ""
    """Names of the service's models; regions cached under other names are not used."""
    pointer: ModelAt = ModelAt()
    """Points at things in charts, maps and drawings: a vision-language model that answers in points."""
    pointer_units: PointUnits = "percent"
    """Unit of the pointer's coordinates; Molmo's are percent, Qwen2.5-VL's pixels, Qwen3-VL's thousandths."""
    finding: RegionFinding = RegionFinding()
    regions_dir: Path | None = None
    """Directory that caches regions for other runs; without it they are cached for this run alone."""
    teacher: ModelAt = ModelAt()
    """Scores the answer after the reasoning; a server must give log-probabilities of prompts, as vLLM does."""
    video_judge: ModelAt = ModelAt()
    """Judges statements about frames and segments of videos."""
    moments: ModelAt = ModelAt()
    """Reads which moments of a video a thought speaks of, where rules find none; without it only rules read them."""
    selector: ModelAt = ModelAt()
    """Picks the scorers of each task, once; without a selector rules pick them."""
    load: LoadSettings = LoadSettings()
    """How checkpoints are loaded."""
    server: ChatServerSettings = ChatServerSettings(requests_at_once=32, timeout_s=60.0, retries=3)
    api_key_env: str = API_KEY_VARIABLE
    """Name of the environment variable with the servers' key; the tool server's is SACCADE_TOKEN."""
    cache_dir: Path | None = None
    """Directory that caches the servers' replies."""

    def check(self) -> None:
        if self.boxes and (self.service or self.detector or self.segmenter):
            raise UserError("boxes are the rows' own regions; leave out service, detector and segmenter")
        if self.service and (self.detector or self.segmenter):
            raise UserError("service finds and cuts out things by itself; leave out detector and segmenter")
        if self.service and not self.service_models:
            raise UserError("service_models must name the service's detector and segmenter, in any words of yours")
        if self.detector and not self.segmenter:
            raise UserError("detector finds boxes, but points are compared with regions; set segmenter too")
        _check_kind("detector", self.detector, DETECTORS)
        _check_kind("segmenter", self.segmenter, SEGMENTERS)
        for name in ("pointer", "teacher", "video_judge", "moments", "selector"):
            where: ModelAt = getattr(self, name)
            if where and is_server(where.at) and not where.model:
                raise UserError(f"{name}.at={where.at} is a server; say with {name}.model which of its models is meant")
            if where and not is_server(where.at) and not is_checkpoint(Path(where.at)):
                raise UserError(
                    f"{name}.at={where.at} is neither the address of a server, such as http://localhost:8000/v1, "
                    "nor a checkpoint directory: it has no config.json"
                )

    @property
    def finds(self) -> bool:
        return bool(self.boxes or self.service or self.segmenter)


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
            "checkpoint directories, or back_ends.service to a tool server, back_ends.boxes=true for the boxes of your "
            "rows, or reward.grounding_weight=0"
        )
    bare = [one.id for one in tasks if one.images and not (one.targets or one.objects)]
    if settings.boxes and bare:
        raise UserError(
            f"back_ends.boxes=true, but {len(bare)} of {len(tasks)} questions, {bare[0]} first, have no boxes; "
            "give each its boxes, or set back_ends.detector and back_ends.segmenter"
        )
    wanted = Counter(scorer for task in tasks for scorer in by_rules(task).grounding)
    missing = {
        "detector": not (settings.boxes or settings.detector or settings.service) and "back_ends.detector",
        "pointer": not (settings.boxes or settings.pointer) and "back_ends.pointer.at",
        "video": not settings.video_judge and "back_ends.video_judge.at",
    }
    for scorer, count in wanted.items():
        if setting := missing[scorer]:
            raise UserError(
                f"{count} of {len(tasks)} questions need the scorer {scorer!r} (docs/argos.md has the rules), which is "
                f"not set; set {setting}, or reward.grounding_weight=0"
            )
