"""Process of foreign environments: hosts the worlds of a source in a Python of its own, for packages that are at odds.

``python -m saccade.interop.environments.host FD`` serves frames on a socket; nothing of Saccade that it imports needs
more than numpy, Pillow and gymnasium.
"""

import os
import socket
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from saccade.errors import UserError
from saccade.frames import BrokenFrameError, WireFrame, packed, receive
from saccade.interop.environments.sources import WorldNames, source_of
from saccade.interop.environments.wire import result_frame, shown_frame
from saccade.interop.environments.world import NumberedEpisode, World, WorldSource
from saccade.types import Json

THREADS = 32


class Host:
    """The worlds of one source; a world's requests come one after the other, those of several at the same time."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._sending = threading.Lock()
        self._source: WorldSource | None = None
        self._worlds: dict[int, World] = {}

    def serve(self) -> None:
        """Answers requests until the other side hangs up."""
        with ThreadPoolExecutor(THREADS) as pool:
            try:
                while True:
                    frame = receive(self._connection)
                    if frame.header["do"] == "open":
                        self._answer(frame)
                    else:
                        pool.submit(self._answer, frame)
            except BrokenFrameError:
                pool.shutdown(wait=False, cancel_futures=True)
                # Threads of foreign environments may never end.
                os._exit(0)

    def _answer(self, frame: WireFrame) -> None:
        try:
            answer = self._reply_to(frame.header)
        except UserError as error:
            answer = WireFrame({"error": "UserError", "message": str(error)})
        # Whatever a foreign environment raises is for the other side to hear.
        except Exception as error:
            answer = WireFrame({"error": "MachineError", "message": f"{type(error).__name__}: {error}"})
        with self._sending:
            self._connection.sendall(packed(WireFrame({**answer.header, "id": frame.header["id"]}, answer.parts)))

    def _reply_to(self, header: Mapping[str, Json]) -> WireFrame:
        do, number = header["do"], int(str(header.get("world", 0)))
        split = "test" if header.get("split") == "test" else "train"
        if do == "open":
            self._source = source_of(WorldNames.from_json(header["names"]))
            return WireFrame({"name": self._source.name, "actions": list(self._source.actions())})
        assert self._source is not None, "nothing is open"
        if do == "count":
            return WireFrame({"count": self._source.count("test" if split == "test" else "train")})
        if do == "make":
            self._worlds[number] = self._source.make()
            return WireFrame({})
        if do == "close":
            self._worlds.pop(number).close()
            return WireFrame({})
        world = self._worlds[number]
        if do == "reset":
            episode = NumberedEpisode(number=int(str(header["episode"])), split="test" if split == "test" else "train")
            shown = world.reset(episode)
            return shown_frame(shown, {"rules": world.rules})
        return result_frame(world.step(str(header["action"])))


def main() -> None:
    """Serves the socket whose number is the first argument."""
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        Host(connection).serve()


if __name__ == "__main__":
    main()
