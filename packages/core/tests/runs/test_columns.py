"""Columns made of their memory are those that Arrow makes of the same lists."""

import subprocess
import sys
import warnings

import numpy as np
import pyarrow as pa
import pytest

from saccade.runs.columns import list_column, number_column, text_column, word_column


@pytest.mark.parametrize("rows", [[], [None], [(), None, (0.5,)], [(1.0, -2.5), (), None, (3.0,)] * 5])
def test_lists_and_missing_ones(rows: list[tuple[float, ...] | None]) -> None:
    column = list_column(rows)
    column.validate(full=True)
    assert column.equals(pa.array(rows, pa.list_(pa.float32())))


@pytest.mark.parametrize("texts", [[], [None], ["", "a", None, "é\n漢"] * 3])
def test_texts_and_missing_ones(texts: list[str | None]) -> None:
    column = text_column(texts)
    column.validate(full=True)
    assert column.equals(pa.array(texts, pa.string()))


def test_half_a_character_becomes_a_question_mark() -> None:
    assert text_column(["a\ud800b"]).to_pylist() == ["a?b"]


def test_words_stand_once_in_order_of_appearance() -> None:
    column = word_column(["b", "a", "b"])
    assert column.dictionary.to_pylist() == ["b", "a"]
    assert column.to_pylist() == ["b", "a", "b"]


def test_a_number_that_is_too_large_is_infinite() -> None:
    assert number_column([1e300, -1.5], np.float32).to_pylist() == [float("inf"), -1.5]
    with warnings.catch_warnings(action="error"):
        assert list_column([(1e300, -1.5)]).to_pylist() == [[float("inf"), -1.5]]


def test_no_column_loads_pandas() -> None:
    code = (
        "import sys, numpy as np; from saccade.runs.columns import *; "
        "list_column([(1.0,)]); text_column(['a']); word_column(['a']); number_column([1], np.int64); "
        "print('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
