"""Settings of Argos' curation: the paper's where it gives any."""

from dataclasses import dataclass
from typing import Literal

from saccade.codec.bounds import NotNegative, Positive, Share, check_bounds
from saccade.curation.argos.traces import THRESHOLD
from saccade.protocols.instructions import Style


@dataclass(frozen=True, kw_only=True)
class TracingSettings:
    """Settings of making traces."""

    asks: Literal["overlay", "pointed"] = "overlay"
    """How the teacher is asked: with copies of the pictures that show coordinates; or as models are that point by
    themselves, such as a checkpoint of an earlier run."""
    style: Style = "full"
    """Instructions of ``pointed``."""
    samples: Positive = 8
    """Traces of a question."""
    temperature: NotNegative = 0.6
    threshold: Share = THRESHOLD
    """Least score of a right trace that is kept."""
    marks_per_thing: Positive = 8
    """Marks of one thing in one picture."""
    extraction_attempts: Positive = 2
    """Replies of the extractor that are read before a question is given up."""
    tells_proposals: bool = False
    """Whether the teacher is told names, coordinates and events in words too, for one that reads small print badly.
    They come from question and answer, and may give the answer away."""
    keeps_all: bool = True
    """Whether wrong and weak traces are kept too, for ``--sets`` and ``traces.jsonl``. All that is kept is held in
    memory: for hundreds of thousands of questions keep the best alone."""
    questions_at_once: Positive = 16

    def check(self) -> None:
        check_bounds(self)
