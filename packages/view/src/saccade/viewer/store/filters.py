"""Filters of a list of trajectories, as they stand in an address, and the rows that they leave."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from saccade.errors import UserError
from saccade.runs.segments import task_key
from saccade.viewer.store.table import RowsView

Mask = NDArray[np.bool_]

CHOICES = ("stage", "kind", "family", "stream", "status", "right", "reason", "tool", "error", "marked")
"""Facets: the values of one are alternatives."""
RANGES = ("step", "turns", "tokens", "reward", "advantage", "entropy", "seconds", "sample", "action_tokens")
TERM = "term."
NONE = "none"
"""Of tools and errors: trajectories without any."""
_SORTS = ("order", "step", "reward", "advantage", "entropy", "tokens", "action_tokens", "turns", "seconds", "sample")
_RIGHT: Mapping[str, int] = {"1": 1, "0": 0, "unknown": -1}
_LISTS: Mapping[str, str] = {"tool": "tools", "error": "errors"}
_OTHER = ("task", "group", "q", "sort", "offset", "limit", "facets", "name", "run", "format", "trajectory")
_MAX_TEXT = 200
_MAX_PAIRS = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Filter:
    """Values of facets, bounds of numbers, one task or group, a text."""

    choices: Mapping[str, frozenset[str]] = field(default_factory=dict)
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Both ends count; a row without the number is left out."""
    task: str | None = None
    group: str | None = None
    """Any trajectory of a group."""
    text: str = ""
    sort: str = "-order"


@dataclass(frozen=True, kw_only=True, slots=True)
class Extras:
    """What a filter needs to know beside the columns."""

    marked: Mapping[int, int] = field(default_factory=dict)
    """Annotations of rows."""
    found: Mask | None = None
    """Rows in which the text was found so far; None without a text."""
    group_row: int | None = None
    """The row that ``Filter.group`` names; None where it names none."""


def filter_from(pairs: Iterable[tuple[str, str]]) -> Filter:
    """The filter that a query says. UserError for a name or number that is none."""
    choices: dict[str, set[str]] = {}
    bounds: dict[str, tuple[float, float]] = {}
    single: dict[str, str] = {}
    for count, (name, value) in enumerate(pairs):
        if count >= _MAX_PAIRS:
            raise UserError(f"more than {_MAX_PAIRS} parts of a filter")
        if name in CHOICES:
            choices.setdefault(name, set()).add(value)
        elif name.endswith(("_min", "_max")) and _is_range(name[:-4]):
            low, high = bounds.get(name[:-4], (-math.inf, math.inf))
            number = _number(name, value)
            bounds[name[:-4]] = (number, high) if name.endswith("_min") else (low, number)
        elif name in _OTHER:
            single[name] = value
        else:
            raise UserError(
                f"{name[:80]!r} is no filter; there are {', '.join(CHOICES)}, q, task, and NAME_min and NAME_max of "
                f"{', '.join(RANGES)} and {TERM}PART"
            )
    sort = single.get("sort", "-order")
    if sort.removeprefix("-") not in _SORTS and not sort.removeprefix("-").startswith(TERM):
        raise UserError(f"sort={sort[:80]!r} is none of {', '.join(_SORTS)}; a - before it turns the order round")
    text = single.get("q", "").strip()
    if len(text) > _MAX_TEXT:
        raise UserError(f"q has {len(text)} characters; {_MAX_TEXT} are searched for at most")
    return Filter(
        choices={name: frozenset(values) for name, values in choices.items()},
        bounds=bounds,
        task=single.get("task"),
        group=single.get("group"),
        text=text,
        sort=sort,
    )


def _is_range(name: str) -> bool:
    return name in RANGES or name.startswith(TERM)


def _number(name: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise UserError(f"{name}={value[:80]!r} is no number")
    return number


def masks(filter_: Filter, view: RowsView, extras: Extras) -> dict[str, Mask]:
    """For each part of the filter the rows that it leaves."""
    found: dict[str, Mask] = {name: choice_mask(name, values, view, extras) for name, values in filter_.choices.items()}
    for name, (low, high) in filter_.bounds.items():
        column = view.columns.get(name)
        found[f"{name} range"] = (
            np.zeros(view.count, bool) if column is None else np.asarray((column >= low) & (column <= high))
        )
    if filter_.task is not None:
        found["task"] = view.columns["task_key"] == task_key(filter_.task)
    if filter_.group is not None:
        found["group"] = group_mask(extras.group_row, view)
    if extras.found is not None:
        # Rows that came since were not searched yet.
        mask = np.zeros(view.count, bool)
        mask[: len(extras.found)] = extras.found[: view.count]
        found["q"] = mask
    return found


def group_mask(row: int | None, view: RowsView) -> Mask:
    """Rows of the same task in the same file: all streams of a group."""
    if row is None:
        return np.zeros(view.count, bool)
    file, task = view.columns["file"], view.columns["task_key"]
    return np.asarray((file == file[row]) & (task == task[row]))


def choice_mask(name: str, values: frozenset[str], view: RowsView, extras: Extras) -> Mask:
    """The rows that have one of the values."""
    if name == "right":
        return np.isin(view.columns["right"], [_RIGHT[value] for value in values if value in _RIGHT])
    if name == "marked":
        rows = np.zeros(view.count, bool)
        rows[[row for row in extras.marked if row < view.count]] = True
        return (rows & ("1" in values)) | (~rows & ("0" in values))
    if name in _LISTS:
        column = _LISTS[name]
        wanted = [
            bool(values.intersection(words)) or (not words and NONE in values) for words in view.words_by_code(column)
        ]
        return np.asarray(np.array(wanted or [False], bool)[view.columns[column]], bool)
    wanted = [word in values for word in view.words[name]]
    return np.asarray(np.array(wanted or [False], bool)[view.columns[name]], bool)
