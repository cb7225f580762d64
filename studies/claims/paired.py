"""Changes paired by imitation: mean, interval and verdict, and how many imitations an effect would need to show."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import stats
from statsmodels.stats.power import TTestPower

LEVEL, POWER = 0.95, 0.8


@dataclass(frozen=True, kw_only=True, slots=True)
class PairedChange:
    """The mean of one change for each imitation, with Student's interval over imitations (n - 1 degrees of freedom)."""

    mean: float
    sd: float
    low: float
    high: float
    n: int

    def verdict(self, expected: float) -> str:
        """What the interval says of an effect of ``expected`` points, which has the claim's sign.

        ``shown`` where all of it lies on the claim's side of zero, ``the opposite`` where on the other, ``excluded``
        where the claimed size lies outside though zero does not, else ``open``.
        """
        low, high = (self.low, self.high) if expected > 0 else (-self.high, -self.low)
        if low > 0:
            return "shown"
        if high < 0:
            return "the opposite"
        return f"excluded beyond {high:.1f} points" if high < abs(expected) else "open"


def paired_change(changes: Sequence[float]) -> PairedChange:
    """Of two imitations or more; ``ValueError`` for fewer."""
    if len(changes) < 2:
        raise ValueError(f"{len(changes)} imitations have no spread; run two or more")
    n, mean, sd = len(changes), statistics.mean(changes), statistics.stdev(changes)
    half = float(stats.t.ppf((1 + LEVEL) / 2, n - 1)) * sd / math.sqrt(n)
    return PairedChange(mean=mean, sd=sd, low=mean - half, high=mean + half, n=n)


def power_of(expected: float, sd: float, n: int) -> float:
    """The probability that a paired t test of n imitations at 5 % finds an effect whose changes spread by ``sd``."""
    if sd == 0:
        return float(expected != 0)
    return float(TTestPower().power(abs(expected) / sd, n, 1 - LEVEL))


def imitations_needed(expected: float, sd: float, most: int = 200) -> int | None:
    """The fewest imitations with which 80 % of such experiments would find the effect; None beyond ``most``."""
    return next((n for n in range(2, most + 1) if power_of(expected, sd, n) >= POWER), None)
