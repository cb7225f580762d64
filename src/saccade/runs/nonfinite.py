"""Batches whose loss or gradient was not finite, on disk for whoever looks for the reason."""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from saccade.atomic import disk_errors, write_bytes_atomic
from saccade.learner.learner import NonFiniteStep
from saccade.runs.position import Position
from saccade.types import Json

logger = logging.getLogger(__name__)


def write_nonfinite(directory: Path, position: Position, steps: Sequence[NonFiniteStep]) -> Path:
    """``<stage>-<step>.json``: of each skipped optimiser step its sums, its suspects and every sequence it was given.

    The JSON is Python's dialect, since what is looked for are NaN and Infinity.
    """
    path = directory / f"{position.stage}-{position.step:06d}.json"
    content: list[Mapping[str, Json]] = [
        {
            "gradient_norm": step.gradient_norm,
            "totals": dict(step.totals),
            "suspects": list(step.suspects),
            "sequences": [asdict(sequence) for sequence in step.sequences],
        }
        for step in steps
    ]
    with disk_errors(path):
        directory.mkdir(exist_ok=True)
    write_bytes_atomic(path, (json.dumps(content) + "\n").encode("ascii"))
    logger.warning(
        "step %d of stage %s gave no finite loss or gradient and changed no weight; its batch is in %s",
        position.step,
        position.stage,
        path,
    )
    return path
