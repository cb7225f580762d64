"""Charts by matplotlib look as its own axes would draw them, and their regions are where things are seen."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("matplotlib")

import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.figure import Figure

from saccade.gym.grammars.quantities import Measure, QuantityState, Reading
from saccade.gym.grammars.words import PALETTE, hex_of
from saccade.gym.levels import Levels
from saccade.gym.looks.charts_matplotlib import STYLES, render_matplotlib
from saccade.gym.looks.matplotlib_axes import draw_ticks, name_axis, write_title
from saccade.gym.looks.matplotlib_forms import FORMS
from saccade.gym.looks.matplotlib_letters import ChartWords
from saccade.gym.looks.matplotlib_plot import DPI, PX, Plot, styled_axes
from saccade.seeding import generator_for

WIDTH, HEIGHT, SIZE_PT = 400, 320, 9.0
BACKGROUND = 160
"""Grey levels above are ground, below are ink."""


def state(form: str, *series: tuple[float, ...], reading: Reading = "axis") -> QuantityState:
    tints = list(PALETTE)
    measures = tuple(
        Measure(name=f"rain {which}", colour=tints[which], values=values, reading=reading, step=5)
        for which, values in enumerate(series)
    )
    entries = tuple("ABCDEFGH"[: len(series[0])])
    return QuantityState(
        elements=(),
        noun="town",
        entries=entries,
        measures=measures,
        title="Rain",
        form=form,
        width=WIDTH,
        height=HEIGHT,
    )


def ours(shown: QuantityState, style: str = "default") -> tuple[np.ndarray, Plot]:
    with styled_axes(style) as styled:
        plot = Plot(state=shown, styled=styled, size_px=SIZE_PT * PX, words=ChartWords("sans"))
        plot.boxes["title"] = write_title(plot, shown.title)
        FORMS[shown.form](plot)
        return plot.pixels()[..., :3].astype(int), plot


def their_axes(*, polar: bool = False) -> tuple[Axes, FigureCanvasAgg]:
    figure = Figure(figsize=(WIDTH / DPI, HEIGHT / DPI), dpi=DPI)
    axes = figure.add_axes((0.13, 0.17, 0.82, 0.71), polar=polar)
    return axes, FigureCanvasAgg(figure)


def pixels_of(canvas: FigureCanvasAgg) -> np.ndarray:
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].astype(int)


def inked(pixels: np.ndarray) -> np.ndarray:
    """Left, top, right and bottom of all that is dark."""
    box = Image.fromarray(((pixels.mean(axis=2) < BACKGROUND) * 255).astype(np.uint8)).getbbox()
    assert box is not None
    return np.array(box)


def inside(pixels: np.ndarray, plot: Plot) -> np.ndarray:
    left, low, right, high = (round(side) for side in plot.window)
    return pixels[HEIGHT - high + 3 : HEIGHT - low - 3, left + 3 : right - 3]


@pytest.mark.parametrize(
    "turn", [{}, {"turn": 35.0, "across": "right", "up": "top"}, {"turn": 90.0, "turns_last": True, "up": "bottom"}]
)
@pytest.mark.parametrize("up", ["top", "bottom", "baseline", "center", "center_baseline"])
@pytest.mark.parametrize("across", ["left", "center", "right"])
def test_words_are_aligned_as_matplotlib_aligns_them(across: str, up: str, turn: dict[str, object]) -> None:
    look = {"across": across, "up": up, **turn}
    words, renderer = ChartWords("sans"), RendererAgg(WIDTH, HEIGHT, DPI)
    box = words.write((200, 150), "Hilly", size_px=12 * PX, colour="black", **look)  # type: ignore[arg-type]
    for artist in words.artists():
        artist.draw(renderer)
    ink = np.argwhere(np.asarray(renderer.buffer_rgba())[..., 3] > 99)
    (top, left), (bottom, right) = ink.min(axis=0), ink.max(axis=0) + 1
    assert np.abs(np.array(box) - (left, HEIGHT - bottom, right, HEIGHT - top)).max() <= 2
    axes, canvas = their_axes()
    axes.set_axis_off()
    axes.figure.text(
        200 / WIDTH,
        150 / HEIGHT,
        "Hilly",
        fontsize=12,
        ha=look["across"],
        va=look["up"],
        rotation=turn.get("turn", 0),
        rotation_mode="anchor" if "turns_last" in turn else "default",
    )
    assert np.abs(inked(pixels_of(canvas)) - (left, top, right, bottom)).max() <= 3


def test_ticks_a_grid_a_title_and_the_name_of_an_axis_are_where_matplotlib_has_them() -> None:
    shown = state("bar", (50.0, 20.0))
    with styled_axes("default") as styled:
        plot = Plot(state=shown, styled=styled, size_px=SIZE_PT * PX, words=ChartWords("sans"))
        plot.limits = (0, 0, 1, 100)
        name_axis(plot, "y", "wins", draw_ticks(plot, "y", [0, 50, 100], ["0", "50", "100"], has_grid=True))
        write_title(plot, "Rain")
        found = plot.pixels()[..., :3].astype(int)
    axes, canvas = their_axes()
    axes.set_ylim(0, 100)
    axes.xaxis.set_visible(False)
    axes.set_yticks([0, 50, 100], ["0", "50", "100"], fontsize=SIZE_PT)
    axes.yaxis.grid(True, alpha=0.5)
    axes.set_ylabel("wins", fontsize=SIZE_PT)
    axes.set_title("Rain", fontsize=SIZE_PT + 2, y=1.0)
    theirs = pixels_of(canvas)
    assert np.abs(inked(found) - inked(theirs)).max() <= 2
    assert (inside(found, plot) == inside(theirs, plot)).all()


@pytest.mark.parametrize("style", STYLES)
def test_bars_and_lines_are_those_of_matplotlibs_axes(style: str) -> None:
    values, colour = (20.0, 45.0, 85.0, 5.0), hex_of(PALETTE[next(iter(PALETTE))])
    for form in ("bar", "line"):
        found, plot = ours(state(form, values), style)
        with matplotlib.style.context(["default", style]):
            axes, canvas = their_axes()
            if form == "bar":
                axes.bar(range(4), values, 0.8 * 0.92, color=colour)
            else:
                axes.plot(range(4), values, marker="o", markersize=5, linewidth=1.8, color=colour)
            axes.set_yticks(range(0, 91, 10), [""] * 10)
            axes.xaxis.grid(False)
            axes.yaxis.grid(True, alpha=0.5, zorder=0.5)
            axes.set_axisbelow(True)
            axes.set_xticks([])
            axes.set_ylim(0, 90)
            theirs = pixels_of(canvas)
        is_other = (inside(found, plot) != inside(theirs, plot)).any(axis=2)
        assert is_other.mean() < 0.01, (form, style)


def test_a_legend_is_where_matplotlib_has_it() -> None:
    shown = state("grouped", (20.0, 40.0), (30.0, 10.0))
    found, plot = ours(shown)
    axes, canvas = their_axes()
    handles = [axes.bar(range(2), measure.values, color=hex_of(PALETTE[measure.colour])) for measure in shown.measures]
    names = [measure.name for measure in shown.measures]
    axes.legend(handles, names, loc="upper left", bbox_to_anchor=(0, -0.1), ncols=2, frameon=False, fontsize=SIZE_PT)
    axes.set_xticks([])
    below = round(HEIGHT - plot.window[1]) + 22
    assert np.abs(inked(found[below:]) - inked(pixels_of(canvas)[below:])).max() <= 3


def test_a_radar_has_the_rings_and_rays_of_matplotlibs_polar_axes() -> None:
    values = (80.0, 30.0, 55.0, 70.0, 40.0)
    # A title makes the rings smaller, so that it stands above the names.
    found, plot = ours(replace(state("radar", values), title=""))
    colour = hex_of(PALETTE[next(iter(PALETTE))])
    axes, canvas = their_axes(polar=True)
    turns = [*(2 * np.pi * np.arange(5) / 5), 0.0]
    axes.plot(turns, [*values, values[0]], marker="o", markersize=4, color=colour)
    axes.fill(turns, [*values, values[0]], color=colour, alpha=0.12)
    axes.set_ylim(0, 100)
    axes.set_yticks(range(10, 101, 10), [""] * 10)
    axes.set_xticks(turns[:-1], [""] * 5)
    lines = np.abs(inside(found, plot) - inside(pixels_of(canvas), plot)).max(axis=2) > 96
    assert lines.mean() < 0.01  # the numbers of the rings, which are not theirs here


@pytest.mark.parametrize("style", STYLES)
def test_whiskers_are_seen_on_the_ground_of_every_style(style: str) -> None:
    found, plot = ours(state("box", (10.0, 15.0), (30.0, 35.0), (40.0, 50.0), (55.0, 60.0), (75.0, 70.0)), style)
    ground = np.array(matplotlib.colors.to_rgb(plot.word("axes.facecolor"))) * 255
    for entry in range(2):
        x, y = plot.spots(entry, (20.0, 22.0)[entry])[0]
        seen = found[HEIGHT - round(y), round(x) - 3 : round(x) + 4]
        assert np.abs(seen - ground).max() > 100


@pytest.mark.parametrize("form", ["bar", "stacked", "lying", "pie", "scatter"])
def test_regions_hold_the_colour_of_what_they_show(form: str) -> None:
    series = ((30.0, 50.0, 40.0), (60.0, 20.0, 70.0))
    shown = state(form, *(series[:1] if form in ("bar", "lying", "pie") else series), reading="printed")
    rendering = render_matplotlib(shown, generator_for(1, form), Levels(base=0.5))
    pixels = np.asarray(rendering.images[0]).astype(int)
    tints = list(PALETTE)
    for entry in range(3):
        (region,) = rendering.of(f"value:{entry}:0")
        tint = np.array(PALETTE[tints[entry if form == "pie" else 0]])
        point = region.point()
        near = pixels[int(point.y) - 8 : int(point.y) + 9, int(point.x) - 8 : int(point.x) + 9].reshape(-1, 3)
        assert np.abs(near - tint).max(axis=1).min() < 80


def test_a_chart_is_the_same_whatever_was_drawn_before_and_in_which_thread() -> None:
    charts = [state(form, (10.0, 60.0, 35.0)) for form in ("bar", "pie", "radar", "lying", "line")]
    charts.append(replace(charts[0], width=500))

    def drawn(order: list[QuantityState]) -> dict[int, bytes]:
        return {
            id(one): render_matplotlib(one, generator_for(3, "same"), Levels(base=0.5)).images[0].tobytes()
            for one in order
        }

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(drawn, [charts, charts[::-1]])
    assert first == second == drawn(charts)


@pytest.mark.parametrize("form", ["bar", "line", "dual", "box", "heat", "donut", "radar", "scatter"])
def test_a_chart_of_one_entry_is_drawn(form: str) -> None:
    series = {"dual": 2, "box": 5, "heat": 2, "scatter": 2}.get(form, 1)
    shown = state(form, *[(20.0 + 10 * which,) for which in range(series)])
    rendering = render_matplotlib(shown, generator_for(1, form), Levels(base=0.5))
    assert {one.element for one in rendering.regions} >= {"value:0:0", "entry:0", "title"}


def test_settings_of_the_user_change_no_chart_and_stay_as_they_are() -> None:
    chart = state("bar", (10.0, 60.0, 35.0))

    def drawn() -> bytes:
        return render_matplotlib(chart, generator_for(3, "own"), Levels(base=0.5)).images[0].tobytes()

    usual = drawn()
    with matplotlib.rc_context({"axes.facecolor": "red", "grid.linewidth": 5, "path.snap": False}):
        assert drawn() == usual
        assert matplotlib.rcParams["axes.facecolor"] == "red"
