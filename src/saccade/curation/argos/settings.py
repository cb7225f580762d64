"""Settings of Argos' curation: the paper's where it gives any."""

import math
from dataclasses import dataclass
from typing import Literal

from saccade.curation.argos.traces import THRESHOLD
from saccade.errors import UserError
from saccade.protocols.instructions import Style


@dataclass(frozen=True, kw_only=True)
class TracingSettings:
    """Settings of making traces."""

    asks: Literal["overlay", "pointed"] = "overlay"
    """How the teacher is asked: with copies of the pictures that show coordinates; or as models are that point by
    themselves, such as a checkpoint of an earlier run."""
    style: Style = "full"
    """Instructions of ``pointed``."""
    samples: int = 8
    """Traces of a question."""
    temperature: float = 0.6
    threshold: float = THRESHOLD
    """Least score of a right trace that is kept."""
    marks_per_thing: int = 8
    """Marks of one thing in one picture."""
    extraction_attempts: int = 2
    """Replies of the extractor that are read before a question is given up."""
    tells_proposals: bool = False
    """Whether the teacher is told names, coordinates and events in words too, for one that reads small print badly.
    They come from question and answer, and may give the answer away."""
    keeps_all: bool = True
    """Whether wrong and weak traces are kept too, for ``--sets`` and ``traces.jsonl``. All that is kept is held in
    memory: for hundreds of thousands of questions keep the best alone."""
    questions_at_once: int = 16

    def check(self) -> None:
        for name in ("samples", "marks_per_thing", "extraction_attempts", "questions_at_once"):
            if getattr(self, name) < 1:
                raise UserError(f"{name}={getattr(self, name)} does nothing; use 1 or more")
        if not (math.isfinite(self.temperature) and self.temperature >= 0):
            raise UserError(f"temperature={self.temperature} is no temperature; use 0 or more")
        if not 0 <= self.threshold <= 1:
            raise UserError(f"threshold={self.threshold} must lie between 0 and 1, as the scores do")
