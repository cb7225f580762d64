"""What a checkpoint is refused for, in one line each: its configuration, its parts, weights that are no numbers."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
import transformers
from safetensors import SafetensorError
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from saccade.errors import UserError
from saccade.models.checkpoint import language_part, read_checkpoint_json
from saccade.models.configurations import check_configuration
from saccade.models.families import family_of
from saccade.models.pixels import ImageProcessor
from saccade.models.token_bytes import TokenBytes
from saccade.plain_files import check_plain_below


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
        hint = (
            "; copies that need no code of their own often have names that end in -hf" if "auto_map" in config else ""
        )
        raise UserError(f"{path}: {error}{hint}") from error
    architectures = config.get("architectures") or [family.architecture]
    if family.architecture not in architectures:
        raise UserError(
            f"{path / 'config.json'} says model_type={family.model_type!r}, but architectures={architectures}: the "
            f"weights are of another family than {family.architecture}; copy the configuration of this model again, or "
            "mend architecture of a family of your own"
        )
    sizes = language_part(config)
    # Only the family that was published so is read so.
    is_flat = sizes is config and family.is_flat and all(sizes.get(name) for name in ("hidden_size", "vocab_size"))
    tower = config.get("vision_config")
    has_parts = {
        "text_config": sizes is not config or is_flat,
        "vision_config": isinstance(tower, dict) and bool(tower),
    }
    for part in (part for part, is_there in has_parts.items() if not is_there):
        raise UserError(
            f"{path / 'config.json'} has no {part!r}, which says the model's sizes; take config.json from where the "
            "weights came from"
        )
    check_configuration(path, config)


def check_parts(
    path: Path, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, image_processor: ImageProcessor
) -> None:
    """UserError when the parts of a checkpoint do not belong together."""
    config, family = model.config, family_of(model.config.model_type)
    if missing := family.missing(config):
        raise UserError(f"{path}: {family.model_type} has {missing}, which Saccade cannot run yet; use another model")
    check_end(path, family.end_of_turn(tokenizer), tokenizer)
    _check_spelling(path, tokenizer)
    if tokenizer.convert_ids_to_tokens(int(config.image_token_id)) is None:
        raise UserError(f"{path}: image_token_id={config.image_token_id} is no token of its tokenizer")
    beyond = {token for token, index in tokenizer.get_vocab().items() if index >= int(config.text_config.vocab_size)}
    if beyond - set(family.weightless_tokens):
        raise UserError(
            f"{path}: the tokenizer has {len(tokenizer)} tokens, the model {config.text_config.vocab_size}; use the "
            "tokenizer of this model"
        )
    try:
        family.check(config, tokenizer, image_processor)
    except UserError as error:
        raise UserError(f"{path}: {error}") from error


def refuse_broken(path: Path | None, weights: Iterable[tuple[str, Tensor]]) -> None:
    """UserError when a weight is not a finite number."""
    broken = [name for name, weight in weights if not torch.isfinite(weight).all()]
    if broken:
        raise UserError(
            f"{path}: {len(broken)} of the model's weights are not finite ({', '.join(broken[:3])}): the run that "
            "wrote them has diverged, or the file is damaged. Use an earlier checkpoint"
        )


def check_end(path: Path, eos_token: str, tokenizer: PreTrainedTokenizerFast) -> None:
    if eos_token not in tokenizer.get_vocab():
        raise UserError(
            f"{path}: the tokenizer has no {eos_token or 'eos_token'}, which ends a turn; use the instruct model's "
            "tokenizer, or mend eos_token of a family of your own"
        )


def _check_spelling(path: Path, tokenizer: PreTrainedTokenizerFast) -> None:
    """UserError unless each token stands for bytes, so that it writes any tag and stop strings are found in bytes.

    A tokenizer that puts a space before a text, or takes it away, would lose one where a turn begins.
    """
    spelled = TokenBytes(tokenizer)
    for text in ("<answer> é漢\n</answer>", " 🙂  x", "x \t"):
        ids = tokenizer.encode(text, add_special_tokens=False)
        try:
            written = b"".join(spelled[token] for token in ids)
        except KeyError:  # A character that is no byte.
            written = b""
        if written != text.encode() or tokenizer.decode(ids, clean_up_tokenization_spaces=False) != text:
            raise UserError(
                f"{path}: the tokenizer cannot write {text!r} byte for byte, so the tags of a turn could not be read; "
                "only byte-level BPE tokenizers (as of the Qwen families), and BPE tokenizers that fall back to bytes "
                "and add no space (as of Gemma), are supported"
            )


def unloadable(path: Path, how: str, error: Exception) -> UserError:
    """Why transformers does not load a directory, in one line."""
    if "trust_remote_code" in str(error):
        return UserError(
            f"{path} cannot be loaded {how}: it needs code of its own, which is never run; use a copy that "
            "transformers loads without (of published ones the name often ends in -hf)"
        )
    if isinstance(error, OSError | SafetensorError | EOFError | UnicodeError | json.JSONDecodeError):
        advice = "a file is missing or damaged; copy the checkpoint again"
    elif "ignore_mismatched_sizes" in str(error):
        advice = "take both from the same place"
    else:
        # Nothing says that a file is damaged: the checkpoint may be newer than what reads it.
        advice = f"transformers {transformers.__version__} does not take it as it is"
    return UserError(f"{path} cannot be loaded {how}: {first_line(error)}; {advice}")


def first_line(error: Exception) -> str:
    """A library's error message without its advice of many lines."""
    if "ignore_mismatched_sizes" in str(error):
        return "the shapes of its weights are not those that config.json gives"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:300]}" if lines else type(error).__name__


@contextmanager
def damage(path: Path) -> Iterator[Path]:
    """UserError that names the file and the way out, for whatever reading it raises inside."""
    try:
        yield path
    except Exception as error:  # Unpickling what a broken disk left may raise anything.
        reason = error.strerror if isinstance(error, OSError) else first_line(error)
        raise UserError(
            f"{path} cannot be restored: it is damaged or of another model ({reason}); delete this checkpoint "
            "to resume from an older one"
        ) from error


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
