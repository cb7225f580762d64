"""Charts in styles of matplotlib with which the reader was developed."""

from pathlib import Path
from typing import Any

from foreign_tables import CITIES, GOODS, LONG, MONTHS, Table, Truth, shares, table, years
from numpy.random import Generator


def _axes(style: str = "default") -> tuple[Any, Any]:
    import matplotlib.pyplot as plt

    plt.rcdefaults()
    plt.style.use(style)
    return plt.subplots(figsize=(6.2, 4.2), dpi=100)


def mpl_negative(path: Path, rng: Generator) -> Truth:
    data = table(rng, GOODS, 7, 1, -30, 40)
    figure, axes = _axes("ggplot")
    axes.bar(data.categories, data.rows[0])
    axes.set_title("Change in percent")
    figure.savefig(path)
    return data.truth("bar")


def mpl_exploded(path: Path, rng: Generator) -> Truth:
    data = shares(table(rng, GOODS, 5, 1, 10, 40))
    figure, axes = _axes()
    axes.pie(data.rows[0], labels=data.categories, explode=[0.1] * 5, autopct="%1.1f%%", startangle=40)
    figure.savefig(path)
    return data.truth("pie")


def mpl_hatched(path: Path, rng: Generator) -> Truth:
    data = table(rng, CITIES, 5, 1, 15, 80)
    figure, axes = _axes()
    axes.bar(data.categories, data.rows[0], hatch="//", edgecolor="black", facecolor="lightblue")
    figure.savefig(path)
    return data.truth("bar")


def mpl_dashes(path: Path, rng: Generator) -> Truth:
    data = table(rng, MONTHS, 7, 2, 10, 40)
    data = Table(data.categories, data.series, [data.rows[0], [value + 35 for value in data.rows[1]]])
    figure, axes = _axes()
    for row, name, style in zip(data.rows, data.series, ("-", "--"), strict=True):
        axes.plot(data.categories, row, "k" + style, label=name)
    axes.legend()
    figure.savefig(path)
    return data.truth("line")


def mpl_slanted(path: Path, rng: Generator) -> Truth:
    data = table(rng, LONG, 6, 1, 12000, 98000)
    figure, axes = _axes("bmh")
    axes.bar(data.categories, data.rows[0])
    axes.tick_params(axis="x", rotation=45)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    figure.savefig(path, bbox_inches="tight")
    return data.truth("bar")


def mpl_cut_axis(path: Path, rng: Generator) -> Truth:
    data = table(rng, years(2016, 6), 6, 1, 63, 92)
    figure, axes = _axes()
    axes.bar(data.categories, data.rows[0], color="seagreen")
    axes.set_ylim(60, 100)
    axes.yaxis.set_major_formatter("{x:.0f}%")
    figure.savefig(path)
    return data.truth("bar")
