"""Hough's transform: every place votes for the lines that go through it, in steps of half a degree and a pixel."""

import math

import numpy as np
import numpy.typing as npt

from saccade.readers.diagrams.segments import LineSegment, Places

TURNS = 360
"""Directions of lines that are told apart: half degrees."""


class Ballot:
    """The votes of places, of which some can be withdrawn: each place is counted once, however many lines are found."""

    def __init__(self, places: Places) -> None:
        reach = math.ceil(float(np.hypot(*places.T).max())) + 1 if len(places) else 1
        self._low = -reach
        self._votes = np.zeros((TURNS, 2 * reach + 1), np.int64)
        self._voters = 0
        self._ruled_out = np.zeros(self._votes.shape, bool)
        self._last = (0, 0)
        self._count(places, 1)

    def withdraw(self, places: Places) -> None:
        """These votes count no more."""
        self._count(places, -1)

    def straightest(self, shortest: float) -> LineSegment | None:
        """The line with the most votes, roughly: a piece of length 1; None when it has fewer than ``shortest``."""
        if self._voters < shortest:
            return None
        # A line's ink is about two pixels wide and falls into neighbouring bins.
        votes = self._votes + np.pad(self._votes[:, 1:], ((0, 0), (0, 1)))
        votes[self._ruled_out] = 0
        turn, bin_ = self._last = divmod(int(votes.argmax()), votes.shape[1])
        if votes[turn, bin_] < shortest:
            return None
        normal = complex(math.cos(_turns()[turn]), math.sin(_turns()[turn]))
        middle = (bin_ + self._low + 0.5) * normal
        return LineSegment(start=middle, end=middle + 1j * normal)

    def rule_out_last(self) -> None:
        """The line that was found last is none."""
        self._ruled_out[self._last] = True

    def _count(self, places: Places, sign: int) -> None:
        for turn, angle in enumerate(_turns()):
            away = places[:, 0] * math.cos(angle) + places[:, 1] * math.sin(angle)
            bins = np.round(away).astype(np.int64) - self._low
            self._votes[turn] += sign * np.bincount(bins, minlength=self._votes.shape[1])
        self._voters += sign * len(places)


def _turns() -> npt.NDArray[np.float64]:
    return np.arange(TURNS) * math.pi / TURNS
