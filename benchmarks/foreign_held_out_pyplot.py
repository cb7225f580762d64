"""Charts by matplotlib and seaborn in styles not used to tune the reader."""

from pathlib import Path
from typing import Any

import numpy as np
from foreign_tables import CITIES, GOODS, LONG, MONTHS, Truth, cloud, shares, table, years
from numpy.random import Generator


def _axes(style: str = "default") -> tuple[Any, Any]:
    import matplotlib.pyplot as plt

    plt.close("all")
    plt.rcdefaults()
    plt.style.use(style)
    return plt.subplots(figsize=(6.4, 4.4), dpi=100)


def fresh_pyplot_ggplot(path: Path, rng: Generator) -> Truth:
    data = table(rng, MONTHS, 7, 3, 5, 40)
    figure, axes = _axes("ggplot")
    for name, row, marker in zip(data.series, data.rows, "osD", strict=True):
        axes.plot(data.categories, row, marker=marker, label=name)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.08), ncol=3)
    figure.savefig(path, bbox_inches="tight")
    return data.truth("line")


def fresh_pyplot_bmh(path: Path, rng: Generator) -> Truth:
    data = table(rng, CITIES, 5, 2, 10, 95)
    figure, axes = _axes("bmh")
    places = np.arange(5)
    for number, (name, row) in enumerate(zip(data.series, data.rows, strict=True)):
        axes.barh(places + 0.36 * number, row, 0.34, label=name)
    axes.set_yticks(places + 0.18, data.categories)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    figure.savefig(path, bbox_inches="tight")
    return data.truth("bar")


def fresh_pyplot_classic(path: Path, rng: Generator) -> Truth:
    data = table(rng, GOODS, 5, 1, 2000, 9500)
    figure, axes = _axes("classic")
    axes.bar(np.arange(5), data.rows[0], 0.5, color="c", align="center")
    axes.set_xticks(np.arange(5), data.categories)
    axes.set_title("Boxes in stock")
    figure.savefig(path)
    return data.truth("bar")


def fresh_pyplot_stack(path: Path, rng: Generator) -> Truth:
    data = table(rng, years(2014, 6), 6, 3, 10, 40)
    figure, axes = _axes("Solarize_Light2")
    axes.stackplot(data.categories, *data.rows, labels=data.series)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    axes.margins(x=0)
    figure.savefig(path, bbox_inches="tight")
    return data.truth("line")


def fresh_pyplot_errors(path: Path, rng: Generator) -> Truth:
    data = table(rng, CITIES, 6, 1, 20, 90)
    figure, axes = _axes("seaborn-v0_8-colorblind")
    axes.bar(data.categories, data.rows[0], yerr=rng.uniform(2, 6, 6), capsize=4, width=0.55)
    figure.savefig(path)
    return data.truth("bar")


def fresh_pyplot_percent(path: Path, rng: Generator) -> Truth:
    data = shares(table(rng, LONG, 5, 1, 10, 40))
    figure, axes = _axes("tableau-colorblind10")
    axes.pie(data.rows[0], autopct="%.0f%%", startangle=45, counterclock=False, wedgeprops={"edgecolor": "black"})
    axes.legend(data.categories, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.savefig(path, bbox_inches="tight")
    return data.truth("pie")


def fresh_pyplot_slanted(path: Path, rng: Generator) -> Truth:
    data = table(rng, LONG, 6, 2, 300, 900)
    figure, axes = _axes("seaborn-v0_8-whitegrid")
    for name, row, style in zip(data.series, data.rows, ("o-", "^--"), strict=True):
        axes.plot(data.categories, row, style, label=name)
    axes.tick_params(axis="x", rotation=45)
    axes.legend(frameon=True, fancybox=True, shadow=True)
    axes.set_ylim(200, 1200)
    figure.savefig(path, bbox_inches="tight")
    return data.truth("line")


def fresh_pyplot_steps(path: Path, rng: Generator) -> Truth:
    data = table(rng, MONTHS, 7, 1, 10, 60)
    figure, axes = _axes("seaborn-v0_8-talk")
    axes.step(data.categories, data.rows[0], where="mid", color="seagreen")
    figure.savefig(path, bbox_inches="tight")
    return data.truth("line")


def fresh_pyplot_points(path: Path, rng: Generator) -> Truth:
    truth = cloud(rng, ["Plan", "Actual"], 8, 400, 60)
    figure, axes = _axes("fast")
    for (name, points), marker, colour in zip(truth.points.items(), "v*", ("crimson", "darkgreen"), strict=True):
        axes.scatter(*zip(*points, strict=True), marker=marker, color=colour, label=name, s=60)
    axes.grid(linestyle=":")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), title="Group")
    figure.savefig(path, bbox_inches="tight")
    return truth


def fresh_seaborn_columns(path: Path, rng: Generator) -> Truth:
    import matplotlib.pyplot as plt
    import seaborn

    data = table(rng, MONTHS, 5, 2, 30, 99)
    plt.rcdefaults()
    seaborn.set_theme(style="ticks", palette="pastel", font_scale=1.1)
    figure, axes = plt.subplots(figsize=(6.4, 4.4), dpi=100)
    long = data.long
    columns = {key: [row[key] for row in long] for key in ("category", "series", "value")}
    seaborn.barplot(data=columns, x="category", y="value", hue="series", ax=axes, edgecolor="0.3")
    seaborn.despine()
    seaborn.move_legend(axes, "upper left", bbox_to_anchor=(1, 1), title=None, frameon=False)
    figure.savefig(path, bbox_inches="tight")
    return data.truth("bar")


def fresh_seaborn_bins(path: Path, rng: Generator) -> Truth:
    import matplotlib.pyplot as plt
    import seaborn

    values = rng.normal(50, 14, 200).clip(1, 99)
    plt.rcdefaults()
    seaborn.set_theme(style="darkgrid", palette="deep")
    figure, axes = plt.subplots(figsize=(6.4, 4.4), dpi=100)
    seaborn.histplot(values, bins=np.arange(0, 101, 10), ax=axes)
    figure.savefig(path)
    counts, _ = np.histogram(values, bins=np.arange(0, 101, 10))
    return Truth(kind="bar", values={"": {f"{10 * i}-{10 * i + 10}": float(c) for i, c in enumerate(counts) if c}})
