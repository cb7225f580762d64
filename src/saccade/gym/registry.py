"""All families of the gym, by name, and the names by which their programs and looks are asked for.

``FAMILY[/PROGRAM][@LOOK][?OPTION&OPTION...]``: "shape_counts", "shape_counts/parity", "shape_counts/parity@paper",
"shape_counts?clutter=0.9&expert=points&unanswerable=0.25". An option is a level of a named axis of difficulty, the kind
of expert, or the share of questions that the picture does not answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import get_args

from numpy.random import Generator

from saccade.errors import UserError
from saccade.gym.family import Accepts, GymFamily
from saccade.gym.levels import Levels
from saccade.gym.program import ExpertKind, Program
from saccade.gym.rendering import Renderer
from saccade.gym.sample import GymSample
from saccade.tasks.scene import FamilyFunction, Scene

DOMAINS = (
    "search",
    "attributes",
    "counting",
    "size and distance",
    "space in two dimensions",
    "space in three dimensions",
    "views and rotation",
    "comparison",
    "patterns and puzzles",
    "absence",
    "gauges and clocks",
    "grids and routes",
    "charts",
    "tables",
    "documents",
    "screens",
    "diagrams",
    "molecules",
    "music",
    "chess",
    "maps",
    "video",
)

MODULES = (
    "saccade.gym.families.boards",
    "saccade.gym.families.charts",
    "saccade.gym.families.chess",
    "saccade.gym.families.circuits",
    "saccade.gym.families.comparisons",
    "saccade.gym.families.documents",
    "saccade.gym.families.figures",
    "saccade.gym.families.flow_charts",
    "saccade.gym.families.forms",
    "saccade.gym.families.instruments",
    "saccade.gym.families.molecules",
    "saccade.gym.families.motion",
    "saccade.gym.families.networks",
    "saccade.gym.families.plates",
    "saccade.gym.families.routes",
    "saccade.gym.families.scores",
    "saccade.gym.families.shapes",
    "saccade.gym.families.sheets",
    "saccade.gym.families.solids",
)
"""Modules that have ``FAMILIES``; none imports the library of an extra when it is imported itself."""

NAME_SHAPE = "FAMILY[/PROGRAM][@LOOK][?AXIS=LEVEL&expert=KIND&unanswerable=SHARE]"


@cache
def gym_families() -> Mapping[str, GymFamily]:
    """Every family by its name. ValueError for two of one name, or one of no known domain."""
    found: dict[str, GymFamily] = {}
    for module in MODULES:
        families: tuple[GymFamily, ...] = import_module(module).FAMILIES
        for family in families:
            if family.name in found or family.domain not in DOMAINS:
                raise ValueError(f"{module}: the family {family.name!r} is there twice, or its domain is not known")
            found[family.name] = family
    return MappingProxyType(found)


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedDraw:
    """A family, or a part of it, as a ``FamilyFunction``."""

    name: str
    """As it was asked for; the tasks carry it."""
    family: GymFamily
    program: Program | None = None
    renderer: Renderer | None = None
    levels: Mapping[str, float] = field(default_factory=dict)
    expert: ExpertKind | None = None
    unanswerable: float | None = None
    accepts: Accepts | None = None

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, rng: Generator, difficulty: float) -> Scene:
        return self.sample(rng, Levels(base=difficulty, named=self.levels)).scene

    def within(self, accepts: Accepts) -> FamilyFunction:
        """The draw of states that are accepted, where the family is split by them."""
        return replace(self, accepts=accepts) if self.family.is_split_by_state else self

    def sample(self, rng: Generator, levels: Levels) -> GymSample:
        """A scene with everything that it was made of. Levels that the name says win."""
        return self.family.sample(
            rng,
            Levels(base=levels.base, named={**levels.named, **self.levels}),
            program=self.program,
            renderer=self.renderer,
            expert=self.expert,
            unanswerable=self.unanswerable,
            accepts=self.accepts,
        )


def find_draw(name: str) -> NamedDraw | None:
    """What a name of the gym means; None where no family has it. ``UserError`` for a part that is not there."""
    family = gym_families().get(name.partition("?")[0].partition("@")[0].partition("/")[0])
    return None if family is None else part_of(family, name)


def whole_family(draw: object, name: str) -> GymFamily:
    """The family that a part is asked of; ``UserError`` where it is a plain function, which has no parts."""
    if not isinstance(draw, GymFamily):
        raise UserError(f"{name!r} asks for a part of a family, and {draw!r} is no GymFamily; leave the part out")
    return draw


def part_of(family: GymFamily, name: str) -> NamedDraw:
    """The part of a family that a name means, which begins with the family's."""
    head, _, options = name.partition("?")
    head, _, look = head.partition("@")
    _, _, program = head.partition("/")
    draw = NamedDraw(
        name=name,
        family=family,
        program=family.program(program) if program else None,
        renderer=family.renderer(look) if look else None,
    )
    return _with_options(draw, options)


def _with_options(draw: NamedDraw, options: str) -> NamedDraw:
    levels: dict[str, float] = {}
    expert: ExpertKind | None = None
    unanswerable: float | None = None
    for option in filter(None, options.split("&")):
        key, _, value = option.partition("=")
        if key == "expert":
            expert = _expert(draw, value)
        elif key == "unanswerable":
            unanswerable = _share(draw.name, option, value)
        elif key in draw.family.axes:
            levels[key] = _share(draw.name, option, value)
        else:
            raise UserError(
                f"{draw.name!r}: {option!r} is no option; use expert=KIND, unanswerable=SHARE or a level of "
                f"{', '.join(draw.family.axes) or 'no axis'}"
            )
    return replace(draw, levels=levels, expert=expert, unanswerable=unanswerable)


def _expert(draw: NamedDraw, value: str) -> ExpertKind:
    kinds: tuple[ExpertKind, ...] = get_args(ExpertKind)
    for kind in kinds:
        if kind == value:
            return kind
    raise UserError(f"{draw.name!r}: no expert {value!r}; use one of {', '.join(kinds)}")


def _share(name: str, option: str, value: str) -> float:
    try:
        share = float(value)
    except ValueError:
        share = -1.0
    if not 0.0 <= share <= 1.0:
        raise UserError(f"{name!r}: {option!r} is not a number from 0 to 1")
    return share
