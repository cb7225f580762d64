"""What a page asks, read within limits: a question with a picture, how it is asked, and perhaps an edited turn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from saccade.characters import whole_characters
from saccade.codec.bounds import Bounds
from saccade.codec.codecs import FOREIGN_CODEC
from saccade.codec.forms import Form
from saccade.codec.wrong import BrokenRecordError
from saccade.errors import UserError
from saccade.rollout.episodes import EpisodeSpec

MAX_SAMPLES = 8
MAX_QUESTION = 20_000


@dataclass(frozen=True, kw_only=True, slots=True)
class EditedTurn:
    """A turn of an earlier sample with another text, from which it goes on."""

    FORM: ClassVar = Form(keys={"sample": "id"}, is_closed=True)

    sample: Annotated[str, Bounds(most=80)]
    turn: Annotated[int, Bounds(least=1, most=1000)]
    """From 1, as the page counts."""
    text: Annotated[str, Bounds(most=60_000)] = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class AskBody:
    """What a page sends."""

    FORM: ClassVar = Form(keys={"edited": "from"}, is_closed=True)

    image: str | None = None
    question: Annotated[str, Bounds(most=MAX_QUESTION)] = ""
    protocol: str | None = None
    tools: tuple[str, ...] | None = None
    """Names of the tools that it may call; all of the protocol's where none are told."""
    samples: Annotated[int, Bounds(least=1, most=MAX_SAMPLES)] = 1
    temperature: Annotated[float, Bounds(least=0, most=2)] | None = None
    seed: Annotated[int, Bounds(least=0, most=(1 << 63) - 1)] | None = None
    edited: EditedTurn | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Ask:
    """One press of the button."""

    image: str | None
    """Hash of a picture that this server has been given."""
    question: str
    spec: EpisodeSpec
    samples: int
    temperature: float
    seed: int | None
    edited: EditedTurn | None


def read_ask(body: bytes, offered: Mapping[str, EpisodeSpec], usual: str) -> Ask:
    """UserError that names what is wrong. ``usual`` is the protocol of a page that names none."""
    try:
        asked = FOREIGN_CODEC.read(AskBody, body, "the question")
    except BrokenRecordError as error:
        raise UserError(str(error)) from error
    if asked.edited is None and not asked.question.strip():
        raise UserError("the question is empty; write one")
    protocol = asked.protocol or usual
    if protocol not in offered:
        raise UserError(f"protocol={protocol[:60]!r} is none of {', '.join(offered)}")
    spec = offered[protocol]
    return Ask(
        image=asked.image,
        question=whole_characters(asked.question),
        spec=_with_tools(spec, asked.tools),
        samples=asked.samples,
        temperature=spec.rollout.temperature if asked.temperature is None else asked.temperature,
        seed=asked.seed,
        edited=asked.edited and replace(asked.edited, text=whole_characters(asked.edited.text)),
    )


def _with_tools(spec: EpisodeSpec, names: Sequence[str] | None) -> EpisodeSpec:
    if names is None or not spec.protocol.offers_tools:
        return spec
    return replace(spec, tools=tuple(tool for tool in spec.tools if tool.spec.name in names))
