"""Settings of an evaluation, of a checkpoint or of a model behind a server."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from saccade.chat import ChatServerSettings, connect
from saccade.codec.bounds import Count
from saccade.config import apply_overrides
from saccade.evaluation import CropSettings
from saccade.evaluation.pixel_rule import PixelRule
from saccade.media import MediaStore
from saccade.models import LoadSettings
from saccade.protocols import Reading, Style
from saccade.recipes.evaluation_pixels import view_at_server
from saccade.rollout import RolloutSettings
from saccade.runs import AskingRecord, Way
from saccade.train.plan import ServedPolicy

SERVED_ROLLOUT = RolloutSettings(max_turn_tokens=2048, max_tokens=1 << 20)
"""A server has a limit of its own on whole conversations."""


@dataclass(frozen=True, kw_only=True)
class EvaluationSettings:
    """Settings of an evaluation; a checkpoint's record has others."""

    model: LoadSettings = LoadSettings()
    rollout: RolloutSettings = RolloutSettings(max_turn_tokens=512, max_tokens=8192)
    max_turns: int = 6
    """Turns of protocols with tools."""
    difficulty: float = 0.5
    """Difficulty of procedural tasks."""
    with_tools: bool = True
    """Whether to ask with all image tools (tagged), if neither record nor command names a protocol."""
    without_tools: bool = True
    """Whether to ask without tools (direct), if neither record nor command names a protocol."""
    views: CropSettings = CropSettings()
    """How a second look cuts out its views."""
    isolation: Literal["full", "restricted", "none"] | None = None
    """Isolation of the sandbox for code; by default ``full``, also where a record asks for a weaker one."""
    sandbox_server: str = ""
    """Address of a SandboxFusion server that runs the code, ``http://HOST:8080``, in place of this machine."""
    evidence_runs: Count = 0
    """Times that code is run again on changed pictures after each call, to say what of them its output depends on;
    40 give a rough picture, 200 a sharp one, at a tenth of a second each."""
    style: Style | None = None
    """Style of instructions, if no record gives it: ``brief`` for tiny models, which is their default."""
    reading: Reading | None = None
    """``lenient`` also reads forms of models that were not trained on the protocol, ``foreign`` bare answers too; by
    default as recorded, else ``strict``."""
    server: ChatServerSettings = ChatServerSettings()
    """Requests to the server of ``--server``; ``rollout.max_turn_tokens`` limits a reply."""
    coordinates: Literal["absolute", "relative_1000"] = "absolute"
    """Frame in which a server's model writes boxes and points: pixels of the picture as it was sent, or thousandths."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServedModel:
    """A model at a server that speaks OpenAI's chat completions."""

    url: str
    """Ends before ``/chat/completions``."""
    name: str
    """As the server lists it."""


def model_at_server(
    server: ServedModel, settings: EvaluationSettings, media: MediaStore, pixels: PixelRule = PixelRule()
) -> ServedPolicy:
    """The server's model, asked with pictures as they are or within limits of pixels."""
    view = view_at_server(pixels, settings.coordinates)
    rollout = settings.rollout
    body = settings.server.extra_fields()
    if rollout.top_p < 1:
        body = {"top_p": rollout.top_p, **body}
    if rollout.top_k:
        body = {"top_k": rollout.top_k, **body}
    asked = replace(settings.server, max_tokens=rollout.max_turn_tokens, extra_body=json.dumps(body))
    return ServedPolicy(
        model=connect(server.url, asked, model=server.name, media=media, view=view),
        identity={"server": server.url.rstrip("/"), "model": server.name, "extra_body": body},
        view=view,
        at_once=settings.server.requests_at_once,
    )


def settings_of_way(
    overrides: Sequence[str], asking: AskingRecord | None, way: Way | None, *, is_served: bool = False
) -> EvaluationSettings:
    """Those of a way, or the defaults, as the user has changed them."""
    base = EvaluationSettings(rollout=SERVED_ROLLOUT) if is_served else EvaluationSettings()
    if asking is not None and way is not None:
        bounds = LoadSettings(min_pixels=asking.min_pixels, max_pixels=asking.max_pixels)
        base = EvaluationSettings(model=bounds, rollout=way.rollout, max_turns=way.max_turns)
    return apply_overrides(base, overrides)
