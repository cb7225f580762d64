"""Shares of a batch: which requests go to which worker, with which weights, and how often one may be begun."""

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from saccade.errors import MachineError
from saccade.train.coming_weights import ComingWeights
from saccade.train.fleet import PlayedShard
from saccade.train.fleet_weights import LostWorkerError

TRIES = 3
"""How often one share of a batch is begun, each time with another worker."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SampledBy:
    """The weights of a batch, whoever plays its shares and when."""

    weights: Path | None
    """None where they are sent."""
    version: int
    coming: ComingWeights | None = None


@dataclass(kw_only=True)
class WorkerShare:
    """Part of a batch that one worker plays at a time."""

    stage: str
    evaluates: bool
    places: tuple[int, ...]
    """Of its requests in the batch."""
    sampled_by: SampledBy
    until_s: float = 0.0
    tries: int = 0


def shares_of(questions: Sequence[int], workers: int) -> dict[int, tuple[int, ...]]:
    """The places of each worker's requests, by its number; a worker without a question has no share."""
    places: dict[int, list[int]] = {}
    for place, question in enumerate(questions):
        places.setdefault(question % workers, []).append(place)
    return {number: tuple(of) for number, of in sorted(places.items())}


def check_tries(number: int, share: WorkerShare, why: str) -> None:
    """MachineError when this share has ended every worker that was given it."""
    if share.tries >= TRIES:
        raise MachineError(
            f"rollout worker {number}: {why}; this happened {TRIES} times in a row to its share of "
            f"{len(share.places)} trajectories. If memory ran out, lower rl.group_size, rl.tasks_per_step or "
            "rollout.max_tokens, or use more rollout workers"
        )


def result_of(future: "Future[PlayedShard]") -> PlayedShard:
    if not future.done():
        raise LostWorkerError("it gave no answer in time (fleet.play_timeout_s)")
    return future.result()
