"""Flow charts: branches, loops and ways through them (extra ``gym``)."""

from saccade.gym.family import GymFamily
from saccade.gym.grammars.flow_charts import FLOW_CHARTS
from saccade.gym.looks.flow_charts import FILLED_FLOW, OUTLINED_FLOW
from saccade.gym.programs.flow_charts import FLOW_PROGRAMS

FAMILIES = (
    GymFamily(
        name="flow_chart",
        about="boxes, decisions and arrows: what follows, what is reached, loops, the shortest way",
        domain="diagrams",
        grammar=FLOW_CHARTS,
        renderers=(OUTLINED_FLOW, FILLED_FLOW),
        programs=FLOW_PROGRAMS,
        is_split_by_state=True,
    ),
)
