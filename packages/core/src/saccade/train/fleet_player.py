"""Evaluations played by rollout workers, each question whole at one of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from saccade.media.resize import ViewRule
from saccade.rollout.batch import PlayedAs
from saccade.rollout.episodes import RolloutRequest
from saccade.rollout.players import OnPlayed, PlayedSample
from saccade.train.fleet import PlayedShard


class PlayShares(Protocol):
    """Workers' shares of some requests as they are done, with the places of the requests in them."""

    def __call__(
        self, requests: Sequence[RolloutRequest], questions: Sequence[int], /
    ) -> Iterator[tuple[Sequence[int], PlayedShard]]: ...


@dataclass(frozen=True, kw_only=True)
class FleetPlayer:
    """A ``SamplePlayer``; workers find by their own plan how an evaluation is played."""

    shares: PlayShares
    view: ViewRule
    at_once: int

    def play(self, requests: Sequence[RolloutRequest], how: PlayedAs, on_played: OnPlayed) -> list[PlayedSample]:
        """``on_played`` is told of a worker's share when all of it is done. MachineError as workers are lost."""
        numbers = {task: number for number, task in enumerate(dict.fromkeys(one.task.id for one in requests))}
        finished: dict[int, PlayedSample] = {}
        for places, played in self.shares(requests, [numbers[one.task.id] for one in requests]):
            for place, trajectory, cost in zip(places, played.trajectories, played.costs, strict=True):
                finished[place] = PlayedSample(trajectory=trajectory, cost=cost)
                on_played(place, finished[place])
        return [finished[place] for place in range(len(requests))]
