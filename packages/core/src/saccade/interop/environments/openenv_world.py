"""Environments behind an OpenEnv server, whatever its own actions and observations are."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import httpx2
import numpy as np
from PIL import Image

from saccade.errors import MachineError, UserError
from saccade.interop.environments.actions import calls_in, tool_rules
from saccade.interop.environments.messages import picture_of_base64, picture_of_url, shown_of_messages
from saccade.interop.environments.observations import picture_of
from saccade.interop.environments.world import EndlessSource, NumberedEpisode, StepResult, WorldObservation
from saccade.interop.openenv.connection import WideEnvClient
from saccade.types import Json

SCHEMA_S = 30.0
_SCHEMA_BYTES = 16 << 20
_OWN_FIELDS = frozenset(("metadata", "reward", "done"))
"""Fields that OpenEnv gives every action or observation."""
_TOOL_ACTIONS = frozenset(("Action", "CallToolAction", "ListToolsAction"))
"""Titles of the actions of servers whose environment is tools of MCP."""
_HEAD_CHARS = 64


@dataclass(frozen=True, kw_only=True)
class OpenEnvSource(EndlessSource):
    """A server's environment; each world is a session of its own.

    A server whose action has one field takes the model's text there, as a number where the field is one; any other
    takes the action as a JSON object, and a server of MCP's tools a call of one of them. Observations are shown as
    their texts and pictures (base64, data URLs, and numbers beside a field ``…_shape``).
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
        """Fields of the server's action with their JSON schemas."""
        properties = self.action_schema.get("properties", {})
        return {name: one for name, one in properties.items() if name not in _OWN_FIELDS}

    @cached_property
    def action_schema(self) -> Mapping[str, Any]:
        """JSON schema of the server's action; UserError where no server answers."""
        url = f"{self.url.rstrip('/')}/schema"
        try:
            headers = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
            # Not followed elsewhere: the token is this server's alone.
            with httpx2.stream("GET", url, headers=headers, timeout=SCHEMA_S) as answer:
                answer.raise_for_status()
                schema = json.loads(next(answer.iter_bytes(_SCHEMA_BYTES), b""))
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, RecursionError) as error:
            raise UserError(f"no OpenEnv server answers at {url}: {error}") from error
        action = schema.get("action") if isinstance(schema, dict) else None
        return action if isinstance(action, dict) else {}


class OpenEnvWorld:
    """One session."""

    def __init__(self, source: OpenEnvSource) -> None:
        self._source = source
        self._fields = source.action_fields
        self._takes_calls = source.action_schema.get("title") in _TOOL_ACTIONS
        self._tools: list[dict[str, Json]] = []
        self._client: WideEnvClient[object] = WideEnvClient(base_url=source.url, token=source.token)
        self._client.connect()

    @property
    def rules(self) -> str:
        if self._takes_calls:
            return tool_rules(self._tools)
        if len(self._fields) == 1:
            [(name, schema)] = self._fields.items()
            said = schema.get("description") or f"a {schema.get('type', 'text')}"
            return f"An action is {name}: {said}."
        return f"An action is a JSON object of this form: {json.dumps(dict(self._fields))}"

    def reset(self, episode: NumberedEpisode) -> WorldObservation:
        result = self._client.reset(seed=episode.seed(self._source.name), **self._source.arguments)
        if self._takes_calls and not self._tools:
            listed = self._client.step({"type": "list_tools"}).observation
            self._tools = cast("dict[str, list[dict[str, Json]]]", listed)["tools"]
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
        shown = _shown_of_call(result.observation) if self._takes_calls else shown_of_fields(result.observation)
        return StepResult(shown=shown, reward=float(result.reward or 0.0), terminated=bool(result.done))

    def close(self) -> None:
        self._client.close()

    def _payload(self, action: str) -> dict[str, object] | StepResult:
        if self._takes_calls:
            calls = calls_in(action, [str(tool["name"]) for tool in self._tools])
            if isinstance(calls, str) or len(calls) != 1:
                return StepResult(invalid=calls if isinstance(calls, str) else "an action is one call of a tool")
            call = cast("dict[str, str]", calls[0]["function"])
            return {"type": "call_tool", "tool_name": call["name"], "arguments": json.loads(call["arguments"])}
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


def _shown_of_call(observation: object) -> WorldObservation:
    """The content that a tool of MCP gave; all fields where it gave none."""
    result = observation.get("result") if isinstance(observation, Mapping) else None
    content = result.get("content") if isinstance(result, Mapping) else None
    if not isinstance(content, list):
        return shown_of_fields(observation)
    parts = [
        {"type": "image", "image_url": f"data:image/png;base64,{part.get('data')}"}
        if part.get("type") == "image"
        else part
        for part in content
        if isinstance(part, Mapping)
    ]
    return shown_of_messages([{"content": parts}])


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
