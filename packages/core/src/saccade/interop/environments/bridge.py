"""Worlds in processes of another Python: environments whose packages cannot stand beside Saccade's."""

import itertools
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from saccade.engines.process_connection import ProcessConnection
from saccade.errors import MachineError, UserError
from saccade.frames import WireFrame
from saccade.interop.environments.sources import WorldNames
from saccade.interop.environments.wire import result_of_frame, shown_of_frame
from saccade.interop.environments.world import NumberedEpisode, Split, StepResult, WorldObservation
from saccade.types import Json

ANSWER_S = 900.0
"""How long an environment may take for one request."""

_NUMBERS = itertools.count()


@dataclass(kw_only=True)
class BridgedSource:
    """A source whose worlds live in ``processes`` processes of ``python``; one that ends is started again.

    A world of a process that ended raises ``MachineError``; ``WorldEnv`` then leads a new one to where it was.
    """

    names: WorldNames
    python: Path
    processes: int = 1
    name: str = ""
    _actions: tuple[str, ...] = ()
    _open: dict[int, ProcessConnection] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        if not self.python.is_file():
            raise UserError(
                f"environment.python={self.python} is no file; name the Python of the environment's packages"
            )
        header = self._connection_at(0).ask({"do": "count", "split": "train"}).result(timeout=ANSWER_S).header
        self._counts: dict[Split, int | None] = {"train": _count(header)}

    def make(self) -> "BridgedWorld":
        number = next(_NUMBERS)
        return BridgedWorld(self._connection_at(number % self.processes), number)

    def count(self, split: Split) -> int | None:
        if split not in self._counts:
            header = self._connection_at(0).ask({"do": "count", "split": split}).result(timeout=ANSWER_S).header
            self._counts[split] = _count(header)
        return self._counts[split]

    def actions(self) -> tuple[str, ...]:
        return self._actions

    def close(self) -> None:
        """Ends the processes."""
        with self._lock:
            for connection in self._open.values():
                connection.end()
            self._open.clear()

    def __enter__(self) -> "BridgedSource":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _connection_at(self, place: int) -> ProcessConnection:
        with self._lock:
            connection = self._open.get(place)
            if connection is not None and connection.lost is None:
                return connection
            if connection is not None:
                connection.end()
            connection = ProcessConnection.spawn(
                "saccade.interop.environments.host",
                python=self.python,
                what="the environment's process",
                lost_error=MachineError,
            )
            try:
                opened = connection.ask({"do": "open", "names": self.names.to_json()}).result(timeout=ANSWER_S).header
            except BaseException:
                connection.end()
                raise
            self._open[place] = connection
            self.name = str(opened["name"])
            actions = opened["actions"]
            self._actions = tuple(map(str, actions)) if isinstance(actions, list) else ()
            return connection


class BridgedWorld:
    """One world in another process."""

    def __init__(self, connection: ProcessConnection, number: int) -> None:
        self._connection, self._number = connection, number
        self.rules = ""
        self._ask("make")

    def reset(self, episode: NumberedEpisode) -> WorldObservation:
        frame = self._ask("reset", {"episode": episode.number, "split": episode.split})
        self.rules = str(frame.header["rules"])
        return shown_of_frame(frame)

    def step(self, action: str) -> StepResult:
        return result_of_frame(self._ask("step", {"action": action}))

    def close(self) -> None:
        if self._connection.lost is None:
            self._connection.ask({"do": "close", "world": self._number})

    def _ask(self, do: str, header: Mapping[str, Json] | None = None) -> WireFrame:
        asked = self._connection.ask({"do": do, "world": self._number, **(header or {})})
        try:
            return asked.result(timeout=ANSWER_S)
        except TimeoutError as error:
            raise MachineError(f"the environment took over {ANSWER_S:.0f} s to {do}") from error


def _count(header: Mapping[str, Json]) -> int | None:
    count = header["count"]
    return None if count is None else int(str(count))
