"""All families of the gym that have parts, by name."""

from collections.abc import Mapping
from types import MappingProxyType

from saccade.gym.families import (
    arithmetic,
    boards,
    charts,
    chess,
    circuits,
    comparisons,
    crowds,
    documents,
    figures,
    flow_charts,
    forms,
    instruments,
    mathematics,
    molecules,
    motion,
    networks,
    paper,
    plates,
    routes,
    scores,
    shapes,
    sheets,
    solids,
    transit,
    windows,
)
from saccade.gym.family import GymFamily, NamedDraw

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
    "mathematics",
    "video",
)


def _by_name(*families: GymFamily) -> Mapping[str, GymFamily]:
    found: dict[str, GymFamily] = {}
    for family in families:
        if family.name in found or family.domain not in DOMAINS:
            raise ValueError(f"the family {family.name!r} is there twice, or its domain {family.domain!r} is not known")
        found[family.name] = family
    return MappingProxyType(found)


# No module of these imports the library of an extra when it is imported itself.
GYM_FAMILIES = _by_name(
    *boards.FAMILIES,
    *charts.FAMILIES,
    *arithmetic.FAMILIES,
    *chess.FAMILIES,
    *circuits.FAMILIES,
    *comparisons.FAMILIES,
    *crowds.FAMILIES,
    *documents.FAMILIES,
    *figures.FAMILIES,
    *flow_charts.FAMILIES,
    *forms.FAMILIES,
    *instruments.FAMILIES,
    *mathematics.FAMILIES,
    *molecules.FAMILIES,
    *motion.FAMILIES,
    *networks.FAMILIES,
    *paper.FAMILIES,
    *plates.FAMILIES,
    *routes.FAMILIES,
    *scores.FAMILIES,
    *shapes.FAMILIES,
    *sheets.FAMILIES,
    *solids.FAMILIES,
    *transit.FAMILIES,
    *windows.FAMILIES,
)


def gym_families() -> Mapping[str, GymFamily]:
    """Every family by its name."""
    return GYM_FAMILIES


def find_draw(name: str) -> NamedDraw | None:
    """What a name of the gym means; None where no family has it. ``UserError`` for a part that is not there."""
    family = GYM_FAMILIES.get(name.partition("?")[0].partition("@")[0].partition("/")[0])
    return None if family is None else family.part(name)
