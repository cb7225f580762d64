"""Checkpoints from disk: loaded, checked without running the model, and an adapter merged into its base."""

import json
import logging
import shutil
from pathlib import Path
from typing import Literal

import torch
from transformers import (
    AutoImageProcessor,
    AutoModelForImageTextToText,
    AutoTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

from saccade.atomic import write_bytes_atomic
from saccade.checksums import CHECKSUMS, sums_file
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.models.checkpoint import LoadSettings as LoadSettings
from saccade.models.checkpoint import (
    read_checkpoint_json,
    refuse_damaged_model,
    refuse_missing_weights,
    refuse_outside_weights,
)
from saccade.models.configurations import check_configuration, check_pixels
from saccade.models.families import family_of
from saccade.models.lora import ADAPTER_CONFIG, adapter_base, load_adapter, merge_adapter
from saccade.models.pixels import ImageProcessor
from saccade.models.vlm import VisionLanguageModel, quiet_transformers
from saccade.plain_files import check_plain_below, plain_text


def check_directory(path: Path) -> None:
    """UserError unless the directory's ``config.json`` is that of a known family; nothing large is read.

    Before transformers sees it, which fills gaps of a configuration with those of a model of many gigabytes.
    """
    check_plain_below(path)
    if not (path / "config.json").is_file():
        raise UserError(_why_no_checkpoint(path))
    config = read_checkpoint_json(path / "config.json")
    if not isinstance(config, dict):
        raise UserError(f"{path / 'config.json'} must hold a JSON object, not {type(config).__name__}")
    try:
        family = family_of(str(config.get("model_type")))
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    architectures = config.get("architectures") or [family.architecture]
    if family.architecture not in architectures:
        raise UserError(
            f"{path / 'config.json'} says model_type={family.model_type!r}, but architectures={architectures}: the "
            f"weights are of another family than {family.architecture}; copy the configuration of this model again"
        )
    for part in ("text_config", "vision_config"):
        if not isinstance(config.get(part), dict) or not config[part]:
            raise UserError(f"{path / 'config.json'} has no {part!r}; copy the checkpoint again")
    check_configuration(path, config)


def check_parts(
    path: Path, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, image_processor: ImageProcessor
) -> None:
    """UserError when the parts of a checkpoint do not belong together or a weight is not a finite number."""
    config, family = model.config, family_of(model.config.model_type)
    if family.eos_token not in tokenizer.get_vocab():
        raise UserError(
            f"{path}: the tokenizer has no {family.eos_token}, which ends a turn; use the instruct model's tokenizer"
        )
    _check_spelling(path, tokenizer)
    if tokenizer.convert_ids_to_tokens(int(config.image_token_id)) is None:
        raise UserError(f"{path}: image_token_id={config.image_token_id} is no token of its tokenizer")
    if len(tokenizer) > int(config.text_config.vocab_size):
        raise UserError(
            f"{path}: the tokenizer has {len(tokenizer)} tokens, the model {config.text_config.vocab_size}; use the "
            "tokenizer of this model"
        )
    try:
        family.check(config, tokenizer, image_processor)
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    broken = [name for name, weights in model.named_parameters() if not torch.isfinite(weights).all()]
    if broken:
        raise UserError(
            f"{path}: {len(broken)} of the model's weights are not finite ({', '.join(broken[:3])}): the run that "
            "wrote them has diverged, or the file is damaged. Use an earlier checkpoint"
        )


def _check_spelling(path: Path, tokenizer: PreTrainedTokenizerFast) -> None:
    """UserError unless the tokenizer is byte-level, so that it writes any tag and stop strings are found in bytes."""
    text = "<answer> é漢\n</answer>"
    ids = tokenizer.encode(text, add_special_tokens=False)
    added = tokenizer.get_added_vocab()
    pieces = [piece for piece in tokenizer.convert_ids_to_tokens(ids) if piece not in added]
    # Byte-level BPE writes each byte as one character below U+0144.
    is_byte_level = all(ord(character) < 0x144 for piece in pieces for character in piece)
    if not is_byte_level or tokenizer.decode(ids, clean_up_tokenization_spaces=False) != text:
        raise UserError(
            f"{path}: the tokenizer cannot write {text!r} byte for byte, so the tags of a turn could not be read; only "
            "byte-level BPE tokenizers (as of the Qwen families) are supported"
        )


def unloadable(path: Path, how: str, error: Exception) -> UserError:
    """Why transformers does not load a directory, in one line."""
    if "trust_remote_code" in str(error):
        return UserError(
            f"{path} cannot be loaded {how}: it needs code of its own, which is never run; use a copy that "
            "transformers loads without (of published ones the name often ends in -hf)"
        )
    return UserError(f"{path} cannot be loaded {how}: {first_line(error)}; copy the checkpoint again")


def first_line(error: Exception) -> str:
    """A library's error message without its advice of many lines."""
    if "ignore_mismatched_sizes" in str(error):
        return "the shapes of its weights are not those that config.json gives"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:300]}" if lines else type(error).__name__


