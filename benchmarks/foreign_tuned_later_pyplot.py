"""Hand-drawn, dark, hatched and logarithmic charts of matplotlib: held out once, and then used to mend the reader."""

from pathlib import Path
from typing import Any

import numpy as np
from foreign_tables import CITIES, GOODS, LONG, MONTHS, Table, Truth, cloud, table, years
from numpy.random import Generator


def _axes(style: str = "default") -> tuple[Any, Any]:
    import matplotlib.pyplot as plt

    plt.close("all")
    plt.rcdefaults()
    plt.style.use(style)
    return plt.subplots(figsize=(6.4, 4.4), dpi=100)


def pyplot_xkcd(path: Path, rng: Generator) -> Truth:
    import matplotlib.pyplot as plt

    data = table(rng, GOODS, 5, 1, 10, 95)
    plt.rcdefaults()
    with plt.xkcd():
        figure, axes = plt.subplots(figsize=(6.4, 4.4), dpi=100)
        axes.bar(data.categories, data.rows[0])
        figure.savefig(path)
    return data.truth("bar")


def pyplot_fivethirtyeight(path: Path, rng: Generator) -> Truth:
    data = table(rng, years(2008, 8), 8, 3, 20, 80)
    figure, axes = _axes("fivethirtyeight")
    for name, row in zip(data.series, data.rows, strict=True):
        axes.plot(data.categories, row, label=name)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    figure.savefig(path, bbox_inches="tight")
    return data.truth("line")


def pyplot_dark(path: Path, rng: Generator) -> Truth:
    data = table(rng, CITIES, 6, 1, 100, 900)
    figure, axes = _axes("dark_background")
    axes.bar(data.categories, data.rows[0])
    axes.set_title("Rain in a year")
    figure.savefig(path)
    return data.truth("bar")


def pyplot_grey(path: Path, rng: Generator) -> Truth:
    data = table(rng, MONTHS, 4, 3, 5, 30)
    figure, axes = _axes("grayscale")
    for number, (name, row) in enumerate(zip(data.series, data.rows, strict=True)):
        axes.bar(np.arange(4) + 0.27 * number, row, 0.25, label=name)
    axes.set_xticks(np.arange(4) + 0.27, data.categories)
    axes.legend(loc="upper center", ncol=3, bbox_to_anchor=(0.5, 1.13))
    figure.savefig(path)
    return data.truth("bar")


def pyplot_labelled(path: Path, rng: Generator) -> Truth:
    data = table(rng, GOODS, 6, 1, 120, 990)
    figure, axes = _axes()
    axes.bar_label(axes.bar(data.categories, data.rows[0], color="slateblue"), padding=3)
    axes.set_yticks([])
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    figure.savefig(path)
    return data.truth("bar")


def pyplot_exploded(path: Path, rng: Generator) -> Truth:
    data = table(rng, CITIES, 4, 1, 10, 40)
    total = sum(data.rows[0])
    data = Table(data.categories, data.series, [[100 * value / total for value in data.rows[0]]])
    figure, axes = _axes("seaborn-v0_8-pastel")
    axes.pie(data.rows[0], labels=data.categories, explode=[0.15, 0, 0, 0], shadow=True, startangle=90)
    figure.savefig(path)
    return data.truth("pie")


def pyplot_hatched(path: Path, rng: Generator) -> Truth:
    data = table(rng, years(2018, 4), 4, 2, 10, 60)
    figure, axes = _axes()
    for number, (name, row, hatch) in enumerate(zip(data.series, data.rows, ("xx", ".."), strict=True)):
        places = np.arange(4) + 0.4 * number
        axes.bar(places, row, 0.38, label=name, hatch=hatch, facecolor="white", edgecolor="black")
    axes.set_xticks(np.arange(4) + 0.2, data.categories)
    axes.legend()
    figure.savefig(path)
    return data.truth("bar")


def pyplot_twin(path: Path, rng: Generator) -> Truth:
    left, right = table(rng, years(2015, 6), 6, 1, 200, 480), table(rng, years(2015, 6), 6, 1, 1, 9)
    data = Table(left.categories, ["Output", "Rate"], [left.rows[0], right.rows[0]])
    figure, axes = _axes()
    axes.plot(data.categories, data.rows[0], color="tab:red", label="Output")
    other = axes.twinx()
    other.plot(data.categories, data.rows[1], color="tab:blue", label="Rate")
    figure.legend(loc="upper center", ncol=2)
    figure.savefig(path)
    return data.truth("line")


def pyplot_cut_bars(path: Path, rng: Generator) -> Truth:
    data = table(rng, LONG, 5, 1, 930, 1090)
    figure, axes = _axes("tableau-colorblind10")
    axes.barh(data.categories, data.rows[0])
    axes.set_xlim(900, 1100)
    figure.savefig(path, bbox_inches="tight")
    return data.truth("bar")


def pyplot_log_bars(path: Path, rng: Generator) -> Truth:
    data = table(rng, GOODS, 6, 1, 0, 1)
    data = Table(data.categories, data.series, [[float(f"{10 ** (0.5 + 4 * v):.3g}") for v in data.rows[0]]])
    figure, axes = _axes()
    axes.bar(data.categories, data.rows[0], color="darkorange")
    axes.set_yscale("log")
    axes.grid(axis="y", which="major", alpha=0.5)
    figure.savefig(path)
    return data.truth("bar")


def pyplot_crosses(path: Path, rng: Generator) -> Truth:
    truth = cloud(rng, ["Men", "Women"], 8, 8, 3000)
    figure, axes = _axes("Solarize_Light2")
    for (name, points), marker in zip(truth.points.items(), "x+", strict=True):
        axes.scatter(*zip(*points, strict=True), marker=marker, label=name, s=50)
    axes.legend(bbox_to_anchor=(1.02, 1))
    figure.savefig(path, bbox_inches="tight")
    return truth


def pyplot_histogram(path: Path, rng: Generator) -> Truth:
    values = rng.gamma(3, 9, 150).clip(0, 79)
    figure, axes = _axes("petroff10")
    counts, _, _ = axes.hist(values, bins=np.arange(0, 81, 10), edgecolor="white")
    figure.savefig(path)
    return Truth(kind="bar", values={"": {f"{10 * i}-{10 * i + 10}": float(c) for i, c in enumerate(counts) if c}})


def pyplot_markers(path: Path, rng: Generator) -> Truth:
    data = table(rng, MONTHS, 6, 2, 15, 50)
    figure, axes = _axes()
    for row, name, style in zip(data.rows, data.series, ("ko-", "ks:"), strict=True):
        axes.plot(data.categories, row, style, label=name, markerfacecolor="white")
    axes.legend()
    axes.set_ylim(0, 70)
    figure.savefig(path)
    return data.truth("line")


def pyplot_vertical_names(path: Path, rng: Generator) -> Truth:
    data = table(rng, LONG, 6, 1, 1500, 9000)
    figure, axes = _axes("seaborn-v0_8-darkgrid")
    axes.bar(data.categories, data.rows[0], color="#8c1c13")
    axes.tick_params(axis="x", rotation=90)
    axes.yaxis.set_major_formatter("${x:,.0f}")
    figure.savefig(path, bbox_inches="tight")
    return data.truth("bar")
