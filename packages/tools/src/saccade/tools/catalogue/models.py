"""Models by the options that name them: checked at once, loaded when a tool is made, shared between tools.

A shared model is loaded once in a process, and goes when the last of its tools goes.
"""

import json
import threading
from collections.abc import Callable, Hashable
from typing import TypeVar, cast
from weakref import WeakValueDictionary

from saccade.chat.chat_model import ChatServerSettings, connect
from saccade.chat.vision_chat import LentImages, VisionChat
from saccade.tools.catalogue.settings import Options
from saccade.vision_models.kinds import (
    CHART_MODELS,
    DETECTORS,
    SEGMENTERS,
    ChartModel,
    Detector,
    Segmenter,
    VisionModel,
)

Model = TypeVar("Model")

_LOADED: WeakValueDictionary[Hashable, object] = WeakValueDictionary()
_LOADING = threading.RLock()


def shared_model(key: Hashable, load: Callable[[], Model]) -> Model:
    """The model from ``load``, or an earlier one of the same key that is still in use."""
    with _LOADING:
        held = _LOADED.get(key)
        if held is None:
            held = _LOADED[key] = load()
        return cast(Model, held)


VISION_FAMILIES = {"qwen3_vl": "Qwen3-VL", "qwen2_5_vl": "Qwen2.5-VL", "internvl": "InternVL"}

SERVER = "http://localhost:8000/v1"


def detector(options: Options) -> Callable[[], Detector]:
    path, _ = options.checkpoint(DETECTORS, "detector", example="checkpoints/grounding-dino-tiny")
    placement = options.placement()

    def load() -> Detector:
        from saccade.models.checkpoint import LoadSettings
        from saccade.vision_models.detectors import load_detector

        return load_detector(path, LoadSettings(**placement))

    return lambda: shared_model(("detector", path, *placement.values()), load)


def segmenter(options: Options) -> Callable[[], Segmenter]:
    path, _ = options.checkpoint(SEGMENTERS, "segmenter", example="checkpoints/sam2.1-hiera-tiny")
    placement = options.placement()

    def load() -> Segmenter:
        from saccade.models.checkpoint import LoadSettings
        from saccade.vision_models.segmenters import load_segmenter

        return load_segmenter(path, LoadSettings(**placement))

    return lambda: shared_model(("segmenter", path, *placement.values()), load)


def chart_model(options: Options) -> Callable[[], ChartModel]:
    path, _ = options.checkpoint(CHART_MODELS, "chart model", example="checkpoints/deplot")
    placement, max_tokens, font = options.placement(), options.whole("max_tokens", 512), options.optional_path("font")

    def load() -> ChartModel:
        from saccade.models.checkpoint import LoadSettings
        from saccade.vision_models.chart_models import load_chart_model

        return load_chart_model(path, LoadSettings(**placement), max_tokens=max_tokens, font=font)

    return lambda: shared_model(("chart model", path, *placement.values(), max_tokens, font), load)


def local_vision_model(options: Options) -> Callable[[], VisionModel]:
    """A checkpoint of a family that Saccade knows, by the engine of this process."""
    path, _ = options.checkpoint(VISION_FAMILIES, "vision-language model", example="checkpoints/qwen2.5-vl-7b")
    placement, max_tokens = options.placement(), options.whole("max_tokens", 1024)
    max_pixels = options.whole("max_pixels", 1 << 20, low=28 * 28, high=1 << 28)

    def load() -> VisionModel:
        from saccade.models.checkpoint import LoadSettings

        settings = ChatServerSettings(max_tokens=max_tokens)
        images = LentImages()
        checkpoint = connect(path, settings, media=images, load=LoadSettings(**placement, max_pixels=max_pixels))
        # Not left: it goes with the last tool that asks it.
        return VisionChat(checkpoint, images).__enter__()

    return lambda: shared_model(("vision model", path, *placement.values(), max_tokens, max_pixels), load)


def server_vision_model(options: Options, *, example: str) -> Callable[[], VisionModel]:
    """A model of a server that speaks OpenAI's chat completions."""
    url = options.text("url", example=SERVER)
    if not url.startswith(("http://", "https://")):
        raise options.error(f"url={url!r} is no address of a server; it looks like {SERVER}")
    model = options.text("model", example=example)
    api_key, timeout_s = options.key(), options.number("timeout_s", 60.0, low=0.1, high=3600)
    max_tokens, retries = options.whole("max_tokens", 1024), options.whole("retries", 2, low=0, high=20)
    at_once = options.whole("requests_at_once", 8, high=1024)
    extra_body = options.table("extra_body")

    def load() -> VisionModel:
        images = LentImages()
        settings = ChatServerSettings(
            max_tokens=max_tokens,
            timeout_s=timeout_s,
            requests_at_once=at_once,
            retries=retries,
            extra_body=json.dumps(extra_body),
        )
        server = connect(url, settings, model=model, media=images, api_key=api_key or "")
        return VisionChat(server, images).__enter__()

    key = ("server", url, model, api_key, timeout_s, max_tokens, retries, at_once, repr(extra_body))
    return lambda: shared_model(key, load)


def patience_s(options: Options) -> float:
    """The deadline of a tool that asks a model: all tries of a request, and the waits between them."""
    tries = 1 + (options.whole("retries", 2, low=0, high=20) if options.backend == "openai" else 0)
    each_s = options.number("timeout_s", 60.0, low=0.1, high=3600) if options.backend == "openai" else 120.0
    return options.number("deadline_s", tries * each_s + 30.0, low=0.1, high=86_400)
