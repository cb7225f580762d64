"""Pixel rules in ``saccade eval``: how large a benchmark's pictures are seen, and what their encoding loses."""

import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from PIL import Image

from saccade.errors import UserError
from saccade.evaluation.pixel_rule import PixelRule
from saccade.geometry import CoordinateConvention
from saccade.media import MediaStore
from saccade.media.resize import ResizeRule
from saccade.models import LoadSettings
from saccade.plain_files import plain_text
from saccade.rollout.conversation import ORIGINAL_VIEW
from saccade.types import ImageRef, Task

Pixels = Literal["benchmark", "vlmevalkit"]
"""``benchmark``: by the benchmark's own rule. ``vlmevalkit``: as it shows pictures to Qwen2-VL and Qwen2.5-VL."""

QWEN_TOKEN_PX = 28
"""Pixels along one side of an image token of Qwen2-VL and Qwen2.5-VL."""

QWEN_IN_VLMEVALKIT = PixelRule(min_pixels=1280 * QWEN_TOKEN_PX**2, max_pixels=16384 * QWEN_TOKEN_PX**2)
"""Limits in ms-vlmeval 0.0.20 for these models on all but OCRBench: every picture is enlarged to a megapixel."""

_ITS_MODELS = ("qwen2_vl", "qwen2_5_vl")
_JPEG_QUALITY = 75
"""Pillow's default, with which VLMEvalKit encodes."""


def pixel_rule(pixels: Pixels, rules: Sequence[PixelRule]) -> PixelRule:
    """The one rule by which a run shows pictures: the benchmarks' own, or VLMEvalKit's for Qwen.

    ``UserError`` where benchmarks of one run have different limits, for a model is loaded once.
    """
    own = rules[0] if rules else PixelRule()
    if pixels == "vlmevalkit":
        return replace(QWEN_IN_VLMEVALKIT, encoding=own.encoding)
    if len({(rule.min_pixels, rule.max_pixels) for rule in rules}) > 1:
        raise UserError("the benchmarks have different limits of pixels; measure each in a run of its own")
    return own


def limited_settings(
    load: LoadSettings, rule: PixelRule, overrides: Sequence[str], checkpoint: Path | None
) -> LoadSettings:
    """The settings with which a checkpoint sees pictures within the rule's limits; without limits as they are.

    ``UserError`` where the user sets other limits, and for VLMEvalKit's limits of Qwen with a model of another family.
    """
    if rule.min_pixels is None and rule.max_pixels is None:
        return load
    if own := [text for text in overrides if text.strip().startswith(("model.min_pixels", "model.max_pixels"))]:
        raise UserError(f"--set {own[0]} and the pixel rule of the benchmark exclude each other; leave one of them out")
    model_type = None if checkpoint is None else _model_type(checkpoint)
    is_qwen_rule = (rule.min_pixels, rule.max_pixels) == (QWEN_IN_VLMEVALKIT.min_pixels, QWEN_IN_VLMEVALKIT.max_pixels)
    if is_qwen_rule and model_type is not None and model_type not in _ITS_MODELS:
        raise UserError(
            f"--pixels vlmevalkit: {checkpoint} is of {model_type}, for which VLMEvalKit sets no limits; its rule is "
            f"of {' and '.join(_ITS_MODELS)}. Leave --pixels out"
        )
    return replace(
        load,
        min_pixels=load.min_pixels if rule.min_pixels is None else rule.min_pixels,
        max_pixels=load.max_pixels if rule.max_pixels is None else rule.max_pixels,
    )


def view_at_server(rule: PixelRule, convention: CoordinateConvention) -> ResizeRule:
    """The size at which a server is sent pictures, its crops too: as they are, or within the rule's limits."""
    if rule.min_pixels is None and rule.max_pixels is None:
        return replace(ORIGINAL_VIEW, convention=convention)
    return ResizeRule(
        factor=QWEN_TOKEN_PX,
        min_pixels=rule.min_pixels or ORIGINAL_VIEW.min_pixels,
        max_pixels=rule.max_pixels or ORIGINAL_VIEW.max_pixels,
        convention=convention,
    )


def encoded_task(task: Task, rule: PixelRule, media: MediaStore) -> Task:
    """The task with what JPEG leaves of its pictures, where the rule says so; it is sent without further loss."""
    if rule.encoding == "png":
        return task
    return replace(task, images=tuple(_as_jpeg(image, media) for image in task.images))


def _as_jpeg(image: ImageRef, media: MediaStore) -> ImageRef:
    buffer = io.BytesIO()
    media.get(image).save(buffer, format="JPEG", quality=_JPEG_QUALITY)
    buffer.seek(0)
    with Image.open(buffer) as read:
        return media.add(read.convert("RGB"))


def _model_type(checkpoint: Path) -> str | None:
    """As its configuration says; None for an adapter and what cannot be read, which loading tells of."""
    try:
        read: object = json.loads(plain_text(checkpoint / "config.json"))
    except (OSError, ValueError, RecursionError):
        return None
    found = read.get("model_type") if isinstance(read, dict) else None
    return found if isinstance(found, str) else None
