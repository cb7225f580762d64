"""Charts and tables whose printed values are calculated with (extra ``gym``)."""

from saccade.gym.family import GymFamily
from saccade.gym.grammars.quantities import QuantityLayout, quantity_grammar
from saccade.gym.looks.charts_matplotlib import MATPLOTLIB
from saccade.gym.looks.charts_pygal import PYGAL
from saccade.gym.looks.charts_vega import VEGA
from saccade.gym.looks.degraded import worn_looks
from saccade.gym.looks.tables import TABLE
from saccade.gym.programs.quantity_arithmetic import ARITHMETIC_PROGRAMS

LOOKS = (MATPLOTLIB, VEGA, PYGAL)

FAMILIES = (
    GymFamily(
        name="chart_arithmetic",
        about="stacks of segments with printed values that are calculated with: means, shares, changes",
        domain="charts",
        grammar=quantity_grammar(
            "chart_arithmetic",
            QuantityLayout(
                form="stacked",
                entries=(3, 5, 7),
                measures=(2, 3, 4),
                reading="printed",
                low=20,
                high=98,
                step=1,
                sizes=((520, 380), (620, 420), (760, 480)),
            ),
        ),
        renderers=LOOKS,
        more_renderers=worn_looks(*LOOKS),
        programs=ARITHMETIC_PROGRAMS,
        is_split_by_state=True,
    ),
    GymFamily(
        name="table_arithmetic",
        about="a table of one scale whose columns are calculated with: means, shares, changes",
        domain="tables",
        grammar=quantity_grammar(
            "table_arithmetic",
            QuantityLayout(
                form="table",
                entries=(4, 6, 9),
                measures=(2, 3, 4),
                reading="printed",
                low=12,
                high=480,
                step=1,
                relation="in the column",
                sizes=((440, 380), (540, 460), (660, 560)),
            ),
        ),
        renderers=(TABLE,),
        more_renderers=worn_looks(TABLE),
        programs=ARITHMETIC_PROGRAMS,
        is_split_by_state=True,
    ),
)
