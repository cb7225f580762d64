"""Which kind of model a checkpoint directory holds; nothing large is read, and nothing here needs torch."""

import json
from collections.abc import Mapping
from pathlib import Path

from saccade.errors import UserError

DETECTORS = {"grounding-dino": "GroundingDINO", "owlv2": "OWLv2"}

SEGMENTERS = {"sam": "SAM", "sam2": "SAM 2", "sam2_video": "SAM 2"}
"""Published checkpoints of SAM 2 call themselves ``sam2_video``; the part for pictures is the same."""

CHART_MODELS = {"pix2struct": "DePlot", "vision-encoder-decoder": "UniChart"}


def check_kind(path: Path, kinds: Mapping[str, str], wanted: str) -> str:
    """The ``model_type`` of a checkpoint directory; UserError unless it is one of ``kinds`` (with their names)."""
    found = kind_of(path)
    if found not in kinds:
        known = ", ".join(f"{name} ({kind})" for kind, name in kinds.items())
        raise UserError(f"{path} holds a model of the type {found!r}, which is no {wanted}; use one of {known}")
    return found


def kind_of(path: Path) -> str:
    """The ``model_type`` of a checkpoint directory."""
    if not (path / "config.json").is_file():
        why = "is no directory" if not path.is_dir() else "holds no config.json"
        raise UserError(
            f"{path} {why}; give a checkpoint directory in Hugging Face layout. Models are read from disk, never "
            "downloaded"
        )
    try:
        config = json.loads((path / "config.json").read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path / 'config.json'} cannot be read: {error}; copy the checkpoint again") from error
    return str(config.get("model_type")) if isinstance(config, dict) else ""
