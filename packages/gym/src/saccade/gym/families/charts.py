"""Charts of every common kind, drawn by matplotlib, Vega-Lite and pygal (extra ``gym``)."""

from saccade.gym.family import Grammar, GymFamily
from saccade.gym.grammars.chart_states import Change, bins, changed_grammar, points, spreads, two_scales
from saccade.gym.grammars.quantities import QuantityLayout, quantity_grammar
from saccade.gym.looks.charts_matplotlib import MATPLOTLIB
from saccade.gym.looks.charts_pygal import PYGAL
from saccade.gym.looks.charts_vega import VEGA
from saccade.gym.looks.degraded import worn_looks
from saccade.gym.program import Program
from saccade.gym.programs.quantity_order import (
    BETWEEN,
    CLOSEST,
    GREATER,
    HIGHEST,
    LOWEST,
    MIDDLE,
    PLACE,
    SECOND,
    SIZE,
    THIRD,
    TITLE,
)
from saccade.gym.programs.quantity_pairs import (
    BEST_AMONG,
    BEST_MEASURE,
    ENTRY_TOTAL,
    FOLLOW,
    GAP,
    GREATEST_TOTAL,
    MEASURE_COUNT,
    WIDEST,
    WINS,
)
from saccade.gym.programs.quantity_trends import FIRST_ABOVE, NEXT, STEEPEST, rises
from saccade.gym.programs.quantity_values import (
    BOTTOM,
    COUNT_ABOVE,
    COUNT_BELOW,
    DIFFERENCE,
    HOLDER,
    PAIR_SUM,
    PEAK,
    RATIO,
    SPREAD,
    TOTAL,
    VALUE,
)
from saccade.gym.rendering import Renderer

EVERY_LOOK = (MATPLOTLIB, VEGA, PYGAL)
WIDE = ((520, 380), (620, 420), (760, 480))
LETTERS = tuple("LMNPQRSTUVWZ")
"""Names of points: no letters that also number the options of a question, or name an axis."""
COUNT_ALONE = ("entries",)
"""The axis of charts whose values are drawn apart from the grammar's."""
SERIES = (2, 3, 4)
NEED_CLOSER = frozenset({"grouped", "pie", "donut", "heat", "scatter", "bubble", "box"})
"""Charts of which every question needs words or numbers that a view of 64 pixels does not show."""


def _chart(
    form: str,
    about: str,
    grammar: Grammar,
    looks: tuple[Renderer, ...],
    programs: tuple[Program, ...],
) -> GymFamily:
    return GymFamily(
        name={"lines": "chart_several_lines", "pie": "chart_sectors"}.get(form, f"chart_{form}"),
        about=about,
        domain="charts",
        grammar=grammar,
        renderers=looks,
        more_renderers=worn_looks(*looks),
        programs=programs,
        is_split_by_state=True,
        needs_closer=form in NEED_CLOSER,
    )


def _of(form: str, **given: object) -> Grammar:
    return quantity_grammar(f"chart_{form}", QuantityLayout(form=form, **given))  # type: ignore[arg-type]


def _changed_chart(form: str, change: Change, *, has_own_values: bool = False, **given: object) -> Grammar:
    layout = QuantityLayout(form=form, **given)  # type: ignore[arg-type]
    return changed_grammar(f"chart_{form}", layout, change, COUNT_ALONE if has_own_values else None)


def _points(form: str, **given: object) -> Grammar:
    return _changed_chart(form, points, has_own_values=True, pool=LETTERS, is_ordered=False, **given)


