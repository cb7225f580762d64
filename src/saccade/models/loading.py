"""Checkpoints from disk: where their weights go, how large their pictures are, and what is wrong with them."""

import json
import logging
from pathlib import Path
from typing import Literal

from transformers import AutoImageProcessor, AutoModelForImageTextToText, AutoTokenizer, PreTrainedConfig

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.models.checkpoint_checks import check_directory, check_parts, first_line
from saccade.models.families import family_of
from saccade.models.load_settings import LoadSettings as LoadSettings
from saccade.models.lora import ADAPTER_CONFIG, adapter_base, load_adapter
from saccade.models.pixels import ImageProcessor
from saccade.models.quiet import quiet_transformers
from saccade.models.vlm import VisionLanguageModel

DEFAULT_MAX_PIXELS = 1 << 20
"""About 1,000 to 1,340 image tokens: a picture and some crops of it fit beside the default limits of an episode."""

_HALF = ("bfloat16", "float16")

logger = logging.getLogger(__name__)


ASKING_RECORD, TRAINED_ON_RECORD = "saccade_asking.json", "saccade_trained_on.json"
"""What training writes into a checkpoint's directory beside what transformers reads: how its policy is asked, and what
it was trained on. A copy of the policy in another form needs them too."""


def load_model(path: Path, media: MediaStore, settings: LoadSettings = LoadSettings()) -> VisionLanguageModel:
    """Loads a checkpoint directory, or the directory of an adapter with the base that it names; raises UserError."""
    if not (path / ADAPTER_CONFIG).is_file():
        return _load(path, media, settings, weights=path)
    base = adapter_base(path)
    if not (base / "config.json").is_file():
        raise UserError(
            f"{path} is an adapter of {base}, which is no checkpoint; set base_model_name_or_path in its "
            f"{ADAPTER_CONFIG} to where the base is now"
        )
    # An adapter that others trained may come without them.
    has_parts = all((path / name).is_file() for name in ("preprocessor_config.json", "tokenizer_config.json"))
    model = _load(path if has_parts else base, media, settings, weights=base)
    load_adapter(model, path)
    model.checkpoint = path
    return model


def _load(path: Path, media: MediaStore, settings: LoadSettings, *, weights: Path) -> VisionLanguageModel:
    """Loads a checkpoint directory of a known family, its ``weights`` perhaps from another."""
    check_directory(weights)
    dtype = _dtype(weights, settings)
    try:
        with quiet_transformers():
            tokenizer = AutoTokenizer.from_pretrained(path, local_files_only=True)
            image_processor = AutoImageProcessor.from_pretrained(path, local_files_only=True)
            model, loading = AutoModelForImageTextToText.from_pretrained(
                weights, local_files_only=True, dtype=dtype, output_loading_info=True
            )
    except Exception as error:  # What damaged files make transformers raise is of many kinds.
        raise UserError(f"{path} cannot be loaded as a vision-language model: {first_line(error)}") from error
    if missing := sorted(loading["missing_keys"]):
        # transformers would make random numbers up for them.
        raise UserError(
            f"{path} lacks {len(missing)} of the model's weights ({', '.join(missing[:3])}); copy the checkpoint again"
        )
    if settings.chat_template is not None:
        tokenizer.chat_template = _template(settings.chat_template)
    check_parts(path, model, tokenizer, image_processor)
    for parameter in model.parameters():
        # A file maps weights at odd addresses, where matrix kernels round otherwise than in memory of their own: a
        # resumed run would not end with the bytes of one that was left alone.
        parameter.data = parameter.data.clone()
    try:
        _bound_views(path, model.config, image_processor, settings)
        loaded = VisionLanguageModel(
            model.to(settings.torch_device).eval(),
            tokenizer,
            image_processor,
            media,
            observation_role=None if settings.observation_role == "auto" else settings.observation_role,
        )
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    loaded.source = weights.resolve()
    loaded.checkpoint = path
    return loaded


def _template(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"chat_template={path} cannot be read: {error}; give a Jinja file") from error


def _dtype(path: Path, settings: LoadSettings) -> Literal["float32", "bfloat16"]:
    if settings.dtype != "auto":
        return settings.dtype
    if settings.torch_device == "cpu":
        return "float32"
    try:
        config = json.loads((path / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        # What is wrong with the file is said where transformers reads it.
        return "float32"
    return "bfloat16" if config.get("dtype", config.get("torch_dtype")) in _HALF else "float32"


def _bound_views(path: Path, config: PreTrainedConfig, image_processor: ImageProcessor, settings: LoadSettings) -> None:
    family = family_of(config.model_type)
    smallest, largest = settings.min_pixels, settings.max_pixels
    if largest == "checkpoint":
        largest = None
    elif largest is None:
        own = family.max_pixels(image_processor)
        if own is not None and own > max(DEFAULT_MAX_PIXELS, smallest or 0):
            largest = max(DEFAULT_MAX_PIXELS, smallest or 0)
            logger.warning(
                "%s: pictures are seen at up to %s pixels; its own bound is %s (model.max_pixels=checkpoint keeps it)",
                path,
                f"{largest:,}",
                f"{own:,}",
            )
    if smallest and largest and smallest > largest:
        raise UserError(f"min_pixels={smallest} is over max_pixels={largest}; swap them")
    family.bound_views(image_processor, min_pixels=smallest, max_pixels=largest)
