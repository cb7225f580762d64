"""Back ends of Argos' curation, opened from names: what finds regions, what points, what scores answers."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from saccade.chat.answer_scoring import AnswerScorer, CheckpointTeacher, ServerTeacher
from saccade.chat.chat_model import is_checkpoint, is_server
from saccade.curation.argos.marks import MarkFinder, PointerMarks, RegionMarks
from saccade.curation.teachers import Teachers
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.protocols.protocol import ChatProtocol
from saccade.rewards.argos.model_regions import ModelRegions, RegionFinding
from saccade.rewards.argos.pointers import PointUnits, VisionPointer
from saccade.rewards.argos.region_cache import CachedRegions
from saccade.rewards.argos.regions import ExactRegions, Regions
from saccade.rollout.conversation import ORIGINAL_VIEW
from saccade.services.client.configured import TOKEN_VARIABLE
from saccade.services.client.remote_regions import RemoteRegions
from saccade.services.client.remote_tools import RemoteTools
from saccade.vision_models.kinds import Pointer

REGIONS = "regions"
"""Folder of a curation in which found regions are kept."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FinderNames:
    """Names of what finds things: directories of models, or the address of a tool server; none for exact regions."""

    detector: Path | None = None
    segmenter: Path | None = None
    service: str | None = None

    def __post_init__(self) -> None:
        if self.service is not None and (self.detector or self.segmenter):
            raise UserError("--service finds and cuts out things by itself; leave out --detector and --segmenter")
        if self.segmenter is None and self.detector is not None:
            raise UserError("--detector finds boxes, but points are compared with regions; name a --segmenter too")

    def check_pointed(self, has_pointer: bool) -> None:
        """UserError for a segmenter that nothing tells where to look."""
        if self.segmenter is not None and self.detector is None and not has_pointer:
            raise UserError("--segmenter cuts out what is found; name a --detector, a --pointer or both")

    @property
    def is_exact(self) -> bool:
        """Whether regions are those of the questions themselves."""
        return self.service is None and self.segmenter is None


@contextmanager
def found_by(
    names: FinderNames, *, units: PointUnits, finding: RegionFinding, teachers: Teachers
) -> Iterator[tuple[Regions, MarkFinder]]:
    """What verifies points, and what marks things for the teacher, until the block ends."""
    media = teachers.media
    pointer: Pointer | None = None
    if (named := teachers.models.get("pointer")) is not None:
        pointer = VisionPointer(model=teachers.vision("pointer"), name=str(named), units=units)
    with _regions(names, pointer, finding, media) as found:
        regions = found if names.is_exact else CachedRegions(inner=found, directory=teachers.out / REGIONS)
        yield regions, RegionMarks(regions) if pointer is None else PointerMarks(pointer=pointer, media=media)


@contextmanager
def _given_by(option: str) -> Iterator[None]:
    """A block about an option's directory: its UserErrors begin with the option."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{option} {error}") from error


@contextmanager
def _regions(
    names: FinderNames, pointer: Pointer | None, finding: RegionFinding, media: MediaStore
) -> Iterator[Regions]:
    if names.service is not None:
        with RemoteTools(names.service, os.environ.get(TOKEN_VARIABLE)) as tools:
            yield RemoteRegions(tools=tools, media=media, name=names.service, pointer=pointer, finding=finding)
    elif names.segmenter is not None:
        # Here, for exact regions need no torch.
        from saccade.vision_models.detectors import load_detector
        from saccade.vision_models.segmenters import load_segmenter

        with _given_by("--detector"):
            detector = None if names.detector is None else load_detector(names.detector)
        with _given_by("--segmenter"):
            segmenter = load_segmenter(names.segmenter)
        yield ModelRegions(
            media=media,
            name=f"{names.detector or ''} {names.segmenter}".strip(),
            detector=detector,
            segmenter=segmenter,
            pointer=pointer,
            finding=finding,
        )
    else:
        yield ExactRegions()


@contextmanager
def answers_scored_by(teachers: Teachers, *, protocol: ChatProtocol) -> Iterator[AnswerScorer]:
    """The teacher that says how probable an answer is after a reasoning, until the block ends."""
    who, server = teachers.models["scorer"].where, teachers.server
    if is_server(who):
        from saccade.chat.openai_chat import ChatClient

        client = ChatClient(
            who,
            teachers.server_model("scorer"),
            media=teachers.media,
            api_key=os.environ.get(teachers.api_key_env, "") or "none",
            timeout_s=server.timeout_s,
            max_concurrency=server.requests_at_once,
            requests_per_minute=server.requests_per_minute,
            retries=server.retries,
        )
        with ServerTeacher(client=client, protocol=protocol, view=ORIGINAL_VIEW) as scorer:
            yield scorer
        return
    if not is_checkpoint(Path(who)):
        raise UserError(f"--scorer {who} is neither the address of a server (http://…) nor a checkpoint directory")
    with CheckpointTeacher(path=Path(who), media=teachers.media, protocol=protocol) as checkpoint:
        yield checkpoint
