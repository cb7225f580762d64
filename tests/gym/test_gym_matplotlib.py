"""Words and ticks that are put into matplotlib's charts stand where its own would."""

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("matplotlib")

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from saccade.gym.looks.matplotlib_axes import draw_ticks, name_axis
from saccade.gym.looks.matplotlib_letters import add_words

SIZE_PX = 200


def canvas_with_axes() -> FigureCanvasAgg:
    figure = Figure(figsize=(2, 2), dpi=100)
    figure.add_axes((0.3, 0.3, 0.6, 0.6)).set(xlim=(0, 4), ylim=(0, 100))
    return FigureCanvasAgg(figure)


def inked(canvas: FigureCanvasAgg) -> np.ndarray:
    """Left, top, right and bottom of all that is dark."""
    canvas.draw()
    grey = np.asarray(canvas.buffer_rgba())[..., :3].mean(axis=2)
    box = Image.fromarray(((grey < 160) * 255).astype(np.uint8)).getbbox()
    assert box is not None
    return np.array(box)


@pytest.mark.parametrize("across", ["left", "center", "right"])
@pytest.mark.parametrize("up", ["top", "bottom", "baseline", "center", "center_baseline"])
def test_words_are_aligned_as_matplotlib_aligns_them(across: str, up: str) -> None:
    boxes = []
    for is_ours in (False, True):
        canvas = canvas_with_axes()
        axes = canvas.figure.axes[0]
        axes.set_axis_off()
        if is_ours:
            add_words(axes, 2, 50, "Hilly", transform=axes.transData, size_pt=12, colour="black", across=across, up=up)
        else:
            axes.text(2, 50, "Hilly", fontsize=12, ha=across, va=up)
        boxes.append(inked(canvas))
    assert np.abs(boxes[0] - boxes[1]).max() <= 2


@pytest.mark.parametrize(("turn", "turns_last"), [(35.0, False), (90.0, True)])
def test_turned_words_are_aligned_as_matplotlib_aligns_them(turn: float, turns_last: bool) -> None:
    mode = "anchor" if turns_last else "default"
    across, up = ("center", "bottom") if turns_last else ("right", "top")
    boxes = []
    for is_ours in (False, True):
        canvas = canvas_with_axes()
        axes = canvas.figure.axes[0]
        axes.set_axis_off()
        if is_ours:
            look = {"size_pt": 12, "colour": "black", "across": across, "up": up, "turn": turn}
            add_words(axes, 2, 50, "Hilly", transform=axes.transData, turns_last=turns_last, **look)
        else:
            axes.text(2, 50, "Hilly", fontsize=12, ha=across, va=up, rotation=turn, rotation_mode=mode)
        boxes.append(inked(canvas))
    assert np.abs(boxes[0] - boxes[1]).max() <= 3


def test_ticks_a_grid_and_the_name_of_an_axis_are_where_matplotlib_has_them() -> None:
    boxes = []
    marks, words = [0, 50, 100], ["0", "50", "100"]
    for is_ours in (False, True):
        with matplotlib.rc_context({"grid.color": "black"}):
            canvas = canvas_with_axes()
            axes = canvas.figure.axes[0]
            axes.set_frame_on(False)
            axes.xaxis.set_visible(False)
            if is_ours:
                labels = draw_ticks(axes, "y", marks, words, has_grid=True)
                name_axis(axes, "y", "wins", labels, canvas.get_renderer())
            else:
                axes.set_yticks(marks, words)
                axes.yaxis.grid(True, alpha=0.5)
                axes.set_ylabel("wins")
        boxes.append(inked(canvas))
    assert np.abs(boxes[0] - boxes[1]).max() <= 2
