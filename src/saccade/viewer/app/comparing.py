"""Comparisons as JSON: two evaluations question by question, runs beside each other, two trajectories word by word."""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from saccade.errors import UserError
from saccade.evaluation.statistics import exact_mcnemar, paired_difference, share_right
from saccade.types import Attempt, Json
from saccade.viewer.app.lists import rows_json
from saccade.viewer.app.summaries import run_json
from saccade.viewer.store.run import GoneError, Run
from saccade.viewer.store.table import RowsView
from saccade.viewer.words import visible

MAX_FLIPS = 1000
_FIELDS = {(True, True): "rr", (True, False): "rw", (False, True): "wr", (False, False): "ww"}
_MAX_WORDS = 6000


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """An evaluation: of each task that was scored whether it was right, and the row of its first trajectory."""

    run: Run
    name: str
    view: RowsView
    right: Mapping[int, bool]
    """By task; of several samples the first."""
    rows: Mapping[int, int]


def answered(run: Run, name: str) -> Answered:
    """GoneError where the run has no such evaluation."""
    view = run.table.view()
    if name not in view.words["stage"]:
        raise GoneError(f"{run.source.name} has no evaluation {name[:80]!r}")
    of_stage = view.columns["stage"] == view.words["stage"].index(name)
    rows = np.flatnonzero(of_stage & (view.columns["right"] >= 0))
    rows = rows[np.argsort(view.rank[rows])[::-1]]
    keys, right = view.columns["task_key"][rows], view.columns["right"][rows]
    return Answered(
        run=run,
        name=name,
        view=view,
        right={int(key): bool(one == 1) for key, one in zip(keys, right)},
        rows={int(key): int(row) for key, row in zip(keys, rows)},
    )


def evaluations_compared(before: Answered, after: Answered) -> dict[str, Json]:
    """The four fields, McNemar's exact test, families, and every question that changed sides."""
    shared = [task for task in before.right if task in after.right]
    pairs = [(before.right[task], after.right[task]) for task in shared]
    fields = _counted(pairs)
    families: dict[str, list[tuple[bool, bool]]] = {}
    for task, pair in zip(shared, pairs):
        families.setdefault(_family(before, task), []).append(pair)
    flips = [task for task, (left, right) in zip(shared, pairs) if left != right]
    return {
        "a": _told(before),
        "b": _told(after),
        "fields": {**fields},
        "p_exact": exact_mcnemar(fields["rw"], fields["wr"]),
        "difference": _difference(pairs, (before.name, after.name)),
        "families": [
            {"name": visible(name, 120), **(counts := _counted(of)), "p": exact_mcnemar(counts["rw"], counts["wr"])}
            for name, of in sorted(families.items())
        ],
        "flips": _flips(before, after, flips[:MAX_FLIPS]),
        "flips_left_out": max(0, len(flips) - MAX_FLIPS),
        "only_a": len(before.right) - len(shared),
        "only_b": len(after.right) - len(shared),
        "notes": [] if shared else ["the two evaluations have no question in common"],
    }


def _counted(pairs: Sequence[tuple[bool, bool]]) -> dict[str, int]:
    counts = dict.fromkeys(_FIELDS.values(), 0)
    for pair in pairs:
        counts[_FIELDS[pair]] += 1
    return counts


def _family(one: Answered, task: int) -> str:
    return one.view.words["family"][int(one.view.columns["family"][one.rows[task]])]


def _told(one: Answered) -> Json:
    share = share_right(list(one.right.values()))
    return {
        "run": one.run.id,
        "run_name": visible(one.run.source.name, 120),
        "name": visible(one.name, 120),
        "share": share.accuracy,
        "low": share.ci95[0],
        "high": share.ci95[1],
        "n": share.n,
    }


def _difference(pairs: Sequence[tuple[bool, bool]], labels: tuple[str, str]) -> Json:
    if not pairs:
        return None
    told = paired_difference([float(a) for a, _ in pairs], [float(b) for _, b in pairs], seed=0, labels=labels)
    return {"mean": told.mean, "low": told.ci95[0], "high": told.ci95[1], "n": told.n}


def _flips(before: Answered, after: Answered, tasks: Sequence[int]) -> Json:
    left = rows_json(before.run, before.view, [before.rows[task] for task in tasks])
    right = rows_json(after.run, after.view, [after.rows[task] for task in tasks])
    return [
        {
            "task": a["task"],
            "family": a["family"],
            "question": a["question"],
            "expected": a["expected"],
            "image": a["image"],
            "field": "rw" if before.right[task] else "wr",
            "a": {"run": before.run.id, "id": a["id"], "right": a["right"], "answer": a["answer"]},
            "b": {"run": after.run.id, "id": b["id"], "right": b["right"], "answer": b["answer"]},
        }
        for task, a, b in zip(tasks, left, right)
        if isinstance(a, dict) and isinstance(b, dict)
    ]


def runs_beside(runs: Sequence[Run]) -> dict[str, Json]:
    """Settings that differ and accuracies with paired differences from the first run on."""
    told = [run_json(run) for run in runs]
    settings = [one["settings"] if isinstance(one["settings"], dict) else {} for one in told]
    keys = dict.fromkeys(key for of in settings for key in of)
    differing: list[Json] = [
        {"key": key, "values": values}
        for key in keys
        if len(set(map(str, values := [of.get(key) for of in settings]))) > 1
    ]
    names = dict.fromkeys(
        str(one["name"])
        for of in told
        for one in (of["evaluations"] if isinstance(of["evaluations"], list) else [])
        if isinstance(one, dict)
    )
    return {
        "runs": told,
        "settings": differing,
        "accuracy": [_accuracy(name, runs) for name in names],
        "notes": [],
    }


def _accuracy(name: str, runs: Sequence[Run]) -> Json:
    cells: list[Answered | None] = []
    for run in runs:
        try:
            cells.append(answered(run, name))
        except GoneError:
            cells.append(None)
    differences: list[Json] = []
    first = cells[0]
    for cell in cells[1:]:
        if first is None or cell is None:
            continue
        shared = [task for task in first.right if task in cell.right]
        pairs = [(first.right[task], cell.right[task]) for task in shared]
        told = _difference(pairs, (first.run.id, cell.run.id))
        if isinstance(told, dict):
            counts = _counted(pairs)
            p = exact_mcnemar(counts["rw"], counts["wr"])
            differences.append({"a": first.run.id, "b": cell.run.id, **told, "p": p})
    return {
        "name": name,
        "cells": [None if cell is None else _told(cell) for cell in cells],
        "differences": differences,
    }


def words_compared(left: Attempt, right: Attempt) -> dict[str, Json]:
    """The two trajectories' own words: what both say, and what one of them says alone."""
    a, b = _words(left), _words(right)
    if max(len(a), len(b)) > _MAX_WORDS:
        raise UserError(f"texts of more than {_MAX_WORDS} words are not compared")
    parts: list[Json] = []
    for op, start_a, end_a, start_b, end_b in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if op == "equal":
            parts.append({"op": "same", "text": visible("".join(a[start_a:end_a]), 100_000)})
            continue
        if end_a > start_a:
            parts.append({"op": "a", "text": visible("".join(a[start_a:end_a]), 100_000)})
        if end_b > start_b:
            parts.append({"op": "b", "text": visible("".join(b[start_b:end_b]), 100_000)})
    return {"parts": parts, "notes": []}


def _words(attempt: Attempt) -> list[str]:
    return re.findall(r"\s+|\w+|[^\w\s]", "\n\n".join(turn.text for turn in attempt.trajectory.turns)[:200_000])
