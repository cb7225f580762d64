"""Documents of several pages: numbered sections in which single facts stand among other sentences.

Axes: ``pages`` (how many), ``prose`` (how many sentences around each fact).
"""

from dataclasses import dataclass

from numpy.random import Generator

from saccade.gym.family import Grammar
from saccade.gym.grammars.words import SURNAMES, TOWNS
from saccade.gym.levels import Levels
from saccade.gym.state import Element, SceneState
from saccade.tasks.scene import pick, pick_several

AXES = ("pages", "prose")
WORKS = (
    "bridge",
    "library",
    "market hall",
    "school",
    "mill",
    "lighthouse",
    "theatre",
    "station",
    "bath house",
    "tower",
)
FILLERS = (
    "The council met twice that season and found little to change.",
    "Visitors came by road, for the river was low.",
    "Much of the timber was brought from the hills.",
    "Older plans were lost in a fire and never drawn again.",
    "Repairs went on slowly while funds were sought.",
    "The stone is pale and weathers well.",
    "Records of the work are kept with care.",
    "Some of the builders settled nearby.",
    "It is open on most days and free to enter.",
    "A small path leads down to the water.",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class BuildingFact:
    """A section's facts."""

    town: str
    work: str
    year: int
    builder: str
    cost: int
    page: int

    @property
    def heading(self) -> str:
        return f"The {self.work} of {self.town}"


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentState(SceneState):
    """Elements ``heading:I``, ``year:I``, ``builder:I``, ``cost:I`` for each section, ``page:P`` for page numbers."""

    facts: tuple[BuildingFact, ...]
    fillers: tuple[tuple[int, ...], ...]
    """For each section, which sentences stand around its facts."""


def draw_document(rng: Generator, levels: Levels) -> DocumentState:
    """Two or three sections on each of two to four pages; no two have the same year, builder or cost."""
    pages = levels.whole("pages", 2, 3, 4)
    places = [page for page in range(pages) for _ in range(int(rng.integers(2, 4)))]
    count = len(places)
    towns, builders = pick_several(rng, TOWNS, count), pick_several(rng, SURNAMES, count)
    years = [int(year) for year in rng.choice(range(1720, 1960), size=count, replace=False)]
    costs = [int(cost) * 50 for cost in rng.choice(range(20, 190), size=count, replace=False)]
    facts = tuple(
        BuildingFact(
            town=towns[i], work=pick(rng, WORKS), year=years[i], builder=builders[i], cost=costs[i], page=places[i]
        )
        for i in range(count)
    )
    around = levels.whole("prose", 2, 4, 5)
    fillers = tuple(tuple(int(i) for i in rng.permutation(len(FILLERS))[:around]) for _ in facts)
    elements = [Element(id=f"page:{page}", kind="page", name=f"page {page + 1}") for page in range(pages)]
    for index, fact in enumerate(facts):
        elements += [
            Element(id=f"heading:{index}", kind="heading", name=fact.heading),
            Element(id=f"year:{index}", kind="fact", name=f"year {fact.town}", attributes={"year": str(fact.year)}),
            Element(
                id=f"builder:{index}", kind="fact", name=f"builder {fact.town}", attributes={"builder": fact.builder}
            ),
            Element(id=f"cost:{index}", kind="fact", name=f"cost {fact.town}", attributes={"cost": str(fact.cost)}),
        ]
    return DocumentState(elements=tuple(elements), facts=facts, fillers=fillers, width=480, height=520, views=pages)


DOCUMENT = Grammar(name="document_pages", draw=draw_document, axes=AXES)
