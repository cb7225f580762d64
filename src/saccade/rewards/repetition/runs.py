"""Runs: stretches in which a sequence goes on as it did one period ago."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

_WORK = 8
"""So many comparisons for each place of a sequence are enough for every text but those made to need more."""


@dataclass(frozen=True, slots=True)
class PeriodicRun:
    """``length`` places from ``start`` on, of which each but the first ``period`` is as the one a period before."""

    start: int
    period: int
    length: int

    @property
    def repeats(self) -> int:
        return self.length // self.period


def short_runs(sequence: Sequence[Hashable], period: int) -> Iterator[PeriodicRun]:
    """All runs of this period, in one walk."""
    length = 0
    for index in range(period, len(sequence) + 1):
        if index < len(sequence) and sequence[index] == sequence[index - period]:
            length += 1
        else:
            if length >= period:
                yield PeriodicRun(index - length - period, period, length + period)
            length = 0


def long_runs(sequence: Sequence[Hashable], *, gram: int, forgiving: bool = False) -> Iterator[PeriodicRun]:
    """Runs of any period, in linear time, found where the same ``gram`` places in a row came before.

    A run whose every such row comes twice within its period is not found. A ``forgiving`` run may differ from one
    period to the next in single places, with ``gram`` equal ones between them.
    """
    last: dict[tuple[Hashable, ...], int] = {}
    known: dict[int, int] = {}
    work = _WORK * len(sequence)
    at = 0
    while at + gram <= len(sequence):
        row = tuple(sequence[at : at + gram])
        before = last.get(row)
        last[row] = at
        period = 0 if before is None else at - before
        # A copy that was followed to its end once is not followed again from its middle.
        if not period or known.get(period, 0) > at or work <= 0:
            at += 1
            continue
        end = _end(sequence, at + gram, period, gram if forgiving else None)
        known[period] = end
        work -= end - at
        if end - at < period:
            at += 1
            continue
        start = at
        while start > period and sequence[start - 1] == sequence[start - 1 - period]:
            start -= 1
        yield PeriodicRun(start - period, period, end - start + period)
        for place in range(max(at + 1, end - period - gram), end - gram):
            last[tuple(sequence[place : place + gram])] = place
        at = max(at + 1, end - gram)


def _end(sequence: Sequence[Hashable], at: int, period: int, forgiven_after: int | None) -> int:
    """Where the sequence stops to go on as it did a period before."""
    equal = 0
    while at < len(sequence):
        if sequence[at] == sequence[at - period]:
            equal += 1
        elif (
            forgiven_after is not None
            and equal >= forgiven_after
            and _goes_on(sequence, at + 1, period, forgiven_after)
        ):
            equal = 0
        else:
            break
        at += 1
    return at


def _goes_on(sequence: Sequence[Hashable], at: int, period: int, count: int) -> bool:
    return at + count <= len(sequence) and all(
        sequence[place] == sequence[place - period] for place in range(at, at + count)
    )
