"""How far a run is: a stage of its plan and a step inside the stage."""

from collections.abc import Sequence
from dataclasses import dataclass

from saccade.errors import UserError


@dataclass(frozen=True, kw_only=True, slots=True)
class Position:
    """The state after ``step`` steps of ``stage``; step 0 is before the stage's first step."""

    stage: str
    step: int

    def is_after(self, other: "Position", stages: Sequence[str]) -> bool:
        """Later than the other position in a plan whose stages are named in this order.

        Raises UserError for a stage that the plan does not have.
        """
        for name in (self.stage, other.stage):
            if name not in stages:
                raise UserError(
                    f"the run on disk has a stage {name!r} that the plan has not ({', '.join(stages)}); "
                    "resume with the recipe that it was started with, or choose another --out"
                )
        return (stages.index(self.stage), self.step) > (stages.index(other.stage), other.step)
