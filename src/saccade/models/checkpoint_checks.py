"""Checks of a checkpoint directory without running the model."""

import json
from pathlib import Path

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from saccade.errors import UserError
from saccade.models.families import family_of
from saccade.models.pixels import ImageProcessor


def check_directory(path: Path) -> None:
    """UserError unless the directory's ``config.json`` is that of a known family; nothing large is read.

    Before transformers sees it, which fills gaps of a configuration with those of a model of many gigabytes.
    """
    if not (path / "config.json").is_file():
        raise UserError(_why_no_checkpoint(path))
    try:
        config = json.loads((path / "config.json").read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path / 'config.json'} cannot be read: {error}; copy the checkpoint again") from error
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


def check_parts(
    path: Path, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, image_processor: ImageProcessor
) -> None:
    """UserError when the parts of a checkpoint do not belong together or a weight is not a finite number."""
    config, family = model.config, family_of(model.config.model_type)
    if family.eos_token not in tokenizer.get_vocab():
        raise UserError(
            f"{path}: the tokenizer has no {family.eos_token}, which ends a turn; use that of the instruct model"
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
