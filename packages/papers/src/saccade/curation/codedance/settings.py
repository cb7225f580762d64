"""Settings of CodeDance's curation: how questions are sorted, solved and checked."""

import math
from dataclasses import dataclass, field
from typing import Annotated, Literal, get_args

from saccade.codec.bounds import Bounds, NotNegative, Positive, check_bounds
from saccade.errors import UserError

Level = Literal["easy", "medium", "hard", "unsolved", "unsorted"]
"""``unsolved``: neither model answers it, so it is left out. ``unsorted``: no model was asked; taken as hard."""

Kind = Literal["transform", "compute", "draw"]
"""The purpose of a trajectory's code: change the image to see more, work numbers out, draw or annotate."""

Way = Literal["direct", "play", "rewrite"]
"""How an example comes about: the bare answer; the teacher's turns in the environment; a chain of thought without code,
rewritten into one with code."""

KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, kw_only=True, slots=True)
class Thresholds:
    """Pass rates at which levels begin. The paper gives no numbers; these suit four samples a question."""

    easy_from: float = 0.75
    """Pass rate of the weak model from which a question is easy."""
    medium_from: float = 0.25
    """Pass rate of the weak model from which it is medium; below it is hard."""
    solved_from: float = 0.25
    """Pass rate that the strong model must reach on a hard question; below it is unsolved."""

    def check(self) -> None:
        for name in ("easy_from", "medium_from", "solved_from"):
            value = getattr(self, name)
            if not (math.isfinite(value) and 0 <= value <= 1):
                raise UserError(f"{name}={value} is no pass rate; use a number from 0 to 1")
        if self.medium_from > self.easy_from:
            raise UserError(
                f"medium_from={self.medium_from} is above easy_from={self.easy_from}; medium lies between hard and easy"
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class CurationSettings:
    """Settings of the pipeline."""

    samples: Positive = 4
    """Tries of the weak and of the strong model at each question."""
    sampling_temperature: NotNegative = 1.0
    """Sampling temperature of the weak and the strong model."""
    teacher_temperature: NotNegative = 0.7
    thresholds: Thresholds = field(default_factory=Thresholds)
    max_turns: Annotated[int, Bounds(least=2)] = 6
    """Turns of a trajectory, the answer among them."""
    attempts: Positive = 2
    """Tries of the teacher at a question in each way, before the next way."""
    medium_ways: tuple[Way, ...] = ("rewrite", "play")
    """Tried in this order until one gives an example that holds."""
    hard_ways: tuple[Way, ...] = ("play", "rewrite")
    kinds: tuple[Kind, ...] = KINDS
    """Kinds that the playing teacher is asked for; tasks begin at different ones and go through them in turn."""
    on_mismatch: Literal["reject", "replace"] = "reject"
    """Treatment of a rewriting whose claimed output is not what the code prints: left out, or kept with the real
    output when nothing after it speaks of the wrong one."""
    checks_images: bool = False
    """Ask the checker first whether the image is rich enough to ask about."""
    checks_questions: bool = True
    """Ask the checker, where there is one, whether question and answer are good."""
    checks_solutions: bool = True
    """Ask the checker, where there is one, whether it agrees with each solution."""
    locates: bool = False
    """Ask the checker for the boxes of what the question is about, as a hint to the teacher and targets of the task."""
    verdict_tries: Positive = 2
    """Times that a checker is asked before it counts as having no verdict."""
    keeps_unjudged: bool = False
    """Keep what the checker gave no verdict on; otherwise it is left out, and counted apart from what is bad."""
    questions_at_once: Positive = 16

    def check(self) -> None:
        """UserError for values that make no sense."""
        check_bounds(self)
        if not self.kinds:
            raise UserError(f"kinds is empty; name at least one of {', '.join(KINDS)}")
        if "direct" in (*self.medium_ways, *self.hard_ways):
            raise UserError("the way direct is for easy questions; use play and rewrite for the others")
