"""Tables in one line: what models write is read, what we write is read back."""

import pytest

from saccade.errors import ToolError
from saccade.readers.charts.chart import Axis, Chart, Series
from saccade.readers.charts.table import parse_deplot, parse_unichart

GOODS = Chart(
    kind="table",
    title="Goods sold",
    categories=("tea", "milk"),
    series=(Series(name="2020", values=(5.0, 1250.5)), Series(name="2021", values=(7.0, None))),
    x_axis=Axis(label="Item"),
)
DEPLOT = "TITLE | Goods sold <0x0A> Item | 2020 | 2021 <0x0A> tea | 5 | 7 <0x0A> milk | 1250.5 | "
UNICHART = "Item | 2020 | 2021 && tea | 5 | 7 && milk | 1250.5 |"


def test_the_rows_of_deplot_become_series_by_column():
    assert parse_deplot(DEPLOT) == GOODS


def test_the_rows_of_unichart_become_series_by_column():
    text = f"<s_answer> {UNICHART}</s>"
    assert parse_unichart(text).series == GOODS.series


def test_numbers_may_carry_percent_signs_and_thousands_separators():
    chart = parse_deplot("Year | Share <0x0A> 2019 | 45% <0x0A> 2020 | 1,234")
    assert chart.series[0].values == (45.0, 1234.0)


def test_a_row_that_was_cut_off_leaves_its_values_unknown():
    chart = parse_unichart("Year | A | B && 2019 | 1 | 2 && 2020 | 3")
    assert [series.values for series in chart.series] == [(1.0, 3.0), (2.0, None)]


@pytest.mark.parametrize("text", ["", "no table", "Year | A", "TITLE | only a title", "a && b"])
def test_a_text_that_is_no_table_is_refused(text: str):
    with pytest.raises(ToolError, match="header and a row"):
        parse_unichart(text)


def test_a_word_in_the_place_of_a_number_is_refused_by_name():
    with pytest.raises(ToolError, match="'many' for 'tea'"):
        parse_deplot("Item | sold <0x0A> tea | many")


def test_a_row_with_too_many_cells_is_refused_by_number():
    with pytest.raises(ToolError, match="row 2 of the table has 3 cells, but the header has 2"):
        parse_deplot("Item | sold <0x0A> tea | 1 <0x0A> milk | 2 | 3")


def test_an_endless_table_is_refused():
    with pytest.raises(ToolError, match="larger than"):
        parse_deplot("a | b <0x0A> " * 10_000)
