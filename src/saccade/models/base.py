"""The small base checkpoint that ships with the package, and how its kind is instructed."""

import json
import math
from pathlib import Path
from typing import Literal

from safetensors import SafetensorError, safe_open

from saccade.errors import UserError

_SHIPPED = Path(__file__).parent / "base_checkpoint"

BRIEF_BELOW_VOCABULARY = 8192
"""Tokenizers smaller than this belong to tiny models, which learn the format by example."""

TINY_BELOW_WEIGHTS = 20_000_000
"""Models smaller than this learn at rates a hundred times those of published ones."""


def base_checkpoint() -> Path:
    """The checkpoint that ``saccade train perception`` made: 1.3 M weights that see coloured things in drawings."""
    if not (_SHIPPED / "config.json").is_file():
        raise UserError(f"the base checkpoint is missing from this installation ({_SHIPPED}); pass --model PATH")
    return _SHIPPED


def is_tiny(checkpoint: Path) -> bool:
    """Whether the checkpoint's weights are fewer than ``TINY_BELOW_WEIGHTS``, by the headers of its files.

    False where they cannot be read: what is wrong with the checkpoint is said where it is loaded.
    """
    count = 0
    try:
        for file in checkpoint.glob("*.safetensors"):
            with safe_open(file, framework="numpy") as weights:
                count += sum(math.prod(weights.get_slice(name).get_shape()) for name in weights.keys())  # noqa: SIM118
    except (OSError, SafetensorError):
        return False
    return 0 < count < TINY_BELOW_WEIGHTS


def instruction_style(checkpoint: Path) -> Literal["brief", "full"]:
    """``brief`` for tiny models, which cannot read instructions; ``full`` for all others."""
    try:
        config = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
        size = int(config["text_config"]["vocab_size"])
    except (OSError, ValueError, KeyError, TypeError):
        # What is wrong with the checkpoint is said where it is loaded.
        return "full"
    return "brief" if size < BRIEF_BELOW_VOCABULARY else "full"
