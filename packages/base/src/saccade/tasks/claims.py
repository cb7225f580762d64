"""Claims of a task family about itself, by which an audit measures it."""

from collections.abc import Callable
from dataclasses import dataclass

from PIL import Image

from saccade.tasks.scene import FamilyFunction, Scene
from saccade.types import Task

SecondSolver = Callable[[Task, tuple[Image.Image, ...]], str | None]
"""An answer found from a question and pixels alone, without the code that made the gold answer; None where it is not
meant to know. It must not read ``Task.answer``, targets or objects."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FamilyClaims:
    """What a family says of itself; nothing by default."""

    needs_closer: bool = False
    """Whether the view alone does not give the answer: a probe on thumbnails must then be at chance."""
    solver: SecondSolver | None = None
    hardness: Callable[[Scene], float] | None = None
    """What difficulty changes, a number that grows with it; without one an audit measures the picture."""


_ATTRIBUTE = "saccade_claims"


def claims(
    *,
    needs_closer: bool = False,
    solver: SecondSolver | None = None,
    hardness: Callable[[Scene], float] | None = None,
) -> Callable[[FamilyFunction], FamilyFunction]:
    """Decorator of a family's function: ``@claims(needs_closer=True, solver=solve)``."""

    def with_claims(draw: FamilyFunction) -> FamilyFunction:
        setattr(draw, _ATTRIBUTE, FamilyClaims(needs_closer=needs_closer, solver=solver, hardness=hardness))
        return draw

    return with_claims


def claims_of(draw: FamilyFunction) -> FamilyClaims:
    """The claims of a family; those of the gym say ``needs_closer`` themselves."""
    needs_closer = bool(getattr(getattr(draw, "family", draw), "needs_closer", False))
    found: FamilyClaims = getattr(draw, _ATTRIBUTE, FamilyClaims(needs_closer=needs_closer))
    return found
