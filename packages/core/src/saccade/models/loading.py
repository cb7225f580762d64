"""Checkpoints from disk: loaded, checked without running the model, and an adapter merged into its base."""

import json
import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Literal

import torch
from transformers import (
    AutoConfig,
    AutoImageProcessor,
    AutoModelForImageTextToText,
    AutoTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from saccade.atomic import write_bytes_atomic
from saccade.checksums import CHECKSUMS, sums_file
from saccade.errors import UserError
from saccade.heartbeat import phase
from saccade.media.store import MediaStore
from saccade.models.chat import Chat, ObservationRole
from saccade.models.checkpoint import (
    ASKING_RECORD,
    TRAINED_ON_RECORD,
    image_settings,
    read_checkpoint_json,
    refuse_damaged_model,
    refuse_missing_weights,
    refuse_outside_weights,
    stated_dtype,
    stored_dtype,
    weight_count,
)
from saccade.models.checkpoint import LoadSettings as LoadSettings
from saccade.models.checkpoint_checks import check_directory, check_end, check_parts, refuse_broken, unloadable
from saccade.models.configurations import check_pixels
from saccade.models.configured_chat import chat_of
from saccade.models.families import family_of
from saccade.models.lora import ADAPTER_CONFIG, LoraSettings, adapter_base, load_adapter, merge_adapter
from saccade.models.memory import give_freed_memory_back
from saccade.models.pixels import ImageProcessor
from saccade.models.quiet import quiet_transformers
from saccade.models.vlm import VisionLanguageModel
from saccade.plain_files import check_plain_below, plain_text


def check_model(path: Path) -> None:
    """UserError for a checkpoint that would not be loaded, as far as its configuration tells; of an adapter, its base.

    It is looked at before there are weights, or anything else has taken time.
    """
    check_plain_below(path)
    check_directory(_base_of(path) if (path / ADAPTER_CONFIG).is_file() else path)


DEFAULT_MAX_PIXELS = 1 << 20
"""About 1,000 to 1,340 image tokens: a picture and some crops of it fit beside the default limits of an episode."""

_HALF = ("bfloat16", "float16")

logger = logging.getLogger(__name__)


_LEFT_IN_FILES = ContextVar("left in files", default=False)


@contextmanager
def left_in_files() -> Iterator[None]:
    """Inside, the weights of models that are loaded stay in their files, for who keeps a part of each in memory.

    They are on the CPU, in the precision of the file (``VisionLanguageModel.wanted_dtype``), and nobody has looked
    whether they are finite numbers. The system reads what is touched.
    """
    before = _LEFT_IN_FILES.set(True)
    try:
        yield
    finally:
        _LEFT_IN_FILES.reset(before)


def load_model(path: Path, media: MediaStore, settings: LoadSettings = LoadSettings()) -> VisionLanguageModel:
    """Loads a checkpoint directory, or the directory of an adapter with the base that it names; raises UserError.

    Files that have a checksum are compared with it first.
    """
    check_plain_below(path)
    with phase(lambda: f"loading {_size(path)}from {path}"):
        refuse_damaged_model(path)
        if not (path / ADAPTER_CONFIG).is_file():
            return _load(path, media, settings, weights=path)
    base = _base_of(path)
    with phase(lambda: f"loading {_size(base)}from {base}, and the adapter {path}"):
        refuse_damaged_model(base)
        model = _load(path if _has_inputs(path) else base, media, settings, weights=base)
        load_adapter(model, path)
    model.checkpoint = path
    return model


def _size(path: Path) -> str:
    count = weight_count(path)
    unit, size = ("B", 1e9) if count >= 1e7 else ("M", 1e6)
    return f"{count / size:.2f} {unit} weights " if count else ""


def _base_of(adapter: Path) -> Path:
    base = adapter_base(adapter)
    if not (base / "config.json").is_file():
        raise UserError(
            f"{adapter} is an adapter of {base}, which is no checkpoint; set base_model_name_or_path in its "
            f"{ADAPTER_CONFIG} to where the base is now"
        )
    if (base / ADAPTER_CONFIG).is_file():
        raise UserError(f"{adapter} is an adapter of {base}, which is an adapter itself; merge that one first")
    return base


def load_chat(path: Path, settings: LoadSettings = LoadSettings()) -> Chat:
    """How the checkpoint writes conversations, as ``load_model`` would have it, without its weights."""
    check_plain_below(path)
    base = _base_of(path) if (path / ADAPTER_CONFIG).is_file() else path
    check_directory(base)
    check_pixels(path if _has_inputs(path) else base)
    tokenizer, image_processor = _inputs(path if _has_inputs(path) else base, settings)
    try:
        with quiet_transformers():
            config = AutoConfig.from_pretrained(base, local_files_only=True, trust_remote_code=False)
        family = family_of(config.model_type)
        check_end(path, family.end_of_turn(tokenizer), tokenizer)
        family.check(config, tokenizer, image_processor)
        _bound_views(path, config, image_processor, settings, is_quiet=True)
        spelled = _spelled(base, tokenizer, settings, family.end_of_turn(tokenizer), is_quiet=True)
        return chat_of(config, tokenizer, family.view_rule(image_processor, config), _role(settings), spelled)
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    except (OSError, ValueError) as error:
        raise unloadable(path, "as a vision-language model", error) from error


def _has_inputs(path: Path) -> bool:
    """Whether tokenizer and image processor lie in the directory; an adapter of others may come without."""
    return bool(image_settings(path)[1]) and (path / "tokenizer_config.json").is_file()


def _tokenizer(path: Path) -> PreTrainedTokenizerFast:
    """As transformers opens it; one whose file is all there is to it as the file says.

    For some families, Qwen3.5 among them, transformers would put their published rules in the place of the file's.
    """
    about = path / "tokenizer_config.json"
    said = read_checkpoint_json(about) if about.is_file() else None
    is_whole = isinstance(said, dict) and said.get("tokenizer_class") == PreTrainedTokenizerFast.__name__
    opener = PreTrainedTokenizerFast if is_whole else AutoTokenizer
    return opener.from_pretrained(path, local_files_only=True, trust_remote_code=False)


def _inputs(path: Path, settings: LoadSettings) -> tuple[PreTrainedTokenizerFast, ImageProcessor]:
    """Tokenizer, with the chat template of the settings, and image processor.

    Pictures are resized by PIL everywhere: with torchvision transformers would take its filters, which give other
    pixels and know no box filter, so that a run would depend on what is installed.
    """
    try:
        with quiet_transformers():
            tokenizer = _tokenizer(path)
            image_processor = _image_processor(path)
    except Exception as error:  # What damaged files make transformers raise is of many kinds.
        raise unloadable(path, "as a vision-language model", error) from error
    if settings.chat_template is not None:
        tokenizer.chat_template = _template(settings.chat_template)
    elif tokenizer.chat_template is None and (path / "chat_template.json").is_file():
        # Where processors were published with it, of which a tokenizer knows nothing.
        said = read_checkpoint_json(path / "chat_template.json")
        template = said.get("chat_template") if isinstance(said, dict) else None
        tokenizer.chat_template = template if isinstance(template, str) else None
    return tokenizer, image_processor


def _role(settings: LoadSettings) -> ObservationRole | None:
    return None if settings.observation_role == "auto" else settings.observation_role


def _load(path: Path, media: MediaStore, settings: LoadSettings, *, weights: Path) -> VisionLanguageModel:
    """Loads a checkpoint directory of a known family, its ``weights`` perhaps from another."""
    check_directory(weights)
    refuse_outside_weights(weights)
    check_pixels(path)
    if settings.matmul_precision != "highest":
        # Torch has one for the whole process, and another model of it, such as a judge, says nothing against it.
        torch.set_float32_matmul_precision(settings.matmul_precision)
    dtype, stays = _dtype(weights, settings), _LEFT_IN_FILES.get()
    as_stored = (stored_dtype(weights) if stays else None) or dtype
    tokenizer, image_processor = _inputs(path, settings)
    try:
        with quiet_transformers():
            model, loading = AutoModelForImageTextToText.from_pretrained(
                weights, local_files_only=True, trust_remote_code=False, dtype=as_stored, output_loading_info=True
            )
    except Exception as error:  # What damaged files make transformers raise is of many kinds.
        raise unloadable(path, "as a vision-language model", error) from error
    refuse_missing_weights(path, loading["missing_keys"])
    # InternVL3 has a head of its own, and was published without a word on it, which transformers 5 takes for none.
    model.config.tie_word_embeddings = model.lm_head.weight is model.get_input_embeddings().weight
    if settings.frozen_weights == "int8":
        _take_eight_bits(path, model, tokenizer, is_shared=stays)
    if not stays:
        # Before the weights are looked through, which a GPU does in no time.
        model = model.to(settings.torch_device)
        refuse_broken(path, model.named_parameters())
    model.eval()
    check_parts(path, model, tokenizer, image_processor)
    for parameter in model.parameters() if settings.torch_device == "cpu" and not stays else ():
        # A file maps weights at odd addresses, where matrix kernels round otherwise than in memory of their own: a
        # resumed run would not end with the bytes of one that was left alone.
        parameter.data = parameter.data.clone()
    end = family_of(model.config.model_type).end_of_turn(tokenizer)
    try:
        _bound_views(path, model.config, image_processor, settings)
        loaded = VisionLanguageModel(
            model,
            tokenizer,
            image_processor,
            media,
            observation_role=_role(settings),
            device=settings.torch_device,
            spelled=_spelled(weights, tokenizer, settings, end),
        )
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    loaded.wanted_dtype = getattr(torch, dtype) if as_stored != dtype else None
    loaded.source = weights.resolve()
    loaded.checkpoint = path
    if settings.batch_invariant:
        from saccade.models.batch_invariant import make_batch_invariant

        make_batch_invariant(loaded)
    if settings.torch_device == "cpu" and not loaded.is_tiny:
        # What was read and copied lies free between the weights, where nothing larger fits.
        give_freed_memory_back()
    return loaded


def _spelled(
    weights: Path, tokenizer: PreTrainedTokenizerFast, settings: LoadSettings, end: str, *, is_quiet: bool = False
) -> frozenset[int]:
    """Tokens of the checkpoint that are written in pieces; all that it was never trained on are told."""
    # Reads files by a library that little else needs at the start.
    from saccade.models.untrained_tokens import say_untrained, untrained_tokens

    untrained = untrained_tokens(weights, tokenizer, end)
    are_spelled = settings.untrained_tokens == "spelled"
    if not is_quiet:
        say_untrained(weights, untrained, end=end, are_spelled=are_spelled)
    return frozenset(index for token, index in untrained.items() if token != end and are_spelled)


def _take_eight_bits(
    path: Path, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, *, is_shared: bool
) -> None:
    """Before the weights go to a GPU, which so never holds all of them in full."""
    from saccade.models.eight_bit_linear import put_in_eight_bits

    if is_shared:
        raise UserError("frozen_weights=int8 is for one learner: several share the weights in full; set it to full")
    refuse_broken(path, model.named_parameters())
    report = put_in_eight_bits(model.eval(), tokenizer, LoraSettings().inside(family_of(model.config.model_type)))
    logger.info("%s: %s", path, report)


def _image_processor(path: Path) -> ImageProcessor:
    _, settings = image_settings(path)
    if settings.get("image_processor_type") == "Qwen2_5_VLImageProcessor":
        # As Qwen2.5-VL was first published, and many that were trained from it: transformers lost the name.
        renamed: ImageProcessor = Qwen2VLImageProcessorPil.from_dict(dict(settings))
        return renamed
    found: ImageProcessor = AutoImageProcessor.from_pretrained(
        path, local_files_only=True, trust_remote_code=False, backend="pil"
    )
    return found


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
    return stated_dtype(config) if isinstance(config, dict) else "float32"


def _bound_views(
    path: Path,
    config: PreTrainedConfig,
    image_processor: ImageProcessor,
    settings: LoadSettings,
    *,
    is_quiet: bool = False,
) -> None:
    family = family_of(config.model_type)
    smallest, largest = settings.min_pixels, settings.max_pixels
    if largest == "checkpoint":
        largest = None
    elif largest is None:
        own = family.max_pixels(image_processor)
        if own is not None and own > max(DEFAULT_MAX_PIXELS, smallest or 0):
            largest = max(DEFAULT_MAX_PIXELS, smallest or 0)
            logger.log(
                logging.DEBUG if is_quiet else logging.WARNING,
                "%s: the model sees pictures at up to %s pixels; the checkpoint's own limit is %s "
                "(model.max_pixels=checkpoint keeps it)",
                path,
                f"{largest:,}",
                f"{own:,}",
            )
    if smallest and largest and smallest > largest:
        raise UserError(f"min_pixels={smallest} is over max_pixels={largest}; swap them")
    family.bound_views(image_processor, min_pixels=smallest, max_pixels=largest)
    family.take_views(config, image_processor)


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
    with phase(lambda: f"writing {out}"):
        merge_adapter(model)
        for weight in model.hf.parameters():
            weight.data = weight.data.to(getattr(torch, kept if kept in _HALF else "float32"))
        model.save(out)
        for name in (ASKING_RECORD, TRAINED_ON_RECORD):
            if (adapter / name).is_file():
                shutil.copyfile(adapter / name, out / name)
        write_bytes_atomic(out / CHECKSUMS, sums_file(out))
