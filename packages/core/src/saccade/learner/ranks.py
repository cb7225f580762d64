"""The processes that learn one model together, and what they must agree on before anything changes."""

from collections.abc import Mapping
from typing import Protocol, TypeVar

import torch.distributed as dist

from saccade.errors import SaccadeError

T = TypeVar("T")


class Ranks(Protocol):
    """All that a learner knows of the others. Every method is called by all ranks, in the same order."""

    @property
    def rank(self) -> int:
        """This process's number, from 0."""
        ...

    @property
    def count(self) -> int: ...

    def gather(self, value: T) -> list[T]:
        """The value that each rank gives, in their order."""
        ...

    def add(self, sums: Mapping[str, float]) -> dict[str, float]:
        """Sums over all ranks, in their order; a name that a rank does not have counts 0 there."""
        ...

    def agree(self, is_fine: bool) -> bool:
        """Whether it is so for every rank."""
        ...


class Alone:
    """The one rank of a process that learns by itself."""

    rank = 0
    count = 1

    def gather(self, value: T) -> list[T]:
        return [value]

    def add(self, sums: Mapping[str, float]) -> dict[str, float]:
        return dict(sums)

    def agree(self, is_fine: bool) -> bool:
        return is_fine


ALONE: Ranks = Alone()


class ProcessRanks:
    """The ranks of torch's default process group, whose timeout bounds every call."""

    def __init__(self) -> None:
        self.rank = dist.get_rank()
        self.count = dist.get_world_size()

    def gather(self, value: T) -> list[T]:
        gathered: list[T | None] = [None] * self.count
        dist.all_gather_object(gathered, value)
        return gathered  # type: ignore[return-value]

    def add(self, sums: Mapping[str, float]) -> dict[str, float]:
        # In the order of the ranks and in double precision, so that every rank has the same bits.
        total: dict[str, float] = {}
        for one in self.gather(dict(sums)):
            for name, value in one.items():
                total[name] = total.get(name, 0.0) + value
        return total

    def agree(self, is_fine: bool) -> bool:
        return all(self.gather(is_fine))


def error_words(error: BaseException) -> str:
    """What an error says; with its kind where it is none of ours."""
    return str(error) if isinstance(error, SaccadeError) else f"{type(error).__name__}: {error}"
