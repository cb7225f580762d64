"""What iVGR's textual trajectories of a group were held against: the reference, whence it came, and each verdict."""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from saccade.errors import UserError
from saccade.rewards.judges.consistency import thoughts_of
from saccade.types import Attempt, Json, Score
from saccade.viewer.app.group_page import group_drawings
from saccade.viewer.app.lists import group_json, group_of, row_of
from saccade.viewer.store.run import GoneError, Run
from saccade.viewer.store.table import RowsView
from saccade.viewer.words import visible

MAX_OPENED = 256
"""Records that are read for one group, its question's earlier steps among them."""
MAX_TEXT = 4000


def whole_group_json(run: Run, identity: str) -> dict[str, Json]:
    """The rows of a group, and where a judge held one stream against the other, what it went by."""
    view = run.table.view()
    told = group_json(run, view, identity)
    reference = reference_json(run, view, group_of(run, view, identity))
    return {**told, "reference": reference, "drawn": group_drawings(run.id, told, reference)}


def reference_json(run: Run, view: RowsView, members: NDArray[np.intp]) -> Json:
    """None for a group that no judge of two streams has seen."""
    opened = list(_open_attempts(run, view, members[:MAX_OPENED]))
    judged = [(one, score) for one, attempt in opened if (score := attempt.trajectory.score) and _is_judged(score)]
    if not judged:
        return None
    verdicts: list[Json] = [{"id": one, "words": verdict_words(score)} for one, score in judged]
    has_one = any(score.notes.get("reference") for _, score in judged)
    is_kept = any(score.notes.get("from_archive") for _, score in judged)
    found = _best(_open_attempts(run, view, _earlier(view, members)) if is_kept else opened) if has_one else None
    told: dict[str, Json] = {"is_from_archive": is_kept, "verdicts": verdicts, "text": None, "id": None}
    if not has_one:
        return {**told, "words": "No grounded trajectory of this or an earlier step can serve as the reference."}
    if found is None:
        return {**told, "words": "The reference comes from the archive, but its record is no longer in this run."}
    identity, attempt, box_reward = found
    step = int(view.columns["step"][row_of(run, view, identity)])
    whence = f"from the archive, found in step {step}" if is_kept else "found in this step"
    return {
        **told,
        "id": identity,
        "text": visible(thoughts_of(attempt.trajectory), MAX_TEXT),
        "words": f"Reference {whence}: sample {attempt.trajectory.sample} of the stream "
        f"“{visible(attempt.trajectory.stream, 40)}”, box reward {box_reward:.3g}.",
    }


def verdict_words(score: Score) -> str:
    """What the judge said of a textual trajectory, and why where it said nothing."""
    notes, term = score.notes, next((one for one in score.terms if one.name == "consistency"), None)
    if not notes.get("reference"):
        return "not judged: there is no reference"
    if notes.get("judge_attack"):
        return "agreement 0: the text addresses the judge, so the judge was not asked"
    if term is None:
        return "no verdict"
    if term.filled_from:
        return f"agreement {term.value:g}, filled in from {term.filled_from}"
    said_nothing = ", a text that cannot be judged" if notes.get("unjudgeable") else ""
    return f"agreement {term.value:g}{said_nothing}"


def _is_judged(score: Score) -> bool:
    return "reference" in score.notes


def _best(opened: Iterable[tuple[str, Attempt]]) -> tuple[str, Attempt, float] | None:
    """As the archive chooses: the highest box reward, of equal ones what came first."""
    best: tuple[str, Attempt, float] | None = None
    for identity, attempt in opened:
        score = attempt.trajectory.score
        if score is None or not score.notes.get("is_reference"):
            continue
        box_reward = score.values.get("box", 0.0)
        if best is None or box_reward > best[2]:
            best = identity, attempt, box_reward
    return best


def _earlier(view: RowsView, members: NDArray[np.intp]) -> NDArray[np.intp]:
    """The same question at earlier steps of its stage, the oldest first."""
    columns, first = view.columns, members[0]
    same = (columns["task_key"] == columns["task_key"][first]) & (columns["stage"] == columns["stage"][first])
    rows = np.flatnonzero(same & (columns["step"] < columns["step"][first]))
    return rows[np.argsort(columns["step"][rows], kind="stable")][-MAX_OPENED:]


def _open_attempts(run: Run, view: RowsView, rows: NDArray[np.intp]) -> Iterator[tuple[str, Attempt]]:
    for row in rows:
        identity = run.id_of(int(view.columns["file"][row]), int(view.columns["ordinal"][row]))
        try:
            yield identity, run.open(identity).attempt
        except (GoneError, UserError):
            continue
