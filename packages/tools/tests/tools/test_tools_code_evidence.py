"""Which cells of the pictures an output needs, of programs that are Python functions here."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from saccade.tools.code_evidence import needed_cells, seen_json
from saccade.tools.code_work import BLANK, Pictures, Shown

Program = Callable[[NDArray[np.int64]], object]
SIDE = 64


def picture() -> Image.Image:
    """Noise, by a seed, with a white square at x 16 to 31 and y 32 to 47."""
    pixels = np.random.default_rng(0).integers(0, 200, size=(SIDE, SIDE, 3), dtype=np.uint8)
    pixels[32:48, 16:32] = 255
    return Image.fromarray(pixels)


class Programs:
    """A session that prints what a function says of its first picture; runs are counted."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.runs = 0

    def again(self, codes: Sequence[str], pictures: Pictures, seed: int) -> Shown:
        self.runs += 1
        return Shown(text=str(self.program(np.asarray(next(iter(pictures.values())), dtype=np.int64))))


def cells(program: Program, *, runs: int = 2000, depth: int = 4) -> Sequence[str] | None:
    session, pictures = Programs(program), {"a.png": picture()}
    shown = session.again([], pictures, 0)
    found = needed_cells(session.again, ["code"], pictures, shown, seed=3, runs=runs, depth=depth)
    assert session.runs <= runs + 1
    return None if found is None else found["a.png"]


def block(rows: range, columns: range, *, of: int = 16) -> list[str]:
    return ["".join("1" if x in columns and y in rows else "0" for x in range(of)) for y in range(of)]


@pytest.mark.parametrize(
    ("program", "rows", "columns"),
    [
        pytest.param(lambda a: a[32:48, 16:32].tolist(), range(8, 12), range(4, 8), id="a crop"),
        pytest.param(lambda a: a[5, 60].tolist(), range(1, 2), range(15, 16), id="a pixel"),
        pytest.param(lambda a: (a == 255).all(-1).sum(), range(8, 12), range(4, 8), id="a count reads all, needs some"),
        pytest.param(lambda a: a[:4].sum() + 0 * a.sum(), range(1), range(16), id="reading without a use"),
        pytest.param(lambda a: a.sum(), range(16), range(16), id="a sum"),
        pytest.param(lambda a: a.shape, range(0), range(0), id="the size"),
        pytest.param(lambda a: "a long text", range(0), range(0), id="a constant"),
        pytest.param(lambda a: a[40, 20, 0] >= BLANK[0], range(10, 11), range(5, 6), id="blank, the same is shown"),
    ],
)
def test_the_cells_that_an_output_needs(program: Program, rows: range, columns: range) -> None:
    assert cells(program) == block(rows, columns)


def test_a_comparison_needs_as_much_as_decides_it() -> None:
    """Left over is a part of the brighter half's cells, never nothing: on the negative the other half is brighter."""
    found = cells(lambda a: "left" if a[:, :32].mean() > a[:, 32:].mean() else "right")
    assert found is not None
    assert 0 < sum(row.count("1") for row in found) < 200
    assert any("1" in row[:8] for row in found)


def test_what_changes_with_the_seed_is_no_evidence() -> None:
    pictures = {"a.png": picture()}
    assert needed_cells(lambda *_: Shown(text="7"), [""], pictures, Shown(text="0"), seed=1, runs=50) is None
    assert needed_cells(lambda *_: None, [""], pictures, Shown(text="0"), seed=1, runs=50) is None

    def by_chance(codes: Sequence[str], given: Pictures, seed: int) -> Shown:
        return Shown(text=str(seed))

    assert needed_cells(by_chance, [""], pictures, by_chance([], pictures, 1), seed=1, runs=50) is None


@pytest.mark.parametrize("runs", [1, 2, 3, 5, 20, 60])
def test_fewer_runs_only_make_the_cells_coarser(runs: int) -> None:
    """What could not be tried counts as needed: a program cannot hide what it read by being examined too little."""

    def program(a: NDArray[np.int64]) -> object:
        return a[32:48, 16:32].tolist()

    few = cells(program, runs=runs)
    assert few is not None
    exact = block(range(8, 12), range(4, 8))
    assert all(one == "1" or other == "0" for ours, right in zip(few, exact) for one, other in zip(ours, right))
    assert runs > 2 or few == block(range(16), range(16))


def test_without_a_run_nothing_is_known() -> None:
    assert cells(lambda a: a.sum(), runs=0) is None


def test_what_ends_by_how_busy_the_machine_is_counts_as_needed() -> None:
    pictures, shown = {"a.png": picture()}, Shown(text="x")
    answers: list[Shown | None] = [shown]
    found = needed_cells(lambda *_: answers.pop() if answers else None, [""], pictures, shown, seed=1, runs=9, depth=1)
    assert found == {"a.png": ["11", "11"]}


def test_each_picture_has_a_grid_of_its_own_and_small_ones_no_empty_cells() -> None:
    pictures = {"a.png": picture(), "b.png": Image.new("RGB", (3, 2), (9, 9, 9))}

    def again(codes: Sequence[str], given: Mapping[str, Image.Image], seed: int) -> Shown:
        return Shown(text=str(given["b.png"].getpixel((2, 1))))

    found = needed_cells(again, [""], pictures, again([], pictures, 0), seed=1, runs=200, depth=2)
    assert found == {"a.png": ["0000"] * 4, "b.png": ["0000", "0000", "0000", "0001"]}
    assert seen_json(found) == [{"image": 1, "cells": ["0000", "0000", "0000", "0001"]}]
