import numpy as np
import pytest
from numpy.typing import NDArray

from saccade.geometry import Box
from saccade.readers.charts.axes import snapped
from saccade.readers.charts.calibration import Scale, Tick


def scale_of(*ticks: tuple[float, float], factor: float, offset: float) -> Scale:
    marks = tuple(Tick(value=value, at_px=px, box=Box(2, px - 4, 18, px + 4)) for value, px in ticks)
    return Scale(factor=factor, offset=offset, ticks=marks, agreement=1.0)


def grid(*rows: int) -> NDArray[np.uint8]:
    picture = np.full((200, 200, 3), 255, dtype=np.uint8)
    picture[list(rows), 20:] = 200
    return picture


def test_an_axis_read_off_its_labels_is_moved_onto_its_grid_lines() -> None:
    rough = scale_of((0, 182), (10, 102), (20, 22), factor=-0.125, offset=22.75)
    exact = snapped(rough, grid(180, 100, 20), "up")
    assert [exact.value(row + 0.1) for row in (180, 100, 20)] == pytest.approx([0, 10, 20], abs=1e-6)


def test_labels_that_share_a_line_do_not_count_twice() -> None:
    # 10.1 stands so near to 10 that the same line is the nearest of both.
    rough = scale_of((0, 182), (10, 102), (10.1, 101.2), (20, 22), factor=-0.125, offset=22.75)
    exact = snapped(rough, grid(180, 100, 20), "up")
    assert [exact.value(row + 0.1) for row in (180, 100, 20)] == pytest.approx([0, 10, 20], abs=0.2)


def test_an_axis_without_lines_stays_as_it_was() -> None:
    rough = scale_of((0, 182), (10, 102), (20, 22), factor=-0.125, offset=22.75)
    assert snapped(rough, grid(), "up") == rough