FAMILIES = (
    _chart(
        "bar",
        "one bar for each entry along a scale",
        _of("bar", is_ordered=False),
        EVERY_LOOK,
        (VALUE, HIGHEST, LOWEST, SECOND, DIFFERENCE, COUNT_ABOVE, HOLDER, GREATER, RATIO, NEXT, TITLE),
    ),
    _chart(
        "lying",
        "bars that lie, each beside its name",
        _of("lying", is_ordered=False, entries=(4, 7, 11)),
        EVERY_LOOK,
        (VALUE, PEAK, BOTTOM, THIRD, SPREAD, COUNT_BELOW, CLOSEST, PLACE, SIZE),
    ),
    _chart(
        "grouped",
        "groups of bars, a colour for each series",
        _of("grouped", measures=SERIES, entries=(3, 4, 6), sizes=WIDE),
        EVERY_LOOK,
        (VALUE, BEST_MEASURE, GAP, WIDEST, WINS, FOLLOW, BEST_AMONG, ENTRY_TOTAL),
    ),
    _chart(
        "stacked",
        "stacks of segments with printed numbers",
        _of("stacked", measures=SERIES, entries=(3, 5, 7), reading="printed", sizes=WIDE, low=20),
        EVERY_LOOK,
        (VALUE, ENTRY_TOTAL, GREATEST_TOTAL, BEST_MEASURE, PAIR_SUM, DIFFERENCE, HIGHEST, COUNT_ABOVE),
    ),
    _chart(
        "line",
        "one line over months or years",
        _of("line", is_ordered=True, entries=(5, 8, 11)),
        EVERY_LOOK,
        (VALUE, rises((5, 8, 11)), STEEPEST, FIRST_ABOVE, HIGHEST, LOWEST, SPREAD, COUNT_ABOVE),
    ),
    _chart(
        "lines",
        "several lines that cross, told apart by colour",
        _of("lines", is_ordered=True, measures=SERIES, entries=(5, 7, 10), sizes=WIDE),
        EVERY_LOOK,
        (VALUE, MEASURE_COUNT, BEST_MEASURE, WINS, WIDEST, GAP, HIGHEST, FIRST_ABOVE, STEEPEST, FOLLOW),
    ),
    _chart(
        "area",
        "a filled line over months or years",
        _of("area", is_ordered=True, entries=(5, 8, 11)),
        EVERY_LOOK,
        (VALUE, PEAK, rises((5, 8, 11)), COUNT_BELOW, SECOND, DIFFERENCE, FIRST_ABOVE),
    ),
    _chart(
        "pie",
        "slices with printed numbers",
        _of("pie", reading="printed", is_ordered=False, entries=(3, 5, 8), low=15, step=1),
        EVERY_LOOK,
        (VALUE, HIGHEST, LOWEST, PAIR_SUM, TOTAL, DIFFERENCE, HOLDER, PLACE),
    ),
    _chart(
        "donut",
        "slices of a ring without numbers: sizes are compared",
        _of("donut", reading="compared", is_ordered=False, entries=(3, 4, 5), low=20, high=140, step=20),
        EVERY_LOOK,
        (HIGHEST, LOWEST, SECOND, GREATER, PLACE),
    ),
    _chart(
        "histogram",
        "counts in bins",
        _changed_chart("histogram", bins, is_ordered=True, entries=(5, 7, 9)),
        EVERY_LOOK,
        (VALUE, HIGHEST, COUNT_ABOVE, PAIR_SUM, DIFFERENCE, rises((5, 7, 9)), STEEPEST),
    ),
    _chart(
        "box",
        "box plots: five numbers for each entry",
        _changed_chart("box", spreads, has_own_values=True, entries=(3, 4, 6), is_ordered=False),
        (MATPLOTLIB, VEGA),
        (VALUE, HIGHEST, GAP, WIDEST, FOLLOW, GREATER),
    ),
    _chart(
        "heat",
        "a grid of shaded cells with printed numbers",
        _of("heat", measures=(3, 4, 5), entries=(3, 5, 8), reading="printed", step=1, relation="in the column"),
        (MATPLOTLIB, VEGA),
        (VALUE, BEST_MEASURE, FOLLOW, HOLDER, GREATEST_TOTAL, BEST_AMONG, PEAK),
    ),
    _chart(
        "radar",
        "values on rays, one polygon for each series",
        _of(
            "radar", measures=(1, 2, 3), entries=(5, 6, 8), is_ordered=False, sizes=((440, 440), (480, 480), (540, 540))
        ),
        (MATPLOTLIB,),
        (VALUE, HIGHEST, LOWEST, SPREAD, COUNT_ABOVE, GREATER, HOLDER),
    ),
    _chart(
        "scatter",
        "named points along two axes",
        _points("scatter", noun="point", sizes=WIDE, entries=(5, 7, 10)),
        (MATPLOTLIB, VEGA),
        (VALUE, HIGHEST, LOWEST, FOLLOW, BEST_AMONG, DIFFERENCE),
    ),
    _chart(
        "bubble",
        "named bubbles along two axes, whose area is a third value",
        _points("bubble", noun="bubble", sizes=WIDE, entries=(4, 5, 6)),
        (MATPLOTLIB, VEGA),
        (VALUE, HIGHEST, SECOND, GREATER, FOLLOW, BEST_AMONG, BETWEEN),
    ),
    _chart(
        "dual",
        "bars and a line with scales of their own",
        _changed_chart("dual", two_scales, is_ordered=True, entries=(4, 6, 9), sizes=WIDE),
        (MATPLOTLIB, VEGA),
        (VALUE, FOLLOW, BEST_AMONG, HIGHEST, rises((4, 6, 9)), FIRST_ABOVE, MIDDLE),
    ),
)
