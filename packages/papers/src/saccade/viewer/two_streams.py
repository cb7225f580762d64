"""Statistics of training in two streams, read from the records of a run's steps."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from saccade.codec.codecs import plain_json
from saccade.errors import UserError
from saccade.evaluation.consistency import TwoStreamStep, two_stream_step
from saccade.evaluation.grounding import IouInterval, accuracy_by_iou, answers_with_iou, question_ious
from saccade.protocols.two_streams import GROUNDED, TEXTUAL
from saccade.runs.records import read_records
from saccade.types import Attempt, Json

MAX_READ_BYTES = 256 << 20
"""Limit of one stage's records; a stage with more is read at evenly spaced steps. It takes about 15 seconds."""
_LAST_SHARE = 4
"""Answers by IoU are those of the last quarter of the steps: a policy that has learned, and enough of it to count."""

Answers = list[tuple[float, bool]]
"""IoU of a question in its step, and whether an answer to it was right."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TwoStreamStage:
    """A training stage that asked in the grounded or in the textual stream, or in both."""

    stage: str
    steps: tuple[TwoStreamStep, ...]
    steps_on_disk: int
    """More than ``steps`` where only some were read."""
    iou_from_step: int
    """First of the steps that the answers by IoU are from; they go up to the last one."""
    grounded_by_iou: tuple[IouInterval, ...]
    """Answers of each stream by how well the grounded stream's boxes of the same step fit; empty without boxes."""
    textual_by_iou: tuple[IouInterval, ...]

    def as_json(self) -> dict[str, Json]:
        return {
            "stage": self.stage,
            "steps": [step.as_json() for step in self.steps],
            "steps_on_disk": self.steps_on_disk,
            "iou_from_step": self.iou_from_step,
            "grounded_by_iou": [plain_json(interval) for interval in self.grounded_by_iou],
            "textual_by_iou": [plain_json(interval) for interval in self.textual_by_iou],
        }


def has_streams(attempts: Sequence[Attempt]) -> bool:
    """Some of them belong to one of the two streams."""
    return any(attempt.trajectory.stream in (GROUNDED, TEXTUAL) for attempt in attempts)


def read_two_streams(
    directory: Path, tell: Callable[[str], object], *, max_bytes: int = MAX_READ_BYTES
) -> TwoStreamStage | None:
    """The stage whose steps' records are in ``directory``; None without any. ``tell`` is told of a broken file."""
    every = sorted(directory.glob("step-*.jsonl"))
    chosen = _evenly_spaced(every, max_bytes)
    first_of_last = len(chosen) - math.ceil(len(chosen) / _LAST_SHARE)
    steps: list[TwoStreamStep] = []
    iou_from_step = 0
    grounded: Answers = []
    textual: Answers = []
    for index, path in enumerate(chosen):
        try:
            attempts = list(read_records(path))
        except UserError as error:
            tell(str(error))
            continue
        step = int(digits) if (digits := path.stem.removeprefix("step-")).isdecimal() else 0
        steps.append(two_stream_step(step, attempts))
        if index >= first_of_last:
            iou_from_step = iou_from_step or step
            looking, saying = _of(GROUNDED, attempts), _of(TEXTUAL, attempts)
            ious = question_ious(looking)
            grounded += answers_with_iou(looking, ious)
            textual += answers_with_iou(saying, ious)
    if not steps:
        return None
    return TwoStreamStage(
        stage=directory.name,
        steps=tuple(steps),
        steps_on_disk=len(every),
        iou_from_step=iou_from_step,
        grounded_by_iou=accuracy_by_iou(grounded) if grounded else (),
        textual_by_iou=accuracy_by_iou(textual) if textual else (),
    )


def _of(stream: str, attempts: Sequence[Attempt]) -> list[Attempt]:
    return [attempt for attempt in attempts if attempt.trajectory.stream == stream]


def _evenly_spaced(paths: Sequence[Path], max_bytes: int) -> list[Path]:
    """All of them, or evenly spaced ones up to the last that have about so many bytes together."""
    apart = max(1, math.ceil(sum(path.stat().st_size for path in paths) / max_bytes))
    return list(paths[::-1][::apart][::-1])
