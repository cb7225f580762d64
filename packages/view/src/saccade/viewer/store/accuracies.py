"""How often the evaluations of a run are right: of their questions, however often each was asked, as in its report."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from saccade.errors import UserError
from saccade.evaluation.statistics import Accuracy, share_of_questions, share_right
from saccade.runs.segments import task_key
from saccade.viewer.store.run import Run
from saccade.viewer.store.table import Array, RowsView
from saccade.viewer.words import visible

if TYPE_CHECKING:
    from saccade.evaluation.samples import Belonging

_FOLDER = "samples"
_MAX_BYTES = 1 << 28
"""Of a file of samples; where it is larger each answer counts for itself."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluationAccuracy:
    """One evaluation of a run: its accuracy, and that of each family in it."""

    name: str
    answers: Accuracy
    families: Mapping[str, Accuracy]
    reasons: Mapping[str, int]
    """Its wrong answers by why they are wrong."""


def evaluations_of(run: Run) -> Sequence[EvaluationAccuracy]:
    """Accuracy of each evaluation and of its families, in the order of the run."""
    view, stamps = run.table.view(), _stamps(run)
    known = run.evaluated
    if known is None or known[0] != (view.version, stamps):
        run.evaluated = known = ((view.version, stamps), _evaluations(run, view))
    return known[1]


def _evaluations(run: Run, view: RowsView) -> list[EvaluationAccuracy]:
    columns = view.columns
    is_evaluation = np.array([word == "eval" for word in view.words["kind"]] or [False], bool)[columns["kind"]]
    scored = is_evaluation & (columns["right"] >= 0)
    found: list[tuple[int, EvaluationAccuracy]] = []
    for code, name in enumerate(view.words["stage"]):
        rows = np.flatnonzero(scored & (columns["stage"] == code))
        if not len(rows):
            continue
        belonging = belonging_of(run, name)
        family_of, reasons = columns["family"][rows], columns["reason"][rows]
        of_families = ((word, rows[family_of == family]) for family, word in enumerate(view.words["family"]))
        why = {word: int(n) for word, n in zip(view.words["reason"], np.bincount(reasons)) if word and n}
        families = {visible(word, 120): _accuracy(view, of, belonging) for word, of in of_families if len(of)}
        told = EvaluationAccuracy(
            name=visible(name, 120), answers=_accuracy(view, rows, belonging), families=families, reasons=why
        )
        found.append((int(view.rank[rows].min()), told))
    return [told for _, told in sorted(found, key=lambda pair: pair[0])]


def _accuracy(view: RowsView, rows: Array, belonging: "Callable[[int], Belonging] | None") -> Accuracy:
    right = [bool(one == 1) for one in view.columns["right"][rows]]
    if belonging is None:
        return share_right(right)
    return share_of_questions(right, [belonging(int(key)) for key in view.columns["task_key"][rows]])


def belonging_of(run: Run, name: str) -> "Callable[[int], Belonging] | None":
    """What the answers to a task belong to, by the task's key; None where no samples of the evaluation were kept."""
    # The name is from the index, which anyone may have written.
    stamp = _stamps(run).get(name)
    if stamp is None or stamp[0] > _MAX_BYTES:
        return None
    if run.belonging.get(name, (None, {}))[0] != stamp:
        # Rules of answers, which no list without evaluations needs.
        from saccade.evaluation.sample_files import belonging_in

        try:
            found = belonging_in(run.source.root / _FOLDER / f"{name}.jsonl")
        except UserError as error:
            run.notes[f"{_FOLDER}/{name}"], found = str(error), {}
        run.belonging[name] = stamp, {task_key(task): of for task, of in found.items()}
    of_each = run.belonging[name][1]
    return (lambda key: of_each.get(key, (str(key), str(key)))) if of_each else None


def _stamps(run: Run) -> dict[str, tuple[int, int]]:
    """Size and time of change of each evaluation's samples."""
    found = {}
    for path in (run.source.root / _FOLDER).glob("*.jsonl"):
        try:
            told = path.stat()
        except OSError:
            continue
        found[path.stem] = (told.st_size, told.st_mtime_ns)
    return found
