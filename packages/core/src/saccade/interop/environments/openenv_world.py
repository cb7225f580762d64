"""Environments behind an OpenEnv server, whatever its own actions and observations are."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

import httpx2
import numpy as np
from PIL import Image

from saccade.errors import MachineError, UserError
from saccade.interop.environments.messages import picture_of_base64, picture_of_url
from saccade.interop.environments.observations import picture_of
from saccade.interop.environments.world import EndlessSource, NumberedEpisode, StepResult, WorldObservation
from saccade.interop.openenv.connection import WideEnvClient

SCHEMA_S = 30.0
_SCHEMA_BYTES = 16 << 20
_OWN_FIELDS = frozenset(("metadata", "reward", "done"))
"""Fields that OpenEnv gives every action or observation."""
_HEAD_CHARS = 64


@dataclass(frozen=True, kw_only=True)
class OpenEnvSource(EndlessSource):
    """A server's environment; each world is a session of its own.

    A server whose action has one field takes the model's text there, as a number where the field is one; any other
    takes the action as a JSON object. Observations are shown as their texts and pictures (base64, data URLs, and
    numbers beside a field ``…_shape``).
    """

    url: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    """Further fields of ``reset``."""
    action_names: tuple[str, ...] = ()
    token: str | None = field(default=None, repr=False)
    """The server's, where it asks for one."""

    @property
    def name(self) -> str:
        return self.url.split("//")[-1].strip("/")

    def make(self) -> "OpenEnvWorld":
        return OpenEnvWorld(self)

    @cached_property
    def action_fields(self) -> Mapping[str, Mapping[str, object]]:
        """Fields of the server's action with their JSON schemas; UserError where no server answers."""
        url = f"{self.url.rstrip('/')}/schema"
        try:
            headers = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
            # Not followed elsewhere: the token is this server's alone.
            with httpx2.stream("GET", url, headers=headers, timeout=SCHEMA_S) as answer:
                answer.raise_for_status()
                schema = json.loads(next(answer.iter_bytes(_SCHEMA_BYTES), b""))
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, RecursionError) as error:
            raise UserError(f"no OpenEnv server answers at {url}: {error}") from error
        properties = schema.get("action", {}).get("properties", {}) if isinstance(schema, dict) else {}
        return {name: one for name, one in properties.items() if name not in _OWN_FIELDS}


class OpenEnvWorld:
    """One session."""

    def __init__(self, source: OpenEnvSource) -> None:
        self._source = source
        self._fields = source.action_fields
        self._client: WideEnvClient[object] = WideEnvClient(base_url=source.url, token=source.token)
        self._client.connect()

    @property
    def rules(self) -> str:
        if len(self._fields) == 1:
            [(name, schema)] = self._fields.items()
            said = schema.get("description") or f"a {schema.get('type', 'text')}"
            return f"An action is {name}: {said}."
        return f"An action is a JSON object of this form: {json.dumps(dict(self._fields))}"

    def reset(self, episode: NumberedEpisode) -> WorldObservation:
        result = self._client.reset(seed=episode.seed(self._source.name), **self._source.arguments)
        return shown_of_fields(result.observation)

    def step(self, action: str) -> StepResult:
        payload = self._payload(action)
        if isinstance(payload, StepResult):
            return payload
        try:
            result = self._client.step(payload)
        except RuntimeError as error:
            # OpenEnv's word for what its server refuses: an action that does not validate, above all.
            if "validat" in str(error).lower():
                return StepResult(invalid=f"the action is refused: {str(error)[:200]}")
            raise MachineError(str(error)) from error
        observation = result.observation
        return StepResult(
            shown=shown_of_fields(observation), reward=float(result.reward or 0.0), terminated=bool(result.done)
        )

    def close(self) -> None:
        self._client.close()

    def _payload(self, action: str) -> dict[str, object] | StepResult:
        if len(self._fields) != 1:
            try:
                said = json.loads(action)
            except (ValueError, RecursionError):
                said = None
            return said if isinstance(said, dict) else StepResult(invalid="the action is no JSON object")
        [(name, schema)] = self._fields.items()
        kind = schema.get("type")
        if kind not in ("integer", "number"):
            return {name: action}
        try:
            return {name: int(action) if kind == "integer" else float(action)}
        except ValueError:
            return StepResult(invalid=f"{name} is {action[:40]!r}, which is no {kind}")


def shown_of_fields(fields: object) -> WorldObservation:
    """Texts and pictures of an observation's fields."""
    texts: list[str] = []
    pictures: list[Image.Image] = []
    if isinstance(fields, Mapping):
        for name, value in fields.items():
            if name not in _OWN_FIELDS and not str(name).endswith("_shape"):
                _add(str(name), value, fields.get(f"{name}_shape"), texts, pictures)
    return WorldObservation(text="\n".join(texts), pictures=tuple(pictures))


def _add(name: str, value: object, shape: object, texts: list[str], pictures: list[Image.Image]) -> None:
    drawn = _picture(value, shape)
    if drawn is not None:
        pictures.append(drawn)
    elif isinstance(value, str):
        if value:
            texts.append(f"{name}: {value}")
    elif isinstance(value, bool | int | float):
        texts.append(f"{name}: {value}")
    elif isinstance(value, Mapping):
        for key, one in value.items():
            _add(f"{name}.{key}", one, None, texts, pictures)
    elif isinstance(value, Sequence):
        if all(isinstance(one, bool | int | float | str) for one in value):
            texts.append(f"{name}: {', '.join(map(str, value[:_HEAD_CHARS]))}") if value else None
        else:
            for one in value:
                _add(name, one, None, texts, pictures)


def _picture(value: object, shape: object) -> Image.Image | None:
    if isinstance(value, str) and len(value) > _HEAD_CHARS:
        return picture_of_url(value) if value.startswith("data:") else picture_of_base64(value)
    if isinstance(value, Mapping) and isinstance(value.get("data"), str) and "format" in value:
        return picture_of_base64(cast(str, value["data"]))
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) < _HEAD_CHARS:
        return None
    try:
        array = np.asarray(value, dtype=np.uint8)
        return picture_of(array.reshape([int(side) for side in shape]) if isinstance(shape, Sequence) else array)
    except (TypeError, ValueError, OverflowError):
        return None
