"""Metrics of a server, as Prometheus reads them from ``/metrics``."""

from collections.abc import Callable

from saccade.errors import missing_extra

try:
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
except ImportError as error:
    raise missing_extra("services", "prometheus-client", needed_for="serving tools") from error


_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
_CALLS = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """Metrics of one server; a registry of its own, so that two may live in one process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "tool_requests", "Calls answered, by tool and status", ("tool", "status"), registry=self._registry
        )
        self.latency = Histogram(
            "tool_latency_seconds",
            "From a call's acceptance to its answer",
            ("tool",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self.batch_size = Histogram(
            "tool_batch_size", "Calls that a worker gets at once", ("tool",), buckets=_CALLS, registry=self._registry
        )
        self.queue_length = Gauge("tool_queue_length", "Calls in the queue", ("group",), registry=self._registry)
        self.workers_ready = Gauge(
            "tool_workers_ready", "Workers with their tools", ("group",), registry=self._registry
        )
        self.restarts = Counter(
            "tool_worker_restarts", "Workers started again", ("group", "reason"), registry=self._registry
        )
        self.retried = Counter(
            "tool_calls_retried",
            "Calls given to another worker after their first one died",
            ("tool",),
            registry=self._registry,
        )
        self.repeated = Counter(
            "tool_calls_repeated", "Repeated calls that were not run again", ("tool",), registry=self._registry
        )

    def gauge(self, name: str, about: str, value: Callable[[], float]) -> None:
        """A number that is asked for when it is read."""
        Gauge(name, about, registry=self._registry).set_function(value)

    def text(self) -> bytes:
        """Everything, in Prometheus' text format."""
        return generate_latest(self._registry)
