"""Comparisons as JSON: two evaluations question by question, and runs beside each other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from saccade.evaluation.statistics import Accuracy, ClusteredMean, clustered_mean, exact_mcnemar
from saccade.types import Json
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
from saccade.viewer.app.summaries import settings_of
from saccade.viewer.drawn import draw
from saccade.viewer.store.accuracies import belonging_of, evaluations_of
from saccade.viewer.store.run import GoneError, Run
from saccade.viewer.store.table import RowsView
from saccade.viewer.words import readable, visible

MAX_FLIPS = 1000
_FIELDS = {(True, True): "rr", (True, False): "rw", (False, True): "wr", (False, False): "ww"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """An evaluation: of each question that was scored the share of right answers, and the row of its first one."""

    run: Run
    name: str
    view: RowsView
    right: Mapping[str, float]
    """By question, over all samples and orders of its options."""
    rows: Mapping[str, int]
    clusters: Mapping[str, str]


def answers_of(run: Run, name: str) -> Answered:
    """GoneError where the run has no such evaluation."""
    view = run.table.view()
    if name not in view.words["stage"]:
        raise GoneError(f"{run.source.name} has no evaluation {name[:80]!r}")
    of_stage = view.columns["stage"] == view.words["stage"].index(name)
    rows = np.flatnonzero(of_stage & (view.columns["right"] >= 0))
    rows = rows[np.argsort(view.rank[rows])]
    belonging = belonging_of(run, name)
    right: dict[str, list[bool]] = {}
    first: dict[str, int] = {}
    clusters: dict[str, str] = {}
    for row, key, one in zip(rows, view.columns["task_key"][rows], view.columns["right"][rows]):
        question, cluster = belonging(int(key)) if belonging else (str(key), str(key))
        right.setdefault(question, []).append(bool(one == 1))
        first.setdefault(question, int(row))
        clusters[question] = cluster
    shares = {question: sum(of) / len(of) for question, of in right.items()}
    return Answered(run=run, name=name, view=view, right=shares, rows=first, clusters=clusters)


def evaluations_compared(before: Answered, after: Answered) -> list[Json]:
    """The four fields, McNemar's exact test, families, and every question that changed sides, lost ones first."""
    shared = _shared_questions(before, after)
    families: dict[str, list[str]] = {}
    for question in shared:
        families.setdefault(_family(before, question), []).append(question)
    flips = [one for one in shared if (before.right[one] > 0.5) != (after.right[one] > 0.5)]
    flips.sort(key=lambda one: after.right[one] > 0.5)
    fields = _fields(before, after, shared)
    counts = {visible(name, 120): _fields(before, after, of) for name, of in sorted(families.items())}
    return [
        *([] if shared else [draw("p.note", "The two evaluations have no question in common.")]),
        *compared_fields(fields, _exact(fields), _difference(before, after)),
        *flipped_questions(_flips(before, after, flips[:MAX_FLIPS]), max(0, len(flips) - MAX_FLIPS)),
        *(compared_families(counts, {name: _exact(of) for name, of in counts.items()}) if len(counts) > 1 else ()),
    ]


def evaluations_chosen(runs: Sequence[Run], a: str, b: str) -> dict[str, Json]:
    """The page of two evaluations, each named ``RUN/NAME``; without a result until both are."""
    options = {
        f"{run.id}/{one.name}": f"{visible(run.source.name, 120)}: {readable(one.name)}"
        for run in runs
        for one in evaluations_of(run)
    }
    by_id = {run.id: run for run in runs}
    sides = []
    for named in (a, b) if a and b else ():
        run, _, name = named.partition("/")
        if run not in by_id:
            raise GoneError(f"there is no run {run[:40]!r}")
        sides.append(answers_of(by_id[run], name))
    return {"page": evaluations_page(options, a, b, evaluations_compared(*sides) if sides else ())}


def _shared_questions(before: Answered, after: Answered) -> list[str]:
    return [question for question in before.right if question in after.right]


def _fields(before: Answered, after: Answered, questions: Sequence[str]) -> dict[str, int]:
    """How many are right on both sides, on one, on none: by most of the answers to a question."""
    counts = dict.fromkeys(_FIELDS.values(), 0)
    for one in questions:
        counts[_FIELDS[before.right[one] > 0.5, after.right[one] > 0.5]] += 1
    return counts


def _exact(fields: Mapping[str, int]) -> float:
    return exact_mcnemar(fields["rw"], fields["wr"])


def _family(one: Answered, question: str) -> str:
    return one.view.words["family"][int(one.view.columns["family"][one.rows[question]])]


def _difference(before: Answered, after: Answered) -> ClusteredMean | None:
    """Of the shares of both; None without a question in common."""
    shared = _shared_questions(before, after)
    changes = [after.right[one] - before.right[one] for one in shared]
    return clustered_mean(changes, [before.clusters[one] for one in shared], is_share=False) if shared else None


def _flips(before: Answered, after: Answered, questions: Sequence[str]) -> list[Json]:
    left = rows_json(before.run, before.view, [before.rows[one] for one in questions])
    right = rows_json(after.run, after.view, [after.rows[one] for one in questions])
    return [
        {
            **{name: a[name] for name in ("family", "question", "expected", "image")},
            "a": {"run": before.run.id, "id": a["id"], "right": before.right[one] > 0.5, "answer": a["answer"]},
            "b": {"run": after.run.id, "id": b["id"], "right": after.right[one] > 0.5, "answer": b["answer"]},
        }
        for one, a, b in zip(questions, left, right)
        if isinstance(a, dict) and isinstance(b, dict)
    ]


def runs_beside(runs: Sequence[Run]) -> dict[str, Json]:
    """Settings that differ and accuracies with paired differences from the first run on."""
    settings = [
        {visible(key, 200): visible(str(value), 500) for key, value in settings_of(run).items()} for run in runs
    ]
    keys = dict.fromkeys(key for of in settings for key in of)
    differing = {key: values for key in keys if len(set(values := [of.get(key) for of in settings])) > 1}
    told = [{one.name: one for one in evaluations_of(run)} for run in runs]
    shares = {name: [of[name].answers if name in of else None for of in told] for of in told for name in of}
    differences = {name: _from_the_first(runs, name, cells) for name, cells in shares.items()}
    apart = names_apart([visible(run.source.name, 120) for run in runs], [run.id for run in runs])
    return {
        "names": list[Json](apart),
        "drawn": {
            "settings": settings_beside(apart, differing),
            "accuracy": accuracy_beside(apart, shares, differences),
        },
    }


def _from_the_first(
    runs: Sequence[Run], name: str, cells: Sequence[Accuracy | None]
) -> list[tuple[int, ClusteredMean, float]]:
    """Of each run that shares questions with the first: its place, its difference from it, and the exact test."""
    found = []
    for at in [at for at, cell in enumerate(cells) if at and cell and cells[0]]:
        first, other = answers_of(runs[0], name), answers_of(runs[at], name)
        if (told := _difference(first, other)) is not None:
            found.append((at, told, _exact(_fields(first, other, _shared_questions(first, other)))))
    return found
