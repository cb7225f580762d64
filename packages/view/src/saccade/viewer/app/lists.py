"""Lists of trajectories as JSON: a page of rows, the counts beside it, and a row's neighbours."""

import time
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from saccade.types import Json
from saccade.viewer.app.answers import number
from saccade.viewer.store.facets import SelectedRows, select, sorted_rows
from saccade.viewer.store.filters import Extras, Filter, group_mask
from saccade.viewer.store.marks import marked_rows
from saccade.viewer.store.run import GoneError, Run
from saccade.viewer.store.searching import Search, Searches
from saccade.viewer.store.table import RowsView
from saccade.viewer.words import visible

MAX_ROWS = 1000
_SEARCH_WAIT_S = 0.4
_ROWS_WAIT_S = 0.3
_RIGHT: Mapping[int, bool | None] = {1: True, 0: False, -1: None}


def page(
    run: Run, filter_: Filter, searches: Searches, *, offset: int, limit: int, with_facets: bool
) -> dict[str, Json]:
    """Rows of a filter from ``offset`` on. GoneError where a group is named that is not there."""
    view, selection, search = select_rows(run, filter_, searches, with_facets=with_facets)
    ordered = sorted_rows(selection.rows, view, filter_.sort, until=offset + limit)[offset : offset + limit]
    return {
        "run_name": visible(run.source.name, 120),
        "total": view.count,
        "matched": len(selection.rows),
        "offset": offset,
        "rows": rows_json(run, view, [int(row) for row in ordered]),
        **({"facets": _facets(selection), "ranges": _ranges(selection)} if with_facets else {}),
        "search": None if search is None else search_json(search),
        "indexing": indexing(run),
        "notes": [visible(note, 500) for note in run.notes.values()][:20],
    }


def wait_for_rows(run: Run) -> None:
    """A server that has just begun has the newest rows in some milliseconds, where there is an index."""
    until_s = time.monotonic() + _ROWS_WAIT_S
    while not run.indexed[0] and (run.pending or not run.is_looked_at) and time.monotonic() < until_s:
        time.sleep(0.002)


def select_rows(
    run: Run, filter_: Filter, searches: Searches, *, with_facets: bool
) -> tuple[RowsView, SelectedRows, Search | None]:
    view = run.table.view()
    search = searches.find(filter_.text, wait_s=_SEARCH_WAIT_S) if filter_.text else None
    extras = Extras(
        marked=marked_rows(run, view),
        found=None if search is None else search.found,
        group_row=None if filter_.group is None else row_of(run, view, filter_.group),
    )
    return view, select(filter_, view, extras, with_facets=with_facets), search


def row_of(run: Run, view: RowsView, identity: str) -> int:
    """The row of an id in the columns. GoneError where there is none."""
    file, ordinal = run.locate(identity)
    found = np.flatnonzero((view.columns["file"] == file.number) & (view.columns["ordinal"] == ordinal))
    if not len(found):
        raise GoneError(f"the trajectory {identity} is no longer in the list")
    return int(found[0])


def rows_json(run: Run, view: RowsView, rows: Sequence[int]) -> list[Json]:
    """Rows with their texts; one whose index went away meanwhile comes without."""
    marks = marked_rows(run, view)
    return [_row(run, view, row, marks.get(row, 0)) for row in rows]


def _row(run: Run, view: RowsView, row: int, marked: int) -> Json:
    columns, words = view.columns, view.words
    file, ordinal = int(columns["file"][row]), int(columns["ordinal"][row])
    named: dict[str, Json] = {
        name: words[name][int(columns[name][row])] for name in ("stage", "kind", "family", "stream", "status", "reason")
    }
    listed: dict[str, Json] = {
        name: [word for word in words[name][int(columns[name][row])].split("\n") if word]
        for name in ("tools", "errors")
    }
    terms = {
        name.removeprefix("term."): value
        for name in columns
        if name.startswith("term.") and (value := number(float(columns[name][row]))) is not None
    }
    try:
        texts = run.segment_texts(run.file(file)).texts(ordinal)
        told: dict[str, Json] = {
            "task": texts.task,
            "question": visible(texts.question, 400),
            "expected": visible(texts.expected, 200),
            "answer": None if texts.answer is None else visible(texts.answer, 200),
            "image": texts.image if texts.image and len(texts.image) == 64 else None,
        }
    except (GoneError, KeyError, IndexError):
        told = {"task": "", "question": "", "expected": "", "answer": None, "image": None}
    return {
        "id": run.id_of(file, ordinal),
        **{name: visible(str(word), 120) for name, word in named.items()},
        **listed,
        **{name: int(columns[name][row]) for name in ("step", "sample", "turns", "tokens", "action_tokens")},
        "right": _RIGHT.get(int(columns["right"][row])),
        **{name: number(float(columns[name][row])) for name in ("reward", "advantage", "entropy", "seconds")},
        "terms": terms,
        **told,
        "marked": marked,
    }


