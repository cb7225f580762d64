"""The viewer's application in this process, over folders of a test."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from starlette.testclient import TestClient

from saccade.viewer.app.application import RunsViewer, create_app
from saccade.viewer.app.events import Events
from saccade.viewer.app.guards import CSRF_HEADER
from saccade.viewer.store.collection import Collection
from saccade.viewer.store.run import Run

HOST = "127.0.0.1"


@contextmanager
def viewing(*paths: Path, cache: Path, token: str | None = None) -> Iterator[tuple[TestClient, RunsViewer]]:
    """A client that asks as a page of this machine does, with everything indexed."""
    events = Events()
    collection = Collection(paths=paths, cache=cache, tell=events.tell)
    collection.load()
    viewer = RunsViewer(collection=collection, events=events)
    app = create_app(viewer, host=HOST, token=token)
    with TestClient(app, base_url=f"http://{HOST}:7860", raise_server_exceptions=False) as client:
        client.headers[CSRF_HEADER.decode()] = viewer.csrf
        yield client, viewer


def only_run(viewer: RunsViewer) -> Run:
    [run] = viewer.collection.runs.values()
    return run
