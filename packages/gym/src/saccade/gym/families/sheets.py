"""Tables of several styles and receipts, set by Typst (extra ``gym``)."""

from saccade.gym.family import GymFamily
from saccade.gym.grammars.chart_states import changed_grammar
from saccade.gym.grammars.quantities import QuantityLayout, quantity_grammar
from saccade.gym.grammars.receipts import with_sum
from saccade.gym.grammars.words import GOODS
from saccade.gym.looks.degraded import worn_looks
from saccade.gym.looks.tables import RECEIPT, TABLE
from saccade.gym.programs.quantity_order import CLOSEST, GREATER, HIGHEST, LOWEST, PLACE, SECOND
from saccade.gym.programs.quantity_pairs import (
    BEST_AMONG,
    BEST_MEASURE,
    ENTRY_TOTAL,
    FOLLOW,
    GAP,
    GREATEST_TOTAL,
    WIDEST,
    WINS,
)
from saccade.gym.programs.quantity_trends import NEXT
from saccade.gym.programs.quantity_values import (
    COUNT_ABOVE,
    COUNT_BELOW,
    DIFFERENCE,
    HOLDER,
    PAIR_SUM,
    PEAK,
    SPREAD,
    VALUE,
)
from saccade.gym.programs.receipt_lines import RECEIPT_PROGRAMS

IN_COLUMN = "in the column"

FAMILIES = (
    GymFamily(
        name="table_goods",
        about="a table with columns of different kinds: price, stock, size, sold",
        domain="tables",
        grammar=quantity_grammar(
            "table_goods",
            QuantityLayout(
                form="table",
                entries=(5, 10, 18),
                measures=(2, 3, 4),
                reading="printed",
                low=3,
                high=990,
                step=1,
                is_ordered=False,
                names=("price", "stock", "size", "sold", "weight"),
                relation=IN_COLUMN,
                are_alike=False,
                can_add=False,
                sizes=((420, 400), (520, 500), (640, 640)),
            ),
        ),
        renderers=(TABLE,),
        more_renderers=worn_looks(TABLE),
        programs=(VALUE, HIGHEST, LOWEST, SECOND, HOLDER, FOLLOW, BEST_AMONG, COUNT_ABOVE, NEXT),
        is_split_by_state=True,
        needs_closer=True,
    ),
    GymFamily(
        name="table_results",
        about="a large table of one scale: rows and columns are compared and added",
        domain="tables",
        grammar=quantity_grammar(
            "table_results",
            QuantityLayout(
                form="table",
                entries=(5, 9, 14),
                measures=(3, 4, 5),
                reading="printed",
                low=10,
                high=99,
                step=1,
                relation=IN_COLUMN,
                sizes=((460, 400), (560, 500), (700, 640)),
            ),
        ),
        renderers=(TABLE,),
        more_renderers=worn_looks(TABLE),
        programs=(
            VALUE,
            BEST_MEASURE,
            GAP,
            WIDEST,
            WINS,
            ENTRY_TOTAL,
            GREATEST_TOTAL,
            PEAK,
            SPREAD,
            COUNT_BELOW,
            PLACE,
        ),
        is_split_by_state=True,
        needs_closer=True,
    ),
    GymFamily(
        name="receipt",
        about="a till receipt: prices, their sum, change, date",
        domain="documents",
        grammar=changed_grammar(
            "receipt",
            QuantityLayout(
                form="receipt",
                entries=(4, 8, 15),
                pool=GOODS,
                noun="item",
                is_ordered=False,
                sizes=((300, 400), (300, 500), (320, 640)),
            ),
            with_sum,
        ),
        renderers=(RECEIPT,),
        more_renderers=worn_looks(RECEIPT),
        programs=(*RECEIPT_PROGRAMS, VALUE, HIGHEST, LOWEST, DIFFERENCE, PAIR_SUM, GREATER, CLOSEST, NEXT),
        is_split_by_state=True,
        needs_closer=True,
    ),
)
