"""What a page asks, read within limits: a question with a picture, how it is asked, and perhaps an edited turn."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from saccade.errors import UserError
from saccade.rollout.episodes import EpisodeSpec
from saccade.types import Json

MAX_SAMPLES = 8
MAX_QUESTION, MAX_TURN = 20_000, 60_000
"""Characters of a question, and of a turn that was edited."""
MAX_TEMPERATURE = 2.0
_FIELDS = frozenset({"image", "question", "protocol", "tools", "samples", "temperature", "seed", "from"})


@dataclass(frozen=True, kw_only=True, slots=True)
class EditedTurn:
    """A turn of an earlier sample with another text, from which it goes on."""

    sample: str
    turn: int
    """From 1, as the page counts."""
    text: str


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
        values: Json = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise UserError(f"the body is no JSON: {str(error)[:200]}") from error
    if not isinstance(values, dict):
        raise UserError("the body must be a JSON object")
    if unknown := sorted(set(values) - _FIELDS):
        raise UserError(f"nothing is known of {unknown[0][:60]!r}; a question has {', '.join(sorted(_FIELDS))}")
    edited = _edited(values.get("from"))
    question = _text(values, "question", MAX_QUESTION)
    if edited is None and not question.strip():
        raise UserError("the question is empty; write one")
    protocol = values.get("protocol") or usual
    if not isinstance(protocol, str) or protocol not in offered:
        raise UserError(f"protocol={str(protocol)[:60]!r} is none of {', '.join(offered)}")
    image, seed = values.get("image"), values.get("seed")
    if image is not None and not isinstance(image, str):
        raise UserError("image must be the hash of a picture, or null")
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 1 << 63):
        raise UserError("seed must be a whole number of at most 63 bits, or null")
    return Ask(
        image=image,
        question=question,
        spec=_with_tools(offered[protocol], values.get("tools")),
        samples=int(_number(values, "samples", 1, 1, MAX_SAMPLES)),
        temperature=_number(values, "temperature", offered[protocol].rollout.temperature, 0, MAX_TEMPERATURE),
        seed=seed,
        edited=edited,
    )


def _with_tools(spec: EpisodeSpec, names: Json) -> EpisodeSpec:
    """With those of its tools that are named; all of them where none are told."""
    if names is None or not spec.protocol.offers_tools:
        return spec
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UserError("tools must be a list of names")
    return replace(spec, tools=tuple(tool for tool in spec.tools if tool.spec.name in names))


def _edited(value: Json) -> EditedTurn | None:
    if value is None:
        return None
    if not isinstance(value, dict) or not isinstance(value.get("id"), str):
        raise UserError("from must name a sample by its id, a turn and its new text")
    turn = _number(value, "turn", 0, 1, 1000)
    return EditedTurn(sample=str(value["id"])[:80], turn=int(turn), text=_text(value, "text", MAX_TURN))


def _text(values: Mapping[str, Json], name: str, most: int) -> str:
    value = values.get(name, "")
    if not isinstance(value, str):
        raise UserError(f"{name} must be text")
    if len(value) > most:
        raise UserError(f"{name} has {len(value)} characters, and {most} are allowed; shorten it")
    # No file of records holds half a surrogate pair.
    return value.encode("utf-8", "replace").decode("utf-8")


def _number(values: Mapping[str, Json], name: str, usual: float, least: float, most: float) -> float:
    value = values.get(name)
    if value is None:
        value = usual
    if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:
        raise UserError(f"{name}={str(value)[:40]} must be a number from {least:g} to {most:g}")
    return value
