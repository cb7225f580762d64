"""Routes of the viewer's JSON.

What opens records is imported by the first request that needs it: runs and lists answer sooner without it, and
``warm_up`` reads it in when nobody waits.
"""

import json
from importlib import import_module

import numpy as np
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from saccade.errors import UserError
from saccade.types import Json
from saccade.viewer.app.answers import reply
from saccade.viewer.app.application import RunsViewer
from saccade.viewer.app.asked import number_of, text_of
from saccade.viewer.app.lists import MAX_ROWS, neighbours, page, wait_for_rows
from saccade.viewer.app.summaries import columns_json, run_json, runs_json
from saccade.viewer.store.annotations import MAX_NAME, annotation_from
from saccade.viewer.store.curves import curves_json
from saccade.viewer.store.filters import filter_from
from saccade.viewer.store.run import Run

_MAX_OFFSET = 1 << 30
_MAX_BESIDE = 8
_ID = 40
"""The longest id of a trajectory, and the longest name of a form of export."""


def viewer_routes(viewer: RunsViewer) -> list[Route]:
    """All of them, over the viewer's collection."""
    return [*_runs(viewer), *_trajectories(viewer), *_comparisons(viewer), *_annotations(viewer)]


def warm_up() -> None:
    """Read in what the first trajectory, group or comparison would wait for."""
    for name in ("annotating", "comparing", "media", "scenes", "two_stream_group"):
        import_module(f"saccade.viewer.app.{name}")


def _run_of(viewer: RunsViewer, request: Request) -> Run:
    """The run that the path names. GoneError where there is none."""
    return viewer.collection.run(request.path_params["run"])


def _runs(viewer: RunsViewer) -> list[Route]:
    def runs(_: Request) -> Response:
        return reply(runs_json(viewer.collection))

    def columns(_: Request) -> Response:
        return reply(columns_json(viewer.collection))

    def one_run(request: Request) -> Response:
        return reply(run_json(_run_of(viewer, request)))

    def curves(request: Request) -> Response:
        found = _run_of(viewer, request)
        found.curves.refresh()
        told = curves_json(found.curves, samples_by_step(found), found.evaluations)
        return reply({**told, "notes": list[Json](found.curves.notes)})

    return [
        Route("/api/runs", runs),
        Route("/api/columns", columns),
        Route("/api/runs/{run}", one_run),
        Route("/api/runs/{run}/curves", curves),
    ]


def samples_by_step(run: Run) -> dict[str, dict[int, int]]:
    """Trajectories by stage and step, as far as they are indexed."""
    view = run.table.view()
    samples: dict[str, dict[int, int]] = {}
    for code, name in enumerate(view.words["stage"]):
        steps, counts = np.unique(view.columns["step"][view.columns["stage"] == code], return_counts=True)
        samples[name] = dict(zip(map(int, steps), map(int, counts)))
    return samples


def _trajectories(viewer: RunsViewer) -> list[Route]:
    def trajectories(request: Request) -> Response:
        found = _run_of(viewer, request)
        filter_ = filter_from(request.query_params.multi_items())
        wait_for_rows(found)
        shown = page(
            found,
            filter_,
            viewer.searches_of(found),
            offset=number_of(request, "offset", 0, least=0, most=_MAX_OFFSET),
            limit=number_of(request, "limit", 200, least=0, most=MAX_ROWS),
            with_facets=bool(number_of(request, "facets", 1, least=0, most=1)),
        )
        return reply(shown)

    def trajectory(request: Request) -> Response:
        from saccade.viewer.app.scenes import trajectory_json

        return reply(trajectory_json(_run_of(viewer, request), request.path_params["identity"]))

    def beside(request: Request) -> Response:
        found = _run_of(viewer, request)
        filter_ = filter_from(request.query_params.multi_items())
        return reply(neighbours(found, request.path_params["identity"], filter_, viewer.searches_of(found)))

    def group(request: Request) -> Response:
        from saccade.viewer.app.two_stream_group import whole_group_json

        return reply(whole_group_json(_run_of(viewer, request), request.path_params["identity"]))

    return [
        Route("/api/runs/{run}/trajectories", trajectories),
        Route("/api/runs/{run}/trajectories/{identity}", trajectory),
        Route("/api/runs/{run}/trajectories/{identity}/neighbours", beside),
        Route("/api/runs/{run}/groups/{identity}", group),
    ]


def _comparisons(viewer: RunsViewer) -> list[Route]:
    def evaluations(request: Request) -> Response:
        from saccade.viewer.app.comparing import evaluations_chosen

        runs = list(viewer.collection.runs.values())
        return reply(evaluations_chosen(runs, text_of(request, "a", ""), text_of(request, "b", "")))

    def beside(request: Request) -> Response:
        from saccade.viewer.app.comparing import runs_beside

        named = request.query_params.getlist("run")
        if not 1 <= len(named) <= _MAX_BESIDE:
            raise UserError(f"{len(named)} runs are named; 1 to {_MAX_BESIDE} can stand beside each other")
        return reply(runs_beside([viewer.collection.run(one) for one in named]))

    return [
        Route("/api/evaluations", evaluations),
        Route("/api/beside", beside),
    ]


def _annotations(viewer: RunsViewer) -> list[Route]:
    def annotations(request: Request) -> Response:
        from saccade.viewer.app.annotating import annotations_json

        trajectory = text_of(request, "trajectory", "", longest=_ID) or None
        return reply(annotations_json(_run_of(viewer, request), trajectory))

    async def annotate(request: Request) -> Response:
        found = _run_of(viewer, request)
        body = _body(await request.body())
        trajectory = body.get("trajectory")
        if not isinstance(trajectory, str):
            raise UserError("trajectory is missing; name the one that is annotated")
        task = found.open(trajectory).attempt.task.id
        item = annotation_from(body, trajectory=trajectory, task=task)
        found.annotations.add(item)
        viewer.events.tell("annotation", {"run": found.id, "trajectory": trajectory})
        return reply(item.as_json(), 201)

    async def retract(request: Request) -> Response:
        found = _run_of(viewer, request)
        name = str(_body(await request.body()).get("name", ""))[:MAX_NAME]
        item = found.annotations.retract(request.path_params["identity"], name)
        viewer.events.tell("annotation", {"run": found.id, "trajectory": item.trajectory})
        return reply({**item.as_json(), "is_retracted": True})

    def export(request: Request) -> Response:
        from saccade.viewer.app.annotating import export_download

        made = export_download(_run_of(viewer, request), text_of(request, "format", "jsonl", longest=_ID))
        headers = {"content-disposition": f'attachment; filename="{made.name}"'}
        return Response(made.content, media_type=made.media_type, headers=headers)

    return [
        Route("/api/runs/{run}/annotations", annotations),
        Route("/api/runs/{run}/annotations", annotate, methods=["POST"]),
        Route("/api/runs/{run}/annotations/{identity}/retract", retract, methods=["POST"]),
        Route("/api/runs/{run}/annotations/export", export),
    ]


def _body(raw: bytes) -> dict[str, Json]:
    try:
        values = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise UserError(f"the body is no JSON: {str(error)[:200]}") from error
    if not isinstance(values, dict):
        raise UserError("the body must be a JSON object")
    return values