def _why_no_checkpoint(path: Path) -> str:
    if not path.exists():
        return f"there is no checkpoint directory {path}; models are read from disk, never downloaded"
    if not path.is_dir():
        return f"{path} is a file; pass the checkpoint directory that holds config.json"
    inside = sorted(
        config.parent for pattern in ("*", "checkpoints/*") for config in path.glob(f"{pattern}/config.json")
    )
    if inside:
        # Most often somebody passes the directory of a run.
        newest = max(inside, key=lambda directory: (directory.stat().st_mtime_ns, directory.name))
        return f"{path} holds no config.json; pass one of the checkpoints inside, such as {newest}"
    return f"{path} holds no config.json; pass a checkpoint directory in Hugging Face layout"


DEFAULT_MAX_PIXELS = 1 << 20
"""About 1,000 to 1,340 image tokens: a picture and some crops of it fit beside the default limits of an episode."""

_HALF = ("bfloat16", "float16")

logger = logging.getLogger(__name__)


ASKING_RECORD, TRAINED_ON_RECORD = "saccade_asking.json", "saccade_trained_on.json"
"""Records that training writes beside what transformers reads in a checkpoint's directory: how its policy is asked, and
what it was trained on. A copy of the policy in another form needs them too."""


def load_model(path: Path, media: MediaStore, settings: LoadSettings = LoadSettings()) -> VisionLanguageModel:
    """Loads a checkpoint directory, or the directory of an adapter with the base that it names; raises UserError.

    Files that have a checksum are compared with it first.
    """
    check_plain_below(path)
    refuse_damaged_model(path)
    if not (path / ADAPTER_CONFIG).is_file():
        return _load(path, media, settings, weights=path)
    base = adapter_base(path)
    if not (base / "config.json").is_file():
        raise UserError(
            f"{path} is an adapter of {base}, which is no checkpoint; set base_model_name_or_path in its "
            f"{ADAPTER_CONFIG} to where the base is now"
        )
    if (base / ADAPTER_CONFIG).is_file():
        raise UserError(f"{path} is an adapter of {base}, which is an adapter itself; merge that one first")
    refuse_damaged_model(base)
    # An adapter that others trained may come without them.
    has_parts = all((path / name).is_file() for name in ("preprocessor_config.json", "tokenizer_config.json"))
    model = _load(path if has_parts else base, media, settings, weights=base)
    load_adapter(model, path)
    model.checkpoint = path
    return model


