"""The small base checkpoint that ships with the package, and how its kind is instructed."""

import json
from pathlib import Path
from typing import Literal

from saccade.errors import UserError

_SHIPPED = Path(__file__).parent / "base_checkpoint"

BRIEF_BELOW_VOCABULARY = 8192
"""Tokenizers smaller than this belong to tiny models, which learn the format by example."""


def base_checkpoint() -> Path:
    """The checkpoint that ``saccade train perception`` made: 1.3 M weights that see coloured things in drawings."""
    if not (_SHIPPED / "config.json").is_file():
        raise UserError(f"the base checkpoint is missing from this installation ({_SHIPPED}); pass --model PATH")
    return _SHIPPED


def instruction_style(checkpoint: Path) -> Literal["brief", "full"]:
    """``brief`` for tiny models, which cannot read instructions; ``full`` for all others."""
    try:
        config = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
        size = int(config["text_config"]["vocab_size"])
    except (OSError, ValueError, KeyError, TypeError):
        # What is wrong with the checkpoint is said where it is loaded.
        return "full"
    return "brief" if size < BRIEF_BELOW_VOCABULARY else "full"
