"""The frozen pieces of a scene, in the order in which a page shows them; ``scene.py`` puts them together.

Offsets into texts are in UTF-16 code units, since that is how a browser counts. Numbers are finite or None.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from saccade.types import ImageRef, Json

RegionKind = Literal["target", "asked", "named", "hit", "miss"]
"""Role of a place: it matters for the answer, a call asked for it, a thought named it, and its point hit or missed."""

SceneVerdict = Literal["right", "wrong", "failed", "unknown"]
"""``unknown``: nothing says right from wrong there."""

PartKind = Literal["text", "tag", "thought", "call", "answer", "code"]


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenSignals:
    """Numbers about one trajectory's action tokens, each turn's in order; empty where they were not written down."""

    advantages: Sequence[float] = ()
    """One for each turn."""
    token_advantages: Sequence[Sequence[float]] = ()
    entropy: Sequence[Sequence[float]] = ()
    reference_logprobs: Sequence[Sequence[float]] = ()
    teacher_logprobs: Sequence[Sequence[float]] = ()
    clocks: Sequence[Mapping[str, float]] = ()
    """For each turn the seconds of its ``prefill``, ``decode`` and ``tools``, and when its ``start`` was."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """Place of a trajectory in a viewer's index."""

    id: str
    run: str
    stage: str
    step: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin:
    """What a picture was cut out of, as its call asked for it."""

    turn: int
    picture: str
    box: tuple[float, float, float, float]
    region: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenPicture:
    """A picture that the model saw, or that a tool gave back; ``key`` names its place: ``q0`` or ``t1.0``."""

    key: str
    hash: str
    width: int
    height: int
    caption: str
    origin: Origin | None = None
    seen: tuple[int, int] | None = None
    """(width, height) in pixels at which the policy got it; None where the record does not prove it."""
    veil: str = ""
    """What no call returned of a question's picture, as the path of an SVG in pixels of its original; empty where none
    returned anything of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SentText:
    """A prompt or an observation as the policy got it, with the template's own words."""

    is_prompt: bool
    turn: int
    """From 1: the turn that follows a prompt, or that an observation answers."""
    tokens: int
    text: str
    left_out: int
    """Characters of the text that are in the record alone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Region:
    """A place on a picture, in pixels of its original."""

    id: str
    picture: str
    kind: RegionKind
    label: str
    mark: str
    """One or two characters beside its shape, so that kinds differ by more than colour."""
    box: tuple[float, float, float, float] | None = None
    point: tuple[float, float] | None = None
    mask: Mapping[str, Json] | None = None
    """``width``, ``height`` and ``counts``: run lengths in column-major order, zeros first."""
    written: tuple[float, ...] | None = None
    """The numbers as the model wrote them, in ``frame``."""
    frame: str = "pixels"
    turn: int | None = None
    fate: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class TextSpan:
    """A stretch of a turn's text that speaks of a region."""

    start: int
    end: int
    region: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TextPart:
    """A stretch of a turn's text of one kind."""

    start: int
    end: int
    kind: PartKind


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnTokens:
    """The action tokens of a turn: where each ends in the turn's text, and what is known of each."""

    ends: tuple[int, ...] | None
    """None where the texts of the tokens are not known or are not the turn's text."""
    probability: tuple[float | None, ...] = ()
    entropy: tuple[float | None, ...] = ()
    advantage: tuple[float | None, ...] = ()
    ratio: tuple[float | None, ...] = ()
    """Probability over that of the reference policy."""
    teacher: tuple[float | None, ...] = ()
    """The teacher's probability over the policy's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SceneTurn:
    """A turn: text with its parts and spans, what came of it, and what the model saw next."""

    n: int
    """From 1."""
    text: str
    left_out: int
    """Characters of the text that are in the record alone."""
    parts: tuple[TextPart, ...]
    spans: tuple[TextSpan, ...]
    outcome: str
    is_fine: bool
    was_run: bool
    """Its call gave a result, and ``call`` says what was run; other trainers' files have it as it was written."""
    call: str
    """The call's arguments as they were run, coordinates in pixels; JSON, or nothing."""
    code: str
    observation: str
    observation_left_out: int
    pictures: tuple[str, ...]
    advantage: float | None
    seconds: Mapping[str, float] | None
    tokens: TurnTokens | None


@dataclass(frozen=True, kw_only=True, slots=True)
class RewardTerm:
    """A term as a bar shows it."""

    name: str
    value: float | None
    weight: float | None
    contribution: float | None
    note: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Reward:
    """A reward taken apart."""

    total: float | None
    terms: tuple[RewardTerm, ...]
    notes: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedQuestion:
    """What was asked."""

    id: str
    family: str
    text: str
    choices: tuple[str, ...]
    answer: str
    accepted: tuple[str, ...]
    buckets: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class TrajectoryScene:
    """Everything that a page shows of one trajectory."""

    id: str
    run: str
    stage: str
    step: int
    stream: str
    sample: int
    seed: int
    policy_version: int
    status: str
    failure: str
    verdict: SceneVerdict
    answer: str | None
    task: AskedQuestion
    findings: tuple[str, ...]
    """What happened, in sentences, the telling ones first."""
    reward: Reward | None
    pictures: tuple[SeenPicture, ...]
    pictures_left_out: int
    regions: tuple[Region, ...]
    turns: tuple[SceneTurn, ...]
    turns_left_out: int
    sent: tuple[SentText, ...] = ()


def utf16(text: str) -> int:
    """Length in UTF-16 code units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def finite(value: float | None) -> float | None:
    """The number, or None for NaN and infinities, which JSON cannot say."""
    return value if value is not None and abs(value) < float("inf") else None


def picture_of(key: str, image: ImageRef, caption: str, origin: Origin | None = None) -> SeenPicture:
    return SeenPicture(key=key, hash=image.hash, width=image.width, height=image.height, caption=caption, origin=origin)
