"""How far a batch of trajectories is while it is played, for a person who waits."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from saccade.engines.engine import ShowsOpenTurn
from saccade.rollout.trajectory import Player, Result


@dataclass(kw_only=True, slots=True)
class PlayingBatch:
    """Counts of a batch; nothing that is played depends on them."""

    players: Sequence[Player] = ()
    done: set[int] = field(default_factory=set)
    """Places of those that have ended."""
    _busy: int = 0
    _counting: threading.Lock = field(default_factory=threading.Lock)
    _started_s: float = field(default_factory=time.monotonic)

    def in_environment(self, operation: Callable[[], Result]) -> Callable[[], Result]:
        """The operation, counted while it is at work."""

        def counted() -> Result:
            self._count(1)
            try:
                return operation()
            finally:
                self._count(-1)

        return counted

    def in_words(self) -> str:
        """``sampling: 3 of 16 trajectories done, turn 2, 12 tokens/s, 1 in their environment``."""
        turns = [len(player.clocks) for place, player in enumerate(self.players) if place not in self.done]
        tokens = sum(_sampled(player) for player in self.players)
        speed = tokens / max(1e-9, time.monotonic() - self._started_s)
        tools = f", {self._busy} in their environment" if self._busy else ""
        done = f"{len(self.done)} of {len(self.players)} trajectories done"
        return f"sampling: {done}, turn {1 + max(turns, default=0)}, {speed:,.1f} tokens/s{tools}"

    def _count(self, change: int) -> None:
        # Operations are at work in several threads.
        with self._counting:
            self._busy += change


def _sampled(player: Player) -> int:
    """Tokens that the policy wrote so far, those of an open turn among them."""
    ended = sum(len(segment.ids) for segment in list(player.segments) if segment.role == "action")
    return ended + (len(player.slot.sampled_so_far().ids) if isinstance(player.slot, ShowsOpenTurn) else 0)
