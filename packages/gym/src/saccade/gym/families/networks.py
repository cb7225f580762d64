"""Networks as diagrams, and as maps of towns and roads (extra ``gym``)."""

from saccade.gym.family import GymFamily
from saccade.gym.grammars.graphs import network_grammar
from saccade.gym.grammars.words import TOWNS
from saccade.gym.looks.networks import DIAGRAM, MAP
from saccade.gym.programs.graphs import COLOUR, LENGTH_PROGRAMS, NORTH, SHAPE_PROGRAMS

LETTERS = tuple("ABCDEFGHJKLMNPQRSTUVWXYZ")

FAMILIES = (
    GymFamily(
        name="graph",
        about="nodes and weighted edges: degrees, neighbours, shortest ways",
        domain="diagrams",
        grammar=network_grammar("graph", names=LETTERS, node="node", edge="edge", size=(520, 420), is_measured=False),
        renderers=(DIAGRAM,),
        programs=(*SHAPE_PROGRAMS, *LENGTH_PROGRAMS, COLOUR),
        is_split_by_state=True,
    ),
    GymFamily(
        name="map_roads",
        about="a map of towns and roads with their lengths",
        domain="maps",
        grammar=network_grammar("map_roads", names=TOWNS, node="town", edge="road", size=(760, 560), is_measured=True),
        renderers=(MAP,),
        programs=(*LENGTH_PROGRAMS, *SHAPE_PROGRAMS[:5], NORTH),
        is_split_by_state=True,
        needs_closer=True,
    ),
)