def _load(path: Path, media: MediaStore, settings: LoadSettings, *, weights: Path) -> VisionLanguageModel:
    """Loads a checkpoint directory of a known family, its ``weights`` perhaps from another.

    Pictures are resized by PIL everywhere: with torchvision transformers would take its filters, which give other
    pixels and know no box filter, so that a run would depend on what is installed.
    """
    check_directory(weights)
    refuse_outside_weights(weights)
    check_pixels(path)
    dtype = _dtype(weights, settings)
    try:
        with quiet_transformers():
            tokenizer = AutoTokenizer.from_pretrained(path, local_files_only=True, trust_remote_code=False)
            image_processor = AutoImageProcessor.from_pretrained(
                path, local_files_only=True, trust_remote_code=False, backend="pil"
            )
            model, loading = AutoModelForImageTextToText.from_pretrained(
                weights, local_files_only=True, trust_remote_code=False, dtype=dtype, output_loading_info=True
            )
    except Exception as error:  # What damaged files make transformers raise is of many kinds.
        raise unloadable(path, "as a vision-language model", error) from error
    refuse_missing_weights(path, loading["missing_keys"])
    # Before the weights are looked through, which a GPU does in no time.
    model = model.to(settings.torch_device).eval()
    if settings.chat_template is not None:
        tokenizer.chat_template = _template(settings.chat_template)
    check_parts(path, model, tokenizer, image_processor)
    for parameter in model.parameters() if settings.torch_device == "cpu" else ():
        # A file maps weights at odd addresses, where matrix kernels round otherwise than in memory of their own: a
        # resumed run would not end with the bytes of one that was left alone.
        parameter.data = parameter.data.clone()
    try:
        _bound_views(path, model.config, image_processor, settings)
        loaded = VisionLanguageModel(
            model,
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
        return plain_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"chat_template={path} cannot be read: {error}; give a Jinja file") from error


def _dtype(path: Path, settings: LoadSettings) -> Literal["float32", "bfloat16"]:
    if settings.dtype != "auto":
        return settings.dtype
    return "bfloat16" if settings.torch_device != "cpu" and _stated_dtype(path) in _HALF else "float32"


def _stated_dtype(path: Path) -> str:
    """The precision that a checkpoint's file says it is in; float32 where it says none."""
    try:
        config = json.loads(plain_text(path / "config.json"))
    except (OSError, ValueError, RecursionError):
        # What is wrong with the file is said where transformers reads it.
        return "float32"
    return str(config.get("dtype", config.get("torch_dtype")))


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
                "%s: the model sees pictures at up to %s pixels; the checkpoint's own limit is %s "
                "(model.max_pixels=checkpoint keeps it)",
                path,
                f"{largest:,}",
                f"{own:,}",
            )
    if smallest and largest and smallest > largest:
        raise UserError(f"min_pixels={smallest} is over max_pixels={largest}; swap them")
    family.bound_views(image_processor, min_pixels=smallest, max_pixels=largest)


def write_merged(adapter: Path, out: Path, *, dtype: Literal["base", "float32", "bfloat16"] = "base") -> None:
    """Writes a checkpoint of the adapted policy with its records, added up in fp32 and rounded to ``dtype`` at the end,
    by default the one that its base is in.

    Raises UserError when ``adapter`` is none, or when there is something at ``out``.
    """
    if not (adapter / ADAPTER_CONFIG).is_file():
        raise UserError(f"{adapter} holds no {ADAPTER_CONFIG}; it is not an adapter, so there is nothing to merge")
    if out.exists():
        raise UserError(f"{out} exists already; choose another directory to write to")
    model = load_model(adapter, MediaStore(), LoadSettings(device="cpu"))
    assert model.source is not None
    kept = _stated_dtype(model.source) if dtype == "base" else dtype
    merge_adapter(model)
    for weight in model.hf.parameters():
        weight.data = weight.data.to(getattr(torch, kept if kept in _HALF else "float32"))
    model.save(out)
    for name in (ASKING_RECORD, TRAINED_ON_RECORD):
        if (adapter / name).is_file():
            shutil.copyfile(adapter / name, out / name)
    write_bytes_atomic(out / CHECKSUMS, sums_file(out))
