"""Comparisons as JSON: two evaluations question by question, runs beside each other, two trajectories word by word."""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from saccade.errors import UserError
from saccade.evaluation.statistics import Accuracy, Difference, exact_mcnemar, paired_difference, share_right
from saccade.types import Attempt, Json
from saccade.viewer.app.compared_pages import (
    accuracy_beside,
    compared_families,
    compared_fields,
    evaluations_page,
    flipped_questions,
    names_apart,
    settings_beside,
)
from saccade.viewer.app.lists import rows_json
from saccade.viewer.app.summaries import evaluations_of, run_json
from saccade.viewer.store.run import GoneError, Run
from saccade.viewer.store.table import RowsView
from saccade.viewer.words import readable, visible

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
    """The four fields, McNemar's exact test, families, and every question that changed sides, lost ones first."""
    shared = [task for task in before.right if task in after.right]
    pairs = [(before.right[task], after.right[task]) for task in shared]
    fields = _counted(pairs)
    families: dict[str, list[tuple[bool, bool]]] = {}
    for task, pair in zip(shared, pairs):
        families.setdefault(_family(before, task), []).append(pair)
    flips = [task for task, (left, right) in zip(shared, pairs) if left != right]
    flips.sort(key=lambda task: after.right[task])
    flipped, left_out = _flips(before, after, flips[:MAX_FLIPS]), max(0, len(flips) - MAX_FLIPS)
    counts = {visible(name, 120): _counted(of) for name, of in sorted(families.items())}
    p_of = {name: exact_mcnemar(of["rw"], of["wr"]) for name, of in counts.items()}
    p_exact = exact_mcnemar(fields["rw"], fields["wr"])
    difference = _difference(pairs, (before.name, after.name))
    return {
        "a": _told(before),
        "b": _told(after),
        "fields": {**fields},
        "p_exact": p_exact,
        "difference": _difference_json(difference),
        "families": [{"name": name, **of, "p": p_of[name]} for name, of in counts.items()],
        "flips": flipped,
        "flips_left_out": left_out,
        "drawn": [
            *compared_fields(fields, p_exact, difference),
            *compared_families(counts, p_of),
            *flipped_questions(flipped, left_out),
        ],
        "only_a": len(before.right) - len(shared),
        "only_b": len(after.right) - len(shared),
        "notes": [] if shared else ["the two evaluations have no question in common"],
    }


def evaluations_chosen(runs: Sequence[Run], a: str, b: str) -> dict[str, Json]:
    """The page of two evaluations, each named ``RUN/NAME``; without a result until both are."""
    options = {
        f"{run.id}/{one.name}": f"{visible(run.source.name, 120)}: {readable(one.name)}"
        for run in runs
        for one in evaluations_of(run.table.view())
    }
    by_id = {run.id: run for run in runs}
    result: Sequence[Json] = ()
    if a and b:
        sides = []
        for named in (a, b):
            run, _, name = named.partition("/")
            if run not in by_id:
                raise GoneError(f"there is no run {run[:40]!r}")
            sides.append(answered(by_id[run], name))
        told = evaluations_compared(*sides)["drawn"]
        result = told if isinstance(told, list) else ()
    return {"page": evaluations_page(options, a, b, result)}


def _counted(pairs: Sequence[tuple[bool, bool]]) -> dict[str, int]:
    counts = dict.fromkeys(_FIELDS.values(), 0)
    for pair in pairs:
        counts[_FIELDS[pair]] += 1
    return counts


def _family(one: Answered, task: int) -> str:
    return one.view.words["family"][int(one.view.columns["family"][one.rows[task]])]


def _told(one: Answered) -> Json:
    share = _share(one)
    return {
        "run": one.run.id,
        "run_name": visible(one.run.source.name, 120),
        "name": visible(one.name, 120),
        "share": share.accuracy,
        "low": share.ci95[0],
        "high": share.ci95[1],
        "n": share.n,
    }


def _share(one: Answered) -> Accuracy:
    return share_right(list(one.right.values()))


def _difference(pairs: Sequence[tuple[bool, bool]], labels: tuple[str, str]) -> Difference | None:
    if not pairs:
        return None
    return paired_difference([float(a) for a, _ in pairs], [float(b) for _, b in pairs], seed=0, labels=labels)


def _difference_json(told: Difference | None) -> dict[str, Json] | None:
    return None if told is None else {"mean": told.mean, "low": told.ci95[0], "high": told.ci95[1], "n": told.n}


def _flips(before: Answered, after: Answered, tasks: Sequence[int]) -> list[Json]:
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
    differing = {key: values for key in keys if len(set(map(str, values := [of.get(key) for of in settings]))) > 1}
    names = dict.fromkeys(
        str(one["name"])
        for of in told
        for one in (of["evaluations"] if isinstance(of["evaluations"], list) else [])
        if isinstance(one, dict)
    )
    cells = {name: [_answered_or_none(run, name) for run in runs] for name in names}
    differences = {name: _from_the_first(of) for name, of in cells.items()}
    apart = names_apart([visible(run.source.name, 120) for run in runs], [run.id for run in runs])
    shares = {name: [None if cell is None else _share(cell) for cell in of] for name, of in cells.items()}
    return {
        "runs": told,
        "names": list[Json](apart),
        "settings": [{"key": key, "values": values} for key, values in differing.items()],
        "accuracy": [
            {
                "name": name,
                "cells": [None if cell is None else _told(cell) for cell in of],
                "differences": [
                    {"a": runs[0].id, "b": runs[at].id, **(_difference_json(one) or {}), "p": p}
                    for at, one, p in differences[name]
                ],
            }
            for name, of in cells.items()
        ],
        "drawn": {
            "accuracy": accuracy_beside(apart, shares, differences),
            "settings": settings_beside(apart, differing),
        },
        "notes": [],
    }


def _answered_or_none(run: Run, name: str) -> Answered | None:
    try:
        return answered(run, name)
    except GoneError:
        return None


def _from_the_first(cells: Sequence[Answered | None]) -> list[tuple[int, Difference, float]]:
    """Of each run that shares questions with the first: its place, its difference from it, and the exact test."""
    first, found = cells[0], []
    for at, cell in enumerate(cells[1:], 1):
        if first is None or cell is None:
            continue
        pairs = [(first.right[task], cell.right[task]) for task in first.right if task in cell.right]
        if (told := _difference(pairs, (first.run.id, cell.run.id))) is not None:
            counts = _counted(pairs)
            found.append((at, told, exact_mcnemar(counts["rw"], counts["wr"])))
    return found


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
