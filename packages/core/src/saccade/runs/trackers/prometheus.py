"""A run's newest metrics at ``/metrics``, as Prometheus reads them (extra ``prometheus``)."""

import logging
import re
import time
from collections.abc import Mapping, Sequence, Set
from pathlib import Path

from prometheus_client import CollectorRegistry, Gauge, start_http_server

from saccade.config.tracking import metrics_place
from saccade.runs.trackers.tracker import RECORD, TrackedPicture, TrackedRun, TrackedTrace

logger = logging.getLogger(__name__)


class PrometheusTracker:
    """Serves the newest record of each stage while the run works; its history is the matter of who reads it."""

    def __init__(self, asked: TrackedRun) -> None:
        self._registry = CollectorRegistry()
        self._gauges: dict[str, Gauge] = {}
        self._logged_s = time.monotonic()
        self._stage = Gauge(
            "saccade_run", "1 at the stage that the run is in", ("run", "stage"), registry=self._registry
        )
        self._run = asked.name
        self._stage.labels(self._run, "").set(1)
        since = Gauge("saccade_seconds_since_record", "Since the last step or the start", registry=self._registry)
        since.set_function(lambda: time.monotonic() - self._logged_s)
        host, port = metrics_place(asked.project)
        self._server, _ = start_http_server(port, host, self._registry)
        logger.info("metrics for Prometheus: http://%s:%d/metrics", host, self._server.server_port)

    def records(self) -> Set[int]:
        return frozenset()

    def pictures(self) -> Set[tuple[int, str]]:
        return frozenset()

    def log(self, number: int, values: Mapping[str, float]) -> None:
        self._logged_s = time.monotonic()
        stage = next(iter(values)).partition("/")[0]
        self._stage.clear()
        self._stage.labels(self._run, stage).set(1)
        for key, value in {**values, f"{stage}/{RECORD}": number}.items():
            self._gauge(key.removeprefix(f"{stage}/")).labels(stage).set(value)

    def show(self, number: int, pictures: Sequence[TrackedPicture]) -> None:
        """Numbers alone are read."""

    def trace(self, number: int, traces: Sequence[TrackedTrace]) -> None:
        """Numbers alone are read."""

    def summarise(self, values: Mapping[str, float]) -> None:
        """The records of evaluations have their accuracies."""

    def save(self, path: Path) -> None:
        """Numbers alone are read."""

    def close(self, *, is_finished: bool) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _gauge(self, name: str) -> Gauge:
        """The gauge of a metric, ``reward/mean`` as ``saccade_reward_mean``."""
        legal = "saccade_" + re.sub(r"[^a-zA-Z0-9_]", "_", name)
        if legal not in self._gauges:
            self._gauges[legal] = Gauge(legal, name, ("stage",), registry=self._registry)
        return self._gauges[legal]