def _facets(selection: SelectedRows) -> Json:
    return {
        name: [[visible(value, 120), count] for value, count in counts] for name, counts in selection.facets.items()
    }


def _ranges(selection: SelectedRows) -> Json:
    return {
        name: {"min": number(one.low), "max": number(one.high), "counts": list(one.counts)}
        for name, one in selection.ranges.items()
    }


def indexing(run: Run) -> Json:
    """Files that have been read, and all that were found; None once nothing is left to read."""
    done, of = run.indexed
    return None if run.is_looked_at and done >= of else {"done": done, "of": of}


def indexing_text(indexing: Json) -> str:
    """What a page says of ``indexing``, after what it counts."""
    if not isinstance(indexing, Mapping):
        return ""
    return (
        f"indexing, {indexing['done']} of {indexing['of']} files" if indexing["of"] else "indexing, looking for files"
    )


def search_json(search: Search) -> dict[str, Json]:
    return {
        "text": search.text,
        "scanned": search.scanned,
        "of": search.view.count,
        "is_complete": search.is_complete,
        "is_cut": search.is_cut,
    }


def neighbours(run: Run, identity: str, filter_: Filter, searches: Searches) -> dict[str, Json]:
    """Ids before and after a trajectory in a list, and in its group. GoneError where it is not there."""
    view, selection, _ = select_rows(run, filter_, searches, with_facets=False)
    row = row_of(run, view, identity)
    ordered = sorted_rows(selection.rows, view, filter_.sort)
    places = np.flatnonzero(ordered == row)
    place = int(places[0]) if len(places) else -1
    wrong = np.flatnonzero(view.columns["right"][ordered] == 0)
    group = np.flatnonzero(group_mask(row, view))
    group = group[np.argsort(view.rank[group])]
    in_group = int(np.flatnonzero(group == row)[0])

    def named(found: NDArray[np.intp]) -> str | None:
        if not len(found):
            return None
        return run.id_of(int(view.columns["file"][found[0]]), int(view.columns["ordinal"][found[0]]))

    return {
        "previous": named(ordered[place - 1 : place]) if place > 0 else None,
        "next": named(ordered[place + 1 : place + 2]),
        "next_wrong": named(ordered[wrong[wrong > place][:1]]),
        "previous_wrong": named(ordered[wrong[wrong < place][-1:]]),
        "next_in_group": named(group[in_group + 1 : in_group + 2]),
        "previous_in_group": named(group[in_group - 1 : in_group]) if in_group else None,
        "place": place + 1 if place >= 0 else None,
        "of": len(ordered),
    }


def group_of(run: Run, view: RowsView, identity: str) -> NDArray[np.intp]:
    """All rows of a question at one step, in the list's order."""
    members = np.flatnonzero(group_mask(row_of(run, view, identity), view))
    return members[np.argsort(view.rank[members])]


def group_json(run: Run, view: RowsView, identity: str) -> dict[str, Json]:
    """All rows of a question at one step, and the question at the other steps."""
    row = row_of(run, view, identity)
    members = group_of(run, view, identity)
    rows = rows_json(run, view, [int(member) for member in members[:256]])
    task = rows[0]["task"] if rows and isinstance(rows[0], dict) else ""
    return {"task": task, "rows": rows, "across": across(run, view, row), "left_out": max(0, len(members) - 256)}


def across(run: Run, view: RowsView, row: int) -> list[Json]:
    """The question of a row over stages and steps, oldest first: one entry for each file that asked it."""
    columns = view.columns
    same = np.flatnonzero(columns["task_key"] == columns["task_key"][row])
    same = same[np.argsort(view.rank[same])]
    found: list[Json] = []
    _, starts = np.unique(columns["file"][same], return_index=True)
    for start in sorted(starts)[:200]:
        members = same[columns["file"][same] == columns["file"][same[start]]]
        rewards = columns["reward"][members]
        known = rewards[np.isfinite(rewards)]
        order = members[np.argsort(np.where(np.isfinite(rewards), rewards, -np.inf), kind="stable")]
        first = int(members[0])
        found.append(
            {
                "stage": visible(view.words["stage"][int(columns["stage"][first])], 120),
                "step": int(columns["step"][first]),
                "mean_reward": number(float(known.mean())) if len(known) else None,
                "right": int((columns["right"][members] == 1).sum()),
                "n": len(members),
                "best": run.id_of(int(columns["file"][first]), int(columns["ordinal"][order[-1]])),
                "worst": run.id_of(int(columns["file"][first]), int(columns["ordinal"][order[0]])),
                "is_this": bool(columns["file"][first] == columns["file"][row]),
            }
        )
    return found
