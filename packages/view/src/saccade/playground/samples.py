"""A sample while it is played: what a page that follows it is told, and when nobody follows it any more."""

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

from saccade.rollout.episodes import EpisodeSpec, RolloutRequest
from saccade.types import Json, Trajectory, Turn
from saccade.viewer.app.events import event_bytes

LEFT_S = 10.0
"""So long after the last page has left a sample goes on: one that is loaded again, be it slowly, comes back."""
_NEVER_SEEN_S = 30.0
_QUIET_S = 15.0


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleEnd:
    """How a sample ended: ``done`` or ``failed``, and what the page is told of it."""

    event: str
    told: Mapping[str, Json]


@dataclass(kw_only=True, slots=True)
class LiveSample:
    """Used from the server's event loop; ``stop`` may be read from any thread."""

    id: str
    request: RolloutRequest
    spec: EpisodeSpec
    turns: list[Turn] = field(default_factory=list)
    """That have ended; appended from the thread in which they do."""
    stop: threading.Event = field(default_factory=threading.Event)
    stopped: asyncio.Event = field(default_factory=asyncio.Event)
    trajectory: Trajectory | None = None
    _text: str = ""
    _scene: Json = None
    _scenes: int = 0
    _end: SampleEnd | None = None
    _kept: Mapping[str, Json] | None = None
    _pages: int = 0
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def watch(self) -> None:
        """Ends it where no page comes to follow it."""
        asyncio.get_running_loop().call_later(_NEVER_SEEN_S, self._end_if_alone)

    def end_now(self) -> None:
        self.stop.set()
        self.stopped.set()

    def say(self, text: str) -> None:
        """All that its open turn says so far."""
        if self._end is None:
            self._text = text
            self._tell()

    def show(self, scene: Json) -> None:
        """What there is of it after a turn; drawn too late, it says less than its end does."""
        if self._end is None:
            self._scene, self._text = scene, ""
            self._scenes += 1
            self._tell()

    def finish(self, end: SampleEnd) -> None:
        self._end = end
        self._tell()

    def keep(self, kept: Mapping[str, Json]) -> None:
        """Its record is written; nothing follows."""
        self._kept = kept
        self._tell()

    async def events(self) -> AsyncIterator[bytes]:
        """Its state, and each change: a page that comes late, or is slow, misses nothing that still matters."""
        self._pages += 1
        scenes, text, has_ended = 0, "", False
        try:
            while True:
                news = self._news
                # Nothing follows the end but its record: a turn may come while a page still takes the text before it.
                if self._scenes != scenes and not has_ended:
                    scenes, text = self._scenes, ""
                    yield event_bytes("turn", {"scene": self._scene})
                if self._text != text and self._end is None:
                    same = len(text) if self._text.startswith(text) else 0
                    text = self._text
                    yield event_bytes("token", {"at": same, "text": text[same:]})
                if self._end is not None and not has_ended:
                    has_ended = True
                    yield event_bytes(self._end.event, self._end.told)
                if self._kept is not None:
                    yield event_bytes("kept", self._kept)
                    return
                try:
                    await asyncio.wait_for(news.wait(), _QUIET_S)
                except TimeoutError:
                    yield b": quiet\n\n"
        finally:
            self._pages -= 1
            asyncio.get_running_loop().call_later(LEFT_S, self._end_if_alone)

    def _end_if_alone(self) -> None:
        if self._pages == 0 and self._end is None:
            self.end_now()

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()
