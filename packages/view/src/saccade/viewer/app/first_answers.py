"""What a page asks for first, carried by the page itself: the runs, and the list of a run that is alone."""

from saccade.errors import MachineError
from saccade.types import Json
from saccade.viewer.app.application import RunsViewer
from saccade.viewer.app.lists import page, wait_for_rows
from saccade.viewer.app.summaries import runs_json
from saccade.viewer.store.filters import filter_from
from saccade.viewer.store.run import GoneError

_PAGE_ROWS = 200
"""As ``list.js`` asks for them."""
_MAX_RUNS = 20


def first_answers(viewer: RunsViewer) -> dict[str, Json]:
    """Answers by their address; none where there are many runs."""
    runs = list(viewer.collection.runs.values())
    if len(runs) > _MAX_RUNS:
        return {}
    answers: dict[str, Json] = {"/api/runs": runs_json(viewer.collection)}
    if len(runs) == 1:
        [run] = runs
        wait_for_rows(run)
        try:
            shown = page(run, filter_from(()), viewer.searches_of(run), offset=0, limit=_PAGE_ROWS, with_facets=True)
        except (GoneError, MachineError, OSError):  # The page asks again, and shows why.
            return answers
        answers[f"/api/runs/{run.id}/trajectories?offset=0&limit={_PAGE_ROWS}"] = shown
    return answers
