"""Metrics of a served agent, as Prometheus reads them from ``/metrics``."""

from collections.abc import Callable

from saccade.errors import missing_extra
from saccade.serving.agent import PlayedEpisode
from saccade.types import ToolCall, Turn

try:
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
except ImportError as error:
    raise missing_extra("services", "prometheus-client", needed_for="serving an agent") from error

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)


class AgentMeters:
    """Metrics of one server; a registry of its own, so that two may live in one process."""

    def __init__(self, tool_names: frozenset[str]) -> None:
        self._tool_names = tool_names
        self._registry = CollectorRegistry()
        self.requests = Counter("agent_requests", "Requests answered, by status", ("status",), registry=self._registry)
        self.seconds = Histogram(
            "agent_request_seconds",
            "From a request's body to the end of its reply",
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._trajectories = Counter(
            "agent_trajectories", "Episodes that ended, by status", ("status",), registry=self._registry
        )
        self._calls = Counter(
            "agent_tool_calls", "Calls of tools, by name and outcome", ("tool", "outcome"), registry=self._registry
        )
        self._tokens = Counter("agent_tokens", "Tokens of ended episodes, by kind", ("kind",), registry=self._registry)

    def gauge(self, name: str, about: str, value: Callable[[], float]) -> None:
        """A number that is asked for when it is read."""
        Gauge(name, about, registry=self._registry).set_function(value)

    def turn(self, turn: Turn) -> None:
        """Called from any thread."""
        if not isinstance(turn.action, ToolCall):
            return
        # The name is the model's: only known ones make a series.
        tool = turn.action.name if turn.action.name in self._tool_names else "unknown"
        outcome = "refused" if turn.result is None else "ok" if turn.result.is_ok else "failed"
        self._calls.labels(tool, outcome).inc()

    def count_played(self, played: PlayedEpisode) -> None:
        """An episode has ended."""
        self._trajectories.labels(played.trajectory.status).inc()
        self._tokens.labels("prompt").inc(played.prompt_tokens)
        self._tokens.labels("completion").inc(played.completion_tokens)

    def count_left(self) -> None:
        """An episode was ended, since its client left or its time was over."""
        self._trajectories.labels("cancelled").inc()

    def text(self) -> bytes:
        """Everything, in Prometheus' text format."""
        return generate_latest(self._registry)
