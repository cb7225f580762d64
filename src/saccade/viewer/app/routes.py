"""Routes of the viewer's JSON."""

import json
from typing import Annotated

import numpy as np
from fastapi import FastAPI, Query, Request, Response

from saccade.errors import UserError
from saccade.types import Json
from saccade.viewer.app.annotating import annotations_json, exported
from saccade.viewer.app.answers import reply
from saccade.viewer.app.application import RunsViewer
from saccade.viewer.app.comparing import answered, evaluations_chosen, evaluations_compared, runs_beside, words_compared
from saccade.viewer.app.lists import MAX_ROWS, neighbours, page
from saccade.viewer.app.scenes import trajectory_json
from saccade.viewer.app.summaries import run_json, runs_json
from saccade.viewer.app.two_stream_group import whole_group_json
from saccade.viewer.store.annotations import MAX_NAME, annotation_from
from saccade.viewer.store.curves import curves_json
from saccade.viewer.store.filters import filter_from
from saccade.viewer.store.run import Run

_MAX_OFFSET = 1 << 30
_MAX_BESIDE = 8

Name = Annotated[str, Query(max_length=400)]


def add_routes(app: FastAPI, viewer: RunsViewer) -> None:
    _add_runs(app, viewer)
    _add_trajectories(app, viewer)
    _add_comparisons(app, viewer)
    _add_annotations(app, viewer)


def _add_runs(app: FastAPI, viewer: RunsViewer) -> None:
    @app.get("/api/runs")
    def runs() -> Response:
        return reply(runs_json(viewer.collection))

    @app.get("/api/runs/{run}")
    def one_run(run: str) -> Response:
        return reply(run_json(viewer.collection.run(run)))

    @app.get("/api/runs/{run}/curves")
    def curves(run: str) -> Response:
        found = viewer.collection.run(run)
        found.curves.refresh()
        return reply({**curves_json(found.curves, samples_by_step(found)), "notes": list[Json](found.curves.notes)})


def samples_by_step(run: Run) -> dict[str, dict[int, int]]:
    """Trajectories by stage and step, as far as they are indexed."""
    view = run.table.view()
    samples: dict[str, dict[int, int]] = {}
    for code, name in enumerate(view.words["stage"]):
        steps, counts = np.unique(view.columns["step"][view.columns["stage"] == code], return_counts=True)
        samples[name] = dict(zip(map(int, steps), map(int, counts)))
    return samples


def _add_trajectories(app: FastAPI, viewer: RunsViewer) -> None:
    @app.get("/api/runs/{run}/trajectories")
    def trajectories(
        request: Request,
        run: str,
        offset: Annotated[int, Query(ge=0, le=_MAX_OFFSET)] = 0,
        limit: Annotated[int, Query(ge=0, le=MAX_ROWS)] = 200,
        facets: int = 1,
    ) -> Response:
        found = viewer.collection.run(run)
        filter_ = filter_from(request.query_params.multi_items())
        searches = viewer.searches_of(found)
        return reply(page(found, filter_, searches, offset=offset, limit=limit, with_facets=bool(facets)))

    @app.get("/api/runs/{run}/trajectories/{identity}")
    def trajectory(run: str, identity: str) -> Response:
        return reply(trajectory_json(viewer.collection.run(run), identity))

    @app.get("/api/runs/{run}/trajectories/{identity}/neighbours")
    def beside(request: Request, run: str, identity: str) -> Response:
        found = viewer.collection.run(run)
        filter_ = filter_from(request.query_params.multi_items())
        return reply(neighbours(found, identity, filter_, viewer.searches_of(found)))

    @app.get("/api/runs/{run}/groups/{identity}")
    def group(run: str, identity: str) -> Response:
        return reply(whole_group_json(viewer.collection.run(run), identity))


def _add_comparisons(app: FastAPI, viewer: RunsViewer) -> None:
    @app.get("/api/compare")
    def compare(a: Name, b: Name) -> Response:
        sides = []
        for named in (a, b):
            run, _, name = named.partition("/")
            sides.append(answered(viewer.collection.run(run), name))
        return reply(evaluations_compared(*sides))

    @app.get("/api/evaluations")
    def evaluations(a: Name = "", b: Name = "") -> Response:
        return reply(evaluations_chosen(list(viewer.collection.runs.values()), a, b))

    @app.get("/api/beside")
    def beside(run: Annotated[list[str], Query(max_length=_MAX_BESIDE)]) -> Response:
        return reply(runs_beside([viewer.collection.run(one) for one in run]))

    @app.get("/api/diff")
    def diff(run: str, a: str, b: str) -> Response:
        found = viewer.collection.run(run)
        return reply(words_compared(found.open(a).attempt, found.open(b).attempt))


def _add_annotations(app: FastAPI, viewer: RunsViewer) -> None:
    @app.get("/api/runs/{run}/annotations")
    def annotations(run: str, trajectory: Annotated[str | None, Query(max_length=40)] = None) -> Response:
        return reply(annotations_json(viewer.collection.run(run), trajectory))

    @app.post("/api/runs/{run}/annotations")
    async def annotate(request: Request, run: str) -> Response:
        found = viewer.collection.run(run)
        body = _body(await request.body())
        trajectory = body.get("trajectory")
        if not isinstance(trajectory, str):
            raise UserError("trajectory is missing; name the one that is annotated")
        task = found.open(trajectory).attempt.task.id
        item = annotation_from(body, trajectory=trajectory, task=task)
        found.annotations.add(item)
        viewer.events.tell("annotation", {"run": run, "trajectory": trajectory})
        return reply(item.as_json(), 201)

    @app.post("/api/runs/{run}/annotations/{identity}/retract")
    async def retract(request: Request, run: str, identity: str) -> Response:
        found = viewer.collection.run(run)
        name = str(_body(await request.body()).get("name", ""))[:MAX_NAME]
        item = found.annotations.retract(identity, name)
        viewer.events.tell("annotation", {"run": run, "trajectory": item.trajectory})
        return reply({**item.as_json(), "is_retracted": True})

    @app.get("/api/runs/{run}/annotations/export")
    def export(run: str, kind: Annotated[str, Query(alias="format", max_length=40)] = "jsonl") -> Response:
        found = viewer.collection.run(run)
        made = exported(found, kind)
        headers = {"content-disposition": f'attachment; filename="{made.name}"'}
        return Response(made.content, media_type=made.media_type, headers=headers)


def _body(raw: bytes) -> dict[str, Json]:
    try:
        values = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise UserError(f"the body is no JSON: {str(error)[:200]}") from error
    if not isinstance(values, dict):
        raise UserError("the body must be a JSON object")
    return values
